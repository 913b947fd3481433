package analyze

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// TakenFacts tell who took the CPU from the subject's threads while they were
// still runnable, as far as the switch events name both: the preemptor table.
type TakenFacts struct {
	Total float64 // involuntary switches whose next task is told
	Idle  float64 // of these to the idle task: nobody took the CPU, the thread was kept from it
	// Inside are those by the subject's own threads; Crowd the part of them by
	// threads that are themselves preempted more often than they block, so that
	// they had been waiting for the CPU. Both are 0 where the subject is all tasks.
	Inside, Crowd float64
	Rows          []TakenFact // most often first
}

// TakenFact is one task that took the CPU from threads of the subject.
type TakenFact struct {
	Task    evidence.Task
	Inside  bool
	Count   float64
	Victims int     // threads that it took the CPU from
	RanNS   float64 // how long it then ran, in all, over RanN stints
	RanN    float64
}

// takenFacts sums the preemptors over the subject's threads.
func takenFacts(s *Subject, ts []ThreadFact) TakenFacts {
	var out TakenFacts
	at := map[int]int{}
	for i := range ts {
		for _, p := range ts[i].Preemptors {
			out.Total += float64(p.Count)
			if p.Task.TID == 0 {
				out.Idle += float64(p.Count)
				continue
			}
			k, seen := at[p.Task.TID]
			if !seen {
				k = len(out.Rows)
				at[p.Task.TID] = k
				out.Rows = append(out.Rows, TakenFact{Task: p.Task})
			}
			out.Rows[k].add(p)
		}
	}
	out.inside(s, ts, at)
	slices.SortStableFunc(out.Rows, func(a, b TakenFact) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Task.TID, b.Task.TID))
	})
	return out
}

func (t *TakenFact) add(p evidence.Preemptor) {
	t.Count += float64(p.Count)
	t.RanNS += float64(p.RanNS)
	t.RanN += float64(p.RanN)
	t.Victims++
}

// inside tells the subject's own threads among the preemptors.
func (f *TakenFacts) inside(s *Subject, ts []ThreadFact, at map[int]int) {
	if s.Kind == SubjectMachine {
		return
	}
	for i := range ts {
		k, ok := at[ts[i].Task.TID]
		if !ok {
			continue
		}
		r := &f.Rows[k]
		r.Inside = true
		f.Inside += r.Count
		if v, known := ts[i].voluntaryShare(); known && v < crowdVoluntary {
			f.Crowd += r.Count
		}
	}
}

// crowdVoluntary: a thread that blocks in less than half of its switches wants
// the CPU more often than not. Bound: only one of the two can be the majority.
const crowdVoluntary = 0.5

// voluntaryShare is the share of a thread's switches in which it blocked: by
// the states of a trace where there are any, of which its preemptors are too.
func (t *ThreadFact) voluntaryShare() (float64, bool) {
	if t.States != nil {
		v, all := 0.0, 0.0
		for st, n := range t.States {
			if st == int(evidence.StateUnknown) {
				continue
			}
			all += float64(n)
			if evidence.State(st).Voluntary() {
				v += float64(n)
			}
		}
		return v / max(all, 1), all > 0
	}
	if r, ok := t.SwitchesPerS.Get(); ok && r > 0 && t.VoluntaryPerS.OK {
		return t.VoluntaryPerS.V / r, true
	}
	return 0, false
}
