package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// SchedYieldSpin: a loop that yields instead of blocking. The thread stays
// runnable, so that the kernel counts its switches as involuntary.
var SchedYieldSpin = &analyze.Rule{
	ID:    "sched-yield-spin",
	Doc:   "threads spin with sched_yield instead of blocking; their switches count as involuntary",
	Run:   yieldSpin,
	Rival: yieldRival,
}

var yields = ofClass(signature.ClassYield)

func yieldSpin(f *analyze.Facts) []analyze.Finding {
	share, g := yieldOf(f)
	if g == nil || share < partShare {
		return nil
	}
	g.compare(f)
	fd := analyze.Finding{ID: "sched-yield-spin", Severity: severity(f), Share: some(share)}
	g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	ws := heaviest(allWaiters(f))
	if fd.Confidence == analyze.ConfidenceLow {
		fd.Summary = text("%s give%s up the CPU while still runnable, %s: as a loop around sched_yield does.", threadsOf(f, ws), s(len(ws)), rateSpan(ws))
	} else {
		fd.Summary = text("%s spin%s with sched_yield, %s: %s.", threadsOf(f, ws), s(len(ws)), rateSpan(ws), partOf(f, share))
	}
	fd.Claim = yieldClaim(f, share)
	fd.Shown = yieldShown(f, fd.Claim)
	fd.Evidence = rateEvidence(ws)
	fd.Advice = yieldAdvice(f)
	fd.Next = settle(f, ws)
	return settled(f, fd)
}

// yieldOf looks for yields by the best evidence there is.
func yieldOf(f *analyze.Facts) (float64, *ground) {
	g := &ground{}
	if share := triggerShare(f, analyze.TriggerYield); share > 0 {
		g.decide(stacks, percent(share)+" of the switches are in sched_yield")
		if share < mainShare {
			g.atMost(analyze.ConfidenceLow, percent(share)+" of the switches are in sched_yield, a cause beside others")
		}
		agreeInvoluntary(f, g)
		return share, g
	}
	v, ok := f.Layer2.VoluntaryShare.Get()
	ns, okS := stint(f)
	if f.Has.Stacks || !ok || v > unwilling || !okS || ns > spinStintNS || f.Wake.Total >= fewGaps {
		return 0, nil
	}
	g.fit(fmt.Sprintf("%s of the switches are involuntary", percent(1-v)))
	g.fit(fmt.Sprintf("only %s of CPU lie between them, far less than any slice", quantity.Time(ns)))
	if path, of, _ := cpuPath(f, yields); path >= cpuPathShare && of >= dominance {
		g.decide(stacks, percent(path)+" of the CPU samples lie in a yield")
		g.agree(threads, "the rates are those of yields")
		return 1 - v, g
	}
	g.atMost(analyze.ConfidenceLow, fmt.Sprintf("a fit: all involuntary, with %s of CPU between two switches; no stack shows sched_yield", quantity.Time(ns)))
	return 1 - v, g
}

func agreeInvoluntary(f *analyze.Facts, g *ground) {
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && independent(f) && v <= unwilling {
		g.agree(threads, percent(1-v)+" of them are involuntary")
	}
}

func yieldClaim(f *analyze.Facts, share float64) analyze.Text {
	if t := f.Triggers[analyze.TriggerYield]; t.Switches > 0 {
		return text("%s of the switches are yields%s.", percent(share), mostly(t.Frame))
	}
	if path, _, top := cpuPath(f, yields); top != nil {
		return text("%s of the CPU samples lie in a yield%s.", percent(path), mostly(top.Frame))
	}
	return nil
}

func yieldShown(f *analyze.Facts, claim analyze.Text) []analyze.Text {
	var out []analyze.Text
	if claim != nil {
		out = append(out, claim)
	}
	if ns, ok := stint(f); ok {
		out = append(out, text("%s of CPU lie between two switches; a slice has at least %s. These are no ends of slices, and more CPUs are not what is missing.",
			quantity.Time(ns), quantity.Time(baseSliceNS)))
	}
	return out
}

func yieldAdvice(f *analyze.Facts) []analyze.Advice {
	now := "all of them"
	if r, ok := switchRate(f); ok {
		now = quantity.PerS(r)
	}
	return []analyze.Advice{
		{Do: text("Block instead of yielding: spin for a bounded time with a pause instruction, then wait on a condition variable or futex."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("%s → one per event", now)}, {Label: "CPU", Value: text("what the spinning takes")}},
			Price:   text("a wakeup of some microseconds when the wait is longer than the spin")},
		{Do: text("In OpenMP, MPI or BLAS: OMP_WAIT_POLICY=passive, KMP_BLOCKTIME=0, OPENBLAS_NUM_THREADS at most the number of cores, no more ranks than cores.")},
	}
}

const yieldLook = "__x64_sys_sched_yield; involuntary, microseconds apart"

func yieldRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(yieldSpin(f)) > 0 {
		return analyze.Rival{}, false
	}
	v, ok := f.Layer2.VoluntaryShare.Get()
	switch {
	case ok && v >= willing:
		return rejected(f, "%s of the switches are voluntary; a yield is not", percent(v))
	case f.Has.Stacks:
		share := triggerShare(f, analyze.TriggerYield)
		if share > 0 {
			return ruledOut(f, share, partShare, yieldLook, "%s of the switches are in sched_yield", percent(share))
		}
		return ruledOut(f, share, partShare, yieldLook, "no switch is in sched_yield")
	}
	return candidate(f, yieldLook, func() (float64, string) {
		if !worthRanking(f) {
			return 0, ""
		}
		fit, why := 0.30, "runnable at every switch"
		if ok {
			fit, why = 0.80*(1-v), percent(1-v)+" involuntary"
		}
		if ns, okS := stint(f); okS && ns > spinStintNS*4 {
			return fit / 4, "CPU between switches speaks against it"
		}
		if ipc, txt, has := figure(f, analyze.FigIPC); has && ipc >= highIPC {
			return fit + 0.1, "IPC " + txt + " suits a spin loop"
		}
		return fit, why
	})
}
