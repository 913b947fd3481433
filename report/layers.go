package report

import (
	"fmt"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

func (t *textReport) macro() {
	m := &t.c.Macro
	if len(m.Figures) == 0 {
		return
	}
	note := ""
	switch {
	case m.FromCounts:
		note = "from /proc: no counters in the input"
	case m.FromTrace:
		note = "from the trace: no counters in the input"
	}
	t.section("1 MACRO", note, sourceNames(t.r, m.Sources))
	t.figures(m)
	t.macroNotes(m)
	t.blank()
}

// figures writes the figures one below the other, on wide pages in two columns.
func (t *textReport) figures(m *analyze.Macro) {
	var figs []*analyze.Figure
	for i := range m.Figures {
		if m.Figures[i].Value.OK {
			figs = append(figs, &m.Figures[i])
		}
	}
	if t.width >= wideWidth && t.figuresInTwo(figs) {
		return
	}
	labelW, valueW := t.figureWidths(figs)
	labelW, valueW = max(labelW, 21), max(valueW, 10)
	labelW = min(labelW, max(t.edge()-valueW-10, 10))
	for _, f := range figs {
		lead := t.figureLead(f, labelW, valueW)
		if t.width < 50 {
			lead = append(lead, span{s: "  "})
		} else {
			formula := shortFormula(f.Formula)
			lead = append(lead, span{s: "   " + formula + pad(7-width(formula))})
		}
		rest := plain(pad(lead.width()))
		if len(f.Reads) == 0 {
			t.line(lead)
		} else if t.edge()-lead.width() < 16 {
			t.line(lead)
			t.para(plain("    "), plain("    "), t.text(f.Reads, maxName))
		} else {
			t.paraTo(lead, rest, t.text(f.Reads, maxName), t.edge())
		}
	}
}

func (t *textReport) figureWidths(figs []*analyze.Figure) (label, value int) {
	for _, f := range figs {
		label = max(label, t.prose(f.Label).width())
		value = max(value, t.prose(f.Text()).width())
	}
	return label, value
}

func (t *textReport) figureLead(f *analyze.Figure, labelW, valueW int) spans {
	label, value := t.shorten(t.prose(f.Label), labelW), t.prose(f.Text())
	lead := append(plain("  "), label...)
	lead = append(lead, span{s: pad(labelW - label.width() + 2 + valueW - value.width())})
	return append(lead, value...)
}

// figuresInTwo writes the figures in two columns, the second without formulas,
// and reports whether there is room for that.
func (t *textReport) figuresInTwo(figs []*analyze.Figure) bool {
	half := (len(figs) + 1) / 2
	left := t.figureColumn(figs[:half], true)
	right := t.figureColumn(figs[half:], false)
	leftW, rightW := widest(left), widest(right)
	if leftW+rightW > t.edge() {
		return false
	}
	for i := range left {
		l := append(left[i], span{s: pad(leftW - left[i].width())})
		if i < len(right) {
			l = append(l, right[i]...)
		}
		t.line(l)
	}
	return true
}

func (t *textReport) figureColumn(figs []*analyze.Figure, formulas bool) []spans {
	labelW, valueW := t.figureWidths(figs)
	out := make([]spans, len(figs))
	for i, f := range figs {
		l := t.figureLead(f, labelW, valueW)
		if formulas {
			s := shortFormula(f.Formula)
			l = append(l, span{s: "  " + s + pad(5-width(s))})
		}
		out[i] = append(append(l, span{s: "  "}), t.text(f.Reads, maxName)...)
	}
	return out
}

func widest(lines []spans) int {
	w := 0
	for _, l := range lines {
		w = max(w, l.width())
	}
	return w
}

// shortFormula is a formula that fits between the value and what it reads as:
// those of letters. The others are in the formats that have more room.
func shortFormula(s string) string {
	if s = inert(s); width(s) > 5 {
		return ""
	}
	return s
}

// macroNotes are what must be known to read the figures right.
func (t *textReport) macroNotes(m *analyze.Macro) {
	if len(m.Inputs) > 0 {
		t.labelled("where", t.prose(t.inputs(m.Inputs)))
	}
	if len(m.Why) > 0 {
		t.labelled("grade", t.text(m.Why, maxName))
	}
	if len(m.Cost.Text) > 0 {
		t.labelled("cost", append(t.text(m.Cost.Text, maxName), t.prose(costSource(&m.Cost))...))
	}
	if len(m.Impact) > 0 && m.Impact.String() != t.c.Verdict.Impact.String() {
		t.labelled("impact", t.text(m.Impact, maxName))
	}
	for _, s := range recovered(m.Figures) {
		t.labelled("recovered", t.prose(s))
	}
	reasons, labels := missingFigures(m.Figures)
	for _, why := range reasons {
		t.labelled("absent", t.prose(fmt.Sprintf("%s: %s", joined(labels[why]), why)))
	}
}

// inputs tells what the letters of the formulae stand for, and where it stands.
func (t *textReport) inputs(in []analyze.MacroInput) string {
	var parts []string
	for i := range in {
		x := &in[i]
		at := strings.Join(sourceNames(t.r, []int{x.Evidence.Source}), "")
		if n, ok := x.Evidence.Line.Get(); ok && n > 0 {
			at = fmt.Sprintf("%s:%d", at, n)
		}
		parts = append(parts, fmt.Sprintf("%s is %s, %s (%s)", x.Letter, x.Name, x.Text, at))
	}
	return strings.Join(parts, "; ")
}

func costSource(c *analyze.Cost) string {
	if c.Table == "" {
		return ""
	}
	return ". Range: " + c.Table
}

// recovered are the ways that inputs were recovered, each once.
func recovered(figs []analyze.Figure) []string {
	var out []string
	for i := range figs {
		if s := figs[i].Recovered; s != "" && figs[i].Value.OK {
			out = appendNew(out, s)
		}
	}
	return out
}

func joined(list []string) string {
	s := ""
	for i, x := range list {
		if i > 0 {
			s += ", "
		}
		s += x
	}
	return s
}

func (t *textReport) threads() {
	c := t.c
	if len(c.Threads) == 0 && len(c.Hists) == 0 && len(c.Rates) == 0 {
		return
	}
	t.section("2 THREADS", "", sourceNames(t.r, c.Layer2.Sources))
	if len(c.Threads) > 0 {
		t.threadTable()
	}
	t.layer2Notes()
	t.distributions()
	t.rates()
	t.wakes()
	t.triggers()
	t.taken()
	t.held()
	t.ledger()
	t.blank()
}

// threadColumn is how a column of the thread table is set on a terminal.
func threadColumn(c *threadCol, lines []threadLine) column {
	out := column{head: c.head, right: c.right, gap: 2, keep: 20}
	switch c.id {
	case "tid":
		out.keep = 30
	case "vol", "all":
		out.keep = 0
	case "invol":
		out.keep = 40
	case "share":
		out.from, out.keep = wideWidth, 8
	case "migr":
		if out.keep = 10; !anyMigrated(lines) {
			out.from = wideWidth // a column of zeros is for those who have room
		}
	case "trigger":
		out.least = 12
	case "trigger-share":
		out.from, out.gap, out.keep = wideWidth, 1, 4
	case "run":
		out.from, out.keep = wideWidth, 6
	case "delay":
		out.from, out.keep = wideWidth, 7
	case "off":
		out.keep = 15
	}
	return out
}

func anyMigrated(lines []threadLine) bool {
	for i := range lines {
		if lines[i].Migrations.V > 0 {
			return true
		}
	}
	return false
}

func (t *textReport) threadTable() {
	lines := tableLines(t.c.Threads)
	cols := shownCols(lines)
	tab := table{cols: []column{{head: "thread", gap: 2, least: 12}}}
	barAt := -1
	for i := range cols {
		tab.cols = append(tab.cols, threadColumn(&cols[i], lines))
		if barAt < 0 && (cols[i].id == "vol" || cols[i].id == "invol" || cols[i].id == "all") {
			tab.cols = append(tab.cols, column{bar: true, gap: 1, keep: 1, most: 24})
			barAt = i
		}
	}
	bars := threadBars(lines)
	for i := range lines {
		cells := []cell{t.threadCellName(&lines[i])}
		for k := range cols {
			cells = append(cells, cell{text: t.threadCell(&cols[k], &lines[i])})
			if k == barAt {
				cells = append(cells, cell{bar: bars[i]})
			}
		}
		tab.add(cells...)
	}
	if tab.render(t.page, plain("  ")) {
		t.para(plain("  "), plain("  "), t.prose(t.barLegend()))
	}
}

func (t *textReport) threadCell(c *threadCol, l *threadLine) spans {
	text := t.prose(c.cell(&l.ThreadRow))
	switch c.id {
	case "vol":
		return text.styled(styleVol)
	case "invol":
		return text.styled(styleInvol)
	}
	return text
}

func (p *page) barLegend() string {
	if p.ascii {
		return "bars: # voluntary, o involuntary"
	}
	return "bars: █ voluntary, ░ involuntary"
}

// threadName is a thread's name where the table of threads is not beside it:
// with the id, where another thread has that name, or the id alone.
func (p *page) threadName(l *threadLine, w int) spans {
	switch {
	case l.label != "":
		return p.prose(l.label)
	case l.Name == "" && l.TID == 0:
		return p.prose(absent)
	case l.Name == "":
		return p.prose(decimal(l.TID))
	case l.twin: // a name alone would not tell which
		tid := " " + decimal(l.TID)
		return append(p.nameIn(l.Name, w-len(tid)), span{s: tid})
	}
	return p.nameIn(l.Name, w)
}

func (p *page) threadCellName(l *threadLine) cell {
	if l.label != "" {
		return cell{text: p.prose(l.label)}
	}
	return p.nameCell(l.Name, 40)
}

func (t *textReport) layer2Notes() {
	l := &t.c.Layer2
	if len(l.Concentration) > 0 {
		t.blank()
		t.para(plain("  "), plain("  "), t.text(l.Concentration, maxName))
	}
	for _, n := range l.Notes {
		t.para(plain("  "), plain("  "), t.text(n, maxName))
	}
}

func (t *textReport) rates() {
	window, body, ok := rateText(t.c)
	if !ok {
		return
	}
	values, scale := rateValues(t.c)
	t.blank()
	if room := t.edge() - labelWidth - 7; t.width >= 60 {
		t.line(t.prose(label12("rate")), plain(t.spark(resample(values, room), scale)))
	}
	t.labelled(window, t.prose(body+" (scale 0 to "+quantity.Whole(scale)+")"))
}

// rateValues are the switch rates over the capture, and the scale to draw them on.
func rateValues(c *analyze.Case) (values []float64, scale float64) {
	values = make([]float64, len(c.Rates))
	for i := range c.Rates {
		values[i] = c.Rates[i].PerS
	}
	return values, niceMax(largest(values))
}

// rateText is the time that the rates cover and their range: "0–0.5 s",
// "64,200 to 68,800/s". Less than two steps are no course.
func rateText(c *analyze.Case) (window, body string, ok bool) {
	if len(c.Rates) < 2 {
		return "", "", false
	}
	values, _ := rateValues(c)
	lo := values[0]
	for _, v := range values {
		lo = min(lo, v)
	}
	window = quantity.With(quantity.Range(seconds(c.Rates[0].StartS), seconds(c.Rates[len(c.Rates)-1].EndS)), "s")
	body = fmt.Sprintf("%s to %s", quantity.Whole(lo), quantity.PerS(largest(values)))
	if len(c.RateNote) > 0 {
		body += ", " + c.RateNote.String()
	}
	return window, body, true
}

// seconds writes a time without trailing zeros: 0.5, 12.25.
func seconds(v float64) string {
	s := quantity.Fixed(v, 3)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func (t *textReport) wakes() {
	if len(t.c.Wakes) == 0 {
		return
	}
	tab := table{bare: true, cols: []column{{least: 16, hard: true}, {right: true, gap: 2}, {bar: true, gap: 2, keep: 1, most: 36}}}
	most := 0.0
	for _, w := range t.c.Wakes {
		most = max(most, float64(w.Count))
	}
	for _, w := range t.c.Wakes {
		who := append(t.text(w.Waker, 30), append(t.prose(" → "), t.text(w.Wakee, 30)...)...)
		tab.add(cell{text: who}, cell{text: t.prose(quantity.Count(w.Count))}, cell{bar: bar{solid: float64(w.Count) / most}})
	}
	t.labelledTable("woken by", &tab)
}

// triggers lists what made involuntary switches happen, unless layer 3 does.
func (t *textReport) triggers() {
	if len(t.c.Trigger) == 0 || hasInvoluntary(t.c.Stacks.Reasons) {
		return
	}
	tab := table{bare: true, cols: []column{{least: 16, hard: true}, {right: true, gap: 2}, {right: true, gap: 2, keep: 5}, {bar: true, gap: 2, keep: 1, most: 36}}}
	for _, g := range t.c.Trigger {
		tab.add(cell{text: t.prose(g.Label)}, cell{text: t.prose(quantity.Whole(g.Count)).styled(styleInvol)},
			cell{text: t.prose(quantity.Percent(g.Share, 1))}, cell{bar: bar{hatched: g.Share}})
	}
	t.labelledTable("invol by", &tab)
}

func hasInvoluntary(rows []analyze.ReasonRow) bool {
	for i := range rows {
		if rows[i].Involuntary {
			return true
		}
	}
	return false
}

// labelledTable writes a table without a head behind a label.
func (t *textReport) labelledTable(label string, tab *table) {
	sub := &page{width: t.width, ascii: t.ascii, color: t.color}
	tab.render(sub, plain(pad(labelWidth)))
	t.blank()
	lines := sub.buf.Bytes()
	t.fillGap()
	t.write(span{s: label12(label)})
	t.buf.Write(lines[labelWidth:])
}
