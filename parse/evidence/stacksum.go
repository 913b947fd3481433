package evidence

import (
	"cmp"
	"slices"
)

// StackSum is what a table of call chains comes to.
type StackSum struct {
	Samples uint64
	Weight  float64 // switches; ns of StackOffCPU; of other kinds the samples, not their periods

	// UnresolvedPct is the share of Weight whose chain has frames of the kernel,
	// or of user code, and not one of them has a name. NoChainPct is the share
	// without any chain. Both are absent in an empty table.
	UnresolvedPct Opt[float64]
	NoChainPct    Opt[float64]
}

// Sum adds the table up.
func (t *StackTable) Sum() StackSum {
	var s StackSum
	var bad, none float64
	for i := range t.Samples {
		sm := &t.Samples[i]
		w := t.weight(sm)
		s.Samples += sm.Count
		s.Weight += w
		switch {
		case !t.hasChain(sm):
			none += w
		case t.unresolved(t.Stacks[sm.Stack]):
			bad += w
		}
	}
	if s.Weight > 0 {
		s.UnresolvedPct, s.NoChainPct = Some(bad/s.Weight*100), Some(none/s.Weight*100)
	}
	return s
}

// weight is a sample's weight: CPU samples count, whatever their period.
func (t *StackTable) weight(sm *StackSample) float64 {
	if t.Kind == StackSwitch || t.Kind == StackOffCPU {
		return sm.Weight
	}
	return float64(sm.Count)
}

func (t *StackTable) hasChain(sm *StackSample) bool {
	return sm.Stack >= 0 && int(sm.Stack) < len(t.Stacks) && len(t.Stacks[sm.Stack]) > 0
}

// unresolved reports whether a side of the chain, kernel or user, has frames
// and none with a name.
func (t *StackTable) unresolved(stack []int32) bool {
	var seen, named [2]bool
	for _, id := range stack {
		side := 0
		if t.Frames[id].Kernel {
			side = 1
		}
		seen[side] = true
		named[side] = named[side] || t.Frames[id].Named()
	}
	return (seen[0] && !named[0]) || (seen[1] && !named[1])
}

// Named reports whether the frame is resolved.
func (f *Frame) Named() bool { return f.Symbol != "" && f.Symbol != "[unknown]" }

// Chain is a distinct call chain of a table with its weight over all tasks.
type Chain struct {
	Frames  []string // leaf first; "[unknown]" where unresolved
	Weight  float64
	Samples uint64
	Pct     float64 // of the table
}

// Heaviest returns the distinct chains of most weight, at most n. Samples
// without a chain are not among them.
func (t *StackTable) Heaviest(n int) []Chain {
	weight, count := make([]float64, len(t.Stacks)), make([]uint64, len(t.Stacks))
	total := 0.0
	for i := range t.Samples {
		sm := &t.Samples[i]
		total += t.weight(sm)
		if t.hasChain(sm) {
			weight[sm.Stack] += t.weight(sm)
			count[sm.Stack] += sm.Count
		}
	}
	var order []int
	for i, w := range weight {
		if w > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return -cmp.Compare(weight[a], weight[b]) })
	out := make([]Chain, 0, min(n, len(order)))
	for _, i := range order[:min(n, len(order))] {
		c := Chain{Weight: weight[i], Samples: count[i], Pct: weight[i] / total * 100}
		for _, id := range t.Stacks[i] {
			name := t.Frames[id].Symbol
			if name == "" {
				name = "[unknown]"
			}
			c.Frames = append(c.Frames, name)
		}
		out = append(out, c)
	}
	return out
}

// Total is the number of switches that a profile of switches counted, or the
// number of samples of another one; absent where the profile does not say.
func (p *Profile) Total() Opt[float64] {
	n := p.Samples
	if p.Kind == StackSwitch && p.EventCount.OK {
		n = p.EventCount
	}
	return Opt[float64]{V: float64(n.V), OK: n.OK}
}

// FirstOverheadPct is the share of the first row: its Overhead, or its Children
// where the profile has both columns.
func (p *Profile) FirstOverheadPct() Opt[float64] {
	if len(p.Rows) == 0 {
		return Opt[float64]{}
	}
	if r := &p.Rows[0]; r.ChildrenPct.OK {
		return r.ChildrenPct
	}
	return p.Rows[0].OverheadPct
}

// UnresolvedPct is the share of the rows without a symbol, by their own weight;
// absent where no row has one.
func (p *Profile) UnresolvedPct() Opt[float64] {
	var sum Opt[float64]
	for i := range p.Rows {
		r := &p.Rows[i]
		own := r.OverheadPct
		if r.SelfPct.OK {
			own = r.SelfPct
		}
		if !own.OK {
			continue
		}
		sum.OK = true
		if f := (Frame{Symbol: r.Symbol}); !f.Named() {
			sum.V += own.V
		}
	}
	return sum
}
