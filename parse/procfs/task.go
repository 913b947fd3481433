package procfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// block collects the lines of one task until they are complete.
type block struct {
	place place
	line  int
	last  int // the order of the last status field; 0 before the first
	count evidence.ThreadCount
	any   bool // a count was read
	named bool // a name was read from the sched header
}

var errSchedstat = errors.New("no row of schedstat: it has three numbers")

// statusFields are the fields of status that are read, in the order in which
// the kernel prints them.
var statusFields = map[string]int{"Name": 1, "Tgid": 2, "Pid": 3, "Kthread": 4, "Threads": 5, "voluntary_ctxt_switches": 6, "nonvoluntary_ctxt_switches": 7}

// statusField splits a line of status that is read.
func statusField(s string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(s, ":")
	if !ok || statusFields[name] == 0 {
		return "", "", false
	}
	return name, trim(value), true
}

// status reads a line of /proc/PID/status. It reports whether it was one.
func (r *reader) status(s string, no int) bool {
	many := splitStatus(s)
	if len(many) < 2 {
		return r.oneStatus(s, no)
	}
	any := false
	for _, f := range many {
		any = r.oneStatus(f, no) || any
	}
	return any
}

// oneStatus reads one field.
func (r *reader) oneStatus(s string, no int) bool {
	name, value, ok := statusField(s)
	if !ok || !r.isStatus(name, value) {
		return false
	}
	order := statusFields[name]
	if order <= r.block.last {
		r.again(no)
	}
	if r.block.line == 0 {
		r.block.line = no
	}
	r.block.last = order
	r.setStatus(name, value, no)
	return true
}

// isStatus tells the fields of status from lines that only look like them: the
// common words of prose count inside a status file only, or before numbers.
func (r *reader) isStatus(name, value string) bool {
	switch name {
	case "Name":
		return r.place.kind != fileOther
	case "Tgid", "Pid", "Threads", "Kthread":
		_, err := strconv.Atoi(value)
		return err == nil && r.place.kind != fileOther
	}
	return true
}

func (r *reader) setStatus(name, value string, no int) {
	c := &r.block.count
	number := func() (uint64, bool) {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			r.drop(no, fmt.Errorf("%s is no number: %q", name, cut(value)))
		}
		return n, err == nil
	}
	if name == "Name" {
		c.Task.Comm = value
		return
	}
	n, ok := number()
	if !ok {
		return
	}
	switch name {
	case "Tgid":
		c.Task.PID = int(n)
	case "Pid":
		c.Task.TID = int(n)
	case "Kthread":
		c.Kernel = n == 1
	case "Threads":
		c.Threads = evidence.Some(int(n))
	case "voluntary_ctxt_switches":
		c.Voluntary, r.block.any = evidence.Some(n), true
		c.Pos.Line = no
	case "nonvoluntary_ctxt_switches":
		c.Involuntary, r.block.any = evidence.Some(n), true
		if c.Pos.Line == 0 {
			c.Pos.Line = no
		}
	}
	r.has[fileStatus] = true
}

// splitStatus cuts a status file whose lines were joined into its fields.
func splitStatus(s string) []string {
	if i := strings.Index(s, "voluntary_ctxt_switches:"); i < 0 || strings.Count(s, ":") < 2 {
		return nil
	}
	var out []string
	start := 0
	words := strings.Fields(s)
	for i, w := range words {
		if i > start && strings.HasSuffix(w, ":") && len(w) > 1 {
			out = append(out, strings.Join(words[start:i], " "))
			start = i
		}
	}
	return append(out, strings.Join(words[start:], " "))
}

// again starts the next task within the same file: the fields begin anew.
func (r *reader) again(no int) {
	p := r.block.place
	r.flush()
	r.block = block{place: p, line: no}
}

// isSchedstat reports whether a line is three numbers.
func isSchedstat(s string) bool {
	if s == "" || s[0] < '0' || s[0] > '9' || len(s) > 70 {
		return false
	}
	f := strings.Fields(s)
	if len(f) != 3 {
		return false
	}
	for _, w := range f {
		if _, err := strconv.ParseUint(w, 10, 64); err != nil {
			return false
		}
	}
	return true
}

// schedstatHere reports whether three numbers can be a row of schedstat here:
// in a file of that name, in a task's block below its status, or where the
// whole text is nothing else.
func (r *reader) schedstatHere() bool {
	b := &r.block
	switch r.place.kind {
	case fileSchedstat, fileTask:
		return true
	case fileUnknown, fileStatus:
		return r.bare || b.last == statusFields["nonvoluntary_ctxt_switches"] && !b.count.RunNS.OK
	}
	return false
}

