package evidence

import "fmt"

// Pos is where a figure stands in its source.
type Pos struct {
	Source int   // index into Set.Sources
	Line   int   // 1-based line of a text; 0 for a binary source
	Offset int64 // byte offset in a binary source; 0 for a text
}

// Source is one capture: a file, or one of several captures in one text.
type Source struct {
	ID      int
	Name    string // as given on the command line, or the path below a given folder; "-" for standard input
	Format  string // the format's name in parse's table: "perf-stat", "pidstat", "timehist", "perf.data", "perf-report"
	Variant string // what kind of it, for people: "CSV, per thread", "file mode, 2 events"
	Tool    string // the tool and its version, when the capture says: "perf 6.1.187"
	Command string // the command line that made the capture, when it says
	SHA256  string // of the whole file, lower-case hex; "" unless hashing was asked for
	Host    Host
	Window  Window
	Target  Target
	Loss    Loss

	// LeadersOnly: the rows are of each process's main thread; the switches of
	// the other threads are not in the capture.
	LeadersOnly bool

	Dropped      []Dropped // the first MaxDropped lines or records that could not be read
	DroppedTotal int       // all of them
	Warnings     []string  // what the reader must tell the user about this capture
	Notes        []string  // what the reader did that is normal but worth knowing: "built-in event layouts used"
}

// String names the source for messages.
func (s *Source) String() string { return s.Name }

// Host is what a capture says about the machine it was made on; empty or
// absent fields were not said.
type Host struct {
	Name    string
	Release string // kernel release: "6.18.44"
	Arch    string // "x86_64"
	CPUs    Opt[int]
	CPUDesc string
}

// Window is the time that a capture covers.
type Window struct {
	DurationS Opt[float64]
	StartNS   Opt[uint64] // first and last event in the capture's own clock
	EndNS     Opt[uint64]
	Date      string // of a capture that tells one, as it prints it: "11/30/26"; of perf.data, when StartNS was: "2026-11-30T15:35:01.123456789Z"
}

// TargetKind tells what a capture was told to watch.
type TargetKind uint8

// The kinds of target.
const (
	TargetUnknown TargetKind = iota
	TargetSystem             // all tasks of the machine
	TargetProcess            // process ids (and what they start)
	TargetThread             // thread ids
	TargetCommand            // a command that the tool started
	TargetCPU                // some CPUs, all tasks
	TargetCgroup             // a control group
)

var targetNames = [...]string{"unknown", "system", "process", "thread", "command", "cpu", "cgroup"}

func (k TargetKind) String() string {
	if int(k) < len(targetNames) {
		return targetNames[k]
	}
	return fmt.Sprintf("TargetKind(%d)", k)
}

// Target is what a capture was told to watch.
type Target struct {
	Kind TargetKind
	IDs  []int  // PIDs, TIDs or CPUs, by Kind
	Name string // the command or the control group, as printed
}

// Loss is what a tracer says it did not record, and what the events show to be
// missing. LOST and LOST_SAMPLES records tell of the same loss: the two
// fields are never added up.
type Loss struct {
	LostRecords uint64 // from PERF_RECORD_LOST and its text equivalents
	LostSamples uint64 // from PERF_RECORD_LOST_SAMPLES
	ChainBreaks uint64 // on one CPU, next of a switch differs from prev of the following one
	Truncated   bool   // the capture ends before its tool finished it
}

// Any reports whether anything is known to be missing.
func (l Loss) Any() bool {
	return l.LostRecords > 0 || l.LostSamples > 0 || l.ChainBreaks > 0 || l.Truncated
}

// Dropped is a line or a record that was not understood.
type Dropped struct {
	Line   int   // 1-based, for a text
	Offset int64 // for a binary source
	Err    string
}

// MaxDropped is how many dropped lines a source keeps word for word.
const MaxDropped = 20
