package collect

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// environment is the text of environment.txt: files of the machine as they
// are, each below its name, and what is known of the measurement itself.
type environment struct {
	fixed  bytes.Buffer
	varied []string          // files that are read before and after
	before map[string][]byte // by name
	after  map[string][]byte
	tail   bytes.Buffer
	self   time.Duration
}

func newEnvironment(s *measurement) *environment {
	e := &environment{varied: []string{"/proc/stat", "/proc/interrupts", "/proc/loadavg", "/proc/schedstat"}}
	e.describe(s)
	e.cgroups(s)
	e.tasks(s)
	e.before = e.readVaried(s)
	e.self = ownCPU()
	return e
}

// describe takes what does not change.
func (e *environment) describe(s *measurement) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err == nil {
		str := unix.ByteSliceToString
		block(&e.fixed, "uname", fmt.Appendf(nil, "%s %s %s %s %s", str(uts.Sysname[:]), str(uts.Nodename[:]), str(uts.Release[:]),
			str(uts.Version[:]), str(uts.Machine[:])))
	}
	files := []string{
		"/proc/cmdline", "/proc/sys/kernel/perf_event_paranoid", "/proc/sys/kernel/kptr_restrict", "/proc/sys/kernel/sched_schedstats",
		"/proc/sys/kernel/sched_autogroup_enabled", "/proc/sys/kernel/sched_rt_runtime_us",
		"/sys/kernel/debug/sched/preempt", "/sys/kernel/debug/sched/base_slice_ns",
		"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full",
		"/sys/devices/system/cpu/smt/control", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		"/sys/devices/system/cpu/vulnerabilities/meltdown", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name", "/sys/hypervisor/type",
	}
	for _, pattern := range []string{"/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list",
		"/sys/devices/system/cpu/cpu*/topology/physical_package_id", "/sys/devices/system/node/node*/cpulist"} {
		names, err := filepath.Glob(pattern)
		if err == nil {
			files = append(files, names...)
		}
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			block(&e.fixed, f, b)
		}
	}
}

// cgroups takes the limits of the target's cgroup: those of its parents hold
// for it as well.
func (e *environment) cgroups(s *measurement) {
	var pids []int
	if s.target.kind != ofSystem {
		pids = s.target.processes()
	}
	if len(pids) == 0 {
		return
	}
	if b, err := os.ReadFile(s.proc.path(pids[0], "cgroup")); err == nil {
		block(&e.fixed, s.proc.path(pids[0], "cgroup"), b)
	}
	for _, h := range []struct{ controller, root string }{{"", s.proc.cgroupMount("")}, {"cpu", s.proc.cgroupMount("cpu")}, {"cpuset", s.proc.cgroupMount("cpuset")}} {
		dir := s.proc.cgroupOf(pids[0], h.controller)
		for depth := 0; dir != "" && strings.HasPrefix(dir, h.root) && h.root != "" && depth < 16; depth++ {
			for _, f := range []string{"cpu.max", "cpu.weight", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares", "cpuset.cpus.effective", "cpuset.cpus"} {
				if b, err := os.ReadFile(filepath.Join(dir, f)); err == nil && len(bytes.TrimSpace(b)) > 0 {
					block(&e.fixed, filepath.Join(dir, f), b)
				}
			}
			e.varied = append(e.varied, filepath.Join(dir, "cpu.stat"))
			dir = filepath.Dir(dir)
		}
	}
}

// maxTaskLines bounds the threads whose policy is listed.
const maxTaskLines = 2000

