package perfreport

import (
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// kindOf tells what an event's samples show.
func kindOf(event string) evidence.StackKind {
	switch name := eventName(event); name {
	case "context-switches", "cs", "sched:sched_switch":
		return evidence.StackSwitch
	case "cycles", "cpu-cycles", "ref-cycles", "bus-cycles", "cpu-clock", "task-clock", "instructions", "slots",
		"cycles-ct", "cycles-t", "ibs_op", "ibs_fetch":
		return evidence.StackCPU
	default:
		if strings.HasPrefix(name, "cpu_clk_unhalted") || strings.HasPrefix(name, "inst_retired") {
			return evidence.StackCPU
		}
		return evidence.StackOther
	}
}

// eventName takes an event's modifier and PMU off: "cpu_core/cycles/u" is cycles.
func eventName(event string) string {
	name := strings.ToLower(event)
	if pmu, rest, ok := strings.Cut(name, "/"); ok {
		if name, _, _ = strings.Cut(rest, "/"); name == "" || strings.Contains(name, "=") {
			name = pmu
		}
		if term, _, ok := strings.Cut(name, ","); ok {
			name = term
		}
	}
	if i := strings.LastIndexByte(name, ':'); i >= 0 && strings.Trim(name[i+1:], "ukhgpsdwebi") == "" {
		name = name[:i]
	}
	return name
}

// title is what perf report says above a table.
type title struct {
	samples string // "440", "59K"
	events  []string
	count   evidence.Opt[uint64] // in the TUI's title line
	lost    evidence.Opt[uint64]
}

// parseTitle reads "# Samples: 440  of event 'sched:sched_switch'", the same for
// a group of events, the TUI's line that goes on with ", Event count (approx.):
// N", and "# Events: 1K cycles" of perf before 3.0.
//
// Layout: hists__fprintf_nr_sample_events in the kernel's
// tools/perf/builtin-report.c and hists__scnprintf_title in tools/perf/ui/hist.c.
func parseTitle(line string) (title, bool) {
	var t title
	body := strings.TrimLeft(line, "# \t")
	if len(line)-len(body) > 16 {
		return t, false
	}
	body = strings.TrimPrefix(body, "Available ")
	if rest, ok := strings.CutPrefix(body, "Events: "); ok {
		words := strings.Fields(rest)
		if len(words) != 2 || atMost(words[0]) == 0 || line[0] != '#' {
			return t, false
		}
		return title{samples: words[0], events: words[1:]}, true
	}
	rest, ok := strings.CutPrefix(body, "Samples: ")
	if !ok {
		return t, false
	}
	n, rest, ok := strings.Cut(strings.TrimSpace(rest), " ")
	if !ok || !isNumber(strings.TrimRight(n, "KMGT")) {
		return t, false
	}
	t.samples = n
	rest = strings.TrimSpace(rest)
	rest, isEvent := strings.CutPrefix(rest, "of event")
	if !isEvent {
		return t, false
	}
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "s"), " ")
	t.events, rest = quoted(rest)
	t.tail(rest)
	return t, len(t.events) > 0
}

// quoted reads an event's name in quotes, or the names of a group: 'a, b' or
// 'name { a, b }'.
func quoted(s string) (names []string, rest string) {
	if s == "" {
		return nil, ""
	}
	name, end := s, len(s)
	if q := strings.IndexByte("'\"`", s[0]); q >= 0 {
		if end = strings.IndexByte(s[1:], s[0]); end < 0 {
			end = len(s) - 1 // cut off
		}
		name, end = s[1:1+end], min(end+2, len(s))
	} else if i := strings.IndexAny(s, ", "); i >= 0 {
		name, end = s[:i], i
	}
	rest = s[end:]
	if i := strings.IndexByte(name, '{'); i >= 0 {
		for _, n := range strings.Split(strings.Trim(name[i:], "{} "), ", ") {
			names = append(names, strings.TrimSpace(n))
		}
		return names, rest
	}
	if strings.Contains(name, ", ") && !strings.Contains(name, "/") {
		return strings.Split(name, ", "), rest
	}
	return []string{name}, rest
}

// tail reads what follows in the TUI's title.
func (t *title) tail(s string) {
	if _, count, ok := strings.Cut(s, "Event count (approx.): "); ok {
		t.count = leadingNumber(count)
	}
	if _, lost, ok := strings.Cut(s, "lost: "); ok {
		t.lost = leadingNumber(lost)
	}
}

func leadingNumber(s string) evidence.Opt[uint64] {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	v, err := strconv.ParseUint(s[:i], 10, 64)
	if err != nil {
		return evidence.Opt[uint64]{}
	}
	return evidence.Some(v)
}

// atMost is the highest number of samples that a rounded figure can stand for:
// perf cuts 1,999 to 1K.
func atMost(raw string) float64 {
	unit := 1.0
	digits := strings.TrimRight(raw, "KMGT")
	for range len(raw) - len(digits) {
		unit = unitOf(raw[len(raw)-1])
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	if unit == 1 {
		return v
	}
	return (v + 1) * unit
}

func unitOf(c byte) float64 {
	switch c {
	case 'K':
		return 1e3
	case 'M':
		return 1e6
	case 'G':
		return 1e9
	}
	return 1e12
}
