package collect

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// explain says why something could not be opened, with the setting that stands
// in the way.
func explain(p procfs, err error) string {
	s := err.Error()
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		if v := p.line("sys/kernel/perf_event_paranoid"); v != "" && !strings.HasPrefix(s, "tracefs") {
			s += fmt.Sprintf(" (perf_event_paranoid is %s", v)
			if seccomp(p) {
				s += ", and a seccomp filter is on this process"
			}
			s += ")"
		}
	case errors.Is(err, unix.EMFILE):
		s += fmt.Sprintf(" (at most %d descriptors)", fileLimit())
	case errors.Is(err, unix.ENOSYS):
		s += " (the kernel has no perf events, or a filter hides them)"
	}
	return s
}

// seccomp reports whether system calls of this process are filtered.
func seccomp(p procfs) bool { return p.statusField(os.Getpid(), "Seccomp") == "2" }

// inContainer reports whether this process seems to run in a container.
func inContainer(p procfs) bool {
	for _, f := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return inPIDNamespace(p)
}

// fix is the command that removes what stands in the way of tracepoints.
func (s *measurement) fix(err error) string {
	var t *tracefsError
	switch {
	case errors.Is(err, errNamespace):
		return "run ctxan on the host, or in a container with --pid=host"
	case errors.As(err, &t) && errors.Is(err, os.ErrNotExist):
		return "sudo mount -t tracefs tracefs /sys/kernel/tracing"
	case errors.As(err, &t):
		return "sudo mount -o remount,mode=755 /sys/kernel/tracing (and the files in it: sudo chmod -R a+rX /sys/kernel/tracing/events/sched)"
	case s.step != StepTracepoint && s.rings != nil && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM):
		return ""
	}
	return fixPerf(s.proc, err)
}

// fixPerf is the command that removes what stands in the way of perf events.
func fixPerf(p procfs, err error) string {
	self, e := os.Executable()
	if e != nil {
		self = "ctxan"
	}
	switch {
	case errors.Is(err, unix.EMFILE):
		return fmt.Sprintf("ulimit -n %d", 4*fileLimit())
	case errors.Is(err, unix.ENOMEM):
		return "ulimit -l unlimited, or sudo sysctl kernel.perf_event_mlock_kb=8192"
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return ""
	case mayPerf(p) && (inContainer(p) || seccomp(p)):
		return "run the container with --cap-add PERFMON --security-opt seccomp=unconfined, or ctxan on the host"
	case mayPerf(p):
		return ""
	case errors.Is(err, unix.EPERM) && !mayTrace(p):
		return "run as the user of the target, or: sudo setcap cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep " + self
	}
	return "sudo setcap cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep " + self + ", or run it with sudo"
}

// mayTrace reports whether this process may look into those of others.
func mayTrace(p procfs) bool { return capability(p, unix.CAP_SYS_PTRACE) }