// tasks takes policy, affinity and timer slack of the target's threads.
func (e *environment) tasks(s *measurement) {
	if s.target.kind == ofSystem {
		return
	}
	var b bytes.Buffer
	for i, tid := range s.target.threads() {
		if i == maxTaskLines {
			fmt.Fprintln(&b, "more: not listed")
			break
		}
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil {
			continue
		}
		var set unix.CPUSet
		affinity := "unknown"
		if unix.SchedGetaffinity(tid, &set) == nil {
			affinity = cpuSet(&set, s.cpus)
		}
		fmt.Fprintf(&b, "%d: policy=%s nice=%d rt_priority=%d affinity=%s timerslack_ns=%s\n", tid, policyName(attr.Policy), attr.Nice,
			attr.Priority, affinity, s.proc.line(tid, "timerslack_ns"))
	}
	if b.Len() > 0 {
		block(&e.fixed, "threads", b.Bytes())
	}
}

func policyName(p uint32) string {
	names := []string{"SCHED_OTHER", "SCHED_FIFO", "SCHED_RR", "SCHED_BATCH", "", "SCHED_IDLE", "SCHED_DEADLINE", "SCHED_EXT"}
	if int(p) < len(names) && names[p] != "" {
		return names[p]
	}
	return fmt.Sprint(p)
}

// cpuSet writes a set of CPUs as the kernel does: 0,2-3.
func cpuSet(set *unix.CPUSet, cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		if !set.IsSet(cpus[i]) {
			i++
			continue
		}
		lo, hi := cpus[i], cpus[i]
		for i++; i < len(cpus) && cpus[i] == hi+1 && set.IsSet(cpus[i]); i++ {
			hi = cpus[i]
		}
		if lo == hi {
			parts = append(parts, fmt.Sprint(lo))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", lo, hi))
		}
	}
	return strings.Join(parts, ",")
}

func (e *environment) readVaried(s *measurement) map[string][]byte {
	out := map[string][]byte{}
	for _, f := range e.varied {
		if b, err := os.ReadFile(f); err == nil {
			out[f] = b
		}
	}
	return out
}

// ownCPU is the CPU time of this process so far.
func ownCPU() time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// end takes what is to be compared, and what the measurement cost.
func (e *environment) end(s *measurement) {
	e.after = e.readVaried(s)
	var b bytes.Buffer
	fmt.Fprintf(&b, "cpu_ns: %d\nelapsed_ns: %d\nrecords_lost: %d\nswitches_recorded: %d\n", (ownCPU() - e.self).Nanoseconds(),
		s.res.Elapsed.Nanoseconds(), s.res.Lost, s.res.Switches)
	if s.res.HasCount {
		fmt.Fprintf(&b, "switches_counted: %d\n", s.res.Counted)
		if s.res.Counted > 0 && s.step <= StepSoftware {
			fmt.Fprintf(&b, "share_traced_pct: %.2f\n", 100*float64(s.res.Switches)/float64(s.res.Counted))
		}
	}
	if s.w != nil {
		fmt.Fprintf(&b, "perf_data_bytes: %d\n", s.w.Size())
	}
	if s.every > 1 {
		fmt.Fprintf(&b, "one_in: %d\n", s.every)
	}
	block(&e.tail, "ctxan overhead", b.Bytes())
	b.Reset()
	fmt.Fprintf(&b, "step: %s\n", s.step)
	for _, m := range s.res.Missing {
		fmt.Fprintf(&b, "missing: %s\n", oneLine(m.String()))
	}
	for _, n := range s.res.Notes {
		fmt.Fprintf(&b, "note: %s\n", oneLine(n))
	}
	block(&e.tail, "ctxan record", b.Bytes())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// write writes what is known so far.
func (e *environment) write(w io.Writer) error {
	var b bytes.Buffer
	b.Write(e.fixed.Bytes())
	for _, part := range []struct {
		when  string
		files map[string][]byte
	}{{"before", e.before}, {"after", e.after}} {
		for _, name := range slices.Sorted(maps.Keys(part.files)) {
			block(&b, fmt.Sprintf("%s (%s)", name, part.when), part.files[name])
		}
	}
	if e.tail.Len() > 0 {
		b.WriteByte('\n')
		b.Write(e.tail.Bytes())
	}
	_, err := w.Write(b.Bytes())
	return err
}
