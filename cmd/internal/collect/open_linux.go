package collect

import (
	"errors"
	"os"
	"unsafe"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// hooks let tests take rights and files away.
type hooks struct {
	deny    func(*unix.PerfEventAttr, int) error // error of perf_event_open for an attribute and a pid, before it is tried
	tracefs []string                             // where tracefs is looked for; nil for the usual places
	proc    string                               // "" for /proc
	writer  func(writerAt) writerAt              // wraps perf.data
	fds     int                                  // descriptors for tracing; 0 for the real limit
}

// opener opens events.
type opener struct {
	deny func(*unix.PerfEventAttr, int) error
}

// open opens an event of a thread (-1: all) on a CPU (-1: any). It goes through
// go-perf where that can express the attribute.
func (o *opener) open(a *unix.PerfEventAttr, pid, cpu, flags int) (handle, error) {
	return o.openIn(a, pid, cpu, flags, nil)
}

// openIn is open for a member of a group, which counts when its leader does.
// The leader is one of go-perf's.
func (o *opener) openIn(a *unix.PerfEventAttr, pid, cpu, flags int, leader *perf.Event) (handle, error) {
	h := handle{cpu: cpu, tid: pid}
	if flags&unix.PERF_FLAG_PID_CGROUP != 0 {
		h.tid = -1
	}
	if o.deny != nil {
		if err := o.deny(a, pid); err != nil {
			return h, os.NewSyscallError("perf_event_open", err)
		}
	}
	if pa, ok := toPerf(a); ok {
		return h.viaPerf(pa, pid, cpu, flags, leader)
	}
	if leader != nil {
		return h, errors.New("the attribute of a counter is not one of go-perf's")
	}
	fd, err := unix.PerfEventOpen(a, pid, cpu, -1, flags|unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return h, os.NewSyscallError("perf_event_open", err)
	}
	h.fd = fd
	if h.id, err = eventID(fd); err != nil {
		return h, errors.Join(err, unix.Close(fd))
	}
	return h, nil
}

func (h handle) viaPerf(a *perf.Attr, pid, cpu, flags int, leader *perf.Event) (handle, error) {
	ev, err := perf.OpenWithFlags(a, pid, cpu, leader, flags)
	if err != nil {
		return h, err
	}
	h.ev = ev
	if h.fd, err = ev.FD(); err == nil {
		h.id, err = ev.ID()
	}
	if err != nil {
		return h, errors.Join(err, ev.Close())
	}
	return h, nil
}

// openBest opens an attribute as it is or, on a kernel that does not know the
// newest of its bits, without them. The attribute is left as it was opened.
func (o *opener) openBest(a *unix.PerfEventAttr, pid, cpu, flags int) (handle, error) {
	h, err := o.open(a, pid, cpu, flags)
	for _, bit := range []uint64{bitBPFEvent, bitKsymbol} {
		if !errors.Is(err, unix.EINVAL) {
			break
		}
		if a.Bits&bit == 0 {
			continue
		}
		a.Bits &^= bit
		h, err = o.open(a, pid, cpu, flags)
	}
	return h, err
}

func eventID(fd int) (uint64, error) {
	var id uint64
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id))); e != 0 {
		return 0, os.NewSyscallError("PERF_EVENT_IOC_ID", e)
	}
	return id, nil
}

func ioctl(fd int, req uint, arg uintptr) error {
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(req), arg); e != 0 {
		return e
	}
	return nil
}

func enable(fd int) error  { return ioctl(fd, unix.PERF_EVENT_IOC_ENABLE, 0) }
func disable(fd int) error { return ioctl(fd, unix.PERF_EVENT_IOC_DISABLE, 0) }

// setOutput sends the records of an event into the ring buffer of another.
func setOutput(fd, to int) error {
	if err := ioctl(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, uintptr(to)); err != nil {
		return os.NewSyscallError("PERF_EVENT_IOC_SET_OUTPUT", err)
	}
	return nil
}

// setFilter lets only some events of a tracepoint through.
func setFilter(fd int, filter string) error {
	b, err := unix.BytePtrFromString(filter)
	if err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(b))); e != 0 {
		return os.NewSyscallError("PERF_EVENT_IOC_SET_FILTER", e)
	}
	return nil
}
