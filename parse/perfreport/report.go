package perfreport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// maxRows bounds the rows of one report.
const maxRows = 200_000

var errShare = errors.New("a share of more than 100 %")

var errTooMany = fmt.Errorf("more than %d rows in a report, or %d frames in its call graphs", maxRows, maxProfileFrames)

// report is one table being read.
type report struct {
	at     int // line of the title
	title  title
	count  evidence.Opt[uint64]
	lost   evidence.Opt[uint64]
	table  *table
	rows   []parsedRow
	graph  *graph // of the last row
	frames int
	pctEnd int // of the last row

	path    []level // --hierarchy: the rows above
	pctBase int
}

type parsedRow struct {
	line  int
	pcts  []float64
	row   evidence.ProfileRow
	graph *graph
}

// level is a row of --hierarchy; it is one of the report's rows if nothing stands below it.
type level struct {
	row  parsedRow
	leaf bool
}

func newReport(line int, t title) *report {
	return &report{at: line, title: t, count: t.count, lost: t.lost}
}

func (p *report) setTable(t *table)               { p.table = t }
func (p *report) setCount(n evidence.Opt[uint64]) { p.count = n }
func (p *report) setLost(n evidence.Opt[uint64]) {
	if n.OK {
		p.lost = n
	}
}

// What a line turned out to be.
const (
	lineOther = iota
	lineTaken
	lineCut // a row that the end of the text cuts
	lineTooMany
	lineShare // a row with more than there is
)

// line takes a row or a line of a call graph.
func (p *report) line(text string, no int, last bool, intern func(string) string) int {
	c, ok := p.table.cut(text)
	if ok && p.table.generic {
		_, ok = headless(text)
	}
	if ok && c.partial && p.graph != nil && c.pctEnd > p.pctEnd && len(c.pcts) == 1 {
		ok = false // the value above a flat chain
	}
	if !ok {
		kind := p.graphLine(text, intern)
		if kind == lineOther && overshares(text) {
			return lineShare
		}
		return kind
	}
	if len(p.rows) >= maxRows {
		return lineTooMany
	}
	p.take(c, no, intern)
	if c.partial && last {
		return lineCut
	}
	return lineTaken
}

// overshares reports whether a line begins with a share of more than 100 %.
func overshares(line string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(line, " \t+-"), " ")
	share, ok := strings.CutSuffix(first, "%")
	v, isNumber := decimal(share)
	return ok && isNumber && v > maxShare
}

func (p *report) graphLine(text string, intern func(string) string) int {
	if p.graph == nil {
		return lineOther
	}
	if p.frames > maxProfileFrames {
		return lineTooMany
	}
	add := func(f string) string {
		p.frames++
		if f = cleanFrame(f); f == "" {
			f = "[unknown]"
		}
		return intern(f)
	}
	if p.graph.line(text, p.pctEnd, add) {
		return lineTaken
	}
	return lineOther
}

func (p *report) blank() {
	if p.graph != nil {
		p.graph.blank()
	}
}

// take adds a row.
func (p *report) take(c cells, no int, intern func(string) string) {
	r := parsedRow{line: no, pcts: c.pcts, graph: &graph{}}
	if c.sign == '-' {
		r.graph.kind = graphTUI
	}
	p.graph, p.pctEnd = r.graph, c.pctEnd
	cols := p.table.cols[p.table.text():]
	if p.table.levels {
		p.level(r, c, cols, intern)
		return
	}
	if p.table.text() == 0 { // text first: the cells are those of the text columns
		cols = textColumns(p.table.cols)
	}
	r.row.Samples = c.samples
	for i, w := range c.text {
		if i < len(cols) {
			set(&r.row, cols[i], w, intern)
		}
	}
	p.rows = append(p.rows, r)
}

func textColumns(cols []column) []column {
	var out []column
	for _, c := range cols {
		if !c.role.percent() && !c.role.number() {
			out = append(out, c)
		}
	}
	return out
}

// level takes a row of --hierarchy. Each is indented by three more than the one
// it belongs to; only rows with nothing below them are rows of the report.
func (p *report) level(r parsedRow, c cells, cols []column, intern func(string) string) {
	const indent = 3
	if len(p.path) == 0 && len(p.rows) == 0 {
		p.pctBase = c.pctEnd
	}
	depth := min(max((c.pctEnd-p.pctBase)/indent, 0), len(p.path), len(cols)-1)
	if depth < len(p.path) {
		p.closeLevels(depth)
	}
	if depth > 0 {
		p.path[depth-1].leaf = false
		r.row = p.path[depth-1].row.row
	}
	r.row.Samples = c.samples
	set(&r.row, cols[depth], c.text[0], intern)
	p.path = append(p.path, level{r, true})
}

