package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// Oversubscription: more threads want a CPU than there are, so that slices end.
// Involuntary switches alone do not show it: hand-offs, yields and preemptions
// by interrupts are involuntary too.
var Oversubscription = &analyze.Rule{
	ID:    "oversubscription",
	Doc:   "more threads want to run than there are CPUs, and their time slices end",
	Run:   oversubscribed,
	Rival: oversubscribedRival,
}

func oversubscribed(f *analyze.Facts) []analyze.Finding {
	g, want, cpus := demand(f)
	if g == nil {
		return nil
	}
	share := triggerShare(f, analyze.TriggerTick, analyze.TriggerTimer, analyze.TriggerUnknown, analyze.TriggerReturn)
	if share == 0 {
		share, _ = involuntaryShare(f)
	}
	fd := analyze.Finding{ID: "oversubscription", Severity: severity(f), Share: some(share)}
	g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	fd.Summary = text("At least %s threads of %s want to run at a time, on %s CPUs: %s.",
		quantity.Sig(want, 2), subjectIn(f), quantity.Whole(cpus), howTheyWait(f))
	fd.Claim = triggersShown(f)
	fd.Shown = demandShown(f, fd.Claim)
	fd.Evidence = rateEvidence(heaviest(allWaiters(f)))
	fd.Advice = crowdAdvice(want, cpus)
	if used, ok := foreign(f); ok {
		fd.Summary = text("Other tasks use %s of the %s CPUs, and %s waits for its turn: %s.", quantity.Fixed(used, 2), quantity.Whole(cpus), subjectIn(f), howTheyWait(f))
		fd.Advice = []analyze.Advice{{Do: text("Find what else runs on the CPUs, and move it or the subject (cpuset, taskset), or give the subject a greater weight (nice, cpu.weight).")}}
	}
	fd.Next = settle(f, nil)
	return settled(f, fd)
}

// howTheyWait says what the crowd leads to, as far as the triggers show it.
func howTheyWait(f *analyze.Facts) string {
	ends := triggerShare(f, analyze.TriggerTick)
	if sliceLong(f) {
		ends += triggerShare(f, analyze.TriggerTimer)
	}
	w, ok := f.Util.WaitingRun.Get()
	switch {
	case ends >= mainShare:
		return "they wait for each other's slices to end"
	case ok:
		return "they wait for one in " + percent(w) + " of the time in which they want one"
	}
	return "they wait for each other"
}

// triggersShown lists what took the CPU from the threads, the most first.
func triggersShown(f *analyze.Facts) analyze.Text {
	var seen []analyze.Trigger
	for t := range f.Triggers {
		if f.Triggers[t].Switches > 0 {
			seen = append(seen, analyze.Trigger(t))
		}
	}
	slices.SortStableFunc(seen, func(a, b analyze.Trigger) int { return -cmp.Compare(f.Triggers[a].Share, f.Triggers[b].Share) })
	var t analyze.Text
	for i, k := range seen[:min(len(seen), maxTriggers)] {
		label := k.Label()
		if k == analyze.TriggerTimer && sliceLong(f) {
			label = "under a timer interrupt, after stints as long as a slice"
		}
		if i == 0 {
			t = text("Of the involuntary switches: %s %s", label, percent(f.Triggers[k].Share))
		} else {
			t = text("%s; %s %s", t, label, percent(f.Triggers[k].Share))
		}
	}
	if t == nil {
		return nil
	}
	return text("%s.", t)
}

// maxTriggers is how many triggers a sentence lists.
const maxTriggers = 4

// demand is how many CPUs the subject's threads want, when that is more than
// the machine has, and on what ground.
func demand(f *analyze.Facts) (g *ground, want, cpus float64) {
	n, ok := f.Util.CPUs.Get()
	invol, okI := involuntaryShare(f)
	if !ok || !okI || invol < mainShare || triggerShare(f, analyze.TriggerYield) >= partShare {
		return nil, 0, 0
	}
	cpus = float64(n)
	if want, ok := f.Util.Runnable.Get(); ok && want >= crowded*cpus && f.Util.WaitingRun.V >= mainShare {
		return measuredDemand(f, want, cpus), want, cpus
	}
	if g, want := crowdDemand(f, cpus); g != nil {
		return g, want, cpus
	}
	if !sliceLong(f) {
		return nil, 0, 0
	}
	if st := starved(f); st != nil && st.want >= crowded*cpus && st.got >= full*cpus {
		g := &ground{}
		g.fit(fmt.Sprintf("%s threads never block", quantity.Whole(st.want)))
		g.fit(fmt.Sprintf("they use all %s CPUs", quantity.Whole(cpus)))
		g.atMost(analyze.ConfidenceLow, fmt.Sprintf("a fit: %s threads that never block share %s CPUs; a CPU quota of that size looks alike", quantity.Whole(st.want), quantity.Whole(cpus)))
		return g, st.want, cpus
	}
	return nil, 0, 0
}

