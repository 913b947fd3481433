package report

import (
	"fmt"
	"math"
	"strings"

	"ctxan/analyze"
	"ctxan/parse/evidence"
)

func some[T any](v T) evidence.Opt[T] { return evidence.Some(v) }

func text(format string, args ...any) analyze.Text { return analyze.Textf(format, args...) }

func code(s string) analyze.Code { return analyze.Code(s) }

// spread is a histogram of n values around a median, with a tail to max.
func spread(n int, p50, max float64) *evidence.Histogram {
	h := new(evidence.Histogram)
	for i := range n {
		x := (float64(i) + 0.5) / float64(n)
		v := p50 * math.Exp(0.35*math.Log(x/(1-x)))
		h.Add(uint64(math.Min(v, max)))
	}
	h.Add(uint64(max))
	return h
}

func quantiles(p50, p99, max float64) analyze.Quantiles {
	return analyze.Quantiles{N: 10000, P50: some(p50), P99: some(p99), Max: some(max)}
}

func ev(source, line int, figure string, value float64, unit string) analyze.Evidence {
	return analyze.Evidence{Source: source, Line: some(line), Figure: figure, Value: value, Unit: unit}
}

// referenceMacro is layer 1 of the reference capture.
func referenceMacro() analyze.Macro {
	S, T, E := ev(0, 3, "context-switches", 225908, ""), ev(0, 2, "task-clock", 4808.30, "msec"), ev(0, 11, "seconds time elapsed", 3.004342766, "s")
	M := ev(0, 4, "cpu-migrations", 344, "")
	return analyze.Macro{
		Figures: []analyze.Figure{
			{ID: "cpus_utilized", Label: "CPUs utilized", Value: some(1.600450), Digits: 3, Formula: "T / E", Arithmetic: "4,808.30 ms / 1,000 / 3.004342766 s", Reads: text("of 8"), Inputs: []analyze.Evidence{T, E}},
			{ID: "switches_per_s", Label: "switches/s", Value: some(75193.82), Unit: analyze.UnitPerS, Formula: "S / E", Arithmetic: "225,908 / 3.004342766 s", Reads: text("not the grade: whole process"), Inputs: []analyze.Evidence{S, E}},
			{ID: "switches_per_s_per_active_cpu", Label: "per active CPU", Value: some(46983.0), Unit: analyze.UnitPerS, Formula: "S / T", Arithmetic: "225,908 / 4.80830 s", Reads: text("elevated (10,000–50,000)"), Inputs: []analyze.Evidence{S, T}},
			{ID: "cpu_us_between_switches", Label: "CPU between switches", Value: some(21.2843), Unit: analyze.UnitUS, Digits: 4, Formula: "T / S", Arithmetic: "4,808.30 ms x 1,000 / 225,908", Reads: text("bounds the cost of a switch"), Inputs: []analyze.Evidence{T, S}},
			{ID: "migration_ratio", Label: "migrations", Value: some(344.0 / 225908), Unit: analyze.UnitRatio, Digits: 3, Formula: "M / S", Arithmetic: "344 / 225,908", Reads: text("low"), Inputs: []analyze.Evidence{M, S}},
			{ID: "ipc", Label: "IPC", Value: some(45927687496.0 / 13470172084), Digits: 2, Formula: "instructions / cycles", Arithmetic: "45,927,687,496 / 13,470,172,084", Reads: text("near the peak of 4–6")},
			{ID: "branch_miss_ratio", Label: "branch misses", Value: some(9926666.0 / 6325618743), Unit: analyze.UnitRatio, Digits: 3, Formula: "branch-misses / branches", Arithmetic: "9,926,666 / 6,325,618,743", Reads: text("very low")},
			{ID: "clock_ghz", Label: "clock", Value: some(2.80144), Unit: analyze.UnitGHz, Digits: 3, Formula: "cycles / T", Arithmetic: "13,470,172,084 / 4.80830 s"},
		},
		Grade: analyze.GradeElevated, GradedOn: "switches_per_s_per_active_cpu", WholeRate: analyze.GradeSevere,
		Why:        text("the whole process's 75,194/s would read severe, but the table is per core and the process used 1.600 CPUs"),
		Impact:     text("large: switching takes 0.38–1.60 CPUs (5–21.3 µs a switch)"),
		ImpactWord: "large",
		Cost: analyze.Cost{LoUS: some(5.0), HiUS: some(21.28), BoundUS: some(21.28), Bounded: true, LoCPUs: some(0.376), HiCPUs: some(1.6),
			Text:  text("75,194/s x 5–21.3 µs = 0.38–1.60 CPU-seconds a second; the table's upper end, 50 µs, is impossible here"),
			Table: "5–50 µs a switch with cache recovery (LMbench-style measurements)"},
		Sources: []int{0},
	}
}

