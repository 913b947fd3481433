package analyze

import (
	"fmt"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// Figure ids of layer 1, which are also its keys in JSON.
const (
	FigCPUs       = "cpus_utilized"
	FigRate       = "switches_per_s"
	FigPerActive  = "switches_per_s_per_active_cpu"
	FigBetween    = "cpu_us_between_switches"
	FigMigrations = "migration_ratio"
	FigMigPerS    = "migrations_per_s"
	FigIPC        = "ipc"
	FigBranchMiss = "branch_miss_ratio"
	FigClock      = "clock_ghz"
	FigFaults     = "page_faults_per_s"
)

// input is a counter ready for arithmetic: absent unless it was counted.
type input struct {
	v    float64
	ok   bool
	ev   Evidence
	why  string // why it is absent
	text string // the value as the arithmetic shows it
}

// block reads the inputs of one perf stat block.
type block struct {
	b       *evidence.CounterBlock
	T, E, S input // task-clock in seconds, elapsed in seconds, context-switches
	M       input // cpu-migrations
	clock   string
	fromT   string // how E was recovered
	machine bool
}

func readBlock(b *evidence.CounterBlock, machine bool) block {
	r := block{b: b, machine: machine, clock: "task-clock"}
	r.T = counterInput(b, "task-clock")
	if !r.T.ok || machine {
		if c := counterInput(b, "cpu-clock"); c.ok {
			r.T, r.clock = c, "cpu-clock"
		}
	}
	if r.T.ok {
		r.T.text = quantity.Fixed(r.T.v, 2) + "\u00a0ms"
		r.T.v /= 1000
	}
	r.S = counterInput(b, "context-switches")
	r.M = counterInput(b, "cpu-migrations")
	r.E, r.fromT = elapsedInput(b, r.T)
	return r
}

// counterInput reads one event: summed over the PMUs of a hybrid machine when
// there is no plain counter, and absent with the reason when not counted.
func counterInput(b *evidence.CounterBlock, event string) input {
	c, ok := b.Find(event)
	if !ok {
		return sumPMUs(b, event)
	}
	if c.Status != evidence.StatusCounted {
		return input{why: notUsable(c)}
	}
	return input{v: c.Value, ok: true, text: countText(c.Value), ev: counterEvidence(b, c)}
}

func counterEvidence(b *evidence.CounterBlock, c *evidence.Counter) Evidence {
	line := c.Pos.Line
	if line == 0 {
		line = b.Pos.Line
	}
	return Evidence{Source: b.Pos.Source, Line: evidence.Some(line), Figure: c.Key(), Value: c.Value, Unit: c.Unit}
}

func notUsable(c *evidence.Counter) string {
	if c.Status == evidence.StatusUnmeasurable {
		return fmt.Sprintf("%s:%s is always 0: switches happen in the kernel, count without :%s as root or at perf_event_paranoid 1",
			c.Event, c.Modifier, c.Modifier)
	}
	return c.Event + " was " + c.Status.String()
}

func sumPMUs(b *evidence.CounterBlock, event string) input {
	var sum input
	for i := range b.Counters {
		c := &b.Counters[i]
		if c.Event != event || c.PMU == "" || c.Modifier != "" {
			continue
		}
		if c.Status != evidence.StatusCounted {
			return input{why: notUsable(c)}
		}
		if !sum.ok {
			sum = input{ok: true, ev: counterEvidence(b, c)}
		}
		sum.v += c.Value
	}
	if !sum.ok {
		sum.why = event + " is not in the input"
	}
	sum.text = countText(sum.v)
	sum.ev.Value = sum.v
	return sum
}

func countText(v float64) string { return quantity.Fixed(v, 0) }

// elapsedInput is the printed elapsed time, or the one recovered from the
// clock and the printed "CPUs utilized", and how that was done.
func elapsedInput(b *evidence.CounterBlock, t input) (input, string) {
	if e, ok := b.ElapsedS.Get(); ok && e <= 0 {
		return input{why: fmt.Sprintf("the elapsed time is %s s, which cannot be", trimFixed(e))}, ""
	} else if ok {
		return input{v: e, ok: true, text: trimFixed(e) + "\u00a0s",
			ev: Evidence{Source: b.Pos.Source, Line: elapsedLine(b), Figure: "seconds time elapsed", Value: e, Unit: "s"}}, ""
	}
	if u, ok := printedCPUs(b); ok && t.ok {
		e := t.v / u
		return input{v: e, ok: true, text: quantity.Fixed(e, 2) + "\u00a0s", ev: t.ev},
			fmt.Sprintf("elapsed is not in the input: recovered as %s / %s CPUs utilized = %s s", t.text, quantity.Fixed(u, 3), quantity.Fixed(e, 2))
	}
	return input{why: "the elapsed time is not in the input"}, ""
}

// elapsedLine is the line of a block's elapsed time; its first line where the
// reader does not say.
func elapsedLine(b *evidence.CounterBlock) evidence.Opt[int] {
	if b.ElapsedLine > 0 {
		return evidence.Some(b.ElapsedLine)
	}
	return evidence.Some(b.Pos.Line)
}

// printedCPUs is the "CPUs utilized" that perf printed. Its CSV and JSON
// outputs may print a bogus one, hence the bound.
func printedCPUs(b *evidence.CounterBlock) (float64, bool) {
	for i := range b.Counters {
		c := &b.Counters[i]
		if u, ok := c.Metric.Get(); ok && c.MetricUnit == "CPUs utilized" && u > 0 {
			return u, true
		}
	}
	return 0, false
}

// trimFixed writes seconds as perf does, without trailing zeros.
func trimFixed(v float64) string {
	s := fmt.Sprintf("%.9f", v)
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}

// macroOf computes layer 1 of a block. machine: the block counts all tasks of
// the machine (or of some CPUs), so its clock is the CPUs' own time.
func macroOf(b *evidence.CounterBlock, machine bool, scales *Scales) Macro {
	r := readBlock(b, machine)
	m := Macro{Sources: []int{b.Pos.Source}, Scales: scales}
	m.Figures = []Figure{r.cpus(), r.rate(), r.perActive(), r.between(), r.migrations(), r.migrationsPerS(),
		r.ipc(), r.branches(), r.ghz(), r.faults()}
	m.Figures = append(m.Figures, r.misses()...)
	m.MissTrend = r.missTrend()
	m.Unmeasurable = r.unmeasurable()
	m.Inputs = r.inputs()
	if m.Implausible = r.implausible(&m); len(m.Implausible) > 0 {
		m.ImpactWord = "unknown"
		return m
	}
	m.grade(machine)
	m.cost()
	return m
}

// inputs lists the counters that the formulae name by a letter.
func (r *block) inputs() []MacroInput {
	var out []MacroInput
	for _, x := range []struct {
		letter, name string
		in           *input
	}{{"T", r.clock, &r.T}, {"E", "seconds time elapsed", &r.E}, {"S", "context-switches", &r.S}, {"M", "cpu-migrations", &r.M}} {
		if x.in.ok {
			out = append(out, MacroInput{Letter: x.letter, Name: x.name, Text: x.in.text, Evidence: x.in.ev})
		}
	}
	return out
}

// quotient fills a figure a / b, or says which input is missing.
func quotient(f Figure, a, b input, scale float64, arithmetic string) Figure {
	switch {
	case !a.ok:
		f.Missing = a.why
	case !b.ok:
		f.Missing = b.why
	case b.v == 0:
		f.Missing = f.Formula + " divides by 0"
	default:
		f.Value = evidence.Some(a.v / b.v * scale)
		f.Arithmetic = arithmetic
		f.Inputs = []Evidence{a.ev, b.ev}
	}
	return f
}

func (r *block) cpus() Figure {
	f := Figure{ID: FigCPUs, Label: "CPUs utilized", Formula: "T / E", Digits: 3, Recovered: r.fromT}
	if r.machine {
		f.Label = "CPUs counted"
	}
	return quotient(f, r.T, r.E, 1, r.T.text+" / 1,000 / "+r.E.text)
}

func (r *block) rate() Figure {
	f := Figure{ID: FigRate, Label: "switches/s", Unit: UnitPerS, Formula: "S / E", Recovered: r.fromT}
	return quotient(f, r.S, r.E, 1, r.S.text+" / "+r.E.text)
}

func (r *block) perActive() Figure {
	f := Figure{ID: FigPerActive, Label: "per active CPU", Unit: UnitPerS, Formula: "S / T"}
	if r.machine {
		f.Label = "per CPU"
	}
	return quotient(f, r.S, r.T, 1, fmt.Sprintf("%s / %s s", r.S.text, quantity.Fixed(r.T.v, 5)))
}

func (r *block) between() Figure {
	f := Figure{ID: FigBetween, Label: "CPU between switches", Unit: UnitUS, Digits: 4, Formula: "T / S"}
	if r.S.ok && r.S.v == 0 {
		f.Missing = "no context switches were counted"
		return f
	}
	return quotient(f, r.T, r.S, 1e6, r.T.text+" x 1,000 / "+r.S.text)
}

func (r *block) migrations() Figure {
	f := Figure{ID: FigMigrations, Label: "migrations", Unit: UnitRatio, Digits: 3, Formula: "M / S"}
	if r.S.ok && r.S.v == 0 {
		f.Missing = "no context switches were counted"
		return f
	}
	return quotient(f, r.M, r.S, 1, r.M.text+" / "+r.S.text)
}

func (r *block) migrationsPerS() Figure {
	f := Figure{ID: FigMigPerS, Label: "migrations/s", Unit: UnitPerS, Formula: "M / E", Recovered: r.fromT}
	return quotient(f, r.M, r.E, 1, r.M.text+" / "+r.E.text)
}

func (r *block) ipc() Figure {
	a, b := counterInput(r.b, "instructions"), counterInput(r.b, "cycles")
	f := quotient(Figure{ID: FigIPC, Label: "IPC", Digits: 2, Formula: "instructions / cycles"}, a, b, 1, a.text+" / "+b.text)
	if v, ok := f.Value.Get(); ok {
		f.Reads = ipcReads(v)
	}
	return f
}

func ipcReads(v float64) Text {
	switch {
	case v >= highIPC:
		return Textf("near the peak of 4–6")
	case v < lowIPC:
		return Textf("low: memory-bound work, or cold caches")
	}
	return Textf("ordinary")
}

func (r *block) branches() Figure {
	a, b := counterInput(r.b, "branch-misses"), counterInput(r.b, "branches")
	f := quotient(Figure{ID: FigBranchMiss, Label: "branch misses", Unit: UnitRatio, Digits: 3, Formula: "branch-misses / branches"},
		a, b, 1, a.text+" / "+b.text)
	if v, ok := f.Value.Get(); ok && v < 0.005 {
		f.Reads = Textf("very low")
	}
	return f
}

func (r *block) ghz() Figure {
	c := counterInput(r.b, "cycles")
	return quotient(Figure{ID: FigClock, Label: "clock", Unit: UnitGHz, Digits: 3, Formula: "cycles / T"}, c, r.T, 1e-9,
		fmt.Sprintf("%s / %s s", c.text, quantity.Fixed(r.T.v, 5)))
}

func (r *block) faults() Figure {
	p := counterInput(r.b, "page-faults")
	return quotient(Figure{ID: FigFaults, Label: "page faults/s", Unit: UnitPerS, Formula: "page-faults / E", Recovered: r.fromT},
		p, r.E, 1, p.text+" / "+r.E.text)
}

// grade grades the per-core figure, and names beside it the word that the
// whole-process rate would earn, with the reason why that is not the grade.
func (m *Macro) grade(machine bool) {
	per, ok := m.Value(FigPerActive).Get()
	if !ok {
		return
	}
	var span string
	m.Grade, span = m.Scales.gradeOf(per)
	m.GradedOn = FigPerActive
	if f, ok := m.Figure(FigPerActive); ok {
		f.Reads = Textf("%s (%s)", string(m.Grade), span)
	}
	if f, ok := m.Figure(FigBetween); ok {
		f.Reads = Textf("bounds the cost of a switch")
	}
	rate, ok := m.Value(FigRate).Get()
	if !ok {
		return
	}
	m.WholeRate, _ = m.Scales.gradeOf(rate)
	f, _ := m.Figure(FigRate)
	if machine {
		f.Reads = Textf("whole machine: graded per CPU")
		if m.WholeRate == m.Grade {
			return
		}
		m.Why = Textf("the rate of all CPUs together would read %s; the table is per core", string(m.WholeRate))
		return
	}
	f.Reads = Textf("not the grade: whole process")
	cpus := m.Value(FigCPUs).V
	if m.WholeRate == m.Grade {
		return
	}
	m.Why = Textf("the whole process's %s would read %s, but the table is per core and the process used %s CPUs",
		quantity.PerS(rate), string(m.WholeRate), quantity.Fixed(cpus, 3))
}

// cost estimates what switching costs, never more than was measured: the mean
// cost of a switch cannot exceed the CPU time between two.
func (m *Macro) cost() {
	k := &m.Scales.Cost
	m.Cost.Table = microRange(k.LoUS, k.HiUS) + " a switch with cache recovery (" + k.Source + ")"
	m.ImpactWord = "unknown"
	bound, okB := m.Value(FigBetween).Get()
	rate, okR := m.Value(FigRate).Get()
	if !okB {
		return
	}
	lo, hi := k.LoUS, k.HiUS
	if bound < hi {
		hi, m.Cost.Bounded = bound, true
	}
	if lo > hi {
		lo = min(k.DirectUS, hi)
		m.Cost.Table = fmt.Sprintf("%s a switch is more than was measured: from the direct cost of a switch (%s) to the bound", microRange(k.LoUS, k.HiUS), quantity.With(trimFixed(k.DirectUS), "µs"))
	}
	m.Cost.LoUS, m.Cost.HiUS, m.Cost.BoundUS = evidence.Some(lo), evidence.Some(hi), evidence.Some(bound)
	if !okR {
		return
	}
	m.Cost.LoCPUs, m.Cost.HiCPUs = evidence.Some(rate*lo/1e6), evidence.Some(rate*hi/1e6)
	m.Cost.Text = m.costText(rate, lo, hi)
	m.ImpactWord = impactWord(m.Cost.HiCPUs.V)
	m.Impact = Textf("%s, by estimate: switching takes %s CPUs (%s a switch)", m.ImpactWord, m.Cost.cpus(), microRange(lo, hi))
}

func (m *Macro) costText(rate, lo, hi float64) Text {
	t := fmt.Sprintf("%s x %s = %s CPU-seconds a second", quantity.PerS(rate), microRange(lo, hi), m.Cost.cpus())
	if m.Cost.Bounded {
		t += fmt.Sprintf("; the table's upper end, %s, is impossible here: only %s of CPU lie between two switches",
			quantity.TimeSig(m.Scales.Cost.HiUS*1e3, 2), quantity.TimeSig(m.Cost.BoundUS.V*1e3, 3))
	}
	return Textf("%s", t)
}

// cpus writes the range of CPUs that switching takes: 0.38–1.60.
func (c *Cost) cpus() string {
	return span(quantity.Sig(c.LoCPUs.V, 2), quantity.Sig(c.HiCPUs.V, 3), c.LoCPUs.V == c.HiCPUs.V)
}

// microRange writes a range of microseconds: 5–21.3 µs.
func microRange(lo, hi float64) string {
	short := func(v float64) string {
		if v == float64(int(v)) {
			return quantity.Fixed(v, 0)
		}
		return quantity.Sig(v, 3)
	}
	return quantity.With(span(short(lo), short(hi), lo == hi), "µs")
}

// span writes a range, or its end where both are one.
func span(lo, hi string, same bool) string {
	if same || lo == hi {
		return hi
	}
	return quantity.Range(lo, hi)
}

// portrait is layer 1 in a phrase.
func (m *Macro) portrait() Text {
	ipc, ok := m.Value(FigIPC).Get()
	if !ok || m.Grade.Rank() < GradeElevated.Rank() {
		return nil
	}
	switch {
	case ipc >= highIPC:
		return Textf("efficient code, interrupted too often")
	case ipc < lowIPC:
		return Textf("slow code and many switches: cold caches are possible, cache misses would tell")
	}
	return nil
}
