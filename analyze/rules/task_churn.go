package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// TaskChurn: processes or threads are made for a moment's work each.
var TaskChurn = &analyze.Rule{
	ID:    "task-churn",
	Doc:   "many short-lived processes or threads are started, and each start and end is a few switches",
	Run:   taskChurn,
	Rival: func(*analyze.Facts) (analyze.Rival, bool) { return analyze.Rival{}, false },
}

func taskChurn(f *analyze.Facts) []analyze.Finding {
	w := waitsFor(f.Blocking, ofClass(signature.ClassChild, signature.ClassExit))
	ended, all := endedTasks(f)
	g := ground{}
	share := w.share + awaited(f)
	switch {
	case switchWaits(f) && share >= mainShare && childRate(f, share) >= churnPerS:
		g.decide(stacks, fmt.Sprintf("%s of the switches start, await or end tasks", percent(share)))
	case !f.Has.Stacks && shortLived(f, ended, all):
		share = endedShare(f)
	default:
		return churnByCounters(f)
	}
	if shortLived(f, ended, all) {
		g.fit(fmt.Sprintf("%d of its %d tasks end within the capture", ended, all))
		g.fit("they switch once or twice before")
	}
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && independent(f) && v >= mainShare {
		g.agree(threads, percent(v)+" of them are voluntary")
	}
	g.contrast(f)
	if !f.Has.Stacks {
		g.atMost(analyze.ConfidenceLow, fmt.Sprintf("a fit: %d of its %d tasks end within the capture after a switch or two; the end of a program looks alike", ended, all))
	}
	fd := analyze.Finding{ID: "task-churn", Severity: severity(f), Share: some(share)}
	g.apply(&fd)
	fd.Summary = churnSummary(f, ended, share)
	if w.top != nil {
		fd.Claim = blocks(f, &w)
		fd.Shown = append(fd.Shown, fd.Claim)
	}
	if ended > 0 {
		fd.Shown = append(fd.Shown, text("%d of %d tasks of the subject end within the capture.", ended, all))
	}
	fd.Evidence = reasonEvidence(w.reasons)
	fd.Advice = churnAdvice()
	fd.Next = []analyze.Command{churnEvents()}
	return settled(f, fd)
}

func churnAdvice() []analyze.Advice {
	return []analyze.Advice{
		{Do: text("Keep the workers: a pool of threads or processes that take jobs, instead of one made for each."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("at least four per job (start, exec, end, the wait for it) → one or two")}}, Price: text("a worker must be cleaned between jobs")},
		{Do: text("In a shell, use built-ins and one process for many items (xargs, awk) instead of a command for each.")},
	}
}

func churnEvents() analyze.Command {
	return analyze.Command{Line: "perf record -a -g --buildid-all -e sched:sched_process_fork -e sched:sched_process_exec -o churn.data -- sleep 1", Why: text("who starts what, how often (as root)")}
}

// awaited is the share of the waits for a join that belong to the exits: each
// task that ends is awaited at most once, in a futex that tells no more.
func awaited(f *analyze.Facts) float64 {
	ends := max(waitsFor(f.Blocking, ofClass(signature.ClassExit)).share, unseenEnds(f))
	if ends < partShare {
		return 0
	}
	return min(ends, waitsFor(f.Blocking, ofID("futex", "thread-join")).share)
}

// unseenEnds is how many ends of tasks a trace of a process has for each of its
// switches, where it does not have the last switch of those tasks: the kernel
// takes the events of a task off it before.
func unseenEnds(f *analyze.Facts) float64 {
	ends, switches := 0.0, 0.0
	for i := range f.Threads {
		t := &f.Threads[i]
		switches += float64(t.Switches.V)
		if t.Ended && (t.States == nil || t.States[evidence.StateX]+t.States[evidence.StateZ] == 0) {
			ends++
		}
	}
	if switches == 0 {
		return 0
	}
	return min(ends/switches, 1)
}

// churnPerS: fewer waits for children than this are a shell at work. Practice.
const churnPerS = 50

// childRate is how often a second the subject waits for its children.
func childRate(f *analyze.Facts, share float64) float64 {
	r, _ := switchRate(f)
	return r * share
}

