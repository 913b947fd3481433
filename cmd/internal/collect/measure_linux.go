package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ctxan/parse/perfdata/wire"
)

// writerAt is where a recording goes.
type writerAt = io.WriterAt

// measurement is one measurement, from its preparation to its captures.
type measurement struct {
	opt    *Options
	o      *opener
	proc   procfs
	target *target
	cpus   []int
	res    *Result
	inNS   bool

	step      Step
	every     uint64 // one switch in so many is recorded
	fs        tracefs
	formats   map[string][]string
	monotonic bool
	tids      []int
	places    []place
	events    []*event
	rings     []*ring
	counters  []*counter
	filtered  bool
	watch     *watch
	mains     map[uint64]bool // ids of the switch event, where there are others
	outs      bool            // switches are counted by their records
	kernel    *kallsyms
	unsaved   error // of the kernel's symbols

	file      *os.File
	w         *wire.Writer
	files     *newFiles
	ids       map[string][]byte // build-ids that files found, by path
	unwritten uint64            // records dropped as others'
	began     time.Time
	env       *environment
	before    *snapshot
	after     *snapshot
	polled    *snapshot
}

// Run measures until the duration is over, the target has ended, or ctx is
// done, and returns what was captured. The end by ctx is no error: the capture
// is whole. A *WriteError comes with the result of what could be written.
func Run(ctx context.Context, opt Options) (_ *Result, err error) {
	s := &measurement{opt: &opt, o: &opener{deny: opt.hooks.deny}, proc: procfs(cmp.Or(opt.hooks.proc, "/proc")), every: 1, res: &Result{Unstacked: opt.NoStacks}}
	if s.cpus, err = onlineCPUs(); err != nil {
		return nil, err
	}
	s.inNS = inPIDNamespace(s.proc)
	if opt.Dir != "" {
		if _, err := os.Lstat(opt.Dir); err == nil {
			return nil, fmt.Errorf("%s: %w", opt.Dir, ErrExists)
		}
	}
	if s.target, err = newTarget(&opt, s.proc); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, s.close())
	}()
	err = s.run(ctx)
	return s.res, err
}

// run attaches, measures and writes. A command that could not be measured does
// not run.
func (s *measurement) run(ctx context.Context) error {
	err := s.prepare()
	if err != nil {
		if s.target.cmd != nil {
			s.target.cmd.kill()
		}
		return err
	}
	err = s.measure(ctx)
	return errors.Join(err, s.finish())
}

// prepare makes the folder and opens the events, which do not count yet.
func (s *measurement) prepare() error {
	if err := s.makeDir(); err != nil {
		return err
	}
	s.chooseRate()
	if err := s.attach(); err != nil {
		return err
	}
	s.res.Step = s.step
	s.readKernel()
	s.chooseCounting()
	if s.step > StepSoftware {
		return nil
	}
	s.unsaved = s.saveKallsyms() // now, so that a killed measurement has them
	return s.openFile()
}

// readKernel takes the kernel's symbols, where call chains go through it.
func (s *measurement) readKernel() {
	chains := slices.ContainsFunc(s.events, func(e *event) bool {
		return e.attr.Sample_type&unix.PERF_SAMPLE_CALLCHAIN != 0 && e.attr.Bits&unix.PerfBitExcludeCallchainKernel == 0
	})
	if !chains {
		return
	}
	k, err := readKallsyms(s.proc)
	if err != nil {
		s.miss("names of kernel functions (/proc/kallsyms)", err, "sudo sysctl kernel.kptr_restrict=0")
		return
	}
	s.kernel = k
}

// chooseCounting says which records are switches.
func (s *measurement) chooseCounting() {
	s.outs = s.step == StepSwitch
	if len(s.events) > 1 && !s.outs {
		s.mains = map[uint64]bool{}
		for _, id := range s.events[0].ids() {
			s.mains[id] = true
		}
	}
}

func (s *measurement) note(format string, args ...any) {
	s.res.Notes = append(s.res.Notes, fmt.Sprintf(format, args...))
}

// makeDir makes the folder of the captures, for its owner only: they hold
// addresses. Under sudo it belongs to who called that.
func (s *measurement) makeDir() error {
	dir := s.opt.Dir
	if dir == "" {
		dir = fmt.Sprintf("ctxan-%s-%s", plainName(s.target.name), time.Now().Format("20060102-150405"))
	}
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%s: %w", dir, ErrExists)
	case err != nil:
		return fmt.Errorf("the folder of the captures: %w", err)
	}
	s.res.Dir = dir
	return nil
}

// plainName leaves of a name what is harmless in that of a folder.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, s)
	return cmp.Or(strings.TrimLeft(s, ".-"), "target")
}

