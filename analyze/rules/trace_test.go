package rules

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"ctxan/parse/evidence"
)

// readTrace reads the facts of a trace from a small language, one item a line:
//
//	window 0.5 cpus=2 wide pid=100
//	thread TID PID COMM S=4000 R=10 ... run=4010x20us off=4000x36us delay=... preempt=... migrations=3
//	woken irq=3900 | woken by=TID:COMM n=100 after=6us blocked=90      (of the thread above)
//	taken by=TID:COMM n=69 ran=3ms                                      (of the thread above; by=0:swapper is the idle task)
//	usage CPU busy=500ms idle=0ms
//	stack TID STATE N frame frame ... | frame ...                      (leaf first; kernel | user)
//	cpu TID N frame frame ... | frame ...
//
// A frame - has no name, and MODULE+ADDRESS an address without a name. gap= are times from one voluntary switch-out to the next, bursts=90x32 says
// that 90 wakeups came in bursts of 32. // A distribution is a list of COUNTxDURATION; spaces in a frame are written ~.
func readTrace(t *testing.T, raw string, b *evidence.Builder) {
	t.Helper()
	r := &traceReader{t: t, b: b}
	for line := range strings.Lines(raw) {
		if f := strings.Fields(line); len(f) > 0 && f[0][0] != '#' {
			r.line(f)
		}
	}
	r.flush()
}

type traceReader struct {
	t        *testing.T
	b        *evidence.Builder
	cur      *evidence.TaskStats
	tasks    []evidence.Task
	switches evidence.StackTable
	cpu      evidence.StackTable
}

func (r *traceReader) line(f []string) {
	switch f[0] {
	case "window":
		r.window(f[1:])
	case "thread":
		r.thread(f[1:])
	case "woken":
		r.woken(f[1:])
	case "taken":
		r.taken(f[1:])
	case "usage":
		r.usage(f[1:])
	case "stack":
		r.stack(&r.switches, f[1], f[2], f[3], f[4:])
	case "cpu":
		r.stack(&r.cpu, f[1], "?", f[2], f[3:])
	default:
		r.t.Fatalf("trace.txt: %s", strings.Join(f, " "))
	}
}

func (r *traceReader) window(f []string) {
	src := r.b.Source()
	s, err := strconv.ParseFloat(f[0], 64)
	r.check(err)
	src.Window.DurationS = evidence.Some(s)
	for _, x := range f[1:] {
		k, v, _ := strings.Cut(x, "=")
		switch k {
		case "cpus":
			src.Host.CPUs = evidence.Some(int(r.num(v)))
		case "wide":
			src.Target.Kind = evidence.TargetSystem
		case "pid":
			src.Target = evidence.Target{Kind: evidence.TargetProcess, IDs: []int{int(r.num(v))}}
		}
	}
}

func (r *traceReader) usage(f []string) {
	c := evidence.CPUStats{CPU: int(r.num(f[0]))}
	for _, x := range f[1:] {
		switch k, v, _ := strings.Cut(x, "="); k {
		case "busy":
			c.BusyNS = r.dur(v)
		case "idle":
			c.IdleNS = r.dur(v)
		}
	}
	r.b.CPU(c)
}

func (r *traceReader) thread(f []string) {
	r.end()
	r.cur = &evidence.TaskStats{Task: evidence.Task{TID: int(r.num(f[0])), PID: int(r.num(f[1])), Comm: f[2]}, States: &[evidence.NumStates]uint64{}}
	t := r.cur
	for _, x := range f[3:] {
		k, v, _ := strings.Cut(x, "=")
		switch k {
		case "run":
			t.Run = r.hist(v)
			t.RunNS = evidence.Some(t.Run.Sum)
		case "off":
			t.OffCPU = r.hist(v)
		case "delay":
			t.Delay = r.hist(v)
			t.DelayNS = evidence.Some(t.Delay.Sum)
		case "preempt":
			t.Preempt = r.hist(v)
			t.PreemptNS = evidence.Some(t.Preempt.Sum)
		case "gap":
			t.Gap = r.hist(v)
		case "bursts":
			n, size, _ := strings.Cut(v, "x")
			t.Bursts, t.BurstSize = uint64(r.num(n)), uint64(r.num(n)*r.num(size))
		case "wakeups":
			t.Wakeups = evidence.Some(uint64(r.num(v)))
		case "migrations":
			t.Migrations = evidence.Some(uint64(r.num(v)))
		default:
			t.States[r.state(k)] = uint64(r.num(v))
		}
	}
	var vol, inv uint64
	for st, n := range t.States {
		if evidence.State(st).Voluntary() {
			vol += n
		} else {
			inv += n
		}
	}
	t.Voluntary, t.Involuntary = evidence.Some(vol), evidence.Some(inv)
}

