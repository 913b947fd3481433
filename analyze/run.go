package analyze

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"ctxan/parse/evidence"
)

// ErrNoEvidence is returned by Run for a Set without any evidence.
var ErrNoEvidence = errors.New("no usable evidence in any input")

// Options tune Run.
type Options struct {
	Scales   *Scales // tables of grades and costs; nil: the customary ones
	Drawings bool    // make Case.Drawings, which only JSON and a page show
}

// Run groups the set into cases, computes the facts of each, lets every rule
// conclude from them, and lays out the chain. It never changes the set.
func Run(set *evidence.Set, rules []*Rule, opt Options) (*Result, error) {
	if opt.Scales == nil {
		opt.Scales = DefaultScales()
	}
	read := countReadings(set)
	set = read.set
	sels, checks := selectCases(set)
	sels = slices.DeleteFunc(sels, func(s *selection) bool { return len(s.sources) == 0 || s.empty() })
	if len(sels) == 0 {
		return nil, ErrNoEvidence
	}
	r := &Result{Checks: append(checks, unusedSources(read, sels)...), Sources: sourceInfos(set)}
	for i, s := range sels {
		c := analyzeCase(s, read, rules, opt.Scales)
		if i == 0 && opt.Drawings {
			c.out.Drawings = &Drawings{Flames: c.stacks.flames(), CPUMap: c.cpuMap(), NoRates: c.whyNoRates()}
		}
		r.Cases = append(r.Cases, c.out)
	}
	return r, nil
}

// analyzeCase takes one case from evidence to verdict.
func analyzeCase(sel *selection, read *countedSet, rules []*Rule, scales *Scales) *caseBuild {
	c := &caseBuild{sel: sel, read: read, scales: scales}
	c.gather()
	findings := runRules(&c.facts, rules)
	if c.lossy() || c.leadersOnly() || len(c.facts.Macro.Implausible) > 0 {
		findings = slices.DeleteFunc(findings, func(f Finding) bool { return isCalm(f.ID) || c.leadersOnly() })
	}
	c.conclude(c.doubtCalm(findings), rules)
	return c
}

// doubtCalm keeps a verdict that nothing is wrong low where all that is known
// are the kernel's counts of a process's own threads: what its children do, who
// may do all of its work, is not in them.
func (c *caseBuild) doubtCalm(findings []Finding) []Finding {
	if !c.facts.Macro.FromCounts || c.facts.Has.Counters || c.facts.Has.Trace {
		return findings
	}
	for i := range findings {
		if f := &findings[i]; isCalm(f.ID) && f.Confidence.Rank() > ConfidenceLow.Rank() {
			f.Confidence = ConfidenceLow
			f.Against = append(f.Against, Textf("/proc counts the threads of this process; what the processes do that it starts is not in it"))
		}
	}
	return findings
}

// caseBuild is a case in the making.
type caseBuild struct {
	sel     *selection
	read    *countedSet
	scales  *Scales
	rows    []*rowSource
	facts   Facts
	stacks  stackFacts
	verdict Finding
	out     *Case
}

// gather computes the facts.
func (c *caseBuild) gather() {
	set := c.sel.set
	c.rows = rowSources(c.sel)
	f := &c.facts
	f.Names = labels(set)
	f.Machine, f.Quota, f.Settings = c.read.machine, c.read.quota, settings(set)
	f.Threads = gatherThreads(c.sel, c.rows)
	addAsked(c.sel, f.Threads)
	f.Subject = c.describe()
	f.Layer2 = layer2Of(c.rows, f.Threads)
	f.Hot = f.Layer2.Top
	f.Run = sumHist(f.Threads, func(t *ThreadFact) *evidence.Histogram { return t.Run })
	f.Delay = sumHist(f.Threads, func(t *ThreadFact) *evidence.Histogram { return t.Delay })
	f.OffCPU = sumHist(f.Threads, func(t *ThreadFact) *evidence.Histogram { return t.OffCPU })
	f.Preempt = sumHist(f.Threads, func(t *ThreadFact) *evidence.Histogram { return t.Preempt })
	c.lossOf()
	f.Macro = c.macro()
	f.Util = utilFacts(c)
	c.has()
	f.Wake = wakeFacts(&f.Subject, f.Threads)
	f.Taken = takenFacts(&f.Subject, f.Threads)
	c.stacks = gatherStacks(c.sel, f)
	gatherPeers(c.sel, f, c.stacks.switches)
	f.Layer2.Concentration = concentration(f)
	f.Layer2.Notes = layer2Notes(c)
}