// empty reports whether there is nothing to tell.
func (p *report) empty() bool {
	return len(p.title.events) == 0 && len(p.rows) == 0 && len(p.path) == 0
}

func (p *report) closeLevels(depth int) {
	for i := depth; i < len(p.path); i++ {
		if p.path[i].leaf {
			p.rows = append(p.rows, p.path[i].row)
		}
	}
	p.path = p.path[:depth]
}

// set takes a text column into a row.
func set(r *evidence.ProfileRow, c column, w string, intern func(string) string) {
	if w == "" {
		return
	}
	switch c.role {
	case roleComm:
		r.Comm = intern(w)
	case roleModule:
		r.Module = intern(w)
		r.Kernel = r.Kernel || strings.HasPrefix(w, "[kernel") || w == "vmlinux"
	case roleSymbol:
		setSymbol(r, w, intern)
	case roleTID, roleTGID:
		setTask(r, c, w, intern)
	case roleTrace:
		setTrace(r, w, intern)
	case roleField:
		setField(r, c.name, w, intern)
	case roleSamples:
		if v, err := strconv.ParseUint(w, 10, 64); err == nil {
			r.Samples = evidence.Some(v)
		}
	}
}

// setSymbol takes "[k] schedule", with -v "0xffffffff8225fd19 k [k] schedule".
func setSymbol(r *evidence.ProfileRow, w string, intern func(string) string) {
	if m := markAt(w); m == 0 || m > 0 && strings.IndexByte("0123456789abcdef", w[0]) >= 0 {
		level := w[m+1]
		w = strings.TrimSpace(w[m+3:])
		r.Kernel = level == 'k'
	}
	r.Symbol = intern(strings.TrimSuffix(w, " (inlined)"))
}