func thread(name string, tid int, vol, invol float64, trigger string, share float64) analyze.ThreadRow {
	return analyze.ThreadRow{Name: name, TID: tid, PID: 58931, VoluntaryPerS: some(vol), InvoluntaryPerS: some(invol), SwitchesPerS: some(vol + invol),
		Share: some((vol + invol) / 75087), Trigger: trigger, TriggerShare: some(share), Evidence: []analyze.Evidence{ev(1, 73, "cswch/s", vol, "/s")}}
}

func withHists(r analyze.ThreadRow, run, delay, off [3]float64) analyze.ThreadRow {
	r.Run, r.Delay, r.OffCPU = quantiles(run[0], run[1], run[2]), quantiles(delay[0], delay[1], delay[2]), quantiles(off[0], off[1], off[2])
	r.RunHist, r.DelayHist, r.OffHist = spread(300, run[0], run[2]), spread(300, delay[0], delay[2]), spread(300, off[0], off[2])
	return r
}

func referenceThreads() []analyze.ThreadRow {
	us := 1e3
	rows := []analyze.ThreadRow{
		withHists(thread("io_mgr_1", 58988, 17633, 0, "timer sleep", 0.9996), [3]float64{17.4 * us, 65 * us, 370 * us}, [3]float64{4.26 * us, 13.4 * us, 115 * us}, [3]float64{39.1 * us, 69.7 * us, 388 * us}),
		withHists(thread("io_mgr_2", 58989, 17605, 0, "timer sleep", 0.999), [3]float64{17.9 * us, 71.7 * us, 304 * us}, [3]float64{4.3 * us, 17.8 * us, 113 * us}, [3]float64{38.9 * us, 83.5 * us, 359 * us}),
		withHists(thread("io_mgr_0", 58949, 17603, 0, "timer sleep", 0.999), [3]float64{16.3 * us, 64.4 * us, 392 * us}, [3]float64{3.93 * us, 13.7 * us, 101 * us}, [3]float64{38.9 * us, 79.6 * us, 484 * us}),
		withHists(thread("io_mgr_3", 59001, 14841, 0, "timer sleep", 0.9997), [3]float64{17.4 * us, 63.7 * us, 506 * us}, [3]float64{4.22 * us, 14.8 * us, 56.8 * us}, [3]float64{49.9 * us, 98.8 * us, 352 * us}),
	}
	for i := range rows {
		rows[i].Hot = true
	}
	for i, x := range []struct {
		name string
		vol  float64
		inv  float64
	}{{"io_recv_0", 1702, 1}, {"io_recv_1", 1688, 1}, {"io_send_0", 1655, 0}, {"io_send_1", 1641, 0}} {
		rows = append(rows, withHists(thread(x.name, 58940+i, x.vol, x.inv, "epoll wait", 0.992+float64(i)/1000),
			[3]float64{36.9 * us, 237 * us, 572 * us}, [3]float64{3.13 * us, 10.7 * us, 19.4 * us}, [3]float64{571 * us, 12100 * us, 410000 * us}))
	}
	for i := range 10 {
		rows = append(rows, thread(fmt.Sprintf("pool_%d", i), 58950+i, 71, 0.3, "futex wait", 0.9))
	}
	return rows
}

func referenceSums() (agree, kinds, tids analyze.Sum) {
	agree = analyze.Sum{ID: "rate", Mark: analyze.MarkAgree, Rows: []analyze.SumRow{
		{Label: "4 hot threads", Value: some(67682.0), Unit: analyze.UnitPerS},
		{Label: "14 other threads", Value: some(7405.0), Unit: analyze.UnitPerS},
		{Label: "layer 2, sum", Value: some(75087.0), Unit: analyze.UnitPerS, Note: text("pidstat.txt:68-85")},
		{Label: "layer 1", Value: some(75193.82), Unit: analyze.UnitPerS, Note: text("225,908 / 3.004342766 s")},
		{Label: "difference", Value: some(-0.0014), Unit: analyze.UnitRatio, Digits: -2, Note: text("allowed ±10\u00a0%%"), Mark: analyze.MarkAgree},
	}}
	kinds = analyze.Sum{ID: "kinds", Mark: analyze.MarkAgree, Rows: []analyze.SumRow{
		{Label: "voluntary, layer 2", Value: some(0.99993), Unit: analyze.UnitRatio, Digits: -2, Note: text("75,082 / 75,087")},
		{Label: "on a blocking path, layer 3", Value: some(0.99877), Unit: analyze.UnitRatio, Digits: -2, Note: text("33,361 / 33,402")},
		{Label: "difference", Value: some(0.0011), Unit: analyze.UnitPoints, Note: text("allowed 5"), Mark: analyze.MarkAgree},
	}}
	tids = analyze.Sum{ID: "tids", Mark: analyze.MarkAgree, Rows: []analyze.SumRow{
		{Label: "hot threads, layer 2", Value: some(0.9014), Unit: analyze.UnitRatio, Digits: -2, Note: text("58949 58988 58989 59001")},
		{Label: "same TIDs, layer 3", Value: some(0.9006), Unit: analyze.UnitRatio, Digits: -2, Note: text("agree, 4 of 4 TIDs"), Mark: analyze.MarkAgree},
	}}
	return agree, kinds, tids
}

