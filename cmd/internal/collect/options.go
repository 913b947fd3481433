package collect

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Options tell what to measure. Exactly one of PIDs, TIDs, All, Cgroup and
// Command is set.
type Options struct {
	PIDs, TIDs []int
	All        bool
	Cgroup     string // a folder of the cgroup file system
	Command    []string

	Duration time.Duration // 0: until the command or the target ends
	Dir      string        // must not exist; "" for ctxan-NAME-TIME in the working directory

	NoStacks      bool
	Wakeups       bool           // also who wakes the targets, without All
	Timers        bool           // also the timers that the targets start
	MaxSize       int64          // bytes of perf.data after which measuring ends; 0: no limit
	OverheadLimit float64        // percent of the target's CPU time that tracing may cost; 0: no limit
	Version       string         // of the program, for the captures
	Progress      func(Progress) // called about ten times a second; may be nil

	Stdin          io.Reader // of the command
	Stdout, Stderr io.Writer

	hooks hooks // for tests
}

// Progress tells how far a measurement is.
type Progress struct {
	Elapsed, Total time.Duration // Total is 0 when there is no end set
	Bytes          int64         // of perf.data
	Switches       uint64        // records of switches so far
}

// Step is how a measurement sees switches, from the best to the least.
type Step int

// The steps.
const (
	StepTracepoint Step = iota // sched:sched_switch, with call chains unless they were not wanted
	StepSwitch                 // PERF_RECORD_SWITCH; software samples beside it give the call chains where allowed
	StepSoftware               // samples of the software event context-switches
	StepCounters               // counters only
	StepPolling                // the numbers of /proc only
)

var stepNames = [...]string{"sched_switch tracepoint", "PERF_RECORD_SWITCH", "samples of context-switches", "counters", "/proc polling"}

func (s Step) String() string { return stepNames[s] }

// Missing is something that could not be measured.
type Missing struct {
	What string // "the sched_switch tracepoint (who switches to whom, and the kernel's call chain)"
	Why  string // "perf_event_open: permission denied, perf_event_paranoid is 2"
	Fix  string // the command that grants it; "" when there is none
}

func (m Missing) String() string {
	s := m.What + ": " + m.Why
	if m.Fix != "" {
		s += "; to grant it: " + m.Fix
	}
	return s
}

// Result tells what was captured.
type Result struct {
	Dir     string
	Step    Step
	Missing []Missing
	Notes   []string // what else is worth knowing, a line each

	Switches  uint64 // records or samples of switches
	Lost      uint64 // records that the kernel had no room for
	Counted   uint64 // by the context-switches counter; valid with HasCount
	HasCount  bool
	Elapsed   time.Duration
	Interrupt bool       // ended by the caller before its time
	Ended     bool       // ended because the target did
	Exit      int        // status of the command: 128+N when signal N ended it
	Wait      func() int `json:"-"` // waits for the command and returns its status; nil without one
	Unstacked bool       // call chains were not wanted
}

// Silent reports whether the counter saw switches of which none was recorded.
func (r *Result) Silent() bool {
	return r.HasCount && r.Counted > 0 && r.Switches == 0 && r.Step <= StepSoftware
}

// Errors of Run.
var (
	ErrUnsupported = errors.New("measuring live needs Linux; captures made there can be read on any system")
	ErrNoTarget    = errors.New("nothing to measure")
	ErrExists      = errors.New("it exists already, and captures are never overwritten")
)

// TargetError is a target that is not there, or that may not be measured.
type TargetError struct {
	What string // "process 4711"
	Err  error
}

func (e *TargetError) Error() string { return fmt.Sprintf("%s: %v", e.What, e.Err) }

func (e *TargetError) Unwrap() error { return e.Err }

// WriteError is a capture that could not be written whole; what was written
// before can be read.
type WriteError struct {
	File string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("writing %s stopped: %v; what was written before can be read", e.File, e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }
