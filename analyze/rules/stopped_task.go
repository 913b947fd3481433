package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// StoppedTask: somebody stopped the process, or froze its group. It does not
// wait for anything of its own.
var StoppedTask = (&waiting{
	id: "stopped-task", doc: "threads are stopped by a signal, or frozen with their control group",
	pass: ofClass(signature.ClassStop),
	many: "are stopped by a signal or frozen", one: "is stopped by a signal or frozen", noun: "stops by a signal or the freezer", look: "do_signal_stop in state T, do_freezer_trap",
	blind: inState(evidence.StateT, 0.80, "stops (T)"),
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Find who stops it: a job control signal (SIGSTOP, SIGTSTP, SIGTTOU of a background job that writes to its terminal), cpulimit, a debugger, or a container that is paused (%s).", code("cgroup.freeze")),
				Effects: []analyze.Effect{{Label: "stops", Value: text("none once nobody sends them")}}},
			{Do: text("To limit CPU use, take a quota or a lower weight (cpu.max, cpu.weight, nice) instead of stopping and continuing.")},
		}
	},
	next: []analyze.Command{{Line: "perf record -a -e signal:signal_generate -o signals.data -- sleep 1", Why: text("who sends which signal: perf script -i signals.data (as root)")}},
}).rule()

// inState ranks a cause by the share of switch-outs in a state that a trace
// shows without stacks.
func inState(s evidence.State, base float64, what string) func(*analyze.Facts) (float64, string) {
	return func(f *analyze.Facts) (float64, string) {
		n, all := 0.0, 0.0
		for i := range f.Threads {
			st := f.Threads[i].States
			if st == nil {
				continue
			}
			for _, k := range st {
				all += float64(k)
			}
			n += float64(st[s])
		}
		if all == 0 || n < mainShare*all {
			return 0, ""
		}
		return base * n / all, percent(n/all) + " of the switches are " + what
	}
}
