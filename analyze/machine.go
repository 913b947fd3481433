package analyze

import (
	"cmp"
	"slices"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// MachineFact is what /proc/stat and /proc/interrupts tell of the whole
// machine between two readings, or the means of what a tool sampled (vmstat).
// It serves every case of the set.
type MachineFact struct {
	WindowS      evidence.Opt[float64]
	CPUs         evidence.Opt[int]
	SwitchesPerS evidence.Opt[float64] // of all CPUs, those to and from the idle task among them
	ForksPerS    evidence.Opt[float64]
	Steal        evidence.Opt[float64] // share of the CPUs' time that the hypervisor gave to others
	Idle         evidence.Opt[float64] // share, IOWait not in it
	IOWait       evidence.Opt[float64]
	Runnable     evidence.Opt[float64] // tasks running or waiting for a CPU, on average over the samples
	Blocked      evidence.Opt[float64] // tasks in uninterruptible sleep, likewise
	Samples      int                   // that the means are of; 0: of two readings
	Interrupts   []InterruptFact       // the most frequent ones, by rate
	Evidence     []Evidence            // of the switches and the ticks
}

// InterruptFact is the rate of one interrupt over all CPUs.
type InterruptFact struct {
	Name, Desc string
	PerS       float64
}

// QuotaFact is what the CPU controller did to a control group: between two
// readings, or with SinceStart since the group was made.
type QuotaFact struct {
	Group       string                // its folder; "" where the text does not name it
	CPUs        evidence.Opt[float64] // the limit: quota / period
	Unlimited   bool                  // there is none
	Periods     evidence.Opt[uint64]  // in which the group wanted to run
	Throttled   evidence.Opt[uint64]  // in which it was stopped
	Share       evidence.Opt[float64] // Throttled / Periods
	ThrottledNS evidence.Opt[uint64]  // summed over the CPUs on which it was stopped
	UsageNS     evidence.Opt[uint64]
	WindowS     evidence.Opt[float64]
	SinceStart  bool
	Evidence    []Evidence
}

// coarseClock is the share of the time between two readings from which on the
// fineness of their clock makes their rates rough.
const coarseClock = 0.1

// stealNoted is the share of the CPUs' time from which on what the hypervisor
// took is noted. Practice: below 1 % it is the tick's rounding.
const stealNoted = 0.01

// maxInterrupts bounds MachineFact.Interrupts.
const maxInterrupts = 8

// ends are the first and the last of some readings: "before" and "after" where
// they are labelled so, otherwise in the order that earlier gives.
func ends(rs []*evidence.Reading, earlier func(a, b *evidence.Reading) int) (first, last *evidence.Reading) {
	slices.SortStableFunc(rs, func(a, b *evidence.Reading) int {
		switch {
		case a.At.SinceNS(&b.At).OK:
			return 1
		case b.At.SinceNS(&a.At).OK:
			return -1
		case a.Label != b.Label && a.Label != "" && b.Label != "":
			return -cmp.Compare(a.Label, b.Label) // before, after
		}
		return earlier(a, b)
	})
	return rs[0], rs[len(rs)-1]
}

// machineFacts takes the difference of what /proc/stat said first and last.
func (c *countedSet) machineFacts(set *evidence.Set) {
	var rs []*evidence.Reading
	for i := range set.Readings {
		if r := &set.Readings[i]; r.Machine.OK {
			rs = append(rs, r)
			c.serves(r)
		}
	}
	if len(rs) == 0 {
		return
	}
	first, last := ends(rs, func(a, b *evidence.Reading) int { return cmp.Compare(a.Machine.V.Switches.V, b.Machine.V.Switches.V) })
	a, b := &first.Machine.V, &last.Machine.V
	m := &c.machine
	m.CPUs = b.CPUs
	if first == last {
		return
	}
	if a.Switches.V > b.Switches.V || a.Forks.V > b.Forks.V {
		c.check(last.Pos.Source, Check{ID: "readings-differ", Status: CheckDiffer, Text: Textf("the machine's counters in %s went backwards: it was booted meanwhile, or they are of two machines", Code(c.names[last.Pos.Source]))})
		return
	}
	m.WindowS = elapsed(first, last)
	m.shares(a, b)
	s, ok := m.WindowS.Get()
	if !ok {
		return
	}
	m.SwitchesPerS = rateOf(difference(a.Switches, b.Switches), s)
	m.ForksPerS = rateOf(difference(a.Forks, b.Forks), s)
	m.interrupts(a, b, s)
	if v, ok := m.SwitchesPerS.Get(); ok {
		m.Evidence = append(m.Evidence, Evidence{Source: last.Pos.Source, Line: evidence.Some(b.LineSwitches), Figure: "ctxt of the machine", Value: v, Unit: "/s"})
	}
}

func difference(a, b evidence.Opt[uint64]) evidence.Opt[uint64] {
	return evidence.Opt[uint64]{V: b.V - a.V, OK: a.OK && b.OK && b.V >= a.V}
}

// shares splits the CPUs' time between two readings.
func (m *MachineFact) shares(a, b *evidence.MachineCount) {
	ta, okA := a.Ticks.Get()
	tb, okB := b.Ticks.Get()
	total := float64(tb.Total()) - float64(ta.Total())
	if !okA || !okB || total <= 0 {
		return
	}
	share := func(x, y uint64) evidence.Opt[float64] {
		return evidence.Opt[float64]{V: (float64(y) - float64(x)) / total, OK: y >= x}
	}
	m.Steal, m.Idle, m.IOWait = share(ta.Steal, tb.Steal), share(ta.Idle, tb.Idle), share(ta.IOWait, tb.IOWait)
	if v, ok := m.Steal.Get(); ok {
		m.Evidence = append(m.Evidence, Evidence{Source: b.Pos.Source, Line: evidence.Some(b.LineTicks), Figure: "steal", Value: v * 100, Unit: "%"})
	}
}

func (m *MachineFact) interrupts(a, b *evidence.MachineCount, s float64) {
	before := map[string]uint64{}
	for _, i := range a.ByInterrupt {
		before[i.Name] = i.Count
	}
	for _, i := range b.ByInterrupt {
		if was, ok := before[i.Name]; ok && i.Count > was {
			m.Interrupts = append(m.Interrupts, InterruptFact{i.Name, i.Desc, float64(i.Count-was) / s})
		}
	}
	slices.SortStableFunc(m.Interrupts, func(x, y InterruptFact) int { return -cmp.Compare(x.PerS, y.PerS) })
	m.Interrupts = m.Interrupts[:min(len(m.Interrupts), maxInterrupts)]
}

// serves notes that a reading tells of the machine or of a group.
func (c *countedSet) serves(r *evidence.Reading) {
	c.used[r.Pos.Source] = true
	if !slices.Contains(c.context, r.Pos.Source) {
		c.context = append(c.context, r.Pos.Source)
	}
}

// sampledFacts takes the means of a tool that samples the machine, rows since
// boot left out. Two readings of the kernel's own counters are better.
func (c *countedSet) sampledFacts(set *evidence.Set) {
	for i := range set.System {
		r := &set.System[i]
		c.serves(&evidence.Reading{Pos: r.Pos})
		if m := &c.machine; !m.SwitchesPerS.OK {
			m.sampled(r, set.Source(r.Pos.Source))
		}
	}
}

func (m *MachineFact) sampled(r *evidence.SystemRate, src *evidence.Source) {
	var rate, forks, runnable, blocked, idle, iowait, steal mean
	for i := range max(len(r.SwitchesPerS), len(r.Samples)) {
		var s evidence.SystemSample
		if i < len(r.Samples) {
			s = r.Samples[i]
		}
		if s.SinceBoot {
			continue
		}
		if i < len(r.SwitchesPerS) {
			rate.add(evidence.Some(r.SwitchesPerS[i]))
		}
		forks.add(s.ForksPerS)
		runnable.add(s.Runnable)
		blocked.add(s.Blocked)
		idle.add(s.Idle)
		iowait.add(s.IOWait)
		steal.add(s.Steal)
	}
	for _, f := range []struct {
		to   *evidence.Opt[float64]
		from mean
	}{{&m.ForksPerS, forks}, {&m.Runnable, runnable}, {&m.Blocked, blocked}, {&m.Idle, idle}, {&m.IOWait, iowait}, {&m.Steal, steal}} {
		if !f.to.OK {
			*f.to = f.from.value()
		}
	}
	if rate.n == 0 {
		return
	}
	m.SwitchesPerS = rate.value()
	m.Samples, m.WindowS = rate.n, src.Window.DurationS
	if r.CPUs.OK {
		m.CPUs = r.CPUs
	} else if !m.CPUs.OK {
		m.CPUs = src.Host.CPUs
	}
	line := evidence.Opt[int]{V: r.Pos.Line, OK: r.Pos.Line > 0}
	m.Evidence = append(m.Evidence, Evidence{Source: src.ID, Line: line, Figure: "switches of the machine", Value: m.SwitchesPerS.V, Unit: "/s"})
}

// mean averages what is there.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v evidence.Opt[float64]) {
	if v.OK {
		m.sum, m.n = m.sum+v.V, m.n+1
	}
}

