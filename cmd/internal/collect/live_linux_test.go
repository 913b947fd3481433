package collect

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ctxan/parse/evidence"
)

// TestCounts holds voluntary and involuntary switches of every thread against
// what the threads themselves got from getrusage.
func TestCounts(t *testing.T) {
	needTracepoints(t)
	work, netio := workload(t, "work.c"), workload(t, "netio.cpp")
	for _, c := range [][]string{
		{netio, "2000", "4"}, {work, "mutex", "500", "4"}, {work, "hog", "200", "4"}, {work, "pingthr", "10000"}, {work, "pingproc", "10000"},
		{work, "yield", "10000", "2"}, {work, "migrate", "1000", "4"}, {work, "fsync", "50", "2"}, {work, "churn", "200"},
	} {
		t.Run(strings.Join(append([]string{filepath.Base(c[0])}, c[1:]...), " "), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "usage")
			t.Setenv("CTX_OUT", out)
			agrees(t, func() error { return counts(t, Options{Command: c}, out) })
		})
	}
}

// agrees tries some times: a thread can be preempted between its last look at
// its counters and its end, more often the busier the machine.
func agrees(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 12 {
		if err = try(); err == nil {
			return
		}
		t.Log(err)
	}
	t.Error(err)
}

// counts measures a command and holds the capture against what its threads say.
func counts(t *testing.T, opt Options, out string) error {
	t.Helper()
	opt.Dir = newDir(t)
	res := measured(t, opt)
	if res.Step != StepTracepoint || len(res.Missing) > 0 || res.Lost > 0 || !res.Ended || res.Exit != 0 {
		t.Errorf("result %+v", res)
	}
	// Events of CPUs also see the last switch of a task that ends.
	if res.Switches != res.Counted && (opt.hooks.fds == 0 || !near(int(res.Switches), int(res.Counted))) {
		t.Errorf("%d switches recorded, %d counted", res.Switches, res.Counted)
	}
	set := read(t, filepath.Join(res.Dir, "perf.data"))
	before := contextSwitches(t, filepath.Join(res.Dir, "threads-before.txt"))
	var errs []error
	for _, u := range usages(t, out) {
		errs = append(errs, checkUsage(set, u, before[u.tid]))
	}
	return errors.Join(errs...)
}

// checkUsage holds one thread against the capture. What it switched before the
// measurement (from its fork to its exec) is in getrusage's figures only.
func checkUsage(set *evidence.Set, u usage, before [2]int) error {
	for i := range set.Threads {
		x := &set.Threads[i]
		if x.Task.TID != u.tid {
			continue
		}
		vol, invol := int(x.Voluntary.V)+before[0], int(x.Involuntary.V)+before[1]
		if !near(vol, u.vol) || !near(invol, u.invol) {
			return fmt.Errorf("%s %d: %d voluntary, %d involuntary; getrusage says %d, %d", u.name, u.tid, vol, invol, u.vol, u.invol)
		}
		return nil
	}
	return fmt.Errorf("%s %d is not in the capture", u.name, u.tid)
}

var countLine = regexp.MustCompile(`(?s)/task/(\d+)/status <==.*?\nvoluntary_ctxt_switches:\t(\d+)\nnonvoluntary_ctxt_switches:\t(\d+)`)

// contextSwitches reads the counts of a snapshot by thread.
func contextSwitches(t *testing.T, file string) map[int][2]int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int][2]int{}
	for _, m := range countLine.FindAllStringSubmatch(string(b), -1) {
		out[atoi(m[1])] = [2]int{atoi(m[2]), atoi(m[3])}
	}
	return out
}

// TestPerfReads opens the recording with perf, which must have nothing to say
// against it and count the same.
func TestPerfReads(t *testing.T) {
	needTracepoints(t)
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("needs perf")
	}
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2"))
	for name, opt := range map[string]Options{"process": {PIDs: []int{pid}}, "wakeups and timers": {PIDs: []int{pid}, Wakeups: true, Timers: true}, "all": {All: true}} {
		t.Run(name, func(t *testing.T) {
			opt.Duration = 300 * time.Millisecond
			res := measured(t, opt)
			file := filepath.Join(res.Dir, "perf.data")
			out := perfQuiet(t, "script", "-F", "event", "-G", "-i", file)
			if n := uint64(bytes.Count(out, []byte("sched:sched_switch"))); n != res.Switches || n == 0 {
				t.Errorf("perf sees %d switches, %d were recorded", n, res.Switches)
			}
			perfQuiet(t, "report", "--stdio", "-g", "none", "-i", file)
			perfQuiet(t, "sched", "timehist", "-i", file)
		})
	}
}

