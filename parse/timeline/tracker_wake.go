package timeline

import (
	"math/bits"

	"ctxan/parse/evidence"
)

// waker counts the wakeups of a task by one other.
type waker struct {
	key     wakerKey
	count   uint32
	credit  uint32 // how often the hand passes before the place goes to another
	blocked uint32
	delayNS uint64
	afterNS uint64
}

// wakerKey is the waker's task.id and, in the lowest bit, whether an interrupt
// over it was the waker.
type wakerKey uint32

func keyOf(by uint32, irq bool) wakerKey {
	k := wakerKey(by) << 1
	if irq {
		k++
	}
	return k
}

func (k wakerKey) by() uint32 { return uint32(k >> 1) }
func (k wakerKey) irq() bool  { return k&1 != 0 }

// maxWakerSlots bounds the wakers that are told apart while counting. When a
// new one comes, a hand goes on by one place and takes one credit there; a place
// without credit goes to the new one. A waker that is frequent earns more than
// the hand takes, and is never pushed out by many rare ones, of which the wakeups
// are not counted by waker then. What is counted was seen.
const maxWakerSlots = 2 * evidence.MaxWakers

// wakerIndex finds the wakers of a task that has more than a few: a byte of the
// hash of each key, 8 of them compared at once.
type wakerIndex struct {
	tags [maxWakerSlots / 8]uint64
	hand uint32
}

// fewWakers are found without an index.
const fewWakers = 4

const (
	eachByte  = 0x0101010101010101
	eachUpper = 0x8080808080808080 // the upper bit of each byte
)

// tag is a byte of the hash of a key.
func (k wakerKey) tag() uint64 { return uint64(uint32(k) * 0x9e3779b1 >> 24) } // Fibonacci hashing

// set notes the key of the waker at a place.
func (ix *wakerIndex) set(i int, k wakerKey) {
	shift := uint(i%8) * 8
	w := &ix.tags[i/8]
	*w = *w&^(0xff<<shift) | k.tag()<<shift
}

// wakerSlot returns the index of a waker among those of x; none when it has no
// place.
func (x *task) wakerSlot(key wakerKey) (slot int, ok bool) {
	if ix := x.index; ix != nil {
		tag := key.tag() * eachByte
		for w, tags := range &ix.tags {
			v := tags ^ tag // the bytes that are 0 now, and few others, are marked below
			for m := (v - eachByte) &^ v & eachUpper; m != 0; m &= m - 1 {
				if i := w*8 + bits.TrailingZeros64(m)/8; i < len(x.wakers) && x.wakers[i].key == key {
					return i, true
				}
			}
		}
		return x.newWaker(key)
	}
	for i := range x.wakers {
		if x.wakers[i].key == key {
			return i, true
		}
	}
	return x.newWaker(key)
}

// newWaker finds a place for a waker that has none.
func (x *task) newWaker(key wakerKey) (slot int, ok bool) {
	n := len(x.wakers)
	if n < maxWakerSlots {
		x.wakers = append(x.wakers, waker{key: key})
		x.indexWaker(n)
		return n, true
	}
	i := int(x.index.hand % maxWakerSlots)
	x.index.hand++
	if w := &x.wakers[i]; w.credit > 0 {
		w.credit--
		return 0, false
	}
	x.wakers[i] = waker{key: key}
	x.index.set(i, key)
	return i, true
}

// indexWaker notes the waker that is new at a place, and all when they become
// more than a few.
func (x *task) indexWaker(n int) {
	switch {
	case n < fewWakers:
	case n == fewWakers:
		x.index = new(wakerIndex)
		for i := range x.wakers {
			x.index.set(i, x.wakers[i].key)
		}
	default:
		x.index.set(n, x.wakers[n].key)
	}
}

// afterWake is a wakeup whose waker is still on the CPU.
type afterWake struct {
	task uint32 // task.id
	slot uint32
	at   uint64
}

// maxAfter bounds the wakeups of one stint whose waker's further run is summed.
const maxAfter = 256

// wakee returns the task that an event is done to.
func (t *Tracker) wakee(e *Event) *task {
	x := t.get(e.Other, e.Off)
	if e.OtherComm != 0 && x != t.idle {
		x.comm = e.OtherComm
	}
	return x
}

// onWaking takes a sched_waking: it fires on the waker's CPU, before the task
// is put on a run queue; its CPU is the one that the task last ran on.
func (t *Tracker) onWaking(e *Event) {
	t.hasWaking = true
	x := t.wakee(e)
	if x == t.idle || x == t.others {
		return
	}
	t.woken(x, e, e.Time, -1)
	x.flags |= flagWaking
	if !t.hasWakeup && x.wakeAt == 0 {
		t.runnable(x, e)
		x.flags |= flagEarly
	}
}

