package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// CPUQuota: a control group has used up its CPU time, and its threads are kept
// from the CPUs until the next period. It looks like a lack of CPUs, and idle
// CPUs stand beside it.
var CPUQuota = &analyze.Rule{
	ID:    "cpu-quota",
	Doc:   "the CPU quota of a control group keeps threads from running while CPUs are idle",
	Run:   cpuQuota,
	Rival: quotaRival,
}

var byQuota = ofClass(signature.ClassQuota)

// quotaCase is what the facts show of a quota.
type quotaCase struct {
	idle  float64 // switches to the idle task of threads that were still runnable
	share float64 // of the switches
	w     wait
	quota *analyze.QuotaFact // what the group's own counts say; nil: not captured, or nothing
	g     ground
}

func cpuQuota(f *analyze.Facts) []analyze.Finding {
	c := quotaOf(f)
	if c == nil {
		return nil
	}
	fd := analyze.Finding{ID: "cpu-quota", Severity: severity(f), Share: some(c.share)}
	c.g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	fd.Summary = c.summary(f)
	fd.Claim = c.claim()
	fd.Shown = c.shown(f, fd.Claim)
	fd.Evidence = append(rateEvidence(heaviest(allWaiters(f))), reasonEvidence(c.w.reasons)...)
	if c.quota != nil {
		fd.Evidence = append(fd.Evidence, c.quota.Evidence...)
	}
	fd.Advice = quotaAdvice()
	if c.quota == nil {
		fd.Next = []analyze.Command{quotaCounts(f)}
	}
	return settled(f, fd)
}

// quotaOf looks for what only a quota does: the scheduler always takes a
// runnable task before it goes idle, unless it is not allowed to.
func quotaOf(f *analyze.Facts) *quotaCase {
	c := &quotaCase{idle: f.Taken.Idle, w: waitsFor(f.Blocking, byQuota), quota: throttled(f)}
	invol, known := involuntaryShare(f)
	c.share = c.w.share
	if f.Taken.Total > 0 {
		c.share = max(c.share, invol*c.idle/f.Taken.Total)
	}
	switch {
	case c.w.share >= partShare:
		c.g.decide(stacks, percent(c.w.share)+" of the switches are in the kernel's throttling")
	case c.idle >= fewIdles && c.share >= traceShare:
	case c.quota != nil && known && invol >= mainShare:
		c.share = invol
		what := c.quota.Text().String()
		c.g.decide(counters, what)
		c.g.atMost(analyze.ConfidenceMedium, what+"; which of the switches that made is not in the input")
		return c
	default:
		return nil
	}
	if c.idle >= fewIdles {
		c.g.decide(threads, fmt.Sprintf("a CPU went idle %s times although the thread that left it wanted to go on", quantity.Whole(c.idle)))
	}
	if c.share < partShare {
		c.g.atMost(analyze.ConfidenceMedium, fmt.Sprintf("a CPU went idle %s times although the thread that left it wanted to go on, in %s of the switches", quantity.Whole(c.idle), percent(c.share)))
	}
	if st := starved(f); st != nil && !f.Macro.FromTrace {
		c.g.agree(counters, st.text(f).String())
	}
	if c.quota != nil {
		c.g.agree(counters, c.quota.Text().String())
		return c
	}
	c.g.note(text("the limit itself is not in the input; real-time throttling (sched_rt_runtime_us) of tasks with real-time priority looks alike"))
	return c
}

// oftenThrottled is the share of periods from which on a quota is felt.
// Source: the alert CPUThrottlingHigh of the Kubernetes mixin.
const oftenThrottled = 0.25

// throttled is the quota that stopped a group most often while it was watched;
// nil when none did so often.
func throttled(f *analyze.Facts) *analyze.QuotaFact {
	for i := range f.Quota {
		q := &f.Quota[i]
		if v, ok := q.Share.Get(); ok && v >= oftenThrottled && !q.SinceStart && q.Throttled.V >= fewIdles {
			return q
		}
	}
	return nil
}

// fewIdles: fewer are accidents of a recording. Practice: a quota of the usual
// period, 100 ms, keeps a group from its CPUs up to ten times a second.
const fewIdles = 5

