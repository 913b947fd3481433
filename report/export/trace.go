package export

import (
	"bufio"
	"io"
	"strconv"

	"ctxan/parse/evidence"
)

// Stint is a time that a task was on a CPU; CPU -1 is not known. Times are
// nanoseconds.
type Stint struct {
	Task       evidence.Task
	CPU        int
	Start, End uint64
	State      evidence.State // how it left the CPU
}

// Wakeup is a wakeup of Task while By ran on the CPU. IRQ: an interrupt did it.
type Wakeup struct {
	Task, By evidence.Task
	IRQ      bool
	CPU      int
	At       uint64
}

// Trace writes stints and wakeups as a Chrome JSON trace, which
// https://ui.perfetto.dev and chrome://tracing open. Every CPU is a track with
// the tasks that ran on it, and every task a track of its process with the CPUs
// that it ran on; a wakeup is a mark on its waker's track, with an arrow to the
// stint that it led to. Times are microseconds in the capture's clock.
//
// It writes as it is told, and keeps what it needs of tasks and CPUs only. After
// the first error nothing more is written, and Close returns it.
//
// Layout: "Trace Event Format" of the Chromium project.
type Trace struct {
	w      *bufio.Writer
	err    error
	buf    []byte
	any    bool // an event was written
	named  map[int]tracedTask
	names  map[string]string // comms made visible
	cpus   map[int]bool
	flows  map[int]pendingFlow // by the tid that was woken
	flow   uint64
	Stints uint64
	Wakes  uint64
}

// tracedTask is what a task's track is called.
type tracedTask struct {
	pid  int
	comm string
}

// pendingFlow is an arrow from a waker's track whose end is not known yet.
type pendingFlow struct {
	pid, tid int
	at       uint64
}

// cpuTracks is the process id under which the CPUs are shown, and added to their
// numbers the thread ids: above PID_MAX_LIMIT of the kernel, so that no task has it.
const cpuTracks = 1 << 22

// NewTrace begins a trace.
func NewTrace(w io.Writer) *Trace {
	t := &Trace{w: bufio.NewWriterSize(w, 256<<10), named: map[int]tracedTask{}, names: map[string]string{}, cpus: map[int]bool{}, flows: map[int]pendingFlow{}}
	t.buf = append(t.buf, `{"displayTimeUnit":"ns","traceEvents":[`...)
	return t
}

// Stint adds a stint.
func (t *Trace) Stint(s Stint) {
	if t.err != nil {
		return
	}
	t.Stints++
	pid := t.track(s.Task)
	if s.CPU >= 0 {
		t.cpuTrack(s.CPU)
		t.slice(cpuTracks, cpuTracks+1+s.CPU, t.name(s.Task), "cpu", &s)
		t.slice(pid, s.Task.TID, "CPU "+strconv.Itoa(s.CPU), "task", &s)
	} else {
		t.slice(pid, s.Task.TID, "running", "task", &s)
	}
	if f, ok := t.flows[s.Task.TID]; ok {
		delete(t.flows, s.Task.TID)
		if f.at <= s.Start { // else it was awake already
			t.flow++
			t.arrow(`"s"`, f.pid, f.tid, f.at)
			t.arrow(`"f","bp":"e"`, pid, s.Task.TID, s.Start)
		}
	}
	t.flush()
}

// Wake adds a wakeup.
func (t *Trace) Wake(k Wakeup) {
	if t.err != nil {
		return
	}
	t.Wakes++
	pid, tid := cpuTracks, cpuTracks+1+k.CPU
	byTask := !k.IRQ && k.By.TID > 0
	switch {
	case byTask:
		pid, tid = t.track(k.By), k.By.TID
	case k.CPU < 0:
		return // nowhere to show it
	default:
		t.cpuTrack(k.CPU)
	}
	t.begin(`"i"`, "wakes "+t.name(k.Task), "wakeup", pid, tid, k.At)
	t.buf = append(t.buf, `,"s":"t","args":{"tid":`...)
	t.buf = strconv.AppendInt(t.buf, int64(k.Task.TID), 10)
	t.buf = append(t.buf, `,"irq":`...)
	t.buf = strconv.AppendBool(t.buf, k.IRQ)
	t.buf = append(t.buf, `}}`...)
	delete(t.flows, k.Task.TID)
	if byTask {
		t.flows[k.Task.TID] = pendingFlow{pid, tid, k.At}
	}
	t.flush()
}

