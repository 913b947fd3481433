package evidence

// Reading is what files of /proc and of control groups said at one moment:
// totals since a thread started, since the machine booted, since a group was
// made. Two readings of one thing give what happened between them.
type Reading struct {
	Pos     Pos
	At      Moment
	Label   string // "before", "after", where the text says
	Threads []ThreadCount
	Machine Opt[MachineCount]
	Groups  []GroupCount
}

// Moment is when a reading was taken, by each clock that the text prints. The
// nanoseconds are only as fine as what was printed: ResolutionNS.
type Moment struct {
	Pos          Pos
	RealNS       Opt[uint64] // since 1970
	BootNS       Opt[uint64] // CLOCK_MONOTONIC, or the uptime
	ResolutionNS uint64
}

// SinceNS is the time from an earlier moment, by a clock that both have; absent
// when they share none, or when it went backwards.
func (m *Moment) SinceNS(earlier *Moment) Opt[uint64] {
	for _, c := range [][2]Opt[uint64]{{earlier.BootNS, m.BootNS}, {earlier.RealNS, m.RealNS}} {
		if c[0].OK && c[1].OK && c[1].V > c[0].V {
			return Some(c[1].V - c[0].V)
		}
	}
	return Opt[uint64]{}
}

// ThreadCount is what /proc says of one thread: totals since it started.
// Task.TID is 0 where the text does not name the thread.
type ThreadCount struct {
	Pos    Pos
	Task   Task
	Leader bool // named as a process (/proc/PID/...), not as a thread of one
	Kernel bool

	Voluntary   Opt[uint64] // voluntary_ctxt_switches, nr_voluntary_switches
	Involuntary Opt[uint64] // nonvoluntary_ctxt_switches, nr_involuntary_switches
	Switches    Opt[uint64] // nr_switches
	RunNS       Opt[uint64] // sum_exec_runtime
	RunDelayNS  Opt[uint64] // on a run queue and not running
	Slices      Opt[uint64] // times that it was given a CPU
	Migrations  Opt[uint64]
	Threads     Opt[int]    // of its process
	StartNS     Opt[uint64] // when it started, since boot
}

// MachineCount is what /proc/stat and /proc/interrupts say: totals since boot.
// Ticks are in units of 1/USER_HZ (10 ms), summed over the CPUs.
type MachineCount struct {
	Pos         Pos
	Switches    Opt[uint64] // ctxt; LineSwitches is where it stands
	Forks       Opt[uint64] // processes
	Interrupts  Opt[uint64] // the sum of intr
	Running     Opt[uint64] // procs_running, at that moment
	Blocked     Opt[uint64] // procs_blocked, at that moment
	CPUs        Opt[int]    // cpuN lines
	Ticks       Opt[CPUTicks]
	ByInterrupt []InterruptCount

	LineSwitches, LineTicks int
}

// CPUTicks splits the CPUs' time. Guest time is in User and Nice already.
type CPUTicks struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal uint64
}

// Total is the time of all CPUs together.
func (t *CPUTicks) Total() uint64 {
	return t.User + t.Nice + t.System + t.Idle + t.IOWait + t.IRQ + t.SoftIRQ + t.Steal
}

// InterruptCount is a row of /proc/interrupts, summed over the CPUs.
type InterruptCount struct {
	Name  string // "RES", "LOC", "24"
	Desc  string // "Rescheduling interrupts"
	Count uint64
}

// GroupCount is what the CPU controller says of a control group.
type GroupCount struct {
	Pos         Pos
	Group       string // its folder; "" where the text does not name it
	Unlimited   bool   // "max", or a quota of -1
	QuotaUS     Opt[uint64]
	PeriodUS    Opt[uint64]
	Periods     Opt[uint64] // nr_periods: periods in which the group wanted to run
	Throttled   Opt[uint64] // nr_throttled: those in which it was stopped
	ThrottledNS Opt[uint64] // summed over the CPUs on which it was stopped
	UsageNS     Opt[uint64] // usage_usec
}

// Setting is a fact about the machine or the tool that is one short text:
// a sysctl, a mount option, a policy.
type Setting struct {
	Pos   Pos
	Name  string // the file's path, or what the text calls it
	Value string
}

// Reading adds what the source read at one moment.
func (b *Builder) Reading(r Reading) {
	id := b.src.ID
	r.Pos.Source, r.At.Pos.Source, r.Machine.V.Pos.Source = id, id, id
	for i := range r.Threads {
		r.Threads[i].Pos.Source = id
	}
	for i := range r.Groups {
		r.Groups[i].Pos.Source = id
	}
	b.set.Readings = append(b.set.Readings, r)
}

// Setting adds a fact about the machine.
func (b *Builder) Setting(s Setting) {
	s.Pos.Source = b.src.ID
	b.set.Settings = append(b.set.Settings, s)
}
