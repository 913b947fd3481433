package analyze

import (
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// Facts are what rules read: one case's figures, computed once, each absent
// when the input does not hold it. Rules never look at raw rows.
type Facts struct {
	Subject Subject
	Macro   Macro
	Layer2  Layer2
	Names   map[int]string // source id -> name, for prose

	Threads []ThreadFact // by switch rate, highest first
	Hot     int          // the first Hot threads make HotShare of the switches

	// Blocking and Triggers split the switches that have a call chain or a wake
	// context; their Switches and Share are of all switches of the case.
	Blocking []ReasonFact
	Triggers [NumTriggers]TriggerFact

	// Work splits the switches preempted in the kernel by what the kernel was at
	// work on; Share is of all switches of the case.
	Work []ReasonFact

	// CPU splits CPU samples (or a printed profile) by the blocking path they
	// were taken in. It shows where time goes, never how many switches.
	CPU []ReasonFact

	// Callers is the user code that asked, by reason and weight.
	Callers []CallerFact

	Wake  WakeFacts
	Taken TakenFacts
	Futex FutexFacts
	Util  UtilFacts

	// Machine and Quota are what the machine's counters and control groups say,
	// the group that was stopped most often first; empty where not captured.
	Machine MachineFact
	Quota   []QuotaFact

	// Settings are facts about the machine, by the file's path: its first line.
	Settings map[string]string

	Run, Delay, OffCPU, Preempt *evidence.Histogram // over all threads of the subject; nil: not captured

	Has  Has
	Loss evidence.Loss
}

// Has tells which evidence the case holds.
type Has struct {
	Counters   bool // layer 1 measured by its own tool
	Threads    bool // any layer 2
	States     bool // voluntary and involuntary can be told apart
	Trace      bool // layer 2 comes from switch events
	SystemWide bool // ... of all tasks
	Wakeups    bool // wakeup events
	Stacks     bool // call chains at switches, with names
	Unnamed    bool // call chains at switches whose kernel frames have no names: Stacks is then false
	CPUStacks  bool // call chains or symbols of CPU samples
	UserFrames bool // some user frames are resolved
	Sampled    bool // events taken by period or frequency
	Migrations bool // migrations are counted, by layer 1 or 2
}

// ThreadFact is one thread over all sources that tell of it.
type ThreadFact struct {
	Task              evidence.Task
	Kernel            bool
	VoluntaryPerS     evidence.Opt[float64]
	InvoluntaryPerS   evidence.Opt[float64]
	SwitchesPerS      evidence.Opt[float64]
	Voluntary         evidence.Opt[uint64]
	Involuntary       evidence.Opt[uint64]
	Switches          evidence.Opt[uint64]
	Share             float64 // of the case's switches
	RunNS             evidence.Opt[uint64]
	DelayNS           evidence.Opt[uint64]
	WaitNS            evidence.Opt[uint64]
	SleepNS           evidence.Opt[uint64]
	PreemptNS         evidence.Opt[uint64]
	RunDelayNS        evidence.Opt[uint64] // runnable and not running, in all: the kernel's own sum
	Migrations        evidence.Opt[uint64]
	Run               *evidence.Histogram
	Delay             *evidence.Histogram
	OffCPU            *evidence.Histogram
	Preempt           *evidence.Histogram
	States            *[evidence.NumStates]uint64
	Ended             bool // within the capture
	WakeCtx           *[evidence.NumWakeContexts]uint64
	Wakeups           evidence.Opt[uint64]
	Bursts, BurstSize float64              // wakeups in the company of others, and how many they were each time, summed
	Blame             []evidence.Blame     // who held up its waits for a CPU
	IdleElsewhereNS   uint64               // of those waits, while another CPU was idle
	Preemptors        []evidence.Preemptor // who took the CPU from it, most often first; bounded
	Gap               *evidence.Histogram  // from a voluntary switch-out to the next switch-out, where OffCPU is not known
	Wakers            []evidence.Waker     // the most frequent; their counts may not add up to Wakeups
	Asked             *evidence.Histogram  // the sleeps it asked for, where timers were traced
	Slack             *evidence.Histogram  // by how much later they may fire
	Blocking          []ReasonFact         // of this thread's switches
	Triggers          [NumTriggers]float64
	Evidence          []Evidence
	Sources           []int
}

// Trigger is what made an involuntary switch happen.
type Trigger uint8

// The triggers of involuntary switches.
const (
	TriggerUnknown      Trigger = iota // no stack and no wake context
	TriggerTick                        // the time slice ended: timer interrupt and no wakeup of the next task
	TriggerWakeup                      // a task woken by an interrupt on this CPU preempted it
	TriggerRemoteWakeup                // a task woken by another CPU preempted it
	TriggerHandOff                     // on return from a system call that woke the next task
	TriggerYield                       // sched_yield
	TriggerKernel                      // preempted inside the kernel (R+, __cond_resched, preempt_schedule*)
	TriggerTimer                       // under a timer interrupt, tick or wakeup undecided
	TriggerReturn                      // on return to user mode, undecided
	TriggerRace                        // woken while it went to sleep: on a blocking path and still runnable
	NumTriggers
)

var triggerNames = [NumTriggers]string{"unknown", "tick", "wakeup", "remote-wakeup", "hand-off", "yield", "in-kernel", "timer-undecided", "return-undecided", "wake-race"}

var triggerLabels = [NumTriggers]string{"not told", "time slice ended", "preempted by a wakeup", "preempted by a remote wakeup",
	"hand-off after a wake call", "sched_yield", "preempted in the kernel", "timer interrupt, undecided", "return to user, undecided", "woken while going to sleep"}

// String is the trigger's id.
func (t Trigger) String() string { return triggerNames[t] }

// Label is the trigger in words.
func (t Trigger) Label() string { return triggerLabels[t] }

// TriggerFact counts involuntary switches of one trigger.
type TriggerFact struct {
	Switches float64
	Share    float64 // of the case's involuntary switches
	Frame    string  // the frame that decided, when a stack did
	OffNS    float64 // until the thread ran again, of switches whose return was seen
}

// ReasonFact is the weight of one blocking reason.
type ReasonFact struct {
	Reason     signature.Reason
	Frame      string  // the frame that decided, most often
	FrameShare float64 // that frame's own part of Share
	API        string  // the user-level call, when known: "pthread_mutex_lock"
	Switches   float64 // scaled to all switches when sampled
	Share      float64 // of the switches (Blocking) or of the CPU samples (CPU)
	OffNS      float64 // off-CPU time, of switches whose return was seen
	OffN       float64
	State      [evidence.NumStates]float64
	Evidence   []Evidence
}

// CallerFact is user code that asked to wait.
type CallerFact struct {
	Symbol string
	File   string
	Line   int
	Reason string  // signature id; "" for CPU samples without one
	Share  float64 // of the case's switches, or of the CPU samples with CPU set
	CPU    bool
	Evid   Evidence
}

// WakeFacts tell who wakes the subject's threads.
type WakeFacts struct {
	Total   uint64 // wakeups of the subject's threads
	IRQ     uint64 // from interrupts (timers, devices)
	Inside  uint64 // from threads of the subject itself
	Outside uint64 // from other processes
	Pairs   []PairFact
	Peers   []PeerFact // tasks outside the subject that wake it, as far as the capture tells of them
}

// PeerFact is a task outside the subject that wakes the subject's threads.
type PeerFact struct {
	Task     evidence.Task
	Woken    uint64       // how often it was woken itself, by wakers that are told
	IRQ      uint64       // of these, by interrupts
	Blocking []ReasonFact // of its own switches; Reason, Switches and Share (of its own) only
}

// PairFact is a pair of threads that wake each other, or one that wakes the other.
type PairFact struct {
	A, B   evidence.Task
	AB, BA uint64 // wakeups of B by A, of A by B
	// Blocked is the share of these wakeups after which the waker gave the CPU
	// up by itself at its next switch; AfterNS the mean time it ran on first.
	// Absent when the capture does not show it.
	Blocked evidence.Opt[float64]
	AfterNS evidence.Opt[float64]
}

// UtilFacts tell how full the machine and the subject are.
type UtilFacts struct {
	CPUs        evidence.Opt[int]     // of the machine
	CPUsUsed    evidence.Opt[float64] // by the subject
	BusyShare   evidence.Opt[float64] // of all CPUs, by anyone
	OthersUsed  evidence.Opt[float64] // CPUs used by everyone but the subject
	Runnable    evidence.Opt[float64] // threads of the subject that want a CPU at a time: (run + delay + preempt) / window
	WaitingRun  evidence.Opt[float64] // share of runnable time spent waiting for a CPU
	HotCPUShare evidence.Opt[float64] // switches on the busiest CPU
}

// Rule concludes a cause from facts.
type Rule struct {
	ID  string
	Doc string // one sentence: what the cause is

	// Run returns findings; none when the facts do not show the cause.
	Run func(f *Facts) []Finding

	// Rival says what became of the cause when another one is the verdict, or
	// when there is none: rejected with the figure, a candidate with its fit, or
	// not excluded. ok is false when there is nothing to say.
	Rival func(f *Facts) (r Rival, ok bool)
}