// perfQuiet runs perf, which must say nothing on standard error, and warn of
// nothing on standard output.
func perfQuiet(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("perf", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("perf %s: %v\n%s", args[0], err, stderr.Bytes())
	}
	if i := bytes.Index(bytes.ToLower(out), []byte("warning")); i >= 0 {
		t.Errorf("perf %s warns: %s", args[0], out[i:min(len(out), i+300)])
	}
	return out
}

// TestNothingLost records more switches than 100,000 a second.
func TestNothingLost(t *testing.T) {
	needTracepoints(t)
	work := workload(t, "work.c")
	var pids []int
	for range 2 {
		pids = append(pids, start(t, exec.Command(work, "pingthr", "100000000")))
	}
	pids = append(pids, start(t, exec.Command(work, "yield", "1000000000", "2")))
	time.Sleep(100 * time.Millisecond)
	fast := false
	for range 4 { // others may take the CPUs meanwhile
		res := measured(t, Options{PIDs: pids, Duration: 2 * time.Second})
		perS := float64(res.Switches) / res.Elapsed.Seconds()
		t.Logf("%.0f switches/s, %d lost", perS, res.Lost)
		if perS < 100_000 {
			continue
		}
		if fast = true; res.Lost == 0 {
			return
		}
	}
	if fast {
		t.Fatal("records lost")
	}
	t.Skip("this machine makes fewer than 100,000 switches/s now: too few to tell")
}

// TestOffCPU has the waits of a traced process, which need its switch-ins.
func TestOffCPU(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2", "2000000"))
	set := read(t, measured(t, Options{PIDs: []int{pid}, Duration: 300 * time.Millisecond, Wakeups: true}).Dir)
	n := 0
	for i := range set.Threads {
		x := &set.Threads[i]
		if set.Sources[x.Pos.Source].Format != "perf.data" || x.Voluntary.V < 20 {
			continue
		}
		n++
		// A wait begins a little after the timer was set, or much, on a busy machine.
		if x.OffCPU == nil || x.OffCPU.Sum < x.OffCPU.N*1_900_000 {
			t.Errorf("%v: off-CPU times %v of sleeps of 2 ms", x.Task, x.OffCPU)
		}
		// Not all of them: the kernel does not give perf every sched_waking that
		// happens in an interrupt (ftrace has them, perf record has not, either).
		if x.Delay == nil || x.Delay.N > x.Voluntary.V+1 {
			t.Errorf("%v: delays %v, for %d sleeps", x.Task, x.Delay, x.Voluntary.V)
		}
	}
	if n != 2 {
		t.Errorf("%d threads, want 2", n)
	}
}

// TestTimers has the sleeps that were asked for.
func TestTimers(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2", "10000"))
	set := read(t, measured(t, Options{PIDs: []int{pid}, Duration: 200 * time.Millisecond, Timers: true}).Dir)
	if len(set.Waits) == 0 {
		t.Fatal("no timers in the capture")
	}
}

// TestNewFiles has the build-ids of a program that starts during the
// measurement and is gone when that ends, and does no harm to who records
// without build-ids (see newFiles).
func TestNewFiles(t *testing.T) {
	needTracepoints(t)
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("needs perf")
	}
	work := workload(t, "work.c")
	f, err := os.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := hex.EncodeToString(elfBuildID(f))
	other := exec.Command("perf", "record", "-a", "--buildid-all", "-e", "sched:sched_process_exec", "-o", filepath.Join(t.TempDir(), "perf.data"), "--", "sleep", "1.5")
	var said bytes.Buffer
	other.Stdout, other.Stderr = &said, &said
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond) // the kernel tells the later of two events first
	ctx, stop := context.WithCancel(t.Context())
	runs := make(chan struct{})
	go func() {
		defer close(runs)
		for ctx.Err() == nil {
			_ = exec.CommandContext(ctx, work, "pingthr", "2000").Run() // the capture has it, or the test fails
		}
	}()
	set := read(t, filepath.Join(measured(t, Options{All: true, Duration: time.Second}).Dir, "perf.data"))
	stop()
	<-runs
	if err := other.Wait(); err != nil {
		t.Errorf("%v: %v\n%s", other, err, &said)
	}
	found := 0
	for i := range set.Stacks {
		for _, fr := range set.Stacks[i].Frames {
			if fr.Module == work {
				if found++; fr.BuildID != want {
					t.Errorf("build-id %q, want %q", fr.BuildID, want)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no frame of the program in the capture")
	}
}

// TestNoStacks has counts and no stacks.
func TestNoStacks(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2"))
	res := measured(t, Options{PIDs: []int{pid}, Duration: 200 * time.Millisecond, NoStacks: true})
	set := read(t, res.Dir)
	for i := range set.Stacks {
		if len(set.Stacks[i].Stacks) > 0 {
			t.Errorf("stacks of %s", set.Stacks[i].Event)
		}
	}
	if res.Switches == 0 {
		t.Error("no switches")
	}
}

// TestThreads measures one thread of a process only.
func TestThreads(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "3"))
	time.Sleep(50 * time.Millisecond)
	tids, err := procfs("/proc").threads(pid)
	if err != nil || len(tids) != 4 {
		t.Fatalf("threads %v, %v", tids, err)
	}
	set := read(t, measured(t, Options{TIDs: tids[1:2], Duration: 200 * time.Millisecond}).Dir)
	for i := range set.Threads {
		if x := &set.Threads[i]; x.Task.TID != tids[1] {
			t.Errorf("thread %v is in the capture", x.Task)
		}
	}
}

