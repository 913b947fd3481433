package evidence

// Task is a thread, by what a capture says of it. PID is the thread-group id
// (the process), 0 when not known; TID 0 is the idle task. Comm may hold any
// bytes: renderers escape it.
type Task struct {
	PID  int
	TID  int
	Comm string
}

// State is how a task left the CPU, from prev_state, normalised over kernels.
type State uint8

// The states at switch-out. StateR and StateRPlus are involuntary.
const (
	StateUnknown State = iota
	StateR             // runnable: TASK_RUNNING without the preempt mark
	StateRPlus         // runnable, preempted in the kernel (R+)
	StateS             // interruptible sleep
	StateD             // uninterruptible sleep
	StateT             // stopped
	StateTraced        // t: traced
	StateX             // dead
	StateZ             // zombie
	StateP             // parked
	StateI             // idle kernel thread
	StateOther         // blocked in a state that kernels since 4.14 do not tell of: W, K, N
	NumStates
)

var stateNames = [NumStates]string{"?", "R", "R+", "S", "D", "T", "t", "X", "Z", "P", "I", "other"}

func (s State) String() string { return stateNames[s] }

// Voluntary reports whether the task gave the CPU up by itself. The state must
// be known.
func (s State) Voluntary() bool { return s > StateRPlus }

// WakeContext tells, for an involuntary switch, whether the task that follows
// had just been woken on that CPU, and from where. It needs wakeup events.
type WakeContext uint8

// The wake contexts of an involuntary switch-out.
const (
	WakeUnknown  WakeContext = iota // the capture has no wakeup events
	WakeNone                        // no wakeup of the next task since the task was last switched in
	WakeBySelf                      // the outgoing task itself woke the next one, outside interrupts
	WakeByIRQ                       // an interrupt on this CPU woke the next one
	WakeByRemote                    // another CPU woke the next one
	NumWakeContexts
)

var wakeNames = [NumWakeContexts]string{"unknown", "none", "self", "irq", "remote"}

func (w WakeContext) String() string { return wakeNames[w] }

// SwitchKind is what a switch-out switches to.
type SwitchKind uint8

// The kinds of a switch. KindUnknown: the next task's process is not known.
const (
	KindUnknown SwitchKind = iota
	KindProcess            // a task of another process: the address space changes
	KindThread             // another thread of the same process
	KindKernel             // a kernel thread
	KindIdle               // the idle task
	NumKinds
)

var kindNames = [NumKinds]string{"unknown", "process", "thread", "kernel", "idle"}

func (k SwitchKind) String() string { return kindNames[k] }