// describe completes the subject from what the sources say: the process's name
// is its leader's comm, and the host is the one that is named.
func (c *caseBuild) describe() Subject {
	s := c.sel.subject
	pid, ok := s.PID.Get()
	for _, i := range c.sel.threads {
		if t := &c.sel.set.Threads[i]; ok && s.Comm == "" && t.Task.TID == pid && (t.Task.PID == pid || t.Process) {
			s.Comm = t.Task.Comm
		}
	}
	if s.Comm == "" && len(c.sel.threads) == 0 {
		s.Comm = c.profileComm()
	}
	for _, id := range slices.Concat(c.sel.sources, c.read.context) {
		src := c.sel.set.Source(id)
		h := src.Host
		if s.Host.Name == "" {
			s.Host.Name = h.Name
		}
		if s.Host.Release == "" {
			s.Host.Release = h.Release
		}
		if s.Host.Arch == "" {
			s.Host.Arch = h.Arch
		}
		if !s.Host.CPUs.OK {
			s.Host.CPUs = h.CPUs
		}
	}
	return s
}

// profileComm is the one command that a printed profile is of, the idle task
// left out; "" when it is of several.
func (c *caseBuild) profileComm() string {
	comm := ""
	for _, i := range c.sel.profiles {
		for _, r := range c.sel.set.Profiles[i].Rows {
			switch {
			case r.Comm == "" || strings.HasPrefix(r.Comm, "swapper"):
			case comm == "":
				comm = r.Comm
			case comm != r.Comm:
				return ""
			}
		}
	}
	return comm
}

// macro is layer 1: of the block that counted the switches, or, when no
// counters are given or none for the switches, of a trace that saw all of them.
func (c *caseBuild) macro() Macro {
	machine := c.sel.subject.Kind == SubjectMachine
	b, rs := c.mainBlock(), c.fullest()
	if b != nil && (counterInput(b, "context-switches").ok || rs == nil || !rs.trace) {
		return macroOf(b, machine, c.scales)
	}
	return c.traceMacro(machine)
}

// mainBlock picks, of several blocks of one subject, the first that counted
// switches and has a clock; the others are mentioned, never added up.
func (c *caseBuild) mainBlock() *evidence.CounterBlock {
	var best *evidence.CounterBlock
	score := func(b *evidence.CounterBlock) int {
		n := 0
		for _, ev := range []string{"context-switches", "task-clock", "cpu-clock"} {
			if k, ok := b.Find(ev); ok && k.Status == evidence.StatusCounted {
				n++
			}
		}
		return n
	}
	for _, i := range c.sel.blocks {
		if b := &c.sel.set.Counters[i]; best == nil || score(b) > score(best) {
			best = b
		}
	}
	return best
}

// has fills in which evidence there is.
func (c *caseBuild) has() {
	f, set := &c.facts, c.sel.set
	f.Has.Counters = len(c.sel.blocks) > 0
	f.Has.Threads = len(f.Threads) > 0 && !c.leadersOnly()
	for _, rs := range c.rows {
		f.Has.States = f.Has.States || rs.states
		f.Has.Trace = f.Has.Trace || rs.trace
		f.Has.SystemWide = f.Has.SystemWide || (rs.trace && rs.src.Target.Kind == evidence.TargetSystem)
	}
	for _, i := range c.sel.stacks {
		t := &set.Stacks[i]
		f.Has.Sampled = f.Has.Sampled || (t.Kind == evidence.StackSwitch && t.Sampled)
	}
	for i := range f.Threads {
		t := &f.Threads[i]
		f.Has.Wakeups = f.Has.Wakeups || t.DelayNS.OK || len(t.Wakers) > 0
		f.Has.Migrations = f.Has.Migrations || t.Migrations.OK
	}
	_, ok := f.Macro.Figure(FigMigrations)
	f.Has.Migrations = f.Has.Migrations || ok
}