// TestManyThreads measures a process of 2,000 threads: by events of its
// threads, and by events of the CPUs where descriptors are too few.
func TestManyThreads(t *testing.T) {
	needTracepoints(t)
	const n = 2000
	pid := startReady(t, fmt.Sprint("threads:", n))
	for name, h := range map[string]hooks{"threads": {fds: 1 << 20}, "CPUs": {fds: 100}} {
		t.Run(name, func(t *testing.T) {
			res := measured(t, Options{PIDs: []int{pid}, Duration: time.Second, Wakeups: true, NoStacks: true, hooks: h})
			if res.Step != StepTracepoint || len(res.Missing) > 0 || res.Lost > 0 {
				t.Errorf("result %+v", res)
			}
			t.Logf("%d switches recorded, %d counted, in %v", res.Switches, res.Counted, res.Elapsed)
			// Events of CPUs are on at once, those of threads one after the other.
			allowed := map[string]float64{"threads": 0.05, "CPUs": 0.15}[name]
			if d := float64(res.Switches)/float64(res.Counted) - 1; d > allowed || d < -allowed {
				t.Errorf("%d switches recorded, %d counted", res.Switches, res.Counted)
			}
			seen := map[int]bool{}
			set := read(t, filepath.Join(res.Dir, "perf.data"))
			for i := range set.Threads {
				if x := &set.Threads[i]; x.Voluntary.V > 0 {
					seen[x.Task.TID] = true
					if x.Task.PID != pid {
						t.Errorf("%v is none of process %d", x.Task, pid)
					}
				}
			}
			if len(seen) < n {
				t.Errorf("%d threads in the capture, want %d", len(seen), n)
			}
		})
	}
}

// TestNewThreads follows threads and children made during the measurement, by
// events of threads and of CPUs.
func TestNewThreads(t *testing.T) {
	needTracepoints(t)
	work := workload(t, "work.c")
	for name, h := range map[string]hooks{"threads": {}, "CPUs": {fds: 1}} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "usage")
			t.Setenv("CTX_OUT", out)
			agrees(t, func() error { return counts(t, Options{Command: []string{work, "pingproc", "2000"}, hooks: h}, out) })
		})
	}
}

// TestCgroup measures what runs in a control group.
func TestCgroup(t *testing.T) {
	needTracepoints(t)
	mount := procfs("/proc").cgroupMount("")
	if mount == "" {
		t.Skip("needs a cgroup 2 hierarchy")
	}
	dir := filepath.Join(mount, fmt.Sprintf("ctxan-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("needs a writable cgroup 2 hierarchy: %v", err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	netio := workload(t, "netio.cpp")
	t.Run("in it", func(t *testing.T) {
		in := start(t, exec.Command(netio, "1000000", "2"))
		start(t, exec.Command(netio, "1000000", "2")) // not in it
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, in), 0o600); err != nil {
			t.Skipf("needs to move a process into a cgroup: %v", err)
		}
		res, err := Run(t.Context(), Options{Cgroup: dir, Duration: 300 * time.Millisecond, Dir: newDir(t)})
		if err != nil {
			t.Fatal(err)
		}
		if res.Step != StepTracepoint || res.Switches == 0 {
			t.Fatalf("result %+v", res)
		}
		set := read(t, filepath.Join(res.Dir, "perf.data"))
		for i := range set.Threads {
			if x := &set.Threads[i]; x.Task.PID != in && x.Voluntary.V+x.Involuntary.V > 0 {
				t.Errorf("%v is not in the cgroup", x.Task)
			}
		}
	})
}

// TestInterrupt ends a measurement from outside, which leaves a whole capture.
func TestInterrupt(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	res, err := Run(ctx, Options{PIDs: []int{pid}, Duration: time.Minute, Dir: newDir(t)})
	if err != nil || !res.Interrupt || res.Switches == 0 {
		t.Fatalf("result %+v, %v", res, err)
	}
	for _, s := range read(t, res.Dir).Sources {
		if s.Loss.Truncated {
			t.Errorf("%s is not whole", s.Name)
		}
	}
}

