// Package timeline turns time-ordered scheduler events into per-task evidence.
//
// Readers of event formats (perf.data, perf script, ftrace) decode their
// records into [Event] values and hand them over in batches that are ordered
// by time; sinks consume the batches. The [Tracker] is the sink that builds
// evidence; exports are others. Nothing here keeps events.
package timeline

import (
	"sync"

	"ctxan/parse/evidence"
)

// Kind is what an event tells.
type Kind uint8

// The kinds of event.
const (
	KindNone      Kind = iota
	KindSwitch         // sched_switch: TID (prev) leaves CPU in State, Other (next) comes; Arg is the sample's period, 0 for 1
	KindWaking         // sched_waking: TID wakes Other; Arg is the CPU it will be put on
	KindWakeup         // sched_wakeup: the same, seen when Other is made runnable; see FlagWaking
	KindWakeupNew      // sched_wakeup_new: the first wakeup of a new task
	KindMigrate        // sched_migrate_task: Other goes from CPU Arg>>32 to CPU Arg&0xffffffff
	KindFork           // TID made Other; PID is Other's process
	KindExit           // TID ends
	KindComm           // TID is now called Comm (PID set when known)
	KindSwitchIn       // PERF_RECORD_SWITCH: TID comes onto CPU
	KindSwitchOut      // PERF_RECORD_SWITCH: TID leaves CPU; State is StateR when preempted, else StateS
	KindSample         // a sample of a clock, a cycle counter or a software switch event; Arg is its period
	KindLost           // Arg events were lost on CPU before this time
)

// NoStack is the Stack of an event without a call chain.
const NoStack uint32 = 0

// OtherStacks is the Stack of an event whose call chain is not told apart,
// because the capture has too many different ones.
const OtherStacks uint32 = 1<<32 - 1

// Flags of an event.
const (
	FlagIRQ    uint8 = 1 << iota // recorded in hard or soft interrupt context (common_flags)
	FlagHasPID                   // PID is set

	// FlagWaking is set for a KindWakeup that stands for the sched_waking before
	// it, too: the same waker on the same CPU, with nothing in between there. Arg
	// has the CPU in its lower half and how long ago that was, ns, in its upper.
	FlagWaking
)

// Event is one scheduler event, in 64 bytes. Tasks are global thread ids; the
// idle task is 0. Comms are ids of [Names]; stacks are ids of the reader's
// interner, NoStack for none.
type Event struct {
	Time      uint64 // ns in the capture's clock; 0 when the capture has no times
	Arg       uint64
	Off       int64 // where the record stands in its source
	TID       int32
	PID       int32 // process of TID (KindFork: of Other), with FlagHasPID
	Other     int32
	CPU       int32 // -1: not known
	Stack     uint32
	Comm      uint32 // of TID; 0: not told
	OtherComm uint32 // of Other; 0: not told
	Event     uint16 // KindSwitch, KindSample: which of the reader's events (TrackerOptions.Events)
	Kind      Kind
	State     evidence.State
	Flags     uint8
}

// Sink consumes ordered batches. The batch is reused: a sink must not keep it.
type Sink interface {
	Events(batch []Event) error
}

// Names interns task names. Id 0 is "not told". It is safe for concurrent use:
// a reader makes names on one goroutine while sinks look them up on another.
type Names struct {
	mu   sync.RWMutex
	ids  map[string]uint32
	list []string
}

// ID returns the id of a name, making one if it is new. The bytes are copied.
func (n *Names) ID(name []byte) uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, ok := n.ids[string(name)]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = map[string]uint32{}
		n.list = []string{""}
	}
	id := uint32(len(n.list))
	n.list = append(n.list, string(name))
	n.ids[n.list[id]] = id
	return id
}

// Name returns the name of an id; "" for 0 and unknown ids.
func (n *Names) Name(id uint32) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if int(id) < len(n.list) {
		return n.list[id]
	}
	return ""
}
