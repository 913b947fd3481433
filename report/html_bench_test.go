package report

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"ctxan/analyze"
	"ctxan/analyze/rules"
	"ctxan/parse/evidence"
)

// manyStacks is what a recording of a million switches of forty threads comes
// to when it has n distinct call chains of 12 to 40 frames.
func manyStacks(n int) *evidence.Set {
	rnd := rand.New(rand.NewPCG(7, 8))
	set := &evidence.Set{}
	b := set.NewBuilder("sched.data", "perf.data")
	b.Source().Target = evidence.Target{Kind: evidence.TargetProcess, IDs: []int{4711}}
	b.Source().Window.DurationS = evidence.Some(10.0)
	t := evidence.StackTable{Event: "sched:sched_switch"}
	for i := range 20_000 {
		t.Frames = append(t.Frames, evidence.Frame{Symbol: fmt.Sprintf("app::module_%d::Service<std::string>::handle_%d(int)", i%300, i), Module: "/opt/app/bin/server"})
	}
	kernel := []string{"__schedule", "schedule", "do_nanosleep", "hrtimer_nanosleep", "common_nsleep", "__x64_sys_clock_nanosleep", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"}
	first := int32(len(t.Frames))
	for _, s := range kernel {
		t.Frames = append(t.Frames, evidence.Frame{Symbol: s, Module: "[kernel.kallsyms]", Kernel: true})
	}
	for tid := range 40 {
		t.Tasks = append(t.Tasks, evidence.Task{PID: 4711, TID: 4711 + tid, Comm: fmt.Sprintf("worker-%d", tid)})
		b.Thread(evidence.TaskStats{Task: t.Tasks[tid], Voluntary: evidence.Some(uint64(25_000)), Involuntary: evidence.Some(uint64(0))})
	}
	for i := range n {
		var st []int32
		for k := range kernel {
			st = append(st, first+int32(k))
		}
		// Callers are shared by many stacks, leaves by few.
		depth, at := 4+rnd.IntN(29), rnd.IntN(50)
		user := make([]int32, depth)
		for d := depth - 1; d >= 0; d-- {
			at = (at*7 + rnd.IntN(1+2*(depth-d))) % 20_000
			user[d] = int32(at)
		}
		t.Stacks = append(t.Stacks, append(st, user...))
		for range 3 {
			t.Samples = append(t.Samples, evidence.StackSample{Task: int32(rnd.IntN(40)), Stack: int32(i), State: evidence.StateS, Count: 3, Weight: 3, OffNS: 90_000 + rnd.Uint64N(1e6), OffN: 3})
		}
	}
	b.Stacks(t)
	return set
}

// BenchmarkHTML draws a page of a hundred thousand distinct stacks, analysis
// included, and reports the most memory that it took beyond the evidence.
func BenchmarkHTML(b *testing.B) {
	set := manyStacks(100_000)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak, stop := watchHeap()
	b.ReportAllocs()
	for b.Loop() {
		r, err := analyze.Run(set, rules.All(), analyze.Options{Drawings: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := HTML(io.Discard, r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	stop()
	b.ReportMetric(float64(*peak-min(*peak, before.HeapAlloc))/(1<<20), "peak-MiB")
	b.ReportMetric(float64(before.HeapAlloc)/(1<<20), "evidence-MiB")
}

// watchHeap samples the size of the heap until it is stopped.
func watchHeap() (peak *uint64, stop func()) {
	peak = new(uint64)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*peak = max(*peak, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return peak, func() { close(done); wg.Wait() }
}
