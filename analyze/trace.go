package analyze

import (
	"slices"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// traceMacro derives layer 1's figures from layer 2 when no counters are given:
// from a trace of all the subject's switches its own sums, from a table of rates
// only the rate. They grade the rate, but they are no second measurement, and
// the chain's first link stays missing.
func (c *caseBuild) traceMacro(machine bool) Macro {
	m := Macro{ImpactWord: "unknown", Scales: c.scales}
	rs := c.fullest()
	if machine && (rs == nil || !rs.trace && c.facts.Machine.SwitchesPerS.OK) {
		return c.machineMacro()
	}
	if rs == nil {
		return m
	}
	m.FromTrace, m.FromCounts, m.Sources = rs.trace || rs.clocked(), rs.clocked(), []int{rs.src.ID}
	w, okW := rs.window()
	e := input{v: w, ok: okW, text: quantity.Time(w * 1e9), why: "the length of the capture is not known",
		ev: Evidence{Source: rs.src.ID, Figure: "length of the capture", Value: w, Unit: "s"}}
	if !m.FromTrace {
		m.Figures = []Figure{c.sumOfRates(rs)}
		return m
	}
	r := block{S: traceSwitches(rs), T: c.traceRun(rs, machine, e), E: e, M: traceMigrations(rs), machine: machine}
	m.Figures = []Figure{r.cpus(), r.rate(), r.perActive(), r.between()}
	if r.M.ok {
		m.Figures = append(m.Figures, r.migrations(), r.migrationsPerS())
	}
	if c.lossy() {
		m.Why = Textf("not graded: the trace lost too much of what happened")
		return m
	}
	m.grade(machine)
	m.cost()
	return m
}

// fullest is the source that layer 1's figures are taken from when it has none
// of its own: a trace that saw both ends of the stints, the longest of several,
// else the source of the rates. Figures of one are never divided by the window
// of another.
func (c *caseBuild) fullest() *rowSource {
	var best *rowSource
	for _, rs := range c.rows {
		if rs.trace && rs.sum(runOf).OK && (best == nil || rs.src.Window.DurationS.V > best.src.Window.DurationS.V) {
			best = rs
		}
	}
	if i := slices.IndexFunc(c.rows, (*rowSource).clocked); best == nil && i >= 0 {
		best = c.rows[i]
	}
	if best == nil && len(c.rows) > 0 {
		best = c.rows[0]
	}
	return best
}

// clocked reports whether the source counted switches and time on a CPU over
// one window, without tracing: two readings of schedstat do.
func (rs *rowSource) clocked() bool {
	_, okW := rs.window()
	return !rs.trace && okW && rs.sum(runOf).OK && rs.sum(switchesOf).OK && !rs.src.LeadersOnly
}

func runOf(t *evidence.TaskStats) evidence.Opt[uint64]        { return t.RunNS }
func delayOf(t *evidence.TaskStats) evidence.Opt[uint64]      { return t.DelayNS }
func runDelayOf(t *evidence.TaskStats) evidence.Opt[uint64]   { return t.RunDelayNS }
func preemptOf(t *evidence.TaskStats) evidence.Opt[uint64]    { return t.PreemptNS }
func migrationsOf(t *evidence.TaskStats) evidence.Opt[uint64] { return t.Migrations }

func switchesOf(t *evidence.TaskStats) evidence.Opt[uint64] {
	if t.Switches.OK || !t.Voluntary.OK && !t.Involuntary.OK {
		return t.Switches
	}
	return evidence.Some(t.Voluntary.V + t.Involuntary.V)
}

// sumOfRates is the switch rate as the sum of the threads' rates.
func (c *caseBuild) sumOfRates(rs *rowSource) Figure {
	f := Figure{ID: FigRate, Label: "switches/s", Unit: UnitPerS, Formula: "sum of the threads"}
	if v, ok := c.facts.Layer2.SwitchesPerS.Get(); !ok && rs.src.LeadersOnly {
		f.Missing = "the capture shows main threads only"
	} else if ok {
		f.Value, f.Arithmetic = c.facts.Layer2.SwitchesPerS, "sum of "+c.lineSpan(rs)
		f.Inputs = []Evidence{{Source: rs.src.ID, Figure: "switches of the subject's threads", Value: v, Unit: "/s"}}
		f.Reads = Textf("not graded: the CPU time is not in the input")
	} else {
		f.Missing = "the capture does not tell over which time it counted"
	}
	return f
}

// traceSwitches is the number of switches of the subject in a trace.
func traceSwitches(rs *rowSource) input {
	n := rs.sum(switchesOf)
	return input{v: float64(n.V), ok: n.OK, text: quantity.Count(n.V), why: "switches are not in the input",
		ev: Evidence{Source: rs.src.ID, Figure: "switches of the subject's threads", Value: float64(n.V)}}
}

// traceRun is the CPU time of the subject's threads in seconds: for the
// machine, that of its CPUs.
func (c *caseBuild) traceRun(rs *rowSource, machine bool, e input) input {
	in := input{why: "the time on CPU is not in the input", ev: Evidence{Source: rs.src.ID, Figure: "time on CPU of the subject's threads", Unit: "s"}}
	if machine {
		cpus, ok := c.facts.Subject.Host.CPUs.Get()
		if ok && e.ok {
			in.v, in.ok = float64(cpus)*e.v, true
			in.ev.Figure = "CPUs x length of the capture"
		}
	} else if run := rs.sum(runOf); run.V > 0 {
		in.v, in.ok = float64(run.V)/1e9, true
	}
	in.text = quantity.Fixed(in.v*1e3, 2) + "\u00a0ms"
	in.ev.Value = in.v
	return in
}

func traceMigrations(rs *rowSource) input {
	n := rs.sum(migrationsOf)
	return input{v: float64(n.V), ok: n.OK, text: quantity.Count(n.V), why: "migrations are not in the input",
		ev: Evidence{Source: rs.src.ID, Figure: "migrations of the subject's threads", Value: float64(n.V)}}
}

// utilFacts tell how full the machine and the subject are.
func utilFacts(c *caseBuild) UtilFacts {
	f := &c.facts
	u := UtilFacts{CPUs: f.Subject.Host.CPUs, CPUsUsed: f.Macro.Value(FigCPUs)}
	if f.Subject.Kind == SubjectMachine && !u.CPUs.OK && !f.Macro.FromTrace {
		if v, ok := u.CPUsUsed.Get(); ok {
			u.CPUs = evidence.Some(int(v + 0.5))
		}
	}
	c.cpuFacts(&u)
	if busy, ok := u.BusyShare.Get(); ok && u.CPUs.OK && u.CPUsUsed.OK {
		u.OthersUsed = evidence.Some(max(busy*float64(u.CPUs.V)-u.CPUsUsed.V, 0))
	}
	c.machineUtil(&u)
	rs := c.fullest()
	if rs == nil || !rs.trace && !rs.clocked() {
		return u
	}
	w, okW := rs.window()
	if all := rs.sum(runDelayOf); !rs.trace && all.OK && okW {
		wanted := float64(rs.sum(runOf).V + all.V)
		u.Runnable = evidence.Some(wanted / 1e9 / w)
		u.WaitingRun = evidence.Some(float64(all.V) / wanted)
		return u
	}
	run, delay, preempt := rs.sum(runOf), rs.sum(delayOf), rs.sum(preemptOf)
	if run.OK && (delay.OK || preempt.OK) && okW && preemptsKnown(rs) {
		wanted := float64(run.V + delay.V + preempt.V)
		u.Runnable = evidence.Some(wanted / 1e9 / w)
		u.WaitingRun = evidence.Some(float64(delay.V+preempt.V) / wanted)
	}
	return u
}

// machineUtil fills in how full the machine was by its own counters, where no
// trace of all tasks tells.
func (c *caseBuild) machineUtil(u *UtilFacts) {
	m := &c.facts.Machine
	if !u.CPUs.OK {
		u.CPUs = m.CPUs
	}
	if idle, ok := m.Idle.Get(); ok && !u.BusyShare.OK {
		u.BusyShare = evidence.Some(1 - idle - m.IOWait.V)
		if u.CPUs.OK && u.CPUsUsed.OK {
			u.OthersUsed = evidence.Some(max(u.BusyShare.V*float64(u.CPUs.V)-u.CPUsUsed.V, 0))
		}
	}
}

// preemptsKnown reports whether the time that preempted threads waited for a
// CPU is in the capture: it is, or no thread was preempted.
func preemptsKnown(rs *rowSource) bool {
	involuntary := false
	for _, t := range rs.rows {
		if t.PreemptNS.OK {
			return true
		}
		involuntary = involuntary || t.States == nil || t.Involuntary.V > 0
	}
	return !involuntary
}

// cpuFacts reads a system-wide trace's own account of the CPUs.
func (c *caseBuild) cpuFacts(u *UtilFacts) {
	var busy, idle, total, most uint64
	n := 0
	for i := range c.sel.set.CPUs {
		cpu := &c.sel.set.CPUs[i]
		if !slices.Contains(c.sel.sources, cpu.Pos.Source) {
			continue
		}
		n++
		busy, idle, total = busy+cpu.BusyNS, idle+cpu.IdleNS, total+cpu.Switches
		most = max(most, cpu.Switches)
	}
	if busy+idle > 0 {
		u.BusyShare = evidence.Some(float64(busy) / float64(busy+idle))
	}
	if n > 1 && total > 0 {
		u.HotCPUShare = evidence.Some(float64(most) / float64(total))
	}
}
