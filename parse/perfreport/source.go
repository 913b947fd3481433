package perfreport

import (
	"path"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// parseComment reads a line "# key : value" of perf's header.
//
// Layout: perf_header__fprintf_info and the print_* functions in the kernel's
// tools/perf/util/header.c.
func parseComment(line string) (key, value string, ok bool) {
	body, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#")
	if !ok {
		return "", "", false
	}
	key, value, ok = strings.Cut(body, ":")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}

// describe takes a header line into the source.
func describe(src *evidence.Source, key, value string) {
	switch key {
	case "hostname":
		src.Host.Name = value
	case "os release":
		src.Host.Release = value
	case "arch":
		src.Host.Arch = value
	case "cpudesc":
		src.Host.CPUDesc = value
	case "nrcpus online":
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			src.Host.CPUs = evidence.Some(n)
		}
	case "perf version":
		src.Tool = "perf " + value
	case "captured on":
		src.Window.Date = value
	case "cmdline":
		src.Command = value
		src.Target = target(value)
	case "time of first sample":
		src.Window.StartNS = nanoseconds(value)
	case "time of last sample":
		src.Window.EndNS = nanoseconds(value)
	case "sample duration":
		if ms, ok := strings.CutSuffix(value, " ms"); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(ms), 64); err == nil && v >= 0 {
				src.Window.DurationS = evidence.Some(v / 1e3)
			}
		}
	}
}

// nanoseconds reads a time in seconds with decimals.
func nanoseconds(s string) evidence.Opt[uint64] {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > 9 || len(whole) > 10 || !isNumber(whole) {
		return evidence.Opt[uint64]{}
	}
	ns, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 9-len(frac)), 10, 64)
	if err != nil {
		return evidence.Opt[uint64]{}
	}
	return evidence.Some(ns)
}

// recordCommand finds a perf record command in a line of a paste: first on the
// line, after a prompt, or after words that run a command.
func recordCommand(line string) (string, bool) {
	const name = "perf record "
	i := strings.Index(line, name)
	if i < 0 {
		return "", false
	}
	command := name + strings.TrimSpace(line[i+len(name):])
	words := strings.Fields(line[:i])
	if len(words) == 0 {
		return command, true
	}
	switch last := words[len(words)-1]; {
	case last == "sudo", last == "time", strings.Contains(last, "="):
		return command, true
	default:
		return command, strings.ContainsAny(last[len(last)-1:], "$#%>/")
	}
}

// withValue are the options of perf record that take a value.
var withValue = map[string]bool{
	"e": true, "event": true, "o": true, "output": true, "F": true, "freq": true, "c": true, "count": true, "m": true, "mmap-pages": true,
	"C": true, "cpu": true, "p": true, "pid": true, "t": true, "tid": true, "u": true, "uid": true, "G": true, "cgroup": true,
	"k": true, "clockid": true, "D": true, "delay": true, "r": true, "realtime": true, "call-graph": true, "filter": true,
	"max-size": true, "j": true, "branch-filter": true, "intr-regs": true, "user-regs": true, "vmlinux": true, "proc-map-timeout": true,
	"control": true, "group-by": true, "num-thread-synthesize": true, "switch-max-files": true, "affinity": true, "synth": true,
}

// optionalValue are those whose value must be joined to them.
var optionalValue = "IWXSRzbnNdgvqs"

// target reads from a perf record command what it watched.
func target(command string) evidence.Target {
	words := strings.Fields(command)
	for len(words) > 0 && path.Base(words[0]) != "record" {
		words = words[1:]
	}
	if len(words) == 0 {
		return evidence.Target{}
	}
	var t evidence.Target
	i := 1
	for ; i < len(words) && strings.HasPrefix(words[i], "-") && words[i] != "--"; i++ {
		for _, o := range options(words[i]) {
			if withValue[o.name] && o.value == "" && i+1 < len(words) {
				i++
				o.value = words[i]
			}
			o.apply(&t)
		}
	}
	if i < len(words) && words[i] == "--" {
		i++
	}
	if t.Kind == evidence.TargetUnknown && i < len(words) {
		return evidence.Target{Kind: evidence.TargetCommand, Name: strings.Join(words[i:], " ")}
	}
	return t
}

type option struct{ name, value string }

// options splits "--pid=12", "-p12" and "-agp" into options.
func options(word string) []option {
	if long, ok := strings.CutPrefix(word, "--"); ok {
		name, value, _ := strings.Cut(long, "=")
		return []option{{name, value}}
	}
	var out []option
	for i := 1; i < len(word); i++ {
		o := option{name: word[i : i+1]}
		switch {
		case withValue[o.name]:
			o.value = word[i+1:]
			return append(out, o)
		case o.name == "a" || strings.Contains(optionalValue, o.name):
		default:
			return append(out, o)
		}
		out = append(out, o)
	}
	return out
}

// apply takes an option into the target. -p and -t are narrower than -a and -C.
func (o option) apply(t *evidence.Target) {
	switch o.name {
	case "a", "all-cpus":
		if t.Kind == evidence.TargetUnknown {
			t.Kind = evidence.TargetSystem
		}
	case "p", "pid":
		*t = evidence.Target{Kind: evidence.TargetProcess, IDs: idList(o.value)}
	case "t", "tid":
		*t = evidence.Target{Kind: evidence.TargetThread, IDs: idList(o.value)}
	case "C", "cpu":
		if t.Kind != evidence.TargetProcess && t.Kind != evidence.TargetThread {
			*t = evidence.Target{Kind: evidence.TargetCPU, IDs: idList(o.value), Name: o.value}
		}
	case "G", "cgroup":
		*t = evidence.Target{Kind: evidence.TargetCgroup, Name: o.value}
	}
}

// idList reads "12,34" and "0-3".
func idList(s string) []int {
	var ids []int
	for _, w := range strings.Split(s, ",") {
		from, to, isRange := strings.Cut(w, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(to); err != nil || b-a > 4096 {
				continue
			}
		}
		for ; a <= b; a++ {
			ids = append(ids, a)
		}
	}
	return ids
}
