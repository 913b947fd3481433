package collect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tracer is a way to trace a target, or none.
type tracer struct {
	name  string
	start func(pid int, dir string) *exec.Cmd
	ready string // the file in dir that is there when it traces
}

func tracers() []tracer {
	perf := func(more ...string) func(int, string) *exec.Cmd {
		return func(pid int, dir string) *exec.Cmd {
			args := append([]string{"record", "-q", "-g", "-e", "sched:sched_switch"}, more...)
			return exec.Command("perf", append(args, "-o", filepath.Join(dir, "perf.data"), "-p", strconv.Itoa(pid))...)
		}
	}
	ctxan := func(mode string) func(int, string) *exec.Cmd {
		return func(pid int, dir string) *exec.Cmd {
			return helper(fmt.Sprintf("%s:%s:%d:60000", mode, filepath.Join(dir, "captures"), pid))
		}
	}
	return []tracer{
		{name: "none"},
		{"perf", perf(), "perf.data"},
		{"perf-switch-events", perf("--switch-events"), "perf.data"},
		{"ctxan", ctxan("record"), "captures/environment.txt"},
		{"ctxan-no-stacks", ctxan("record-plain"), "captures/environment.txt"},
	}
}

// run measures how long a program takes under a tracer, by the clock and by
// its CPU time, which has the tracing of its switches in it.
func (tr *tracer) run(b *testing.B, program []string) (wall, cpu time.Duration) {
	dir := b.TempDir()
	target := exec.Command("sh", append([]string{"-c", `kill -STOP $$; exec "$@"`, "sh"}, program...)...)
	target.Env = append(os.Environ(), "CTX_OUT=/dev/null")
	if err := target.Start(); err != nil {
		b.Fatal(err)
	}
	var rec *exec.Cmd
	if tr.start != nil {
		waitFor(b, func() bool { return stateOf(target.Process.Pid) == 'T' })
		rec = tr.start(target.Process.Pid, dir)
		rec.Stdout = nil
		if err := rec.Start(); err != nil {
			b.Fatal(err)
		}
		waitFor(b, func() bool { _, err := os.Stat(filepath.Join(dir, tr.ready)); return err == nil })
	}
	time.Sleep(300 * time.Millisecond) // perf makes its file before it is ready
	began := time.Now()
	if err := target.Process.Signal(syscall.SIGCONT); err != nil {
		b.Fatal(err)
	}
	if err := target.Wait(); err != nil {
		b.Fatal(err)
	}
	wall = time.Since(began)
	if rec != nil {
		if err := rec.Wait(); err != nil {
			b.Fatalf("%s: %v", tr.name, err)
		}
	}
	return wall, target.ProcessState.UserTime() + target.ProcessState.SystemTime()
}

func waitFor(b *testing.B, ok func() bool) {
	b.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("nothing happened in 10 s")
}

// stateOf is the letter of a process's state.
func stateOf(pid int) byte {
	s := procfs("/proc").line(pid, "stat")
	if i := strings.LastIndexByte(s, ')'); i >= 0 && len(s) > i+2 {
		return s[i+2]
	}
	return 0
}

// BenchmarkOverhead holds the slowdown of a program under this collector
// against that under perf record, in interleaved rounds: each iteration is one
// round of all tracers. For figures that mean something:
//
//	go test -run '^$' -bench Overhead -benchtime 15x ./cmd/internal/collect
func BenchmarkOverhead(b *testing.B) {
	needTracepoints(b)
	if _, err := exec.LookPath("perf"); err != nil {
		b.Skip("needs perf")
	}
	work, netio := workload(b, "work.c"), workload(b, "netio.cpp")
	for name, program := range map[string][]string{"pingthr": {work, "pingthr", "60000"}, "netio": {netio, "5000", "4"}} {
		b.Run(name, func(b *testing.B) { benchOverhead(b, program) })
	}
}

func benchOverhead(b *testing.B, program []string) {
	list := tracers()
	wall, cpu := make([][]float64, len(list)), make([][]float64, len(list))
	for i := 0; b.Loop(); i++ {
		for k := range list {
			at := (i + k) % len(list) // no tracer always has the same neighbour in time
			w, c := list[at].run(b, program)
			wall[at], cpu[at] = append(wall[at], w.Seconds()), append(cpu[at], c.Seconds())
		}
	}
	for what, v := range map[string][][]float64{"wall": wall, "CPU": cpu} {
		for i := range list {
			slow, lo, hi := ratios(v[i], v[0])
			b.Logf("%-4s  %-18s %.3f s, x%.3f of untraced (%.3f to %.3f)", what, list[i].name, median(v[i]), slow, lo, hi)
		}
		for _, against := range []int{1, 2} {
			m, lo, hi := ratios(v[3], v[against])
			b.Logf("%-4s  ctxan / %s: x%.3f (%.3f to %.3f)", what, list[against].name, m, lo, hi)
		}
		m, _, _ := ratios(v[3], v[2])
		b.ReportMetric(m, what+"-ctxan/perf")
		m, _, _ = ratios(v[4], v[3])
		b.ReportMetric(m, what+"-no-stacks/ctxan")
	}
}

// ratios returns the median of the rounds' quotients, and the interval that
// holds the true one with about 95 %, by rank.
func ratios(a, b []float64) (mid, lo, hi float64) {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	slices.Sort(q)
	n := len(q)
	k := 0 // ranks of a binomial with p = 1/2: n/2 ± sqrt(n)
	for k*k < n {
		k++
	}
	return median(q), q[max(n/2-k, 0)], q[min(n/2+k, n-1)]
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[n/2] + s[(n-1)/2]) / 2
}
