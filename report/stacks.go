package report

import (
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

func (t *textReport) stacks() {
	s := &t.c.Stacks
	if !hasStacks(s) {
		return
	}
	t.section("3 STACKS", "", sourceNames(t.r, s.Sources))
	started := false
	part := func(has bool, write func()) {
		if !has {
			return
		}
		if started {
			t.blank()
		}
		started = true
		write()
	}
	part(len(s.Reasons) > 0, t.reasons)
	part(len(s.Tree) > 0, t.tree)
	part(len(s.Tree) == 0 && len(s.Top) > 0, t.topStack)
	part(len(s.Profile) > 0, t.profile)
	part(len(callersApart(s)) > 0, t.callers)
	part(unresolvedLine(s) != nil, func() { t.labelled("unresolved", t.text(unresolvedLine(s), maxName)) })
	t.blank()
}

func hasStacks(s *analyze.StackReport) bool {
	return len(s.Reasons)+len(s.Tree)+len(s.Profile)+len(s.Top)+len(s.Callers) > 0
}

// reasonBars are the lengths of the three bars of each reason, each column on
// its own scale.
func reasonBars(rows []analyze.ReasonRow) [][3]bar {
	out := make([][3]bar, len(rows))
	for k, get := range []func(*analyze.ReasonRow) evidence.Opt[float64]{
		func(r *analyze.ReasonRow) evidence.Opt[float64] { return r.Switches },
		func(r *analyze.ReasonRow) evidence.Opt[float64] { return r.OffNS },
		func(r *analyze.ReasonRow) evidence.Opt[float64] { return r.CPUShare },
	} {
		most := 0.0
		for i := range rows {
			most = max(most, get(&rows[i]).V)
		}
		for i := range rows {
			if v := get(&rows[i]).V; most > 0 && rows[i].Involuntary {
				out[i][k].hatched = v / most
			} else if most > 0 {
				out[i][k].solid = v / most
			}
		}
	}
	return out
}

// reasonCol is a figure of the table of reasons, in any format.
type reasonCol struct {
	head  string
	title string
	value func(*analyze.ReasonRow) (string, bool)
}

// reasonCols are the figures; a share of switches stands in for their number
// where that is not known.
func reasonCols() []reasonCol {
	return []reasonCol{
		{"switches", "Switches", func(r *analyze.ReasonRow) (string, bool) {
			v, ok := r.Switches.Get()
			return quantity.Whole(v), ok
		}},
		{"share", "Share", func(r *analyze.ReasonRow) (string, bool) {
			v, ok := r.SwitchShare.Get()
			return quantity.Percent(v, 1), ok
		}},
		{"off-CPU", "Off-CPU", func(r *analyze.ReasonRow) (string, bool) { v, ok := r.OffNS.Get(); return quantity.Time(v), ok }},
		{"CPU", "CPU samples", func(r *analyze.ReasonRow) (string, bool) {
			v, ok := r.CPUShare.Get()
			return quantity.Percent(v, 2), ok
		}},
	}
}

// has reports whether any row has a value for the column.
func (c *reasonCol) has(rows []analyze.ReasonRow) bool {
	for i := range rows {
		if _, ok := c.value(&rows[i]); ok {
			return true
		}
	}
	return false
}

func (c *reasonCol) cell(r *analyze.ReasonRow) string {
	if s, ok := c.value(r); ok {
		return s
	}
	return absent
}

func (t *textReport) reasons() {
	rows := t.c.Stacks.Reasons
	least := 12
	if t.width >= DefaultWidth {
		least = 20 // rather no bars than frames that cannot be told apart
	}
	tab := table{cols: []column{{head: "blocked on", least: 11, hard: true}, {head: "frame", gap: 1, least: least, keep: 12}}}
	bars := reasonBars(rows)
	var shown []int
	cols := reasonCols()
	for k := range cols {
		// The share is what the bar of the switches shows; as a figure it is
		// for wide pages, or for captures that have no count.
		c := column{head: cols[k].head, right: true, gap: 2, keep: 30 - k}
		if !cols[k].has(rows) {
			continue
		}
		if cols[k].head == "share" && cols[0].has(rows) {
			c.from, c.keep = wideWidth+10, 4
		}
		tab.cols = append(tab.cols, c)
		shown = append(shown, k)
		if barOf(k) >= 0 {
			tab.cols = append(tab.cols, column{bar: true, gap: 1, keep: 3 - barOf(k), most: 16})
		}
	}
	for i := range rows {
		r := &rows[i]
		line := []cell{{text: t.prose(r.Label)}, t.nameCell(r.Frame, 40)}
		for _, k := range shown {
			line = append(line, cell{text: t.prose(cols[k].cell(r))})
			if b := barOf(k); b >= 0 {
				line = append(line, cell{bar: bars[i][b]})
			}
		}
		tab.add(line...)
	}
	tab.render(t.page, plain("  "))
}

// barOf is which bar stands behind column k of the reasons; -1: none.
func barOf(k int) int { return [...]int{0, -1, 1, 2}[k] }

func (t *textReport) tree() {
	s := &t.c.Stacks
	title := s.TreeTitle
	if title == "" {
		title = "callers first"
	}
	t.para(plain("  "), plain("    "), t.prose(title))
	for i := range s.Tree {
		t.treeLine(&s.Tree[i])
	}
}

func (t *textReport) treeLine(l *analyze.TreeLine) {
	share := t.prose(quantity.Percent(l.Share, 1))
	first := append(plain("  "+pad(7-share.width())), share...)
	first = append(first, span{s: "  " + pad(2*min(l.Depth, 8))})
	var tail spans
	if l.Blocks {
		tail = t.prose("   ← blocks here")
	}
	if place := position(l.File, l.Line); place != "" {
		tail = append(tail, append(plain("   "), t.nameIn(place, 30)...)...)
	}
	room := t.edge() - first.width() - tail.width()
	if room < 12 { // the position goes to a line of its own
		t.line(first, t.nameIn(l.Symbol, t.edge()-first.width()))
		t.para(plain(pad(first.width())), plain(pad(first.width())), tail)
		return
	}
	t.line(first, t.nameIn(l.Symbol, room), tail)
}

// position is "file:line", the file's own name only.
func position(file string, line int) string {
	if file == "" {
		return ""
	}
	if i := strings.LastIndexByte(file, '/'); i >= 0 && i+1 < len(file) {
		file = file[i+1:]
	}
	if line > 0 {
		file += ":" + decimal(line)
	}
	return file
}

// topStack writes the heaviest stack whole, where there is no tree.
func (t *textReport) topStack() {
	s := &t.c.Stacks.Top[0]
	t.para(plain("  "), plain("    "), t.prose(stackTitle(s)))
	for _, f := range s.Frames {
		t.line(plain("    "), t.nameIn(f, t.edge()-4))
	}
}

// stackTitle says what part of what a stack is.
func stackTitle(s *analyze.StackRow) string {
	title := "top stack: " + quantity.Percent(s.Share, 1) + " of " + weightName(s.Weight)
	if s.Reason != "" {
		title += ", " + s.Reason
	}
	return title
}

func weightName(weight string) string {
	switch weight {
	case "cpu-samples":
		return "CPU samples"
	case "off-cpu-time":
		return "ns off the CPU"
	}
	return weight
}

func (t *textReport) profile() {
	rows := t.c.Stacks.Profile
	tab := table{cols: []column{{head: "in the profile", least: 14}}}
	children, self := profileHas(rows)
	if children {
		tab.cols = append(tab.cols, column{head: "children", right: true, gap: 2})
	}
	if self {
		tab.cols = append(tab.cols, column{head: "self", right: true, gap: 2, keep: 8})
	}
	tab.cols = append(tab.cols, column{gap: 2, keep: 4, least: 10})
	for i := range rows {
		line := []cell{t.nameCell(rows[i].Symbol, maxName)}
		if children {
			line = append(line, cell{text: t.prose(printedPct(rows[i].Children))})
		}
		if self {
			line = append(line, cell{text: t.prose(printedPct(rows[i].Self))})
		}
		tab.add(append(line, cell{text: t.prose(profileReads(&t.c.Stacks, &rows[i]))})...)
	}
	tab.render(t.page, plain("  "))
}

func profileHas(rows []analyze.ProfileLine) (children, self bool) {
	for i := range rows {
		children = children || rows[i].Children.OK
		self = self || rows[i].Self.OK
	}
	return children, self
}

// printedPct writes a share as the profile printed it: two decimals, also where
// that is 0.00.
func printedPct(v evidence.Opt[float64]) string {
	f, ok := v.Get()
	if !ok {
		return absent
	}
	return quantity.With(quantity.Fixed(f*100, 2), "%")
}

// profileReads is what a row of a profile means.
func profileReads(s *analyze.StackReport, l *analyze.ProfileLine) string {
	reason := reasonLabel(s, l.Reason)
	switch {
	case reason != "" && l.Caller:
		return reason + ", user code"
	case l.Caller:
		return "user code"
	}
	return reason
}

// reasonLabel is a reason in words, where the table of reasons has it.
func reasonLabel(s *analyze.StackReport, id string) string {
	for i := range s.Reasons {
		if s.Reasons[i].ID == id && s.Reasons[i].Label != "" {
			return s.Reasons[i].Label
		}
	}
	return id
}

// callersApart are the callers that neither tree nor profile names already.
func callersApart(s *analyze.StackReport) []analyze.Caller {
	named := map[string]bool{}
	for i := range s.Tree {
		named[s.Tree[i].Symbol] = true
	}
	for i := range s.Profile {
		named[s.Profile[i].Symbol] = true
	}
	var out []analyze.Caller
	for _, c := range s.Callers {
		if !named[c.Symbol] {
			out = append(out, c)
		}
	}
	return out
}

func (t *textReport) callers() {
	tab := table{cols: []column{{head: "asked by", least: 14}, {gap: 2, keep: 4, least: 8}, {right: true, gap: 2}, {gap: 1, keep: 6}, {gap: 2, keep: 5, least: 10}}}
	for _, c := range callersApart(&t.c.Stacks) {
		tab.add(t.nameCell(c.Symbol, maxName), cell{text: t.nameIn(position(c.File, c.Line), 30)},
			cell{text: t.prose(quantity.Percent(c.Share, callerDigits(&c)))}, cell{text: t.prose("of " + weightName(c.Weight))}, cell{text: t.prose(reasonLabel(&t.c.Stacks, c.Reason))})
	}
	tab.render(t.page, plain("  "))
}

// callerDigits: shares of CPU samples are compared with perf's, which has two.
func callerDigits(c *analyze.Caller) int {
	if c.Weight == "cpu-samples" {
		return 2
	}
	return 1
}

// unresolvedLine says what share of the stacks has no names, and why; nil when
// there is nothing to say.
func unresolvedLine(s *analyze.StackReport) analyze.Text {
	v, ok := s.Unresolved.Get()
	if !ok || v == 0 {
		return nil
	}
	out := analyze.Textf("%s of the switches have no user frame with a name", quantity.Percent(v, 1))
	for i, why := range s.Why {
		if i == 0 {
			out = analyze.Textf("%s (%s", out, why)
		} else {
			out = analyze.Textf("%s; %s", out, why)
		}
	}
	if len(s.Why) > 0 {
		out = analyze.Textf("%s)", out)
	}
	return out
}
