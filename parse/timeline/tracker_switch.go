package timeline

import "ctxan/parse/evidence"

// onSwitch takes a sched_switch: prev leaves the CPU, next comes. In task mode
// only the targets' own switches are in the capture, so that next says nothing
// about the time: other tasks leave unseen.
func (t *Tracker) onSwitch(e *Event) {
	if t.anySampled && t.info(e).Sampled {
		t.onSampledSwitch(e)
		return
	}
	c := t.seenCPU(e.CPU)
	if c == nil {
		c = t.newCPU(e.CPU)
	}
	if t.counts(e) {
		t.count(fromSwitches, c, e.Time, 1)
	}
	if c == nil || !t.opt.SystemWide {
		t.taskSwitch(c, e)
		return
	}
	prev := c.cur // most often: nothing has been missed
	if prev == nil || prev.tid != e.TID || prev.flags&(flagDead|flagGone) != 0 {
		prev = t.get(e.TID, e.Off)
	}
	next := t.tasks.find(e.Other)
	if next == nil || next.flags&flagDead != 0 {
		next = t.newTask(e.Other, e.Off)
	}
	if c.victim != 0 {
		t.settlePreemptor(c, prev, e.Time)
	}
	if len(c.burst) > 0 {
		t.settleBurst(c)
	}
	whole := t.leave(c, prev, e) && c.clean || c.pos == 0
	if prev != t.idle {
		t.out(prev, next, e, whole)
	}
	if len(c.after) > 0 {
		t.settleAfter(c, prev, e)
	}
	if next != t.idle {
		if e.OtherComm != 0 {
			next.comm = e.OtherComm
		}
		t.in(next, e.Time, e.CPU)
	}
	c.arrive(next, e.Time)
	c.told.out, c.told.in = prev.id+1, next.id+1
}

// taskSwitch is onSwitch for a capture of some tasks, or without CPU numbers.
func (t *Tracker) taskSwitch(c *cpuState, e *Event) {
	prev := t.get(e.TID, e.Off)
	next := t.tasks.find(e.Other)
	switch {
	case t.opt.SystemWide:
		next = t.get(e.Other, e.Off)
	case prev == t.others:
		t.tasks.over++
		return
	case prev == t.idle:
		return
	case next == nil: // no need to know it
		next = t.others
	}
	if c != nil {
		t.leave(c, prev, e)
	} else {
		t.runWithoutCPU(prev, e)
	}
	if prev != t.idle {
		t.addGap(prev, e.Time)
		t.out(prev, next, e, c == nil || c.clean)
	}
	next.wake.at = 0
	prev.flags |= flagDupOut
	if c != nil {
		t.settleAfter(c, prev, e)
		c.vacate(e.Time)
		c.told.out = prev.id + 1
	}
	if t.opt.SystemWide && next != t.idle {
		if e.OtherComm != 0 {
			next.comm = e.OtherComm
		}
		t.in(next, e.Time, e.CPU)
		next.flags |= flagDupIn
	}
}

// out takes a task off its CPU. whole says that nothing is missing since the
// task came on, as far as it shows.
func (t *Tracker) out(x, next *task, e *Event, whole bool) {
	if x == t.others {
		t.tasks.over++
		return
	}
	t.tell(x, e)
	state := e.State
	if state >= evidence.NumStates {
		state = evidence.StateUnknown
	}
	x.states[state]++
	wake := evidence.WakeUnknown
	if preempted(state) {
		wake = t.wakeContext(x, x.at, next, e.CPU, whole)
		x.ctx[wake]++
		t.takenBy(x, next, e)
	}
	x.kinds[t.kindOf(x, next)]++
	switch state {
	case evidence.StateX, evidence.StateZ:
		x.flags |= flagDead
	case evidence.StateI, evidence.StateP:
		x.flags |= flagKernel
	}
	x.slot = 0
	if e.Stack != NoStack || (t.anyChains && t.info(e).Chains) {
		x.slot = t.samples.add(x, e.Event, e.Stack, state, wake, max(e.Arg, 1))
	}
	t.goOff(x, state, e)
}

// goOff starts the wait of a task that has left its CPU. A wakeup that is
// still to be told of (sched_waking comes before the switch-out when the waker
// is quick) keeps its context.
func (t *Tracker) goOff(x *task, state evidence.State, e *Event) {
	x.place, x.at, x.outState = off, e.Time, state
	x.gen = t.lossGen
	x.cpu = e.CPU
	x.wakeAt = 0
	x.flags &^= flagDupIn | flagEarly
	if x.flags&flagWaking == 0 {
		x.wake.at, x.wake.target = 0, -1
	}
}

