package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"ctxan/parse/evidence"
)

// Finish hands all evidence to b; the Tracker is of no use after it. Stack ids
// are resolved by frames; without it there are no stack tables.
//
// A duration is absent where none was seen from one end to the other: in task
// mode without PERF_RECORD_SWITCH, for delays without wakeup events, and for a
// task that did not come back. A sum that is there is of at least one.
func (t *Tracker) Finish(b *evidence.Builder, frames StackFrames) error {
	t.emitWindow(b.Source())
	t.emitThreads(b)
	if t.opt.SystemWide && !t.opt.Select.ByTask() {
		t.emitCPUs(b)
	}
	t.emitSeries(b)
	t.emitStacks(b, frames)
	t.emitWarnings(b)
	return nil
}

// sawWakeups reports whether the capture tells of wakeups.
func (t *Tracker) sawWakeups() bool { return t.hasWakeup || t.hasWaking }

func (t *Tracker) emitWindow(src *evidence.Source) {
	src.Loss.ChainBreaks += t.breaks
	if t.first == 0 {
		return
	}
	w := &src.Window
	if !w.StartNS.OK {
		w.StartNS = evidence.Some(t.first)
	}
	if !w.EndNS.OK {
		w.EndNS = evidence.Some(t.last)
	}
	if !w.DurationS.OK {
		w.DurationS = evidence.Some(float64(t.last-t.first) / 1e9)
	}
}

func (t *Tracker) emitWarnings(b *evidence.Builder) {
	if t.backward > 0 {
		b.Warn(fmt.Sprintf("time ran backwards: %d durations that ended before they began were dropped", t.backward))
	}
	if t.tasks.over > 0 {
		b.Warn(fmt.Sprintf("more than %d tasks: %d switch-outs of further ones are not counted", t.opt.MaxTasks, t.tasks.over))
	}
	if t.samples.full {
		b.Warn(fmt.Sprintf("more than %d stacks by task: further ones are counted without their task", maxSamples))
	}
	if t.samples.others {
		b.Warn(fmt.Sprintf("more than %d stacks by state: further ones are counted as [other stacks]", maxSamples+maxSamples/4))
	}
	if t.sampled {
		b.Note("switches were sampled: counts are sums of the samples' periods, and there are no durations between them")
	}
}

func (t *Tracker) emitCPUs(b *evidence.Builder) {
	for id, c := range t.cpus {
		if c != nil && c.switches > 0 {
			b.CPU(evidence.CPUStats{CPU: id, Switches: c.switches, BusyNS: c.busyNS, IdleNS: c.idleNS, ChainBreaks: c.breaks})
		}
	}
}

// emitThreads hands over a row for each task that the capture watched, by tid,
// and for one tid in the order of its owners. The tasks are given up on the
// way: with tens of thousands, they and their rows would not be small together.
func (t *Tracker) emitThreads(b *evidence.Builder) {
	var rows []uint32
	left := make([]int, len(t.tasks.slabs)) // rows still to be made from each slab
	for id := range uint32(t.tasks.n) {
		x := t.tasks.at(id)
		t.who = append(t.who, taskName{x.tid, x.pid, x.comm})
		if t.watched(x) && t.selected(id) {
			rows = append(rows, id)
			left[id/slabSize]++
		}
	}
	slices.SortStableFunc(rows, func(a, b uint32) int { return cmp.Compare(t.who[a].tid, t.who[b].tid) })
	t.tasks.pages, t.tasks.odd = nil, nil
	b.GrowThreads(len(rows))
	for _, id := range rows {
		b.Thread(t.stats(t.tasks.at(id)))
		if left[id/slabSize]--; left[id/slabSize] == 0 {
			t.tasks.slabs[id/slabSize] = nil
		}
	}
	t.tasks.slabs = nil
}

// taskName is what is left of a task when its row is made.
type taskName struct {
	tid, pid int32
	comm     uint32
}

// watched reports whether a task was a target: in task mode others are in the
// capture as what followed, and as wakers. A task that ended in a recording of
// tasks was one, be it without a switch: only targets and what they start tell
// of their end there, and the kernel takes the events off before the last switch.
func (t *Tracker) watched(x *task) bool {
	if x == t.idle || x == t.others {
		return false
	}
	if x.samples > 0 || x.rec[0]+x.rec[1] > 0 || x.ins > 0 || x.outs() > 0 {
		return true
	}
	if !t.opt.SystemWide {
		return x.flags&flagExited != 0
	}
	return x.wakeups > 0 || x.migrations > 0 || len(x.wakers) > 0
}

// taskOf names a task.
func (t *Tracker) taskOf(id uint32) evidence.Task {
	switch id {
	case othersID:
		return evidence.Task{TID: -1}
	case idleID:
		return evidence.Task{Comm: "swapper"}
	}
	x := t.who[id]
	return evidence.Task{PID: int(x.pid), TID: int(x.tid), Comm: t.names.Name(x.comm)}
}