// TestTargetEnds ends when the target does.
func TestTargetEnds(t *testing.T) {
	needTracepoints(t)
	cmd := exec.Command(workload(t, "netio.cpp"), "20000", "2") // seconds: attaching may take one on a busy machine
	pid := start(t, cmd)
	res := measured(t, Options{PIDs: []int{pid}, Duration: time.Minute})
	if !res.Ended || res.Elapsed > 30*time.Second || res.Switches == 0 {
		t.Fatalf("result %+v", res)
	}
}

// TestEndedIsNotIdle does not give the reading of the beginning for that of the
// end: who ended would seem to have done nothing.
func TestEndedIsNotIdle(t *testing.T) {
	needTracepoints(t)
	res := measured(t, Options{Command: []string{workload(t, "work.c"), "pingthr", "200"}})
	if !res.Ended || res.Switches < 200 {
		t.Fatalf("result %+v", res)
	}
	set := read(t, res.Dir)
	for i := range set.Threads {
		if r := &set.Threads[i]; r.VoluntaryPerS.OK && r.VoluntaryPerS.V+r.InvoluntaryPerS.V == 0 {
			t.Errorf("%v made no switch a second", r.Task)
		}
	}
}

// TestLeaderEnded measures a process whose first thread has ended: it is a
// zombie, and the others go on.
func TestLeaderEnded(t *testing.T) {
	needTracepoints(t)
	pid := startReady(t, "leaderless:3")
	for range 100 {
		if !procfs("/proc").alive(pid) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if procfs("/proc").alive(pid) || !procfs("/proc").running(pid) {
		t.Fatal("the helper has no zombie for its first thread")
	}
	if maps, err := procfs("/proc").maps(pid); err != nil || len(maps) == 0 {
		t.Errorf("%d mappings, %v", len(maps), err)
	}
	res := measured(t, Options{PIDs: []int{pid}, Duration: time.Second})
	if res.Ended || res.Switches < 10 {
		t.Errorf("ended %v, %d switches; want three threads that sleep ten times a second", res.Ended, res.Switches)
	}
}

// TestTargetErrors names what is not there.
func TestTargetErrors(t *testing.T) {
	dir := newDir(t)
	for name, opt := range map[string]Options{
		"none": {}, "no process": {PIDs: []int{1 << 22}}, "no thread": {TIDs: []int{1 << 22}}, "no cgroup": {Cgroup: "no/such/cgroup"},
		"no command": {Command: []string{"/no/such/program"}}, "two": {All: true, PIDs: []int{1}}, "no such CPU time": {PIDs: []int{os.Getpid(), 1 << 22}},
	} {
		opt.Dir = dir
		if res, err := Run(t.Context(), opt); err == nil {
			t.Errorf("%s: no error, %+v", name, res)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a folder was made", name)
		}
	}
}

// TestExisting never overwrites.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(t.Context(), Options{PIDs: []int{os.Getpid()}, Dir: dir}); !errors.Is(err, ErrExists) {
		t.Errorf("error %v, want ErrExists", err)
	}
}

// TestMaxSize ends when the recording is large enough.
func TestMaxSize(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "work.c"), "pingthr", "100000000"))
	res := measured(t, Options{PIDs: []int{pid}, Duration: time.Minute, MaxSize: 2 << 20})
	st, err := os.Stat(filepath.Join(res.Dir, "perf.data"))
	if err != nil || st.Size() < 2<<20 || st.Size() > 64<<20 {
		t.Errorf("size %d, %v", st.Size(), err)
	}
	if len(res.Notes) == 0 {
		t.Error("it is not said why the measurement ended")
	}
}

// TestOverheadLimit records one switch in N and scales.
func TestOverheadLimit(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "work.c"), "pingthr", "100000000"))
	time.Sleep(50 * time.Millisecond)
	res := measured(t, Options{PIDs: []int{pid}, Duration: 500 * time.Millisecond, OverheadLimit: 1})
	if len(res.Notes) == 0 || !strings.Contains(res.Notes[0], "one switch in") {
		t.Fatalf("notes %q", res.Notes)
	}
	set := read(t, filepath.Join(res.Dir, "perf.data"))
	var sum uint64
	for i := range set.Threads {
		sum += set.Threads[i].Voluntary.V + set.Threads[i].Involuntary.V
	}
	if d := float64(sum)/float64(res.Counted) - 1; d > 0.05 || d < -0.05 {
		t.Errorf("%d switches by scaling, %d counted", sum, res.Counted)
	}
}