const hrtimerCommand = "perf record -k CLOCK_MONOTONIC -e timer:hrtimer_start -p 58931 -o sleep.data -- sleep 1"

func referenceChain() []analyze.Link {
	agree, kinds, tids := referenceSums()
	return []analyze.Link{
		{Layer: "macro", Status: analyze.LinkSupports, Title: text("It is enough to matter"), From: []string{"perf-stat.txt"},
			Claim:      text("One switch every 21.28\u00a0µs of CPU. IPC 3.41: the code runs well when it runs. Migrations 0.152\u00a0%%."),
			Evidence:   []analyze.Evidence{ev(0, 3, "context-switches", 225908, "")},
			Arithmetic: []analyze.Sum{agree}, Share: some(1.0)},
		{Layer: "threads", Status: analyze.LinkSupports, Title: text("Four threads do it, and they do it themselves"), From: []string{"pidstat.txt", "sched.data"},
			Claim:      text("%s to %s make 90.1\u00a0%% of the switches, all voluntary; 97.5\u00a0%% of their wakeups come from a timer on an idle CPU.", code("io_mgr_0"), code("io_mgr_3")),
			Evidence:   []analyze.Evidence{ev(1, 73, "cswch/s", 17603, "/s")},
			Arithmetic: []analyze.Sum{kinds, tids}, Share: some(0.901)},
		{Layer: "stacks", Status: analyze.LinkSupports, Title: text("The code asks to sleep"), From: []string{"sched.data", "cycles.data"},
			Claim: text("90.0\u00a0%% of the switches block in %s, called from %s at %s.", code("do_nanosleep"), code("MultiHostNetworkIOMgr::task"), code("netio.cpp:37")),
			Share: some(0.9)},
	}
}

func referenceAdvice() []analyze.Advice {
	return []analyze.Advice{
		{Do: text("Block on the event (condition variable; %s for sockets) instead of sleeping until it may have come.", code("epoll_wait")),
			Effects: []analyze.Effect{
				{Label: "switches of these threads", Value: text("67,682/s → one per event")},
				{Label: "CPU", Value: text("1.600 → 0.90 at best")},
				{Label: "latency", Value: text("no worse")}},
			Sketch: "// sketch\n- poll_once();\n- std::this_thread::sleep_for(10us);\n+ std::unique_lock<std::mutex> lock(m_);\n+ ready_.wait(lock, [&] { return pending_ > 0 || stop_; });\n+ drain();", Lang: "diff"},
		{Do: text("If polling must stay, sleep 10\u00a0ms: at most 100/s a thread."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("75,194/s → at most 7,805/s (7,405 + 4 x 100), −90\u00a0%%")}}, Price: text("up to 10\u00a0ms more delay")},
		{Do: text("Merge the four loops: up to four times fewer. With 1, not instead.")},
	}
}

func referenceStacks() analyze.StackReport {
	reason := func(id, label, frame string, inv bool, n, offNS, cpu float64) analyze.ReasonRow {
		r := analyze.ReasonRow{ID: id, Label: label, Frame: frame, Involuntary: inv, Switches: some(n), SwitchShare: some(n / 33402), OffNS: some(offNS)}
		if cpu > 0 {
			r.CPUShare = some(cpu)
		}
		return r
	}
	return analyze.StackReport{
		Sources: []int{2, 3},
		Reasons: []analyze.ReasonRow{
			reason("timer-sleep", "timer sleep", "do_nanosleep", false, 30068, 1.29e9, 0.4390),
			reason("epoll", "epoll wait", "ep_poll", false, 2974, 1.88e9, 0.0841),
			reason("futex", "futex wait", "futex_do_wait", false, 319, 4.42e9, 0.0203),
			reason("return-undecided", "preempted", "exit_to_user_mode_loop", true, 27, 839e3, 0),
			reason("in-kernel", "preempted", "__cond_resched", true, 14, 432e3, 0),
		},
		TreeTitle: "by switches, callers first",
		Tree: []analyze.TreeLine{
			{Depth: 0, Share: 0.889, Symbol: "uv_runtime_sw::MultiHostNetworkIOMgr::task", File: "/src/netio.cpp", Line: 37},
			{Depth: 1, Share: 0.889, Symbol: "clock_nanosleep@GLIBC_2.2.5"},
			{Depth: 2, Share: 0.900, Symbol: "__x64_sys_clock_nanosleep"},
			{Depth: 3, Share: 0.900, Symbol: "hrtimer_nanosleep"},
			{Depth: 4, Share: 0.900, Symbol: "do_nanosleep", Blocks: true},
			{Depth: 0, Share: 0.088, Symbol: "uv__io_poll"},
			{Depth: 1, Share: 0.088, Symbol: "epoll_wait"},
			{Depth: 2, Share: 0.089, Symbol: "ep_poll", Blocks: true},
		},
		Top: []analyze.StackRow{{Frames: []string{"__schedule", "schedule", "do_nanosleep", "hrtimer_nanosleep", "common_nsleep", "__x64_sys_clock_nanosleep",
			"do_syscall_64", "entry_SYSCALL_64_after_hwframe", "clock_nanosleep@GLIBC_2.2.5", "uv_runtime_sw::MultiHostNetworkIOMgr::task", "[unknown]"},
			Reason: "timer sleep", Weight: "switches", Value: 29694, Share: 0.889, OffNS: some(1.2e9), State: "S"}},
		Callers:    []analyze.Caller{{Symbol: "uv_runtime_sw::MultiHostNetworkIOMgr::task", File: "/src/netio.cpp", Line: 37, Share: 0.889, Weight: "switches", Reason: "timer-sleep"}},
		Unresolved: some(0.012), Why: []analyze.Text{text("stripped: 1.2\u00a0%%")},
	}
}

