package analyze

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// wakeFacts counts who wakes the subject's threads, and which threads wake
// each other. Pairs are sorted by wakeups and bounded.
func wakeFacts(s *Subject, ts []ThreadFact) WakeFacts {
	var w WakeFacts
	type key struct{ a, b int }
	pairs := map[key]*pairSum{}
	for i := range ts {
		t := &ts[i]
		kept := uint64(0)
		for _, k := range t.Wakers {
			kept += k.Count
			switch {
			case k.IRQ:
				w.IRQ += k.Count
				continue
			case s.has(k.Task):
				w.Inside += k.Count
			default:
				w.Outside += k.Count
			}
			if k.Task.TID == t.Task.TID || k.Task.TID == 0 {
				continue
			}
			id := key{min(k.Task.TID, t.Task.TID), max(k.Task.TID, t.Task.TID)}
			p := pairs[id]
			if p == nil {
				p = &pairSum{}
				pairs[id] = p
			}
			p.add(k, t.Task, id.a)
		}
		w.Total += max(kept, t.Wakeups.V)
	}
	for _, p := range pairs {
		w.Pairs = append(w.Pairs, p.fact())
	}
	slices.SortFunc(w.Pairs, func(a, b PairFact) int {
		return cmp.Or(-cmp.Compare(a.AB+a.BA, b.AB+b.BA), cmp.Compare(a.A.TID, b.A.TID), cmp.Compare(a.B.TID, b.B.TID))
	})
	if len(w.Pairs) > maxPairs {
		w.Pairs = w.Pairs[:maxPairs]
	}
	return w
}

// maxPairs bounds the wake graph that rules and reports see.
const maxPairs = 64

type pairSum struct {
	f              PairFact
	blocked, after float64
	known          float64 // wakeups whose waker's next switch-out is known
}

// add counts the wakeups of wakee by k; a is the lower tid of the pair.
func (p *pairSum) add(k evidence.Waker, wakee evidence.Task, a int) {
	if k.Task.TID == a {
		p.f.A, p.f.B = k.Task, wakee
		p.f.AB += k.Count
	} else {
		p.f.A, p.f.B = wakee, k.Task
		p.f.BA += k.Count
	}
	if !k.NoState {
		p.blocked += float64(k.Blocked)
		p.after += float64(k.AfterNS)
		p.known += float64(k.Count)
	}
}

func (p *pairSum) fact() PairFact {
	if p.known > 0 {
		p.f.Blocked, p.f.AfterNS = evidence.Some(p.blocked/p.known), evidence.Some(p.after/p.known)
	}
	return p.f
}
