package timeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Select is a part of a capture: the events of some time and CPUs, and of them
// what is said of some tasks. The zero Select is all of it.
//
// Time and CPUs are a filter in front of a Tracker (Keep), which then knows
// nothing of what happened outside. Tasks are selected behind it, so that the
// waits and delays of a task are as they are without the selection.
type Select struct {
	PIDs, TIDs []int
	Comms      []string // names of tasks, as they were last
	CPUs       []int
	From, To   uint64 // ns in the capture's clock, both inclusive; a To of 0 is no end
	Share      Share  // instead of From and To: a share of the capture's time
}

// Share is a part of a capture's time, in per cent of it from its first sample
// to its last. The zero Share is all of it. Within turns it into times.
type Share struct{ From, To float64 }

// Within returns the selection for a capture whose samples are from first to
// last. Of two shares that follow each other, a moment belongs to one.
//
// Arithmetic: set_percent_time in the kernel's tools/perf/util/time-utils.c.
func (s *Select) Within(first, last uint64) *Select {
	out, total := *s, float64(last-first)
	out.From, out.To = first+uint64(math.Round(s.Share.From/100*total)), first+uint64(math.Round(s.Share.To/100*total))
	if out.To > out.From && out.To != last {
		out.To--
	}
	return &out
}

// ByTask reports whether tasks are selected.
func (s *Select) ByTask() bool {
	return s != nil && len(s.PIDs)+len(s.TIDs)+len(s.Comms) > 0
}

// ByEvent reports whether Keep drops events.
func (s *Select) ByEvent() bool {
	return s != nil && (len(s.CPUs) > 0 || s.From > 0 || s.To > 0 || s.Share != Share{})
}

// Task reports whether a task is selected. As with perf, each kind of
// selection has to hold.
func (s *Select) Task(pid, tid int, comm string) bool {
	return (len(s.PIDs) == 0 || slices.Contains(s.PIDs, pid)) &&
		(len(s.TIDs) == 0 || slices.Contains(s.TIDs, tid)) &&
		(len(s.Comms) == 0 || slices.Contains(s.Comms, comm))
}

// Keep moves the events of the time and the CPUs to the front of the batch and
// returns them, and how many of them tell more than which tasks there are. Names
// and births of tasks are kept whenever they were.
func (s *Select) Keep(batch []Event) (kept []Event, told int) {
	kept = batch[:0]
	for i := range batch {
		switch e := &batch[i]; e.Kind {
		case KindNone:
		case KindComm, KindFork, KindExit:
			if !s.keeps(e) {
				e.Time = 0 // known, but not since when
			}
			kept = append(kept, *e)
		default:
			if s.keeps(e) {
				kept = append(kept, *e)
				told++
			}
		}
	}
	return kept, told
}

func (s *Select) keeps(e *Event) bool {
	if e.Time < s.From || s.To > 0 && e.Time > s.To {
		return false
	}
	return len(s.CPUs) == 0 || slices.Contains(s.CPUs, int(e.CPU))
}

// String lists what is selected, as on a command line.
func (s *Select) String() string {
	var parts []string
	ints := func(flag string, list []int) {
		if len(list) > 0 {
			parts = append(parts, flag+" "+strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]"))
		}
	}
	ints("--pid", s.PIDs)
	ints("--tid", s.TIDs)
	if len(s.Comms) > 0 {
		parts = append(parts, "--comm "+strings.Join(s.Comms, ","))
	}
	ints("--cpu", s.CPUs)
	if s.Share != (Share{}) {
		parts = append(parts, fmt.Sprintf("--time %.10g%%-%.10g%%", s.Share.From, s.Share.To))
	}
	if s.From > 0 || s.To > 0 {
		end := ""
		if s.To > 0 {
			end = Seconds(s.To)
		}
		times := Seconds(s.From) + "," + end
		if s.Share != (Share{}) {
			times = "(" + times + ")"
		} else {
			times = "--time " + times
		}
		parts = append(parts, times)
	}
	return strings.Join(parts, " ")
}

// Seconds writes a time as perf prints it with --ns.
func Seconds(ns uint64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }

// counts reports whether a switch of an event's task is one of the selection.
func (t *Tracker) counts(e *Event) bool { return !t.opt.Select.ByTask() || t.selectedNow(e) }

// selectedNow reports whether an event is about a task that is selected, by
// what is known of it now.
func (t *Tracker) selectedNow(e *Event) bool {
	if e.TID <= 0 {
		return false
	}
	x := t.get(e.TID, e.Off)
	pid, comm := x.pid, e.Comm
	if e.Flags&FlagHasPID != 0 {
		pid = e.PID
	}
	if comm == 0 {
		comm = x.comm
	}
	return t.opt.Select.Task(int(pid), int(e.TID), t.names.Name(comm))
}

// selected reports whether a task is selected, when all events are through.
func (t *Tracker) selected(id uint32) bool {
	if !t.opt.Select.ByTask() {
		return true
	}
	x := t.taskOf(id)
	return x.TID > 0 && t.opt.Select.Task(x.PID, x.TID, x.Comm)
}
