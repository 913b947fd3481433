package perfstat

import (
	"strings"

	"ctxan/parse/evidence"
)

// token is a word of a line and how much white space stood before it.
type token struct {
	s   string
	gap int
}

// tokenize cuts s at ASCII white space only: other spaces may group digits.
func tokenize(s string, dst []token) []token {
	dst = dst[:0]
	for i := 0; i < len(s); {
		from := i
		for i < len(s) && isSpace(s[i]) {
			i++
		}
		at := i
		for i < len(s) && !isSpace(s[i]) {
			i++
		}
		if at < i {
			dst = append(dst, token{s[at:i], at - from})
		}
	}
	return dst
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\v' || b == '\f' || b == '\r' }

// row is a counter's row up to its event.
type row struct {
	value  string // as printed, groups joined; "" when not counted
	status evidence.Status
	unit   string
	ev     *event
	cgroup string
	metric bool // a metric or a share follows, as behind perf's rows
}

// rowAt looks for a row at the start of toks and returns how many tokens it
// has, 0 for none. With lax set, events that perf does not know by itself are
// taken by their shape.
func (r *reader) rowAt(toks []token, lax bool) (row, int) {
	var out row
	value, status, n := valueAt(toks)
	if n == 0 || n == len(toks) {
		return out, 0
	}
	out.value, out.status = value, status
	if isUnit(toks[n].s) && n+1 < len(toks) {
		out.unit = toks[n].s
		n++
	}
	ev, m := r.eventAt(toks[n:])
	if lax && out.unit == "" && (m == 0 || !ev.known) && n+1 < len(toks) && strings.IndexByte(toks[n+1].s, '/') > 0 {
		if pmu, k := r.eventAt(toks[n+1:]); k > 0 {
			out.unit = toks[n].s
			ev, m = pmu, k
			n++
		}
	}
	if m == 0 {
		return out, 0
	}
	n += m
	out.ev = ev
	if u, m := unitAfter(toks[n:]); m > 0 {
		out.unit = u
		n += m
	}
	if c, m := cgroupAt(toks[n:], lax); m > 0 {
		out.cgroup = c
		n += m
	}
	var ok bool
	out.metric, ok = rowEnds(toks[n:])
	if !ok || !ev.known && !(lax && (out.metric || ev.sure)) {
		return out, 0
	}
	return out, n
}

// valueAt reads a value: a number, whose groups may be separated by single
// spaces, or one of perf's words for none.
func valueAt(toks []token) (value string, status evidence.Status, n int) {
	if len(toks) == 0 {
		return "", 0, 0
	}
	if toks[0].s == "<not" && len(toks) > 1 {
		switch toks[1].s {
		case "counted>":
			return "", evidence.StatusNotCounted, 2
		case "supported>":
			return "", evidence.StatusNotSupported, 2
		}
	}
	if !isNumber(toks[0].s) {
		return "", 0, 0
	}
	n = groupTokens(toks)
	if n == 1 {
		return toks[0].s, evidence.StatusCounted, 1
	}
	var b strings.Builder
	for i, t := range toks[:n] {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.s)
	}
	return b.String(), evidence.StatusCounted, n
}

// groupTokens returns how many tokens make one number with single spaces
// between its thousands.
func groupTokens(toks []token) int {
	head := toks[0].s
	if len(head) > 3 || !allDigits(head) || head[0] == '0' {
		return 1
	}
	n := 1
	for n < len(toks) && n < 8 {
		t := toks[n]
		if t.gap != 1 || len(t.s) < 3 || !allDigits(t.s[:3]) {
			break
		}
		if len(t.s) == 3 {
			n++
			continue
		}
		if (t.s[3] == ',' || t.s[3] == '.') && allDigits(t.s[4:]) {
			n++
		}
		break
	}
	return n
}

// eventAt reads an event, which may be of several words, and returns how many
// tokens it has.
func (r *reader) eventAt(toks []token) (*event, int) {
	if len(toks) == 0 || isDigit(toks[0].s[0]) {
		return nil, 0
	}
	for i := range spaced {
		if len(toks) < len(spaced[i].words) || toks[0].s != spaced[i].words[0] {
			continue
		}
		if n := matchWords(toks, spaced[i].words); n > 0 {
			return r.spacedEvent(i), n
		}
	}
	ev := r.event(toks[0].s)
	if ev == nil {
		return nil, 0
	}
	if len(toks) > 1 && ev.pmu == "" {
		if pmu, ok := bracketedPMU(toks[1].s); ok {
			return r.event(pmu + "/" + toks[0].s + "/"), 2
		}
	}
	return ev, 1
}

func matchWords(toks []token, words []string) int {
	for i, w := range words {
		if toks[i].s != w {
			return 0
		}
	}
	return len(words)
}

