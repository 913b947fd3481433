package analyze

import (
	"slices"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// traceMacro derives layer 1's figures from a trace of all the subject's
// switches. They are the trace's own sums: they grade the rate, but they are
// no second measurement, and the chain's first link stays missing.
func (c *caseBuild) traceMacro(machine bool) Macro {
	m := Macro{FromTrace: true, ImpactWord: "unknown"}
	if len(c.rows) == 0 {
		return m
	}
	rs := c.rows[0]
	m.Sources = []int{rs.src.ID}
	w, okW := rs.window()
	e := input{v: w, ok: okW, text: quantity.Time(w * 1e9), why: "the length of the capture is not known",
		ev: Evidence{Source: rs.src.ID, Figure: "length of the capture", Value: w, Unit: "s"}}
	s := c.traceSwitches(rs, e)
	t := c.traceRun(rs, machine, e)
	r := block{S: s, T: t, E: e, machine: machine}
	m.Figures = []Figure{r.cpus(), r.rate(), r.perActive(), r.between()}
	if mig := c.traceMigrations(rs); mig.ok {
		r.M = mig
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

// traceSwitches is the number of switches of the subject in the rate source.
func (c *caseBuild) traceSwitches(rs *rowSource, e input) input {
	var l evidence.Opt[uint64]
	var perS evidence.Opt[float64]
	for _, t := range c.facts.Threads {
		addOpt(&l, t.Switches)
		addOpt(&perS, t.SwitchesPerS)
	}
	in := input{ev: Evidence{Source: rs.src.ID, Figure: "switches of the subject's threads"}, why: "switches are not in the input"}
	switch {
	case l.OK && rs.trace:
		in.v, in.ok, in.text = float64(l.V), true, quantity.Count(l.V)
	case perS.OK && e.ok:
		in.v, in.ok = perS.V*e.v, true
		in.text = quantity.Whole(in.v)
	}
	in.ev.Value = in.v
	return in
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
	} else if run, ok := c.runNS(); ok {
		in.v, in.ok = float64(run)/1e9, true
	}
	in.text = quantity.Fixed(in.v*1e3, 2) + "\u00a0ms"
	in.ev.Value = in.v
	return in
}

// runNS is the time on CPU of all the subject's threads; absent when no source
// saw both ends of their stints.
func (c *caseBuild) runNS() (uint64, bool) {
	var sum evidence.Opt[uint64]
	for i := range c.facts.Threads {
		addOpt(&sum, c.facts.Threads[i].RunNS)
	}
	return sum.V, sum.OK && sum.V > 0
}

func (c *caseBuild) traceMigrations(rs *rowSource) input {
	var sum evidence.Opt[uint64]
	for i := range c.facts.Threads {
		addOpt(&sum, c.facts.Threads[i].Migrations)
	}
	return input{v: float64(sum.V), ok: sum.OK, text: quantity.Count(sum.V), why: "migrations are not in the input",
		ev: Evidence{Source: rs.src.ID, Figure: "migrations of the subject's threads", Value: float64(sum.V)}}
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
	var run, wait evidence.Opt[uint64]
	for i := range f.Threads {
		t := &f.Threads[i]
		addOpt(&run, t.RunNS)
		addOpt(&wait, t.DelayNS)
		addOpt(&wait, t.PreemptNS)
	}
	c.cpuFacts(&u)
	w, okW := traceWindow(c.rows)
	if run.OK && wait.OK && okW && preemptsKnown(f.Threads) {
		u.Runnable = evidence.Some(float64(run.V+wait.V) / 1e9 / w)
		if all := run.V + wait.V; all > 0 {
			u.WaitingRun = evidence.Some(float64(wait.V) / float64(all))
		}
	}
	return u
}

// preemptsKnown reports whether the time that preempted threads waited for a
// CPU is in the capture: it is, or no thread was preempted.
func preemptsKnown(ts []ThreadFact) bool {
	involuntary := false
	for i := range ts {
		if ts[i].PreemptNS.OK {
			return true
		}
		involuntary = involuntary || ts[i].States == nil || ts[i].Involuntary.V > 0
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

func traceWindow(rows []*rowSource) (float64, bool) {
	for _, rs := range rows {
		if rs.trace {
			return rs.window()
		}
	}
	return 0, false
}
