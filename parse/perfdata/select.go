package perfdata

import (
	"fmt"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
)

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
