package timehist

import (
	"bytes"
	"fmt"

	"ctxan/parse/evidence"
)

// reader turns lines into captures.
type reader struct {
	b       *evidence.Builder // of the current capture
	cap     *capture
	layout  layout
	scan    *scanner
	columns columns   // of the latest row in columns, which the layout has
	recs    []record  // of a line of a pasted text
	slow    bool      // for tests: everything goes to the tolerant reader
	first   timePlace // of the first row of the capture
	open    bool      // the line at hand ends the text without a line end
	foreign bool      // lines of something else since the last row
	no      int       // of the line at hand
	found   bool      // some capture had content
	header  int       // line of the header of a capture without rows so far; 0: none
	command string
	row     row
}

func newReader(b *evidence.Builder) *reader {
	return &reader{b: b, cap: newCapture(1), scan: newScanner()}
}

// line reads one line without its line end.
func (r *reader) line(p []byte, no int) {
	r.no = no
	p = trimRight(p)
	if s := &r.cap.sum; s.titled && !s.closed && s.line(p, no) {
		return
	}
	switch kind, err := r.layout.parse(p, &r.row); {
	case err != nil:
		r.drop(err)
		r.cutEnd()
	case kind == rowLost:
		r.lost()
	case kind != rowNone:
		r.take(kind)
	default:
		r.other(p)
	}
}

func (r *reader) drop(err error) { r.b.Drop(r.no, err) }

// cutEnd notes that the text ends within a row.
func (r *reader) cutEnd() {
	if r.open {
		r.b.Source().Loss.Truncated = true
	}
}

// lost takes what perf says of lost events, and no time from it: it is that of
// the sample before.
func (r *reader) lost() { r.cap.lost += r.row.lost }

// take adds a row of any kind to the capture.
func (r *reader) take(kind rowKind) {
	row := &r.row
	r.beforeRow(row)
	c := r.cap
	c.tick(row.time, row.resolution)
	at, comm := c.tasks.find(row.name, r.no)
	t := c.tasks.list[at]
	switch kind {
	case rowSwitch:
		r.scan.learn(row, &r.layout)
		r.addSwitch(at, comm, row)
		return
	case rowWakeup:
		wakee, comm := c.tasks.find(row.other, r.no)
		c.tasks.nameOnce(wakee, comm)
		c.addWakeup(at, wakee, row.time)
	case rowMigrate:
		task, comm := c.tasks.find(row.other, r.no)
		c.tasks.nameOnce(task, comm)
		c.addMigration(task)
	}
	if t.rows == 0 {
		t.comm = comm
	}
}

// addSwitch adds a switch row with its tail.
func (r *reader) addSwitch(at, comm int32, row *row) {
	c := r.cap
	t := c.tasks.list[at]
	t.comm = comm
	if c.rows == 0 {
		c.firstRow = firstRow{row.time, row.wait, row.delay, row.run, row.cpu}
		c.firstTask = c.tasks.identity(at)
	}
	p := c.cpuAt(row.cpu)
	c.addSwitch(at, t, p, stint{row.time, row.wait, row.delay, row.run})
	if at != idleTask {
		r.addChain(at, t, row.chain)
	}
	if len(row.next) > 0 {
		p.next = int32(parseName(row.next).tid)
	}
}

// addChain adds the call chain of a row. The wait that follows belongs to it.
func (r *reader) addChain(at int32, t *task, chain []byte) {
	if r.open && len(chain) > 0 {
		chain = r.cap.chains.cutLast(chain)
	}
	if len(chain) == 0 {
		t.sample = -1
		return
	}
	r.addStack(at, t, r.cap.chains.stack(chain))
}

func (r *reader) addStack(at int32, t *task, stack int32) {
	t.sample = r.cap.chains.add(at, stack, t.sample)
	t.kernel = t.kernel || r.cap.chains.isKernel(t.sample)
}

// beforeRow begins another capture where a row cannot belong to the one before,
// and takes back a first row whose beginning was cut off.
func (r *reader) beforeRow(row *row) {
	c := r.cap
	if c.sum.closed || r.foreign && c.resolution != 0 && row.time < c.last {
		r.nextCapture(r.layout)
		c = r.cap
	}
	r.foreign = false
	if c.rows+c.wakeups+c.migrates == 1 && !r.layout.header && r.first.isCut(row) {
		r.b.Drop(c.line, errBeginning)
		*c = *newCapture(r.no)
	}
	if c.empty() {
		c.line = r.no
		r.first = timePlace{row.time, row.timeAt, row.timeEnd - row.timeAt}
	}
}

// timePlace is a row's time and where it stands in its line.
type timePlace struct {
	time      uint64
	at, width int
}

