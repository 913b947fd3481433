package timehist

import (
	"bytes"
	"errors"
)

// rowKind is what a line with a time in front tells.
type rowKind uint8

const (
	rowNone    rowKind = iota // no row
	rowSwitch                 // a task leaves its CPU
	rowWakeup                 // -w: awakened: TASK
	rowMigrate                // -M: migrated: TASK cpu A => B
	rowLost                   // lost N events on cpu C
)

// row is a parsed row. Its byte slices point into the line.
type row struct {
	time       uint64 // ns
	resolution uint64 // of time, in ns
	timeAt     int    // where the time begins and ends in the line
	timeEnd    int
	cpu        int
	name       []byte
	wait       uint64 // of a switch, in ns; noTime: no possible duration
	delay      uint64
	run        uint64
	runEnd     int    // where the run time ends in the line, when nothing was unescaped; else 0
	next       []byte // -n: the task that follows
	chain      []byte // the call chain, leaf first, joined by " <- "
	other      []byte // the task that was awakened or migrated
	lost       uint64
}

// The errors of rows that are dropped.
var (
	errCut       = errors.New("the row is cut or has no run time")
	errTask      = errors.New("no task name with a thread id")
	errCPU       = errors.New("not a CPU number")
	errFragment  = errors.New("part of a row")
	errBeginning = errors.New("the beginning of the row is missing")
	errLong      = errors.New("the line is too long for a row")
)

// maxCPU bounds CPU numbers (the kernel's largest NR_CPUS is 8192).
const maxCPU = 1 << 16

// parse reads a line into r. A line that is no row gives rowNone and no error;
// a row that cannot be read gives rowNone and why.
func (l *layout) parse(line []byte, r *row) (rowKind, error) {
	*r = row{}
	w, rest := token(line)
	var ok bool
	if r.time, r.resolution, ok = clock(w); !ok {
		return rowNone, nil
	}
	r.timeEnd = len(line) - len(rest)
	r.timeAt = r.timeEnd - len(w)
	p := trimLeft(rest)
	if len(p) == 0 || p[0] != '[' {
		return parseLost(p, r)
	}
	cpu, n := digits(p[1:])
	if n == 0 || 1+n >= len(p) || p[1+n] != ']' {
		return rowNone, nil
	}
	if cpu >= maxCPU {
		return rowNone, errCPU
	}
	r.cpu = int(cpu)
	if rest = p[2+n:]; len(rest) > 0 && !isSpace(rest[0]) {
		return rowNone, errTask
	}
	return l.parseBody(line, rest, r)
}

// parseLost reads what perf prints of a PERF_RECORD_LOST.
//
// Layout: process_lost in tools/perf/builtin-sched.c.
func parseLost(p []byte, r *row) (rowKind, error) {
	rest, ok := bytes.CutPrefix(p, []byte("lost "))
	if !ok {
		return rowNone, nil
	}
	w, rest := token(rest)
	n, ok := integer(w)
	if rest = trim(rest); !ok || !bytes.HasPrefix(rest, []byte("events on cpu ")) {
		return rowNone, nil
	}
	r.lost = n
	return rowLost, nil
}

// parseBody reads what stands behind the CPU.
func (l *layout) parseBody(line, rest []byte, r *row) (rowKind, error) {
	body := unescape(rest)
	if !l.header && !l.guessed {
		l.guessBitmap(body, r.cpu)
	}
	nameEnd, runEnd := l.values(body, r)
	if nameEnd < 0 {
		return l.parseEvent(body, r)
	}
	name := trim(l.skipBitmap(body[:nameEnd]))
	if name = l.cutPrio(name); !plausibleName(name) {
		if k, _ := l.parseEvent(body, r); k != rowNone {
			return k, nil
		}
		if bytes.IndexByte(name, '[') >= 0 {
			return rowNone, errTask
		}
	}
	r.name = name
	if len(body) == len(rest) {
		r.runEnd = len(line) - len(rest) + runEnd
	}
	l.parseTail(body[runEnd:], r)
	return rowSwitch, nil
}