// TaskStats is what one source says of one thread (or, with Process set, of a
// whole process, whose threads must then not be added to it).
//
// A source that prints rates fills the ...PerS fields; one that counts fills
// the counts. Neither is derived from the other here.
type TaskStats struct {
	Pos     Pos
	Task    Task
	Process bool // a row that sums the threads of Task.PID
	Average bool // the tool's own average over the capture
	Kernel  bool // known to be a kernel thread

	Voluntary       Opt[uint64]
	Involuntary     Opt[uint64]
	Switches        Opt[uint64] // voluntary + involuntary, where only the sum is known
	VoluntaryPerS   Opt[float64]
	InvoluntaryPerS Opt[float64]

	RunNS       Opt[uint64] // time on a CPU
	DelayNS     Opt[uint64] // woken until running, after a switch-out that the source shows: scheduling delay
	WaitNS      Opt[uint64] // switched out until running again: the application-perceived pause, all causes
	SleepNS     Opt[uint64] // blocked: switched out until woken
	PreemptNS   Opt[uint64] // runnable after an involuntary switch-out until running again
	RunDelayNS  Opt[uint64] // runnable and not running, for whatever reason: the kernel's own sum of DelayNS, PreemptNS and FirstWaitNS
	FirstWaitNS Opt[uint64] // of FirstWaits wakeups before which no switch-out is seen: made, or woken the first time, until running
	Migrations  Opt[uint64]
	Wakeups     Opt[uint64]

	Run     *Histogram // per stint on a CPU
	Delay   *Histogram // per wakeup
	OffCPU  *Histogram // per voluntary switch-out, until running again
	Preempt *Histogram // per involuntary switch-out, until running again

	States     *[NumStates]uint64       // switch-outs by state
	WakeCtx    *[NumWakeContexts]uint64 // involuntary switch-outs by wake context
	Kinds      *[NumKinds]uint64        // switch-outs by what followed
	Gap        *Histogram               // per voluntary switch-out, until the next switch-out; where the capture does not tell when the task came back
	Preemptors []Preemptor              // who took the CPU from it while it was runnable, most often first, at most MaxPreemptors
	Wakers     []Waker                  // who woke this task, most often first, at most MaxWakers
	Bursts     uint64                   // wakeups that came with those of other tasks, MinBurst in all or more, from one CPU between two switches
	BurstSize  uint64                   // tasks woken in those bursts, summed over Bursts
	// Of system-wide traces: who held up its waits for a CPU, the longest first,
	// and for how much of that time another CPU was idle, on which it may not
	// have been allowed to run.
	Blame           []Blame
	IdleElsewhereNS uint64

	MaxDelay Opt[Extreme]

	FirstWaits  uint64
	ChainBreaks uint64 // switch-outs of it whose switch-in the source misses
	MissedOuts  uint64 // switch-outs of it that the source misses, as far as the others show
	Ended       bool   // its end was recorded, be its last switch-out seen or not
}

// Waker counts the wakeups of a task by one waker.
type Waker struct {
	Task    Task
	IRQ     bool // from an interrupt that happened to run over Task (or the idle task)
	Count   uint64
	DelayNS uint64 // of those wakeups, in all

	// AfterNS is how long the waker went on running after those wakeups, in
	// all, until it next left the CPU; Blocked is how many of those switch-outs
	// were voluntary. A hand-off blocks soon after every wakeup; whoever
	// releases a lock goes on. Both are 0 for IRQ.
	AfterNS uint64
	Blocked uint64

	// NoState: the capture tells neither interrupts (IRQ is set for the idle
	// task only) nor how the waker left the CPU (Blocked is not known, not 0).
	NoState bool
}

// MaxWakers bounds TaskStats.Wakers.
const MaxWakers = 16

// Extreme is the context of a maximum: when it ended, how long it was, and what
// ran on that CPU instead, for the longest part of it (TID 0 when the CPU was
// idle, -1 when it is not known).
type Extreme struct {
	AtNS    uint64
	NS      uint64
	Instead Task
}

// SystemRate is the machine's own switch rate, by interval.
type SystemRate struct {
	Pos          Pos
	CPUs         Opt[int]
	SwitchesPerS []float64
	AveragePerS  Opt[float64] // the tool's own average of them
	AverageForks Opt[float64] // and of the tasks made, per second

	// Samples has what else the tool printed of each interval, in the same
	// order; empty where it printed nothing else. A tool that prints no switch
	// rates has samples only.
	Samples []SystemSample
}

// SystemSample is one row of a tool that samples the whole machine.
type SystemSample struct {
	Line           int
	SinceBoot      bool // a mean since boot: vmstat's first row
	InterruptsPerS Opt[float64]
	ForksPerS      Opt[float64] // tasks made
	Runnable       Opt[float64] // tasks running or waiting for a CPU, at that moment
	Blocked        Opt[float64] // tasks in uninterruptible sleep
	Idle           Opt[float64] // shares of the CPUs' time
	IOWait         Opt[float64]
	Steal          Opt[float64]
}

// Series is the number of switches over the capture's time in equal steps.
type Series struct {
	Source   int
	CPU      Opt[int] // absent: all CPUs
	StartNS  uint64
	StepNS   uint64
	Switches []uint32
}