// schedstat reads time on a CPU, time on a run queue, and times on a CPU.
func (r *reader) schedstat(s string, no int) {
	c := &r.block.count
	if c.RunNS.OK {
		r.again(no)
		c = &r.block.count
	}
	f := strings.Fields(s)
	var v [3]uint64
	for i := range v {
		v[i], _ = strconv.ParseUint(f[i], 10, 64)
	}
	c.RunNS, c.RunDelayNS, c.Slices = evidence.Some(v[0]), evidence.Some(v[1]), evidence.Some(v[2])
	if c.Pos.Line == 0 {
		c.Pos.Line = no
	}
	r.block.any, r.has[fileSchedstat] = true, true
}

// sched reads a line of /proc/PID/sched: its header "comm (pid, #threads: n)"
// or a field "name : value".
func (r *reader) sched(s string, no int) bool {
	if i := strings.LastIndex(s, ", #threads: "); i > 0 && strings.HasSuffix(s, ")") {
		return r.schedHeader(s, i, no)
	}
	name, value, ok := strings.Cut(s, ":")
	if !ok {
		return false
	}
	return r.schedField(trim(name), trim(value), no)
}

func (r *reader) schedHeader(s string, i, no int) bool {
	open := strings.LastIndex(s[:i], " (")
	if open < 0 {
		return false
	}
	tid, err1 := strconv.Atoi(s[open+2 : i])
	n, err2 := strconv.Atoi(trim(s[i+len(", #threads: ") : len(s)-1]))
	if err1 != nil || err2 != nil || tid <= 0 {
		return false
	}
	if r.block.any || r.block.named {
		r.again(no)
	}
	if r.block.line == 0 {
		r.block.line = no
	}
	c := &r.block.count
	c.Task.Comm, c.Task.TID, c.Threads, c.Pos.Line = s[:open], tid, evidence.Some(n), no
	r.block.named = true
	return true
}

func (r *reader) schedField(name, value string, no int) bool {
	c := &r.block.count
	var dst *evidence.Opt[uint64]
	ms := false
	switch name {
	case "nr_switches":
		dst = &c.Switches
	case "nr_voluntary_switches":
		dst = &c.Voluntary
	case "nr_involuntary_switches":
		dst = &c.Involuntary
	case "se.nr_migrations":
		dst = &c.Migrations
	case "se.sum_exec_runtime":
		dst, ms = &c.RunNS, true
	case "wait_sum", "se.statistics.wait_sum", "se.statistics->wait_sum":
		dst, ms = &c.RunDelayNS, true
	default:
		return false
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if ms {
		n, err = milliseconds(value)
	}
	if err != nil {
		r.drop(no, fmt.Errorf("%s is no number: %q", name, cut(value)))
		return true
	}
	if dst == &c.RunDelayNS && n == 0 { // 0 also while the kernel does not collect it
		return true
	}
	if dst.OK {
		r.again(no)
		return r.schedField(name, value, no)
	}
	*dst = evidence.Some(n)
	if c.Pos.Line == 0 {
		c.Pos.Line = no
	}
	r.block.any, r.has[fileSched] = true, true
	return true
}

// milliseconds reads "22.752589" as nanoseconds, exactly.
func milliseconds(s string) (uint64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || len(frac) > 6 || n > 1<<43 {
		return 0, errors.New("no time in milliseconds")
	}
	f := uint64(0)
	if frac != "" {
		f, err = strconv.ParseUint((frac + "000000")[:6], 10, 64)
	}
	return n*1e6 + f, err
}

// taskStat reads /proc/PID/stat for the start time, field 22, in ticks since
// boot. The name may hold spaces and brackets, so the last ")" ends it.
func (r *reader) taskStat(s string, no int) bool {
	if s[0] < '0' || s[0] > '9' {
		return false
	}
	open, end := strings.Index(s, " ("), strings.LastIndex(s, ") ")
	if open < 0 || end < open {
		return false
	}
	tid, err := strconv.Atoi(s[:open])
	f := strings.Fields(s[end+2:])
	if err != nil || tid <= 0 || len(f) < 40 || len(f[0]) != 1 {
		return false
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil || start > 1<<40 {
		r.drop(no, errors.New("the start time in stat is no number"))
		return true
	}
	if known := r.block.count.Task.TID; r.block.any && known != tid && r.block.place.tid != tid {
		r.again(no)
	}
	c := &r.block.count
	c.Task.TID, c.Task.Comm, c.StartNS = tid, s[open+2:end], evidence.Some(start*tickNS)
	if c.Pos.Line == 0 {
		c.Pos.Line = no
	}
	r.block.any, r.has[fileTaskStat] = true, true
	return true
}

// tickNS is a unit of /proc's times: 1/USER_HZ, which is 100 on every
// architecture that perf runs on.
const tickNS = 10_000_000

// cut shortens a value for a message.
func cut(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