// values finds the three durations, which are the first three such words in a
// row: a comm of 15 bytes has no room for three. It returns where they begin
// and end, or -1.
func (l *layout) values(p []byte, r *row) (start, end int) {
	n := 0
	var v [3]uint64
	for i := 0; i < len(p); {
		for i < len(p) && isSpace(p[i]) {
			i++
		}
		j := i
		for j < len(p) && !isSpace(p[j]) {
			j++
		}
		ns, ok := uint64(0), false
		if j > i && isDigit(p[i]) {
			ns, ok = msec(p[i:j])
		}
		if !ok {
			n = 0
		} else {
			if n == 0 {
				start = i
			}
			if v[n] = ns; n == 2 {
				r.wait, r.delay, r.run = v[0], v[1], v[2]
				return start, j
			}
			n++
		}
		i = j
	}
	return -1, -1
}

// cutPrio takes the priority ("120", or "120->129" when it changed) off the end
// of the text between CPU and durations.
func (l *layout) cutPrio(name []byte) []byte {
	before, w := lastWord(name)
	before = trimRight(before)
	switch {
	case !isPrio(w):
		return name
	case l.prio, !l.header && len(before) > 0 && plausibleName(before):
		return before
	}
	return name
}

func isPrio(w []byte) bool {
	_, n, ok := signed(w)
	if !ok {
		return false
	}
	if w = w[n:]; len(w) == 0 {
		return true
	}
	w, ok = bytes.CutPrefix(w, []byte("->"))
	if !ok {
		return false
	}
	_, n, ok = signed(w)
	return ok && n == len(w)
}

// The marks are equally long.
var (
	awakenedMark = []byte("awakened: ")
	migratedMark = []byte("migrated: ")
	cpuMark      = []byte(" cpu ")
)

// parseEvent reads an awakened: or migrated: row. A comm can hold such a mark
// as well: the first with a task before it is the row's.
//
// Layout: timehist_print_wakeup_event and timehist_print_migration_event.
func (l *layout) parseEvent(body []byte, r *row) (rowKind, error) {
	at, kind := -1, rowNone
	for i := 1; i < len(body); i++ {
		k := eventAt(body, i)
		if k == rowNone {
			continue
		}
		name := l.eventName(body[:i])
		if at < 0 || len(name) > 0 && plausibleName(name) {
			at, kind = i, k
		}
		if len(name) > 0 && plausibleName(name) {
			break
		}
	}
	if at < 0 {
		return rowNone, errCut
	}
	r.name = l.eventName(body[:at])
	other := body[at+len(awakenedMark):]
	if kind == rowMigrate {
		j := bytes.LastIndex(other, cpuMark)
		if j < 0 || !isMove(other[j+len(cpuMark):]) {
			return rowNone, errCut
		}
		other = other[:j]
	}
	if r.other = trim(other); len(r.other) == 0 {
		return rowNone, errCut
	}
	return kind, nil
}

// eventAt reports which event's mark stands at p[i:], behind a blank.
func eventAt(p []byte, i int) rowKind {
	switch {
	case p[i] != 'a' && p[i] != 'm' || !isSpace(p[i-1]):
		return rowNone
	case bytes.HasPrefix(p[i:], awakenedMark):
		return rowWakeup
	case bytes.HasPrefix(p[i:], migratedMark):
		return rowMigrate
	}
	return rowNone
}

// eventName is the task in front of an event. Its bitmap is blank, or has an m.
func (l *layout) eventName(p []byte) []byte {
	return trim(l.skipBitmap(p))
}

// isMove matches "A => B".
func isMove(p []byte) bool {
	from, rest := token(p)
	arrow, rest := token(rest)
	to, rest := token(rest)
	_, ok1 := integer(from)
	_, ok2 := integer(to)
	return ok1 && ok2 && string(arrow) == "=>" && len(trim(rest)) == 0
}
