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
	return analyze.Command{Line: analyze.RecordSwitches + threadTarget(f, ws) + " -o sched.data -- sleep 0.5",
		Why: text("what each switch waits for")}
}

// sleepTimers records the timers that the subject sets: the exact length of its sleeps.
func sleepTimers(f *analyze.Facts) analyze.Command {
	return analyze.Command{Line: "perf record -k CLOCK_MONOTONIC -e timer:hrtimer_start " + target(f) + " -o sleep.data -- sleep 1",
		Why: text("the length of each sleep: softexpires less the time of the sample")}
}

// kernelSymbols saves the symbols that the frames of a recording lack.
func kernelSymbols() analyze.Command {
	return analyze.Command{Line: analyze.CopyKallsyms,
		Why: text("on the machine of the recording, before it reboots; then give it with --kallsyms: the names of the kernel frames")}
}

// together takes counts and stacks at the same moment, so that they compare.
func together(f *analyze.Facts) analyze.Command {
	who := ""
	switch s := &f.Subject; {
	case s.PID.OK:
		who = fmt.Sprintf(" -p %d", s.PID.V)
	case s.Kind == analyze.SubjectProcess && len(s.TIDs) > 0:
		who = " -p " + ids(s.TIDs)
	}
	return analyze.Command{Line: "LC_ALL=C pidstat -w -t" + who + " 1 1 > pidstat.txt & " + analyze.CaptureBoth() + "; wait",
		Why: text("counts and stacks of the same moment, so that they compare (as root)")}
}

// larger records the same with buffers that lose less.
func larger() analyze.Command {
	return analyze.Command{Line: analyze.CaptureLarger(), Why: text("the same with larger buffers: events were lost (as root)")}
}

// settled is the end of every rule: a conclusion that is not sure, or that a
// failed check may lower, says what would settle it.
func settled(f *analyze.Facts, fd analyze.Finding) []analyze.Finding {
	one, two, ok := crossRates(f)
	switch {
	case len(fd.Next) > 0:
	case f.Loss.LostRecords+f.Loss.LostSamples > 0:
		fd.Next = []analyze.Command{larger()}
	case fd.Confidence != analyze.ConfidenceHigh, ok && max(one/two, two/one) > otherLoad:
		fd.Next = []analyze.Command{together(f)}
	}
	if fd.Confidence == analyze.ConfidenceLow {
		fd.Advice = fd.Conditional()
	}
	return []analyze.Finding{fd}
}

// settle is the command that decides where the evidence does not.
func settle(f *analyze.Facts, ws []waiter) []analyze.Command {
	switch {
	case f.Has.Unnamed:
		return []analyze.Command{kernelSymbols()}
	case !f.Has.Stacks:
		return []analyze.Command{switchStacks(f, ws)}
	case !f.Has.Wakeups:
		return []analyze.Command{wakeups()}
	}
	return nil
}
