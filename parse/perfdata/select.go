package perfdata

import (
	"fmt"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// resolveShare turns a share of the recording into times.
func (r *reader) resolveShare() error {
	s := r.opt.Select
	if s == nil || s.Share == (timeline.Share{}) {
		return nil
	}
	first, last := r.sampleTime[0], r.sampleTime[1]
	if first == 0 || last <= first {
		var err error
		if first, last, err = r.sampleSpan(); err != nil {
			return err
		}
	}
	if first == 0 {
		return fmt.Errorf("%w: %s, and its samples have no times", ErrSelection, s)
	}
	r.opt.Select = s.Within(first, last)
	return nil
}

// sampleSpan looks for the times of the first and the last sample in a file
// whose notes do not tell (perf record -B, a pipe, a killed recorder). Single
// times far away from the others are left out.
func (c *capture) sampleSpan() (first, last uint64, err error) {
	s := newSchema(c)
	swap := s.swapper(c.order, c.formats())
	var x timeline.Runs
	err = c.walkRecords(func(typ wire.Type, rec []byte, off int64) bool {
		if typ == wire.RecSample {
			if swap != nil {
				swap.Record(rec)
			}
			c.addTime(&x, s.eventOf(rec), rec, off)
		}
		if x.Len() > maxRunsHeld {
			first = earliest(first, x.Take())
		}
		return true
	})
	return earliest(first, x.Take()), x.Top(), err
}

// addTime adds the time of a sample.
func (c *capture) addTime(x *timeline.Runs, e *event, rec []byte, off int64) {
	if e == nil || e.layout.Time < 0 || len(rec) < e.layout.Fixed {
		return
	}
	t, cpu := le.Uint64(rec[e.layout.Time:]), -1
	if e.layout.CPU >= 0 && !c.perThread {
		cpu = int(int32(le.Uint32(rec[e.layout.CPU:])))
	}
	if to := off + int64(len(rec)); !x.Add(to, t) {
		x.AddSlow(off, to, t, cpu)
	}
}

// earliest returns the smallest time of runs, and of first where that is not 0.
func earliest(first uint64, runs []timeline.Run) uint64 {
	for i := range runs {
		if t := runs[i].First; t > 0 && (first == 0 || t < first) {
			first = t
		}
	}
	return first
}

// selected takes what the selection changes about the source.
func (r *reader) selected() {
	s := r.opt.Select
	if !s.ByEvent() && !s.ByTask() {
		return
	}
	r.notes = append(r.notes, "filtered: "+s.String())
	if len(s.CPUs) > 0 && r.system {
		r.system = false
		r.notes = append(r.notes, "of some CPUs only: tasks run unseen on the others, so that there are no run times, waits and delays")
	}
}

// window is the time that is told of: all of the recording, or what the
// selection has of it.
func (r *reader) window() (first, last uint64) {
	first, last = r.dec.first, r.dec.last
	s := r.opt.Select
	if s == nil {
		return first, last
	}
	if s.To > 0 {
		last = max(min(last, s.To), first)
	}
	return min(max(first, s.From), last), last
}

// nothingSelected returns an error when the selection holds nothing.
func (r *reader) nothingSelected(b *evidence.Builder) error {
	s := r.opt.Select
	switch {
	case s.ByEvent() && r.told == 0:
		return fmt.Errorf("%w: %s; its events are from %s to %s s, on CPUs 0 to %d", ErrSelection, s,
			timeline.Seconds(r.dec.first), timeline.Seconds(r.dec.last), max(r.cpus-1, 0))
	case s.ByTask() && !b.Any():
		return fmt.Errorf("%w: %s names no task that it watched", ErrSelection, s)
	}
	return nil
}
