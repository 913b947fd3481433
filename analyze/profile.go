package analyze

import (
	"strings"

	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// addProfile reads a printed profile. A profile of switches whose rows carry
// call chains is classified chain by chain; otherwise each symbol that the
// table knows stands for its reason, with the largest of their Children
// shares: callers include their callees, so they are never added up.
func (s *stackFacts) addProfile(p *evidence.Profile, f *Facts) {
	s.useSource(p.Pos.Source)
	chains := false
	for i := range p.Rows {
		chains = chains || len(p.Rows[i].Chains) > 0
	}
	switch {
	case p.Kind == evidence.StackSwitch && chains && s.switches == nil:
		f.Has.Stacks = true
		s.chainProfile(p, f)
	case p.Kind == evidence.StackCPU && s.cpu == nil:
		f.Has.CPUStacks = true
		s.symbolProfile(p, f, true)
	case p.Kind == evidence.StackSwitch && s.switches == nil:
		f.Has.Stacks = f.Has.Stacks || hasWait(p, s.table)
		s.symbolProfile(p, f, false)
	}
	s.profileLines(p)
}

// hasWait reports whether any row of a profile names what a task waits for;
// a profile of switches without callers only says "schedule".
func hasWait(p *evidence.Profile, t *signature.Table) bool {
	for i := range p.Rows {
		if _, role, ok := t.Symbol(p.Rows[i].Symbol); ok && role == signature.RoleWait {
			return true
		}
	}
	return false
}

// chainProfile classifies the printed call chains of switches.
func (s *stackFacts) chainProfile(p *evidence.Profile, f *Facts) {
	events := 100.0 // without a count the shares are per cent
	if n, ok := p.EventCount.Get(); ok {
		events = float64(n)
	} else if n, ok := p.Samples.Get(); ok {
		events = float64(n)
	}
	s.total += events
	for i := range p.Rows {
		row := &p.Rows[i]
		for _, ch := range row.Chains {
			fr := make([]evidence.Frame, len(ch.Frames))
			for k, name := range ch.Frames {
				fr[k] = evidence.Frame{Symbol: name}
			}
			sm := evidence.StackSample{Task: -1, Stack: -1, Weight: ch.Pct / 100 * events}
			s.profileChain(f, row, &sm, fr)
		}
	}
}

func (s *stackFacts) profileChain(f *Facts, row *evidence.ProfileRow, sm *evidence.StackSample, fr []evidence.Frame) {
	if pr, at, yes := s.involuntary(sm, fr); yes {
		s.addTrigger(f, triggerOf(pr), fr, at, sm.Weight)
		return
	}
	m, ok := s.table.Blocking(fr)
	if !ok {
		return
	}
	s.addReason(s.reasons, m, sm, fr)
	if i, ok := s.table.Caller(fr); ok {
		k := callerKey{fr[i].Symbol, m.Reason.ID, false}
		if s.callers[k] == nil {
			s.callers[k] = &CallerFact{Symbol: fr[i].Symbol, Reason: m.Reason.ID, Evid: profileEvidence(row, row.OverheadPct.V)}
		}
		s.callers[k].Share += sm.Weight
	}
}

// symbolProfile takes each reason's largest row, per comm.
func (s *stackFacts) symbolProfile(p *evidence.Profile, f *Facts, cpu bool) {
	type key struct{ comm, reason string }
	best := map[key]*ReasonFact{}
	var order []key
	for i := range p.Rows {
		row := &p.Rows[i]
		share, ok := rowShare(row)
		reason, role, known := s.table.Symbol(row.Symbol)
		if !ok || !known || reason.ID == "" || !countsForReason(role) {
			s.profileCaller(row, share, ok, cpu, f)
			continue
		}
		k := key{row.Comm, reason.ID}
		if best[k] == nil {
			best[k] = &ReasonFact{Reason: reason}
			order = append(order, k)
		}
		if b := best[k]; share > b.Share {
			b.Share, b.Frame = share, signature.Base(row.Symbol)
			b.Evidence = []Evidence{profileEvidence(row, share*100)}
		}
	}
	sum := map[string]*ReasonFact{}
	var ids []string
	for _, k := range order {
		b := best[k]
		if have := sum[k.reason]; have != nil {
			have.Share += b.Share
			have.Evidence = append(have.Evidence, b.Evidence...)
			continue
		}
		sum[k.reason] = b
		ids = append(ids, k.reason)
	}
	for _, id := range ids {
		if cpu {
			f.CPU = append(f.CPU, *sum[id])
		} else {
			f.Blocking = append(f.Blocking, *sum[id])
		}
	}
}

// countsForReason: a system call's entry, the wait itself and what refines it
// stand for the reason; a carrier does not.
func countsForReason(r signature.Role) bool {
	return r == signature.RoleWait || r == signature.RoleHint || r == signature.RoleRefine || r == signature.RoleAPI
}

// rowShare is a row's share with its callees, or without where the report has
// no such column.
func rowShare(row *evidence.ProfileRow) (float64, bool) {
	for _, v := range []evidence.Opt[float64]{row.ChildrenPct, row.OverheadPct, row.SelfPct} {
		if v.OK {
			return v.V / 100, true
		}
	}
	return 0, false
}

// profileCaller takes a row of user code as a caller: it was on the stack in
// this share of the samples.
func (s *stackFacts) profileCaller(row *evidence.ProfileRow, share float64, ok, cpu bool, f *Facts) {
	if !ok || row.Kernel || share < callerFloor {
		return
	}
	fr := []evidence.Frame{{Symbol: row.Symbol, Module: row.Module}}
	if _, is := s.table.Caller(fr); !is {
		return
	}
	f.Callers = append(f.Callers, CallerFact{Symbol: row.Symbol, Share: share, CPU: cpu, Evid: profileEvidence(row, share*100)})
}

// callerFloor: user code below one per cent of the samples is not named as the
// code that asked.
const callerFloor = 0.01

func profileEvidence(row *evidence.ProfileRow, pct float64) Evidence {
	return Evidence{Source: row.Pos.Source, Line: evidence.Some(row.Pos.Line), Figure: row.Symbol, Value: pct, Unit: "%"}
}

// profileLines keeps the rows that a report shows: those that stand for a
// reason, user code, and whatever is large.
func (s *stackFacts) profileLines(p *evidence.Profile) {
	for i := range p.Rows {
		row := &p.Rows[i]
		share, ok := rowShare(row)
		if !ok || share < callerFloor || len(s.profile) >= 20 {
			continue
		}
		l := ProfileLine{Symbol: row.Symbol, Evidence: profileEvidence(row, share*100)}
		l.Children, l.Self = asShare(row.ChildrenPct), asShare(row.SelfPct)
		if !l.Self.OK && !l.Children.OK {
			l.Self = asShare(row.OverheadPct)
		}
		if r, role, known := s.table.Symbol(row.Symbol); known && countsForReason(role) {
			l.Reason = r.ID
		}
		_, l.Caller = s.table.Caller([]evidence.Frame{{Symbol: row.Symbol, Module: row.Module}})
		l.Caller = l.Caller && !row.Kernel && !strings.HasPrefix(row.Symbol, "[")
		s.profile = append(s.profile, l)
	}
}

func asShare(pct evidence.Opt[float64]) evidence.Opt[float64] {
	if !pct.OK {
		return pct
	}
	return evidence.Some(pct.V / 100)
}
