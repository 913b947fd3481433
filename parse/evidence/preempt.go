package evidence

// Preemptor counts how often one task took the CPU from another that was still
// runnable, as the switch events name both.
//
// The idle task among them (TID 0) is no preemptor: a CPU that goes idle
// although the task it leaves wants to run was told not to run it, which the
// kernel does to a task whose control group has used up its CPU quota.
type Preemptor struct {
	Task  Task
	Count uint64
	// RanNS is how long the preemptor then ran, in all, in the RanN stints whose
	// end is in the capture.
	RanNS uint64
	RanN  uint64
}

// MinBurst is how many different tasks are woken at one go, on one CPU without
// a switch between them, to be counted as a burst.
const MinBurst = 4

// MaxPreemptors bounds TaskStats.Preemptors.
const MaxPreemptors = 16

// Blame is how long a task that wanted to run waited while another ran on the
// CPU that it got in the end: TID 0 for the idle task, which means that the CPU
// was on its way out of idle, and -1 where the capture does not tell. Of a task
// with many waits only some are looked at, and stand for the others.
type Blame struct {
	Task Task
	NS   uint64
}

// MaxBlame bounds TaskStats.Blame; what further tasks held up is added to the
// row of the task with TID -1.
const MaxBlame = 16
