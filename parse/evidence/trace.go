package evidence

// SchedTrace is what a printed scheduler trace (perf sched timehist) counts as
// a whole: its rows by kind, the idle task that Threads leaves out, and the
// totals that the tool printed below its rows.
type SchedTrace struct {
	Pos         Pos
	SwitchRows  uint64 // one a context switch, those of the idle task among them
	IdleRows    uint64 // of SwitchRows
	WakeupRows  uint64
	MigrateRows uint64
	First       Opt[SchedRow] // the first switch row
	RunNS       uint64        // sum of the printed run times, without the idle task
	IdleNS      uint64        // sum of the printed run times of the idle task
	Totals      Opt[SchedTotals]
}

// SchedRow is a switch row as printed. The times are those that end with this
// switch-out; perf prints 0 for those it does not know.
type SchedRow struct {
	TimeNS  uint64
	CPU     int
	Task    Task
	WaitNS  uint64
	DelayNS uint64
	RunNS   uint64
}

// SummaryKind is what the time column of a timehist summary sums.
type SummaryKind uint8

// The kinds of summary.
const (
	SummaryRun  SummaryKind = iota // "Runtime summary"
	SummaryWait                    // "Wait-time summary" (--state)
	SummaryIdle                    // "Idle-time summary" (-I): idle time, by the task that ran before it
)

func (k SummaryKind) String() string {
	return [...]string{"run", "wait", "idle"}[min(k, SummaryIdle)]
}

// SchedTotals are the totals that timehist prints below its summary.
//
// Tasks and RunNS leave the idle task out, Switches has it in (except in an
// idle summary, which has nothing else).
type SchedTotals struct {
	Pos      Pos
	Kind     SummaryKind
	Tasks    Opt[uint64] // "Total number of unique tasks"
	Switches Opt[uint64] // "Total number of context switches"
	RunNS    Opt[uint64] // "Total run time"
	WindowNS Opt[uint64] // "Total scheduling time": first to last event
	CPUs     Opt[int]    // the "(x N)" behind it: CPUs online as perf has it, 4 also when it does not know
	Idle     []CPUIdle
}

// CPUIdle is a line of "Idle stats".
type CPUIdle struct {
	CPU    int
	IdleNS Opt[uint64] // absent: "idle entire time window", which perf also prints of a CPU without idle events
}