// bracketedPMU reads "[pmu]", which some versions put after an event's name.
func bracketedPMU(s string) (string, bool) {
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' || !isWord(s[1:len(s)-1]) {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// unitAfter reads the units that old versions print behind the event.
func unitAfter(toks []token) (string, int) {
	if len(toks) == 0 {
		return "", 0
	}
	switch toks[0].s {
	case "(msec)", "(msecs)":
		return "msec", 1
	case "(events)":
		return "", 1
	}
	return "", 0
}

// cgroupAt reads a control group's name, the last word before the metric.
func cgroupAt(toks []token, lax bool) (string, int) {
	if len(toks) == 0 {
		return "", 0
	}
	s := toks[0].s
	if !isLetter(s[0]) && s[0] != '/' || !lax && s[0] != '/' {
		return "", 0
	}
	if strings.IndexByte(s, '/') < 0 && len(toks) > 1 && toks[1].s != "#" && toks[1].s[0] != '(' {
		return "", 0
	}
	if strings.HasPrefix(s, "//") || strings.HasPrefix(s, "/*") || s == "seconds" {
		return "", 0
	}
	return s, 1
}

// rowEnds checks what follows a row's event: nothing, a metric, a share, the
// next row, or somebody's remark.
func rowEnds(toks []token) (metric, ok bool) {
	if len(toks) == 0 {
		return false, true
	}
	s := toks[0].s
	switch {
	case s[0] == '#':
		return true, true
	case s[0] == '(' || s[0] == '[':
		return len(s) > 1 && isDigit(s[1]) || s == "(" || strings.HasPrefix(s, "(scaled") || strings.HasPrefix(s, "(+-"), true
	case strings.HasPrefix(s, "<-"), strings.HasPrefix(s, "←"), strings.HasPrefix(s, "//"), strings.HasPrefix(s, "/*"),
		strings.HasPrefix(s, "**"), strings.HasPrefix(s, "<="):
		return false, true
	}
	_, _, n := valueAt(toks)
	return false, n > 0
}

// prefix is what may stand before a row: the time of an interval and the part
// of an aggregation.
type prefix struct {
	time  float64
	timed bool
	agg   string
	name  string
}

// parsePrefix reads the tokens before a row. header tells that the block has a
// header for intervals, so that times may have any number of decimals.
func parsePrefix(toks []token, header bool) (p prefix, ok bool) {
	if len(toks) > 0 && (isStamp(toks[0].s) || header && isTime(toks[0].s)) {
		p.time, p.timed = parseDecimal(toks[0].s)
		toks = toks[1:]
	}
	if len(toks) == 0 {
		return p, true
	}
	if agg := aggregation(toks[0].s); agg != "" {
		p.agg, p.name = agg, toks[0].s
		counted := len(toks) == 2 && agg != "cpu" && allDigits(toks[1].s)
		return p, len(toks) == 1 || counted
	}
	if i := threadName(toks); i {
		p.agg, p.name = "thread", joinTokens(toks)
		return p, true
	}
	return p, false
}

// isStamp matches the time of an interval: nine decimals, always with a point.
func isStamp(s string) bool {
	i := strings.IndexByte(s, '.')
	return i > 0 && len(s)-i == 10 && allDigits(s[:i]) && allDigits(s[i+1:])
}

func isTime(s string) bool {
	i := strings.IndexAny(s, ".,")
	return i > 0 && allDigits(s[:i]) && allDigits(s[i+1:])
}

// aggregation tells which one a part's name belongs to, "" for none.
//
// Layout: print_aggr_id_std in the kernel's tools/perf/util/stat-display.c.
func aggregation(s string) string {
	switch {
	case strings.HasPrefix(s, "CPU") && isID(s[3:]):
		return "cpu"
	case strings.HasPrefix(s, "N") && isID(s[1:]):
		return "node"
	case !strings.HasPrefix(s, "S"):
		return ""
	}
	s, ok := cutID(s[1:])
	if !ok {
		return ""
	}
	if s == "" {
		return "socket"
	}
	if t, ok := strings.CutPrefix(s, "-D"); ok {
		if s, ok = cutID(t); !ok {
			return ""
		}
		if s == "" {
			return "die"
		}
	}
	for _, k := range []struct{ mark, agg string }{{"-CLS", "cluster"}, {"-C", "core"}} {
		if t, ok := strings.CutPrefix(s, k.mark); ok && isID(t) {
			return k.agg
		}
	}
	if t, ok := strings.CutPrefix(s, "-L"); ok {
		if t, ok = cutID(t); ok && strings.HasPrefix(t, "-ID") && isID(t[3:]) {
			return "cache"
		}
	}
	return ""
}

// isGroupCount reports whether the second token is the number of CPUs that
// perf prints behind a core, socket or node, and not the first group of a
// value.
func isGroupCount(toks []token) bool {
	if len(toks) < 3 || !allDigits(toks[1].s) {
		return false
	}
	if agg := aggregation(toks[0].s); agg == "" || agg == "cpu" {
		return false
	}
	next := toks[2]
	collapsed := toks[1].gap == 1
	return next.s == "<not" || isNumber(next.s) && (next.gap > 1 || collapsed)
}

// cutID takes a number, maybe negative, off the front of s.
func cutID(s string) (rest string, ok bool) {
	s = strings.TrimPrefix(s, "-")
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[i:], i > 0
}

func isID(s string) bool {
	rest, ok := cutID(s)
	return ok && rest == ""
}

// threadName reports whether tokens are "comm-tid", where the comm may hold
// spaces.
func threadName(toks []token) bool {
	last := toks[len(toks)-1].s
	i := strings.LastIndexByte(last, '-')
	return len(toks) <= 8 && i >= 0 && (i > 0 || len(toks) > 1) && i < len(last)-1 && allDigits(last[i+1:])
}

func joinTokens(toks []token) string {
	if len(toks) == 1 {
		return toks[0].s
	}
	var b strings.Builder
	for i, t := range toks {
		for range min(t.gap, 16) {
			if i > 0 {
				b.WriteByte(' ')
			}
		}
		b.WriteString(t.s)
	}
	return b.String()
}