func (r *traceReader) woken(f []string) {
	var w evidence.Waker
	for _, x := range f {
		k, v, _ := strings.Cut(x, "=")
		switch k {
		case "irq":
			w.IRQ, w.Count = true, uint64(r.num(v))
		case "by":
			tid, comm, _ := strings.Cut(v, ":")
			w.Task = evidence.Task{TID: int(r.num(tid)), PID: r.cur.Task.PID, Comm: comm}
		case "pid":
			w.Task.PID = int(r.num(v))
		case "n":
			w.Count = uint64(r.num(v))
		case "after":
			w.AfterNS = r.dur(v) // of one; scaled below
		case "blocked":
			w.Blocked = uint64(r.num(v))
		}
	}
	w.AfterNS *= w.Count
	r.cur.Wakers = append(r.cur.Wakers, w)
}

func (r *traceReader) taken(f []string) {
	var p evidence.Preemptor
	for _, x := range f {
		switch k, v, _ := strings.Cut(x, "="); k {
		case "by":
			tid, comm, _ := strings.Cut(v, ":")
			p.Task = evidence.Task{TID: int(r.num(tid)), Comm: comm}
		case "n":
			p.Count = uint64(r.num(v))
		case "ran":
			p.RanNS = r.dur(v)
		}
	}
	p.RanN = p.Count
	r.cur.Preemptors = append(r.cur.Preemptors, p)
}

func (r *traceReader) stack(t *evidence.StackTable, tid, state, n string, names []string) {
	sm := evidence.StackSample{Task: int32(len(t.Tasks)), Stack: int32(len(t.Stacks)), Count: uint64(r.num(n)), Weight: r.num(n)}
	if state != "?" {
		sm.State = r.state(state)
	}
	task := evidence.Task{TID: int(r.num(tid))}
	r.end()
	for _, x := range r.tasks {
		if x.TID == task.TID {
			task = x
		}
	}
	t.Tasks = append(t.Tasks, task)
	var idx []int32
	kernel := true
	for _, name := range names {
		if name == "|" {
			kernel = false
			continue
		}
		idx = append(idx, int32(len(t.Frames)))
		if name == "-" {
			name = ""
		}
		fr := evidence.Frame{Symbol: strings.ReplaceAll(name, "~", " "), Kernel: kernel, Module: "/opt/app"}
		if kernel {
			fr.Module = "[kernel.kallsyms]"
		} else if module, addr, ok := strings.Cut(name, "+0x"); ok {
			at, err := strconv.ParseUint(addr, 16, 64)
			r.check(err)
			fr.Symbol, fr.Module, fr.Addr = "", module, at
		}
		t.Frames = append(t.Frames, fr)
	}
	t.Stacks = append(t.Stacks, idx)
	t.Samples = append(t.Samples, sm)
}

// end adds the thread being read.
func (r *traceReader) end() {
	if r.cur != nil {
		r.b.Thread(*r.cur)
		r.tasks = append(r.tasks, r.cur.Task)
		r.cur = nil
	}
}

func (r *traceReader) flush() {
	r.end()
	for _, t := range []struct {
		tab  *evidence.StackTable
		ev   string
		kind evidence.StackKind
	}{{&r.switches, "sched:sched_switch", evidence.StackSwitch}, {&r.cpu, "cpu-clock", evidence.StackCPU}} {
		if len(t.tab.Samples) > 0 {
			t.tab.Event, t.tab.Kind = t.ev, t.kind
			r.b.Stacks(*t.tab)
		}
	}
}

func (r *traceReader) hist(spec string) *evidence.Histogram {
	h := new(evidence.Histogram)
	for part := range strings.SplitSeq(spec, ",") {
		n, d, _ := strings.Cut(part, "x")
		for range int(r.num(n)) {
			h.Add(r.dur(d))
		}
	}
	return h
}

func (r *traceReader) dur(s string) uint64 {
	d, err := time.ParseDuration(s)
	r.check(err)
	return uint64(d)
}

func (r *traceReader) num(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	r.check(err)
	return v
}

func (r *traceReader) state(s string) evidence.State {
	for st := range evidence.NumStates {
		if st.String() == s {
			return st
		}
	}
	r.t.Fatal(fmt.Errorf("trace.txt: no state %q", s))
	return 0
}

func (r *traceReader) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}
