package collect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ctxan/parse/perfdata/wire"
)

// place is one thread on one CPU; -1 for all and any.
type place struct{ pid, cpu, flags int }

// maxTaskEvents is how many descriptors the events of one target may take
// before events of CPUs stand in for those of threads.
const maxTaskEvents = 4096

// attach opens what the rights allow, from the best step down.
func (s *measurement) attach() error {
	s.monotonic = !slowClock() || s.opt.Timers
	s.tids = s.target.threads()
	if s.target.kind != ofSystem && len(s.tids) == 0 && s.target.kind != ofCgroup {
		return &TargetError{"the target", errors.New("it ended")}
	}
	raiseLimit(len(s.tids) * 16)
	s.openCounters()
	rings, err := openRings(s.o, s.cpus, s.clock, s.ringPages())
	if err != nil {
		s.miss("records of switches (ring buffers)", err, fixPerf(s.proc, err))
		s.step = s.without()
		return nil
	}
	s.rings = rings
	s.tids = s.target.threads() // as many as there are by now
	s.step = s.climb()
	if s.step > StepSoftware {
		err := closeRings(s.rings)
		s.rings, s.events = nil, nil
		return err
	}
	s.openMore()
	if n := len(slices.DeleteFunc(s.target.threads(), func(tid int) bool { return slices.Contains(s.tids, tid) })); n > 0 && !s.target.perCPU() && !s.filtered {
		s.note("%d threads began while events were attached to the others: those made by a thread that had none yet are not in the records", n)
	}
	return nil
}

// climb opens the best kind of switch event that is allowed.
func (s *measurement) climb() Step {
	for _, try := range []struct {
		step Step
		open func() error
		what string
	}{
		{StepTracepoint, s.openTracepoint, "the sched_switch tracepoint (what each task waits in, and who runs next)"},
		{StepSwitch, s.openSwitches, "PERF_RECORD_SWITCH (each switch of each thread)"},
		{StepSoftware, s.openSoftware, "samples of context-switches (call chains)"},
	} {
		err := try.open()
		if err == nil {
			return try.step
		}
		s.miss(try.what, err, s.fix(err))
	}
	return s.without()
}

// without is the step of a measurement without records.
func (s *measurement) without() Step {
	if s.counterOpened() {
		return StepCounters
	}
	return StepPolling
}

func (s *measurement) miss(what string, why error, fix string) {
	s.res.Missing = append(s.res.Missing, Missing{what, explain(s.proc, why), fix})
}

// errNamespace is why tracepoints are of no use in a container's PID namespace.
var errNamespace = errors.New("its thread ids are those outside of this PID namespace")

func (s *measurement) openTracepoint() error {
	if s.inNS {
		return errNamespace
	}
	fs, err := findTracefs(s.opt.hooks.tracefs)
	if err != nil {
		return &tracefsError{err}
	}
	id, err := fs.id("sched:sched_switch")
	if err != nil {
		return &tracefsError{err}
	}
	e := &event{name: "sched:sched_switch", attr: recorded(newAttr(unix.PERF_TYPE_TRACEPOINT, id), unix.PERF_SAMPLE_RAW|s.chains())}
	e.attr.Bits |= tracking | unix.PerfBitContextSwitch
	if s.every > 1 { // records of switches can't be thinned out
		e.attr.Sample = s.every
		e.attr.Bits &^= unix.PerfBitContextSwitch
	}
	if err := s.openMain(e); err != nil {
		return err
	}
	s.fs = fs
	return s.describe("sched:sched_switch")
}

func (s *measurement) chains() uint64 {
	if s.opt.NoStacks {
		return 0
	}
	return unix.PERF_SAMPLE_CALLCHAIN
}

// openSwitches opens the event that every user may have of their own tasks: one
// that counts nothing and tells of each switch. Samples of the software event
// give the call chains where the kernel may be looked at.
func (s *measurement) openSwitches() error {
	e := &event{name: "dummy", attr: recorded(newAttr(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_DUMMY), 0)}
	e.attr.Bits |= tracking | unix.PerfBitContextSwitch
	err := s.openMain(e)
	if errors.Is(err, unix.EACCES) {
		e.name = "dummy:u"
		e.attr.Bits = e.attr.Bits&^(bitKsymbol|bitBPFEvent) | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
		err = s.openMain(e)
	}
	if err != nil {
		return err
	}
	if e.attr.Bits&unix.PerfBitExcludeKernel != 0 || s.opt.NoStacks {
		return nil
	}
	stacks := s.software()
	if err := s.openAt(stacks, s.places); err != nil {
		s.miss("call chains", err, s.fix(err))
		return nil
	}
	s.events = append(s.events, stacks)
	return nil
}

// software is the event whose every count is a switch-out, with its call chain.
func (s *measurement) software() *event {
	e := &event{name: "context-switches", attr: recorded(newAttr(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES), s.chains())}
	if e.attr.Sample = 1; s.every > 1 {
		e.attr.Sample = s.every
	}
	return e
}

func (s *measurement) openSoftware() error {
	e := s.software()
	e.attr.Bits |= tracking
	return s.openMain(e)
}

