package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The benchmarks named Against run ctxan and a peer in turn on one file and
// report how many times faster ctxan is (x-faster, the median of the pairs'
// ratios) with its peak memory (MiB-peak). They need recordings of load in
// $CTXAN_LOAD; `make record-load` makes them. The header walk is no peer but the
// floor: a C program that reads the file and looks at each record's size only.

// peer is one comparison.
type peer struct {
	name, file string
	ctxan      []string
	other      []string
}

func peers(dir string) []peer {
	at := func(f string) string { return filepath.Join(dir, f) }
	out := func(f string, args ...string) peer {
		return peer{f, at(f), append(args, at(f)), nil}
	}
	withOther := func(p peer, name string, other ...string) peer {
		p.name, p.other = name, other
		return p
	}
	return []peer{
		withOther(out("wakeup.data"), "wakeup.data/perf-sched-latency", "perf", "sched", "latency", "-i", at("wakeup.data")),
		withOther(out("wakeup.data"), "wakeup.data/perf-sched-timehist-s", "perf", "sched", "timehist", "-s", "-i", at("wakeup.data")),
		withOther(out("sched.data"), "sched.data/perf-sched-timehist-s", "perf", "sched", "timehist", "-s", "-i", at("sched.data")),
		withOther(out("wakeup.data"), "wakeup.data/header-walk", at("bin/wread"), at("wakeup.data")),
		withOther(out("stacks.data"), "stacks.data/perf-report-stdio", "perf", "report", "--stdio", "-i", at("stacks.data")),
		withOther(out("timehist.txt"), "timehist.txt/mawk-sum", "mawk", "{s+=$NF} END {print s}", at("timehist.txt")),
	}
}

func BenchmarkAgainst(b *testing.B) {
	dir := os.Getenv("CTXAN_LOAD")
	if dir == "" {
		b.Skip("no recordings of load: set CTXAN_LOAD to the folder that `make record-load` filled")
	}
	bin := filepath.Join(b.TempDir(), "ctxan")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, p := range peers(dir) {
		b.Run(p.name, func(b *testing.B) { against(b, bin, p) })
	}
}

func against(b *testing.B, bin string, p peer) {
	if _, err := os.Stat(p.file); err != nil {
		b.Skip(err)
	}
	if _, err := exec.LookPath(p.other[0]); err != nil {
		b.Skip(err)
	}
	if st, err := os.Stat(p.file); err == nil {
		b.SetBytes(st.Size())
	}
	var ratios []float64
	var peak int64
	timed(b, bin, p.ctxan) // warm the page cache for both
	for b.Loop() {
		ours, rss := timed(b, bin, p.ctxan)
		b.StopTimer()
		theirs, _ := timed(b, p.other[0], p.other[1:])
		b.StartTimer()
		ratios = append(ratios, theirs.Seconds()/ours.Seconds())
		peak = max(peak, rss)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-faster")
	b.ReportMetric(float64(peak)/1024, "MiB-peak")
}

// timed runs a command to its end and returns its wall time and peak memory in KiB.
func timed(b *testing.B, name string, args []string) (time.Duration, int64) {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdout = io.Discard
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatal(fmt.Errorf("%s %v: %w", name, args, err))
	}
	return time.Since(start), maxRSS(cmd.ProcessState)
}