func (m *mean) value() evidence.Opt[float64] {
	return evidence.Opt[float64]{V: m.sum / float64(max(m.n, 1)), OK: m.n > 0}
}

// groupReading is a group's counts with the reading they are of.
type groupReading struct {
	r *evidence.Reading
	g *evidence.GroupCount
}

// quotaFacts takes the differences of each control group's counters.
func (c *countedSet) quotaFacts(set *evidence.Set) {
	by := map[string][]groupReading{}
	var names []string
	for i := range set.Readings {
		r := &set.Readings[i]
		for j := range r.Groups {
			g := &r.Groups[j]
			if by[g.Group] == nil {
				names = append(names, g.Group)
			}
			by[g.Group] = append(by[g.Group], groupReading{r, g})
			c.serves(r)
		}
	}
	for _, n := range names {
		c.quota = append(c.quota, c.quotaOf(n, by[n]))
	}
	slices.SortStableFunc(c.quota, func(a, b QuotaFact) int { return -cmp.Compare(a.Throttled.V, b.Throttled.V) })
}

func (c *countedSet) quotaOf(name string, gs []groupReading) QuotaFact {
	q := QuotaFact{Group: name}
	of := map[*evidence.Reading]*evidence.GroupCount{}
	var rs []*evidence.Reading
	for _, x := range gs {
		q.limit(x.g)
		if x.g.Periods.OK || x.g.Throttled.OK || x.g.UsageNS.OK {
			of[x.r] = x.g
			rs = append(rs, x.r)
		}
	}
	if len(rs) == 0 {
		return q
	}
	first, last := ends(rs, func(a, b *evidence.Reading) int {
		return cmp.Or(cmp.Compare(of[a].Periods.V, of[b].Periods.V), cmp.Compare(of[a].UsageNS.V, of[b].UsageNS.V))
	})
	a, b := of[first], of[last]
	switch {
	case first == last:
		q.SinceStart = true
		q.Periods, q.Throttled, q.ThrottledNS, q.UsageNS = b.Periods, b.Throttled, b.ThrottledNS, b.UsageNS
	case a.Periods.V > b.Periods.V || a.Throttled.V > b.Throttled.V:
		c.check(last.Pos.Source, Check{ID: "readings-differ", Status: CheckDiffer, Text: Textf("the counters of the control group in %s went backwards: it was made anew, or they are of two groups", Code(c.names[last.Pos.Source]))})
		return q
	default:
		q.Periods, q.Throttled = difference(a.Periods, b.Periods), difference(a.Throttled, b.Throttled)
		q.ThrottledNS, q.UsageNS = difference(a.ThrottledNS, b.ThrottledNS), difference(a.UsageNS, b.UsageNS)
		q.WindowS = elapsed(first, last)
	}
	q.finish(b)
	return q
}

