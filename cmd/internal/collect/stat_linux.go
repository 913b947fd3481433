package collect

import (
	"errors"
	"time"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// counter is one counter of perf-stat.txt, opened for each thread or CPU.
type counter struct {
	name    string
	attr    unix.PerfEventAttr
	handles []handle
	err     error // why it can't be counted

	value            uint64 // scaled up where it shared its hardware
	enabled, running time.Duration
}

// newCounters lists the counters in the order of perf stat.
func newCounters() []*counter {
	list := []struct {
		name   string
		typ    uint32
		config uint64
	}{
		{"task-clock", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK},
		{"context-switches", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES},
		{"cpu-migrations", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_MIGRATIONS},
		{"page-faults", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
		{"cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
		{"instructions", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
		{"branches", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		{"branch-misses", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES},
	}
	var out []*counter
	for _, l := range list {
		c := &counter{name: l.name, attr: newAttr(l.typ, l.config)}
		c.attr.Bits = unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitExcludeGuest
		c.attr.Read_format = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
		out = append(out, c)
	}
	return out
}

// userOnly are the counters that mean something without the kernel's part:
// context-switches and cpu-migrations happen in the kernel, and count nothing.
var userOnly = map[string]bool{"task-clock": true, "page-faults": true, "cycles": true, "instructions": true, "branches": true, "branch-misses": true}

// open opens the counter at every place, as a member of the group that the
// leaders' counter leads there, so that one call turns all of a thread's on and
// off. A counter of the processor does not join: such a group would count
// nothing where its counters are too many. Threads that are gone are left out.
func (c *counter) open(o *opener, places []place, leaders *counter) {
	lead := map[place]*perf.Event{}
	if leaders != nil && c.attr.Type == unix.PERF_TYPE_SOFTWARE {
		c.attr.Bits &^= unix.PerfBitDisabled
		for _, h := range leaders.handles {
			lead[place{h.tid, h.cpu, 0}] = h.ev
		}
	}
	for _, p := range places {
		group := lead[place{p.pid, p.cpu, 0}]
		h, err := o.openIn(&c.attr, p.pid, p.cpu, p.flags, group)
		if errors.Is(err, unix.EACCES) && len(c.handles) == 0 && userOnly[c.name] && c.attr.Bits&unix.PerfBitExcludeKernel == 0 {
			c.attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
			h, err = o.openIn(&c.attr, p.pid, p.cpu, p.flags, group)
		}
		if group != nil && errors.Is(err, unix.EINVAL) { // its leader ended
			err = unix.ESRCH
		}
		switch {
		case err == nil:
			c.handles = append(c.handles, h)
		case errors.Is(err, unix.ESRCH):
		default:
			c.err = err
			c.close()
			return
		}
	}
	if len(c.handles) == 0 && c.err == nil {
		c.err = unix.ESRCH
	}
}

// userSuffix is what perf puts behind the name of an event that leaves the
// kernel out.
func (c *counter) userSuffix() string {
	if c.attr.Bits&unix.PerfBitExcludeKernel != 0 {
		return ":u"
	}
	return ""
}

// read adds up what was counted.
func (c *counter) read() {
	var sum uint64
	for _, h := range c.handles {
		n, err := h.ev.ReadCount()
		if err != nil {
			c.err = err
			return
		}
		sum += n.Value
		c.enabled += n.Enabled
		c.running += n.Running
	}
	if c.value = sum; c.running > 0 && c.running < c.enabled {
		c.value = uint64(float64(sum) * float64(c.enabled) / float64(c.running))
	}
}

func (c *counter) close() error {
	var errs []error
	for _, h := range c.handles {
		errs = append(errs, h.close())
	}
	c.handles = nil
	return errors.Join(errs...)
}

// counted reports whether the counter has a value. A software counter of tasks
// that never ran has one, 0; one of the processor's may have had no room.
func (c *counter) counted() bool {
	return c.err == nil && (c.running > 0 || c.attr.Type == unix.PERF_TYPE_SOFTWARE)
}

// status is what perf prints in the place of a value.
func (c *counter) status() string {
	if c.err != nil {
		return "<not supported>"
	}
	return "<not counted>"
}

// find returns a counter by name, nil when it has no value.
func find(list []*counter, name string) *counter {
	for _, c := range list {
		if c.name == name && c.counted() {
			return c
		}
	}
	return nil
}
