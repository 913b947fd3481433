package report

import (
	"html/template"
	"math"
	"strconv"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

type htmlMacro struct {
	From    template.HTML
	Head    template.HTML
	Note    template.HTML
	Scale   *htmlScale
	Figures []htmlFigure
	Facts   []htmlFact
}

// htmlFigure is a figure with its formula, its arithmetic and its places.
type htmlFigure struct {
	ID, Label   string
	Value, Unit string
	Reads       template.HTML
	Formula     string
	Arithmetic  string
	Places      []template.HTML
	Hover       string
}

func (h *htmlReport) macro() *htmlMacro {
	m := &h.c.Macro
	if len(m.Figures) == 0 {
		return nil
	}
	out := &htmlMacro{From: h.list(sourceNames(h.r, m.Sources)), Head: h.macroHead(), Note: h.sentence(m.Why), Scale: h.scale()}
	for i := range m.Figures {
		if f := &m.Figures[i]; f.Value.OK {
			out.Figures = append(out.Figures, h.figure(f))
		}
	}
	out.Facts = h.macroNotes()
	return out
}

func (h *htmlReport) macroHead() template.HTML {
	if g := h.c.Verdict.Grade; len(g) > 0 {
		return template.HTML(h.capital(string(htmlText(g))))
	}
	f, ok := h.c.Macro.Figure("switches_per_s")
	if !ok {
		return h.prose("The switch rate is not known")
	}
	return htmlProse(h.sayf("%s switches/s, not graded", f.Text()))
}

// macroNotes are what must be known to read the figures right.
func (h *htmlReport) macroNotes() []htmlFact {
	m := &h.c.Macro
	var out []htmlFact
	add := func(label string, body template.HTML) {
		if body != "" {
			out = append(out, htmlFact{Label: label, Body: body})
		}
	}
	if m.FromCounts {
		add(h.say("Taken from"), h.prose("/proc: no counters are in the input"))
	} else if m.FromTrace {
		add(h.say("Taken from"), h.prose("the trace: no counters are in the input"))
	}
	if len(m.Cost.Text) > 0 {
		add(h.say("Cost"), htmlText(m.Cost.Text)+h.prose(costSource(&m.Cost)))
	}
	if m.Impact.String() != h.c.Verdict.Impact.String() {
		add(h.say("Impact"), htmlText(m.Impact))
	}
	for i := range m.Inputs {
		x := &m.Inputs[i]
		add(inert(x.Letter), htmlProse(x.Name+h.say(": ")+x.Text+" ")+`<span class="src">`+htmlName(h.place(x.Evidence), maxName)+"</span>")
	}
	for _, s := range recovered(m.Figures) {
		add(h.say("Recovered"), htmlProse(s))
	}
	reasons, labels := missingFigures(m.Figures)
	for _, why := range reasons {
		add(h.say("Absent"), h.prose(joined(labels[why])+": "+why))
	}
	return out
}

func (h *htmlReport) figure(f *analyze.Figure) htmlFigure {
	value, unit, _ := strings.Cut(f.Text(), string(nbsp))
	out := htmlFigure{ID: figureID(f.ID), Label: h.capital(inert(f.Label)), Value: value, Unit: unit, Reads: htmlText(f.Reads),
		Formula: inert(h.say(f.Formula)), Arithmetic: inert(h.say(f.Arithmetic))}
	out.Hover = strings.Trim(out.Formula+" = "+out.Arithmetic, " =")
	if out.Formula == "" {
		out.Formula = h.say("how")
	}
	seen := map[template.HTML]bool{}
	for _, e := range f.Inputs {
		if p := htmlName(h.place(e), maxName); !seen[p] && h.place(e) != "" {
			seen[p] = true
			out.Places = append(out.Places, p)
		}
	}
	return out
}

// htmlScale is the scale of grades with the graded rate on it. Positions are
// per cent of its width.
type htmlScale struct {
	Steps []htmlStep
	Marks []htmlScaleMark
	Label string
}

type htmlStep struct {
	Name  string
	Width string
	On    bool
	Below string // the bound at its right end; "" for the last
	At    string
}

type htmlScaleMark struct {
	Text   string
	At     string // of the line
	Right  bool   // the text stands left of the line
	Room   string // from the other edge to the line
	Graded bool
}

// The scale is drawn over three decades: grades change in the two middle ones.
const (
	scaleLo = 300
	scaleHi = 300_000
)

func scaleAt(perS float64) float64 {
	x := math.Log10(max(perS, scaleLo)/scaleLo) / math.Log10(float64(scaleHi)/scaleLo) * 100
	return min(x, 100)
}

func pct(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "%" }

func (h *htmlReport) scale() *htmlScale {
	m := &h.c.Macro
	graded, ok := m.Figure(m.GradedOn)
	if !ok || m.Grade == analyze.GradeNone || m.Scales == nil {
		return nil
	}
	out := &htmlScale{Label: h.sayf("Scale of grades; %s applies", string(m.Grade))}
	from := 0.0
	for _, st := range m.Scales.Grades {
		to, below := 100.0, ""
		if !math.IsInf(st.Below, 1) {
			to, below = scaleAt(st.Below), quantity.Whole(st.Below)
		}
		out.Steps = append(out.Steps, htmlStep{h.say(string(st.Grade)), pct(to - from), st.Grade == m.Grade, below, pct(to)})
		from = to
	}
	mark := func(f *analyze.Figure, what string, graded, left bool) {
		x := scaleAt(f.Value.V)
		k := htmlScaleMark{Text: f.Text() + "/s " + what, At: pct(x), Right: (left && x > 25) || x > 75, Room: pct(x), Graded: graded}
		if k.Right {
			k.Room = pct(100 - x)
		}
		out.Marks = append(out.Marks, k)
	}
	// The texts point away from each other, so that neither hides the other's line.
	whole, both := m.Figure("switches_per_s")
	both = both && m.WholeRate != analyze.GradeNone && whole.ID != graded.ID
	mark(graded, h.sayf("%s: the grade", inert(graded.Label)), true, !both || graded.Value.V < whole.Value.V)
	if both {
		mark(whole, h.say("in all"), false, whole.Value.V < graded.Value.V)
	}
	return out
}

// The numbers of threads that the page has rows for: at first, and in all.
const (
	firstRows = mostThreads
	mostRows  = 500
)

type htmlThreads struct {
	From     template.HTML
	Head     template.HTML
	Table    *htmlTable
	Notes    []template.HTML
	Curve    *htmlCurve
	Rate     *htmlRate
	NoRate   template.HTML
	Hists    *htmlHists
	Wakes    *htmlWakes
	Triggers []htmlBarRow
	Taken    []htmlBarRow
	Held     []htmlBarRow
	HeldNote string
	Ledger   *htmlLedger
	Map      *htmlMap
	NoMap    template.HTML
}

// htmlTable is the table of threads. More rows than First are folded away until
// they are asked for; Rest and Left sum those that have no row then and after.
type htmlTable struct {
	Cols    []htmlCol
	Rows    []htmlRow
	First   int
	Rest    *htmlRow
	Left    *htmlRow
	Hatched bool
}

type htmlCol struct {
	Title string
	Right bool
	Bar   bool
	Sort  string // the order that the table comes in: "descending", ""
}

type htmlRow struct {
	ID    string
	Name  template.HTML
	Key   string // to sort names by
	Hot   bool
	Short bool // it need not be broken
	Cells []htmlCell
}

type htmlCell struct {
	Label          string
	Text           string
	Right          bool
	Short          bool   // it need not be broken
	Key            string // a number to sort by
	Bar            bool
	Solid, Hatched string // lengths
}

func (h *htmlReport) threads() *htmlThreads {
	c := h.c
	if !hasThreads(c) {
		return nil
	}
	out := &htmlThreads{From: h.list(sourceNames(h.r, c.Layer2.Sources)), Head: h.threadHead(), Table: h.threadTable(),
		Curve: h.curve(), Rate: h.rate(), Hists: h.hists(), Wakes: h.wakes(), Triggers: h.triggers(), Taken: takenRows(c), Ledger: h.ledger(c.Ledger)}
	if c.Held != nil {
		out.Held, out.HeldNote = heldRows(c.Held), h.say(idleNote(c.Held))
	}
	if len(c.Layer2.Concentration) > 0 && out.Curve == nil {
		out.Notes = append(out.Notes, h.sentence(c.Layer2.Concentration)+h.prose("."))
	}
	for _, n := range c.Layer2.Notes {
		out.Notes = append(out.Notes, h.sentence(n))
	}
	if d := c.Drawings; d != nil {
		if out.Rate == nil {
			out.NoRate = htmlText(d.NoRates)
		}
		out.Map, out.NoMap = h.cpuMap(&d.CPUMap), htmlText(d.CPUMap.Missing)
	}
	return out
}

// threadHead says what layer 2 shows: as the chain says it, where it supports it.
func (h *htmlReport) threadHead() template.HTML {
	for i := range h.c.Chain {
		if l := &h.c.Chain[i]; l.Layer == "threads" && l.Status == analyze.LinkSupports && len(l.Title) > 0 {
			return htmlText(l.Title)
		}
	}
	if t := h.c.Layer2.Concentration; len(t) > 0 {
		return htmlText(t)
	}
	return h.prose(plural(len(h.c.Threads), "thread", "threads"))
}

func (h *htmlReport) threadTable() *htmlTable {
	rows := h.c.Threads
	if len(rows) == 0 {
		return nil
	}
	lines := withOthers(rows, mostRows)
	cols := shownCols(lines)
	t := &htmlTable{Cols: []htmlCol{{Title: h.say("Thread")}}, First: len(lines)}
	barAt := barColumn(cols)
	for k := range cols {
		if cols[k].id == "trigger-share" { // it stands beside the trigger
			continue
		}
		c := htmlCol{Title: h.say(cols[k].title), Right: cols[k].right}
		if k == barAt {
			c.Sort = "descending"
		}
		t.Cols = append(t.Cols, c)
		if k == barAt {
			t.Cols = append(t.Cols, htmlCol{Title: "", Bar: true})
		}
	}
	row := htmlRower{htmlReport: h, cols: cols, barAt: barAt, bars: threadBars(lines)}
	for i := range lines {
		r := row.of(i, &lines[i])
		t.Hatched = t.Hatched || row.bars[i].hatched > 0
		if lines[i].label != "" {
			t.Left = &r
			continue
		}
		r.ID = threadID(i)
		t.Rows = append(t.Rows, r)
	}
	if len(rows) > firstRows+1 {
		t.First = firstRows
		few := withOthers(rows, firstRows)
		row.bars = threadBars(few)
		r := row.of(firstRows, &few[firstRows])
		t.Rest = &r
	}
	return t
}

// shortCell is how long a text of a table may be to stay on one line.
const shortCell = 26

// barColumn is the column that the bars stand behind, and the table is sorted by.
func barColumn(cols []threadCol) int {
	for k := range cols {
		if id := cols[k].id; id == "vol" || id == "invol" || id == "all" {
			return k
		}
	}
	return -1
}

// htmlRower sets rows of the table of threads.
type htmlRower struct {
	*htmlReport
	cols  []threadCol
	barAt int
	bars  []bar
}

func (w *htmlRower) of(i int, l *threadLine) htmlRow {
	r := htmlRow{Name: htmlName(l.Name, 28), Hot: l.Hot, Key: wholeName(l.Name)}
	if l.label != "" {
		r.Name, r.Key = w.prose(l.label), w.say(l.label)
	}
	r.Short = width(r.Key) <= shortCell
	for k := range w.cols {
		c := &w.cols[k]
		if c.id == "trigger-share" {
			continue
		}
		cell := htmlCell{Label: w.say(c.title), Text: inert(c.cell(&l.ThreadRow)), Right: c.right, Key: sortKey(c.id, &l.ThreadRow)}
		if cell.Text == absent {
			cell.Key = "-1"
		}
		if share, ok := l.TriggerShare.Get(); ok && c.id == "trigger" && l.Trigger != "" {
			cell.Text += w.say(", ") + quantity.Percent(share, 1)
		}
		cell.Short = width(cell.Text) <= shortCell
		r.Cells = append(r.Cells, cell)
		if k == w.barAt {
			b := w.bars[i]
			r.Cells = append(r.Cells, htmlCell{Bar: true, Solid: length(b.solid), Hatched: length(b.hatched), Key: sortKey("bar", &l.ThreadRow)})
		}
	}
	return r
}

// length is a part of a bar as a width; "" draws nothing.
func length(f float64) string {
	if f = clamp(f); f == 0 {
		return ""
	}
	return pct(f * 100)
}

// sortKey is the number that a column is sorted by; of the trigger its share.
func sortKey(id string, r *analyze.ThreadRow) string {
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	either := func(rate evidence.Opt[float64], n evidence.Opt[uint64]) string {
		if rate.OK {
			return num(rate.V)
		}
		return num(float64(n.V))
	}
	switch id {
	case "tid":
		return decimal(r.TID)
	case "vol":
		return either(r.VoluntaryPerS, r.Voluntary)
	case "invol":
		return either(r.InvoluntaryPerS, r.Involuntary)
	case "all", "bar":
		return either(r.SwitchesPerS, r.Switches)
	case "share":
		return num(r.Share.V)
	case "migr":
		return num(float64(r.Migrations.V))
	case "trigger":
		return inert(r.Trigger)
	case "run":
		return num(r.Run.P50.V)
	case "delay":
		return num(r.Delay.P99.V)
	case "off":
		return num(r.OffCPU.P50.V)
	}
	return ""
}

// htmlBarRow is a labelled count with its bar.
type htmlBarRow struct {
	ID           string
	Label        template.HTML
	Frame        template.HTML
	Cells        []htmlCell
	Inv, Short   bool
	Count, Share string
	Time         string
	Len          string
}

// triggers lists what made involuntary switches happen, unless layer 3 does.
func (h *htmlReport) triggers() []htmlBarRow {
	if hasInvoluntary(h.c.Stacks.Reasons) {
		return nil
	}
	var out []htmlBarRow
	for _, g := range h.c.Trigger {
		out = append(out, htmlBarRow{Label: htmlProse(g.Label), Inv: true, Count: quantity.Whole(g.Count), Share: quantity.Percent(g.Share, 1), Len: length(g.Share)})
	}
	return out
}