// isCut reports whether the first row of a capture lost its beginning, digits
// of its time among it: it begins at the margin, with fewer digits than the
// next row's, and with a time long before it.
func (t timePlace) isCut(next *row) bool {
	const gap = 1e9
	return t.at == 0 && t.width < next.timeEnd-next.timeAt && next.time > t.time+gap
}

// nextCapture closes the capture and begins another.
func (r *reader) nextCapture(l layout) {
	if !r.cap.empty() {
		r.closeCapture()
		r.b = r.b.Next()
	}
	r.cap = newCapture(r.no)
	r.layout, r.columns = l, columns{}
}

// other reads a line that is no row.
func (r *reader) other(p []byte) {
	switch {
	case len(p) == 0 || isInfo(p) || isRule(p):
	case isHeader(p):
		r.nextCapture(parseHeader(p))
		r.header = r.no
	case r.summaryLine(p):
	case r.commandLine(p):
		r.foreign = true
	case !r.foreign && isFragment(p):
		r.drop(errFragment)
		r.cutEnd()
	default:
		r.foreign = true
	}
}

// summaryLine reads a line of a summary. A title behind the totals of another
// begins another capture.
func (r *reader) summaryLine(p []byte) bool {
	s := &r.cap.sum
	if !s.seen && !mayBeSummary(p) {
		return false
	}
	before := s.closed || s.titled
	var next summary
	if before && next.titles(trim(p), r.no) && next.titled {
		r.nextCapture(layout{})
		s = &r.cap.sum
	}
	return s.line(p, r.no)
}

// mayBeSummary is a quick look at a line that could begin a summary.
func mayBeSummary(p []byte) bool {
	return bytes.Contains(p, []byte("summary")) || bytes.Contains(p, []byte("Total ")) || bytes.IndexByte(p, '.') > 0 ||
		bytes.Contains(p, []byte("parent")) || bytes.Contains(p, []byte("dle stats")) || bytes.Contains(p, []byte(" idle "))
}

// commandLine keeps the command that a text shows before its output.
func (r *reader) commandLine(p []byte) bool {
	i := bytes.Index(p, []byte("perf sched"))
	if i < 0 || !isPrompt(p[:i]) {
		return false
	}
	j := bytes.Index(p[i:], []byte("timehist"))
	if j < 0 {
		return false
	}
	if after := trimLeft(p[i+j+len("timehist"):]); len(after) > 0 && bytes.IndexByte([]byte("-|><&;2"), after[0]) < 0 {
		return false
	}
	if !r.cap.empty() {
		r.nextCapture(layout{})
	}
	r.command = string(p[i:min(len(p), i+maxCommand)])
	return true
}

// maxCommand bounds what is kept of a command line.
const maxCommand = 256

// isPrompt reports whether p can stand before a command.
func isPrompt(p []byte) bool {
	p = trimRight(bytes.TrimSuffix(trimRight(p), []byte("sudo")))
	return len(p) == 0 || bytes.IndexByte([]byte("$#%>"), p[len(p)-1]) >= 0
}

// isInfo matches what perf says on its error output, which terminals mix in.
func isInfo(p []byte) bool {
	p = trim(p)
	return bytes.HasPrefix(p, []byte("Samples ")) && bytes.HasSuffix(p, []byte("do not have callchains.")) ||
		bytes.HasPrefix(p, []byte("No kallsyms or vmlinux")) || bytes.HasPrefix(p, []byte("time travel:"))
}

// isRule matches the dashes below a header.
func isRule(p []byte) bool {
	dashes := 0
	for _, c := range p {
		switch {
		case c == '-':
			dashes++
		case !isSpace(c):
			return false
		}
	}
	return dashes > 0
}

// isFragment reports whether a line among rows looks like a part of one: two
// durations, or the mark of an event or of a call chain.
func isFragment(p []byte) bool {
	if bytes.Contains(p, arrowMark) || bytes.Contains(p, awakenedMark) || bytes.Contains(p, migratedMark) {
		return true
	}
	n := 0
	for w, rest := token(p); len(w) > 0; w, rest = token(rest) {
		if _, ok := msec(w); ok {
			if n++; n == 2 {
				return true
			}
		} else {
			n = 0
		}
	}
	return false
}

// closeCapture gives the capture's evidence to its source.
func (r *reader) closeCapture() {
	r.found = true
	(&closing{c: r.cap, layout: r.layout, b: r.b, command: r.command}).close()
	r.command = ""
}

// finish closes the last capture.
func (r *reader) finish() {
	switch {
	case !r.cap.empty():
		r.closeCapture()
	case r.header > 0 && !r.found:
		r.b.Warn(fmt.Sprintf("the table below the header of line %d is empty: perf sched timehist prints that, and no error, "+
			"for a recording in pipe format, without sched_switch events, or with a filter that leaves none", r.header))
	}
}
