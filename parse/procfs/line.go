package procfs

import (
	"strconv"
	"strings"

	"ctxan/parse/paste"
)

func trim(s string) string { return strings.TrimSpace(s) }

// maxPID is the largest thread id that a kernel gives (PID_MAX_LIMIT).
const maxPID = 1 << 22

// line reads one line. next is the line below it.
func (r *reader) line(s, next string, no int) {
	if s == "" || len(s) > maxLine {
		return
	}
	switch {
	case strings.HasPrefix(s, "==>"), strings.Contains(s, "/proc/") && s[0] != '/', isTaskFolder(s):
		if p, ok := headerPlace(s); ok {
			r.enter(p, no)
			return
		}
	case r.isBareTID(s, next):
		tid, _ := strconv.Atoi(s)
		r.enter(place{kind: fileTask, tid: tid, name: s}, no)
		return
	case r.clock(s, no):
		return
	}
	if p, rest, ok := grepPlace(s); ok && r.isContent(p, rest) {
		if p != r.place {
			r.enter(p, no)
		}
		r.content(rest, no)
		return
	}
	if p, ok := namedTask(s); ok && !isField(s) {
		r.enter(p, no)
		return
	}
	if r.place.grep && s != "--" {
		r.enter(place{}, no)
	}
	r.content(s, no)
}

// maxLine is the longest line that is looked at: the list of interrupts in
// /proc/stat can be long, and is the longest.
const maxLine = 64 << 10

// isTaskFolder reports whether a line is nothing but the path of a task.
func isTaskFolder(s string) bool {
	if !strings.HasPrefix(s, "/proc/") {
		return false
	}
	m := taskPath.FindString(s)
	return m != "" && strings.HasPrefix(s, m) && strings.Trim(s[len(m):], ":/ ") == ""
}

// isBareTID reports whether a line is a number that a loop printed before the
// fields of a thread.
func (r *reader) isBareTID(s, next string) bool {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 || n > maxPID || s[0] == '0' || r.place.kind == fileCFSQuota || r.place.kind == fileCFSPeriod || r.place.kind == fileOther {
		return false
	}
	_, _, ok := statusField(next)
	return ok || isSchedstat(next)
}

// isField reports whether a line is a field of status, as "Pid:" is.
func isField(s string) bool {
	_, _, ok := statusField(s)
	return ok
}

// isContent reports whether what stands behind a grep's prefix is of that
// file, and the prefix so no field by itself.
func (r *reader) isContent(p place, rest string) bool {
	switch p.kind {
	case fileSchedstat:
		return isSchedstat(rest)
	case fileStatus, fileSched:
		return strings.Contains(rest, ":") || strings.HasPrefix(rest, "--")
	}
	return true
}

// enter leaves the present file for another.
func (r *reader) enter(p place, no int) {
	r.flush()
	r.place = p
	r.block = block{place: p, line: no}
	if p.when != "" {
		r.labelled(p.when, no)
	}
}

// content reads a line of the file that the reader is in.
func (r *reader) content(s string, no int) {
	switch r.place.kind {
	case fileUptime:
		r.uptime(s, no)
	case fileUname:
		r.uname(s)
	case fileCPUInfo:
		r.cpuInfo(s)
	case fileCPUMax, fileCFSQuota, fileCFSPeriod:
		r.groupLimit(s, no)
	case fileInterrupts:
		r.interrupt(s, no)
	case fileOther:
		r.setting(s, no)
	case fileSkip:
	default:
		r.fields(s, no)
	}
}

// fields reads a line by what is in it: the fields of these files have names
// of their own, also where nothing names the file.
func (r *reader) fields(s string, no int) {
	switch {
	case r.status(s, no), r.sched(s, no), r.machine(s, no), r.groupStat(s, no), r.taskStat(s, no):
	case isSchedstat(s) && r.schedstatHere():
		r.schedstat(s, no)
	case r.place.kind == fileSchedstat:
		r.leftOver(s, no)
	}
}

// leftOver drops a line that stands where counters should.
func (r *reader) leftOver(s string, no int) {
	if s[0] >= '0' && s[0] <= '9' {
		r.drop(no, errSchedstat)
	}
}

// onlySchedstat reports whether a text has nothing but lines of three numbers.
func onlySchedstat(t *paste.Text) bool {
	n := 0
	for _, l := range t.Lines {
		s := trim(l.Text)
		if s == "" {
			continue
		}
		if !isSchedstat(s) {
			return false
		}
		n++
	}
	return n > 0
}