func referenceRivals() []analyze.Rival {
	rej := func(id string, because analyze.Text) analyze.Rival {
		return analyze.Rival{ID: id, Status: analyze.RivalRejected, Because: because}
	}
	return []analyze.Rival{
		rej("hand-off", text("threads wake each other in 1.4\u00a0%% of wakeups")),
		rej("lock-contention", text("futex waits are 1.0\u00a0%% of switches")),
		rej("oversubscription", text("1.600 of 8 CPUs used, delay p99 14.8\u00a0µs")),
		rej("migration-churn", text("0.152\u00a0%% of switches")),
		rej("cold-caches", text("IPC 3.41; cache misses were not counted")),
		rej("timed-wait-polling", text("hot threads block in %s, not in futex or epoll", code("do_nanosleep"))),
		{ID: "cpu-quota", Status: analyze.RivalNotExcluded, Because: text("no cpu.stat; nothing points to it")},
	}
}

func referenceSources() []analyze.SourceInfo {
	return []analyze.SourceInfo{
		{ID: 0, Name: "perf-stat.txt", Format: "perf-stat", ReadAs: "perf stat text, process 58931", WindowS: some(3.004342766), SHA256: "9b1f6c0a5e7d3b2c4f8091a2b3c4d5e6f708192a3b4c5d6e7f80918273d27e41"},
		{ID: 1, Name: "pidstat.txt", Format: "pidstat", ReadAs: "pidstat -w -t, Average rows", WindowS: some(3.0), SHA256: "41c7ae935e7d3b2c4f8091a2b3c4d5e6f708192a3b4c5d6e7f8091827306b5f8", Dropped: 1},
		{ID: 2, Name: "sched.data", Format: "perf.data", ReadAs: "perf.data, switches and wakeups, 8 CPUs", WindowS: some(0.5), SHA256: "c07d1be25e7d3b2c4f8091a2b3c4d5e6f708192a3b4c5d6e7f80918273a4f913", Tool: "perf 6.1.187"},
		{ID: 3, Name: "cycles.data", Format: "perf.data", ReadAs: "perf.data, cycles at 999 Hz", WindowS: some(3.0), SHA256: "e8830f5d5e7d3b2c4f8091a2b3c4d5e6f708192a3b4c5d6e7f8091827377b20c", Notes: []string{"built-in event layouts used"}},
	}
}

