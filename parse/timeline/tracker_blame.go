package timeline

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// blamed is how long one task held up another.
type blamed struct {
	by uint32 // task.id
	ns uint64
}

// The first wholeWaits waits of a task are charged one by one, and later those
// that are longer than one in longWait of all it waited so far; of the others
// one in someWaits, for those before it, too. A walk over the stints takes longer
// than all else that an event makes.
const (
	wholeWaits = 128
	longWait   = 64
	someWaits  = 64
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
	d := to - from
	x.waits++
	x.waited += d
	if x.waits > wholeWaits && d < x.waited/longWait && x.waits%someWaits != 0 {
		x.owed += d
		return
	}
	m, whole := x.extra(), d+x.owed // what is charged with this wait
	left := whole
	x.owed = 0
	end := to
	for i := uint32(1); i <= numStints && i <= c.pos && end > from; i++ {
		s := &c.stints[(c.pos-i)%numStints]
		start := max(s.at, from)
		if end > start {
			part := min(share(whole, end-start, d), left)
			if start == from {
				part = left // nothing is lost to rounding
			}
			m.hold(s.task, part)
			left -= part
		}
		end = min(end, start)
	}
	if end > from {
		m.unknown += left
	}
	if d >= idleWorth {
		m.idleNS += share(whole, t.idleElsewhere(cpu, from, to), d)
	}
}

// share is the part of all that some is of d.
func share(all, some, d uint64) uint64 {
	if all == d {
		return some
	}
	return uint64(float64(all) * (float64(some) / float64(d)))
}

// hold adds to what a task held up. When there are too many, the one with least
// makes room and goes to the unknown.
func (m *taskMore) hold(by uint32, ns uint64) {
	if by == othersID {
		m.unknown += ns
		return
	}
	for i := range m.blame {
		if b := &m.blame[i]; b.by == by {
			b.ns += ns
			if uint32(i) == m.least-1 {
				m.least = 0
			}
			return
		}
	}
	if len(m.blame) < evidence.MaxBlame-1 {
		m.blame = append(m.blame, blamed{by, ns})
		return
	}
	if low := m.leastBlamed(); low.ns < ns {
		*low, ns = blamed{by, ns}, low.ns
		m.least = 0
	}
	m.unknown += ns
}

// leastBlamed is who held up least. As sums only grow, it stays so until its
// own does.
func (m *taskMore) leastBlamed() *blamed {
	if m.least == 0 {
		low := 0
		for i := range m.blame {
			if m.blame[i].ns < m.blame[low].ns {
				low = i
			}
		}
		m.least = uint32(low + 1)
	}
	return &m.blame[m.least-1]
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
func (t *Tracker) blameOf(x *task) []evidence.Blame {
	m := x.more
	out := make([]evidence.Blame, 0, len(m.blame)+1)
	for _, b := range m.blame {
		out = append(out, evidence.Blame{Task: t.taskOf(b.by), NS: b.ns})
	}
	if ns := m.unknown + x.owed; ns > 0 {
		out = append(out, evidence.Blame{Task: t.taskOf(othersID), NS: ns})
	}
	if len(out) == 0 {
		return nil
	}
	slices.SortStableFunc(out, func(a, b evidence.Blame) int { return cmp.Compare(b.NS, a.NS) })
	return out
}
