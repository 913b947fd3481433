package rules

import (
	"fmt"
	"strings"

	"ctxan/analyze"
)

// maxTIDs is how many thread ids a command lists.
const maxTIDs = 16

// target is the option of perf that watches the subject: perf keeps only the
// last of several -t, so ids are a list, and -a excludes -p.
func target(f *analyze.Facts) string {
	s := &f.Subject
	switch {
	case s.PID.OK:
		return fmt.Sprintf("-p %d", s.PID.V)
	case s.Kind == analyze.SubjectThreads && len(s.TIDs) > 0:
		return "-t " + ids(s.TIDs)
	case s.Kind == analyze.SubjectMachine:
		return "-a"
	case len(s.TIDs) > 0:
		return "-p " + ids(s.TIDs)
	}
	return "-p PID"
}

// threadTarget watches a few threads.
func threadTarget(f *analyze.Facts, ws []waiter) string {
	if len(ws) == 0 || len(ws) > maxTIDs {
		return target(f)
	}
	tids := make([]int, len(ws))
	for i := range ws {
		tids[i] = ws[i].t.Task.TID
	}
	return "-t " + ids(tids)
}

func ids(ns []int) string {
	s := make([]string, len(ns))
	for i, n := range ns {
		s[i] = fmt.Sprint(n)
	}
	return strings.Join(s, ",")
}

// wakeups records switches and wakeups of the whole machine, with stacks: who
// waits, who wakes, and in which code.
func wakeups() analyze.Command {
	return analyze.Command{Line: analyze.CaptureBoth(), Why: text("who wakes them, after how long, and in which code (as root)")}
}

// switchStacks records the subject's switches with stacks.
func switchStacks(f *analyze.Facts, ws []waiter) analyze.Command {
	return analyze.Command{Line: "perf record -g -e sched:sched_switch " + threadTarget(f, ws) + " -o sched.data -- sleep 0.5",
		Why: text("what each switch waits for")}
}

// sleepTimers records the timers that the subject sets: the exact length of its sleeps.
func sleepTimers(f *analyze.Facts) analyze.Command {
	return analyze.Command{Line: "perf record -k CLOCK_MONOTONIC -e timer:hrtimer_start " + target(f) + " -o sleep.data -- sleep 1",
		Why: text("the length of each sleep: softexpires less the time of the sample")}
}

// settle is the command that decides where the evidence does not.
func settle(f *analyze.Facts, ws []waiter) []analyze.Command {
	switch {
	case !f.Has.Stacks:
		return []analyze.Command{switchStacks(f, ws)}
	case !f.Has.Wakeups:
		return []analyze.Command{wakeups()}
	}
	return nil
}