// in puts a task on a CPU and ends its wait.
func (t *Tracker) in(x *task, at uint64, cpu int32) {
	if x == t.others {
		return
	}
	switch x.place {
	case off:
		t.endWait(x, at, cpu)
	case on:
		x.missed++
		fallthrough
	default:
		t.endFirstWait(x, at, cpu)
	}
	x.ins++
	x.place, x.at, x.cpu, x.gen = on, at, cpu, t.lossGen
	x.wakeAt, x.wake.at, x.wake.target = 0, 0, -1
	x.waker, x.slot = 0, 0
	x.flags &^= flagWaking | flagEarly | flagDupOut
}

// endWait accounts the time since the switch-out, and the part of it since the
// wakeup.
//
//	task   ──on──┤out      wakeup       in├──on──
//	             ├──sleep──┼────delay─────┤         voluntary
//	             ├─────────off-CPU────────┤
//	             ├─────────preempt────────┤         involuntary (R, R+)
func (t *Tracker) endWait(x *task, at uint64, cpu int32) {
	wait, ok := t.span(x.at, at)
	if ok && t.intact(x.gen, x.cpu, x.wake.target, cpu) {
		switch {
		case preempted(x.outState):
			x.preempt.add(wait)
			t.charge(x, x.at, at, cpu)
		case x.outState != evidence.StateUnknown:
			x.offCPU.add(wait)
		default:
			m := x.extra()
			m.otherWaitNS += wait
			m.otherWaits++
		}
		if s := t.samples.at(x.slot); s != nil {
			s.offNS += wait
			s.offN++
		}
		if x.wakeAt != 0 && !preempted(x.outState) && t.allWakes {
			if sleep, ok := t.span(x.at, x.wakeAt); ok {
				x.sleepNS += sleep
				x.sleeps++
			}
		}
	}
	if x.wakeAt == 0 || preempted(x.outState) || !t.allWakes {
		return
	}
	if d, ok := t.span(x.wakeAt, at); ok && t.intact(x.wakeGen, x.wake.target, cpu) {
		t.addDelay(x, d, at, cpu)
	}
}

// preempted reports whether a task that left in a state was still runnable.
func preempted(s evidence.State) bool { return s == evidence.StateR || s == evidence.StateRPlus }

func (t *Tracker) addDelay(x *task, d, at uint64, cpu int32) {
	x.delay.add(d)
	t.charge(x, x.wakeAt, at, cpu)
	if x.waker != 0 {
		x.wakers[x.waker-1].delayNS += d
	}
	if s := t.samples.at(x.slot); s != nil {
		s.delayNS += d
	}
	if d > x.worstNS {
		x.worstAt, x.worstNS, x.instead = at, d, othersID
		if c := t.cpu(cpu); c != nil {
			x.instead = c.instead(x.wakeAt, at)
		}
	}
}

// endFirstWait accounts a wakeup before which no switch-out was seen.
func (t *Tracker) endFirstWait(x *task, at uint64, cpu int32) {
	if x.wakeAt == 0 || !t.allWakes {
		return
	}
	if d, ok := t.span(x.wakeAt, at); ok && t.intact(x.wakeGen, x.wake.target, cpu) {
		m := x.extra()
		m.firstWaitNS += d
		m.firstWaits++
	}
}

// runWithoutCPU accounts a stint in a capture without CPU numbers.
func (t *Tracker) runWithoutCPU(x *task, e *Event) {
	if x.place != on || x == t.others {
		return
	}
	if ran, ok := t.span(x.at, e.Time); ok && t.intact(x.gen, x.cpu) {
		x.run.add(ran)
		if t.opt.Watch != nil {
			t.tellStint(x, -1, x.at, e)
		}
	}
}

// kindOf tells what a task switches to.
func (t *Tracker) kindOf(x, next *task) evidence.SwitchKind {
	switch {
	case next == t.idle:
		return evidence.KindIdle
	case next.flags&flagKernel != 0:
		return evidence.KindKernel
	case x.pid == 0 || next.pid == 0:
		return evidence.KindUnknown
	case x.pid == next.pid:
		return evidence.KindThread
	}
	return evidence.KindProcess
}
