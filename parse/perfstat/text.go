package perfstat

import (
	"strings"

	"ctxan/parse/paste"
)

// gap is what stood since the last row.
type gap uint8

const (
	gapNone  gap = iota
	gapBlank     // empty lines
	gapText      // other output
)

// reader goes through a text once.
type reader struct {
	t      *paste.Text
	onDrop func(line int, err error)

	detect bool // only look whether there is anything to read
	found  bool
	weight int // of the rows outside blocks that were seen while detecting

	cur    *block
	blocks []*block
	gap    gap
	stamps bool // a header of intervals was seen

	tool      string
	command   string // the first perf stat command line
	last      string // the last one, for the next block
	truncated bool

	open bool // the line that is being read ends the text, and may be cut inside its last word

	events map[string]*event
	old    []*event // events of spaced, made on demand
	parts  map[part]*part
	toks   []token
	fields []string
	sep    string // of CSV, once seen
	json   pendingJSON
}

func newReader(t *paste.Text, onDrop func(int, error)) *reader {
	if onDrop == nil {
		onDrop = func(int, error) {}
	}
	return &reader{
		t: t, onDrop: onDrop, events: map[string]*event{}, parts: map[part]*part{},
		old: make([]*event, len(spaced)),
	}
}

// maxCached bounds the cache of event names; words of other output are in it
// too.
const maxCached = 4096

// event returns the event of a name, nil when it cannot be one.
func (r *reader) event(s string) *event {
	if s == "" || !isLetter(s[0]) && s[0] != '_' && s[0] != '{' {
		return nil
	}
	ev, ok := r.events[s]
	if ok {
		return ev
	}
	if e, is := parseEvent(s); is {
		e.sure = e.known || strings.IndexByte(s, '/') > 0 || !isCut(s)
		ev = &e
	} else if e.name != "" && isPlainWord(e.name) {
		ev = &e // only with a metric behind it: see rowAt
	}
	if len(r.events) < maxCached {
		r.events[s] = ev
	}
	return ev
}

// isPlainWord matches names without any sign, as some processor events have.
func isPlainWord(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return len(s) < 64
}

func (r *reader) spacedEvent(i int) *event {
	if r.old[i] == nil {
		sp := &spaced[i]
		r.old[i] = &event{raw: strings.Join(sp.words, " "), name: sp.name, unit: sp.unit, known: true}
	}
	return r.old[i]
}

func (r *reader) part(p part) *part {
	if p.agg == "" {
		return nil
	}
	have := r.parts[p]
	if have == nil {
		have = &p
		r.parts[p] = have
	}
	return have
}

// read goes through all lines, or until something was found while detecting.
func (r *reader) read() {
	for i := 0; i < len(r.t.Lines) && !r.found; i++ {
		i += r.line(i)
	}
	r.json.flush(r)
	r.finish()
}

// line reads line i and returns how many more lines it took.
func (r *reader) line(i int) int {
	no, s := r.t.Lines[i].No, r.t.Lines[i].Text
	if strings.TrimLeft(s, " \t\r") == "" {
		r.gap = max(r.gap, gapBlank)
		return 0
	}
	taken := 0
	for {
		at := headerIndex(s)
		if at < 0 {
			break
		}
		if strings.TrimLeft(s[:at], " \t\r") != "" {
			r.content(i, no, s[:at])
			r.note(s[:at])
		}
		more := func(k int) (string, bool) {
			if i+1+k >= len(r.t.Lines) {
				return "", false
			}
			return r.t.Lines[i+1+k].Text, true
		}
		scope, rest, n, ends := header(s, at, more)
		r.startBlock(no, scope, ends)
		taken += n
		s = rest
	}
	if strings.TrimLeft(s, " \t\r") != "" {
		r.content(i, no, s)
	}
	return taken
}

// headerIndex finds the mark of a header: at the beginning of a line, or inside
// one that holds a whole header.
func headerIndex(s string) int {
	at := strings.Index(s, headerMark)
	if at < 0 || strings.TrimLeft(s[:at], " \t*`") == "" {
		return at
	}
	rest := s[at+len(headerMark):]
	if _, ok := closes(rest); ok && (quoted(rest) || strings.HasSuffix(strings.TrimRight(s, " "), "runs):")) {
		return at
	}
	if closesInside(rest) > 0 {
		return at
	}
	return -1
}

