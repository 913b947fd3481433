package perfstat

import (
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// headerMark begins the header of a block of text.
const headerMark = "Performance counter stats for "

// maxHeaderLines and maxHeader bound how far a command with line ends in it may
// go on.
const (
	maxHeaderLines = 64
	maxHeader      = 16 << 10
)

// header reads the header whose mark is at s[at:]. more gives the following
// lines. It returns the scope as printed, line ends written as \n, what follows
// it on its last line, how many lines of more it took, and whether it ends as a
// header must.
//
// Layout: print_header_std in the kernel's tools/perf/util/stat-display.c.
func header(s string, at int, more func(i int) (string, bool)) (scope, rest string, lines int, ends bool) {
	s = s[at+len(headerMark):]
	if scope, ok := closes(s); ok {
		return scope, "", 0, true
	}
	if i := closesInside(s); i > 0 {
		return strings.TrimSpace(s[:i]), s[i+1:], 0, true
	}
	joined := s
	for i := range maxHeaderLines {
		next, ok := more(i)
		if !ok || len(joined)+len(next) > maxHeader || strings.Contains(next, headerMark) || isBlockLine(next) {
			break
		}
		joined += `\n` + next
		if scope, ok := closes(joined); ok {
			return scope, "", i + 1, true
		}
	}
	return strings.TrimSpace(strings.TrimRight(s, ": \t")), "", 0, false
}

// closes reports whether s ends in the colon of a header. A scope that begins
// with a quote ends with one, or with the number of runs.
func closes(s string) (scope string, ok bool) {
	t, ok := strings.CutSuffix(strings.TrimRight(s, " \t"), ":")
	if !ok {
		return "", false
	}
	t = strings.TrimSpace(t)
	if quoted(t) && !endsQuoted(t) {
		return "", false
	}
	return t, true
}

// closesInside finds the last colon of a header inside a line that goes on
// with rows, and maybe with another block.
func closesInside(s string) int {
	if i := strings.Index(s, headerMark); i >= 0 {
		s = s[:i]
	}
	for i := len(s) - 2; i > 0; i-- {
		if s[i] == ':' && (s[i+1] == ' ' || s[i+1] == '\t') && endsQuoted(s[:i]) {
			return i
		}
	}
	return -1
}

// isBlockLine reports whether a line can only be a row or the end of a block,
// so that a header without end does not swallow it.
func isBlockLine(s string) bool {
	if strings.Contains(s, "seconds time elapsed") {
		return true
	}
	f := tokenize(s[:min(len(s), 256)], nil)
	if len(f) < 2 || !isNumber(f[0].s) && f[0].s != "<not" {
		return false
	}
	_, known := canonical(f[1].s)
	return known || isUnit(f[1].s) || f[0].s == "<not"
}

// quotes are what the apostrophe becomes on its way.
var quotes = []string{"'", "’", "‘", "`", "\"", "´"}

// quoted reports whether the scope has an opening quote.
func quoted(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "process id "), "thread id ")
	for _, q := range quotes {
		if strings.HasPrefix(s, q) {
			return true
		}
	}
	return false
}

func endsQuoted(s string) bool {
	t, _ := cutRuns(s)
	for _, q := range quotes {
		if strings.HasSuffix(t, q) {
			return true
		}
	}
	return false
}

// cutRuns takes " (N runs)" off a scope.
func cutRuns(s string) (string, int) {
	t := strings.TrimRight(s, " \t")
	head, ok := strings.CutSuffix(t, " runs)")
	if !ok {
		return t, 0
	}
	i := strings.LastIndexByte(head, '(')
	if i < 0 {
		return t, 0
	}
	n, err := strconv.Atoi(head[i+1:])
	if err != nil || n < 0 {
		return t, 0
	}
	return strings.TrimRight(head[:i], " \t"), n
}

// target parses what a block counted from its scope, or from the command line
// before it where there is no scope. With -a and -C together perf says "system
// wide" and counts the CPUs of -C.
func target(scope, command string) evidence.Target {
	opts := options(command)
	if scope == "" {
		return opts
	}
	t, _ := cutRuns(scope)
	kind, list := evidence.TargetCommand, ""
	if rest, ok := strings.CutPrefix(t, "process id "); ok {
		kind, list = evidence.TargetProcess, rest
	} else if rest, ok := strings.CutPrefix(t, "thread id "); ok {
		kind, list = evidence.TargetThread, rest
	}
	if kind != evidence.TargetCommand {
		return evidence.Target{Kind: kind, IDs: idList(unquote(list))}
	}
	t = unquote(t)
	switch {
	case t == "system wide":
		if opts.Kind == evidence.TargetCPU {
			return opts
		}
		return evidence.Target{Kind: evidence.TargetSystem}
	case strings.HasPrefix(t, "CPU(s) "):
		return evidence.Target{Kind: evidence.TargetCPU, IDs: idList(t[len("CPU(s) "):])}
	case strings.HasPrefix(t, "BPF program(s) "):
		return evidence.Target{Name: t}
	}
	return evidence.Target{Kind: evidence.TargetCommand, Name: t}
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	for _, q := range quotes {
		if t, ok := strings.CutPrefix(s, q); ok {
			s = t
			break
		}
	}
	for _, q := range quotes {
		if t, ok := strings.CutSuffix(s, q); ok {
			return t
		}
	}
	return s
}

