package analyze

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// finish turns weights into shares and sorts.
func (s *stackFacts) finish(f *Facts) {
	for _, r := range s.reasons {
		f.Blocking = append(f.Blocking, r.fact(s.total))
	}
	for _, r := range s.cpuSums {
		f.CPU = append(f.CPU, r.fact(s.cpuTotal))
	}
	for _, r := range s.work {
		f.Work = append(f.Work, r.fact(s.total))
	}
	sortReasons(f.Work)
	sortReasons(f.Blocking)
	sortReasons(f.CPU)
	for i := range f.Threads {
		t := &f.Threads[i]
		for _, r := range s.threads[t.Task.TID] {
			t.Blocking = append(t.Blocking, r.fact(s.total))
		}
		sortReasons(t.Blocking)
	}
	s.finishCallers(f)
	s.finishTriggers(f)
	f.Futex = s.sites.facts(s.total)
	f.Has.CPUStacks = f.Has.CPUStacks || s.cpu != nil
	f.Has.UserFrames = len(f.Callers) > 0
}

func (s *stackFacts) finishCallers(f *Facts) {
	for k, c := range s.callers {
		total := s.total
		if k.cpu {
			total = s.cpuTotal
		}
		if total > 0 {
			c.Share /= total
			c.Evid.Value, c.Evid.Unit = c.Share*100, "%"
		}
		f.Callers = append(f.Callers, *c)
	}
	slices.SortFunc(f.Callers, func(a, b CallerFact) int {
		return cmp.Or(-cmp.Compare(a.Share, b.Share), cmp.Compare(a.Symbol, b.Symbol), cmp.Compare(a.Reason, b.Reason))
	})
}

// finishTriggers makes shares, and takes the triggers from wake contexts alone
// where there are no stacks.
func (s *stackFacts) finishTriggers(f *Facts) {
	if s.switches == nil {
		for i := range f.Threads {
			s.triggersByWake(f, &f.Threads[i])
		}
	}
	total := 0.0
	for i := range f.Triggers {
		total += f.Triggers[i].Switches
		f.Triggers[i].Frame = most(s.triggers[i])
	}
	for i := range f.Triggers {
		if total > 0 {
			f.Triggers[i].Share = f.Triggers[i].Switches / total
		}
	}
}

// triggersByWake judges involuntary switches without a stack. One that no
// wakeup explains is the end of a slice only after a stint as long as a slice.
func (s *stackFacts) triggersByWake(f *Facts, t *ThreadFact) {
	if t.WakeCtx == nil {
		return
	}
	for w, n := range t.WakeCtx {
		p, _ := s.table.Preempt(nil, evidence.WakeContext(w))
		tr := triggerOf(p)
		if evidence.WakeContext(w) == evidence.WakeNone && t.Run != nil && t.Run.N > 0 && t.Run.Sum/t.Run.N >= sliceFloorNS {
			tr = TriggerTick
		}
		t.Triggers[tr] += float64(n)
		f.Triggers[tr].Switches += float64(n)
	}
}

func (r *reasonSum) fact(total float64) ReasonFact {
	out := r.ReasonFact
	if total > 0 {
		out.Share = r.Switches / total
	}
	out.Frame = most(r.frames)
	if total > 0 {
		out.FrameShare = r.frames[out.Frame] / total
	}
	out.API = most(r.apis)
	return out
}

// most returns the name with most votes; the first by name among equals.
func most(votes map[string]float64) string {
	best, n := "", 0.0
	for k, v := range votes {
		if v > n || (v == n && k < best) {
			best, n = k, v
		}
	}
	return best
}

func sortReasons(rs []ReasonFact) {
	slices.SortFunc(rs, func(a, b ReasonFact) int {
		return cmp.Or(-cmp.Compare(a.Share, b.Share), -cmp.Compare(a.Switches, b.Switches), cmp.Compare(a.Reason.ID, b.Reason.ID))
	})
}