// content reads a line that is no header.
func (r *reader) content(i, no int, s string) {
	r.open = r.t.EndsOpen && !isSpace(s[len(s)-1]) && r.lastLine(i)
	if r.json.open() || mayBeJSON(s) {
		if r.jsonLine(no, s) {
			return
		}
	}
	if r.csvLine(i, no, s) {
		return
	}
	r.toks = tokenize(s, r.toks)
	if r.comment(s) {
		return
	}
	if r.rows(no, r.toks) {
		return
	}
	if r.cut(i, no, r.toks) {
		return
	}
	r.note(s)
	if !hasMetric(r.toks) {
		r.gap = gapText
	}
}

// comment reads the lines that perf begins with "#".
func (r *reader) comment(s string) bool {
	if r.toks[0].s[0] != '#' {
		return false
	}
	switch {
	case strings.Contains(s, "# started on "):
		r.finish()
	case strings.Contains(s, "counts") && strings.Contains(s, "time") && strings.Contains(s, "event"):
		r.stamps = true
		r.found = r.detect
	case r.toks[0].s == "#" && strings.Contains(s, "perf stat"):
		return false
	case r.cur != nil && len(r.toks) > 1 && isNumber(r.toks[1].s):
	default:
		r.gap = gapText
	}
	return true
}

// note keeps what other lines say about the capture.
func (r *reader) note(s string) {
	if cmd, ok := commandLine(s); ok {
		r.last = cmd
		if r.command == "" {
			r.command = cmd
		}
	}
	if v, ok := strings.CutPrefix(strings.TrimSpace(s), "perf version "); ok && r.tool == "" {
		r.tool = "perf " + v
	}
}

// startBlock begins a block with a header. A header that does not end as one
// may be prose, and then no rows follow.
func (r *reader) startBlock(no int, scope string, ends bool) {
	r.finish()
	r.cur = &block{line: no, header: true, cut: !ends, scope: scope, command: r.last, headerGap: r.gap}
	_, r.cur.runs = cutRuns(scope)
	r.last = ""
	r.gap = gapNone
	r.found = r.found || r.detect && ends
}

// finish puts the current block away.
func (r *reader) finish() {
	if r.cur != nil && (r.cur.header && !r.cur.cut || !r.cur.empty()) {
		r.blocks = append(r.blocks, r.cur)
	}
	r.cur = nil
}

// place makes the block current that a cell belongs to.
func (r *reader) place(c *cell, st style) {
	b := r.cur
	fresh := b == nil || b.style != st && !(b.header && b.empty() && st == styleText) || r.begins(b, c)
	if fresh {
		r.finish()
		r.cur = &block{line: c.line, style: st, command: r.last, headerGap: r.gap}
		r.last = ""
	}
	r.gap = gapNone
}

// begins reports whether a cell begins another block than b.
func (r *reader) begins(b *block, c *cell) bool {
	if c.timed {
		n := len(b.timed)
		return n == 0 && !b.empty() || len(b.cells) > 0 || n > 0 && c.time < b.timed[n-1].time
	}
	switch {
	case b.closed, len(b.timed) > 0 && !b.summary:
		return true
	case b.empty():
		return false
	case b.style != styleText:
		return repeats(b, c)
	case r.gap == gapText:
		return b.has(c)
	case r.gap == gapBlank && !b.header:
		return repeats(b, c)
	}
	return false
}

// repeats reports whether a cell is the first of its block once more.
func repeats(b *block, c *cell) bool {
	return len(b.cells) > 0 && b.cells[0].ev == c.ev && b.cells[0].part == c.part
}

func (b *block) has(c *cell) bool {
	for i := range b.cells[:min(len(b.cells), 256)] {
		if b.cells[i].ev == c.ev && b.cells[i].part == c.part {
			return true
		}
	}
	return false
}

func (r *reader) put(c cell) {
	b := r.cur
	if strings.IndexByte(c.value, '?') >= 0 {
		b.lostSeparators = true
	}
	if c.timed {
		b.timed = append(b.timed, c)
	} else {
		b.cells = append(b.cells, c)
	}
}
