package report

import (
	"html/template"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

type htmlStacks struct {
	From       template.HTML
	Head       template.HTML
	Reasons    []htmlBarRow
	Heads      []string // of the reasons' figures
	Flames     []htmlFlame
	NoFlames   string
	Tree       []htmlTreeLine
	TreeTitle  template.HTML
	Top        []template.HTML
	TopTitle   template.HTML
	Profile    []htmlProfileRow
	Children   bool
	Self       bool
	Callers    []htmlCaller
	Places     bool // any caller has one
	Unresolved template.HTML
	data       template.JS
}

type htmlTreeLine struct {
	Share  string
	Indent string
	Symbol template.HTML
	Place  template.HTML
	Blocks bool
}

type htmlProfileRow struct {
	ID             string
	Symbol         template.HTML
	Children, Self string
	Reads          string
	Place          template.HTML
}

type htmlCaller struct {
	ID     string
	Symbol template.HTML
	At     template.HTML
	Share  string
	Of     string
	Reason string
}

func (h *htmlReport) stacks() *htmlStacks {
	s := &h.c.Stacks
	if !hasStacks(s) {
		return nil
	}
	out := &htmlStacks{From: h.list(sourceNames(h.r, s.Sources)), Head: h.reasonHead(s)}
	out.Heads, out.Reasons = h.reasons()
	h.flames(out)
	h.tree(out)
	for i := range s.Profile {
		p := &s.Profile[i]
		out.Profile = append(out.Profile, htmlProfileRow{profileID(i), htmlCode(p.Symbol, maxName), printedPct(p.Children), printedPct(p.Self),
			inert(h.say(profileReads(s, p))), htmlName(h.place(p.Evidence), maxName)})
	}
	out.Children, out.Self = profileHas(s.Profile)
	for i, c := range callersApart(s) {
		out.Callers = append(out.Callers, htmlCaller{callerID(i), htmlCode(c.Symbol, maxName), htmlNameOr(position(c.File, c.Line), ""),
			quantity.Percent(c.Share, callerDigits(&c)), inert(h.say(weightName(c.Weight))), inert(reasonLabel(s, c.Reason))})
	}
	for i := range out.Callers {
		out.Places = out.Places || out.Callers[i].At != ""
	}
	out.Unresolved = h.text(unresolvedLine(s))
	return out
}

// htmlNameOr is a name, or something else where there is none.
func htmlNameOr(s string, or template.HTML) template.HTML {
	if s == "" {
		return or
	}
	return htmlName(s, maxName)
}

// reasonHead says what the stacks come to: the first reason with its share.
func (h *htmlReport) reasonHead(s *analyze.StackReport) template.HTML {
	if len(s.Reasons) == 0 {
		return h.prose("Call stacks")
	}
	r := &s.Reasons[0]
	if v, ok := r.SwitchShare.Get(); ok {
		return htmlProse(h.sayf("%s: %s of the switches", h.capital(r.Label), quantity.Percent(v, 1)))
	}
	if v, ok := r.CPUShare.Get(); ok {
		return htmlProse(h.sayf("%s: %s of the CPU samples", h.capital(r.Label), quantity.Percent(v, 2)))
	}
	return htmlProse(h.capital(r.Label))
}

// reasons lays the table of reasons out: a figure with its bar in each column,
// the bars of a column on one scale.
func (h *htmlReport) reasons() (heads []string, out []htmlBarRow) {
	rows := h.c.Stacks.Reasons
	bars := reasonBars(rows)
	var shown []int
	cols := reasonCols()
	for k := range cols {
		if cols[k].has(rows) {
			shown, heads = append(shown, k), append(heads, h.say(cols[k].title))
		}
	}
	for i := range rows {
		r := htmlBarRow{ID: reasonID(i), Label: htmlProse(rows[i].Label), Frame: absent, Inv: rows[i].Involuntary, Short: width(rows[i].Label) <= shortCell}
		if rows[i].Frame != "" {
			r.Frame = htmlCode(rows[i].Frame, maxName)
		}
		for _, k := range shown {
			c := htmlCell{Label: h.say(cols[k].title), Text: cols[k].cell(&rows[i])}
			if b := barOf(k); b >= 0 {
				c.Bar, c.Solid, c.Hatched = true, length(bars[i][b].solid), length(bars[i][b].hatched)
			}
			r.Cells = append(r.Cells, c)
		}
		out = append(out, r)
	}
	return heads, out
}

// tree writes the main paths in short, or the heaviest stack where there are none.
func (h *htmlReport) tree(out *htmlStacks) {
	s := &h.c.Stacks
	out.TreeTitle = htmlProse(s.TreeTitle)
	if s.TreeTitle == "" {
		out.TreeTitle = h.prose("callers first")
	}
	for i := range s.Tree {
		l := &s.Tree[i]
		out.Tree = append(out.Tree, htmlTreeLine{quantity.Percent(l.Share, 1), decimal(2*min(l.Depth, 8)) + "ch",
			htmlName(namedOr(l.Symbol), maxName), htmlNameOr(position(l.File, l.Line), ""), l.Blocks})
	}
	if len(s.Top) == 0 {
		return
	}
	out.TopTitle = h.prose(h.capital(stackTitle(&s.Top[0])))
	for _, f := range s.Top[0].Frames {
		out.Top = append(out.Top, htmlName(namedOr(f), maxName))
	}
}

func namedOr(symbol string) string {
	if symbol == "" {
		return "[unknown]"
	}
	return symbol
}

type htmlFindings struct {
	Items []htmlFinding
	Next  []htmlCmd
}

type htmlFinding struct {
	ID      string
	Title   template.HTML
	Summary template.HTML
	Shown   []template.HTML
	Against []template.HTML
	Advice  []template.HTML
	Next    []htmlCmd
	Refs    []htmlRef
	Rest    int
}

func (h *htmlReport) findings() *htmlFindings {
	out := &htmlFindings{Next: h.cmds(moreCommands(h.c))}
	for i := range h.c.Findings {
		f := &h.c.Findings[i]
		verdict := f.ID == h.c.Verdict.Cause
		if verdict && len(f.Shown)+len(f.Evidence) == 0 {
			continue
		}
		out.Items = append(out.Items, h.finding(i, f, verdict))
	}
	if len(out.Items)+len(out.Next) == 0 {
		return nil
	}
	return out
}

// finding lays out one finding. Of the verdict, the summary, the objections,
// the advice and the commands stand above.
func (h *htmlReport) finding(i int, f *analyze.Finding, verdict bool) htmlFinding {
	out := htmlFinding{ID: "fd-" + decimal(i+1), Title: htmlProse(h.titled(findingTitle(f)))}
	for _, s := range f.Shown {
		out.Shown = append(out.Shown, htmlText(s))
	}
	out.Refs, out.Rest = h.refs(f.Evidence)
	if verdict {
		return out
	}
	out.Summary, out.Next = htmlText(f.Summary), h.cmds(f.Next)
	for _, s := range f.Against {
		out.Against = append(out.Against, htmlText(s))
	}
	for k := range f.Advice {
		out.Advice = append(out.Advice, htmlText(f.Advice[k].Do))
	}
	return out
}

type htmlRival struct {
	N       int
	ID      string
	Mark    htmlMark
	Because template.HTML
	Look    template.HTML
}

type htmlCandidates struct {
	List     []htmlRival
	Excluded []htmlRival
}

func (h *htmlReport) candidates() *htmlCandidates {
	out := &htmlCandidates{Excluded: h.rejected()}
	for i := range h.c.Rivals {
		if r := &h.c.Rivals[i]; r.Status == analyze.RivalCandidate {
			out.List = append(out.List, htmlRival{N: len(out.List) + 1, ID: inert(r.ID), Because: htmlText(r.Because), Look: htmlText(r.Look)})
		}
	}
	if len(out.List)+len(out.Excluded) == 0 {
		return nil
	}
	return out
}

func (h *htmlReport) rejected() []htmlRival {
	var out []htmlRival
	for i := range h.c.Rivals {
		r := &h.c.Rivals[i]
		if r.Status == analyze.RivalCandidate && cannotTell(&h.c.Verdict) {
			continue
		}
		m := htmlMark{"○", h.say("not excluded"), "gap"}
		switch r.Status {
		case analyze.RivalRejected:
			m = htmlMark{"✗", h.say("rejected"), "gap"}
		case analyze.RivalCandidate:
			m.Word = h.say("fits too")
		}
		out = append(out, htmlRival{ID: inert(r.ID), Mark: m, Because: htmlText(r.Because)})
	}
	return out
}

type htmlChecks struct {
	Summary string
	Rows    []htmlCheck
}

type htmlCheck struct {
	Mark htmlMark
	Text template.HTML
}

func (h *htmlReport) checks() *htmlChecks {
	note, passed := checkParts(h.r, h.c)
	if len(note)+len(passed) == 0 {
		return nil
	}
	out := &htmlChecks{Summary: h.say(checkSummary(note, passed))}
	for i := range note {
		m := htmlMark{"≠", h.say("differ"), "bad"}
		if note[i].Status == analyze.CheckMissing {
			m = htmlMark{"○", h.say("to note"), "gap"}
		}
		out.Rows = append(out.Rows, htmlCheck{m, htmlText(note[i].Text)})
	}
	for i := range passed {
		out.Rows = append(out.Rows, htmlCheck{htmlMark{"✓", h.say("passed"), "ok"}, htmlText(passed[i].Text)})
	}
	return out
}

type htmlSources struct {
	Rows  []htmlSource
	Notes []htmlFact
	Host  template.HTML
	Rest  int
}

type htmlSource struct {
	ID      string
	Name    template.HTML
	ReadAs  template.HTML
	Tool    template.HTML
	Window  string
	Dropped string
	Hash    string
	Whole   string
}

// mostPageSources is how many inputs are listed one by one.
const mostPageSources = 200

func (h *htmlReport) sources() *htmlSources {
	if len(h.r.Sources) == 0 {
		return nil
	}
	out := &htmlSources{Host: h.hostLine()}
	for i := range h.r.Sources {
		s := &h.r.Sources[i]
		if i == mostPageSources {
			out.Rest = len(h.r.Sources) - i
			break
		}
		out.Rows = append(out.Rows, htmlSource{sourceID(s.ID), htmlName(s.Name, maxName), htmlProse(s.ReadAs), h.prose(s.Tool), windowText(s),
			quantity.Fixed(float64(s.Dropped), 0), inert(shortHash(s.SHA256)), inert(s.SHA256)})
		for _, n := range s.Notes {
			out.Notes = append(out.Notes, htmlFact{Body: htmlProse(n), Label: shown(s.Name)})
		}
	}
	return out
}

// hostLine names the machine and what is not in the input, as far as the
// inputs say.
func (h *htmlReport) hostLine() template.HTML {
	x := host(h.c)
	var out template.HTML
	add := func(s template.HTML) {
		if out != "" {
			out += h.prose(", ")
		}
		out += s
	}
	if x.Name != "" {
		add(htmlTextIn(h.opt.text(analyze.Textf("Host %s", analyze.Code(x.Name))), maxName))
	}
	if x.Release != "" || x.Arch != "" {
		add(htmlProse("Linux" + string(nbsp) + x.Release + " " + x.Arch))
	}
	if n, ok := x.CPUs.Get(); ok {
		add(h.prose(plural(n, "CPU", "CPUs")))
	}
	if out != "" {
		out += h.prose(".") + htmlProse(h.opt.space())
	}
	if miss := unnamed(h.c, x); miss != "" {
		out += htmlProse(h.sayf("Not in the input: %s.", miss))
	}
	return out
}

type htmlOther struct {
	Subject                 template.HTML
	Cause, Confidence, Rate string
}

func (h *htmlReport) others() []htmlOther {
	var out []htmlOther
	for _, c := range h.r.Cases[1:] {
		o := htmlOther{h.text(c.Subject.Name()), inert(c.Verdict.Cause), inert(h.say(string(c.Verdict.Confidence))), absent}
		if v, ok := rate(c).Get(); ok {
			o.Rate = quantity.PerS(v)
		}
		out = append(out, o)
	}
	return out
}
