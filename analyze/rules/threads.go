package rules

import (
	"cmp"
	"slices"

	"ctxan/analyze"
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// waiter is a thread with the rate at which it waits for something.
type waiter struct {
	t    *analyze.ThreadFact
	perS float64
	own  float64 // the share of its own switches
}

// waiters are the threads that wait for a reason at least perS times a second,
// the most frequent first. Where the stacks do not say of which thread they
// are, every thread takes the overall share.
func waiters(f *analyze.Facts, pass func(signature.Reason) bool, perS float64) []waiter {
	overall := waitsFor(f.Blocking, pass).share
	var out []waiter
	for i := range f.Threads {
		t := &f.Threads[i]
		rate, ok := t.SwitchesPerS.Get()
		if !ok {
			continue
		}
		own, told := ownShare(t, pass)
		if !told && perThread(f) {
			continue
		}
		if !told {
			own = overall
		}
		if own >= mainShare && own*rate >= perS {
			out = append(out, waiter{t, own * rate, own})
		}
	}
	slices.SortStableFunc(out, func(a, b waiter) int { return -cmp.Compare(a.perS, b.perS) })
	return out
}

// perThread reports whether the stacks say of which thread they are.
func perThread(f *analyze.Facts) bool {
	return slices.ContainsFunc(f.Threads, func(t analyze.ThreadFact) bool { return len(t.Blocking) > 0 })
}

// ownShare is the share of a thread's own switches that wait for a reason.
func ownShare(t *analyze.ThreadFact, pass func(signature.Reason) bool) (float64, bool) {
	all, mine := 0.0, 0.0
	for _, r := range t.Blocking {
		all += r.Switches
		if pass(r.Reason) {
			mine += r.Switches
		}
	}
	for _, n := range t.Triggers {
		all += n
	}
	if all == 0 {
		return 0, false
	}
	return mine / all, true
}

// voluntaryThreads are the hot threads that give the CPU up at least perS times
// a second, and next to never otherwise.
func voluntaryThreads(f *analyze.Facts, perS float64) []waiter {
	var out []waiter
	for i := range hot(f) {
		t := &f.Threads[i]
		v, ok := t.VoluntaryPerS.Get()
		if ok && v >= perS && v >= willing*t.SwitchesPerS.V {
			out = append(out, waiter{t, v, v / t.SwitchesPerS.V})
		}
	}
	return out
}

// sumPerS adds up the rates of threads.
func sumPerS(ws []waiter) float64 {
	sum := 0.0
	for i := range ws {
		sum += ws[i].perS
	}
	return sum
}

// median is the thread in the middle, the slower of two.
func median(ws []waiter) waiter {
	s := slices.Clone(ws)
	slices.SortFunc(s, func(a, b waiter) int { return cmp.Compare(a.perS, b.perS) })
	return s[(len(s)-1)/2]
}

// facts are the threads themselves.
func facts(ws []waiter) []analyze.ThreadFact {
	out := make([]analyze.ThreadFact, len(ws))
	for i := range ws {
		out[i] = *ws[i].t
	}
	return out
}

// rateEvidence is where the threads' rates stand.
func rateEvidence(ws []waiter) []analyze.Evidence {
	var out []analyze.Evidence
	for i := range ws[:min(len(ws), maxEvidence)] {
		out = append(out, ws[i].t.Evidence...)
	}
	return out
}

// maxEvidence bounds how many threads a finding cites.
const maxEvidence = 8

// gaps are the off-CPU times of threads, merged; nil when none were captured.
func gaps(ws []waiter) *evidence.Histogram {
	return merge(ws, func(t *analyze.ThreadFact) *evidence.Histogram { return t.OffCPU })
}

// cycles are the times from one voluntary switch-out of a thread to its next
// switch-out, merged: of captures that do not tell when it came back.
func cycles(ws []waiter) *evidence.Histogram {
	return merge(ws, func(t *analyze.ThreadFact) *evidence.Histogram { return t.Gap })
}

func merge(ws []waiter, of func(*analyze.ThreadFact) *evidence.Histogram) *evidence.Histogram {
	sum := new(evidence.Histogram)
	for i := range ws {
		sum.Merge(of(ws[i].t))
	}
	if sum.N == 0 {
		return nil
	}
	return sum
}

// quantile reads a distribution; a bucket stands for its middle, cut to what
// was seen.
func quantile(h *evidence.Histogram, p float64) float64 {
	want, seen := p*float64(h.N), 0.0
	for _, b := range h.Buckets() {
		seen += float64(b.Count)
		if seen >= want {
			mid := float64(b.Lo) + float64(b.Hi-b.Lo)/2
			return min(max(mid, float64(h.Min)), float64(h.Max))
		}
	}
	return float64(h.Max)
}

// quantileBucket is the bucket in which a quantile lies, cut to what was seen.
func quantileBucket(h *evidence.Histogram, p float64) (lo, hi float64) {
	want, seen := p*float64(h.N), 0.0
	for _, b := range h.Buckets() {
		seen += float64(b.Count)
		if seen >= want {
			return max(float64(b.Lo), float64(h.Min)), min(float64(b.Hi), float64(h.Max))
		}
	}
	return float64(h.Max), float64(h.Max)
}

// steady reports whether gaps come on a beat.
func steady(h *evidence.Histogram) bool {
	return h != nil && h.N >= fewGaps && quantile(h, 0.90) <= steadyRatio*quantile(h, 0.10)
}

// irqShare is the share of the threads' wakeups that came from interrupts.
func irqShare(ws []waiter) (share float64, ok bool) {
	var irq, all, total float64
	for i := range ws {
		total += float64(ws[i].t.Wakeups.V)
		for _, k := range ws[i].t.Wakers {
			all += float64(k.Count)
			if k.IRQ {
				irq += float64(k.Count)
			}
		}
	}
	if all < fewGaps || all < mainShare*total {
		return 0, false // too few, or most of them by wakers that are not kept
	}
	return irq / all, true
}

// wokenByMany reports whether the wakeups of the threads were captured, and
// most of them came from more tasks than are kept: no timer, and no partner.
func wokenByMany(ws []waiter) bool {
	kept, total := 0.0, 0.0
	for i := range ws {
		total += float64(ws[i].t.Wakeups.V)
		for _, k := range ws[i].t.Wakers {
			kept += float64(k.Count)
		}
	}
	return total >= fewGaps && kept < mainShare*total
}

// allWaiters takes every thread that switched.
func allWaiters(f *analyze.Facts) []waiter {
	var out []waiter
	for i := range f.Threads {
		t := &f.Threads[i]
		if r, ok := t.SwitchesPerS.Get(); ok && r > 0 {
			out = append(out, waiter{t, r, 1})
		}
	}
	return out
}

// stint is the mean CPU time between switches: of the threads when their run
// times are known, else of the subject's counters.
func stint(f *analyze.Facts) (ns float64, ok bool) {
	if f.Run != nil && f.Run.N > 0 {
		return float64(f.Run.Sum) / float64(f.Run.N), true
	}
	us, ok := f.Macro.Value(analyze.FigBetween).Get()
	return us * 1e3, ok
}

type hist = evidence.Histogram

// inD reports whether a thread mostly sleeps uninterruptibly, as no timer of
// user code makes it.
func inD(t *analyze.ThreadFact) bool {
	return t.States != nil && t.States[evidence.StateD] > t.States[evidence.StateS]
}

// steadyish is steady with room for the late wakeups of virtual machines.
func steadyish(h *evidence.Histogram) bool {
	return h != nil && h.N >= fewGaps && quantile(h, 0.90) <= steadyRatio*steadyRatio*quantile(h, 0.10)
}
