package rules

import (
	"ctxan/analyze"
	"ctxan/parse/evidence"
)

// pairing is how far the wakeups of the subject are those of partners: pairs
// of threads in which each is mostly woken by the other.
type pairing struct {
	share   float64 // of the subject's wakeups
	handsOn bool    // the wakers leave the CPU right after
	top     []analyze.PairFact
}

// partners finds the pairs whose wakeups answer each other. A pool whose
// threads wake one another at random has none: each is woken by many.
func partners(f *analyze.Facts) pairing {
	var p pairing
	if f.Wake.Total < fewGaps {
		return p
	}
	from := wakersOf(f)
	mutual, handsOn := 0.0, 0.0
	for _, k := range f.Wake.Pairs {
		if !answers(k) || !dominant(from, k) {
			continue
		}
		n := float64(ofSubject(f, k))
		mutual += n
		if after, ok := k.AfterNS.Get(); ok && after <= runOnNS {
			handsOn += n
		}
		p.top = append(p.top, k)
	}
	p.share = min(mutual/float64(f.Wake.Total), 1)
	p.handsOn = mutual > 0 && handsOn >= mainShare*mutual
	return p
}

// hubOf is the task outside the subject that has most wakeups in turn with its
// threads, the share of the subject's wakeups that it makes, and with how many
// threads it does.
func hubOf(f *analyze.Facts) (hub *analyze.PeerFact, share float64, n int) {
	by, threads := map[int]float64{}, map[int]int{}
	if f.Wake.Total < fewGaps {
		return nil, 0, 0
	}
	for _, p := range f.Wake.Pairs {
		out := peerOf(f, p.A.TID)
		if out == nil {
			out = peerOf(f, p.B.TID)
		}
		lo, hi := min(p.AB, p.BA), max(p.AB, p.BA)
		if out == nil || float64(lo) < mutualRatio*float64(hi) {
			continue
		}
		by[out.Task.TID] += float64(ofSubject(f, p))
		threads[out.Task.TID]++
		if hub == nil || by[out.Task.TID] > by[hub.Task.TID] {
			hub = out
		}
	}
	if hub == nil || by[hub.Task.TID] < fewGaps {
		return nil, 0, 0
	}
	return hub, by[hub.Task.TID] / float64(f.Wake.Total), threads[hub.Task.TID]
}

// ofSubject is how many of a pair's wakeups are of the subject's threads.
func ofSubject(f *analyze.Facts, p analyze.PairFact) uint64 {
	switch n := p.AB + p.BA; {
	case peerOf(f, p.A.TID) != nil:
		return p.AB
	case peerOf(f, p.B.TID) != nil:
		return p.BA
	default:
		return n
	}
}

// peerOf is the task outside the subject with the id; nil when there is none.
func peerOf(f *analyze.Facts, tid int) *analyze.PeerFact {
	for i := range f.Wake.Peers {
		if f.Wake.Peers[i].Task.TID == tid {
			return &f.Wake.Peers[i]
		}
	}
	return nil
}

// wokenByIRQ is the part of the subject's wakeups whose wakers are told that come
// from interrupts, and whether there are enough to say so.
func wokenByIRQ(f *analyze.Facts) (float64, bool) {
	told := f.Wake.IRQ + f.Wake.Inside + f.Wake.Outside
	if told < fewGaps || float64(told) < mainShare*float64(f.Wake.Total) {
		return 0, false
	}
	return float64(f.Wake.IRQ) / float64(told), true
}

// sender is the one task outside the subject that makes most of its wakeups and
// is not woken by it in turn, when the capture shows who does wake it.
func sender(f *analyze.Facts) (*analyze.PeerFact, float64) {
	for _, p := range f.Wake.Pairs {
		out := peerOf(f, p.A.TID)
		back := p.BA
		if out == nil {
			out, back = peerOf(f, p.B.TID), p.AB
		}
		n := float64(ofSubject(f, p))
		if out != nil && out.Woken >= fewGaps && n >= mainShare*float64(f.Wake.Total) && float64(back) < traceShare*n {
			return out, n / float64(f.Wake.Total)
		}
	}
	return nil, 0
}

