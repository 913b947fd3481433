package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSteps takes rights away one after the other and sees which step is left.
func TestSteps(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2"))
	tracepoint := func(a *unix.PerfEventAttr) bool { return a.Type == unix.PERF_TYPE_TRACEPOINT }
	switches := func(a *unix.PerfEventAttr) bool { return a.Bits&unix.PerfBitContextSwitch != 0 }
	sampled := func(a *unix.PerfEventAttr) bool { return a.Sample_type != 0 }
	for _, c := range []struct {
		name    string
		deny    func(*unix.PerfEventAttr) bool
		err     error
		want    Step
		missing []string
	}{
		{"no tracepoint", tracepoint, unix.EACCES, StepSwitch, []string{"sched_switch tracepoint"}},
		{"no records of switches either", func(a *unix.PerfEventAttr) bool { return tracepoint(a) || switches(a) }, unix.EPERM, StepSoftware, []string{"tracepoint", "PERF_RECORD_SWITCH"}},
		{"counters only", sampled, unix.EACCES, StepCounters, []string{"ring buffers"}},
		{"nothing, EACCES", func(*unix.PerfEventAttr) bool { return true }, unix.EACCES, StepPolling, []string{"counters", "records"}},
		{"nothing, EPERM", func(*unix.PerfEventAttr) bool { return true }, unix.EPERM, StepPolling, []string{"counters", "records"}},
		{"nothing, ENOSYS", func(*unix.PerfEventAttr) bool { return true }, unix.ENOSYS, StepPolling, []string{"counters", "records"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			deny := func(a *unix.PerfEventAttr, _ int) error {
				if c.deny(a) {
					return c.err
				}
				return nil
			}
			res := measured(t, Options{PIDs: []int{pid}, Duration: 300 * time.Millisecond, hooks: hooks{deny: deny}})
			checkStep(t, res, c.want, c.missing...)
		})
	}
	t.Run("no tracefs", func(t *testing.T) {
		res := measured(t, Options{PIDs: []int{pid}, Duration: 300 * time.Millisecond, hooks: hooks{tracefs: []string{t.TempDir()}}})
		checkStep(t, res, StepSwitch, "sched_switch tracepoint")
		if !strings.Contains(res.Missing[0].Fix, "mount -t tracefs") {
			t.Errorf("fix %q", res.Missing[0].Fix)
		}
	})
}