// leadersOnly reports whether all that is known of the threads is of main threads.
func (c *caseBuild) leadersOnly() bool {
	return len(c.rows) > 0 && c.rows[0].src.LeadersOnly
}

func (c *caseBuild) lossOf() {
	l := &c.facts.Loss
	for _, id := range c.sel.sources {
		s := c.sel.set.Source(id).Loss
		l.LostRecords = max(l.LostRecords, s.LostRecords)
		l.LostSamples = max(l.LostSamples, s.LostSamples)
		l.ChainBreaks += s.ChainBreaks
		l.Truncated = l.Truncated || s.Truncated
	}
}

// runRules collects every rule's findings, the surest first: by confidence,
// then by how much of the switches they explain, then in the order of the list.
func runRules(f *Facts, rules []*Rule) []Finding {
	var out []Finding
	for _, r := range rules {
		out = append(out, r.Run(f)...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(-cmp.Compare(a.Confidence.Rank(), b.Confidence.Rank()), -cmp.Compare(a.Share.V, b.Share.V))
	})
	return out
}

// conclude lays out the case around its surest finding.
func (c *caseBuild) conclude(findings []Finding, rules []*Rule) {
	f := &c.facts
	if len(findings) > 0 {
		c.verdict = findings[0]
	} else {
		c.verdict = c.cannotTell()
		findings = []Finding{c.verdict}
	}
	c.out = &Case{Subject: f.Subject, Host: f.Subject.Host, Macro: f.Macro, Layer2: f.Layer2, Findings: findings, Sources: c.sel.sources}
	c.out.Threads = threadRows(f)
	c.out.Hists = namedHists(f)
	c.out.Rates = rateIntervals(c)
	c.out.Wakes = wakeRows(f)
	c.out.Trigger = triggerRows(f)
	c.out.Taken, c.out.Held, c.out.Ledger = takenRows(f), heldOf(f), ledgerOf(c)
	c.out.Stacks = c.stacks.report(f)
	c.out.Checks = c.checks()
	c.lowerConfidence()
	c.out.Chain = c.chain()
	c.out.Rivals = rivals(f, rules, c.verdict.ID)
	c.out.Advice = c.verdict.Advice
	c.out.Verdict = c.verdictOf()
	c.out.Next = c.out.Verdict.Settle
	c.freshCommands()
}

// lowerConfidence takes one step off the findings for failed checks that bear on
// the captures: off all of them alike, so that none overtakes the verdict.
func (c *caseBuild) lowerConfidence() {
	i := slices.IndexFunc(c.out.Checks, func(k Check) bool { return k.Lowers && k.Status == CheckDiffer })
	if i < 0 {
		return
	}
	for k := range c.out.Findings {
		c.out.Findings[k].lower(c.out.Checks[i].Text)
	}
	c.verdict = c.out.Findings[0]
}

// lower takes one step off a confidence of medium or more, with the reason.
func (fd *Finding) lower(why Text) {
	if fd.Confidence.Rank() < ConfidenceMedium.Rank() || fd.ID == measurementArtifact {
		return
	}
	fd.Confidence = map[Confidence]Confidence{ConfidenceHigh: ConfidenceMedium, ConfidenceMedium: ConfidenceLow}[fd.Confidence]
	fd.Against = append(slices.Clone(fd.Against), why)
	fd.Ground = Textf("lowered by a failed check; otherwise %s", fd.Ground)
	if fd.Confidence == ConfidenceLow {
		fd.Advice = fd.Conditional()
	}
}

