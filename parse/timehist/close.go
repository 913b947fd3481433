package timehist

import (
	"strings"

	"ctxan/parse/evidence"
)

// closing turns a capture into evidence.
type closing struct {
	c       *capture
	layout  layout
	b       *evidence.Builder
	command string

	idleOnly  bool // -I: rows and times of the idle task alone
	perTask   bool // recorded without -a: the times are wrong
	noDelay   bool // the capture has no delays
	preempted bool // what it has as delays are waits of preempted tasks
}

func (f *closing) close() {
	f.judge()
	f.source()
	f.say()
	if f.c.rows+f.c.wakeups+f.c.migrates > 0 {
		f.fromSummary()
		f.threads()
		f.stacks()
	} else {
		f.summaryThreads()
	}
	if f.c.rows > 0 {
		f.b.Series(f.c.series.evidence(f.c.last))
		f.cpus()
	}
	f.b.Trace(f.trace())
}

// judge finds out which columns mean what they say.
func (f *closing) judge() {
	c := f.c
	f.idleOnly = c.sum.seen && c.sum.totals.Kind == evidence.SummaryIdle || hasFlag(f.command, 'I', "--idle-hist") ||
		c.known >= 3 && c.known == c.zeroKnown && c.idleRun() > 0
	f.perTask = c.idleRows == 0 && c.gaps == 0 && c.breaks > 0 && !c.hasKernelThread()
	f.preempted = c.idleEqual > 0 && c.idleEqual == c.idleWaits && c.wakeups == 0 && c.delays > 0 && c.delays == c.delayWaits
	f.noDelay = c.delays == 0 || f.preempted
}

// hasFlag looks for a flag in a command line, as a short letter (alone or among
// others) or a long word.
func hasFlag(command string, short byte, long string) bool {
	for _, w := range strings.Fields(command) {
		switch {
		case strings.HasPrefix(w, "--"):
			if w == long || strings.HasPrefix(w, long+"=") {
				return true
			}
		case strings.HasPrefix(w, "-") && strings.IndexByte(w, short) > 0:
			return true
		}
	}
	return false
}

func (c *capture) idleRun() uint64 {
	var sum uint64
	for i := range c.cpus {
		sum += c.cpus[i].idle
	}
	return sum
}

// hasKernelThread looks for the threads that every CPU has; in a recording of
// one process they are not.
func (c *capture) hasKernelThread() bool {
	for _, t := range c.tasks.list[firstTask:] {
		if t.kernel {
			return true
		}
		for _, p := range [...]string{"migration/", "ksoftirqd/", "kworker/", "rcu_", "swapper"} {
			if t.rows > 0 && strings.HasPrefix(c.tasks.names[t.comm], p) {
				return true
			}
		}
	}
	return false
}

// source fills what describes the source.
func (f *closing) source() {
	c, s := f.c, f.b.Source()
	s.Variant = f.variant()
	s.Command = f.command
	s.Loss.LostRecords += c.lost
	s.Loss.ChainBreaks += c.breaks
	if c.nextRight >= c.nextWrong {
		s.Loss.ChainBreaks += c.nextWrong
	}
	if c.resolution > 0 {
		s.Window = evidence.Window{
			DurationS: evidence.Some(float64(c.last-c.first) / 1e9),
			StartNS:   evidence.Some(c.first),
			EndNS:     evidence.Some(c.last),
		}
	} else if w, ok := c.sum.totals.WindowNS.Get(); ok {
		s.Window.DurationS = evidence.Some(float64(w) / 1e9)
	}
	s.Host.CPUs = c.onlineCPUs()
	switch {
	case hasFlag(f.command, 'C', "--cpu"):
		s.Target.Kind = evidence.TargetCPU
	case c.idleRows > 0 && c.gaps == 0 && c.seenCPUs() > 1:
		s.Target.Kind = evidence.TargetSystem
	}
}

// unknownCPUs is what perf takes for the number of CPUs when a recording does
// not tell it.
const unknownCPUs = 4

// onlineCPUs is the N of "(x N)", where it can only be the number of CPUs that
// were online: perf raises it to the highest CPU that it meets.
func (c *capture) onlineCPUs() evidence.Opt[int] {
	n, ok := c.sum.totals.CPUs.Get()
	highest := len(c.cpus) - 1
	for _, i := range c.sum.totals.Idle {
		highest = max(highest, i.CPU)
	}
	if !ok || n <= 0 || n == unknownCPUs || highest >= n {
		return evidence.Opt[int]{}
	}
	return evidence.Some(n)
}

func (c *capture) seenCPUs() int {
	n := 0
	for i := range c.cpus {
		if c.cpus[i].seen {
			n++
		}
	}
	return n
}

// variant says what the capture holds.
func (f *closing) variant() string {
	c := f.c
	var parts []string
	add := func(yes bool, s string) {
		if yes {
			parts = append(parts, s)
		}
	}
	add(c.rows > 0, "rows")
	add(c.wakeups > 0, "wakeups")
	add(c.migrates > 0, "migrations")
	add(len(c.chains.table.Stacks) > 0, "call chains")
	add(c.nextRight+c.nextWrong > 0, "next task")
	add(f.layout.state, "state")
	add(f.layout.prio, "priority")
	add(f.layout.preMig, "pre-migration time")
	add(f.layout.bitmap, "CPU bitmap")
	add(c.rows > 0 && f.idleOnly, "idle task only")
	add(c.sum.seen, "summary")
	return strings.Join(parts, ", ")
}

// trace is what the capture counts as a whole.
func (f *closing) trace() evidence.SchedTrace {
	c := f.c
	t := evidence.SchedTrace{
		Pos:        evidence.Pos{Line: c.line},
		SwitchRows: c.rows, IdleRows: c.idleRows, WakeupRows: c.wakeups, MigrateRows: c.migrates,
		RunNS: c.runSum, IdleNS: c.idleRun(),
		Totals: evidence.Opt[evidence.SchedTotals]{V: c.sum.totals, OK: c.sum.seen},
	}
	if c.rows > 0 {
		r := c.firstRow
		t.First = evidence.Some(evidence.SchedRow{
			TimeNS: r.time, CPU: r.cpu, Task: c.firstTask, WaitNS: r.wait, DelayNS: r.delay, RunNS: r.run,
		})
	}
	return t
}

// maxGapShare is the share of rows that may follow nothing in a trace of all
// tasks: lost events, lines that were dropped.
const maxGapShare = 100

// cpus adds what the rows say of each CPU, where they are those of all tasks.
func (f *closing) cpus() {
	c := f.c
	if f.idleOnly || f.perTask || c.idleRows == 0 || c.gaps*maxGapShare > c.rows {
		return
	}
	for i := range c.cpus {
		if p := &c.cpus[i]; p.seen {
			f.b.CPU(evidence.CPUStats{
				Pos: evidence.Pos{Line: c.line}, CPU: i,
				Switches: p.rows, BusyNS: p.busy, IdleNS: p.idle, ChainBreaks: p.breaks,
			})
		}
	}
}
