package analyze

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// Ledger accounts for every switch of one source: each has one reason (what it
// waited for) or one trigger (what took the CPU), and one kind (what followed).
// The rows of Why sum to Switches, with what nothing explains as a row of its
// own; so do those of Kinds, and of Scenarios. Off-CPU times sum likewise.
type Ledger struct {
	Source    int                   `json:"source"`
	Switches  float64               `json:"switches"` // that the source counts of the subject
	OffNS     evidence.Opt[float64] `json:"off_cpu_ns"`
	Why       []LedgerRow           `json:"why"`
	Kinds     []LedgerRow           `json:"kinds"`
	Scenarios []LedgerRow           `json:"scenarios"` // the four textbook triggers, and what is none of them
	// Migrated is how often the subject's threads changed CPUs, where migrations
	// are in the source.
	Migrated evidence.Opt[uint64] `json:"migrated"`
}

// LedgerRow is one reason, trigger, kind or scenario.
type LedgerRow struct {
	ID       string                `json:"id"`
	Label    string                `json:"label"`
	Willing  evidence.Opt[bool]    `json:"voluntary"` // absent for kinds, and where it is not known
	Switches float64               `json:"switches"`
	Share    float64               `json:"share"`
	OffNS    evidence.Opt[float64] `json:"off_cpu_ns"`
	OffShare evidence.Opt[float64] `json:"off_cpu_share"`
}

// Unexplained is the id of what is left over.
const Unexplained = "unexplained"

// ledgerOf accounts for the source that tells most of its switches: the one of
// the switch stacks, else a trace; nil where there is neither.
func ledgerOf(c *caseBuild) *Ledger {
	rs := c.ledgerSource()
	if rs == nil {
		return nil
	}
	l := &Ledger{Source: rs.src.ID}
	for _, t := range rs.rows {
		l.Switches += float64(switchesOf(t).V)
		addOpt(&l.Migrated, t.Migrations)
	}
	if c.facts.Has.Sampled {
		l.Switches = max(l.Switches, c.stacks.total)
	}
	if l.Switches == 0 {
		return nil
	}
	if c.stacks.switches != nil && c.facts.Has.Stacks {
		l.byStacks(c)
	} else {
		l.byStates(&c.facts, rs)
	}
	l.byKind(rs)
	l.offTotal(rs)
	l.finish()
	l.byScenario()
	return l
}

// ledgerSource is where the rows of the ledger come from: of one source only.
func (c *caseBuild) ledgerSource() *rowSource {
	for _, rs := range c.rows {
		if rs.trace && (c.stacks.switches == nil || rs.src.ID == c.stacks.switches.Pos.Source) {
			return rs
		}
	}
	return nil
}

// byStacks takes what the stacks say.
func (l *Ledger) byStacks(c *caseBuild) {
	f := &c.facts
	for i := range f.Blocking {
		r := &f.Blocking[i]
		if r.Reason.Class == "" {
			continue // not recognised: left over
		}
		row := LedgerRow{ID: r.Reason.ID, Label: r.Reason.Label, Willing: evidence.Some(true), Switches: r.Switches}
		if r.OffN > 0 {
			row.OffNS = evidence.Some(r.OffNS)
		}
		l.Why = append(l.Why, row)
	}
	l.byTrigger(f)
}

func (l *Ledger) byTrigger(f *Facts) {
	for t := range f.Triggers {
		x := &f.Triggers[t]
		if x.Switches == 0 || Trigger(t) == TriggerUnknown {
			continue
		}
		row := LedgerRow{ID: Trigger(t).String(), Label: Trigger(t).Label(), Willing: evidence.Some(false), Switches: x.Switches}
		if x.OffNS > 0 {
			row.OffNS = evidence.Some(x.OffNS)
		}
		if Trigger(t) == TriggerKernel {
			l.byWork(f, &row)
		}
		if row.Switches > 0 {
			l.Why = append(l.Why, row)
		}
	}
}

// byWork takes from the preemptions in the kernel those whose work is known.
func (l *Ledger) byWork(f *Facts, all *LedgerRow) {
	for i := range f.Work {
		w := &f.Work[i]
		row := LedgerRow{ID: all.ID + ":" + w.Reason.ID, Label: all.Label + ", " + w.Reason.Label, Willing: evidence.Some(false), Switches: w.Switches}
		if all.OffNS.OK && w.OffNS > 0 {
			row.OffNS = evidence.Some(w.OffNS)
			all.OffNS.V -= w.OffNS
		}
		all.Switches -= w.Switches
		l.Why = append(l.Why, row)
	}
}