// onWakeup takes a sched_wakeup: the task is on a run queue, of CPU Arg. It may
// fire in an interrupt on that CPU for a waker elsewhere, whom only the
// sched_waking before it tells.
func (t *Tracker) onWakeup(e *Event) {
	t.hasWakeup = true
	x := t.wakee(e)
	if x == t.idle || x == t.others {
		return
	}
	x.wakeups++
	target := int32(e.Arg)
	switch {
	case e.Flags&FlagWaking != 0:
		t.hasWaking = true
		t.woken(x, e, e.Time-e.Arg>>32, target)
	case x.flags&flagWaking != 0:
		x.wake.target = target
	default:
		t.woken(x, e, e.Time, target)
	}
	if x.flags&flagEarly != 0 { // this is the first sched_wakeup of the capture, or nearly
		x.wakeAt = 0
	}
	x.flags &^= flagWaking | flagEarly
	t.runnable(x, e)
}

// onWakeupNew takes a sched_wakeup_new: the first of a new task.
func (t *Tracker) onWakeupNew(e *Event) {
	x := t.tasks.find(e.Other)
	if x == nil || x.past(e) {
		x = t.newTask(e.Other, e.Off)
	}
	if x == t.idle || x == t.others {
		return
	}
	if e.OtherComm != 0 {
		x.comm = e.OtherComm
	}
	by := t.get(e.TID, e.Off)
	x.wake = wakeContext{at: e.Time, by: by.id, from: e.CPU, target: int32(e.Arg), irq: e.Flags&FlagIRQ != 0}
	if t.opt.Watch != nil {
		t.tellWake(by, x, e, e.Time)
	}
	t.runnable(x, e)
}

// runnable starts a delay, unless the task was already runnable.
//
// The delay runs from sched_wakeup, when the task can first be chosen, as in
// perf without sched_waking. Only a capture without sched_wakeup has it from
// sched_waking, as in perf with it, which is longer by the way to the run queue
// (an interrupt to the other CPU, and its way out of idle).
func (t *Tracker) runnable(x *task, e *Event) {
	if x.wakeAt == 0 {
		x.wakeAt, x.wakeGen = e.Time, t.lossGen
	}
}

// woken keeps when, by whom and from where x was woken, and counts the waker.
func (t *Tracker) woken(x *task, e *Event, at uint64, target int32) {
	by := t.get(e.TID, e.Off)
	irq := e.Flags&FlagIRQ != 0
	if c := t.cpu(e.CPU); c != nil {
		c.inBurst(x.id)
	}
	x.wake = wakeContext{at: at, by: by.id, from: e.CPU, target: target, irq: irq}
	if t.opt.Watch != nil {
		t.tellWake(by, x, e, at)
	}
	if by == t.others {
		x.waker = 0
		return
	}
	if by != t.idle {
		t.tell(by, e)
	}
	slot, ok := x.wakerSlot(keyOf(by.id, irq))
	if !ok {
		x.waker = 0
		return
	}
	x.waker = uint8(slot + 1)
	x.wakers[slot].count++
	x.wakers[slot].credit++
	if irq {
		return
	}
	if c := t.cpu(e.CPU); c != nil && (c.cur == by || c.cur == nil) && len(c.after) < maxAfter {
		c.after = append(c.after, afterWake{x.id, uint32(slot), at})
	}
}

// settleAfter adds up how long prev went on after each wakeup that it made in
// the stint that ends.
func (t *Tracker) settleAfter(c *cpuState, prev *task, e *Event) {
	if len(c.after) == 0 {
		return
	}
	for _, a := range c.after {
		w := &t.tasks.at(a.task).wakers[a.slot]
		if w.key != keyOf(prev.id, false) {
			continue
		}
		if d, ok := t.span(a.at, e.Time); ok {
			w.afterNS += d
			if e.State.Voluntary() {
				w.blocked++
			}
		}
	}
	c.after = c.after[:0]
}

// wakeContext tells how next came to be woken while x was on the CPU, since a
// time, for an involuntary switch of x to next.
func (t *Tracker) wakeContext(x *task, since uint64, next *task, cpu int32, whole bool) evidence.WakeContext {
	w := &next.wake
	switch {
	case !whole || next == t.others:
		return evidence.WakeUnknown
	case w.at == 0 || w.at < since:
		if t.allWakes {
			return evidence.WakeNone
		}
		return evidence.WakeUnknown
	case w.target >= 0 && cpu >= 0 && w.target != cpu:
		return evidence.WakeNone
	case w.by == x.id && !w.irq:
		return evidence.WakeBySelf
	case w.from < 0 || cpu < 0:
		return evidence.WakeUnknown
	case w.from != cpu:
		return evidence.WakeByRemote
	case w.irq:
		return evidence.WakeByIRQ
	}
	return evidence.WakeUnknown
}