func (t *Tracker) stats(x *task) evidence.TaskStats {
	s := evidence.TaskStats{Task: t.taskOf(x.id), Kernel: x.flags&flagKernel != 0,
		ChainBreaks: uint64(x.breaks), MissedOuts: uint64(x.missed), Ended: x.flags&flagExited != 0}
	if t.opt.Lines {
		s.Pos.Line = int(x.seenAt)
	} else {
		s.Pos.Offset = x.seenAt
	}
	x.countInto(&s)
	t.durationsInto(x, &s)
	if t.allWakes && t.hasWakeup {
		s.Wakeups = evidence.Some(uint64(x.wakeups))
	}
	if t.opt.SystemWide && t.hasMigrate {
		s.Migrations = evidence.Some(uint64(x.migrations))
	}
	t.contextInto(x, &s)
	t.moreInto(x, &s)
	s.Wakers = t.wakersOf(x)
	return s
}

// countInto fills the switch-outs from the best event that told of them. A
// task that was never seen to leave, although it came more than once, has no
// counts: they were missed.
func (x *task) countInto(s *evidence.TaskStats) {
	outs := x.outs()
	switch {
	case x.states[evidence.StateUnknown] > 0:
		s.Switches = evidence.Some(outs)
	case outs > 0 || (x.rec[0]+x.rec[1] == 0 && x.samples == 0 && x.missed == 0):
		invol := uint64(x.states[evidence.StateR]) + uint64(x.states[evidence.StateRPlus])
		s.Voluntary, s.Involuntary = evidence.Some(outs-invol), evidence.Some(invol)
	case x.rec[0]+x.rec[1] > 0:
		s.Voluntary, s.Involuntary = evidence.Some(uint64(x.rec[0])), evidence.Some(uint64(x.rec[1]))
	case x.samples > 0:
		s.Switches = evidence.Some(x.samples)
	}
	if outs > 0 {
		s.States = new([evidence.NumStates]uint64)
		widen(s.States[:], x.states[:])
	}
}

func widen(to []uint64, from []uint32) {
	for i, n := range from {
		to[i] = uint64(n)
	}
}

func (t *Tracker) durationsInto(x *task, s *evidence.TaskStats) {
	s.Run, s.Delay, s.OffCPU, s.Preempt = x.run.all(), x.delay.all(), x.offCPU.all(), x.preempt.all()
	sum := func(h *evidence.Histogram) evidence.Opt[uint64] {
		if h == nil {
			return evidence.Opt[uint64]{}
		}
		return evidence.Some(h.Sum)
	}
	some := func(v uint64, n uint32) evidence.Opt[uint64] { return evidence.Opt[uint64]{V: v, OK: n > 0} }
	s.RunNS, s.DelayNS, s.PreemptNS = sum(s.Run), sum(s.Delay), sum(s.Preempt)
	s.SleepNS = some(x.sleepNS, x.sleeps)
	var m taskMore
	if x.more != nil {
		m = *x.more
	}
	s.FirstWaitNS, s.FirstWaits = some(m.firstWaitNS, m.firstWaits), uint64(m.firstWaits)
	s.WaitNS = sum(s.OffCPU)
	s.WaitNS.V += s.PreemptNS.V + m.otherWaitNS
	s.WaitNS.OK = s.OffCPU != nil || s.Preempt != nil || m.otherWaits > 0
	if s.Delay != nil {
		s.MaxDelay = evidence.Some(evidence.Extreme{AtNS: x.worstAt, NS: x.worstNS, Instead: t.taskOf(x.instead)})
	}
}

// contextInto fills what the switch-outs led to and what brought them about.
func (t *Tracker) contextInto(x *task, s *evidence.TaskStats) {
	if x.outs() > 0 || x.rec[0]+x.rec[1] > 0 {
		s.Kinds = new([evidence.NumKinds]uint64)
		widen(s.Kinds[:], x.kinds[:])
	}
	var n uint64
	for _, c := range x.ctx {
		n += uint64(c)
	}
	if n == 0 {
		return
	}
	s.WakeCtx = new([evidence.NumWakeContexts]uint64)
	if !t.sawWakeups() {
		s.WakeCtx[evidence.WakeUnknown] = n
		return
	}
	widen(s.WakeCtx[:], x.ctx[:])
}

// wakersOf returns the wakers of a task, with what was counted of each.
func (t *Tracker) wakersOf(x *task) []evidence.Waker {
	if len(x.wakers) == 0 {
		return nil
	}
	out := make([]evidence.Waker, 0, len(x.wakers))
	for i := range x.wakers {
		w := &x.wakers[i]
		out = append(out, evidence.Waker{Task: t.taskOf(w.key.by()), IRQ: w.key.irq(), Count: uint64(w.count),
			DelayNS: w.delayNS, AfterNS: w.afterNS, Blocked: uint64(w.blocked)})
	}
	slices.SortStableFunc(out, func(a, b evidence.Waker) int { return cmp.Compare(b.Count, a.Count) })
	return slices.Clip(out[:min(len(out), evidence.MaxWakers)])
}
