package report

import (
	"fmt"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

func (m *markdown) macro() {
	x := &m.c.Macro
	if len(x.Figures) == 0 {
		return
	}
	m.heading("1 Macro" + m.from(x.Sources))
	rows := [][]string{{"Figure", "Value", "Formula", "Reads", "Source"}}
	for i := range x.Figures {
		f := &x.Figures[i]
		if f.Value.OK {
			rows = append(rows, []string{capital(mdPlain(f.Label)), mdPlain(f.Text()), mdFormula(f), mdText(f.Reads), m.places(f.Inputs)})
		}
	}
	m.table("lrlll", rows...)
	var notes []string
	add := func(label, s string) {
		if s != "" {
			notes = append(notes, label+s)
		}
	}
	add("Grade: ", mdText(x.Why))
	if len(x.Cost.Text) > 0 {
		add("Cost: ", mdText(x.Cost.Text)+mdPlain(costSource(&x.Cost)))
	}
	if x.Impact.String() != m.c.Verdict.Impact.String() {
		add("Impact: ", mdText(x.Impact))
	}
	for _, s := range recovered(x.Figures) {
		add("Recovered: ", mdPlain(s))
	}
	reasons, labels := missingFigures(x.Figures)
	for _, why := range reasons {
		add("Absent: ", mdPlain(joined(labels[why])+": "+why))
	}
	m.list(notes)
}

func (m *markdown) list(items []string) {
	if len(items) == 0 {
		return
	}
	m.gap()
	for _, s := range items {
		fmt.Fprintf(m, "- %s\n", blockStart(s))
	}
}

func mdFormula(f *analyze.Figure) string {
	switch {
	case f.Arithmetic == "":
		return mdPlain(f.Formula)
	case f.Formula == "":
		return mdPlain(f.Arithmetic)
	}
	return mdPlain(f.Formula + " = " + f.Arithmetic)
}

// places are where the inputs of a figure stand: "perf-stat.txt:2, 11".
func (m *markdown) places(inputs []analyze.Evidence) string {
	var out []string
	last := -1
	for _, e := range inputs {
		name := strings.Join(sourceNames(m.r, []int{e.Source}), "")
		line, ok := e.Line.Get()
		switch {
		case name == "":
			continue
		case ok && line > 0 && e.Source == last:
			out = appendNew(out, decimal(line))
		case ok && line > 0:
			out = appendNew(out, mdName(fmt.Sprintf("%s:%d", name, line)))
		default:
			out = appendNew(out, mdName(name))
		}
		last = e.Source
	}
	return strings.Join(out, ", ")
}

// from names the sources of a section in its heading.
func (m *markdown) from(ids []int) string {
	var names []string
	for _, n := range sourceNames(m.r, ids) {
		names = append(names, mdName(n))
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (m *markdown) threads() {
	c := m.c
	if len(c.Threads) == 0 && len(c.Hists) == 0 && len(c.Rates) == 0 {
		return
	}
	m.heading("2 Threads" + m.from(c.Layer2.Sources))
	if len(c.Threads) > 0 {
		m.threadTable()
	}
	var notes []string
	if len(c.Layer2.Concentration) > 0 {
		notes = append(notes, mdText(c.Layer2.Concentration))
	}
	for _, n := range c.Layer2.Notes {
		notes = append(notes, mdText(n))
	}
	if window, body, ok := rateText(c); ok {
		notes = append(notes, "Rate over "+mdPlain(window+": "+body))
	}
	m.list(notes)
	m.distributions()
	m.wakes()
	m.taken()
	m.held()
	m.ledger()
	m.triggers()
}

func (m *markdown) threadTable() {
	lines := tableLines(m.c.Threads)
	cols := shownCols(lines)
	head, aligns := []string{"Thread"}, "l"
	for i := range cols {
		head = append(head, cols[i].title)
		if cols[i].right {
			aligns += "r"
		} else {
			aligns += "l"
		}
	}
	rows := [][]string{head}
	for i := range lines {
		l := &lines[i]
		row := []string{mdThread(l)}
		for k := range cols {
			row = append(row, mdPlain(cols[k].cell(&l.ThreadRow)))
		}
		rows = append(rows, row)
	}
	m.table(aligns, rows...)
}

// mdThread is a thread's name, in bold when it is one of the few that matter.
func mdThread(l *threadLine) string {
	switch {
	case l.label != "":
		return mdPlain(l.label)
	case l.Hot && l.Name != "":
		return "**" + mdName(l.Name) + "**"
	}
	return mdName(l.Name)
}

// mdWidth is how wide drawings are in Markdown.
const mdWidth = 110

func (m *markdown) distributions() {
	d := distOf(m.c)
	if len(d.panels) == 0 {
		return
	}
	p := newPage(Options{Width: mdWidth})
	nameW := p.distNameWidth(d)
	if d.scale(mdWidth - nameW) {
		for _, l := range p.drawDist(d, nameW, "|") {
			p.line(l)
		}
		m.gap()
		m.WriteString(mdBlock("", strings.Split(strings.TrimRight(p.buf.String(), "\n"), "\n")))
	}
	head, aligns := []string{"Thread"}, "l"
	for i := range d.panels {
		h := capital(d.panels[i].head)
		head, aligns = append(head, h+" p50", "p99", "max"), aligns+"rrr"
	}
	rows := [][]string{head}
	for i := range d.lines {
		row := []string{mdThread(&d.lines[i])}
		if d.lines[i].twin {
			row[0] += " " + decimal(d.lines[i].TID)
		}
		for k := range d.panels {
			q := d.panels[k].quant[i]
			row = append(row, mdTime(q.P50), mdTime(q.P99), mdTime(q.Max))
		}
		rows = append(rows, row)
	}
	m.gap()
	m.table(aligns, rows...)
}

func mdTime(v evidence.Opt[float64]) string {
	ns, ok := v.Get()
	if !ok {
		return absent
	}
	return quantity.Time(ns)
}

func (m *markdown) wakes() {
	if len(m.c.Wakes) == 0 {
		return
	}
	rows := [][]string{{"Woken by", "Wakes", "Wakeups", "Share"}}
	for _, w := range m.c.Wakes {
		rows = append(rows, []string{mdText(w.Waker), mdText(w.Wakee), quantity.Count(w.Count), mdPlain(quantity.Percent(w.Share, 1))})
	}
	m.gap()
	m.table("llrr", rows...)
}

func (m *markdown) triggers() {
	if len(m.c.Trigger) == 0 || hasInvoluntary(m.c.Stacks.Reasons) {
		return
	}
	rows := [][]string{{"Involuntary by", "Switches", "Share"}}
	for _, g := range m.c.Trigger {
		rows = append(rows, []string{mdPlain(g.Label), mdPlain(quantity.Whole(g.Count)), mdPlain(quantity.Percent(g.Share, 1))})
	}
	m.gap()
	m.table("lrr", rows...)
}