// reference is the case of the report's design: all three layers, one cause.
func reference() *analyze.Result {
	h := evidence.Host{Name: "web-07", Release: "6.18.44", Arch: "x86_64", CPUs: some(8)}
	c := &analyze.Case{
		Subject: analyze.Subject{Kind: analyze.SubjectProcess, PID: some(58931), Comm: "netio", Host: h}, Host: h,
		Verdict: analyze.Verdict{Cause: "short-sleep-polling", Confidence: analyze.ConfidenceHigh, Ground: text("3 of 3 layers agree"),
			Summary: text("Four event-loop threads of %s poll by sleeping, 15,000 to 18,000 times a second each: 90\u00a0%% of the process's context switches.", code("netio")),
			Grade:   text("elevated: 46,983 switches/s per active CPU"),
			Impact:  text("0.70 of the 1.60 CPUs used go into the sleep call (43.90\u00a0%%)"),
			Against: []analyze.Text{text("the length of the sleep was not captured; off-CPU time says 0–36\u00a0µs"), text("the caller is named in 30.58\u00a0%% of the CPU samples only")},
			Settle:  []analyze.Command{{Line: hrtimerCommand}}},
		Macro: referenceMacro(), Threads: referenceThreads(), Chain: referenceChain(), Advice: referenceAdvice(),
		Layer2: analyze.Layer2{Sources: []int{1, 2}, VoluntaryPerS: some(75082.0), InvolPerS: some(5.0), SwitchesPerS: some(75087.0), Top: 4, Of: 18, TopShare: some(0.9014),
			VoluntaryShare: some(0.99993), Concentration: text("4 of 18 threads make 90.1\u00a0%%")},
		Stacks: referenceStacks(), Rivals: referenceRivals(),
		Findings: []analyze.Finding{{ID: "short-sleep-polling", Severity: "high", Confidence: analyze.ConfidenceHigh, Summary: text("four threads poll by sleeping"), Share: some(0.9),
			Shown: []analyze.Text{text("one sleep is one switch: 1 / 17,603/s = 56.8\u00a0µs a turn, 21.28\u00a0µs of it on a CPU, so about 36\u00a0µs asleep: the asked sleep is 0–36\u00a0µs")}}},
		Checks: []analyze.Check{
			{ID: "rates", Status: analyze.CheckDiffer, Text: text("%s 66,857/s against 75,194: −11.1\u00a0%%, explained: tracing every switch slows it", code("sched.data"))},
			{ID: "tids", Status: analyze.CheckDiffer, Text: text("%s is in pidstat.txt and not in sched.data: slept through the 0.5\u00a0s", code("pool_4"))},
			{ID: "dropped", Status: analyze.CheckMissing, Text: text("pidstat.txt:44 dropped: row cut off after 3 columns (1 of 85 lines)")},
			{ID: "loss", Status: analyze.CheckPass, Text: text("lost events 0, chain breaks 0, unresolved 1.2\u00a0%% of switches")},
		},
		Wakes: []analyze.WakeRow{
			{Waker: text("timer, CPU idle"), Wakee: text("%s", code("io_mgr_*")), Count: 29330, Share: 0.887},
			{Waker: text("network, CPU idle"), Wakee: text("%s, %s", code("io_recv_*"), code("io_send_*")), Count: 2420, Share: 0.073},
			{Waker: text("network, CPU busy"), Wakee: text("%s, %s", code("io_recv_*"), code("io_send_*")), Count: 573, Share: 0.017},
			{Waker: text("timer, CPU busy"), Wakee: text("%s", code("io_mgr_*")), Count: 501, Share: 0.015},
			{Waker: text("%s", code("io_mgr_*")), Wakee: text("%s", code("io_mgr_*")), Count: 251, Share: 0.008},
		},
		Sources: []int{0, 1, 2, 3},
		Next:    []analyze.Command{{Line: hrtimerCommand}},
	}
	for i := range 50 {
		per := 66500 + 2300*math.Sin(float64(i)*1.7)
		c.Rates = append(c.Rates, analyze.Interval{StartS: float64(i) / 100, EndS: float64(i+1) / 100, Switches: per / 100, PerS: per})
	}
	c.Hists = []analyze.NamedHist{{ID: "run", Title: "run time between switches", Unit: "ns", Total: 2001, Q: quantiles(17.4e3, 65e3, 506e3), Buckets: spread(300, 17.4e3, 506e3).Buckets()}}
	return &analyze.Result{Cases: []*analyze.Case{c}, Sources: referenceSources()}
}

// counters is the same process with layer 1 only: nothing can be told.
func counters() *analyze.Result {
	r := reference()
	c := &analyze.Case{
		Subject: analyze.Subject{Kind: analyze.SubjectProcess, PID: some(58931)},
		Verdict: analyze.Verdict{Cause: "cannot-tell", Confidence: analyze.ConfidenceNone,
			Summary:  text("Process 58931 switches often enough to look into, but nothing here says which threads do it, or why."),
			Grade:    text("elevated: 46,983 switches/s per active CPU"),
			Impact:   text("unknown: at most 21.28\u00a0µs of CPU a switch"),
			Portrait: text("efficient code, interrupted too often"),
			Settle: []analyze.Command{
				{Line: "perf record -a -g -e sched:sched_switch -e sched:sched_waking -o sched.data -- sleep 0.5", Why: text("one command, half a second, answers both missing layers (as root)")},
				{Line: "ctxan perf-stat.txt sched.data"}}},
		Macro: referenceMacro(), Sources: []int{0},
	}
	c.Macro.Figures[0].Reads = text("number of CPUs not in the input")
	c.Macro.Figures[7].Value, c.Macro.Figures[7].Missing = evidence.Opt[float64]{}, "cycles was not counted"
	c.Macro.Figures[5].Value, c.Macro.Figures[5].Missing = evidence.Opt[float64]{}, "cycles was not counted"
	agree, _, _ := referenceSums()
	agree.Mark = analyze.MarkNone
	agree.Rows = []analyze.SumRow{agree.Rows[3], {Label: "layer 2, sum", Unit: analyze.UnitPerS, Mark: analyze.MarkMissing, Note: text("no threads in the input")}}
	c.Chain = []analyze.Link{
		{Layer: "macro", Status: analyze.LinkSupports, Title: text("It is enough to matter"), From: []string{"perf-stat.txt"},
			Claim: text("One switch every 21.28\u00a0µs of CPU. Migrations 0.152\u00a0%%."), Arithmetic: []analyze.Sum{agree}, Evidence: []analyze.Evidence{ev(0, 3, "context-switches", 225908, "")}},
		{Layer: "threads", Status: analyze.LinkMissing, Title: text("Who, and willingly or not?"), Capture: some("LC_ALL=C pidstat -w -t -p 58931 1 3 > pidstat.txt")},
		{Layer: "stacks", Status: analyze.LinkMissing, Title: text("Where in the code?"), Capture: some(c.Verdict.Settle[0].Line)},
	}
	c.Rivals = []analyze.Rival{
		{ID: "short-sleep-polling", Status: analyze.RivalCandidate, Because: text("short stints (21.28\u00a0µs), high IPC"), Look: text("%s; woken by timers", code("do_nanosleep")), Fit: 0.9},
		{ID: "hand-off", Status: analyze.RivalCandidate, Because: text("short stints, few migrations"), Look: text("threads wake each other"), Fit: 0.7},
		{ID: "lock-contention", Status: analyze.RivalCandidate, Because: text("more than one CPU used"), Look: text("%s without a timeout", code("futex_wait")), Fit: 0.4},
		{ID: "migration-churn", Status: analyze.RivalRejected, Because: text("0.152\u00a0%% of switches migrate")},
		{ID: "healthy", Status: analyze.RivalRejected, Because: text("46,983/s per active CPU is above 10,000")},
		{ID: "cpu-quota", Status: analyze.RivalNotExcluded, Because: text("no cpu.stat")},
	}
	return &analyze.Result{Cases: []*analyze.Case{c}, Sources: r.Sources[:1]}
}