// endedTasks counts the subject's tasks that ended in the capture.
func endedTasks(f *analyze.Facts) (ended, all int) {
	for i := range f.Threads {
		st := f.Threads[i].States
		if st == nil && !f.Threads[i].Ended {
			continue
		}
		all++
		if f.Threads[i].Ended || st[evidence.StateX]+st[evidence.StateZ] > 0 {
			ended++
		}
	}
	return ended, all
}

// shortLived reports whether most tasks end within the capture, having done
// next to nothing, one after the other: tasks that live side by side want CPUs.
func shortLived(f *analyze.Facts, ended, all int) bool {
	if all < fewGaps || float64(ended) < mainShare*float64(all) {
		return false
	}
	if want, ok := f.Util.Runnable.Get(); ok && want >= crowded*float64(f.Util.CPUs.Or(1)) {
		return false
	}
	switches := 0.0
	for i := range f.Threads {
		if t := &f.Threads[i]; t.States != nil && t.States[evidence.StateX]+t.States[evidence.StateZ] > 0 {
			switches += float64(t.Switches.V)
		}
	}
	return switches <= 3*float64(ended)
}

// endedShare is the share of the switches that ended tasks, and as many that
// awaited them.
func endedShare(f *analyze.Facts) float64 {
	dead, all := 0.0, 0.0
	for i := range f.Threads {
		st := f.Threads[i].States
		if st == nil {
			continue
		}
		for k, n := range st {
			all += float64(n)
			if k == int(evidence.StateX) || k == int(evidence.StateZ) {
				dead += float64(n)
			}
		}
	}
	if all == 0 {
		return 0
	}
	return min(2*dead/all, 1)
}

func churnSummary(f *analyze.Facts, ended int, share float64) analyze.Text {
	if w, ok := f.Layer2.WindowS.Get(); ok && ended > 0 && w > 0 && !independent(f) {
		return text("%s start%s and end%s tasks, %s a second: %s.", subjectName(f), verbS(f), verbS(f), quantity.Whole(float64(ended)/w), partOf(f, share))
	}
	return text("%s start%s tasks and wait%s for them to end: %s.", subjectName(f), verbS(f), verbS(f), partOf(f, share))
}

// churnByCounters: perf stat follows the children that a process starts, and
// per-process rates do not. What the counters have more than the threads is
// children, when as many pages are faulted in as new address spaces need.
func churnByCounters(f *analyze.Facts) []analyze.Finding {
	one, two, ok := crossRates(f)
	faults, txt, okF := figure(f, analyze.FigFaults)
	if !ok || !okF || f.Has.Trace || f.Has.Stacks || !f.Subject.PID.OK || one < (1+partShare)*two || one-two < churnPerS || faults < faultsPerChild*(one-two)/switchesPerChild {
		return nil
	}
	g := ground{}
	more := fmt.Sprintf("layer 1 counts %s and the process's own threads %s", quantity.PerS(one), quantity.PerS(two))
	g.fit(more)
	g.fit(txt + " page faults a second, as new address spaces make")
	g.atMost(analyze.ConfidenceLow, "a fit: "+more+", and "+txt+" page faults a second: children, or threads that came and went")
	fd := analyze.Finding{ID: "task-churn", Severity: severity(f), Share: some((one - two) / one)}
	g.apply(&fd)
	fd.Summary = text("%s start%s short-lived processes, as it looks: %s of the switches are of children that only the counters follow.", subjectName(f), verbS(f), percent((one-two)/one))
	fd.Claim = text("%s; %s page faults a second, %s on each switch.", upper(more), txt, quantity.Sig(faults/one, 2))
	fd.Shown = []analyze.Text{fd.Claim}
	for _, id := range []string{analyze.FigRate, analyze.FigFaults} {
		if fig, has := f.Macro.Figure(id); has {
			fd.Evidence = append(fd.Evidence, fig.Inputs...)
		}
	}
	fd.Advice = churnAdvice()
	fd.Next = []analyze.Command{churnEvents()}
	return settled(f, fd)
}

// A process that is started faults in some hundred pages for its stack, its
// libraries and the copies of its parent's, and switches some times until it
// ends. Practice: 100 for the smallest, statically linked; 30 switches for one
// that works.
const (
	faultsPerChild   = 100
	switchesPerChild = 30
)