// limit takes a group's quota where a reading has it.
func (q *QuotaFact) limit(g *evidence.GroupCount) {
	q.Unlimited = q.Unlimited || g.Unlimited
	if p := g.PeriodUS.V; g.QuotaUS.OK && p > 0 {
		q.CPUs = evidence.Some(float64(g.QuotaUS.V) / float64(p))
	}
}

func (q *QuotaFact) finish(b *evidence.GroupCount) {
	if n, ok := q.Throttled.Get(); ok && q.Periods.V > 0 {
		q.Share = evidence.Some(float64(n) / float64(q.Periods.V))
	}
	for _, x := range []struct {
		figure string
		v      evidence.Opt[uint64]
		unit   string
	}{{"nr_throttled", q.Throttled, ""}, {"nr_periods", q.Periods, ""}, {"throttled time", q.ThrottledNS, "ns"}} {
		if v, ok := x.v.Get(); ok {
			q.Evidence = append(q.Evidence, Evidence{Source: b.Pos.Source, Line: evidence.Some(b.Pos.Line), Figure: x.figure, Value: float64(v), Unit: x.unit})
		}
	}
}

// onlyMachine makes the machine the subject when nothing else is in the set.
// Otherwise its rates serve the cases there are, and make none.
func (c *countedSet) onlyMachine() {
	d := c.set
	if len(d.Counters)+len(d.Threads)+len(d.Stacks)+len(d.Profiles)+len(d.Waits)+len(d.Histograms)+len(d.Traces) > 0 {
		d.System = nil
		return
	}
	unrated := func(r evidence.SystemRate) bool { return len(r.SwitchesPerS) == 0 }
	if len(c.context) == 0 || len(d.System) > 0 && !slices.ContainsFunc(d.System, func(r evidence.SystemRate) bool { return !unrated(r) }) {
		d.System = nil // tables without switch rates only
		return
	}
	src := c.source(c.context[len(c.context)-1])
	src.Target.Kind = evidence.TargetSystem
	if len(d.System) == 0 {
		d.System = append(d.System, evidence.SystemRate{Pos: evidence.Pos{Source: src.ID}, CPUs: c.machine.CPUs})
	}
}

