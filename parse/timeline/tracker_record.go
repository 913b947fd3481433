package timeline

import "ctxan/parse/evidence"

// onSwitchOut takes a PERF_RECORD_SWITCH of a task that leaves. Where a
// sched_switch has told of the same switch-out, there is nothing new in it.
//
// An exiting task has given its id back by then, and the record has -1: it is
// the one that the CPU was running.
func (t *Tracker) onSwitchOut(e *Event) {
	c := t.cpu(e.CPU)
	x := t.recordTask(c, e)
	if x == nil || toldOut(c, x, e.TID) {
		return
	}
	if t.counts(e) {
		t.count(fromRecords, c, e.Time, 1)
	}
	if c == nil {
		t.runWithoutCPU(x, e)
	} else {
		t.recordLeave(c, x, e)
	}
	if x == t.idle || x == t.others {
		return
	}
	t.goOff(x, e.State, e)
	if preempted(e.State) {
		x.rec[1]++
	} else {
		x.rec[0]++
	}
	if e.TID < 0 {
		x.flags |= flagDead
	}
}

// recordLeave ends the stint of a task whose switch-out record does not say
// what follows. Two such records without a switch-in between them are a chain
// break.
func (t *Tracker) recordLeave(c *cpuState, x *task, e *Event) {
	if c.cur == nil && c.left.task != nil {
		x.breaks++
		t.chainBreak(c)
	}
	whole := t.leave(c, x, e) && c.clean || c.pos == 0
	t.settleAfter(c, x, e)
	c.vacate(e.Time)
	c.left = leaver{task: x, invol: preempted(e.State), whole: whole, since: x.at}
}

// toldOut reports whether a sched_switch told of a switch-out before its record
// comes. A record without an id can only be that of the last sched_switch.
func toldOut(c *cpuState, x *task, tid int32) bool {
	if c == nil {
		told := x.flags&flagDupOut != 0
		x.flags &^= flagDupOut
		return told
	}
	told := c.told.out != 0 && (c.told.out == x.id+1 || tid < 0)
	c.told.out = 0
	return told
}

// toldIn is toldOut for switch-ins.
func toldIn(c *cpuState, x *task) bool {
	if c == nil {
		told := x.flags&flagDupIn != 0
		x.flags &^= flagDupIn
		return told
	}
	told := c.told.in == x.id+1
	c.told.in = 0
	return told
}

// recordTask finds the task that a switch-out record is about.
func (t *Tracker) recordTask(c *cpuState, e *Event) *task {
	if e.TID >= 0 {
		x := t.get(e.TID, e.Off)
		if x != t.idle && x != t.others {
			t.tell(x, e)
		}
		return x
	}
	if c == nil || !c.clean {
		return nil
	}
	return c.cur
}

// onSwitchIn takes a PERF_RECORD_SWITCH of a task that comes. In task mode it
// is what tells when the targets come on.
func (t *Tracker) onSwitchIn(e *Event) {
	x := t.get(e.TID, e.Off)
	c := t.cpu(e.CPU)
	if toldIn(c, x) {
		return
	}
	t.timed = true
	if c != nil {
		if t.gone(c); c.cur != nil {
			t.chainBreak(c)
		}
		t.follow(c, x)
	}
	if x != t.idle && x != t.others {
		t.tell(x, e)
		t.in(x, e.Time, e.CPU)
	}
	if c != nil {
		c.arrive(x, e.Time)
	}
}

// follow says what came after a task whose switch-out record did not tell.
func (t *Tracker) follow(c *cpuState, next *task) {
	l := c.left
	c.left = leaver{}
	if l.task == nil || l.task == t.idle || l.task == t.others || !t.opt.SystemWide {
		return
	}
	x := l.task
	x.kinds[t.kindOf(x, next)]++
	if !l.invol {
		return
	}
	x.ctx[t.wakeContext(l.task, l.since, next, c.id, l.whole)]++
}

// onSample takes a sample of a clock, a counter or a software event.
func (t *Tracker) onSample(e *Event) {
	info := t.info(e)
	x := t.others
	if e.TID >= 0 {
		x = t.get(e.TID, e.Off)
	}
	if x != t.idle && x != t.others {
		t.tell(x, e)
	}
	weight := max(e.Arg, 1)
	slot := t.samples.add(x, e.Event, e.Stack, evidence.StateUnknown, evidence.WakeUnknown, weight)
	if !info.Switches {
		return
	}
	t.sampled = t.sampled || info.Sampled
	if t.counts(e) {
		t.count(fromSamples, t.cpu(e.CPU), e.Time, weight)
	}
	if x == t.idle || x == t.others {
		return
	}
	x.samples += weight
	if x.place != off {
		x.slot = slot
	}
}

// onSampledSwitch counts a sched_switch that stands for several. Two of them
// that follow each other have nothing to do with each other.
func (t *Tracker) onSampledSwitch(e *Event) {
	t.sampled = true
	x := t.get(e.TID, e.Off)
	weight := max(e.Arg, 1)
	if t.counts(e) {
		t.count(fromSwitches, t.cpu(e.CPU), e.Time, weight)
	}
	if x == t.idle || x == t.others {
		return
	}
	t.tell(x, e)
	state := e.State
	if state >= evidence.NumStates {
		state = evidence.StateUnknown
	}
	x.states[state] += uint32(weight)
	if e.Stack != NoStack || t.info(e).Chains {
		t.samples.add(x, e.Event, e.Stack, state, evidence.WakeUnknown, weight)
	}
}