// openMain opens the event that every measurement has: of the target's threads
// or, where they are too many, of all CPUs, of which the target's records are kept.
func (s *measurement) openMain(e *event) error {
	s.places = s.taskPlaces()
	many := !s.target.perCPU() && len(s.places) > s.most()
	if many {
		s.places = cpuPlaces(s.cpus)
	}
	err := s.openAt(e, s.places)
	if many && errors.Is(err, unix.EACCES) { // events of CPUs need more rights
		many = false
		s.places = s.taskPlaces()
		err = s.openAt(e, s.places)
	}
	if err != nil {
		return err
	}
	s.events = []*event{e}
	if s.filtered = many; many {
		s.note("%d threads: events of all CPUs, kept for this target only", len(s.tids))
	}
	return nil
}

func (s *measurement) most() int {
	if s.opt.hooks.fds > 0 {
		return s.opt.hooks.fds
	}
	return maxTaskEvents
}

func cpuPlaces(cpus []int) []place {
	var out []place
	for _, c := range cpus {
		out = append(out, place{-1, c, 0})
	}
	return out
}

func (s *measurement) taskPlaces() []place {
	switch s.target.kind {
	case ofSystem:
		return cpuPlaces(s.cpus)
	case ofCgroup:
		out := cpuPlaces(s.cpus)
		for i := range out {
			out[i].pid, out[i].flags = int(s.target.cgroup.Fd()), unix.PERF_FLAG_PID_CGROUP
		}
		return out
	}
	var out []place
	for _, c := range s.cpus {
		for _, tid := range s.tids {
			out = append(out, place{tid, c, 0})
		}
	}
	return out
}

// openAt opens an event at every place and sends its records into the rings.
// Threads that are gone are left out; none left is an error.
func (s *measurement) openAt(e *event, places []place) (err error) {
	s.clock(&e.attr)
	ring := map[int]int{}
	for _, r := range s.rings {
		ring[r.cpu] = r.h.fd
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeHandles(e))
		}
	}()
	for _, p := range places {
		e.attr.Bits &^= unix.PerfBitInherit
		if p.pid != -1 && p.flags == 0 {
			e.attr.Bits |= unix.PerfBitInherit
		}
		h, err := s.o.openBest(&e.attr, p.pid, p.cpu, p.flags)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return err
		}
		e.handles = append(e.handles, h)
		if err := setOutput(h.fd, ring[p.cpu]); err != nil {
			return err
		}
	}
	if len(e.handles) == 0 {
		return unix.ESRCH
	}
	return nil
}

func closeHandles(e *event) error {
	var errs []error
	for i := range e.handles {
		errs = append(errs, e.handles[i].close())
	}
	e.handles = nil
	return errors.Join(errs...)
}

// clock makes an event tell the time by CLOCK_MONOTONIC, which other captures
// can be put beside, unless that is slow to read.
func (s *measurement) clock(a *unix.PerfEventAttr) {
	if s.monotonic {
		a.Bits |= unix.PerfBitUseClockID
		a.Clockid = unix.CLOCK_MONOTONIC
	}
}

// slowClock reports whether the machine reads its time from a device.
func slowClock() bool {
	b, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	name := strings.TrimSpace(string(b))
	return err == nil && (name == "hpet" || name == "acpi_pm" || name == "jiffies" || name == "refined-jiffies")
}

// describe keeps the formats of tracepoints for the file.
func (s *measurement) describe(names ...string) error {
	got, err := s.fs.formats(names)
	if err != nil {
		return &tracefsError{err}
	}
	if s.formats == nil {
		s.formats = map[string][]string{}
	}
	for system, texts := range got {
		s.formats[system] = append(s.formats[system], texts...)
	}
	return nil
}

// openMore opens what was asked for beside the switches.
func (s *measurement) openMore() {
	if s.target.kind == ofSystem || s.opt.Wakeups {
		s.openWakeups()
	}
	if s.opt.Timers {
		if err := s.openExtra("timer:hrtimer_start", s.places, ""); err != nil {
			s.miss("the timers that the target starts (timer:hrtimer_start)", err, s.fix(err))
		}
	}
	s.newWatch()
}

// wakeEvents tell who makes a task runnable, and where to.
var wakeEvents = []string{"sched:sched_waking", "sched:sched_wakeup_new", "sched:sched_migrate_task"}

// openWakeups opens the wakeups of the target, which happen in other tasks: on
// all CPUs, filtered to the target's threads.
func (s *measurement) openWakeups() {
	filter := ""
	if s.target.kind != ofSystem {
		filter = s.wakeFilter()
	}
	for _, name := range wakeEvents {
		if err := s.openExtra(name, cpuPlaces(s.cpus), filter); err != nil {
			s.miss("who wakes the target, and how long it then waits for a CPU ("+name+")", err, s.fix(err))
			return
		}
	}
}

func (s *measurement) wakeFilter() string {
	last := 0
	if f := strings.Fields(s.proc.line("loadavg")); len(f) == 5 {
		last, _ = strconv.Atoi(f[4]) // 0 where it is none: then new threads are added when they are seen
	}
	return tidFilter("pid", s.tids, last)
}

