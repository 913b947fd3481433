package evidence

// WaitKind is what kind of call asked to wait, or ended a wait.
type WaitKind uint8

// The kinds of call.
const (
	WaitSleep WaitKind = iota // nanosleep, clock_nanosleep
	WaitPoll                  // poll, select, epoll_wait and their variants
	WaitFutex                 // a futex operation that waits
	WakeFutex                 // a futex operation that wakes or requeues waiters, or does something else
	WaitTimer                 // a high-resolution timer was started, in task context
)

var waitNames = [...]string{"sleep", "poll", "futex-wait", "futex-wake", "timer"}

func (k WaitKind) String() string { return waitNames[min(int(k), len(waitNames)-1)] }

// WaitCall counts the calls of one kind that one task made, as tracepoints at
// the entry of system calls or at the start of timers tell of them.
type WaitCall struct {
	Pos   Pos // of the first call
	Event string
	Task  Task
	Kind  WaitKind
	Op    string // "FUTEX_WAIT_BITSET"; for timers the function they call, "hrtimer_wakeup" for a sleep; "" where not known
	Addr  uint64 // of the futex, or of the timer's function; 0 for none, and where Others are summed
	// Others is how many further addresses the row sums, of those with few calls.
	Others int
	Count  uint64

	// Timed counts calls with a time limit, NoWait those that must not wait at all
	// (a limit of 0). Absent where the arguments do not tell.
	Timed, NoWait Opt[uint64]
	// AskedNS has the times asked for, where they are in the arguments. Of a timer
	// it is from the sample until the earliest time at which it may fire: what
	// was asked, less the microsecond or two until the timer was started.
	AskedNS *Histogram
	// SlackNS is by how much a timer may fire later than that (timer slack).
	SlackNS *Histogram
	// OtherClock counts timers that run by another clock than the capture's, so
	// that the time asked for can't be told.
	OtherClock uint64
}

// Wait adds what a task asked to wait for.
func (b *Builder) Wait(w WaitCall) {
	w.Pos.Source = b.src.ID
	b.set.Waits = append(b.set.Waits, w)
}