// byStates takes the states where there are no stacks: a wait has a state and no
// reason, and stays unexplained but for the exits and stops that a state tells.
func (l *Ledger) byStates(f *Facts, rs *rowSource) {
	var by [evidence.NumStates]float64
	for _, t := range rs.rows {
		if t.States != nil {
			addCounts(by[:], t.States[:])
		}
	}
	for _, k := range []struct {
		st        evidence.State
		id, label string
	}{{evidence.StateX, "exit", "task exit"}, {evidence.StateZ, "exit", "task exit"}, {evidence.StateT, "signal-stop", "stopped"},
		{evidence.StateTraced, "ptrace", "tracer stop"}, {evidence.StateI, "kthread", "idle kernel thread"}, {evidence.StateP, "parked", "parked"}} {
		if by[k.st] > 0 {
			l.Why = append(l.Why, LedgerRow{ID: k.id, Label: k.label, Willing: evidence.Some(true), Switches: by[k.st]})
		}
	}
	l.byTrigger(f)
}

// byKind sums what followed each switch.
func (l *Ledger) byKind(rs *rowSource) {
	var by [evidence.NumKinds]float64
	for _, t := range rs.rows {
		if t.Kinds != nil {
			addCounts(by[:], t.Kinds[:])
		}
	}
	labels := [evidence.NumKinds]string{"not told", "to another process", "to a thread of the same process", "to a kernel thread", "to the idle task"}
	for k, n := range by {
		if n > 0 && evidence.SwitchKind(k) != evidence.KindUnknown {
			l.Kinds = append(l.Kinds, LedgerRow{ID: evidence.SwitchKind(k).String(), Label: labels[k], Switches: n})
		}
	}
}

// offTotal is the time between switch-outs and the next switch-in.
func (l *Ledger) offTotal(rs *rowSource) {
	n := rs.sum(func(t *evidence.TaskStats) evidence.Opt[uint64] { return t.WaitNS })
	if n.OK {
		l.OffNS = evidence.Some(float64(n.V))
	}
}

// finish adds what is left over, and makes shares. A sum of rows above the
// total, as scaled samples may give, leaves nothing over.
func (l *Ledger) finish() {
	l.Why = l.closed(l.Why, true)
	l.Kinds = l.closed(l.Kinds, false)
}

func (l *Ledger) closed(rows []LedgerRow, off bool) []LedgerRow {
	sum, sumOff := 0.0, 0.0
	for i := range rows {
		sum += rows[i].Switches
		sumOff += rows[i].OffNS.V
	}
	slices.SortStableFunc(rows, func(a, b LedgerRow) int { return -cmp.Compare(a.Switches, b.Switches) })
	rest := LedgerRow{ID: Unexplained, Label: "unexplained", Switches: max(l.Switches-sum, 0)}
	if off && l.OffNS.OK {
		rest.OffNS = evidence.Some(max(l.OffNS.V-sumOff, 0))
	}
	if rest.Switches >= 0.5 || off && rest.OffNS.V > 0 {
		rows = append(rows, rest)
	}
	for i := range rows {
		rows[i].Share = rows[i].Switches / max(l.Switches, sum)
		if rows[i].OffNS.OK && max(l.OffNS.V, sumOff) > 0 {
			rows[i].OffShare = evidence.Some(rows[i].OffNS.V / max(l.OffNS.V, sumOff))
		}
	}
	return rows
}

// scenarioOf maps a trigger to the four scenarios of textbooks; "" for those
// that are none of them, or undecided between two.
func scenarioOf(id string) string {
	switch id {
	case TriggerTick.String():
		return "slice"
	case TriggerWakeup.String(), TriggerRemoteWakeup.String():
		return "preempted"
	case TriggerHandOff.String(), TriggerReturn.String(), TriggerYield.String():
		return "return"
	}
	return ""
}

// byScenario sums the rows of Why by scenario.
func (l *Ledger) byScenario() {
	order := []LedgerRow{{ID: "blocks", Label: "blocks by itself", Willing: evidence.Some(true)}, {ID: "slice", Label: "time slice used up", Willing: evidence.Some(false)},
		{ID: "preempted", Label: "preempted by a woken task", Willing: evidence.Some(false)}, {ID: "return", Label: "rescheduled on return from a system call", Willing: evidence.Some(false)},
		{ID: "other", Label: "none of the four, or undecided", Willing: evidence.Some(false)}, {ID: Unexplained, Label: "unexplained"}}
	at := func(id string) *LedgerRow {
		return &order[slices.IndexFunc(order, func(r LedgerRow) bool { return r.ID == id })]
	}
	for _, r := range l.Why {
		id := scenarioOf(r.ID)
		switch {
		case r.ID == Unexplained:
			id = Unexplained
		case r.Willing.V:
			id = "blocks"
		case id == "":
			id = "other"
		}
		at(id).Switches += r.Switches
		at(id).Share += r.Share
	}
	for _, r := range order {
		if r.Switches > 0 {
			l.Scenarios = append(l.Scenarios, r)
		}
	}
}

func addCounts(to []float64, counts []uint64) {
	for i, n := range counts {
		to[i] += float64(n)
	}
}