// checkStep sees that the step is the one wanted, that what is missing is said,
// and that what the step gives is in the captures.
func checkStep(t *testing.T, res *Result, want Step, missing ...string) {
	t.Helper()
	if res.Step != want {
		t.Fatalf("step %v, want %v; missing %v", res.Step, want, res.Missing)
	}
	for _, m := range missing {
		if !slices.ContainsFunc(res.Missing, func(x Missing) bool { return strings.Contains(x.What, m) }) {
			t.Errorf("it is not said that %q is missing: %v", m, res.Missing)
		}
	}
	for _, f := range []string{"threads-before.txt", "threads-after.txt", "environment.txt"} {
		if st, err := os.Stat(filepath.Join(res.Dir, f)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	if want > StepSoftware {
		if _, err := os.Stat(filepath.Join(res.Dir, "perf.data")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a perf.data: %v", err)
		}
		return
	}
	set := read(t, filepath.Join(res.Dir, "perf.data"))
	n, chains := uint64(0), 0
	for i := range set.Threads {
		x := &set.Threads[i]
		n += x.Voluntary.V + x.Involuntary.V + x.Switches.V
	}
	for i := range set.Stacks {
		chains += len(set.Stacks[i].Stacks)
	}
	if n == 0 || n != res.Switches {
		t.Errorf("%d switches read, %d recorded", n, res.Switches)
	}
	if res.HasCount && !near(int(res.Switches), int(res.Counted)) { // one is turned on a little before the other
		t.Errorf("%d switches counted, %d recorded", res.Counted, res.Switches)
	}
	if chains == 0 && os.Geteuid() == 0 {
		t.Error("no call chains")
	}
}

// outcome is what recordHelper prints.
type outcome struct {
	Result *Result
	Err    string
}

// inHelper measures in another process; its folder is made in a place that
// everybody may write to.
func inHelper(t *testing.T, mode string, pid int, attr *syscall.SysProcAttr, wrap func(*exec.Cmd)) *Result {
	t.Helper()
	top, err := os.MkdirTemp("", "ctxan-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	if err := os.Chmod(top, 0o777); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(top, "helper") // the test binary lies where only root may look
	if err := copyFile("/proc/self/exe", exe); err != nil {
		t.Fatal(err)
	}
	cmd := helper(fmt.Sprintf("%s%s:%d:400", mode, filepath.Join(top, "captures"), pid))
	cmd.Path, cmd.Dir, cmd.SysProcAttr = exe, top, attr
	if wrap != nil {
		wrap(cmd)
	}
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	var out outcome
	if err := json.Unmarshal(b, &out); err != nil || out.Err != "" {
		t.Fatalf("%s%s: %v", b, out.Err, err)
	}
	return out.Result
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// TestOrdinaryUser measures its own process without any right.
func TestOrdinaryUser(t *testing.T) {
	needRoot(t) // to become another
	if p := procfs("/proc").line("sys/kernel/perf_event_paranoid"); p != "2" {
		t.Skipf("needs perf_event_paranoid 2, it is %s", p)
	}
	const nobody = 65534
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	exe := publicCopy(t, workload(t, "netio.cpp"))
	cmd := exec.Command(exe, "1000000", "2")
	cmd.SysProcAttr = as
	pid := start(t, cmd)
	time.Sleep(50 * time.Millisecond)
	res := inHelper(t, "record:", pid, as, nil)
	if res.Step != StepSwitch || res.Switches == 0 {
		t.Fatalf("result %+v", res)
	}
	for _, m := range res.Missing {
		if m.Why == "" || m.Fix == "" {
			t.Errorf("no reason or no command: %+v", m)
		}
	}
	set := read(t, res.Dir)
	if len(set.Counters) == 0 {
		t.Error("no counters (layer 1)")
	}
	n := 0
	for i := range set.Threads {
		if x := &set.Threads[i]; x.Voluntary.V > 0 && set.Sources[x.Pos.Source].Format == "perf.data" {
			n++
		}
	}
	if n < 2 {
		t.Errorf("%d threads with voluntary switches (layer 2), want 2", n)
	}
}

// publicCopy puts a program where every user may run it.
func publicCopy(t *testing.T, exe string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctxan-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	to := filepath.Join(dir, filepath.Base(exe))
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile(exe, to)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestSeccomp has perf_event_open denied for real, as containers do.
func TestSeccomp(t *testing.T) {
	pid := start(t, helper("sleep"))
	for _, e := range []syscall.Errno{unix.EACCES, unix.EPERM} {
		t.Run(e.Error(), func(t *testing.T) {
			res := inHelper(t, fmt.Sprintf("seccomp:%d:", int(e)), pid, nil, nil)
			checkStep(t, res, StepPolling, "counters", "records")
			if !strings.Contains(res.Missing[0].Why, "seccomp") {
				t.Errorf("reason %q does not name seccomp", res.Missing[0].Why)
			}
		})
	}
}

// TestPIDNamespace measures inside of one, where tracepoints have other ids.
func TestPIDNamespace(t *testing.T) {
	needTracepoints(t)
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("needs unshare")
	}
	exe := publicCopy(t, workload(t, "netio.cpp"))
	res := inHelper(t, "record:", 0, nil, func(cmd *exec.Cmd) {
		// In the namespace the target gets an id of its own.
		for i, v := range cmd.Env {
			cmd.Env[i] = strings.Replace(v, ":0:400", ":@:400", 1)
		}
		script := exe + ` 1000000 2 & p=$!; sleep 0.1; export ` + helperEnv + `=$(echo "$` + helperEnv + `" | sed "s/:@:/:$p:/"); ` + cmd.Path + `; kill $p`
		unshare := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script)
		cmd.Path, cmd.Args = unshare.Path, unshare.Args
	})
	checkStep(t, res, StepSwitch, "sched_switch tracepoint")
	for i, x := range read(t, filepath.Join(res.Dir, "perf.data")).Threads {
		if x.Task.TID > 1000 {
			t.Errorf("thread %d has an id of the outer namespace: %v", i, x.Task)
		}
	}
}

// TestNothingLeaks begins and ends many measurements.
func TestNothingLeaks(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2"))
	count := func() (fds, goroutines, mounts int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		m, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return len(list), runtime.NumGoroutine(), strings.Count(string(m), "\n")
	}
	kinds := []Options{{PIDs: []int{pid}, Wakeups: true}, {Command: []string{"true"}}}
	cycle := func() {
		kinds = append(kinds[1:], kinds[0])
		opt := kinds[0]
		opt.Duration, opt.NoStacks = 10*time.Millisecond, true
		dir := measured(t, opt).Dir
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	cycle()
	time.Sleep(50 * time.Millisecond)
	fds, gs, mounts := count()
	for range 50 {
		cycle()
	}
	var fds2, gs2, mounts2 int
	for range 20 { // goroutines need a moment to end
		if fds2, gs2, mounts2 = count(); fds2 <= fds && gs2 <= gs {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if fds2 > fds || gs2 > gs || mounts2 != mounts {
		t.Errorf("descriptors %d → %d, goroutines %d → %d, mounts %d → %d", fds, fds2, gs, gs2, mounts, mounts2)
	}
}

// fullDisk fails after some bytes.
type fullDisk struct {
	writerAt
	left int
}

func (f *fullDisk) WriteAt(p []byte, off int64) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, unix.ENOSPC
	}
	return f.writerAt.WriteAt(p, off)
}

// TestWriteError leaves what was written readable, for a writer that fails and
// for a disk that is full.
func TestWriteError(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "work.c"), "pingthr", "100000000"))
	check := func(t *testing.T, opt Options) {
		opt.PIDs, opt.Duration, opt.NoStacks = []int{pid}, time.Minute, true
		res, err := Run(t.Context(), opt)
		var we *WriteError
		if !errors.As(err, &we) || !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("error %v, want a WriteError for ENOSPC", err)
		}
		set := read(t, filepath.Join(res.Dir, "perf.data"))
		var n uint64
		for i := range set.Threads {
			n += set.Threads[i].Voluntary.V + set.Threads[i].Involuntary.V
		}
		if n == 0 {
			t.Error("nothing to read")
		}
	}
	t.Run("writer", func(t *testing.T) {
		check(t, Options{Dir: newDir(t), hooks: hooks{writer: func(w writerAt) writerAt { return &fullDisk{w, 1 << 20} }}})
	})
	t.Run("disk", func(t *testing.T) {
		dir := t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
			t.Skipf("needs to mount a small tmpfs: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		check(t, Options{Dir: filepath.Join(dir, "captures")})
	})
}

// TestKilled reads what a killed measurement left.
func TestKilled(t *testing.T) {
	needTracepoints(t)
	pid := start(t, exec.Command(workload(t, "netio.cpp"), "1000000", "2"))
	dir := newDir(t)
	rec := start(t, helper(fmt.Sprintf("record:%s:%d:60000", dir, pid)))
	file := filepath.Join(dir, "perf.data")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for { // until it has written more than the beginning
		if st, err := os.Stat(file); err == nil && st.Size() > 1<<20 {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("nothing was written")
		}
		time.Sleep(50 * time.Millisecond)
	}
	kill9(t, rec)
	time.Sleep(100 * time.Millisecond)
	set := read(t, file)
	var n uint64
	for i := range set.Threads {
		n += set.Threads[i].Voluntary.V
	}
	if n == 0 || !set.Sources[0].Loss.Truncated {
		t.Errorf("%d switches, truncated %v", n, set.Sources[0].Loss.Truncated)
	}
	if !procfs("/proc").alive(pid) {
		t.Error("the target is gone")
	}
	if set := read(t, dir); len(set.Sources) == 0 {
		t.Error("nothing to read in the folder")
	}
	if st, err := os.Stat(filepath.Join(dir, "kallsyms.gz")); err != nil || st.Size() == 0 {
		t.Errorf("the kernel's symbols were not kept: %v", err)
	}
}