// machineMacro is layer 1 of the machine by its own counters.
func (c *caseBuild) machineMacro() Macro {
	f := &c.facts.Machine
	m := Macro{ImpactWord: "unknown"}
	rate, ok := f.SwitchesPerS.Get()
	if !ok || len(f.Evidence) == 0 {
		return m
	}
	ev := f.Evidence[len(f.Evidence)-1]
	m.Sources = []int{ev.Source}
	cpus := c.facts.Subject.Host.CPUs
	if f.CPUs.OK {
		cpus = f.CPUs
	}
	whole := Figure{ID: FigRate, Label: "switches/s", Unit: UnitPerS, Formula: "of all CPUs", Value: f.SwitchesPerS, Inputs: []Evidence{ev}}
	if f.Samples > 0 {
		whole.Arithmetic = "mean of " + quantity.Small(f.Samples) + " intervals"
	}
	m.Figures = []Figure{whole}
	if !cpus.OK || cpus.V == 0 {
		m.Figures[0].Reads = Textf("not graded: the number of CPUs is not in the input")
		return m
	}
	// In each second the CPUs have a second each.
	r := block{machine: true, S: input{v: rate, ok: true, text: quantity.Whole(rate), ev: ev},
		T: input{v: float64(cpus.V), ok: true, text: quantity.Fixed(float64(cpus.V)*1e3, 0) + "\u00a0ms", ev: ev}}
	m.Figures = append(m.Figures, r.perActive(), r.between())
	m.grade(true)
	m.cost()
	return m
}

// checkMachine notes what held the threads back from outside: a CPU quota, and
// a hypervisor that gave the CPUs to others.
func (c *caseBuild) checkMachine() []Check {
	var out []Check
	for _, q := range c.facts.Quota {
		if q.Throttled.V > 0 {
			out = append(out, Check{ID: "quota", Status: CheckDiffer, Text: q.Text()})
		}
	}
	if v, ok := c.facts.Machine.Steal.Get(); ok && v >= stealNoted {
		out = append(out, Check{ID: "steal", Status: CheckDiffer,
			Text: Textf("the hypervisor took %s of the CPUs' time: delays and stints on a CPU hold it", quantity.Percent(v, 1))})
	}
	return out
}

// Text is what a quota did, in a sentence.
func (q *QuotaFact) Text() Text {
	t := Textf("a CPU quota stopped the control group in %s of %s periods", quantity.Count(q.Throttled.V), quantity.Count(q.Periods.V))
	if q.Group != "" {
		t = Textf("a CPU quota stopped the control group %s in %s of %s periods", Code(q.Group), quantity.Count(q.Throttled.V), quantity.Count(q.Periods.V))
	}
	if v, ok := q.ThrottledNS.Get(); ok {
		t = Textf("%s, for %s in all", t, quantity.Time(float64(v)))
	}
	if v, ok := q.CPUs.Get(); ok {
		t = Textf("%s; it may use %s CPUs", t, quantity.Fixed(v, 2))
	}
	if q.SinceStart {
		t = Textf("%s (since the group was made, not of the time of the problem)", t)
	}
	return t
}

// settings are the first lines of the files that a capture keeps as they are.
func settings(set *evidence.Set) map[string]string {
	out := map[string]string{}
	for _, s := range set.Settings {
		if _, have := out[s.Name]; !have {
			out[s.Name] = s.Value
		}
	}
	return out
}
