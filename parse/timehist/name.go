package timehist

import "bytes"

// unknownID stands for a thread id that the text does not tell. perf itself
// prints -1 for a task that ended before it could be asked.
const unknownID = -1

// taskName is a task as printed: comm[tid], or comm[tid/pid] when the two
// differ. perf prints the bare comm while it does not know the process.
//
// Layout: timehist_get_commstr in the kernel's tools/perf/builtin-sched.c.
type taskName struct {
	comm     []byte
	tid, pid int // pid 0: not told
	idle     bool
	plain    bool // without brackets: the ids are not told
}

// idleComm is how perf names the idle task in its rows.
const idleComm = "<idle>"

var idleBytes = []byte(idleComm)

// commCut is the longest name that perf prints: it cuts the rest.
const commCut = 31

// commMax is the longest comm of the kernel's events.
const commMax = 15

// parseName reads a printed task. An empty name is the idle task, whose
// brackets a browser took for a tag.
func parseName(p []byte) taskName {
	p = unescape(trim(p))
	if isIdleName(p) {
		return taskName{comm: idleBytes, idle: true}
	}
	open := bytes.LastIndexByte(p, '[')
	if open < 0 {
		return bareName(p)
	}
	n, ok := parseIDs(p[open+1:], len(p) >= commCut && open <= commMax)
	if !ok {
		return bareName(p)
	}
	n.comm = p[:open]
	n.idle = n.tid == 0
	if n.idle {
		n.comm = idleBytes
	}
	return n
}

func isIdleName(p []byte) bool {
	return len(p) == 0 || string(p) == idleComm || isSwapper(p)
}

// isSwapper matches swapper and swapper/N, the idle task's comm in events.
func isSwapper(p []byte) bool {
	rest, ok := bytes.CutPrefix(p, []byte("swapper"))
	if !ok || len(rest) == 0 {
		return ok
	}
	if rest[0] != '/' {
		return false
	}
	_, ok = integer(rest[1:])
	return ok
}

// bareName is a name without ids: ":70" tells the thread, others tell nothing.
func bareName(p []byte) taskName {
	n := taskName{comm: p, tid: unknownID, plain: true}
	if len(p) > 1 && p[0] == ':' {
		if v, ok := integer(p[1:]); ok && v <= maxID {
			n.tid, n.plain = int(v), false
		}
	}
	return n
}

// maxID bounds thread ids (the kernel's PID_MAX_LIMIT is 4 Mi).
const maxID = 1<<31 - 1

// parseIDs reads "tid]" or "tid/pid]". A name at perf's limit may lack its end:
// the bracket alone, when the comm left room for all digits.
func parseIDs(p []byte, cut bool) (taskName, bool) {
	tid, n, ok := signed(p)
	if !ok {
		return taskName{}, false
	}
	id := taskName{tid: tid, pid: tid}
	p = p[n:]
	if len(p) > 0 && p[0] == '/' {
		pid, n, ok := signed(p[1:])
		if !ok {
			return taskName{}, false
		}
		id.pid, p = pid, p[1+n:]
	}
	if string(p) != "]" && (!cut || len(p) != 0) {
		return taskName{}, false
	}
	id.tid, id.pid = max(id.tid, unknownID), max(id.pid, 0)
	return id, true
}

func signed(p []byte) (v, n int, ok bool) {
	neg := len(p) > 0 && p[0] == '-'
	if neg {
		p = p[1:]
	}
	u, n := digits(p)
	if n == 0 || u > maxID {
		return 0, 0, false
	}
	if neg {
		return -int(u), n + 1, true
	}
	return int(u), n, true
}

// plausibleName reports whether p can stand in the task column: it has ids, or
// is the idle task or an unknown comm.
func plausibleName(p []byte) bool {
	n := parseName(p)
	return !n.plain
}
