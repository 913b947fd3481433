package rules

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/analyze"
	"ctxan/parse"
	"ctxan/parse/evidence"
	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// metamorphoses change a set of captures in a way that does not change the
// cause, or takes away a part of what would show it.
var metamorphoses = []struct {
	name   string
	change func(*evidence.Set)
	same   bool // nothing that a verdict rests on is changed
}{
	{"renamed", renameAll, false}, // kernel threads lose theirs too
	{"an hour later", shiftAll, true},
	{"half the rate", func(s *evidence.Set) { scaleAll(s, 0.5) }, false},
	{"twice the rate", func(s *evidence.Set) { scaleAll(s, 2) }, false},
	{"no user symbols", stripUser, false},
	{"no counters", func(s *evidence.Set) { s.Counters = nil }, false},
	{"no rates by thread", dropRates, false},
	{"no stacks", func(s *evidence.Set) { s.Stacks = nil }, false},
	{"no switch stacks", func(s *evidence.Set) { dropStacks(s, evidence.StackSwitch) }, false},
	{"no CPU samples", func(s *evidence.Set) { dropStacks(s, evidence.StackCPU) }, false},
	{"no wakers", dropWakers, false},
	{"no preemptors", dropPreemptors, false},

	// A threshold moved by a quarter is the measured value moved by a quarter the
	// other way: what depends on the exact figure shows here.
	{"waits a quarter longer", func(s *evidence.Set) { scaleWaits(s, 1.25) }, false},
	{"waits a fifth shorter", func(s *evidence.Set) { scaleWaits(s, 0.80) }, false},
	{"stints a quarter longer", func(s *evidence.Set) { scaleStints(s, 1.25) }, false},
	{"stints a fifth shorter", func(s *evidence.Set) { scaleStints(s, 0.80) }, false},
	{"a quarter more by interrupts", func(s *evidence.Set) { scaleIRQ(s, 1.25) }, false},
	{"a fifth less by interrupts", func(s *evidence.Set) { scaleIRQ(s, 0.80) }, false},
}

// TestMetamorphic: over the whole laboratory, a verdict holds, or becomes that
// it cannot be told, or one that the workload's truth allows; it never turns
// into another cause with confidence.
func TestMetamorphic(t *testing.T) {
	if testing.Short() {
		t.Skip("analyses the whole laboratory for each change")
	}
	dirs, _ := filepath.Glob(filepath.Join(shared.Dir(t), "lab", "w*"))
	if len(dirs) == 0 {
		t.Skipf("no lab captures (lab/w*) in %s", shared.Dir(t))
	}
	count := map[string]map[string]int{}
	for _, dir := range dirs {
		truth := truthOf(t, dir)
		set := labSet(t, dir)
		before := verdictAfter(set, func(*evidence.Set) {})
		for _, m := range metamorphoses {
			after := verdictAfter(set, m.change)
			if count[m.name] == nil {
				count[m.name] = map[string]int{}
			}
			count[m.name][judgeChange(t, m.name, dir, m.same, truth, before, after)]++
		}
	}
	for _, m := range metamorphoses {
		t.Logf("%s: %v", m.name, count[m.name])
		if n := count[m.name]["holds"] + count[m.name]["allowed"]; strings.Contains(m.name, " a quarter ") && n < len(dirs)*9/10 {
			t.Errorf("%s: %d of %d verdicts hold", m.name, n, len(dirs))
		}
	}
}

