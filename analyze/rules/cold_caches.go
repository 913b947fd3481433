package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// ColdCaches: each switch finds the caches full of another task's data, so that
// what the switches cost is not the switching.
var ColdCaches = &analyze.Rule{
	ID:    "cold-caches",
	Doc:   "tasks with working sets of their own take turns on a CPU, and each finds its caches cold",
	Run:   coldCaches,
	Rival: coldRival,
}

// missNS: what a miss of the last cache costs. Practice: 70 to 100 ns to memory
// on current servers.
const missNS = 80

// trendAtLeast: misses that follow the switches from interval to interval.
// Bound: half of the variance explained is 0.71; practice leaves room.
const trendAtLeast = 0.80

// lowIPC: work that waits for memory. Practice: 0.3 to 1.5.
const lowIPC = 1.0

// coldCase is what the counters show of caches.
type coldCase struct {
	perSwitch float64 // misses of the last cache
	share     float64 // of the CPU time, at missNS
	text      string
	ipc       string
	trend     analyze.MissTrend
	trended   bool
}

// coldOf: counters tell of caches only together: many switches, few
// instructions a cycle, and so many misses between two switches that most of
// the time goes into them.
func coldOf(f *analyze.Facts) *coldCase {
	per, txt, ok := figure(f, analyze.FigCacheMisses)
	us, _, okB := figure(f, analyze.FigBetween)
	ipc, ipcText, okI := figure(f, analyze.FigIPC)
	if !ok || !okB || !okI || ipc >= lowIPC || f.Macro.Grade.Rank() < analyze.GradeElevated.Rank() {
		return nil
	}
	c := &coldCase{perSwitch: per, share: min(per*missNS/(us*1e3), 1), text: txt, ipc: ipcText}
	if c.share < partShare {
		return nil
	}
	c.trend, c.trended = f.Macro.MissTrend.Get()
	if c.trended && c.trend.R < trendAtLeast {
		return nil // the misses do not follow the switches
	}
	return c
}

func coldCaches(f *analyze.Facts) []analyze.Finding {
	c := coldOf(f)
	if c == nil {
		return nil
	}
	g := ground{}
	g.fit(fmt.Sprintf("%s cache misses between two switches, at %d ns each %s of the CPU time", c.text, missNS, percent(c.share)))
	g.fit("IPC " + c.ipc)
	why := "a fit: " + g.reasons[0] + ", and IPC " + c.ipc + "; work that waits for memory by itself looks alike"
	if c.trended {
		g.fit(fmt.Sprintf("misses follow the switches over %d intervals (correlation %s)", c.trend.Intervals, quantity.Fixed(c.trend.R, 2)))
		why = "a fit: " + g.reasons[0] + "; they rise with the switches over " + quantity.Whole(float64(c.trend.Intervals)) + " intervals, and who shares the CPU is not in the input"
	}
	g.atMost(analyze.ConfidenceLow, why)
	fd := analyze.Finding{ID: "cold-caches", Severity: severity(f)}
	g.apply(&fd)
	fd.Summary = text("%s find%s its caches cold after switches: %s misses between two of them.", subjectName(f), verbS(f), c.text)
	fd.Claim = text("%s cache misses come on a switch; at %d ns each they take %s of the CPU time. IPC is %s.", c.text, missNS, percent(c.share), c.ipc)
	fd.Shown = []analyze.Text{fd.Claim}
	for _, id := range []string{analyze.FigCacheMisses, analyze.FigIPC} {
		if fig, ok := f.Macro.Figure(id); ok {
			fd.Evidence = append(fd.Evidence, fig.Inputs...)
		}
	}
	fd.Advice = []analyze.Advice{
		{Do: text("Keep tasks with different working sets off each other's CPU: one cpuset for each (taskset, cpuset), those that share data together."),
			Effects: []analyze.Effect{{Label: "misses", Value: text("%s a switch → those of the task alone", c.text)}}, Price: text("CPUs that one of them cannot use")},
		{Do: text("Switch less: batch the work, so that a task does more each time its data is in the cache."), Effects: []analyze.Effect{{Label: "misses", Value: text("fall with the switches")}}},
	}
	fd.Next = []analyze.Command{missIntervals(f)}
	return settled(f, fd)
}

// missIntervals counts switches and misses over time, which tells misses that
// follow the switches from those of the work.
func missIntervals(f *analyze.Facts) analyze.Command {
	return analyze.Command{Line: "perf stat -I 100 -e task-clock,context-switches,cache-misses,instructions,cycles " + target(f) + " -o misses.txt -- sleep 5",
		Why: text("whether the misses rise with the switches from one tenth of a second to the next")}
}

func coldRival(f *analyze.Facts) (analyze.Rival, bool) {
	if coldOf(f) != nil {
		return analyze.Rival{}, false
	}
	t, ok := f.Macro.MissTrend.Get()
	_, txt, okP := figure(f, analyze.FigCacheMisses)
	switch {
	case ok && t.R < trendAtLeast:
		return rejectedByCounters("over %d intervals the cache misses do not follow the switches (correlation %s)", t.Intervals, quantity.Fixed(t.R, 2))
	case okP:
		return rejectedByCounters("%s cache misses on a switch are no large part of the CPU time, or the code runs well", txt)
	}
	return analyze.Rival{}, false
}