// machine is a recording of all tasks: several subjects, a printed profile,
// counts instead of rates, both kinds of switches.
func machine() *analyze.Result {
	row := func(name string, pid, tid int, vol, invol, migr uint64, trigger string) analyze.ThreadRow {
		r := analyze.ThreadRow{Name: name, PID: pid, TID: tid, Voluntary: some(vol), Involuntary: some(invol), Switches: some(vol + invol), Hot: true,
			Share: some(float64(vol+invol) / 41000), Migrations: some(migr), Trigger: trigger, RunNS: some(3.1e8), DelayNS: some(1.2e7)}
		return r
	}
	c := &analyze.Case{
		Subject: analyze.Subject{Kind: analyze.SubjectMachine},
		Verdict: analyze.Verdict{Cause: "oversubscription", Confidence: analyze.ConfidenceMedium, Ground: text("layer 2 decides; layer 1 was not given"),
			Summary: text("Thirty threads want two CPUs; they take turns, and each turn is a switch."),
			Grade:   text("elevated: 20,500 switches/s per CPU"), Against: nil},
		Macro: analyze.Macro{FromTrace: true, Sources: []int{0}, Figures: []analyze.Figure{
			{ID: "switches_per_s", Label: "switches/s", Value: some(41000.0), Unit: analyze.UnitPerS, Formula: "S / E", Arithmetic: "41,000 / 1.000 s", Reads: text("whole machine: graded per CPU")},
			{ID: "switches_per_s_per_active_cpu", Label: "per CPU", Missing: "the number of CPUs is not in the input"}}},
		Layer2: analyze.Layer2{Sources: []int{0}, Switches: some(uint64(41000)), Voluntary: some(uint64(15000)), Involuntary: some(uint64(26000)), Top: 3, Of: 3,
			Notes: []analyze.Text{text("no scheduling delay: the capture has no wakeup events; record %s with -a", code("-e sched:sched_waking"))}},
		Threads: []analyze.ThreadRow{row("hog", 200, 201, 120, 18000, 31, "time slice ended"), row("kworker/u8:2-events", 0, 88, 12000, 0, 2, "work queue"), row("", 300, 300, 2880, 8000, 0, "")},
		Chain: []analyze.Link{
			{Layer: "macro", Status: analyze.LinkMissing, Title: text("How much?"), Capture: some("perf stat -a -o perf-stat.txt -- sleep 3")},
			{Layer: "threads", Status: analyze.LinkSupports, Title: text("More runnable threads than CPUs"), From: []string{"a-very-long-folder-name/with/another/folder/in/it/recording-of-the-whole-machine.data"}, Claim: text("63\u00a0%% of the switches are involuntary.")},
			{Layer: "stacks", Status: analyze.LinkContradicts, Title: text("The stacks show a sleep"), Claim: text("12\u00a0%% block in %s.", code("do_nanosleep"))},
		},
		Trigger: []analyze.TriggerRow{{ID: "tick", Label: "time slice ended", Count: 24000, Share: 0.923}, {ID: "wakeup", Label: "preempted by a wakeup", Count: 2000, Share: 0.077}},
		Stacks: analyze.StackReport{Sources: []int{1}, Profile: []analyze.ProfileLine{
			{Symbol: "[unknown]", Children: some(0.6922), Self: some(0.0), Evidence: ev(1, 14, "[unknown]", 69.22, "%")},
			{Symbol: "sys_nanosleep", Children: some(0.4390), Self: some(0.0079), Reason: "timer sleep", Evidence: ev(1, 16, "sys_nanosleep", 43.90, "%")},
			{Symbol: "uv_runtime_sw::MultiHostNetworkIOMgr::task", Children: some(0.3058), Self: some(0.0127), Caller: true, Evidence: ev(1, 20, "task", 30.58, "%")}},
			Callers: []analyze.Caller{{Symbol: "main.spin", File: "main.go", Line: 12, Share: 0.41, Weight: "cpu-samples"}}},
		Findings: []analyze.Finding{
			{ID: "oversubscription", Severity: "medium", Confidence: analyze.ConfidenceMedium, Shown: []analyze.Text{text("2 CPUs, 30 runnable threads")}},
			{ID: "migration-churn", Severity: "low", Confidence: analyze.ConfidenceLow, Summary: text("The balancer moves tasks 33 times a second."), Shown: []analyze.Text{text("33 migrations in 1.000\u00a0s")},
				Against: []analyze.Text{text("few against 41,000 switches")}, Advice: []analyze.Advice{{Do: text("Pin the workers.")}}, Next: []analyze.Command{{Line: "perf stat -e cpu-migrations -a -- sleep 3"}}}},
		Hists:   []analyze.NamedHist{{ID: "delay", Title: "scheduling delay", Unit: "usecs", Total: 900, Q: quantiles(12e3, 250e3, 4e6), Buckets: []evidence.Bucket{{Lo: 4, Hi: 8, Count: 200}, {Lo: 8, Hi: 16, Count: 500}, {Lo: 16, Hi: 32, Count: 150}, {Lo: 2048, Hi: 4096, Count: 50}}}},
		Sources: []int{0},
		Next:    []analyze.Command{{Line: "cat /sys/fs/cgroup/cpu.stat", Why: text("tells a quota")}},
	}
	other := &analyze.Case{Subject: analyze.Subject{Kind: analyze.SubjectProcess, PID: some(4242), Comm: "netio"},
		Verdict: analyze.Verdict{Cause: "short-sleep-polling", Confidence: analyze.ConfidenceLow}, Layer2: analyze.Layer2{SwitchesPerS: some(9000.0)}}
	unknown := &analyze.Case{Subject: analyze.Subject{Kind: analyze.SubjectUnknown}, Verdict: analyze.Verdict{Cause: "cannot-tell", Confidence: analyze.ConfidenceNone}}
	return &analyze.Result{Cases: []*analyze.Case{c, other, unknown},
		Checks:  []analyze.Check{{ID: "subjects", Status: analyze.CheckDiffer, Text: text("the captures are of different subjects and were not merged")}},
		Sources: []analyze.SourceInfo{{ID: 0, Name: "a-very-long-folder-name/with/another/folder/in/it/recording-of-the-whole-machine.data", Format: "perf.data", ReadAs: "perf.data"}, {ID: 1, Name: "report.txt", Format: "perf-report", ReadAs: "perf report text"}}}
}