// crowdDemand: run times are not in the capture, but who took the CPU is: the
// subject's own threads take it from each other under timer interrupts, and
// they seldom block. A thread that never blocks was not woken, so that it had
// been waiting for the CPU.
func crowdDemand(f *analyze.Facts, cpus float64) (*ground, float64) {
	invol, ok := involuntaryShare(f)
	if !ok || f.Taken.Total < fewGaps || f.Util.Runnable.OK {
		return nil, 0
	}
	slices := triggerShare(f, analyze.TriggerTick, analyze.TriggerTimer)
	share := invol * f.Taken.Crowd / f.Taken.Total
	if share < partShare || slices < mainShare || cpuQuotaFits(f) {
		return nil, 0
	}
	g := &ground{}
	what := fmt.Sprintf("in %s of the switches one of its threads takes the CPU from another, and these threads seldom block", percent(share))
	want := neverBlock(f)
	if share >= mainShare && want >= crowded*cpus {
		g.decide(threads, what)
		g.agree(stacks, fmt.Sprintf("%s of the switches are under timer interrupts", percent(slices)))
		if used, ok := f.Util.CPUsUsed.Get(); ok && used >= full*cpus && !f.Macro.FromTrace {
			g.agree(counters, fmt.Sprintf("%s CPUs used", quantity.Fixed(used, 2)))
		}
		g.atMost(analyze.ConfidenceMedium, what+"; for how long they wait is not in the input")
		return g, want
	}
	g.fit(what)
	g.fit(fmt.Sprintf("%s of the switches are under timer interrupts", percent(slices)))
	g.atMost(analyze.ConfidenceLow, "a fit: "+what+"; how many want to run at a time is not in the input")
	return g, max(want, cpus+1)
}

// cpuQuotaFits reports whether threads are also kept from idle CPUs.
func cpuQuotaFits(f *analyze.Facts) bool { return quotaOf(f) != nil }

// neverBlock counts the threads that are preempted and next to never block.
func neverBlock(f *analyze.Facts) float64 {
	n := 0.0
	for i := range f.Threads {
		st := f.Threads[i].States
		if st == nil {
			continue
		}
		runnable, all := float64(st[evidence.StateR]+st[evidence.StateRPlus]), 0.0
		for _, k := range st {
			all += float64(k)
		}
		if runnable > 0 && runnable >= willing*all {
			n++
		}
	}
	return n
}

// measuredDemand: run time and the waits for a CPU are measured. Threads may
// wait while CPUs are idle, too: then a quota or an affinity holds them.
func measuredDemand(f *analyze.Facts, want, cpus float64) *ground {
	g := &ground{}
	what := fmt.Sprintf("%s threads want a CPU at a time, of %s CPUs", quantity.Sig(want, 2), quantity.Whole(cpus))
	busy, okB := f.Util.BusyShare.Get()
	used, okU := f.Util.CPUsUsed.Get()
	others, foreignHere := foreign(f)
	if foreignHere {
		g.atMost(analyze.ConfidenceLow, fmt.Sprintf("%s, and others use %s of the %s CPUs: the wait for a CPU is theirs to explain", what, quantity.Fixed(others, 2), quantity.Whole(cpus)))
		g.oppose(text("other tasks use %s of the %s CPUs", quantity.Fixed(others, 2), quantity.Whole(cpus)))
	}
	switch {
	case foreignHere && used < full*cpus:
		g.fit(what)
		g.fit("they are preempted")
	case okB && busy >= full, okU && used >= full*cpus:
		g.decide(threads, what)
		if !sliceLong(f) {
			g.note(text("stints on a CPU are shorter than slices: threads are also woken or started at a high rate"))
			g.atMost(analyze.ConfidenceMedium, what+", and yet the stints are shorter than slices")
		}
		if slices := triggerShare(f, analyze.TriggerTick, analyze.TriggerTimer); slices >= mainShare {
			g.agree(stacks, "the switches are under timer interrupts, a slice apart")
		}
		if okU && used >= full*cpus && !f.Macro.FromTrace {
			g.agree(counters, fmt.Sprintf("%s CPUs used", quantity.Fixed(used, 2)))
		}
	default:
		g.fit(what)
		g.fit("they are preempted, not blocked")
		g.oppose(text("the CPUs are not all busy: a quota or an affinity may hold the threads"))
		g.atMost(analyze.ConfidenceLow, what+", and yet not all CPUs are busy")
	}
	return g
}