// openFile begins perf.data.
func (s *measurement) openFile() error {
	f, err := os.OpenFile(filepath.Join(s.res.Dir, "perf.data"), os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	s.file = f
	var w writerAt = f
	if s.opt.hooks.writer != nil {
		w = s.opt.hooks.writer(w)
	}
	var attrs []wire.AttrIDs
	for _, e := range s.events {
		attrs = append(attrs, wire.AttrIDs{Attr: toWire(&e.attr), IDs: e.ids()})
	}
	s.w = wire.NewWriter(w, attrs)
	s.files = findNewFiles(s.proc)
	return s.writeError()
}

func (s *measurement) writeError() error {
	if s.w == nil || s.w.Err() == nil {
		return nil
	}
	return &WriteError{"perf.data", s.w.Err()}
}

// measure counts and records until something ends it.
func (s *measurement) measure(ctx context.Context) error {
	s.env = newEnvironment(s)
	s.before = s.target.takeSnapshot()
	s.polled = s.before
	err := s.save("threads-before.txt", s.before.write)
	var e error
	s.began, e = s.switchAll(enable)
	err = errors.Join(err, e)
	if s.target.cmd != nil {
		s.target.cmd.release()
	}
	if s.w != nil {
		s.describeStart()
	}
	err = errors.Join(err, s.save("environment.txt", s.env.write), s.loop(ctx))
	ended, e := s.switchAll(disable)
	s.res.Elapsed = ended.Sub(s.began)
	return errors.Join(err, e)
}

// switchAll turns everything on or off, thread by thread in the same order, so
// that the counters and the records of a thread are of the same time, and all
// threads are measured for as long. It returns the middle of the time it took.
func (s *measurement) switchAll(f func(fd int) error) (time.Time, error) {
	began := time.Now()
	byTID := map[int][]int{}
	var order []int
	add := func(h *handle) {
		if _, have := byTID[h.tid]; !have {
			order = append(order, h.tid)
		}
		byTID[h.tid] = append(byTID[h.tid], h.fd)
	}
	for _, c := range s.counters {
		for i := range c.handles {
			if c.attr.Bits&unix.PerfBitDisabled != 0 { // members follow their leaders
				add(&c.handles[i])
			}
		}
	}
	for _, e := range s.events {
		for i := range e.handles {
			add(&e.handles[i])
		}
	}
	var errs []error
	for _, tid := range order {
		for _, fd := range byTID[tid] {
			errs = append(errs, f(fd))
		}
	}
	return began.Add(time.Since(began) / 2), errors.Join(errs...)
}

// describeStart writes what was there before the events.
func (s *measurement) describeStart() {
	a := toWire(&s.events[0].attr)
	y := &synth{proc: s.proc, w: s.w, attr: &a, ids: newBuildIDs(s.proc)}
	y.idIndex(s.events)
	y.kernel(s.kernel)
	if s.target.kind == ofSystem {
		y.threadMap([]int{-1})
	} else {
		y.threadMap(s.tids)
	}
	y.cpuMap(s.cpus)
	for _, pid := range s.target.processes() {
		y.process(pid)
	}
	s.w.Flush()
}

// finish reads what is left and writes the rest of the captures.
func (s *measurement) finish() error {
	err := s.drainAll()
	s.after = s.target.takeSnapshot()
	if s.step == StepPolling { // else nobody looked at the threads since the beginning, and those that ended would seem to have done nothing
		s.after.keep(s.polled)
	}
	for _, c := range s.counters {
		if c.err == nil {
			c.read()
		}
	}
	if c := find(s.counters, "context-switches"); c != nil {
		s.res.Counted, s.res.HasCount = c.value, true
	}
	s.env.end(s)
	if s.target.cmd != nil {
		s.endCommand()
	}
	return errors.Join(err, s.closeFile(), s.save("threads-after.txt", s.after.write), s.saveCounters(),
		s.save("environment.txt", s.env.write), s.unsaved, s.saveSymbols(), s.own())
}

// endCommand takes the status of a command that has ended; one that has not
// goes on.
func (s *measurement) endCommand() {
	s.res.Wait = s.target.cmd.status
	if s.res.Ended {
		s.res.Exit = s.target.cmd.status()
		return
	}
	s.note("the command goes on, as process %d", s.target.cmd.pid())
}

// close detaches from the target.
func (s *measurement) close() error {
	var errs []error
	if s.files != nil {
		s.files.close()
	}
	for _, e := range s.events {
		errs = append(errs, closeHandles(e))
	}
	for _, c := range s.counters {
		errs = append(errs, c.close())
	}
	errs = append(errs, closeRings(s.rings), s.target.close())
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}

// cmdline is the command line as a reader of perf.data understands it: the
// target first, each other option one word.
func (s *measurement) cmdline() []string {
	out := []string{"ctxan", "record"}
	ids := make([]string, len(s.target.ids))
	for i, id := range s.target.ids {
		ids[i] = strconv.Itoa(id)
	}
	switch s.target.kind {
	case ofProcess:
		out = append(out, "-p", strings.Join(ids, ","))
	case ofThread:
		out = append(out, "-t", strings.Join(ids, ","))
	case ofSystem:
		out = append(out, "-a")
	case ofCgroup:
		out = append(out, "--cgroup", s.target.cgroup.Name())
	}
	if s.opt.Duration > 0 {
		out = append(out, "--duration="+s.opt.Duration.String())
	}
	for name, on := range map[string]bool{"--no-stacks": s.opt.NoStacks, "--wakeups": s.opt.Wakeups, "--timers": s.opt.Timers} {
		if on {
			out = append(out, name)
		}
	}
	if s.target.kind == ofCommand {
		out = append(append(out, "--"), s.opt.Command...)
	}
	return out
}