// crowd is a process of a thousand threads, all alike.
func crowd() *analyze.Result {
	r := reference()
	c := r.Cases[0]
	c.Threads = nil
	for i := range 1000 {
		t := withHists(thread(fmt.Sprintf("worker-%d", i), 60000+i, float64(2000-i), float64(i%7), "futex wait", 0.9),
			[3]float64{20e3, 80e3, 9e5}, [3]float64{3e3, 9e3, 2e5}, [3]float64{6e5, 9e6, 4e9})
		t.Hot = i < 850
		c.Threads = append(c.Threads, t)
	}
	c.Layer2.Concentration = text("850 of 1,000 threads make 90.0\u00a0%%")
	return r
}

// empty is a case of which hardly anything is known.
func empty() *analyze.Result {
	return &analyze.Result{Cases: []*analyze.Case{{Subject: analyze.Subject{Kind: analyze.SubjectUnknown},
		Verdict: analyze.Verdict{Cause: "cannot-tell", Confidence: analyze.ConfidenceNone, Summary: text("Nothing in the input decides.")}}}}
}

// hostileNames are names as an attacker, or a crash, would make them.
func hostileNames() []string {
	return []string{
		"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "a\x00b", "line\nbreak", "cr\rover", "tab\there", "back\b\bspace", "\x7fdel", "\u009b31mC1",
		"\u202egnp.exe", "\u2066iso\u2069", "zero\u200bwidth", "\ufeffbom", "soft\u00adhyphen", "\U000e0041tag", "\ufdd0mark\ufdd1", "para\u2028sep",
		"bad\xff\xfeutf8", "cut\xe2\x82", "\xc0\x80overlong", "lone\xed\xa0\x80surrogate",
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</details></summary>", "<!-- comment", "&lt;b&gt; &amp; &#x3c;", "a|b|c", `back\|slash`, `end\`, "`tick`", "``two``", "```fence", "~~~tilde", "~~struck~~",
		"# heading", "- item", "+ plus", "1. one", "> quote", "    indented", "---", "===", "| cell |", "*em* **strong**", "_u_ __uu__", "[x](javascript:alert(1))", "![img](http://evil.example/x.png)", "http://evil.example", "www.evil.example", "me@evil.example", "@everyone", "[^1]", "[ref]: http://evil.example", "- [ ] task", "$math$", ":smile:",
		strings.Repeat("x", 300), strings.Repeat("symbol::", 512), strings.Repeat("日本", 60), "e" + strings.Repeat("\u0301", 200), "ns::" + strings.Repeat("deep::", 40) + "Klass<std::map<int, int>>::method(int)", "operator<", "👩\u200d👩\u200d👧", "", " ", "  lead", "trail  ", "C:\\path\\x1b",
	}
}