// foreign is how many CPUs other tasks use, when that is a good part of them,
// more than the subject's, and the subject's own threads block too: then its
// demand is waiting for others. Threads that never block want a CPU whoever runs.
func foreign(f *analyze.Facts) (float64, bool) {
	others, ok := f.Util.OthersUsed.Get()
	cpus, okC := f.Util.CPUs.Get()
	v, okV := f.Layer2.VoluntaryShare.Get()
	return others, ok && okC && others >= partShare*float64(cpus) && others > f.Util.CPUsUsed.V && !(okV && v <= unwilling)
}

// sliceLong reports whether the stints on a CPU are as long as slices.
func sliceLong(f *analyze.Facts) bool {
	ns, ok := stint(f)
	return ok && ns >= baseSliceNS
}

func demandShown(f *analyze.Facts, claim analyze.Text) []analyze.Text {
	var out []analyze.Text
	if claim != nil {
		out = append(out, claim)
	}
	if ns, ok := stint(f); ok && ns >= baseSliceNS {
		out = append(out, text("A stint on a CPU lasts %s on average, as long as a slice (from %s).", quantity.Time(ns), quantity.Time(baseSliceNS)))
	}
	if w, ok := f.Util.WaitingRun.Get(); ok {
		out = append(out, text("Of the time in which threads want a CPU they wait for it in %s.", percent(w)))
	}
	return out
}

func crowdAdvice(want, cpus float64) []analyze.Advice {
	return []analyze.Advice{
		{Do: text("Run at most %s threads of CPU-bound work, one a CPU, and queue the rest.", quantity.Whole(cpus)),
			Effects: []analyze.Effect{{Label: "threads that want a CPU", Value: text("%s → %s", quantity.Sig(want, 2), quantity.Whole(cpus))},
				{Label: "throughput", Value: text("no less: the CPUs are full either way")}},
			Price: text("a task waits in the queue instead of on a run queue")},
		{Do: text("Where throughput counts more than delay, use SCHED_BATCH or a longer slice."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("fall as the slice grows")}}, Price: text("longer waits for everybody else")},
	}
}

// starvation is about threads that never block and yet do not get a CPU each.
type starvation struct{ want, got float64 }

func (s *starvation) text(f *analyze.Facts) analyze.Text {
	t, they := text("%s threads never block and yet use %s CPUs together", quantity.Whole(s.want), quantity.Fixed(s.got, 2)), "they wait"
	if s.want == 1 {
		t, they = text("one thread never blocks and yet uses %s CPUs", quantity.Fixed(s.got, 2)), "it waits"
	}
	if n, ok := f.Util.CPUs.Get(); ok && s.got < full*float64(n) {
		return text("%s of %d: %s for a CPU, for a quota, an affinity or other tasks", t, n, they)
	}
	return text("%s: %s for a CPU", t, they)
}

// starved finds threads that never block: each wants a whole CPU. What they
// got is the subject's CPU time, so that they must make nearly all of it.
func starved(f *analyze.Facts) *starvation {
	got, ok := f.Macro.Value(analyze.FigCPUs).Get()
	if !ok || f.Subject.Kind == analyze.SubjectMachine {
		return nil
	}
	n := 0.0
	for i := range f.Threads {
		v, okV := f.Threads[i].VoluntaryPerS.Get()
		inv, okI := f.Threads[i].InvoluntaryPerS.Get()
		if okV && okI && inv >= 1 && v < unwilling*inv {
			n++
		}
	}
	v, okV := f.Layer2.VoluntaryShare.Get()
	if n == 0 || !okV || v > unwilling || got >= starvedShare*n || math.IsNaN(got) {
		return nil
	}
	return &starvation{n, got}
}

func oversubscribedRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(oversubscribed(f)) > 0 {
		return analyze.Rival{}, false
	}
	v, okV := f.Layer2.VoluntaryShare.Get()
	ns, okS := stint(f)
	used, okU := f.Util.CPUsUsed.Get()
	n, okN := f.Util.CPUs.Get()
	want, okW := f.Util.Runnable.Get()
	switch {
	case okW && okN && want < crowded*float64(n):
		return rejected(f, "%s threads want a CPU at a time, of %d CPUs: below the %s that would crowd them", quantity.Sig(want, 2), n, quantity.Sig(crowded*float64(n), 2))
	case okV && v >= willing:
		return rejected(f, "%s of the switches are voluntary", percent(v))
	case okS && okV && ns < baseSliceNS:
		return rejected(f, "%s of CPU between switches is shorter than any slice", quantity.Time(ns))
	case okU && okN && used < float64(n)*mainShare:
		return open("R under a timer interrupt, a slice apart", "%s of %d CPUs used", quantity.Fixed(used, 3), n)
	}
	return candidate(f, "R under a timer interrupt, a slice apart; run queues longer than 1", func() (float64, string) {
		if !okS || ns < baseSliceNS || !okV {
			return 0, ""
		}
		return (1 - v) * 0.7, fmt.Sprintf("%s involuntary, %s apart", percent(1-v), quantity.Time(ns))
	})
}
