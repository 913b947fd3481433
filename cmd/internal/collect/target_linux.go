package collect

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kind is what a target is.
type kind int

const (
	ofProcess kind = iota
	ofThread
	ofSystem
	ofCgroup
	ofCommand
)

// target is what is measured.
type target struct {
	kind   kind
	proc   procfs
	ids    []int    // as given: processes or threads
	cgroup *os.File // of ofCgroup
	cmd    *command // of ofCommand
	name   string   // for the folder
}

// newTarget finds the target, or starts it: a command is left stopped before
// its first instruction.
func newTarget(opt *Options, proc procfs) (*target, error) {
	t := &target{proc: proc}
	given := 0
	for _, set := range []bool{len(opt.PIDs) > 0, len(opt.TIDs) > 0, opt.All, opt.Cgroup != "", len(opt.Command) > 0} {
		if set {
			given++
		}
	}
	switch {
	case given == 0:
		return nil, ErrNoTarget
	case given > 1:
		return nil, errors.New("more than one kind of target; give one")
	case opt.All:
		t.kind, t.name = ofSystem, "system"
	case opt.Cgroup != "":
		return t, t.openCgroup(opt.Cgroup)
	case len(opt.Command) > 0:
		t.kind, t.name = ofCommand, filepath.Base(opt.Command[0])
		cmd, err := startStopped(opt)
		if err != nil {
			return nil, &TargetError{opt.Command[0], err}
		}
		t.cmd, t.ids = cmd, []int{cmd.pid()}
	default:
		return t, t.find(opt)
	}
	return t, nil
}

// find checks that processes or threads are there and may be looked at.
func (t *target) find(opt *Options) error {
	what, ids := "process", opt.PIDs
	if t.kind = ofProcess; len(opt.TIDs) > 0 {
		t.kind, what, ids = ofThread, "thread", opt.TIDs
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if !t.alive(id) {
			return &TargetError{fmt.Sprintf("%s %d", what, id), errors.New("there is none of this id")}
		}
		if pid := t.proc.processOf(id); t.kind == ofProcess && pid != id {
			return &TargetError{fmt.Sprintf("process %d", id), fmt.Errorf("it is a thread of process %d: give -t %d, or -p %d", pid, id, pid)}
		}
		t.ids = append(t.ids, id)
	}
	t.name = cmp.Or(t.proc.comm(t.ids[0]), what)
	return nil
}

func (t *target) openCgroup(dir string) error {
	t.kind, t.name = ofCgroup, filepath.Base(dir)
	if !filepath.IsAbs(dir) || !strings.HasPrefix(dir, "/sys/fs/cgroup") {
		for _, ctl := range []string{"", "perf_event"} {
			if m := t.proc.cgroupMount(ctl); m != "" {
				if d := filepath.Join(m, dir); isDir(d) {
					dir = d
					break
				}
			}
		}
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0) // a FIFO would keep waiting
	if err != nil {
		return &TargetError{"cgroup " + dir, err}
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		f.Close()
		return &TargetError{"cgroup " + dir, errors.New("this folder is no cgroup")}
	}
	t.cgroup = f
	return nil
}

func isDir(d string) bool {
	st, err := os.Stat(d)
	return err == nil && st.IsDir()
}

// processes lists the processes of the target as they are now.
func (t *target) processes() []int {
	switch t.kind {
	case ofSystem:
		all, _ := t.proc.processes()
		return all
	case ofCgroup:
		return cgroupIDs(filepath.Join(t.cgroup.Name(), "cgroup.procs"))
	case ofThread:
		var out []int
		for _, tid := range t.ids {
			if pid := t.proc.processOf(tid); pid > 0 {
				out = append(out, pid)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return t.ids
}

// cgroupIDs reads a file of ids, one a line; one that is not in this PID
// namespace is 0.
func cgroupIDs(file string) []int {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []int
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil && n > 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// threads lists the threads of the target as they are now.
func (t *target) threads() []int {
	if t.kind == ofThread {
		return slices.DeleteFunc(slices.Clone(t.ids), func(tid int) bool { return !t.proc.alive(tid) })
	}
	var out []int
	for _, pid := range t.processes() {
		tids, err := t.proc.threads(pid)
		if err == nil {
			out = append(out, tids...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ended reports whether nothing of the target is left.
func (t *target) ended() bool {
	switch t.kind {
	case ofSystem, ofCgroup:
		return false
	}
	return !slices.ContainsFunc(t.ids, t.alive)
}

// alive reports whether one of the target's ids has not ended.
func (t *target) alive(id int) bool {
	if t.kind == ofThread {
		return t.proc.alive(id)
	}
	return t.proc.running(id)
}

func (t *target) close() error {
	if t.cgroup != nil {
		return t.cgroup.Close()
	}
	return nil
}

// perCPU reports whether the target is measured by events of CPUs.
func (t *target) perCPU() bool { return t.kind == ofSystem || t.kind == ofCgroup }

// inPIDNamespace reports whether process ids here are not those that the
// kernel's tracepoints write.
func inPIDNamespace(p procfs) bool {
	const initial = "pid:[4026531836]" // PROC_PID_INIT_INO, include/linux/proc_ns.h
	ns, err := os.Readlink(p.path("self/ns/pid"))
	return err == nil && ns != initial
}

// capability reports whether this process has a capability in effect.
func capability(p procfs, bit uint) bool {
	v, err := strconv.ParseUint(p.statusField(os.Getpid(), "CapEff"), 16, 64)
	return err == nil && v>>bit&1 != 0
}

// mayPerf reports CAP_PERFMON, or what it was before Linux 5.8.
func mayPerf(p procfs) bool {
	return capability(p, unix.CAP_PERFMON) || capability(p, unix.CAP_SYS_ADMIN)
}