// hostile has a hostile name in every place that takes one.
func hostile(name string) *analyze.Result {
	r := reference()
	c := r.Cases[0]
	h := evidence.Host{Name: name, Release: name, Arch: name, CPUs: some(8)}
	c.Host, c.Subject.Host, c.Subject.Comm, c.Subject.Command = h, h, name, name
	v := &c.Verdict
	v.Summary = text("Threads of %s poll %s.", code(name), name)
	v.Grade, v.Impact, v.Portrait, v.Ground = text("%s", code(name)), text("%s", name), text("in %s", code(name)), text("%s", name)
	v.Against = []analyze.Text{text("%s", code(name)), text("%s", name)}
	v.Settle = []analyze.Command{{Line: "perf record -o '" + name + "' -- sleep 1", Why: text("%s", code(name))}}
	for i := range c.Threads {
		t := &c.Threads[i]
		t.Name, t.Trigger = name, name
		if i > 1 {
			t.RunHist, t.DelayHist, t.OffHist = nil, nil, nil
		}
	}
	for i := range c.Chain {
		l := &c.Chain[i]
		l.Title, l.Claim, l.From = text("%s", code(name)), text("%s and %s", code(name), name), []string{name, name + "2"}
		l.Capture = some("cat '" + name + "'")
		for k := range l.Arithmetic {
			for j := range l.Arithmetic[k].Rows {
				l.Arithmetic[k].Rows[j].Label, l.Arithmetic[k].Rows[j].Note = name, text("%s", code(name))
			}
		}
	}
	for i := range c.Advice {
		c.Advice[i].Do, c.Advice[i].Price, c.Advice[i].Sketch = text("%s", code(name)), text("%s", name), "sketch\n"+strings.ReplaceAll(name, "\n", " ")
		c.Advice[i].Effects = []analyze.Effect{{Label: name, Value: text("%s", code(name))}}
	}
	for i := range c.Macro.Figures {
		f := &c.Macro.Figures[i]
		f.Reads, f.Formula, f.Arithmetic, f.Recovered = text("%s", code(name)), name, name, name
	}
	c.Macro.Why, c.Macro.Impact, c.Macro.Cost.Text, c.Macro.Cost.Table = text("%s", name), text("%s", code(name)), text("%s", name), name
	c.Macro.Figures = append(c.Macro.Figures, analyze.Figure{ID: "x", Label: name, Missing: name})
	s := &c.Stacks
	for i := range s.Reasons {
		s.Reasons[i].Label, s.Reasons[i].Frame = name, name
	}
	for i := range s.Tree {
		s.Tree[i].Symbol, s.Tree[i].File = name, name
	}
	s.Top[0].Frames, s.Top[0].Reason = []string{name, name}, name
	s.TreeTitle = name
	s.Profile = []analyze.ProfileLine{{Symbol: name, Children: some(0.5), Reason: name}}
	s.Callers = []analyze.Caller{{Symbol: name + "!", File: name, Share: 0.4, Weight: name, Reason: name}}
	s.Why = []analyze.Text{text("%s", name)}
	c.Layer2.Concentration, c.Layer2.Notes = text("%s", name), []analyze.Text{text("%s", code(name))}
	for i := range c.Wakes {
		c.Wakes[i].Waker, c.Wakes[i].Wakee = text("%s", code(name)), text("%s", name)
	}
	c.Trigger = []analyze.TriggerRow{{ID: name, Label: name, Count: 3, Share: 1}}
	for i := range c.Rivals {
		c.Rivals[i].Because, c.Rivals[i].Look = text("%s", code(name)), text("%s", name)
	}
	for i := range c.Checks {
		c.Checks[i].Text = text("%s in %s", code(name), name)
	}
	c.Findings = append(c.Findings, analyze.Finding{ID: name, Severity: name, Confidence: analyze.Confidence(name), Summary: text("%s", name),
		Shown: []analyze.Text{text("%s", code(name))}, Against: []analyze.Text{text("%s", name)}, Advice: []analyze.Advice{{Do: text("%s", name)}}, Next: []analyze.Command{{Line: name}}})
	c.Next = append(c.Next, analyze.Command{Line: "echo " + name, Why: text("%s", code(name))})
	for i := range r.Sources {
		x := &r.Sources[i]
		x.Name, x.ReadAs, x.Tool, x.Notes, x.SHA256 = name, name, name, []string{name}, name
	}
	r.Cases = append(r.Cases, &analyze.Case{Subject: analyze.Subject{Kind: analyze.SubjectProcess, PID: some(7), Comm: name}, Verdict: analyze.Verdict{Cause: name, Confidence: analyze.Confidence(name)}})
	return r
}
