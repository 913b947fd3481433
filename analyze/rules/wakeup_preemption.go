package rules

import (
	"fmt"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// WakeupPreemption: another task is woken again and again on this CPU, and
// takes it. The victim's slice has not ended.
var WakeupPreemption = &analyze.Rule{
	ID:    "wakeup-preemption",
	Doc:   "a task that is woken often preempts the threads before their slices end",
	Run:   wakeupPreemption,
	Rival: func(*analyze.Facts) (analyze.Rival, bool) { return analyze.Rival{}, false },
}

func wakeupPreemption(f *analyze.Facts) []analyze.Finding {
	invol, ok := involuntaryShare(f)
	ns, okS := stint(f)
	if !ok || invol < mainShare {
		return nil
	}
	known := triggerShare(f, analyze.TriggerWakeup, analyze.TriggerRemoteWakeup)
	timers := triggerShare(f, analyze.TriggerTimer)
	g, share := ground{}, known
	switch {
	case known >= mainShare && f.Wake.Total >= fewGaps || known >= mainShare && f.Has.Stacks:
		g.decide(threads, fmt.Sprintf("%s of the switches follow a wakeup of the next task", percent(known)))
	case known+timers >= mainShare && !tickRate(f):
		share += timers
		g.decide(stacks, fmt.Sprintf("%s of the switches are under a timer interrupt, more often than a tick comes (%d a second at most)", percent(share), slowestTickPerS))
	default:
		return nil
	}
	agreeInvoluntary(f, &g)
	g.compare(f)
	fd := analyze.Finding{ID: "wakeup-preemption", Severity: severity(f), Share: some(share)}
	g.apply(&fd)
	ws := heaviest(allWaiters(f))
	verb := "are"
	if len(ws) == 1 {
		verb = "is"
	}
	fd.Summary = text("%s %s preempted by tasks that are woken on the same CPU, %s: %s.", threadsOf(f, ws), verb, rateSpan(ws), partOf(f, share))
	fd.Claim = text("%s of the switches are preemptions by a woken task.", percent(share))
	fd.Shown = []analyze.Text{fd.Claim}
	if okS {
		fd.Shown = append(fd.Shown, text("%s of CPU lie between two switches; a slice has at least %s: no slices end here.", quantity.Time(ns), quantity.Time(baseSliceNS)))
	}
	fd.Evidence = rateEvidence(ws)
	if who := mostTaken(f); who != nil {
		fd.Shown = append(fd.Shown, who.shown(f))
		fd.Advice = who.advice()
		fd.Next = []analyze.Command{wakeups()}
		return settled(f, fd)
	}
	fd.Advice = []analyze.Advice{
		{Do: text("Find which task takes the CPU, with the command given to settle it, and move it to another CPU, or the threads (cpuset, taskset)."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("those of the preempting task go with it")}}},
		{Do: text("If it has a real-time priority that it does not need, lower it; else make it wake less often."), Price: text("its own delay")},
	}
	switch {
	case f.Has.Trace:
		fd.Next = []analyze.Command{{Line: tookCPU(f, ws), Why: text("which tasks took the CPU, from the recording at hand")}}
	default:
		fd.Next = []analyze.Command{wakeups()}
	}
	return settled(f, fd)
}

// tookCPU counts, in a recording of switches, which tasks ran next after the
// first of the threads: every switch event names both, as prev_pid=TID or as
// COMM:TID, which depends on perf's plugins.
func tookCPU(f *analyze.Facts, ws []waiter) string {
	file, tid := "FILE", ""
	if len(ws) > 0 {
		file, tid = recordingOf(f, ws[0].t), fmt.Sprint(ws[0].t.Task.TID)
	}
	return "perf script -i " + file + " -F trace | grep -E '[=:]" + tid + " .*==>' | sed 's/.*==> //' | sort | uniq -c | sort -rn | head"
}

// recordingOf names a recording by perf that holds the thread's switches, by
// the ending that perf's own files have. A name that a shell would act on is
// left for the reader to fill in.
func recordingOf(f *analyze.Facts, t *analyze.ThreadFact) string {
	for _, id := range t.Sources {
		if name := f.Names[id]; strings.HasSuffix(name, ".data") && !strings.ContainsAny(name, " '\"$`\\;&|<>()*?\n") && name[0] != '-' {
			return name
		}
	}
	return "FILE"
}

// tickRate reports whether the threads lose the CPU no more often than ticks
// may take it.
func tickRate(f *analyze.Facts) bool {
	for i := range hot(f) {
		if involuntaryPerS(&f.Threads[i]) > slowestTickPerS {
			return false
		}
	}
	return true
}

// involuntaryPerS is how often a thread is preempted: in the stacks where they
// tell, so that it belongs to their frames, else by its counters. How many of a
// pair's switches are involuntary differs from one capture to the next.
func involuntaryPerS(t *analyze.ThreadFact) float64 {
	trig, all := 0.0, 0.0
	for _, n := range t.Triggers {
		trig += n
	}
	all = trig
	for _, r := range t.Blocking {
		all += r.Switches
	}
	if all > 0 {
		return t.SwitchesPerS.V * trig / all
	}
	return t.InvoluntaryPerS.V
}

// slowestTickPerS: a thread that is preempted more often than this is not
// preempted by ticks. Kernel: HZ=1000 is the highest configured.
const slowestTickPerS = 1000

// taker is the task that takes the CPU most often, when it does so for the most
// part.
type taker struct{ analyze.TakenFact }

func mostTaken(f *analyze.Facts) *taker {
	if len(f.Taken.Rows) == 0 || f.Taken.Rows[0].Count < mainShare*f.Taken.Total {
		return nil
	}
	return &taker{f.Taken.Rows[0]}
}

func (k *taker) shown(f *analyze.Facts) analyze.Text {
	t := text("%s takes the CPU in %s of these switches", name(k.Task), percent(k.Count/f.Taken.Total))
	if k.RanN > 0 {
		t = text("%s, and runs for %s each time", t, quantity.Time(k.RanNS/k.RanN))
	}
	return text("%s.", t)
}

func (k *taker) advice() []analyze.Advice {
	return []analyze.Advice{
		{Do: text("Move %s to another CPU, or the threads that it takes the CPU from (cpuset, taskset).", name(k.Task)),
			Effects: []analyze.Effect{{Label: "switches", Value: text("those that it makes → none")}}},
		{Do: text("If %s has a real-time priority or a weight that it does not need, lower it; else make it wake less often.", name(k.Task)), Price: text("its own delay")},
	}
}
