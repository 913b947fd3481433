package timehist

import (
	"bytes"

	"ctxan/parse/evidence"
)

// summary is what timehist prints below its rows with -S, or instead of them
// with -s.
//
// Layout: timehist_print_summary in tools/perf/builtin-sched.c.
type summary struct {
	seen   bool // any line of it
	titled bool // its title line
	closed bool // its totals
	idleBy bool // within "Idle stats by callchain"
	totals evidence.SchedTotals
	tasks  []taskTotal
	full   bool
}

// taskTotal is one task of a summary, in ns.
type taskTotal struct {
	name       taskName
	line       int
	ppid       int
	count      uint64 // switch-outs
	run        uint64
	wait       uint64 // --state: sleep + iowait + preempt
	delay      uint64 // --state
	migrations uint64
}

// summaryLine reads a line of a summary. It reports whether it was one.
func (s *summary) line(p []byte, no int) bool {
	switch p = trim(p); {
	case len(p) == 0 || !s.titles(p, no) && !s.idle(p) && !s.total(p, no) && !s.row(p, no):
		return false
	}
	s.seen = true
	return true
}

// empty reports whether nothing but titles was read.
func (s *summary) empty() bool {
	return len(s.tasks) == 0 && len(s.totals.Idle) == 0 && !s.closed
}

// titles reads the lines that head the parts.
func (s *summary) titles(p []byte, no int) bool {
	switch string(p) {
	case "Runtime summary":
		s.title(evidence.SummaryRun, no)
	case "Wait-time summary":
		s.title(evidence.SummaryWait, no)
	case "Idle-time summary":
		s.title(evidence.SummaryIdle, no)
	case "Idle stats by callchain:":
		s.idleBy = true
	case "Terminated tasks:", "Idle stats:", "<no still running tasks>", "<no terminated tasks>":
	default:
		return s.columns(p)
	}
	return true
}

func (s *summary) title(k evidence.SummaryKind, no int) {
	s.titled, s.totals.Kind, s.totals.Pos.Line = true, k, no
}

// columns matches the two lines of column names, whose first tells the kind as
// well as the title does.
func (s *summary) columns(p []byte) bool {
	w, rest := token(p)
	switch string(w) {
	case "comm":
		switch {
		case !bytes.Contains(rest, []byte("parent")):
			return false
		case bytes.Contains(rest, []byte("idle-time")):
			s.totals.Kind = evidence.SummaryIdle
		case bytes.Contains(rest, []byte("iowait")):
			s.totals.Kind = evidence.SummaryWait
		default:
			return bytes.Contains(rest, []byte("run-time"))
		}
		return true
	case "(count)":
		return bytes.Contains(rest, []byte("(msec)"))
	case "Idle":
		return bytes.HasPrefix(trim(rest), []byte("time (msec)"))
	}
	return false
}

// The beginnings of the totals.
const (
	tasksMark    = "Total number of unique tasks:"
	switchesMark = "Total number of context switches:"
	runMark      = "Total run time (msec):"
	windowMark   = "Total scheduling time (msec):"
)

// total reads one of the four last lines.
func (s *summary) total(p []byte, no int) bool {
	t := &s.totals
	switch {
	case !bytes.HasPrefix(p, []byte("Total ")):
		return false
	case bytes.HasPrefix(p, []byte(tasksMark)):
		t.Tasks = count(p[len(tasksMark):])
	case bytes.HasPrefix(p, []byte(switchesMark)):
		t.Switches = count(p[len(switchesMark):])
	case bytes.HasPrefix(p, []byte(runMark)):
		t.RunNS = duration(p[len(runMark):])
	case bytes.HasPrefix(p, []byte(windowMark)):
		t.WindowNS = duration(p[len(windowMark):])
		t.CPUs = times(p)
	default:
		return false
	}
	s.closed, s.idleBy = true, false
	if t.Pos.Line == 0 {
		t.Pos.Line = no
	}
	return true
}

func count(p []byte) evidence.Opt[uint64] {
	w, _ := token(p)
	v, ok := integer(w)
	return evidence.Opt[uint64]{V: v, OK: ok}
}

func duration(p []byte) evidence.Opt[uint64] {
	w, _ := token(p)
	v, ok := msec(w)
	if !ok || v == noTime {
		return evidence.Opt[uint64]{}
	}
	return evidence.Some(v)
}

