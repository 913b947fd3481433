package perfstat

import "strings"

// event is an event as perf names it in its output.
type event struct {
	raw   string // as printed
	name  string // canonical
	pmu   string // of pmu/name/
	mod   string // "u", "k", ... of name:u
	unit  string // that the name itself says: "(msec)", "task-clock-msecs"
	known bool   // one of perf's own events, not just something of that shape

	// sure: surely an event's name, and a whole one, even with no metric behind
	// it. A plain word is none.
	sure bool
}

// aliases maps the names that perf accepts and prints for its generic events
// to the canonical ones. Names: event_symbols_hw and event_symbols_sw in the
// kernel's tools/perf/util/parse-events.c, and those of its older versions.
var aliases = map[string]string{
	"cpu-clock": "cpu-clock", "cpu-clock-msecs": "cpu-clock",
	"task-clock": "task-clock", "task-clock-msecs": "task-clock",
	"context-switches": "context-switches", "cs": "context-switches",
	"cpu-migrations": "cpu-migrations", "migrations": "cpu-migrations",
	"page-faults": "page-faults", "faults": "page-faults", "pagefaults": "page-faults",
	"minor-faults": "minor-faults", "major-faults": "major-faults",
	"alignment-faults": "alignment-faults", "emulation-faults": "emulation-faults",
	"cgroup-switches": "cgroup-switches", "dummy": "dummy", "bpf-output": "bpf-output",
	"cycles": "cycles", "cpu-cycles": "cycles",
	"instructions": "instructions",
	"branches":     "branches", "branch-instructions": "branches",
	"branch-misses": "branch-misses", "branches-misses": "branch-misses",
	"cache-references": "cache-references", "cache-misses": "cache-misses",
	"bus-cycles": "bus-cycles", "ref-cycles": "ref-cycles", "ref-cpu-cycles": "ref-cycles",
	"stalled-cycles-frontend": "stalled-cycles-frontend", "idle-cycles-frontend": "stalled-cycles-frontend",
	"stalled-cycles-backend": "stalled-cycles-backend", "idle-cycles-backend": "stalled-cycles-backend",
	"duration_time": "duration_time", "user_time": "user_time", "system_time": "system_time",
	"slots": "slots", "mem-loads": "mem-loads", "mem-stores": "mem-stores",
}

// spaced are the names of perf before 2.6.32, which had spaces.
var spaced = []struct {
	words []string
	name  string
	unit  string
}{
	{[]string{"task", "clock", "ticks"}, "task-clock", "msec"},
	{[]string{"cpu", "clock", "ticks"}, "cpu-clock", "msec"},
	{[]string{"context", "switches"}, "context-switches", ""},
	{[]string{"CPU", "migrations"}, "cpu-migrations", ""},
	{[]string{"page", "faults"}, "page-faults", ""},
	{[]string{"cache", "references"}, "cache-references", ""},
	{[]string{"cache", "misses"}, "cache-misses", ""},
	{[]string{"branch", "misses"}, "branch-misses", ""},
}

// caches and accesses make the names of the generic cache events.
var (
	caches   = []string{"L1-dcache-", "L1-icache-", "LLC-", "dTLB-", "iTLB-", "branch-", "node-"}
	accesses = []string{"loads", "load-misses", "stores", "store-misses", "prefetches", "prefetch-misses"}
)

// isCacheEvent reports whether s is one of perf's generic cache events.
func isCacheEvent(s string) bool {
	for _, c := range caches {
		rest, ok := strings.CutPrefix(s, c)
		if !ok {
			continue
		}
		for _, a := range accesses {
			if rest == a {
				return true
			}
		}
	}
	return false
}

// canonical returns the canonical name of a generic event.
func canonical(s string) (string, bool) {
	if c, ok := aliases[s]; ok {
		return c, true
	}
	if isCacheEvent(s) {
		return s, true
	}
	c, ok := aliases[strings.ToLower(s)]
	if ok && (s == "CPU-migrations" || s == "cpu-Migrations") {
		return c, true
	}
	return "", false
}

// modifiers are the letters that may follow an event's colon. Those after H
// and G (host, guest) say nothing about the level that is counted.
const modifiers = "ukhHGIDWSePpbR"

func isModifier(s string) bool {
	return s != "" && len(s) <= 8 && strings.Trim(s, modifiers) == ""
}