func judgeChange(t *testing.T, name, dir string, same bool, truth labTruth, before, after *analyze.Verdict) string {
	switch {
	case after == nil:
		return "no evidence"
	case before.Cause == after.Cause && before.Confidence == after.Confidence:
		return "holds"
	case same:
		t.Errorf("%s, %s: %s (%s) became %s (%s)", filepath.Base(dir), name, before.Cause, before.Confidence, after.Cause, after.Confidence)
		return "changed"
	case before.Cause == after.Cause:
		return "holds"
	case after.Cause == "cannot-tell":
		return "cannot-tell"
	case after.Cause == truth.Cause || slices.Contains(truth.Also, after.Cause):
		return "allowed"
	case after.Confidence.Rank() >= analyze.ConfidenceMedium.Rank():
		t.Errorf("%s, %s: %s (%s) became %s (%s): %s", filepath.Base(dir), name, before.Cause, before.Confidence, after.Cause, after.Confidence, after.Summary)
		return "wrong"
	}
	t.Logf("%s, %s: %s (%s) became %s (%s): %s", filepath.Base(dir), name, before.Cause, before.Confidence, after.Cause, after.Confidence, after.Summary)
	return "wrong, low"
}

// labSet reads all captures of a workload.
func labSet(t *testing.T, dir string) *evidence.Set {
	t.Helper()
	var paths []string
	for _, f := range labAll {
		if p := filepath.Join(dir, f); fileExists(p) {
			paths = append(paths, p)
		}
	}
	set, _, err := parse.Open(paths, parse.Options{Symbols: symbol.Options{Kallsyms: kallsyms(t), NoHost: true}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// verdictAfter diagnoses captures after a change to a copy of them; nil when
// the change leaves nothing.
func verdictAfter(set *evidence.Set, change func(*evidence.Set)) *analyze.Verdict {
	set = copyOf(set)
	change(set)
	res, err := analyze.Run(set, All(), analyze.Options{})
	if err != nil {
		return nil
	}
	v := res.Primary().Verdict
	return &v
}

// copyOf copies what the changes change in place.
func copyOf(s *evidence.Set) *evidence.Set {
	out := *s
	out.Sources = slices.Clone(s.Sources)
	for i, src := range out.Sources {
		own := *src
		out.Sources[i] = &own
	}
	out.Counters = slices.Clone(s.Counters)
	for i := range out.Counters {
		out.Counters[i].Counters = slices.Clone(s.Counters[i].Counters)
	}
	out.Threads = slices.Clone(s.Threads)
	for i := range out.Threads {
		t := &out.Threads[i]
		t.Wakers, t.Preemptors, t.Blame = slices.Clone(t.Wakers), slices.Clone(t.Preemptors), slices.Clone(t.Blame)
	}
	out.Stacks = slices.Clone(s.Stacks)
	for i := range out.Stacks {
		t := &out.Stacks[i]
		t.Tasks, t.Frames, t.Samples = slices.Clone(t.Tasks), slices.Clone(t.Frames), slices.Clone(t.Samples)
	}
	out.Series = slices.Clone(s.Series)
	return &out
}

// renameAll gives every task a name that says nothing.
func renameAll(s *evidence.Set) {
	name := func(k *evidence.Task) { k.Comm = fmt.Sprintf("t%x", k.TID*2654435761%99991) }
	for i := range s.Threads {
		t := &s.Threads[i]
		name(&t.Task)
		for k := range t.Wakers {
			name(&t.Wakers[k].Task)
		}
		for k := range t.Preemptors {
			name(&t.Preemptors[k].Task)
		}
		for k := range t.Blame {
			name(&t.Blame[k].Task)
		}
	}
	for i := range s.Stacks {
		for k := range s.Stacks[i].Tasks {
			name(&s.Stacks[i].Tasks[k])
		}
	}
}

func shiftAll(s *evidence.Set) {
	const hour = 3600e9
	for _, src := range s.Sources {
		w := &src.Window
		for _, at := range []*evidence.Opt[uint64]{&w.StartNS, &w.EndNS} {
			if at.OK {
				at.V += hour
			}
		}
	}
	for i := range s.Series {
		s.Series[i].StartNS += hour
	}
	for i := range s.Threads {
		if m := &s.Threads[i].MaxDelay; m.OK {
			m.V.AtNS += hour
		}
	}
}

// scaleAll makes everything happen k times as often, each time as before.
func scaleAll(s *evidence.Set, k float64) {
	for i := range s.Threads {
		t := &s.Threads[i]
		for _, r := range []*evidence.Opt[float64]{&t.VoluntaryPerS, &t.InvoluntaryPerS} {
			r.V *= k
		}
	}
	for i := range s.Counters {
		for n := range s.Counters[i].Counters {
			c := &s.Counters[i].Counters[n]
			switch c.Event {
			case "context-switches", "cpu-migrations", "page-faults":
				c.Value *= k
			}
		}
	}
	for _, src := range s.Sources {
		if w := &src.Window.DurationS; w.OK && src.Format == "perf.data" {
			w.V /= k
		}
	}
}

func stripUser(s *evidence.Set) {
	for i := range s.Stacks {
		for k := range s.Stacks[i].Frames {
			if f := &s.Stacks[i].Frames[k]; !f.Kernel {
				f.Symbol, f.File, f.Line, f.Why = "", "", 0, "stripped"
			}
		}
	}
}

// dropRates leaves the recordings and takes the tool's rates.
func dropRates(s *evidence.Set) {
	s.Threads = slices.DeleteFunc(s.Threads, func(t evidence.TaskStats) bool { return t.VoluntaryPerS.OK || t.InvoluntaryPerS.OK })
}

func dropStacks(s *evidence.Set, kind evidence.StackKind) {
	s.Stacks = slices.DeleteFunc(s.Stacks, func(t evidence.StackTable) bool { return t.Kind == kind })
}

func dropWakers(s *evidence.Set) {
	for i := range s.Threads {
		t := &s.Threads[i]
		t.Wakers, t.Wakeups, t.WakeCtx, t.Bursts = nil, evidence.Opt[uint64]{}, nil, 0
	}
	for i := range s.Stacks {
		for k := range s.Stacks[i].Samples {
			s.Stacks[i].Samples[k].Wake = evidence.WakeUnknown
		}
	}
}

func dropPreemptors(s *evidence.Set) {
	for i := range s.Threads {
		s.Threads[i].Preemptors, s.Threads[i].Blame = nil, nil
	}
}

// scaleHist is a distribution whose values are k times as long.
func scaleHist(h **evidence.Histogram, k float64) {
	if *h == nil {
		return
	}
	out := new(evidence.Histogram)
	for _, b := range (*h).Buckets() {
		for range b.Count {
			out.Add(uint64(k * float64(b.Lo+(b.Hi-b.Lo)/2)))
		}
	}
	*h = out
}

func scaleOpt(v *evidence.Opt[uint64], k float64) { v.V = uint64(k * float64(v.V)) }

func scaleWaits(s *evidence.Set, k float64) {
	for i := range s.Threads {
		t := &s.Threads[i]
		for _, h := range []**evidence.Histogram{&t.OffCPU, &t.Delay, &t.Preempt, &t.Gap} {
			scaleHist(h, k)
		}
		for _, v := range []*evidence.Opt[uint64]{&t.DelayNS, &t.WaitNS, &t.SleepNS, &t.PreemptNS} {
			scaleOpt(v, k)
		}
	}
}

func scaleStints(s *evidence.Set, k float64) {
	for i := range s.Threads {
		scaleHist(&s.Threads[i].Run, k)
		scaleOpt(&s.Threads[i].RunNS, k)
	}
	for i := range s.Counters {
		for n := range s.Counters[i].Counters {
			if c := &s.Counters[i].Counters[n]; c.Event == "task-clock" || c.Event == "cpu-clock" {
				c.Value *= k
				c.Metric.V *= k
			}
		}
	}
}

func scaleIRQ(s *evidence.Set, k float64) {
	for i := range s.Threads {
		for n := range s.Threads[i].Wakers {
			if w := &s.Threads[i].Wakers[n]; w.IRQ {
				w.Count = uint64(k*float64(w.Count) + 0.5)
			}
		}
	}
}
