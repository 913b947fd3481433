package export

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"ctxan/parse/evidence"
)

// manyStacks is a capture of 100,000 distinct stacks of 40 frames and a million
// switches.
func manyStacks() *evidence.Set {
	t := evidence.StackTable{Event: "sched:sched_switch", Kind: evidence.StackSwitch}
	for i := range 20_000 {
		t.Frames = append(t.Frames, evidence.Frame{Symbol: fmt.Sprintf("ns::klass%d::method(int, std::string const&)", i), Module: "/usr/bin/app", Addr: uint64(i)})
	}
	for i := range 1000 {
		t.Tasks = append(t.Tasks, evidence.Task{PID: 1, TID: i + 1, Comm: fmt.Sprintf("worker-%d", i)})
	}
	for i := range 100_000 {
		chain := make([]int32, 40)
		for k := range chain {
			chain[k] = int32((i*7 + k*k*31) % len(t.Frames))
		}
		t.Stacks = append(t.Stacks, chain)
		t.Samples = append(t.Samples, evidence.StackSample{Task: int32(i % 1000), Stack: int32(i), State: evidence.StateS, Count: 10, Weight: 10, OffNS: 1000, OffN: 10, DelayNS: 50})
	}
	set := &evidence.Set{}
	set.NewBuilder("many", "perf.data").Stacks(t)
	return set
}

func benchmarkStacks(b *testing.B, write func(io.Writer, *evidence.Set) error) {
	set := manyStacks()
	b.ReportAllocs()
	for b.Loop() {
		if err := write(io.Discard, set); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
}

func BenchmarkPprof(b *testing.B) { benchmarkStacks(b, Pprof) }

func BenchmarkFolded(b *testing.B) {
	benchmarkStacks(b, func(w io.Writer, set *evidence.Set) error { return Folded(w, set, "") })
}

func BenchmarkStacksCSV(b *testing.B) { benchmarkStacks(b, stacksCSV) }

func BenchmarkTrace(b *testing.B) {
	w := NewTrace(io.Discard)
	s := Stint{Task: evidence.Task{PID: 1, TID: 2, Comm: "worker"}, CPU: 1, Start: 7502123456789, End: 7502123457789, State: evidence.StateS}
	b.ReportAllocs()
	b.SetBytes(1) // MB/s reads as million stints a second
	for b.Loop() {
		w.Stint(s)
	}
}