// setTask takes "1234:comm", in old versions "comm: 1234".
func setTask(r *evidence.ProfileRow, c column, w string, intern func(string) string) {
	id, comm, ok := strings.Cut(w, ":")
	if c.name == "Command:  Pid" {
		i := strings.LastIndexByte(w, ':')
		if ok = i >= 0; ok {
			comm, id = w[:i], w[i+1:]
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(id))
	if !ok || err != nil || n < 0 {
		return
	}
	comm = strings.TrimSpace(comm)
	if c.role == roleTGID {
		r.Task.PID = n
		return
	}
	r.Task.TID, r.Task.Comm = n, intern(comm)
	if r.Comm == "" {
		r.Comm = r.Task.Comm
	}
}

// setTrace takes the tracepoint's text. Of a switch it tells the task.
func setTrace(r *evidence.ProfileRow, w string, intern func(string) string) {
	r.Trace = intern(w)
	_, after, ok := strings.Cut(w, "prev_comm=")
	if !ok {
		return
	}
	comm, after, ok := strings.Cut(after, " prev_pid=")
	if !ok {
		return
	}
	setField(r, "prev_comm", comm, intern)
	id, _, _ := strings.Cut(after, " ")
	if n, err := strconv.Atoi(id); err == nil && n >= 0 {
		r.Task = evidence.Task{TID: n, Comm: r.Comm}
	}
	r.Trace = intern(w)
}

// setField takes a tracepoint's field that the report is sorted by.
func setField(r *evidence.ProfileRow, name, w string, intern func(string) string) {
	switch name {
	case "prev_comm":
		if r.Comm == "" {
			r.Comm = intern(w)
		}
	case "prev_pid":
		if n, err := strconv.Atoi(w); err == nil && n >= 0 {
			r.Task.TID = n
		}
	}
	r.Trace = intern(strings.TrimSpace(r.Trace + " " + name + "=" + w))
}

// headless returns the layout of a row without a header that nothing but perf
// report (or perf top) prints: one percentage or two, and then a symbol's level
// mark, or a switch as its tracepoint prints it.
func headless(line string) (*table, bool) {
	if strings.IndexByte(line, '%') < 0 {
		return nil, false
	}
	if markAt(line) < 0 && !isSwitchText(line) {
		return nil, false
	}
	var c cells
	at, ok := c.percentages(line)
	if !ok || len(c.pcts) > 2 {
		return nil, false
	}
	t := &table{generic: true, pcts: len(c.pcts)}
	if t.cols = []column{{role: roleOverhead}}; t.pcts == 2 {
		t.cols = []column{{role: roleChildren}, {role: roleSelf}}
	}
	rest := strings.TrimSpace(line[at:])
	if isSwitchText(rest) && strings.HasPrefix(rest, "prev_comm=") {
		t.cols = append(t.cols, column{role: roleTrace})
		return t, true
	}
	mark := markAt(rest)
	if mark < 0 || strings.TrimSpace(rest[mark+3:]) == "" {
		return nil, false
	}
	switch before := splitWide(rest[:mark]); {
	case len(before) == 0:
	case len(before) == 1 && !strings.Contains(before[0], " "): // perf top
		t.cols = append(t.cols, column{role: roleModule})
	case isSample(before):
		t.cols = append(t.cols, column{role: roleSamples}, column{role: roleComm}, column{role: roleModule})
	case len(before) <= 2:
		t.cols = append(t.cols, column{role: roleComm}, column{role: roleModule})
	default:
		return nil, false
	}
	t.cols = append(t.cols, column{role: roleSymbol})
	return t, true
}

// isSample reports whether the first of three fields is a sample count (-n).
func isSample(before []string) bool { return len(before) == 3 && isNumber(before[0]) }

// finish writes the profile, or one for each member of an event group.
func (p *report) finish(b *evidence.Builder) {
	p.closeLevels(0)
	members := max(len(p.title.events), 1)
	for i := range members {
		prof := p.profile(i, members)
		if i > 0 && len(prof.Rows) == 0 {
			continue
		}
		var gs graphs
		if i == 0 { // a group's call graphs are the leader's
			gs = p.graphs()
		}
		for _, n := range gs.fill(&prof) {
			b.Note(n)
		}
		b.Profile(prof)
		noteVariant(b.Source(), &prof)
	}
	if members > 1 {
		b.Note("event group: the title's sample and event counts are of all its members together")
	}
}

// profile makes the profile of one member of a group.
func (p *report) profile(i, members int) evidence.Profile {
	prof := evidence.Profile{Pos: evidence.Pos{Line: p.at}, Lost: p.lost}
	if len(p.title.events) > 0 {
		prof.Event = p.title.events[i]
	} else if len(p.rows) > 0 && isSwitchText(p.rows[0].row.Trace) {
		prof.Event = "sched:sched_switch"
	}
	prof.Kind = kindOf(prof.Event)
	if members == 1 {
		prof.EventCount, prof.SamplesRaw = p.count, p.title.samples
		if isNumber(prof.SamplesRaw) {
			prof.Samples = leadingNumber(prof.SamplesRaw)
		}
	}
	for _, r := range p.rows {
		if p.percents(&r, i, &prof) {
			prof.Rows = append(prof.Rows, r.row)
		}
	}
	return prof
}

// percents fills in a row's percentages of one member. The figures of a column
// stand together: those of its members, then the next column's.
func (p *report) percents(r *parsedRow, member int, prof *evidence.Profile) bool {
	each := max(len(r.pcts)/max(p.table.pcts, 1), 1)
	if member >= each {
		return false
	}
	r.row.Pos.Line = r.line
	n := 0
	for _, c := range p.table.cols {
		if !c.role.percent() {
			continue
		}
		at := n*each + member
		if n++; at >= len(r.pcts) {
			break
		}
		v := evidence.Some(r.pcts[at])
		switch c.role {
		case roleOverhead:
			r.row.OverheadPct = v
		case roleChildren:
			r.row.ChildrenPct, prof.Children = v, true
		case roleSelf:
			r.row.SelfPct = v
		}
	}
	return true
}

// graphs collects the call graphs of the rows.
func (p *report) graphs() graphs {
	var gs graphs
	if p.table != nil {
		if i := p.table.text(); i < len(p.table.cols) {
			gs.bySymbol = p.table.cols[i].role == roleSymbol
		}
	}
	for i, r := range p.rows {
		if len(r.graph.roots) > 0 {
			gs.rows = append(gs.rows, rowGraph{i, r.graph})
		}
	}
	return gs
}

// noteVariant says for people what a source holds.
func noteVariant(src *evidence.Source, p *evidence.Profile) {
	event := p.Event
	if event == "" {
		event = "event not named"
	}
	if src.Variant != "" {
		event = src.Variant + "; " + event
	}
	src.Variant = event
	switch {
	case len(p.Rows) == 0:
		src.Variant += ", no rows"
	case p.Children:
		src.Variant += ", with children"
	}
}
