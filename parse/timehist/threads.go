package timehist

import (
	"ctxan/parse/evidence"
)

// threads adds what the rows say of each thread.
func (f *closing) threads() {
	for i, t := range f.c.tasks.list {
		if i < firstTask || t.rows == 0 && t.waked == nil {
			continue
		}
		t.flush()
		f.b.Thread(f.thread(int32(i), t))
	}
}

// thread is one thread. How it left its CPUs is not told: the letters of
// --state are wrong on kernels newer than perf.
func (f *closing) thread(at int32, t *task) evidence.TaskStats {
	s := evidence.TaskStats{
		Pos:    evidence.Pos{Line: t.line},
		Task:   f.c.tasks.identity(at),
		Kernel: t.kernel,
	}
	if t.rows > 0 && !f.idleOnly {
		s.Switches = evidence.Some(t.rows)
	}
	if !f.idleOnly && !f.perTask {
		f.times(&s, t)
	}
	if f.c.migrates > 0 || f.c.sum.migrated() {
		s.Migrations = evidence.Some(t.moves())
	}
	if f.c.wakeups > 0 {
		s.Wakeups = evidence.Some(t.wakes())
		if t.waked != nil {
			s.Wakers = f.c.wakerList(t.waked)
		}
	}
	return s
}

// times fills what is known of a thread's times. A task that was never seen
// coming onto a CPU has none; rows without a thread id (-1) can be those of
// several threads, so they have no waits. Run time is the sum as printed; its histogram
// leaves out what perf cannot have known (see capture.follows).
func (f *closing) times(s *evidence.TaskStats, t *task) {
	timed := t.runs.N > 0 || t.runSum > 0
	if timed {
		s.RunNS = evidence.Some(t.runSum)
	}
	s.Run = filled(&t.runs)
	if t.waits.N > 0 {
		s.WaitNS = evidence.Some(t.waits.Sum)
		s.OffCPU = filled(&t.waits)
	}
	switch {
	case f.preempted:
		if t.delays.N > 0 {
			s.PreemptNS = evidence.Some(t.delays.Sum)
			s.Preempt = filled(&t.delays)
		}
	case !f.noDelay && timed && t.tid != unknownID:
		s.DelayNS = evidence.Some(t.delays.Sum)
		s.Delay = filled(&t.delays)
		s.MaxDelay = f.maxDelay(t)
	}
}

func filled(h *evidence.Histogram) *evidence.Histogram {
	if h.N == 0 {
		return nil
	}
	return h
}

// maxDelay is a thread's longest delay, and what ran before its end.
func (f *closing) maxDelay(t *task) evidence.Opt[evidence.Extreme] {
	if t.longest == 0 {
		return evidence.Opt[evidence.Extreme]{}
	}
	m := t.delayed
	m.NS = t.longest
	if t.instead >= 0 {
		m.Instead = f.c.tasks.identity(t.instead)
	}
	return evidence.Some(m)
}

func (t *task) moves() uint64 {
	if t.waked == nil {
		return 0
	}
	return t.waked.migrated
}

func (t *task) wakes() uint64 {
	if t.waked == nil {
		return 0
	}
	return t.waked.wakeups
}

// migrated reports whether the summary counted migrations: without -M perf
// prints 0 for all.
func (s *summary) migrated() bool {
	for i := range s.tasks {
		if s.tasks[i].migrations > 0 {
			return true
		}
	}
	return false
}

// delayed reports whether a Wait-time summary has delays.
func (s *summary) delayed() bool {
	for i := range s.tasks {
		if s.tasks[i].delay > 0 {
			return true
		}
	}
	return false
}

// fromSummary adds to the threads of the rows what only the summary tells:
// migrations without rows of their own, and which are the kernel's.
func (f *closing) fromSummary() {
	c := f.c
	for i := range c.sum.tasks {
		s := &c.sum.tasks[i]
		at, ok := c.tasks.byKey[taskKey{s.name.tid, s.name.pid}]
		if !ok {
			continue
		}
		t := c.tasks.list[at]
		t.kernel = t.kernel || s.isKernel()
		if c.migrates == 0 && s.migrations > 0 {
			t.waking().migrated = s.migrations
		}
	}
}

// kthreadd is the parent of all kernel threads.
const kthreadd = 2

func (t *taskTotal) isKernel() bool { return t.ppid == kthreadd }

// summaryThreads adds the threads of a capture that has a summary alone. An
// idle summary tells no thread's times: it names who ran before the CPU idled.
func (f *closing) summaryThreads() {
	s := &f.c.sum
	if s.totals.Kind == evidence.SummaryIdle {
		return
	}
	migrated, delayed := s.migrated(), s.delayed()
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.name.idle {
			continue
		}
		e := evidence.TaskStats{
			Pos:      evidence.Pos{Line: t.line},
			Task:     evidence.Task{PID: t.name.pid, TID: t.name.tid, Comm: string(t.name.comm)},
			Kernel:   t.isKernel(),
			Switches: evidence.Some(t.count),
			RunNS:    evidence.Some(t.run),
		}
		if migrated {
			e.Migrations = evidence.Some(t.migrations)
		}
		if s.totals.Kind == evidence.SummaryWait {
			e.WaitNS = evidence.Some(t.wait)
			e.DelayNS = evidence.Opt[uint64]{V: t.delay, OK: delayed}
		}
		f.b.Thread(e)
	}
}

// stacks adds the call chains, with the threads' rows that had none.
func (f *closing) stacks() {
	c := f.c
	table := c.chains.table
	if len(table.Stacks) == 0 {
		return
	}
	place := map[int32]int32{}
	index := func(at int32) int32 {
		i, ok := place[at]
		if !ok {
			i = int32(len(table.Tasks))
			place[at] = i
			table.Tasks = append(table.Tasks, c.tasks.identity(at))
		}
		return i
	}
	with := map[int32]uint64{}
	for i := range table.Samples {
		s := &table.Samples[i]
		with[s.Task] += s.Count
		s.Task = index(s.Task)
		if f.perTask {
			s.OffNS, s.OffN, s.DelayNS = 0, 0, 0
		}
		if f.noDelay {
			s.DelayNS = 0
		}
	}
	for at := int32(firstTask); int(at) < len(c.tasks.list); at++ {
		if n := c.tasks.list[at].rows - with[at]; n > 0 {
			table.Samples = append(table.Samples, evidence.StackSample{Task: index(at), Stack: -1, Count: n, Weight: float64(n)})
		}
	}
	table.Pos.Line = c.line
	f.b.Stacks(table)
}
