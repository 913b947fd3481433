package rules

import (
	"fmt"
	"math"
	"strconv"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// Healthy: the switches cost too little to matter, and nothing says that
// threads wait for a CPU they do not get.
var Healthy = &analyze.Rule{
	ID:    "healthy",
	Doc:   "the switches are few or wanted, and cost next to nothing",
	Run:   healthy,
	Rival: healthyRival,
}

func healthy(f *analyze.Facts) []analyze.Finding {
	if odd(f) != nil {
		return nil
	}
	if !cheap(f) {
		return fed(f)
	}
	fig, why := rateInWords(f)
	g := ground{}
	calm(f, &g, why)
	fd := analyze.Finding{ID: "healthy", Severity: "info", Share: evidence.Opt[float64]{}}
	g.apply(&fd)
	if loop := eventLoop(f); len(loop) > 0 && loop[0].Confidence.Rank() >= fd.Confidence.Rank() {
		return nil // said already, and with the reason
	}
	fd.Summary = text("%s switch%s %s: too few to cost anything that matters.", subjectName(f), es(f), fig)
	fd.Shown = []analyze.Text{text("%s.", upper(why))}
	if per, _, ok := figure(f, analyze.FigPerActive); ok && per < healthyPerS(f) { // else the sentence before says it
		fd.Shown = append(fd.Shown, costBound(f))
	}
	if w := waitsFor(f.Blocking, wanted); switchWaits(f) && w.top != nil {
		fd.Claim = text("%s These are ordinary waits.", blocks(f, &w))
		fd.Shown = append(fd.Shown, fd.Claim)
	}
	for i := range f.Macro.Figures {
		if fg := &f.Macro.Figures[i]; fg.ID == analyze.FigRate {
			fd.Evidence = fg.Inputs
		}
	}
	if fd.Confidence != analyze.ConfidenceHigh {
		fd.Next = settle(f, nil)
	}
	return settled(f, fd)
}

// calm weighs what speaks for few and wanted switches; why is their rate in words.
func calm(f *analyze.Facts, g *ground, why string) {
	l := counters
	if !f.Has.Counters {
		l = threads
	}
	g.decide(l, why)
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && v >= mainShare {
		g.agree(threads, quantity.Percent(v, 1)+" of them are voluntary")
	}
	if w := waitsFor(f.Blocking, wanted); switchWaits(f) && w.ofWaits >= mainShare {
		g.agree(stacks, quantity.Percent(w.share, 1)+" of them are ordinary waits")
	}
	if one, two, ok := crossRates(f); ok && max(one, two)*costliest(f)/1e6 >= cheapCPUs {
		if !g.contrast(f) {
			g.atMost(analyze.ConfidenceMedium, "") // against says why
		}
	} else {
		g.compareWillingness(f) // both rates are next to nothing, however far apart
	}
	apart(f, g)
	if w := f.Macro.ImpactWord; w == "notable" || w == "large" {
		g.differs |= counters
		g.oppose(text("with cold caches the switches would take %s of a CPU or more", percent(costShare)))
	}
	if g.layers() <= 1 && !switchWaits(f) && !(l == threads && f.Layer2.VoluntaryShare.V >= mainShare) {
		g.atMost(analyze.ConfidenceLow, "the rate alone: "+why)
	} else if g.agrees&stacks == 0 {
		g.atMost(analyze.ConfidenceMedium, "few switches, and they are voluntary; what they wait for is not in the input")
	}
}

// apart lowers the conclusion when threads and stacks do not agree on how many
// of the switches are voluntary.
func apart(f *analyze.Facts, g *ground) {
	v, ok := f.Layer2.VoluntaryShare.Get()
	invol, okI := stacksInvoluntary(f)
	if ok && okI && independent(f) && math.Abs(1-invol-v) > analyze.AgreeWithin {
		t := fmt.Sprintf("%s of the switches are voluntary by the threads' counts, %s by the stacks", percent(v), percent(1-invol))
		g.atMost(analyze.ConfidenceMedium, "")
		g.note(text("%s", t))
	}
}

// wanted are waits of a program that has nothing to do. A futex whose caller is
// hidden is not among them: it may be a lock.
func wanted(r signature.Reason) bool {
	switch r.Class {
	case signature.ClassSleep, signature.ClassCond, signature.ClassTimed, signature.ClassEvent, signature.ClassIPC,
		signature.ClassNetwork, signature.ClassChild, signature.ClassRuntime, signature.ClassWorker:
		return true
	}
	return false
}

// rateInWords writes the rate, and why it is low.
func rateInWords(f *analyze.Facts) (rate, why string) {
	r, _ := switchRate(f)
	rate = times(r)
	per, txt, ok := figure(f, analyze.FigPerActive)
	if ok && per < healthyPerS(f) {
		return rate, txt + " switches/s per active CPU, below " + quantity.Whole(healthyPerS(f))
	}
	return rate, quantity.PerS(r) + " in all: at most " + percent(r*costliest(f)/1e6) + " of a CPU at " + trimmed(costliest(f)) + " µs a switch"
}

// healthyPerS is the end of the grade "healthy"; costliest the upper end of what
// a switch costs with cold caches, in microseconds.
func healthyPerS(f *analyze.Facts) float64 { return f.Macro.Scales.Below(analyze.GradeHealthy) }

func costliest(f *analyze.Facts) float64 { return f.Macro.Scales.Cost.HiUS }

// trimmed writes microseconds without trailing zeros.
func trimmed(us float64) string { return strconv.FormatFloat(us, 'f', -1, 64) }

// cheapCPUs: a hundredth of a CPU is nothing to look for.
const cheapCPUs = 0.01

// cheap reports whether the switches cannot cost much: the grade is healthy,
// or there are so few that even cold caches do not make them dear.
func cheap(f *analyze.Facts) bool {
	if one, ok := f.Macro.Value(analyze.FigRate).Get(); ok && one == 0 && f.Layer2.SwitchesPerS.V*costliest(f)/1e6 >= cheapCPUs {
		return false // a counter of 0 beside threads that switch is not to be believed
	}
	if r, ok := switchRate(f); ok && r*costliest(f)/1e6 < cheapCPUs {
		return true
	}
	if f.Macro.Grade == analyze.GradeHealthy {
		return true
	}
	return f.Macro.Grade == analyze.GradeNormal && (f.Macro.ImpactWord == "negligible" || f.Macro.ImpactWord == "low")
}

// switchRate is the rate of layer 1, or else of layer 2.
func switchRate(f *analyze.Facts) (float64, bool) {
	if r, ok := f.Macro.Value(analyze.FigRate).Get(); ok {
		return r, true
	}
	return f.Layer2.SwitchesPerS.Get()
}

// odd is what speaks against calling few switches healthy: threads that want
// a CPU and do not get it switch seldom too.
func odd(f *analyze.Facts) analyze.Text {
	if t := wanting(f); t != nil {
		return t
	}
	if w := waitsFor(f.Blocking, troubled); switchWaits(f) && w.ofWaits >= mainShare {
		return text("%s of the switches are no ordinary waits: %s", percent(w.share), labels(&w))
	}
	one, ok1 := f.Macro.Value(analyze.FigRate).Get()
	two, ok2 := f.Layer2.SwitchesPerS.Get()
	if ok1 && ok2 && !f.Macro.FromTrace && one > (1+partShare)*two && one-two > churnPerS {
		return text("layer 1 counts %s and the threads only %s: what the rest do is not known", quantity.PerS(one), quantity.PerS(two))
	}
	return nil
}

// troubled are waits that mean something when they are the most.
func troubled(r signature.Reason) bool {
	switch r.Class {
	case signature.ClassExit, signature.ClassFutex: // a futex without a name may be either
		return false
	}
	return !wanted(r) || r.Class == signature.ClassChild
}

// wanting says that threads want a CPU and wait for it, or may: when most
// switches are involuntary, few of them are fine only if it is known that the
// threads get the CPU time they want.
func wanting(f *analyze.Facts) analyze.Text {
	if st := starved(f); st != nil {
		return st.text(f)
	}
	invol, ok := involuntaryShare(f)
	if !ok || invol <= mainShare {
		return nil
	}
	w, okW := f.Util.WaitingRun.Get()
	switch {
	case okW && w >= partShare:
		return text("threads wait for a CPU in %s of the time in which they want one", percent(w))
	case okW && f.Preempt != nil, served(f):
		return nil
	}
	return text("%s of the switches are involuntary, and whether the threads wait for a CPU is not in the input", percent(invol))
}

// served reports whether every thread that never blocks has a CPU of its own,
// as far as rates and CPU time tell.
func served(f *analyze.Facts) bool {
	_, ok := f.Macro.Value(analyze.FigCPUs).Get()
	for i := range f.Threads {
		ok = ok && f.Threads[i].VoluntaryPerS.OK && f.Threads[i].InvoluntaryPerS.OK
	}
	return ok && len(f.Threads) > 0 && starved(f) == nil
}

// costBound bounds what the switches can cost, with the arithmetic.
func costBound(f *analyze.Facts) analyze.Text {
	r, ok := switchRate(f)
	if !ok {
		return nil
	}
	return text("At %s µs a switch, the upper end of what is measured with cold caches, %s take %s of a CPU.", trimmed(costliest(f)), quantity.PerS(r), percent(r*costliest(f)/1e6))
}

func healthyRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(healthy(f)) > 0 {
		return analyze.Rival{}, false
	}
	per, txt, ok := figure(f, analyze.FigPerActive)
	switch t := odd(f); {
	case t == nil && cheap(f):
		return analyze.Rival{}, false
	case t != nil:
		return analyze.Rival{Status: analyze.RivalRejected, Because: t}, true
	case ok && per >= elevatedPerS(f):
		return rejectedByCounters("%s per active CPU is not below %s", txt+"/s", quantity.Whole(elevatedPerS(f)))
	}
	return analyze.Rival{}, false
}

// elevatedPerS is where the grade "elevated" begins.
func elevatedPerS(f *analyze.Facts) float64 { return f.Macro.Scales.Below(analyze.GradeNormal) }