// Close ends the trace. It returns the first error there was.
func (t *Trace) Close() error {
	t.buf = append(t.buf, "\n]}\n"...)
	t.flush()
	if t.err == nil {
		t.err = t.w.Flush()
	}
	return t.err
}

// Err is the first error there was.
func (t *Trace) Err() error { return t.err }

func (t *Trace) flush() {
	if t.err == nil {
		_, t.err = t.w.Write(t.buf)
	}
	t.buf = t.buf[:0]
}

// begin writes what all events begin with. A name is of ours, or made visible
// already.
func (t *Trace) begin(phase, name, cat string, pid, tid int, at uint64) {
	if t.any {
		t.buf = append(t.buf, ',')
	}
	t.any = true
	t.buf = append(t.buf, "\n"+`{"ph":`...)
	t.buf = append(t.buf, phase...)
	t.buf = append(t.buf, `,"name":`...)
	t.buf = appendJSON(t.buf, name)
	t.buf = append(t.buf, `,"cat":"`...)
	t.buf = append(t.buf, cat...)
	t.buf = append(t.buf, `","pid":`...)
	t.buf = strconv.AppendInt(t.buf, int64(pid), 10)
	t.buf = append(t.buf, `,"tid":`...)
	t.buf = strconv.AppendInt(t.buf, int64(tid), 10)
	t.buf = append(t.buf, `,"ts":`...)
	t.buf = appendMicros(t.buf, at)
}

func (t *Trace) slice(pid, tid int, name, cat string, s *Stint) {
	t.begin(`"X"`, name, cat, pid, tid, s.Start)
	t.buf = append(t.buf, `,"dur":`...)
	t.buf = appendMicros(t.buf, s.End-s.Start)
	t.buf = append(t.buf, `,"args":{"tid":`...)
	t.buf = strconv.AppendInt(t.buf, int64(s.Task.TID), 10)
	t.buf = append(t.buf, `,"end_state":"`...)
	t.buf = append(t.buf, s.State.String()...)
	t.buf = append(t.buf, `"}}`...)
}

// arrow writes an end of the present arrow: "s" where it begins, "f" where it ends.
func (t *Trace) arrow(phase string, pid, tid int, at uint64) {
	t.begin(phase, "wakeup", "wakeup", pid, tid, at)
	t.buf = append(t.buf, `,"id":`...)
	t.buf = strconv.AppendUint(t.buf, t.flow, 10)
	t.buf = append(t.buf, '}')
}

// name is a task's name made visible, once.
func (t *Trace) name(k evidence.Task) string {
	s, ok := t.names[k.Comm]
	if !ok {
		s = commName(k)
		t.names[k.Comm] = s
	}
	return s
}

// track names a task's track when it is new or its name has changed, and returns
// its process; the task's own id where that is not known.
func (t *Trace) track(k evidence.Task) int {
	pid := k.PID
	if pid <= 0 {
		if pid = t.named[k.TID].pid; pid == 0 {
			pid = k.TID
		}
	}
	want := tracedTask{pid, k.Comm}
	if t.named[k.TID] == want {
		return pid
	}
	t.named[k.TID] = want
	t.meta("thread_name", pid, k.TID, t.name(k))
	if k.TID == pid {
		t.meta("process_name", pid, k.TID, t.name(k))
	}
	return pid
}

func (t *Trace) cpuTrack(cpu int) {
	if t.cpus[cpu] {
		return
	}
	if len(t.cpus) == 0 {
		t.meta("process_name", cpuTracks, cpuTracks, "CPUs")
	}
	t.cpus[cpu] = true
	t.meta("thread_name", cpuTracks, cpuTracks+1+cpu, "CPU "+strconv.Itoa(cpu))
}

func (t *Trace) meta(what string, pid, tid int, name string) {
	t.begin(`"M"`, what, "__metadata", pid, tid, 0)
	t.buf = append(t.buf, `,"args":{"name":`...)
	t.buf = appendJSON(t.buf, name)
	t.buf = append(t.buf, `}}`...)
}

// appendMicros writes nanoseconds as microseconds, exactly.
func appendMicros(b []byte, ns uint64) []byte {
	b = strconv.AppendUint(b, ns/1000, 10)
	f := ns % 1000
	return append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
}

// appendJSON writes a string that holds visible characters only, so that two of
// them need an escape; those of HTML get one too.
func appendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '<', '>', '&':
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