// maxIDs bounds the ids of a target.
const maxIDs = 4096

// idList reads "1,2,5-7". It returns nil for anything else.
func idList(s string) []int {
	var ids []int
	for f := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(f), "-")
		a, err := strconv.Atoi(lo)
		if err != nil || a < 0 {
			return nil
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(hi); err != nil || b < a {
				return nil
			}
		}
		for n := a; n <= b && len(ids) < maxIDs; n++ {
			ids = append(ids, n)
		}
	}
	return ids
}

// options reads the target from the options of a perf stat command line, up
// to the command that it starts.
func options(command string) evidence.Target {
	var out evidence.Target
	f := strings.Fields(command)
	for len(f) > 0 && f[0] != "stat" {
		f = f[1:]
	}
	for i := 1; i < len(f); i++ {
		o := f[i]
		if !strings.HasPrefix(o, "-") || o == "--" {
			return out
		}
		name, value, takes := splitOption(o)
		if takes && value == "" && i+1 < len(f) {
			i++
			value = f[i]
		}
		switch name {
		case "-a", "--all-cpus":
			if out.Kind == evidence.TargetUnknown {
				out = evidence.Target{Kind: evidence.TargetSystem}
			}
		case "-p", "--pid":
			out = evidence.Target{Kind: evidence.TargetProcess, IDs: idList(value)}
		case "-t", "--tid":
			out = evidence.Target{Kind: evidence.TargetThread, IDs: idList(value)}
		case "-C", "--cpu":
			out = evidence.Target{Kind: evidence.TargetCPU, IDs: idList(value)}
		}
	}
	return out
}

// splitOption cuts an option from the value that is joined to it, and tells
// whether the option takes one.
func splitOption(o string) (name, value string, takes bool) {
	if strings.HasPrefix(o, "--") {
		name, value, _ = strings.Cut(o, "=")
		switch name {
		case "--pid", "--tid", "--cpu", "--event", "--interval-print", "--repeat", "--output", "--field-separator",
			"--cgroup", "--for-each-cgroup", "--delay", "--timeout", "--metrics":
			return name, value, true
		}
		return name, value, false
	}
	if len(o) > 1 && strings.IndexByte("ptCeIroxGDM", o[1]) >= 0 {
		return o[:2], o[2:], true
	}
	return o, "", false
}

// commandLine returns the perf stat command in a line that shows one being
// typed: after a prompt, after a colon, or alone. Prose that mentions perf
// stat is none.
func commandLine(s string) (string, bool) {
	i := strings.Index(s, "perf stat")
	if i < 0 || len(s) > 4096 {
		return "", false
	}
	rest := s[i+len("perf stat"):]
	if rest == "" || rest[0] != ' ' || strings.HasPrefix(rest, " ...") {
		return "", false
	}
	start := i
	for start > 0 && s[start-1] != ' ' && s[start-1] != '`' && s[start-1] != '\t' {
		start--
	}
	before := strings.TrimSpace(strings.TrimRight(s[:start], "`"))
	for _, w := range []string{"sudo", "time"} {
		if t, ok := strings.CutSuffix(before, w); ok && (t == "" || strings.HasSuffix(t, " ")) {
			start = strings.LastIndex(s[:start], w)
			before = strings.TrimSpace(t)
		}
	}
	if before != "" && strings.IndexByte("$#%>:`", before[len(before)-1]) < 0 {
		return "", false
	}
	cmd := strings.TrimLeft(s[start:], "$#%>")
	if strings.HasSuffix(s[:start], "`") {
		cmd, _, _ = strings.Cut(cmd, "`")
	}
	if j := strings.Index(cmd, "  #"); j > 0 {
		cmd = cmd[:j]
	}
	return strings.TrimRight(cmd, "` \t"), !hasPlaceholder(cmd)
}

// hasPlaceholder reports whether a command is a template: "-p <PID>".
func hasPlaceholder(s string) bool {
	i := strings.IndexByte(s, '<')
	return i >= 0 && i+1 < len(s) && isLetter(s[i+1]) && strings.IndexByte(s[i:], '>') > 0
}