// answers reports whether the wakeups of a pair go both ways equally often; a
// peer outside the subject is seen in both when the capture holds its wakers.
func answers(p analyze.PairFact) bool {
	lo, hi := min(p.AB, p.BA), max(p.AB, p.BA)
	return hi >= fewGaps && float64(lo) >= mutualRatio*float64(hi)
}

// wakersOf is how often each thread of the subject was woken.
func wakersOf(f *analyze.Facts) map[int]float64 {
	out := map[int]float64{}
	for i := range f.Threads {
		for _, k := range f.Threads[i].Wakers {
			out[f.Threads[i].Task.TID] += float64(k.Count)
		}
	}
	for i := range f.Wake.Peers {
		out[f.Wake.Peers[i].Task.TID] = float64(f.Wake.Peers[i].Woken)
	}
	return out
}

// oneSided is the share of the wakeups that threads of other processes make as
// the only waker of a thread: what the subject answers them is not seen.
func oneSided(f *analyze.Facts) (share float64, top *analyze.PairFact) {
	if f.Wake.Total < fewGaps {
		return 0, nil
	}
	from := wakersOf(f)
	n := 0.0
	for i := range f.Wake.Pairs {
		p := &f.Wake.Pairs[i]
		wakes, wakee := p.AB, p.B.TID
		if p.BA > p.AB {
			wakes, wakee = p.BA, p.A.TID
		}
		if min(p.AB, p.BA) == 0 && wakes >= fewGaps && float64(wakes) >= partnerShare*from[wakee] {
			n += float64(wakes)
			if top == nil {
				top = p
			}
		}
	}
	return n / float64(f.Wake.Total), top
}

func dominant(from map[int]float64, p analyze.PairFact) bool {
	return float64(p.AB) >= partnerShare*from[p.B.TID] && float64(p.BA) >= partnerShare*from[p.A.TID]
}

// crowd is how far the subject's threads wake each other without partners:
// many by many, as the waiters of one lock or barrier do.
func crowd(f *analyze.Facts) (share float64, members int) {
	if f.Wake.Total < fewGaps {
		return 0, 0
	}
	n, links := 0.0, 0
	for i := range f.Threads {
		t := &f.Threads[i]
		inside, peers := 0.0, 0
		for _, k := range t.Wakers {
			if !k.IRQ && k.Task.TID != t.Task.TID && subjectHas(f, k.Task.TID) && k.Task.PID == t.Task.PID {
				inside += float64(k.Count)
				peers++
			}
		}
		if peers > 0 && wakesOthers(f, t.Task.TID) {
			n += inside
			links += peers
			members++
		}
	}
	if float64(links) < crowdLinks*float64(members) {
		return 0, 0 // a chain or a ring: each is woken by one
	}
	return n / float64(f.Wake.Total), members
}

// crowdLinks: the threads of a crowd are woken by more than one other on
// average. Bound: 1 in a ring.
const crowdLinks = 1.25

func subjectHas(f *analyze.Facts, tid int) bool {
	for i := range f.Threads {
		if f.Threads[i].Task.TID == tid {
			return true
		}
	}
	return false
}

func wakesOthers(f *analyze.Facts, tid int) bool {
	for i := range f.Threads {
		for _, k := range f.Threads[i].Wakers {
			if k.Task.TID == tid && !k.IRQ && f.Threads[i].Task.TID != tid {
				return true
			}
		}
	}
	return false
}

// name is a task in prose.
func name(t evidence.Task) analyze.Text {
	if t.Comm == "" {
		return text("thread %d", t.TID)
	}
	return text("%s [%d]", code(t.Comm), t.TID)
}
