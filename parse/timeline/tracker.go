package timeline

import (
	"ctxan/parse/evidence"
)

// EventInfo describes one of the reader's events, by its index in Event.Event.
type EventInfo struct {
	Name     string // as the capture has it: "sched:sched_switch", "cycles"
	Kind     evidence.StackKind
	Switches bool // a software context-switches event: each sample is a switch of unknown state
	Sampled  bool // taken by period or frequency: one sample is not one event
	Chains   bool // its samples carry call chains, so that one without a chain is worth a row
}

// TrackerOptions tell a Tracker what the capture holds. Names in Events are
// also looked at to know which scheduler events were recorded; those that are
// not listed are discovered when they come.
type TrackerOptions struct {
	SystemWide bool // all tasks of all CPUs are traced
	Wakeups    bool // all wakeups of the traced tasks are in the capture; implied by SystemWide
	Lines      bool // Event.Off is a line of a text
	Events     []EventInfo
	Select     *Select // of whom to tell; nil: all tasks
	Watch      Watcher // is told of every stint and wakeup; nil: nobody is
	MaxTasks   int     // tasks that are told apart; 0 for DefaultMaxTasks
}

// DefaultMaxTasks bounds the tasks of one capture. Switches of further tasks
// are counted in a warning only.
const DefaultMaxTasks = 1 << 18

// StackFrames resolves the stack ids of events. Frames returns a chain leaf
// first; the slice is read before the next call.
type StackFrames interface {
	Frames(stack uint32) []evidence.Frame
}

// A Tracker is the [Sink] that turns ordered events into per-task evidence.
//
// Each task is Unknown, On a CPU or Off all of them, and each CPU knows which
// task the last switch put on it. A duration is counted only when both of its
// ends were seen and nothing says that something between them was not: a switch
// whose prev is not the last switch's next (a chain break), lost events on a
// CPU the task touched, or time that runs backwards drop the duration, and are
// counted themselves. Nothing is bridged.
//
//	system-wide: CPU 0  A───┤B────┤idle─┤A──     switch: prev goes Off, next comes On
//	task mode:          A───┤ ?  ? ? ? ?├A──     only prev's end is seen, unless
//	                                             PERF_RECORD_SWITCH tells of the start
//
// Memory: about 650 bytes for a task that lived shortly, up to 5 KB for one with
// full histograms and 32 wakers; 64 bytes a distinct (task, stack, state, wake
// context), at most maxSamples of them; 2 KB a CPU. It does not grow with events.
//
// A Tracker is not safe for concurrent use.
type Tracker struct {
	opt   TrackerOptions
	names *Names

	tasks   taskTable
	cpus    []*cpuState
	samples sampleTable
	series  seriesSet

	idle     *task // TID 0, of every CPU
	others   *task // stands for all tasks beyond MaxTasks
	lossGen  uint32
	lossAll  uint32 // generation of the last loss on an unknown CPU
	allWakes bool   // a task without a wakeup was not woken

	anySampled, anyChains            bool // of the events listed
	hasWakeup, hasWaking, hasMigrate bool

	counted countSource // what the switches over time are counted from
	timed   bool        // switch-ins are in the capture, so that durations have two ends

	first, last uint64 // times of the first and the last event; 0: none
	breaks      uint64
	backward    uint64 // durations dropped because they were negative
	sampled     bool   // switches came from a sampled event

	who []taskName // by task.id, from Finish on
}

// NewTracker returns a Tracker. The names are those of the events' comms.
func NewTracker(names *Names, opt TrackerOptions) *Tracker {
	if opt.MaxTasks <= 0 {
		opt.MaxTasks = DefaultMaxTasks
	}
	t := &Tracker{opt: opt, names: names, timed: opt.SystemWide,
		allWakes: opt.SystemWide || opt.Wakeups}
	t.samples.max = maxSamples
	t.idle = t.tasks.add(0)
	t.tasks.put(t.idle)
	t.others = t.tasks.add(-1) // gets othersID
	for _, e := range opt.Events {
		t.anySampled = t.anySampled || e.Sampled
		t.anyChains = t.anyChains || e.Chains
		switch e.Name {
		case "sched:sched_wakeup":
			t.hasWakeup = true
		case "sched:sched_waking":
			t.hasWaking = true
		case "sched:sched_migrate_task":
			t.hasMigrate = true
		}
	}
	return t
}

// Events takes a batch. It never fails.
func (t *Tracker) Events(batch []Event) error {
	for i := range batch {
		e := &batch[i]
		if e.Time > t.last {
			t.last = e.Time
		}
		if e.Time-1 < t.first-1 { // 0, no time, is above all
			t.first = e.Time
		}
		switch e.Kind {
		case KindSwitch:
			t.onSwitch(e)
		case KindWakeup:
			t.onWakeup(e)
		case KindWaking:
			t.onWaking(e)
		case KindSample:
			t.onSample(e)
		case KindSwitchIn:
			t.onSwitchIn(e)
		case KindSwitchOut:
			t.onSwitchOut(e)
		case KindWakeupNew:
			t.onWakeupNew(e)
		case KindMigrate:
			t.onMigrate(e)
		case KindFork:
			t.onFork(e)
		case KindExit:
			t.onExit(e)
		case KindComm:
			t.onComm(e)
		case KindLost:
			t.onLost(e)
		}
	}
	return nil
}

// info returns what is known of the event that a sample belongs to.
func (t *Tracker) info(e *Event) *EventInfo {
	if int(e.Event) < len(t.opt.Events) {
		return &t.opt.Events[e.Event]
	}
	return &unlisted
}

var unlisted EventInfo

// span is the time from start to end. A start of 0 is not known. Time that
// runs backwards is counted and gives no span.
func (t *Tracker) span(start, end uint64) (uint64, bool) {
	if start == 0 || end == 0 {
		return 0, false
	}
	if end < start {
		t.backward++
		return 0, false
	}
	return end - start, true
}
