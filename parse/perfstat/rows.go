package perfstat

import (
	"errors"
	"strings"

	"ctxan/parse/evidence"
)

// lax reports whether rows of events that perf does not know by itself are
// taken: inside a block that has a header, and in rows without one that follow
// each other.
func (r *reader) lax() bool {
	b := r.cur
	switch {
	case b == nil || b.closed || b.style != styleText:
		return false
	case len(b.timed) > 0:
		return r.stamps
	}
	return b.header || r.gap == gapNone
}

// rows reads all rows and footers of a line and reports whether there were any.
func (r *reader) rows(no int, toks []token) bool {
	any := false
	stamped := isStamp(toks[0].s)
	lax := r.lax() || stamped
	start := 0 // of the tokens before the first row; -1 after it
	i := 0
	if stamped && len(toks) > 1 && toks[1].s != "seconds" && toks[1].s != "+-" {
		i = 1 // the time of an interval is no value
	}
	for i < len(toks) {
		if b := toks[i].s[0]; !isDigit(b) && b != '<' && b != '#' && b != 'W' {
			i++ // begins nothing that is looked for
			continue
		}
		if n := r.footer(no, toks[i:]); n > 0 {
			any, start = true, -1
			i += n
			continue
		}
		if toks[i].s[0] == '#' {
			i += r.metric(toks[i:])
			start = -1
			continue
		}
		if i > 0 && isGroupCount(toks[i-1:]) {
			i++
			continue
		}
		rw, n := r.rowAt(toks[i:], lax)
		if n == 0 {
			i++
			continue
		}
		p := prefix{}
		if start == 0 {
			var ok bool
			if p, ok = parsePrefix(toks[:i], r.stamps); !ok && !(rw.metric && rw.ev.known) {
				i++
				continue
			}
		}
		if i+n == len(toks) && r.mayBeCut(&rw) {
			return any
		}
		r.addRow(no, p, rw, toks[i+n:])
		any, start = true, -1
		i += n
	}
	return any
}

// metric skips the sign and the number of a metric, which is never a counter's
// value, and takes the number as a vote on the decimal separator.
func (r *reader) metric(toks []token) int {
	if toks[0].s != "#" || len(toks) == 1 {
		return 1
	}
	s := strings.TrimSuffix(toks[1].s, "%")
	if !isNumber(s) {
		return 1
	}
	if r.cur != nil {
		r.cur.votes.add(s)
	}
	return 2
}

// cpusUtilized returns the number of CPUs that perf's text prints behind a
// clock. Only the text's is kept: CSV and JSON print it before the time has
// been measured.
func cpusUtilized(rest []token) string {
	if len(rest) >= 4 && rest[0].s == "#" && rest[2].s == "CPUs" && isNumber(rest[1].s) &&
		(rest[3].s == "utilized" || rest[3].s == "CPUs_utilized") {
		return rest[1].s
	}
	return ""
}

func hasMetric(toks []token) bool {
	for i := range toks {
		if toks[i].s == "#" {
			return true
		}
	}
	return false
}

// addRow adds a row. rest are the tokens after its event.
func (r *reader) addRow(no int, p prefix, rw row, rest []token) {
	if r.detect {
		r.weigh(rw)
		r.found = r.found || r.cur != nil
		return
	}
	c := cell{line: no, time: p.time, timed: p.timed, ev: rw.ev, value: rw.value, unit: rw.unit, status: rw.status}
	c.part = r.part(part{agg: p.agg, name: p.name, cgroup: rw.cgroup})
	if c.part == nil && rw.cgroup != "" {
		c.part = r.part(part{agg: "cgroup", name: rw.cgroup})
	}
	r.place(&c, styleText)
	c.cpus = cpusUtilized(rest)
	c.runPct, c.devPct = shares(rest, &r.cur.votes)
	r.cur.votes.addValue(rw.value)
	r.put(c)
}

// mayBeCut reports whether the last word of the text, the event of a row, is
// less than an event or, for all one can tell, less than the whole of it: its
// modifier or control group may be what is missing.
func (r *reader) mayBeCut(rw *row) bool {
	switch {
	case !r.open:
		return false
	case !rw.ev.known || rw.ev.mod == "H" || rw.ev.mod == "G":
		return true
	case r.cur == nil || r.cur.empty():
		return false
	}
	prev := r.cur.previous()
	if prev.ev.mod != rw.ev.mod && strings.HasPrefix(prev.ev.mod, rw.ev.mod) {
		return true
	}
	return prev.part != nil && prev.part.agg == "cgroup" && rw.cgroup == "" || r.cur.repeated(rw.ev)
}

// previous returns the last cell of a block that has one.
func (b *block) previous() *cell {
	if n := len(b.timed); n > 0 && !b.summary {
		return &b.timed[n-1]
	}
	return &b.cells[len(b.cells)-1]
}

// repeated reports whether an event stands in a block that has no parts and no
// intervals.
func (b *block) repeated(ev *event) bool {
	for i := range b.cells[:min(len(b.cells), 256)] {
		if b.cells[i].ev == ev && b.cells[i].part == nil {
			return true
		}
	}
	return false
}

// weigh counts rows outside blocks while detecting: one with a metric, or two.
func (r *reader) weigh(rw row) {
	if !rw.ev.known {
		return
	}
	r.weight++
	if rw.metric {
		r.weight++
	}
	r.found = r.found || r.weight > 1
}

// shares reads the running share and the standard deviation behind a row, up
// to the next row.
func shares(toks []token, v *votes) (run, dev evidence.Opt[float64]) {
	for i := 0; i < len(toks) && i < 16; i++ {
		s := toks[i].s
		if isNumber(s) && (i == 0 || toks[i-1].s != "#" && toks[i-1].s != "(" && toks[i-1].s != "+-") {
			return run, dev // of the next row, or an elapsed time
		}
		switch {
		case s == "(" && i+1 < len(toks) && strings.HasPrefix(toks[i+1].s, "+-"):
			num := strings.TrimPrefix(toks[i+1].s, "+-")
			if num == "" && i+2 < len(toks) {
				num = toks[i+2].s
			}
			dev = percent(num, v)
		case strings.HasPrefix(s, "(scaled") && i+2 < len(toks):
			run = percent(toks[i+2].s, v)
		case s[0] == '(' || s[0] == '[':
			if p := percent(s, v); p.OK {
				run = p
			}
		}
	}
	return run, dev
}

// percent reads "(83.33%)", with or without brackets.
func percent(s string, v *votes) evidence.Opt[float64] {
	s = strings.Trim(s, "()[]")
	num, ok := strings.CutSuffix(s, "%")
	if !ok {
		return evidence.Opt[float64]{}
	}
	p, ok := parseDecimal(num)
	if !ok || p < 0 {
		return evidence.Opt[float64]{}
	}
	v.add(num)
	return evidence.Some(p)
}

// footer reads an elapsed, user or system time and returns how many tokens it
// has.
func (r *reader) footer(no int, toks []token) int {
	if toks[0].s == "Wall-clock" && len(toks) >= 5 && toks[2].s == "elapsed:" && toks[4].s == "msecs" {
		if v, ok := parseDecimal(toks[3].s); ok {
			r.elapsed(no, v/1e3, toks[3].s)
			return 5
		}
	}
	if len(toks) < 3 || toks[1].s != "seconds" && toks[1].s != "+-" || !isNumber(toks[0].s) {
		return 0
	}
	n := 1
	if len(toks) > 4 && toks[1].s == "+-" && isNumber(toks[2].s) {
		n = 3
	}
	if len(toks) < n+2 || toks[n].s != "seconds" {
		return 0
	}
	v, ok := parseDecimal(toks[0].s)
	if !ok {
		return 0
	}
	switch toks[n+1].s {
	case "time":
		if len(toks) > n+2 && !strings.HasPrefix("elapsed", strings.TrimRight(toks[n+2].s, ".%")) {
			return 0
		}
		r.elapsed(no, v, toks[0].s)
		return min(n+3, len(toks))
	case "user", "sys":
		r.cpuTime(v, toks[n+1].s == "user")
		return n + 2
	}
	return 0
}

func (r *reader) elapsed(no int, v float64, text string) {
	if b := r.cur; b != nil && !b.closed && b.style == styleText && len(b.timed) == 0 {
		b.elapsed, b.elapsedLine, b.closed = evidence.Some(v), no, true
		b.votes.add(text)
	}
}

func (r *reader) cpuTime(v float64, user bool) {
	switch b := r.cur; {
	case b == nil || !b.closed:
	case user && !b.user.OK:
		b.user = evidence.Some(v)
	case !user && !b.sys.OK:
		b.sys = evidence.Some(v)
	}
}

var errCut = errors.New("cut or unreadable counter row")

// cut drops a line that looks like a row and cannot be read as one. Ordinary
// output between rows does not look so.
func (r *reader) cut(i, no int, toks []token) bool {
	if r.detect || r.cur == nil || r.cur.closed || r.cur.style != styleText {
		return false
	}
	timed := len(r.cur.timed) > 0 && isStamp(toks[0].s)
	if timed {
		toks = toks[1:]
	}
	if len(toks) == 0 || !r.looksLikeRow(i, toks) {
		return timed && len(toks) == 0
	}
	r.onDrop(no, errCut)
	if r.lastLine(i) {
		r.truncated = true
	}
	return true
}

// looksLikeRow reports whether tokens that are no row were meant as one.
func (r *reader) looksLikeRow(i int, toks []token) bool {
	s := toks[0].s
	if !startsValue(s) {
		return false
	}
	switch {
	case len(toks) == 1:
		return !r.cur.empty()
	case len(toks) <= 3 && !r.cur.empty() && r.lastLine(i):
		return true
	}
	if len(toks) == 2 && r.gap == gapNone && !r.cur.empty() && isCut(toks[1].s) {
		return true
	}
	for k := range toks {
		if ev := r.event(toks[k].s); k > 0 && ev != nil && ev.known {
			return true
		}
		if toks[k].s == "#" && k > 0 && k+1 < len(toks) && isNumber(strings.TrimSuffix(toks[k+1].s, "%")) {
			return k < 4
		}
	}
	return false
}

// startsValue reports whether a word begins like a value, even a cut one.
func startsValue(s string) bool {
	if strings.HasPrefix(s, "<not") {
		return true
	}
	s = strings.TrimLeft(s, ".,'-") // no count is negative, but a damaged one may be
	return s != "" && isDigit(s[0]) && strings.IndexByte(s, ':') < 0
}

func (r *reader) lastLine(i int) bool {
	for j := i + 1; j < len(r.t.Lines); j++ {
		if strings.TrimSpace(r.t.Lines[j].Text) != "" {
			return false
		}
	}
	return true
}
