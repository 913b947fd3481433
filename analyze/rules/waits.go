package rules

import (
	"slices"

	"ctxan/analyze"
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// wait is the weight of some blocking reasons together.
type wait struct {
	share    float64 // of all switches in the stacks
	ofWaits  float64 // of the switches that wait for anything
	switches float64
	offNS    float64 // off-CPU time of those whose return was seen
	offN     float64
	top      *analyze.ReasonFact // the heaviest; nil when there is none
	reasons  []*analyze.ReasonFact
}

// waitsFor sums the switch stacks whose reason passes.
func waitsFor(rs []analyze.ReasonFact, pass func(signature.Reason) bool) wait {
	var w wait
	all := 0.0
	for i := range rs {
		r := &rs[i]
		all += r.Share
		if !pass(r.Reason) {
			continue
		}
		w.share += r.Share
		w.switches += r.Switches
		w.offNS += r.OffNS
		w.offN += r.OffN
		w.reasons = append(w.reasons, r)
		if w.top == nil || r.Share > w.top.Share {
			w.top = r
		}
	}
	if all > 0 {
		w.ofWaits = w.share / all
	}
	return w
}

// meanOffNS is the mean time until the thread ran again.
func (w *wait) meanOffNS() (float64, bool) {
	if w.offN == 0 {
		return 0, false
	}
	return w.offNS / w.offN, true
}

// has reports whether a reason of the id has weight among them.
func (w *wait) has(id string) bool {
	return slices.ContainsFunc(w.reasons, func(r *analyze.ReasonFact) bool { return r.Reason.ID == id })
}

// inD is the share of the switches that left the CPU in uninterruptible sleep.
func (w *wait) inD() float64 {
	d, all := 0.0, 0.0
	for _, r := range w.reasons {
		for st, n := range r.State {
			all += n
			if evidence.State(st) == evidence.StateD {
				d += n
			}
		}
	}
	if all == 0 {
		return 0
	}
	return d / all
}

func ofClass(cs ...signature.Class) func(signature.Reason) bool {
	return func(r signature.Reason) bool { return slices.Contains(cs, r.Class) }
}

func ofID(ids ...string) func(signature.Reason) bool {
	return func(r signature.Reason) bool { return slices.Contains(ids, r.ID) }
}

// switchWaits reports whether the facts hold what switches wait for.
func switchWaits(f *analyze.Facts) bool { return f.Has.Stacks && len(f.Blocking) > 0 }

// triggerShare is the share of all switches that had the trigger, from stacks
// or wake contexts.
func triggerShare(f *analyze.Facts, ts ...analyze.Trigger) float64 {
	invol, ok := involuntaryShare(f)
	if !ok {
		return 0
	}
	s := 0.0
	for _, t := range ts {
		s += f.Triggers[t].Share
	}
	return s * invol
}

// involuntaryShare is the involuntary part of the switches: of the stacks where
// there are any, so that it adds up with their waits, else of the threads.
func involuntaryShare(f *analyze.Facts) (float64, bool) {
	own, ok := stacksInvoluntary(f)
	if ok && switchWaits(f) {
		return own, true
	}
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok {
		return 1 - v, true
	}
	return own, ok
}

// stacksInvoluntary is the involuntary part of the switches in the stacks.
func stacksInvoluntary(f *analyze.Facts) (float64, bool) {
	trig, blocked := 0.0, 0.0
	for i := range f.Triggers {
		trig += f.Triggers[i].Switches
	}
	for i := range f.Blocking {
		blocked += f.Blocking[i].Switches
	}
	if !f.Has.Stacks || trig+blocked == 0 {
		return 0, false
	}
	return trig / (trig + blocked), true
}

// untold is the share of the switches in the stacks that nothing explains: no
// stack, or one that the signature table does not know. What a rejection says
// of the others may be true of these.
func untold(f *analyze.Facts) float64 {
	total, named, shares := 0.0, 0.0, 0.0
	for i := range f.Blocking {
		r := &f.Blocking[i]
		if r.Share > 0 && r.Switches > 0 {
			total = max(total, r.Switches/r.Share)
		}
		if r.Reason.Class != "" {
			named += r.Switches
			shares += r.Share
		}
	}
	trig := 0.0
	for t := range f.Triggers {
		trig += f.Triggers[t].Switches
		if analyze.Trigger(t) != analyze.TriggerUnknown {
			named += f.Triggers[t].Switches
		}
	}
	if total = max(total, trig); total == 0 {
		return max(0, 1-shares)
	}
	return max(0, 1-named/total)
}

// cpuPath is the weight of a waiting path in CPU samples: of all samples, and
// of those on any path that waits or yields.
func cpuPath(f *analyze.Facts, pass func(signature.Reason) bool) (share, ofPaths float64, top *analyze.ReasonFact) {
	w := waitsFor(f.CPU, pass)
	return w.share, w.ofWaits, w.top
}

// hot are the threads that make most of the switches.
func hot(f *analyze.Facts) []analyze.ThreadFact { return f.Threads[:min(f.Hot, len(f.Threads))] }
