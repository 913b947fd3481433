package evidence

import "fmt"

// Status tells whether a counter's value is a measurement.
type Status uint8

// The statuses of a counter. Only StatusCounted has a usable value: a counter
// that was not counted is not zero, and context-switches:u is always printed
// as 0 because switches happen in the kernel (StatusUnmeasurable).
const (
	StatusCounted Status = iota
	StatusNotCounted
	StatusNotSupported
	StatusUnmeasurable
)

var statusNames = [...]string{"counted", "not counted", "not supported", "unmeasurable"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", s)
}

// Counter is one event of a perf stat block.
type Counter struct {
	Event      string  // perf's canonical name without PMU and modifier: "context-switches", "cycles"
	PMU        string  // "cpu_core" of cpu_core/cycles/, when there is one
	Modifier   string  // "u", "k", "uk" ... of event:u; "" for none
	Value      float64 // task-clock and cpu-clock in milliseconds, whatever was printed
	Unit       string  // "msec" for the clocks, otherwise as printed
	Status     Status
	RunningPct Opt[float64] // share of the time it was counted, when multiplexed
	StdDevPct  Opt[float64] // of several runs
	Metric     Opt[float64] // the derived figure that the tool printed behind #
	MetricUnit string       // and its unit: "CPUs utilized", "insn per cycle"
	Pos        Pos
}

// Key names the counter in a block's event map: the canonical event, with its
// modifier where that changes the meaning, and @pmu on a machine with several.
func (c *Counter) Key() string {
	k := c.Event
	if c.Modifier != "" {
		k += ":" + c.Modifier
	}
	if c.PMU != "" {
		k += "@" + c.PMU
	}
	return k
}

// CounterBlock is one result of perf stat (or of a tool that counts the same).
type CounterBlock struct {
	Pos         Pos
	Scope       string // as printed: "process id '58931'", "'system wide'"
	Target      Target
	ElapsedS    Opt[float64] // "seconds time elapsed"; never computed by a reader, but summed intervals count
	UserS       Opt[float64]
	ElapsedLine int // where ElapsedS stands; 0 when it was summed
	SysS        Opt[float64]
	Runs        int // of -r; 0 when not said. Values are then means of one run
	Counters    []Counter

	// Parts are the rows of an aggregation (per thread, CPU, core, cgroup),
	// whose sum is Counters. Intervals are the rows of -I, whose sum is
	// Counters unless the block printed a summary of its own.
	Aggregation string // "", "cpu", "core", "die", "socket", "node", "thread", "cgroup"
	Parts       []CounterPart
	Intervals   []CounterPart
}

// CounterPart is one row group of an aggregation or one interval.
type CounterPart struct {
	Name     string // as printed: "CPU0", "S0-D0-C0", "comm-1234"
	Task     Task   // of a per-thread row
	CPU      Opt[int]
	EndS     Opt[float64] // of an interval: seconds since the start
	Counters []Counter
	Pos      Pos
}

// Find returns the counter of an event: the plain one when present, otherwise
// one with a modifier that measures the same (":k" of a software event).
func (b *CounterBlock) Find(event string) (*Counter, bool) { return FindCounter(b.Counters, event) }

// FindCounter is Find over any list of counters.
func FindCounter(cs []Counter, event string) (*Counter, bool) {
	var alt *Counter
	for i := range cs {
		c := &cs[i]
		if c.Event != event || c.PMU != "" {
			continue
		}
		if c.Modifier == "" {
			return c, true
		}
		if alt == nil || (alt.Status != StatusCounted && c.Status == StatusCounted) {
			alt = c
		}
	}
	return alt, alt != nil
}