func (c *quotaCase) summary(f *analyze.Facts) analyze.Text {
	if h := f.Preempt; h != nil && h.N >= fewGaps {
		return text("A CPU quota keeps the threads of %s from running, up to %s at a time: %s.", subjectIn(f), quantity.Time(float64(h.Max)), partOf(f, c.share))
	}
	return text("A CPU quota keeps the threads of %s from running: %s.", subjectIn(f), partOf(f, c.share))
}

func (c *quotaCase) claim() analyze.Text {
	if c.idle < fewIdles && c.w.top == nil {
		return text("%s.", upper(c.quota.Text().String()))
	}
	if c.idle == 0 {
		return text("%s of the switches are in the kernel's throttling%s.", percent(c.share), mostly(c.w.top.Frame))
	}
	return text("In %s of the switches the CPU goes idle although the thread that leaves it is still runnable (%s times).", percent(c.share), quantity.Whole(c.idle))
}

func (c *quotaCase) shown(f *analyze.Facts, claim analyze.Text) []analyze.Text {
	out := []analyze.Text{claim}
	if c.idle >= fewIdles {
		out = append(out, text("The scheduler goes idle only when no task may run: a runnable task that is left for it is held back by its group's limit."))
		if c.quota != nil {
			out = append(out, text("%s.", upper(c.quota.Text().String())))
		}
	}
	if used, txt, ok := figure(f, analyze.FigCPUs); ok {
		if n, okN := f.Util.CPUs.Get(); okN && used < full*float64(n) {
			out = append(out, text("The subject uses %s of %d CPUs.", txt, n))
		}
	}
	return out
}

func quotaAdvice() []analyze.Advice {
	return []analyze.Advice{
		{Do: text("Raise or drop the quota (cpu.max, cpu.cfs_quota_us; a container's CPU limit), and keep weights for fairness."),
			Effects: []analyze.Effect{{Label: "pauses", Value: text("up to a period less the quota (tens of milliseconds) → none")}}, Price: text("the group may use CPUs that others want")},
		{Do: text("If the limit must stay, run no more busy threads than the quota has CPUs: GOMAXPROCS, the size of thread pools, -j."),
			Effects: []analyze.Effect{{Label: "pauses", Value: text("the quota lasts the whole period")}}},
		{Do: text("Allow a burst (cpu.max.burst) for short peaks."), Price: text("the unused time of earlier periods is spent")},
	}
}

// quotaCounts reads how often the group was throttled.
func quotaCounts(f *analyze.Facts) analyze.Command {
	pid := "PID"
	if p, ok := f.Subject.PID.Get(); ok {
		pid = fmt.Sprint(p)
	}
	return analyze.Command{Line: analyze.QuotaCounts(pid), Why: text("twice, some seconds apart: whether nr_throttled grows, which counts how often the quota was used up")}
}

// outsiders is the share of the preemptions by tasks that are not the subject's:
// where others want the CPU, a group that is held back leaves none of it idle.
func outsiders(f *analyze.Facts) float64 {
	if f.Taken.Total == 0 {
		return 0
	}
	return (f.Taken.Total - f.Taken.Inside - f.Taken.Idle) / f.Taken.Total
}

func quotaRival(f *analyze.Facts) (analyze.Rival, bool) {
	if quotaOf(f) != nil {
		return analyze.Rival{}, false
	}
	const look = "runnable tasks left for the idle task; nr_throttled in cpu.stat"
	v, ok := f.Layer2.VoluntaryShare.Get()
	switch {
	case f.Taken.Total >= fewGaps && f.Taken.Idle == 0 && outsiders(f) < partShare:
		return rejected(f, "no CPU went idle while a thread that left it wanted to go on")
	case f.Taken.Total >= fewGaps && f.Taken.Idle == 0:
		return open(look, "no CPU went idle while a thread that left it wanted to go on, and %s of them left it to other programs, which run on while a group is held back", percent(outsiders(f)))
	case ok && v > unwilling:
		return analyze.Rival{}, false
	}
	st := starved(f)
	if st == nil {
		return analyze.Rival{}, false
	}
	return analyze.Rival{Status: analyze.RivalCandidate, Because: st.text(f), Look: text(look), Fit: 0.45}, true
}