// measurementArtifact is the cause that failed checks speak for.
const measurementArtifact = "measurement-artifact"

// Conditional is a finding's advice as it must be given where other causes fit
// too: after what settles the cause, and depending on it.
func (fd *Finding) Conditional() []Advice {
	if len(fd.Advice) == 0 || len(fd.Next) == 0 {
		return fd.Advice
	}
	out := []Advice{{Do: Textf("Settle the cause first: %s (%s).", Code(fd.Next[0].Line), fd.Next[0].Why)}}
	for _, a := range fd.Advice {
		a.Do, a.Sketch, a.Lang = Textf("If it is %s: %s", fd.ID, a.Do), "", ""
		out = append(out, a)
	}
	return out
}

func (c *caseBuild) verdictOf() Verdict {
	v, m := &c.verdict, &c.facts.Macro
	out := Verdict{Cause: v.ID, Confidence: v.Confidence, Summary: v.Summary, Against: v.Against, Settle: v.Next, Portrait: m.portrait()}
	out.Ground = v.Ground
	if out.Ground == nil && v.Confidence != ConfidenceNone {
		out.Ground = c.ground()
	}
	if m.Grade != GradeNone {
		f, _ := m.Figure(m.GradedOn)
		unit := "per active CPU"
		if c.facts.Subject.Kind == SubjectMachine {
			unit = "per CPU"
		}
		out.Grade = Textf("%s: %s switches/s %s", string(m.Grade), f.Text(), unit)
	}
	out.Impact = v.Impact
	if out.Impact == nil {
		out.Impact = m.Impact
	}
	return out
}

// ground is the reason for the confidence when the rule gave none.
func (c *caseBuild) ground() Text {
	n := 0
	for _, l := range c.out.Chain {
		if l.Status == LinkSupports {
			n++
		}
	}
	return Textf("%d of %d layers agree", n, len(c.out.Chain))
}

// rivals asks every other rule what became of its cause: candidates and open
// ones first, by fit, then the rejected.
func rivals(f *Facts, rules []*Rule, verdict string) []Rival {
	var out []Rival
	for _, r := range rules {
		if r.ID == verdict || r.Rival == nil {
			continue
		}
		if v, ok := r.Rival(f); ok {
			v.ID = r.ID
			out = append(out, v)
		}
	}
	order := map[RivalStatus]int{RivalCandidate: 0, RivalRejected: 1, RivalNotExcluded: 2}
	slices.SortStableFunc(out, func(a, b Rival) int {
		return cmp.Or(cmp.Compare(order[a.Status], order[b.Status]), -cmp.Compare(a.Fit, b.Fit))
	})
	return out
}

// sourceInfos lists the inputs.
func sourceInfos(set *evidence.Set) []SourceInfo {
	out := make([]SourceInfo, 0, len(set.Sources))
	names := labels(set)
	for _, s := range set.Sources {
		readAs := s.Format
		if s.Variant != "" {
			readAs += ", " + s.Variant
		}
		out = append(out, SourceInfo{ID: s.ID, Name: names[s.ID], Path: s.Name, Format: s.Format, SHA256: s.SHA256, ReadAs: readAs,
			WindowS: s.Window.DurationS, Tool: s.Tool, Dropped: s.DroppedTotal, Notes: slices.Concat(s.Warnings, s.Notes)})
	}
	return out
}

// unusedSources says which inputs gave nothing to any case.
func unusedSources(read *countedSet, sels []*selection) []Check {
	var out []Check
	for _, s := range read.set.Sources {
		used := read.has(s.ID) || slices.ContainsFunc(sels, func(x *selection) bool { return slices.Contains(x.sources, s.ID) })
		if !used {
			out = append(out, Check{ID: "unused", Status: CheckMissing,
				Text: Textf("%s was read as %s and holds no switch evidence", Code(s.Name), s.Format)})
		}
	}
	return out
}