// parseEvent reads one event name. ok is false for what cannot be one.
func parseEvent(s string) (e event, ok bool) {
	e.raw = s
	if s == "" || len(s) > 512 {
		return e, false
	}
	if i := strings.IndexByte(s, '/'); i > 0 {
		return parsePMUEvent(s, i)
	}
	name := s
	if i := strings.LastIndexByte(s, ':'); i > 0 && isModifier(s[i+1:]) {
		name, e.mod = s[:i], s[i+1:]
	}
	if c, known := canonical(name); known {
		e.name, e.known = c, true
		if strings.HasSuffix(name, "-msecs") {
			e.unit = "msec"
		}
		return e, true
	}
	e.name = name
	return e, isEventShape(name)
}

// parsePMUEvent reads "pmu/name/mods"; slash is the index of the first one.
func parsePMUEvent(s string, slash int) (e event, ok bool) {
	e.raw = s
	end := strings.LastIndexByte(s, '/')
	mod := strings.TrimPrefix(s[end+1:], ":")
	if end == slash || mod != "" && !isModifier(mod) || !isWord(s[:slash]) {
		return e, false
	}
	inner := s[slash+1 : end]
	if inner == "" || strings.ContainsAny(inner, " \t") {
		return e, false
	}
	if c, known := canonical(inner); known {
		return event{raw: s, name: c, pmu: s[:slash], mod: mod, known: true}, true
	}
	return event{raw: s, name: s[:end+1], mod: mod}, true
}

// isEventShape tells names that can only be events (or metrics) from words:
// they hold one of the signs with which perf, the kernel and the processor
// manuals build names, or are raw codes.
func isEventShape(s string) bool {
	if !isLetter(s[0]) && s[0] != '_' && s[0] != '{' {
		return false
	}
	signs := false
	for i := range len(s) {
		b := s[i]
		switch {
		case isLetter(b) || isDigit(b):
		case strings.IndexByte("-_.:", b) >= 0:
			signs = true
		case strings.IndexByte("=,@*+{}[]?~", b) >= 0:
		default:
			return false
		}
	}
	if end := s[len(s)-1]; end == ':' || end == ',' || end == '.' || end == '-' {
		return false
	}
	return signs || isRawCode(s)
}

// isRawCode matches rNNN, a raw event in hexadecimal.
func isRawCode(s string) bool {
	return len(s) > 1 && len(s) <= 17 && s[0] == 'r' && strings.Trim(s[1:], "0123456789abcdef") == "" &&
		strings.ContainsAny(s, "0123456789")
}

// isWord reports whether s is made of letters, digits and underscores, dashes.
func isWord(s string) bool {
	for i := range len(s) {
		if b := s[i]; !isLetter(b) && !isDigit(b) && b != '_' && b != '-' && b != '.' {
			return false
		}
	}
	return s != "" && isLetter(s[0])
}

// isCut reports whether s can be the beginning of a known event's name that
// was cut.
func isCut(s string) bool {
	for full := range aliases {
		if len(s) < len(full) && strings.HasPrefix(full, s) {
			return true
		}
	}
	for _, c := range caches {
		if strings.HasPrefix(c, s) {
			return true
		}
		rest, ok := strings.CutPrefix(s, c)
		if !ok {
			continue
		}
		for _, a := range accesses {
			if len(rest) < len(a) && strings.HasPrefix(a, rest) {
				return true
			}
		}
	}
	return false
}

// isClock reports whether the event counts time in nanoseconds that perf
// prints as milliseconds.
func isClock(name string) bool { return name == "task-clock" || name == "cpu-clock" }

// kernelOnly are the events that happen in the kernel and are always 0 when
// only user level is counted.
func kernelOnly(name string) bool {
	return name == "context-switches" || name == "cpu-migrations" || name == "cgroup-switches"
}

// unmeasurable reports whether the event's modifier makes it always 0.
func (e *event) unmeasurable() bool {
	return kernelOnly(e.name) && strings.IndexByte(e.mod, 'u') >= 0 && !strings.ContainsAny(e.mod, "kh")
}

// isUnit knows the units that perf prints between a value and its event.
func isUnit(s string) bool {
	switch s {
	case "msec", "ns", "usec", "sec", "Joules", "J", "W", "Watts", "C", "MiB", "KiB", "GiB", "MB", "KB", "GB",
		"B", "Bytes", "bytes", "%", "MiB/s", "MB/s", "counts", "cycles/sec":
		return true
	}
	return false
}
