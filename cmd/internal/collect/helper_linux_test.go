package collect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ctxan/parse"
	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

// The test binary is also the programs that are measured or that measure: what
// needs other rights, or must be killed, runs in a process of its own.
const helperEnv = "CTXAN_COLLECT_HELPER"

func TestMain(m *testing.M) {
	switch mode, arg, _ := strings.Cut(os.Getenv(helperEnv), ":"); mode {
	case "":
		os.Exit(m.Run())
	case "threads":
		sleepers(atoi(arg))
	case "leaderless":
		leaderless(atoi(arg))
	case "sleep":
		time.Sleep(time.Minute)
	case "record":
		recordHelper(arg, false)
	case "record-plain":
		recordHelper(arg, true)
	case "seccomp":
		errno, rest, _ := strings.Cut(arg, ":")
		if err := denyPerf(atoi(errno)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		recordHelper(rest, false)
	}
	os.Exit(0)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// helper is this program in another role.
func helper(mode string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	if exe, err := os.Executable(); err == nil {
		cmd.Path = exe
	}
	cmd.Env = append(os.Environ(), helperEnv+"="+mode)
	cmd.Stderr = os.Stderr
	return cmd
}

// sleepers runs n threads, each of which sleeps 100 ms at a time, until it is killed.
func sleepers(n int) {
	var up sync.WaitGroup
	up.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			up.Done()
			for {
				t := unix.Timespec{Nsec: 100e6}
				_ = unix.Nanosleep(&t, nil)
			}
		}()
	}
	up.Wait()
	time.Sleep(200 * time.Millisecond) // the runtime starts some of its own
	fmt.Println("ready")
	time.Sleep(time.Minute)
}

// leaderless is sleepers whose first thread ends.
func leaderless(n int) {
	end := func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			go sleepers(n)
			t := unix.Timespec{Nsec: 400e6}
			_ = unix.Nanosleep(&t, nil) // while the others begin
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
		}
		time.Sleep(time.Minute)
	}
	for range 64 { // one of them runs on the first thread, unless this function does
		go end()
	}
	end()
}

// recordHelper measures as "DIR:PID:MS" says and prints the result.
func recordHelper(arg string, noStacks bool) {
	f := strings.Split(arg, ":")
	res, err := Run(context.Background(), Options{PIDs: []int{atoi(f[1])}, Dir: f[0], Duration: time.Duration(atoi(f[2])) * time.Millisecond, NoStacks: noStacks})
	out := struct {
		Result *Result
		Err    string
	}{Result: res}
	if err != nil {
		out.Err = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(5)
	}
}

// denyPerf makes perf_event_open fail for this process, on all its threads.
func denyPerf(errno int) error {
	nr := uint32(unix.SYS_PERF_EVENT_OPEN)
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: nr},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog))); e != 0 {
		return e
	}
	return nil
}

// needRoot skips a test that needs all rights.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: perf events of all kinds")
	}
	if !mayPerf("/proc") {
		t.Skip("needs CAP_PERFMON or CAP_SYS_ADMIN")
	}
}

// needTracepoints skips where tracefs is not mounted or perf events are denied.
func needTracepoints(t testing.TB) {
	t.Helper()
	needRoot(t)
	fs, err := findTracefs(nil)
	if err != nil {
		t.Skipf("needs tracefs: %v", err)
	}
	id, err := fs.id("sched:sched_switch")
	if err != nil {
		t.Skipf("needs tracefs: %v", err)
	}
	if inPIDNamespace("/proc") {
		t.Skip("needs the initial PID namespace")
	}
	a := recorded(newAttr(unix.PERF_TYPE_TRACEPOINT, id), unix.PERF_SAMPLE_RAW)
	h, err := (&opener{}).open(&a, os.Getpid(), -1, 0)
	if err != nil {
		t.Skipf("needs the sched_switch tracepoint: %v", err)
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
}

// workload builds one of the shared programs.
func workload(t testing.TB, name string) string {
	t.Helper()
	src := filepath.Join(shared.Dir(t), "workloads", name)
	cc := "gcc"
	if strings.HasSuffix(name, ".cpp") {
		cc = "g++"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("needs %s: %v", cc, err)
	}
	exe := filepath.Join(t.TempDir(), strings.TrimSuffix(strings.TrimSuffix(name, ".cpp"), ".c"))
	out, err := exec.Command(cc, "-O1", "-g", "-w", "-fno-omit-frame-pointer", "-o", exe, src, "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, out)
	}
	return exe
}

// start runs a process until the test ends.
func start(t testing.TB, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // killed, as a rule
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	time.Sleep(100 * time.Millisecond) // until it has its threads
	return cmd.Process.Pid
}

// startReady is start for a helper that says when it is ready.
func startReady(t testing.TB, mode string) int {
	t.Helper()
	cmd := helper(mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	pid := start(t, cmd)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return pid
}

// newDir is a folder that does not exist yet.
func newDir(t testing.TB) string { return filepath.Join(t.TempDir(), "captures") }

// measured runs a measurement that must succeed.
func measured(t testing.TB, opt Options) *Result {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = newDir(t)
	}
	res, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// read opens captures as ctxan does.
func read(t testing.TB, path string) *evidence.Set {
	t.Helper()
	set, problems, err := parse.Open([]string{path}, parse.Options{})
	if err := errors.Join(append(problems, err)...); err != nil {
		t.Fatal(err)
	}
	return set
}

// usage is what a thread says of itself (getrusage) when it ends.
type usage struct {
	tid, vol, invol int
	name            string
}

var usageLine = regexp.MustCompile(`tid=(\d+) pid=\d+ name=(\S+) voluntary=(\d+) nonvoluntary=(\d+)`)

func usages(t testing.TB, file string) []usage {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []usage
	for _, m := range usageLine.FindAllStringSubmatch(string(b), -1) {
		out = append(out, usage{tid: atoi(m[1]), name: m[2], vol: atoi(m[3]), invol: atoi(m[4])})
	}
	if len(out) == 0 {
		t.Fatalf("%s: no thread says anything", file)
	}
	return out
}

// near allows 1 % or 3 switches.
func near(got, want int) bool {
	d := got - want
	return max(d, -d) <= max(3, want/100)
}

// kill9 is kill -9.
func kill9(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
