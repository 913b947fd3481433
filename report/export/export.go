// Package export writes what a capture holds for other tools: pprof profiles,
// folded stacks, traces, CSV tables and OpenMetrics.
//
// The figures are those of the report: the same tables, the same labels, the
// same time. A value that the capture does not hold is left out, a sample type
// or a column as a whole; it is never written as 0. Names from captures are
// hostile input and come out as visible characters, as in every report.
package export

import (
	"strings"

	"ctxan/analyze"
	"ctxan/parse/evidence"
	"ctxan/report"
)

// MissingError says what the captures do not hold, and what to record for it.
type MissingError struct{ What, Record string }

func (e *MissingError) Error() string {
	return "the captures hold no " + e.What + "; record with " + e.Record
}

// errNoStacks is for captures that no profile can be made of.
var errNoStacks = &MissingError{"call chains by task", "-g -e sched:sched_switch"}

// stacks is a table of call chains with what its samples are called.
type stacks struct {
	*evidence.StackTable
	reasons []string // by sample
	frames  []string // names by frame
}

// stacksOf returns the table that the report uses, or nil.
func stacksOf(set *evidence.Set, kind evidence.StackKind) *stacks {
	t := analyze.StacksOf(set, kind)
	if t == nil {
		return nil
	}
	s := &stacks{StackTable: t, reasons: analyze.SampleReasons(t), frames: make([]string, len(t.Frames))}
	for i := range t.Frames {
		s.frames[i] = frameName(&t.Frames[i])
	}
	return s
}

// Unused names the call chains that an export of stacks leaves out, because two
// recordings of one load are not added up.
func Unused(set *evidence.Set) []string {
	var out []string
	for i := range set.Stacks {
		t := &set.Stacks[i]
		if t.Kind != evidence.StackOther && t == analyze.StacksOf(set, t.Kind) {
			continue
		}
		out = append(out, report.Plain(t.Event)+" of "+report.Plain(set.Sources[t.Pos.Source].Name))
	}
	return out
}

// noChain stands for the frames of a sample without any.
const noChain = "[no call chain]"

// frameName is a frame's symbol, and for one that could not be resolved the name
// of its object in brackets, as flame graph tools write it.
func frameName(f *evidence.Frame) string {
	switch {
	case f.Named():
		return report.Plain(f.Symbol)
	case f.Module == "":
		return "[unknown]"
	case strings.HasPrefix(f.Module, "["):
		return report.Plain(f.Module)
	}
	return "[" + report.Plain(f.Module[strings.LastIndexByte(f.Module, '/')+1:]) + "]"
}

// task returns the task of a sample; none when it is not known.
func (s *stacks) task(sm *evidence.StackSample) evidence.Task {
	if sm.Task < 0 {
		return evidence.Task{}
	}
	return s.Tasks[sm.Task]
}

// commName is a task's name, or a mark that there is none.
func commName(t evidence.Task) string {
	if t.Comm == "" {
		return "[unknown]"
	}
	return report.Plain(t.Comm)
}

// weight is what one sample weighs.
type weight struct {
	name, unit string // "switches", "count"
	of         func(sm *evidence.StackSample) uint64
}

// switchWeights are the weights of switch stacks, as far as the table has them.
func (s *stacks) switchWeights() []weight {
	out := []weight{{"switches", "count", func(sm *evidence.StackSample) uint64 { return uint64(sm.Weight) }}}
	var off, delay bool
	for i := range s.Samples {
		off = off || s.Samples[i].OffN > 0
		delay = delay || s.Samples[i].DelayNS > 0
	}
	if off {
		out = append(out, weight{"off_cpu", "nanoseconds", func(sm *evidence.StackSample) uint64 { return sm.OffNS }})
	}
	if delay {
		out = append(out, weight{"delay", "nanoseconds", func(sm *evidence.StackSample) uint64 { return sm.DelayNS }})
	}
	return out
}

// cpuWeight is the weight of samples of a CPU: time where a clock took them with
// its periods, else the periods of the counter, else the samples.
func (s *stacks) cpuWeight() weight {
	periods := func(sm *evidence.StackSample) uint64 { return uint64(sm.Weight) }
	var n, sum float64
	for i := range s.Samples {
		n += float64(s.Samples[i].Count)
		sum += s.Samples[i].Weight
	}
	event := s.Event // without modifiers and terms: cpu-clock:u, cpu-clock/freq=499/
	if i := strings.IndexAny(event, ":/"); i > 0 {
		event = event[:i]
	}
	switch {
	case sum <= n: // periods are not told
		return weight{"samples", "count", func(sm *evidence.StackSample) uint64 { return sm.Count }}
	case event == "cpu-clock" || event == "task-clock":
		return weight{"cpu", "nanoseconds", periods}
	}
	return weight{report.Plain(s.Event), "count", periods}
}
