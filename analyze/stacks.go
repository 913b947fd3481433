package analyze

import (
	"cmp"
	"slices"

	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// stackFacts is layer 3 in the making: what the facts and the report need of
// the chosen tables.
type stackFacts struct {
	sel      *selection
	table    *signature.Table
	switches *evidence.StackTable // the table of switch stacks that is used; nil: none
	cpu      *evidence.StackTable
	total    float64 // switches of the subject in it, with or without a chain
	cpuTotal float64
	stacks   stackSums
	reasons  map[string]*reasonSum
	cpuSums  map[string]*reasonSum
	work     map[string]*reasonSum
	callers  map[callerKey]*CallerFact
	threads  map[int]map[string]*reasonSum
	triggers [NumTriggers]map[string]float64 // votes for the deciding frame
	sites    futexSites
	why      map[string]float64 // weight of unresolved samples by reason
	unnamed  float64            // weight of chains whose kernel frames have no name at all
	badUser  float64            // weight without a resolved user frame
	sources  []int
	profile  []ProfileLine
}

// reasonSum is a ReasonFact with the votes for its frame and API.
type reasonSum struct {
	ReasonFact
	frames map[string]float64
	apis   map[string]float64
}

type callerKey struct {
	symbol, reason string
	cpu            bool
}

// gatherStacks classifies the stacks of the case and fills the facts' layer 3.
func gatherStacks(sel *selection, f *Facts) stackFacts {
	s := stackFacts{sel: sel, table: signature.Default(), reasons: map[string]*reasonSum{},
		cpuSums: map[string]*reasonSum{}, work: map[string]*reasonSum{}, callers: map[callerKey]*CallerFact{}, threads: map[int]map[string]*reasonSum{}, why: map[string]float64{}, sites: newFutexSites()}
	s.switches = s.best(evidence.StackSwitch)
	s.cpu = s.best(evidence.StackCPU)
	if s.switches != nil {
		s.addSwitches(f)
	}
	if s.cpu != nil {
		s.addCPU()
	}
	for _, i := range sel.profiles {
		s.addProfile(&sel.set.Profiles[i], f)
	}
	s.finish(f)
	return s
}

// best picks, of several tables of one kind, the one with most samples that
// have a chain: two recordings of one load are not added up.
func (s *stackFacts) best(kind evidence.StackKind) *evidence.StackTable {
	var best *evidence.StackTable
	most := 0.0
	for _, i := range s.sel.stacks {
		t := &s.sel.set.Stacks[i]
		if t.Kind != kind {
			continue
		}
		n := 0.0
		for k := range t.Samples {
			if sm := &t.Samples[k]; sm.Stack >= 0 && s.mine(t, sm) {
				n += sm.Weight
			}
		}
		if n > most {
			best, most = t, n
		}
	}
	return best
}

func (s *stackFacts) mine(t *evidence.StackTable, sm *evidence.StackSample) bool {
	return sm.Task < 0 || s.sel.keep(t.Tasks[sm.Task])
}

// addSwitches classifies every switch sample: a voluntary one by what it
// blocks on, an involuntary one by what took the CPU.
func (s *stackFacts) addSwitches(f *Facts) {
	t := s.switches
	s.useSource(t.Pos.Source)
	f.Has.Stacks = true
	s.stacks = newStackSums(t, s.mine)
	fr := frameBuf{t: t}
	for i := range t.Samples {
		sm := &t.Samples[i]
		if !s.mine(t, sm) {
			continue
		}
		s.total += sm.Weight
		buf := fr.of(sm.Stack)
		if kernelUnnamed(buf) {
			s.unnamed += sm.Weight
		}
		s.addSwitch(f, sm, buf)
	}
	if s.unnamed > unnamedShare*s.total {
		f.Has.Stacks, f.Has.Unnamed = false, true
		s.reasons = map[string]*reasonSum{}
		s.threads = map[int]map[string]*reasonSum{}
	}
}

// unnamedShare: with more of the switch stacks nameless than this, the others
// do not stand for the whole.
const unnamedShare = 0.5

// notRecognised labels stacks of which no frame tells a reason.
const notRecognised = "not recognised"

// kernelUnnamed reports whether a chain has kernel frames, and none with a name.
func kernelUnnamed(fr []evidence.Frame) bool {
	kernel := false
	for i := range fr {
		if fr[i].Kernel && fr[i].Symbol != "" {
			return false
		}
		kernel = kernel || fr[i].Kernel
	}
	return kernel
}

func (s *stackFacts) addSwitch(f *Facts, sm *evidence.StackSample, fr []evidence.Frame) {
	sum := s.stacks.add(sm)
	if p, at, yes := s.involuntary(sm, fr); yes {
		s.addTrigger(f, triggerOf(p), fr, at, sm.Weight)
		f.Triggers[triggerOf(p)].OffNS += float64(sm.OffNS)
		s.addWork(triggerOf(p), sm, fr)
		sum.name(triggerOf(p).Label(), at, false, sm.Weight)
		s.threadTrigger(f, sm, triggerOf(p))
		s.sites.back(triggerOf(p), s.tidOf(sm), fr, sm.Weight)
		return
	}
	m, ok := s.stacks.blocking(sum, s.table, fr)
	if !ok {
		if sm.Stack >= 0 {
			sum.name(notRecognised, -1, false, sm.Weight)
			s.addReason(s.reasons, signature.Match{Reason: signature.Reason{ID: "unknown", Label: notRecognised}, Frame: -1}, sm, fr)
		}
		s.resolveCheck(sm, fr)
		return
	}
	sum.name(m.Reason.Label, m.Frame, true, sm.Weight)
	s.addReason(s.reasons, m, sm, fr)
	s.addReason(s.threadReasons(sm), m, sm, fr)
	s.addCaller(m, sm, fr)
	s.sites.wait(m, s.tidOf(sm), fr, sm.Weight)
	s.resolveCheck(sm, fr)
}

// tidOf is the thread of a switch sample; -1 where it is not known.
func (s *stackFacts) tidOf(sm *evidence.StackSample) int {
	if sm.Task < 0 {
		return -1
	}
	return s.switches.Tasks[sm.Task].TID
}

// addWork notes what the kernel was at work on when it was preempted.
func (s *stackFacts) addWork(t Trigger, sm *evidence.StackSample, fr []evidence.Frame) {
	if t != TriggerKernel {
		return
	}
	if r, at, ok := s.table.Work(fr); ok {
		s.addReason(s.work, signature.Match{Reason: r, Frame: at}, sm, fr)
	}
}

// addTrigger adds an involuntary switch; at is the frame that decided, or -1.
func (s *stackFacts) addTrigger(f *Facts, t Trigger, fr []evidence.Frame, at int, weight float64) {
	f.Triggers[t].Switches += weight
	if at < 0 {
		return
	}
	if s.triggers[t] == nil {
		s.triggers[t] = map[string]float64{}
	}
	s.triggers[t][fr[at].Symbol] += weight
}

// involuntary decides whether a sample is an involuntary switch: by its state,
// and where the capture has none, by its frames.
func (s *stackFacts) involuntary(sm *evidence.StackSample, fr []evidence.Frame) (signature.Preemption, int, bool) {
	if sm.State.Voluntary() {
		return 0, -1, false
	}
	p, at := s.table.Preempt(fr, sm.Wake)
	if sm.State == evidence.StateUnknown {
		return p, at, p != signature.PreemptUnknown && p != signature.PreemptRace
	}
	return p, at, true
}

// triggerOf maps the table's preemptions to the report's triggers.
func triggerOf(p signature.Preemption) Trigger {
	switch p {
	case signature.PreemptTick:
		return TriggerTick
	case signature.PreemptWakeup:
		return TriggerWakeup
	case signature.PreemptRemote:
		return TriggerRemoteWakeup
	case signature.PreemptHandOff:
		return TriggerHandOff
	case signature.PreemptYield:
		return TriggerYield
	case signature.PreemptKernel:
		return TriggerKernel
	case signature.PreemptTimer:
		return TriggerTimer
	case signature.PreemptReturn:
		return TriggerReturn
	case signature.PreemptRace:
		return TriggerRace
	}
	return TriggerUnknown
}

func (s *stackFacts) threadReasons(sm *evidence.StackSample) map[string]*reasonSum {
	if sm.Task < 0 {
		return nil
	}
	tid := s.switches.Tasks[sm.Task].TID
	if s.threads[tid] == nil {
		s.threads[tid] = map[string]*reasonSum{}
	}
	return s.threads[tid]
}

func (s *stackFacts) threadTrigger(f *Facts, sm *evidence.StackSample, t Trigger) {
	if sm.Task < 0 {
		return
	}
	tid := s.switches.Tasks[sm.Task].TID
	for i := range f.Threads {
		if f.Threads[i].Task.TID == tid {
			f.Threads[i].Triggers[t] += sm.Weight
			return
		}
	}
}

// addReason adds a sample to a reason; a nil map takes nothing.
func (s *stackFacts) addReason(by map[string]*reasonSum, m signature.Match, sm *evidence.StackSample, fr []evidence.Frame) {
	if by == nil {
		return
	}
	r := by[m.Reason.ID]
	if r == nil {
		r = &reasonSum{ReasonFact: ReasonFact{Reason: m.Reason}, frames: map[string]float64{}, apis: map[string]float64{}}
		by[m.Reason.ID] = r
	}
	r.Switches += sm.Weight
	r.OffNS += float64(sm.OffNS)
	r.OffN += float64(sm.OffN)
	r.State[sm.State] += sm.Weight
	if m.Frame >= 0 && m.Frame < len(fr) {
		r.frames[signature.Base(fr[m.Frame].Symbol)] += sm.Weight
	}
	if m.API != "" {
		r.apis[m.API] += sm.Weight
	}
}

func (s *stackFacts) addCaller(m signature.Match, sm *evidence.StackSample, fr []evidence.Frame) {
	i, ok := s.table.Caller(fr)
	if !ok {
		return
	}
	s.asked(s.switches, &fr[i], m, sm.Weight)
}

// asked counts a frame of a table as the code that asked.
func (s *stackFacts) asked(t *evidence.StackTable, fr *evidence.Frame, m signature.Match, weight float64) {
	k := callerKey{fr.Symbol, m.Reason.ID, t.Kind == evidence.StackCPU}
	c := s.callers[k]
	if c == nil {
		c = &CallerFact{Symbol: fr.Symbol, File: fr.File, Line: fr.Line, Reason: m.Reason.ID, CPU: k.cpu,
			Evid: Evidence{Source: t.Pos.Source, Offset: evidence.Some(t.Pos.Offset), Figure: fr.Symbol}}
		s.callers[k] = c
	}
	c.Share += weight
}

// resolveCheck counts the weight of samples whose user code has no name, by why.
func (s *stackFacts) resolveCheck(sm *evidence.StackSample, fr []evidence.Frame) {
	user, named, why := false, false, ""
	for i := range fr {
		f := &fr[i]
		if f.Kernel {
			continue
		}
		user = true
		named = named || f.Symbol != ""
		if f.Symbol == "" && why == "" {
			why = f.Why
		}
	}
	if user && !named {
		s.badUser += sm.Weight
		s.why[cmp.Or(why, "no symbol")] += sm.Weight
	}
}

// addCPU classifies CPU samples by the waiting path they were taken in.
func (s *stackFacts) addCPU() {
	t := s.cpu
	s.useSource(t.Pos.Source)
	fr := frameBuf{t: t}
	for i := range t.Samples {
		sm := &t.Samples[i]
		if !s.mine(t, sm) {
			continue
		}
		s.cpuTotal += sm.Weight
		buf := fr.of(sm.Stack)
		m, ok := s.table.Blocking(buf)
		if ok {
			s.addReason(s.cpuSums, m, sm, buf)
		}
		if k, okC := s.table.Caller(buf); okC {
			s.asked(t, &buf[k], m, sm.Weight)
		}
	}
}

func (s *stackFacts) useSource(id int) {
	if !slices.Contains(s.sources, id) {
		s.sources = append(s.sources, id)
	}
}
