package rules

import (
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// rejected is a rival with the one figure that rejects it. The figure is of
// layers 2 and 3: where they hold the lesser part of what layer 1 counts, they
// reject nothing.
func rejected(f *analyze.Facts, format string, args ...any) (analyze.Rival, bool) {
	if t := lesserPart(f); t != nil {
		return analyze.Rival{Status: analyze.RivalNotExcluded, Because: t}, true
	}
	return rejectedByCounters(format, args...)
}

// rejectedByCounters is a rival that a figure of layer 1 rejects.
func rejectedByCounters(format string, args ...any) (analyze.Rival, bool) {
	return analyze.Rival{Status: analyze.RivalRejected, Because: text(format, args...)}, true
}

// ruledOut rejects a rival by its share of the switch stacks, when those that
// nothing explains could not bring it to the limit.
func ruledOut(f *analyze.Facts, share, limit float64, look, format string, args ...any) (analyze.Rival, bool) {
	if u := untold(f); share+u >= limit {
		return open(look, "the stacks of %s of the switches tell no reason", percent(u))
	}
	return rejected(f, format, args...)
}

// lesserPart says that layer 1 counts far more than the threads do: children,
// or threads that were not captured.
func lesserPart(f *analyze.Facts) analyze.Text {
	one, two, ok := crossRates(f)
	if !ok || one <= otherLoad*two {
		return nil
	}
	return text("layer 1 counts %s and the threads only %s: what the others do is not in the input", quantity.PerS(one), quantity.PerS(two))
}

// open is a rival that the captures do not exclude.
func open(look, format string, args ...any) (analyze.Rival, bool) {
	return analyze.Rival{Status: analyze.RivalNotExcluded, Because: text(format, args...), Look: text("%s", look)}, true
}

// involuntaryCase reports whether next to no switch is voluntary, so that what
// threads wait for is not the question.
func involuntaryCase(f *analyze.Facts) bool {
	v, ok := f.Layer2.VoluntaryShare.Get()
	return ok && v <= unwilling
}

func rejectedInvoluntary(f *analyze.Facts) (analyze.Rival, bool) {
	return rejected(f, "%s of the switches are voluntary", quantity.Percent(f.Layer2.VoluntaryShare.V, 1))
}

// candidate ranks a cause that nothing in the input decides, by how well the
// counters and rates fit it. Where stacks or wakeups are at hand and show
// nothing of it, it is merely not excluded.
func candidate(f *analyze.Facts, look string, fit func() (float64, string)) (analyze.Rival, bool) {
	v, because := fit()
	if f.Has.Unnamed {
		return open(look+" (give the kernel's symbols with --kallsyms)", "%s", missing(f))
	}
	if v <= 0 {
		return analyze.Rival{}, false
	}
	if top := solePath(f); top != nil {
		_, of, _ := cpuPath(f, ofID(top.Reason.ID))
		return rejected(f, "of the CPU samples on waiting paths %s are of one kind: %s", percent(of), top.Reason.Label)
	}
	r := analyze.Rival{Status: analyze.RivalCandidate, Because: text("%s", because), Look: text("%s", look), Fit: v}
	if f.Has.Stacks || f.Has.CPUStacks || f.Has.Wakeups {
		r.Status, r.Because, r.Fit = analyze.RivalNotExcluded, text("%s", missing(f)), 0
	}
	return r, true
}

// solePath is the one waiting path of the CPU samples, when it is a sleep by
// timer or a yield, which no other cause goes through.
func solePath(f *analyze.Facts) *analyze.ReasonFact {
	if f.Has.Stacks {
		return nil
	}
	for _, pass := range []func(signature.Reason) bool{timerSleep, yields} {
		if share, of, top := cpuPath(f, pass); share >= cpuPathShare && of >= dominance {
			return top
		}
	}
	return nil
}

// missing names the evidence that would tell.
func missing(f *analyze.Facts) string {
	switch {
	case f.Has.Unnamed:
		return "the kernel frames of the switches have no names"
	case !f.Has.Stacks && !f.Has.Wakeups:
		return "what each switch waits for, and who wakes whom, is not in the input"
	case !f.Has.Stacks:
		return "what each switch waits for is not in the input"
	}
	return "who wakes whom is not in the input"
}

// worthRanking: below this nobody asks for the cause.
func worthRanking(f *analyze.Facts) bool {
	if r, ok := switchRate(f); ok && f.Macro.Grade == analyze.GradeNone {
		return r*costliest(f)/1e6 >= costShare
	}
	return f.Macro.Grade.Rank() >= analyze.GradeElevated.Rank() || f.Macro.ImpactWord == "notable" || f.Macro.ImpactWord == "large"
}

// fitWaits weighs a cause of voluntary switches: by the voluntary share where
// it is known, and by what else the counters show.
func fitWaits(f *analyze.Facts, base float64, traits ...string) (float64, string) {
	if !worthRanking(f) {
		return 0, ""
	}
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok {
		base *= v
		traits = append(traits, quantity.Percent(v, 1)+" voluntary")
	}
	return base, strings.Join(traits, ", ")
}

// shortStintNS: the CPU time between switches of a thread that has next to
// nothing to do each time. Practice; a request of any size costs more.
const shortStintNS = 50_000

// fitShortWaits weighs causes that make a thread run for microseconds.
func fitShortWaits(f *analyze.Facts, base float64, ipcTells bool) (float64, string) {
	var traits []string
	if us, txt, ok := figure(f, analyze.FigBetween); ok && us*1e3 > shortStintNS {
		return fitWaits(f, base/2, "long stints ("+txt+")")
	} else if ok {
		traits = append(traits, "short stints ("+txt+")")
	}
	if ipc, _, ok := figure(f, analyze.FigIPC); ok && ipcTells && ipc >= highIPC {
		traits = append(traits, "high IPC")
		base += 0.05
	}
	return fitWaits(f, base, traits...)
}

// highIPC: near the peak of 4 to 6 of current cores; such code does not wait
// for memory. Practice.
const highIPC = 2.5