func (s *measurement) openExtra(name string, places []place, filter string) error {
	if s.step != StepTracepoint {
		return errors.New("it needs tracepoints")
	}
	id, err := s.fs.id(name)
	if err != nil {
		return &tracefsError{err}
	}
	// perf warns when some events have call chains and others none: these have empty ones.
	e := &event{name: name, attr: recorded(newAttr(unix.PERF_TYPE_TRACEPOINT, id), unix.PERF_SAMPLE_RAW|s.chains())}
	e.attr.Bits |= unix.PerfBitExcludeCallchainKernel | unix.PerfBitExcludeCallchainUser
	if err := s.openAt(e, places); err != nil {
		return err
	}
	for i := range e.handles {
		if filter == "" {
			break
		}
		if err := setFilter(e.handles[i].fd, filter); err != nil {
			return errors.Join(err, closeHandles(e))
		}
	}
	if err := s.describe(name); err != nil {
		return errors.Join(err, closeHandles(e))
	}
	s.events = append(s.events, e)
	return nil
}

// newWatch prepares what is dropped in user space; nothing, for most.
func (s *measurement) newWatch() {
	wakes := len(s.events) > 1 && s.target.kind != ofSystem && s.opt.Wakeups
	if !s.filtered && !wakes {
		return
	}
	x := &watch{all: !s.filtered, pids: map[int32]bool{}, tids: map[int32]bool{}, others: map[uint64]*rawField{}, foreign: map[int32]bool{}}
	for _, tid := range s.tids {
		x.tids[int32(tid)] = true
	}
	if s.target.kind != ofThread {
		for _, pid := range s.target.processes() {
			x.pids[int32(pid)] = true
		}
	}
	for i, e := range s.events {
		a := toWire(&e.attr)
		f := &rawField{layout: wire.NewLayout(&a)}
		if i == 0 {
			x.trailer = f.layout.Trailer
		}
		field := map[bool]string{true: "prev_pid", false: "pid"}[i == 0]
		if off, ok := s.fieldOffset(e.name, field); ok {
			f.offset = off
			if i == 0 {
				x.self = f
			} else {
				for _, id := range e.ids() {
					x.others[id] = f
				}
			}
		}
	}
	s.watch = x
}

// fieldOffset finds a field of a tracepoint.
func (s *measurement) fieldOffset(event, field string) (int, bool) {
	system, name, _ := strings.Cut(event, ":")
	for _, text := range s.formats[system] {
		if f, err := wire.ParseFormat(system, text); err == nil && f.Name == name {
			fd, ok := f.Field(field)
			return fd.Offset, ok && fd.Size == 4
		}
	}
	return 0, false
}

// openCounters opens the counters of perf-stat.txt. Threads have one descriptor
// for each counter; where those do not fit, only the two that matter most are
// opened.
func (s *measurement) openCounters() {
	places := s.taskPlaces()
	if !s.target.perCPU() {
		places = nil
		for _, tid := range s.tids {
			places = append(places, place{tid, -1, 0})
		}
	}
	s.counters = newCounters()
	room := fileLimit() - 256 - 4*len(s.cpus) - min(len(s.tids)*len(s.cpus), maxTaskEvents)
	for i, c := range s.counters {
		if len(places)*(i+1) > room {
			c.err = unix.EMFILE
			continue
		}
		if s.target.perCPU() {
			c.attr.Bits &^= unix.PerfBitInherit
		}
		var leaders *counter
		if i > 0 && !s.target.perCPU() && s.counters[0].err == nil {
			leaders = s.counters[0]
		}
		c.open(s.o, places, leaders)
	}
	if c := s.counters[0]; c.err != nil {
		s.miss("counters (layer 1)", c.err, fixPerf(s.proc, c.err))
	} else if c := s.counters[1]; c.err != nil {
		s.miss("the context-switches counter", c.err, fixPerf(s.proc, c.err))
	}
}

// counterOpened reports whether a counter that tells of switches is open.
func (s *measurement) counterOpened() bool {
	for _, c := range s.counters {
		if c.name == "context-switches" && c.err == nil {
			return true
		}
	}
	return false
}

// fileLimit is how many descriptors this process may have.
func fileLimit() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 1024
	}
	return int(min(r.Cur, 1<<20))
}

// raiseLimit raises the limit of descriptors to what is needed, where that is
// allowed; where not, less is opened.
func raiseLimit(n int) {
	want := uint64(n + 4096)
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil || r.Cur >= want {
		return
	}
	r.Cur, r.Max = want, max(r.Max, want)
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		return
	}
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
		r.Cur = min(want, r.Max)
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &r) // the limit stays as it was
	}
}

// tracefsError is a tracepoint that could not be found.
type tracefsError struct{ err error }

func (e *tracefsError) Error() string { return "tracefs: " + reason(e.err) }

func (e *tracefsError) Unwrap() error { return e.err }

// reason is an I/O error with the file's name but not its operation.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return fmt.Sprintf("%s: %v", filepath.Clean(pe.Path), pe.Err)
	}
	return err.Error()
}
