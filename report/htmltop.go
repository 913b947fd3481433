package report

import (
	"html/template"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// htmlFact is a labelled line; ID is where it links to, "" for nowhere.
type htmlFact struct {
	Label string
	Body  template.HTML
	ID    string
}

// htmlCmd is a command and what it gives.
type htmlCmd struct {
	Line template.HTML
	Why  template.HTML
}

type htmlVerdict struct {
	Summary    template.HTML
	Facts      []htmlFact
	Against    []template.HTML
	Settle     []htmlCmd
	CannotTell bool
}

func (h *htmlReport) verdict() htmlVerdict {
	v := &h.c.Verdict
	out := htmlVerdict{Summary: htmlText(v.Summary), Settle: h.cmds(settle(h.c)), CannotTell: cannotTell(v)}
	add := func(label string, body template.HTML) {
		if body != "" {
			out.Facts = append(out.Facts, htmlFact{Label: label, Body: body})
		}
	}
	add(h.say("Cause"), "<b>"+htmlProse(v.Cause)+"</b>")
	if s := severity(h.c); s != "" {
		add(h.say("Severity"), "<b>"+h.prose(s)+"</b>")
	}
	if v.Confidence != "" {
		conf := "<b>" + h.prose(string(v.Confidence)) + "</b>"
		if len(v.Ground) > 0 && v.Confidence != analyze.ConfidenceNone {
			conf += h.prose(": ") + htmlText(v.Ground)
		}
		add(h.say("Confidence"), conf)
	}
	add(h.say("Grade"), htmlText(v.Grade))
	add(h.say("Impact"), htmlText(v.Impact))
	add(h.say("Portrait"), htmlText(v.Portrait))
	for _, a := range v.Against {
		out.Against = append(out.Against, h.sentence(a))
	}
	return out
}

// cmds sets commands; one of several lines is several commands, which the
// first one's reason is for.
func (h *htmlReport) cmds(cmds []analyze.Command) []htmlCmd {
	var out []htmlCmd
	for i := range cmds {
		why := h.sentence(cmds[i].Why)
		for _, l := range strings.Split(strings.TrimSpace(cmds[i].Line), "\n") {
			out = append(out, htmlCmd{Line: htmlCommand(l), Why: why})
			why = ""
		}
	}
	return out
}

type htmlChain struct {
	Summary string
	Links   []htmlLink
}

type htmlLink struct {
	N       int
	ID      string // of the layer's section; "" when the page has none
	Layer   string
	Title   template.HTML
	Claim   template.HTML
	Missing bool
	Mark    htmlMark
	From    template.HTML
	Facts   []htmlFact
	Sums    []htmlSum
	Capture []htmlCmd
	Last    bool
	Broken  bool // what follows is missing, or this is
}

// htmlMark is a sign with its word; Class only colours it.
type htmlMark struct{ Sign, Word, Class string }

type htmlSum struct{ Rows []htmlSumRow }

type htmlSumRow struct {
	Label, Value string
	Note         template.HTML
	Mark         htmlMark
	Total        bool // a rule stands above it
}

func (h *htmlReport) linkMark(s analyze.LinkStatus) htmlMark {
	switch s {
	case analyze.LinkSupports:
		return htmlMark{"✓", h.say("supports"), "ok"}
	case analyze.LinkContradicts:
		return htmlMark{"✗", h.say("contradicts"), "bad"}
	}
	return htmlMark{"○", h.say("missing"), "gap"}
}

func (h *htmlReport) chain() *htmlChain {
	links := h.c.Chain
	if len(links) == 0 {
		return nil
	}
	out := &htmlChain{Summary: h.say(chainSummary(links))}
	for i := range links {
		l := &links[i]
		v := htmlLink{N: i + 1, Layer: l.Layer, Title: htmlText(l.Title), Claim: htmlText(l.Claim), Missing: l.Status == analyze.LinkMissing,
			Mark: h.linkMark(l.Status), From: h.list(l.From), Facts: h.linkFacts(l), Last: i == len(links)-1}
		v.ID = h.layerID(l.Layer)
		v.Broken = v.Missing || (!v.Last && links[i+1].Status == analyze.LinkMissing)
		for k := range l.Arithmetic {
			v.Sums = append(v.Sums, h.sum(&l.Arithmetic[k]))
		}
		if cmd, ok := l.Capture.Get(); ok {
			v.Capture = h.cmds([]analyze.Command{{Line: cmd}})
		}
		out.Links = append(out.Links, v)
	}
	return out
}

func (h *htmlReport) layerID(layer string) string {
	switch {
	case layer == "macro" && len(h.c.Macro.Figures) > 0:
		return "l1"
	case layer == "threads" && hasThreads(h.c):
		return "l2"
	case layer == "stacks" && hasStacks(&h.c.Stacks):
		return "l3"
	}
	return ""
}

func hasThreads(c *analyze.Case) bool {
	return len(c.Threads) > 0 || len(c.Hists) > 0 || len(c.Rates) > 0
}

// linkFacts are the figures beside a link: those that the layer turns on.
func (h *htmlReport) linkFacts(l *analyze.Link) []htmlFact {
	if l.Status == analyze.LinkMissing {
		return nil
	}
	switch l.Layer {
	case "macro":
		return h.macroFacts()
	case "threads":
		return h.threadFacts()
	}
	return h.stackFacts()
}

func (h *htmlReport) macroFacts() []htmlFact {
	var out []htmlFact
	seen := map[string]bool{}
	for _, id := range []string{h.c.Macro.GradedOn, "switches_per_s", "migration_ratio"} {
		if f, ok := h.c.Macro.Figure(id); ok && !seen[id] {
			seen[id] = true
			out = append(out, htmlFact{h.rateLabel(f), h.prose(f.Text()), figureID(f.ID)})
		}
	}
	return out
}

// rateLabel is a figure's label where it stands by itself.
func (h *htmlReport) rateLabel(f *analyze.Figure) string {
	if f.ID == analyze.FigPerActive {
		return h.sayf("Switches/s %s", inert(f.Label))
	}
	return h.capital(inert(f.Label))
}

func (h *htmlReport) threadFacts() []htmlFact {
	var out []htmlFact
	l := &h.c.Layer2
	if v, ok := l.TopShare.Get(); ok && l.Of > 1 {
		out = append(out, htmlFact{h.sayf("%s of %s threads", quantity.Fixed(float64(l.Top), 0), quantity.Fixed(float64(l.Of), 0)), htmlProse(quantity.Percent(v, 1)), "threads"})
	}
	if v, ok := l.VoluntaryShare.Get(); ok {
		out = append(out, htmlFact{h.say("Voluntary"), htmlProse(quantity.Percent(v, 2)), "threads"})
	}
	return out
}

func (h *htmlReport) stackFacts() []htmlFact {
	var out []htmlFact
	for i := range h.c.Stacks.Reasons {
		r := &h.c.Stacks.Reasons[i]
		if v, ok := r.SwitchShare.Get(); ok && len(out) < 3 {
			out = append(out, htmlFact{h.capital(inert(r.Label)), htmlProse(quantity.Percent(v, 1)), "reasons"})
		} else if v, ok := r.CPUShare.Get(); ok && len(out) < 3 {
			out = append(out, htmlFact{h.capital(inert(r.Label)) + h.say(", of CPU samples"), htmlProse(quantity.Percent(v, 2)), "reasons"})
		}
	}
	return out
}

// htmlSumOf sets an addition or comparison: a rule stands above a total and
// above a difference.
func (h *htmlReport) sum(s *analyze.Sum) htmlSum {
	var out htmlSum
	total, difference := h.say("layer 2, sum"), h.say("difference")
	for k := range s.Rows {
		row := &s.Rows[k]
		mark := row.Mark
		if k == len(s.Rows)-1 && mark == analyze.MarkNone {
			mark = s.Mark
		}
		r := htmlSumRow{Label: inert(row.Label), Value: inert(h.say(row.Text())), Note: htmlText(row.Note), Mark: h.sumMark(row.Note, mark)}
		r.Total = k > 0 && (row.Label == total || row.Label == difference)
		out.Rows = append(out.Rows, r)
	}
	return out
}

// sumMark is a mark, with its word where the note does not say it.
func (h *htmlReport) sumMark(note analyze.Text, k analyze.Mark) htmlMark {
	m := htmlMark{Word: strings.TrimSuffix(markWord(h.say, note, k), h.say(", "))}
	switch k {
	case analyze.MarkAgree:
		m.Sign, m.Class = "✓", "ok"
	case analyze.MarkDiffer:
		m.Sign, m.Class = "≠", "bad"
	case analyze.MarkMissing:
		m.Sign, m.Class = "○", "gap"
	default:
		return htmlMark{}
	}
	return m
}

type htmlAdvice struct {
	N       int
	Do      template.HTML
	Effects []htmlFact
	Sketch  []htmlCodeLine
}

// htmlCodeLine is a line of a sketch: added, removed or neither.
type htmlCodeLine struct {
	Tag  string // "ins", "del", ""
	Text string
}

func (h *htmlReport) advice() []htmlAdvice {
	var out []htmlAdvice
	for i := range h.c.Advice {
		a := &h.c.Advice[i]
		v := htmlAdvice{N: i + 1, Do: htmlText(a.Do)}
		for _, e := range a.Effects {
			v.Effects = append(v.Effects, htmlFact{Label: h.capital(inert(e.Label)), Body: htmlText(e.Value)})
		}
		if len(a.Price) > 0 {
			v.Effects = append(v.Effects, htmlFact{Label: h.say("Price"), Body: htmlText(a.Price)})
		}
		if a.Sketch != "" {
			for _, l := range strings.Split(strings.TrimRight(a.Sketch, "\n"), "\n") {
				v.Sketch = append(v.Sketch, htmlCodeLine{sketchTag(l), unitsString(nameUnits(l, false))})
			}
		}
		out = append(out, v)
	}
	return out
}

func sketchTag(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "ins"
	case strings.HasPrefix(line, "-"):
		return "del"
	}
	return ""
}
