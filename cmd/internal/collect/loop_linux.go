package collect

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ctxan/parse/perfdata/wire"
)

// tick is how often at least the rings are looked at, and the target.
const tick = 100 * time.Millisecond

// loop reads the rings until the end.
func (s *measurement) loop(ctx context.Context) (err error) {
	var ends []int
	if s.target.kind == ofProcess || s.target.kind == ofCommand {
		ends = s.target.ids
	}
	wait := newWaiter(s.rings, ends)
	defer func() { err = errors.Join(err, wait.close()) }()
	defer urgent()()
	flushed := s.began
	for {
		if err := s.round(); err != nil {
			return err
		}
		now := time.Now()
		if now.Sub(flushed) > time.Second && s.w != nil {
			s.w.Flush()
			flushed = now
		}
		if err := s.writeError(); err != nil {
			return err
		}
		if s.over(ctx, now) {
			return nil
		}
		if err := s.sleep(wait, now); err != nil {
			return err
		}
	}
}

// urgent lets the thread that reads the rings go before others, if that is
// allowed: where the target and its like keep all CPUs busy, the rings would be
// full before their reader had its turn. The function that it returns undoes it.
func urgent() func() {
	runtime.LockOSThread()
	tid := unix.Gettid()
	was, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, tid, -20)
	}
	return func() {
		if err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, 20-was) // the kernel returns 20 - nice
		}
		runtime.UnlockOSThread()
	}
}

// over reports whether the measurement is to end, and notes why.
func (s *measurement) over(ctx context.Context, now time.Time) bool {
	at := now.Sub(s.began)
	if s.opt.Progress != nil {
		p := Progress{Elapsed: at, Total: s.opt.Duration, Switches: s.res.Switches}
		if s.w != nil {
			p.Bytes = s.w.Size()
		}
		s.opt.Progress(p)
	}
	switch {
	case ctx.Err() != nil:
		s.res.Interrupt = true
	case s.target.ended():
		s.res.Ended = true
	case s.opt.MaxSize > 0 && s.w != nil && s.w.Size() >= s.opt.MaxSize:
		s.note("ended after %.1f s, as perf.data has its full size", at.Seconds())
	case s.opt.Duration > 0 && at >= s.opt.Duration:
	default:
		return false
	}
	return true
}

// sleep waits for records, for the end of the measurement, or for the next look.
func (s *measurement) sleep(wait *waiter, now time.Time) error {
	d := tick
	if s.opt.Duration > 0 {
		d = min(d, max(s.opt.Duration-now.Sub(s.began), time.Millisecond))
	}
	if s.step == StepPolling {
		next := s.target.takeSnapshot()
		next.keep(s.polled)
		s.polled = next
	}
	return wait.wait(int(d.Milliseconds()))
}

// round reads each ring once.
func (s *measurement) round() error {
	total := 0
	for _, r := range s.rings {
		n, err := r.drain(s.record)
		if err != nil {
			return fmt.Errorf("reading the ring of CPU %d: %w", r.cpu, err)
		}
		total += n
	}
	s.settle()
	if total > 0 {
		s.w.Round()
	}
	if s.watch != nil && s.watch.grew {
		s.watch.grew = false
		s.refilter()
	}
	return nil
}

// refilter lets the wakeups of new threads pass that the filter does not cover.
func (s *measurement) refilter() {
	if !s.opt.Wakeups || s.target.kind == ofSystem {
		return
	}
	s.tids = s.tids[:0]
	for tid := range s.watch.tids {
		s.tids = append(s.tids, int(tid))
	}
	filter := s.wakeFilter()
	for _, e := range s.events[1:] {
		if !slices.Contains(wakeEvents, e.name) {
			continue
		}
		for i := range e.handles {
			if err := setFilter(e.handles[i].fd, filter); err != nil {
				return // the older filter stays
			}
		}
	}
}

// record takes one record from a ring.
func (s *measurement) record(t wire.Type, misc uint16, body []byte) {
	switch {
	case s.watch == nil || s.watch.keep(t, body):
		s.take(t, misc, body)
	case !s.watch.hold(t, misc, body):
		s.unwritten++
	}
}

// settle takes the records of threads whose forks came after them.
func (s *measurement) settle() {
	if s.watch == nil {
		return
	}
	all := len(s.watch.held)
	held := s.watch.settle()
	for _, h := range held {
		s.take(h.t, h.misc, h.body)
	}
	s.unwritten += uint64(all - len(held))
}

// take counts a record and writes it.
func (s *measurement) take(t wire.Type, misc uint16, body []byte) {
	switch t {
	case wire.RecSample:
		if !s.outs && len(body) >= bodyFixed && (s.mains == nil || s.mains[le.Uint64(body)]) {
			s.res.Switches += le.Uint64(body[bodyPeriod:])
		}
	case wire.RecSwitch, wire.RecSwitchCPUWide:
		if s.outs && misc&wire.MiscSwitchOut != 0 {
			s.res.Switches++
		}
	case wire.RecLost, wire.RecLostSamples:
		s.res.Lost += lostIn(t, body)
	case wire.RecMmap2:
		misc &^= wire.MiscMmapBuildID // left over from another's event, see newFiles
		s.files.mapped(body)
	}
	s.w.Raw(t, misc, body)
}