// times reads "(x N)" at the end of p.
func times(p []byte) evidence.Opt[int] {
	i := bytes.LastIndex(p, []byte("(x "))
	if i < 0 {
		return evidence.Opt[int]{}
	}
	v, n := digits(p[i+3:])
	return evidence.Opt[int]{V: int(v), OK: n > 0 && v < maxCPU}
}

// idle reads a line of "Idle stats", and passes over those of its call chains.
func (s *summary) idle(p []byte) bool {
	w, rest := token(p)
	if string(w) != "CPU" {
		return s.idleBy && s.idleChain(p)
	}
	w, rest = token(rest)
	if s.idleBy && bytes.HasSuffix(w, []byte(":")) {
		return true
	}
	n, ok := integer(w)
	rest = trimLeft(rest)
	if !ok || n >= maxCPU || !bytes.HasPrefix(rest, []byte("idle ")) || len(s.totals.Idle) >= maxCPU {
		return false
	}
	c := evidence.CPUIdle{CPU: int(n)}
	if r, ok := bytes.CutPrefix(rest, []byte("idle for")); ok {
		if c.IdleNS = duration(r); !c.IdleNS.OK {
			return false
		}
	}
	s.totals.Idle = append(s.totals.Idle, c)
	return true
}

// idleChain matches "MSEC COUNT CHAIN".
func (s *summary) idleChain(p []byte) bool {
	w, rest := token(p)
	if _, ok := msec(w); !ok {
		return false
	}
	w, _ = token(rest)
	_, ok := integer(w)
	return ok
}

// row reads a task of the table: its name, parent and count, and then either
// run min avg max stddev migrations, or (--state) run sleep iowait preempt delay.
func (s *summary) row(p []byte, no int) bool {
	var w, before [8][]byte // words from the last to the front, and what precedes them
	rest := p
	for i := range w {
		rest, w[i] = lastWord(rest)
		before[i] = rest
	}
	t := taskTotal{line: no}
	switch {
	case s.runRow(&t, w[:6]):
		return s.add(&t, before[7], w[7], w[6])
	case s.waitRow(&t, w[:5]):
		return s.add(&t, before[6], w[6], w[5])
	}
	return false
}

// runRow reads the six numbers of a Runtime or Idle-time row, last first.
func (s *summary) runRow(t *taskTotal, w [][]byte) bool {
	var ok bool
	if t.migrations, ok = integer(w[0]); !ok || !isPercent(w[1]) {
		return false
	}
	for _, d := range w[2:5] {
		if _, ok := msec(d); !ok {
			return false
		}
	}
	t.run, ok = msec(w[5])
	return ok && t.run != noTime
}

// isPercent matches "12.34", and nan as perf prints it of a single run of 0.
func isPercent(w []byte) bool {
	if bytes.HasSuffix(w, []byte("nan")) {
		return true
	}
	_, n := digits(w)
	if n == 0 || len(w) != n+3 || w[n] != '.' {
		return false
	}
	_, m := digits(w[n+1:])
	return m == 2
}

// waitRow reads the five numbers of a Wait-time row, last first.
func (s *summary) waitRow(t *taskTotal, w [][]byte) bool {
	var v [5]uint64
	for i, d := range w {
		var ok bool
		if v[i], ok = msec(d); !ok || v[i] > noTime/8 {
			return false
		}
	}
	if s.totals.Kind == evidence.SummaryIdle {
		return false
	}
	s.totals.Kind = evidence.SummaryWait
	t.delay, t.wait, t.run = v[0], v[1]+v[2]+v[3], v[4]
	return true
}

// add keeps a task when its name, parent and count are right.
func (s *summary) add(t *taskTotal, name, parent, n []byte) bool {
	var ok bool
	if t.count, ok = integer(n); !ok {
		return false
	}
	ppid, m, ok := signed(parent)
	if !ok || m != len(parent) || len(trim(name)) == 0 {
		return false
	}
	t.ppid, t.name = ppid, parseName(name)
	t.name.comm = bytes.Clone(t.name.comm[:min(len(t.name.comm), maxComm)])
	if len(s.tasks) >= maxTasks {
		s.full = true
		return true
	}
	s.tasks = append(s.tasks, *t)
	return true
}
