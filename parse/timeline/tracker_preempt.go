package timeline

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// preemptor counts how often one task followed another that was runnable.
type preemptor struct {
	by    uint32 // task.id
	count uint32
	errs  uint32 // at most so many more by it came before it had this place
	ranN  uint32
	ranNS uint64
}

// maxPreemptorSlots bounds the preemptors told apart while counting, as
// maxWakerSlots does with wakers.
const maxPreemptorSlots = evidence.MaxPreemptors

// takenBy counts the task that came on the CPU when x had to leave it. In
// task mode it may be one that is not watched: its name is told all the same.
func (t *Tracker) takenBy(x, next *task, e *Event) {
	if next == t.others {
		if e.Other < 0 {
			return
		}
		if next = t.get(e.Other, e.Off); next == t.others {
			return
		}
		if e.OtherComm != 0 && next != t.idle {
			next.comm = e.OtherComm
		}
	}
	m := x.extra()
	slot := m.preemptorSlot(next.id)
	m.preemptors[slot].count++
	if c := t.seenCPU(e.CPU); c != nil && t.opt.SystemWide && next != t.idle {
		c.victim, c.vslot = x.id+1, uint32(slot)
	}
}

func (m *taskMore) preemptorSlot(by uint32) int {
	low := 0
	for i := range m.preemptors {
		if m.preemptors[i].by == by {
			return i
		}
		if m.preemptors[i].count < m.preemptors[low].count {
			low = i
		}
	}
	if len(m.preemptors) < maxPreemptorSlots {
		m.preemptors = append(m.preemptors, preemptor{by: by})
		return len(m.preemptors) - 1
	}
	n := m.preemptors[low].count
	m.preemptors[low] = preemptor{by: by, count: n, errs: n}
	return low
}

// settlePreemptor adds how long a preemptor ran, when it leaves the CPU and
// nothing on the CPU was missed since it came.
func (t *Tracker) settlePreemptor(c *cpuState, prev *task, at uint64) {
	p := &t.tasks.at(c.victim - 1).more.preemptors[c.vslot]
	c.victim = 0
	if c.cur != prev || p.by != prev.id || !c.clean {
		return
	}
	if ran, ok := t.span(c.since, at); ok {
		p.ranNS += ran
		p.ranN++
	}
}

// addGap accounts the time since the last switch-out of a task whose way back
// onto a CPU is not in the capture.
//
//	task mode:   A───┤out    ?    out├───
//	                 ├──────gap──────┤        off-CPU and the next stint together
func (t *Tracker) addGap(x *task, at uint64) {
	if t.timed || x.place != off || x == t.others || !x.outState.Voluntary() {
		return
	}
	if d, ok := t.span(x.at, at); ok && t.intact(x.gen, x.cpu) {
		m := x.extra()
		if m.gap == nil {
			m.gap = new(durations)
		}
		m.gap.add(d)
	}
}

// moreInto fills what extra has collected.
func (t *Tracker) moreInto(x *task, s *evidence.TaskStats) {
	m := x.more
	if m == nil {
		return
	}
	s.Blame, s.IdleElsewhereNS = t.blameOf(x), m.idleNS
	s.Bursts, s.BurstSize = uint64(m.bursts), m.burstSize
	if m.gap != nil {
		s.Gap = m.gap.all()
	}
	out := make([]evidence.Preemptor, 0, len(m.preemptors))
	for i := range m.preemptors {
		p := &m.preemptors[i]
		out = append(out, evidence.Preemptor{Task: t.taskOf(p.by), Count: uint64(p.count - p.errs), RanNS: p.ranNS, RanN: uint64(p.ranN)})
	}
	slices.SortStableFunc(out, func(a, b evidence.Preemptor) int { return cmp.Compare(b.Count, a.Count) })
	s.Preemptors = slices.Clip(out[:min(len(out), evidence.MaxPreemptors)])
}

// maxBurst bounds the tasks of one burst that are told apart.
const maxBurst = 64

// inBurst notes that a task is woken from this CPU.
func (c *cpuState) inBurst(id uint32) {
	if len(c.burst) == maxBurst {
		return
	}
	for _, b := range c.burst {
		if b == id {
			return
		}
	}
	c.burst = append(c.burst, id)
}

// settleBurst ends the burst of a CPU at its next switch, and counts it with
// each of the tasks that were woken, when they were several.
func (t *Tracker) settleBurst(c *cpuState) {
	if n := len(c.burst); n >= evidence.MinBurst {
		for _, id := range c.burst {
			m := t.tasks.at(id).extra()
			m.bursts++
			m.burstSize += uint64(n)
		}
	}
	c.burst = c.burst[:0]
}
