package analyze

import (
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// StacksOf picks the call chains of a kind that the analysis of all tasks uses:
// of several tables the one with most weight behind chains, as two recordings
// of one load are not added up. It is nil when there is none.
func StacksOf(set *evidence.Set, kind evidence.StackKind) *evidence.StackTable {
	sel := &selection{set: set, subject: Subject{Kind: SubjectMachine}}
	for i := range set.Stacks {
		sel.stacks = append(sel.stacks, i)
	}
	s := stackFacts{sel: sel}
	return s.best(kind)
}

// SampleReasons names, for each sample of a table, what the switch waits for or
// what took the CPU, in the words of the report's layer 3: the labels of
// [ReasonRow]. A sample of a CPU is named by the waiting path it lies on. The
// name is "" where there is no call chain to tell.
func SampleReasons(t *evidence.StackTable) []string {
	type key struct {
		stack int32
		state evidence.State
		wake  evidence.WakeContext
	}
	s := stackFacts{table: signature.Default()}
	known := map[key]string{}
	out := make([]string, len(t.Samples))
	fr := frameBuf{t: t}
	for i := range t.Samples {
		sm := &t.Samples[i]
		k := key{sm.Stack, sm.State, sm.Wake}
		label, ok := known[k]
		if !ok {
			buf := fr.of(sm.Stack)
			label = s.reasonLabel(t.Kind, sm, buf)
			known[k] = label
		}
		out[i] = label
	}
	return out
}

func (s *stackFacts) reasonLabel(kind evidence.StackKind, sm *evidence.StackSample, fr []evidence.Frame) string {
	if kind == evidence.StackSwitch {
		if p, _, yes := s.involuntary(sm, fr); yes {
			return triggerOf(p).Label()
		}
	}
	switch m, ok := s.table.Blocking(fr); {
	case ok:
		return m.Reason.Label
	case kind == evidence.StackSwitch && sm.Stack >= 0:
		return notRecognised
	}
	return ""
}
