package evidence

// Frame is one function of a call chain. A frame that could not be resolved
// has an address and a reason, and no symbol.
type Frame struct {
	Symbol string // as the capture or the symbol table has it, demangled
	Module string // "[kernel.kallsyms]", or the path of the object
	// BuildID of the object, lower-case hex; "" where the capture has none.
	BuildID string
	Addr    uint64 // as recorded; 0 in text captures that print none
	Kernel  bool
	File    string // source position, when known
	Line    int    // 0 where only the file is known
	// Inlined: the code lies in the function of the next frame, at the same
	// address; there was no call.
	Inlined bool
	Why     string // why Symbol is empty: "stripped", "file missing", ...
}

// OtherStacks is the module of the one frame of the stack that stands for all
// stacks beyond those that a reader tells apart. The frame has no symbol.
const OtherStacks = "[other stacks]"

// StackKind tells when the stacks of a table were taken.
type StackKind uint8

// The kinds of stack.
const (
	StackSwitch StackKind = iota // at the task's switch-out
	StackCPU                     // on the CPU, by a clock or a cycle counter
	StackOther                   // neither: page faults, another tracepoint, or an event the capture does not name
	StackOffCPU                  // of a task that was off the CPU; the weight is for how long, in ns
)

func (k StackKind) String() string {
	switch k {
	case StackCPU:
		return "cpu-samples"
	case StackOther:
		return "other"
	case StackOffCPU:
		return "off-cpu-time"
	}
	return "switches"
}

// StackTable holds the distinct call chains of one event of one source.
type StackTable struct {
	Pos     Pos
	Event   string // "sched:sched_switch", "cycles"
	Kind    StackKind
	Sampled bool // taken by period or frequency: one sample is not one switch
	Frames  []Frame
	Stacks  [][]int32 // each leaf first, indices into Frames
	Tasks   []Task
	Samples []StackSample
}

// StackSample is the weight of one stack for one task, state and wake context.
type StackSample struct {
	Task    int32 // index into StackTable.Tasks; -1: not known
	Stack   int32 // index into StackTable.Stacks; -1: the sample had no chain
	State   State
	Wake    WakeContext
	Count   uint64  // samples
	Weight  float64 // switches, ns of StackOffCPU, or the sum of the periods of CPU samples
	OffNS   uint64  // off-CPU time that followed, of the OffN switches whose switch-in was seen
	OffN    uint64
	DelayNS uint64 // the part of OffNS after the wakeup, where known
}

// Profile is a flat profile that a tool printed (perf report): symbols with
// shares, and not the stacks they came from.
type Profile struct {
	Pos        Pos
	Event      string
	Kind       StackKind
	Samples    Opt[uint64]
	SamplesRaw string // as printed, "59K"
	EventCount Opt[uint64]
	Lost       Opt[uint64]
	Children   bool // rows have Children and Self columns
	Rows       []ProfileRow
}

// ProfileRow is one symbol of a Profile.
type ProfileRow struct {
	Pos         Pos
	Comm        string
	Task        Task // of reports sorted by thread
	Module      string
	Symbol      string
	Trace       string // the tracepoint's own text, of reports sorted by it: "prev_comm=a prev_pid=1 ..."
	Kernel      bool
	OverheadPct Opt[float64] // the column of a report without children
	ChildrenPct Opt[float64]
	SelfPct     Opt[float64]
	Samples     Opt[uint64]

	// Chains are the call chains printed below the row, leaf first with the
	// row's symbol in them, and their shares of the whole report.
	Chains []ProfileChain
}

// ProfileChain is one path of a printed call graph.
type ProfileChain struct {
	Pct    float64
	Frames []string // leaf first
}
