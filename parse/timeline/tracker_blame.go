package timeline

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// blamed is how long one task held up another.
type blamed struct {
	by uint32 // task.id; othersID: not known, or one of many
	ns uint64
}

// Every wait of a task is charged until there are wholeWaits; of those that
// follow one in someWaits is, for all of them: a walk over the stints takes
// longer than all else that an event makes.
const (
	wholeWaits = 512
	someWaits  = 16
)

// idleWorth is the shortest wait for which it is looked whether another CPU was
// idle: a wakeup takes about as long by itself.
const idleWorth = 50_000

// charge charges a wait for a CPU to who ran on that CPU meanwhile, as far as
// the CPU's last stints tell, and looks for a CPU that was idle.
//
//	CPU 0   A────────┤B───┤C─────┤X      X waits from w: 6 of B, 7 of C
//	CPU 1   D───────────────┤idle──      and for 5 of them CPU 1 had nothing to do
//	               w─────────────
func (t *Tracker) charge(x *task, from, to uint64, cpu int32) {
	c := t.seenCPU(cpu)
	if c == nil || !t.opt.SystemWide || to <= from {
		return
	}
	m, weight := x.extra(), uint64(1)
	if m.waits++; m.waits > wholeWaits {
		if m.waits%someWaits != 0 {
			return
		}
		weight = someWaits
	}
	end := to
	for i := uint32(1); i <= numStints && i <= c.pos && end > from; i++ {
		s := &c.stints[(c.pos-i)%numStints]
		start := max(s.at, from)
		if end > start {
			m.hold(s.task, weight*(end-start))
		}
		end = min(end, start)
	}
	if end > from {
		m.hold(othersID, weight*(end-from))
	}
	if to-from >= idleWorth {
		m.idleNS += weight * t.idleElsewhere(cpu, from, to)
	}
}

// hold adds to what a task held up. When there are too many, the one with least
// makes room and goes to the unknown.
func (m *taskMore) hold(by uint32, ns uint64) {
	low := -1
	for i := range m.blame {
		b := &m.blame[i]
		if b.by == by {
			b.ns += ns
			return
		}
		if b.by != othersID && (low < 0 || b.ns < m.blame[low].ns) {
			low = i
		}
	}
	if len(m.blame) < evidence.MaxBlame-1 || by == othersID {
		m.blame = append(m.blame, blamed{by, ns})
		return
	}
	if m.blame[low].ns < ns {
		m.blame[low], by, ns = blamed{by, ns}, othersID, m.blame[low].ns
	}
	m.hold(othersID, ns)
}

// idleElsewhere is for how long within a time the CPU that was idle longest in
// it was idle, of those other than one; 0 when none is known to have been.
func (t *Tracker) idleElsewhere(than int32, from, to uint64) uint64 {
	var most uint64
	for id, c := range t.cpus {
		if c == nil || int32(id) == than {
			continue
		}
		if most = max(most, c.idleIn(from, to)); most == to-from {
			break
		}
	}
	return most
}

// idleIn is how long the CPU was idle within a time, as its last stints tell.
func (c *cpuState) idleIn(from, to uint64) uint64 {
	var sum uint64
	end := to
	for i := uint32(1); i <= numStints && i <= c.pos && end > from; i++ {
		s := &c.stints[(c.pos-i)%numStints]
		start := max(s.at, from)
		if s.task == idleID && s.at != 0 && end > start {
			sum += end - start
		}
		end = min(end, start)
	}
	return sum
}

// blameOf lists who held up a task, the longest first.
func (t *Tracker) blameOf(m *taskMore) []evidence.Blame {
	if len(m.blame) == 0 {
		return nil
	}
	out := make([]evidence.Blame, len(m.blame))
	for i, b := range m.blame {
		out[i] = evidence.Blame{Task: t.taskOf(b.by), NS: b.ns}
	}
	slices.SortStableFunc(out, func(a, b evidence.Blame) int { return cmp.Compare(b.NS, a.NS) })
	return out
}
