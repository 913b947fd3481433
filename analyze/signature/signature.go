// Package signature names what a call chain waits for, what took the CPU away,
// and which code asked. The frames are data (signatures.tsv, reasons.tsv), so
// that a renamed kernel function is a one-line change.
//
// Matching walks from the leaf to the root and skips the carriers (schedule and
// its kin). The first frame that a row knows decides; a frame nearer the root
// may refine it (a page wait below fsync is an fsync), and so may the call of
// the C library or the language runtime (a futex wait below pthread_mutex_lock
// is a wait for a lock). A name proves only what its row says: a futex wait
// whose caller is hidden stays a futex wait.
package signature

// Reason is what a task blocks on.
type Reason struct {
	ID    string // "timer-sleep", "futex", "epoll", "disk-io" ...; "" for none
	Label string // in words: "timer sleep"
	Class Class  // the kind of wait, for rules
	Note  string // more of it, in a clause; mostly ""
}

// Class groups reasons by what a diagnosis does with them.
type Class string

// The classes of reasons.
const (
	ClassSleep    Class = "sleep"    // asked to sleep for a time
	ClassLock     Class = "lock"     // a lock that another thread holds
	ClassCond     Class = "cond"     // a condition, a semaphore, a park: work or an answer from another thread
	ClassTimed    Class = "timed"    // the same with a time limit
	ClassFutex    Class = "futex"    // a futex, which of the three is hidden
	ClassEvent    Class = "event"    // epoll, poll, select, io_uring: the next event of many
	ClassIPC      Class = "ipc"      // one peer on this machine: pipe, unix socket, eventfd
	ClassNetwork  Class = "network"  // one peer on a network socket
	ClassDisk     Class = "disk"     // a read or write of a block device
	ClassSync     Class = "sync"     // fsync, journal commit
	ClassThrottle Class = "throttle" // held back on purpose: dirty pages, I/O limits
	ClassMemory   Class = "memory"   // reclaim, swap, memory limits
	ClassMM       Class = "mm"       // the lock of the address space
	ClassKernel   Class = "kernel"   // a lock or completion inside the kernel
	ClassFS       Class = "fs"       // a file system in user space or on the network
	ClassTrace    Class = "trace"    // stopped by a tracer
	ClassStop     Class = "stop"     // stopped or frozen
	ClassChild    Class = "child"    // a child process
	ClassExit     Class = "exit"     // the task ended
	ClassTTY      Class = "tty"      // a terminal or console
	ClassDevice   Class = "device"   // another device
	ClassWorker   Class = "worker"   // an idle kernel thread
	ClassGuest    Class = "guest"    // a virtual CPU that halted
	ClassRuntime  Class = "runtime"  // a helper of a language runtime
	ClassIdle     Class = "idle"     // the idle task
	ClassMove     Class = "move"     // being moved to another CPU
	ClassQuota    Class = "quota"    // held back by a CPU quota
	ClassYield    Class = "yield"    // sched_yield: still runnable
	ClassSpin     Class = "spin"     // burns CPU for a lock, without a switch
	ClassWork     Class = "work"     // kernel work, no wait
)

// Role is what a frame tells.
type Role uint8

// The roles of frames.
const (
	RoleNone      Role = iota
	RoleWait           // kernel: blocks, and says on what
	RoleHint           // kernel: says on what when no other frame does
	RoleRefine         // kernel: says more of a reason that a frame nearer the leaf gave
	RoleCarrier        // kernel: schedule and its kin, says nothing
	RoleEntry          // kernel: system call entry, the border to user frames
	RoleTimerIRQ       // kernel: a timer interrupt
	RoleIPI            // kernel: an interrupt from another CPU
	RoleIRQ            // kernel: a device interrupt
	RoleAnyIRQ         // kernel: an interrupt, of whatever kind (arm64)
	RoleIRQReturn      // kernel: on the way back from an interrupt or a fault
	RoleFault          // kernel: a page fault or another exception
	RoleReturn         // kernel: on the way back to user mode
	RoleYield          // sched_yield
	RoleResched        // kernel: a preemption point (__cond_resched)
	RolePreempt        // kernel: preempted in kernel code
	RoleIdle           // kernel: the idle task
	RoleKthread        // kernel: the bottom of a kernel thread
	RoleSpin           // kernel: burns CPU waiting for a lock, without a switch
	RoleWake           // kernel: wakes another task
	RoleWork           // kernel: at work: what lies nearer the root is no wait
	RoleKernel         // kernel: known, and no wait; a reason of class work tells what it does
	RoleAPI            // user: a call of the C library or a runtime that waits
	RoleWakeAPI        // user: a call that may wake another task
	RoleSkip           // user: library or runtime code that is never the one that asked
	RoleBody           // user: skipped too, unless no better caller is there (std::thread's wrapper)
	RoleHelper         // user: a thread of a language runtime that is not the application's
)

var roleNames = [...]string{"", "wait", "hint", "refine", "carrier", "entry", "timer-irq", "ipi", "irq", "irq-any", "irq-return", "fault",
	"return", "yield", "resched", "preempt", "idle", "kthread", "spin", "kernel-wake", "work", "kernel", "api", "wake-api", "skip", "body", "helper"}

// String is the role as the table writes it.
func (r Role) String() string { return roleNames[r] }

// Kernel reports whether frames of the role are kernel code.
func (r Role) Kernel() bool { return r >= RoleWait && r <= RoleKernel && r != RoleYield }

// Match is what a call chain waits for.
type Match struct {
	Reason Reason
	Frame  int    // index of the kernel frame that decided
	API    string // the user-level call by its plain name: "pthread_mutex_lock"; "" when it is hidden

	// Ambiguous: the frame that decided serves several purposes, and no other
	// frame tells which (a bare futex wait, schedule_timeout alone).
	Ambiguous bool
}

// Preemption is what made an involuntary switch happen.
type Preemption uint8

// The kinds of preemption. A wakeup of the next task decides over the frames:
// a timer interrupt on the stack only says that a timer interrupt came before.
const (
	PreemptUnknown Preemption = iota // no frame and no wake context tells
	PreemptTick                      // timer interrupt, and the next task had not just been woken
	PreemptWakeup                    // an interrupt on this CPU woke the next task
	PreemptRemote                    // another CPU woke the next task, or its interrupt is on the stack
	PreemptHandOff                   // on return from a system call that woke the next task
	PreemptYield                     // sched_yield
	PreemptKernel                    // inside the kernel
	PreemptTimer                     // under a timer interrupt, tick or wakeup undecided
	PreemptReturn                    // on return to user mode, undecided
	PreemptRace                      // woken while it went to sleep: on a blocking path, and still runnable
	NumPreemptions
)

var preemptNames = [NumPreemptions]string{"unknown", "tick", "wakeup", "remote-wakeup", "hand-off", "yield",
	"in-kernel", "timer-undecided", "return-undecided", "wake-race"}

// String is the id of the preemption.
func (p Preemption) String() string { return preemptNames[p] }
