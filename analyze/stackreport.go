package analyze

import (
	"cmp"
	"slices"

	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// Bounds of what a report shows of layer 3.
const (
	maxTopStacks = 20
	maxTreePaths = 4
	treeFloor    = 0.05 // a path of the tree holds at least this share
)

// report lays out layer 3.
func (s *stackFacts) report(f *Facts) StackReport {
	r := StackReport{Sources: s.sources, Profile: s.profile, Sampled: f.Has.Sampled}
	r.Reasons = s.reasonRows(f)
	for _, c := range f.Callers {
		weight := "switches"
		if c.CPU {
			weight = "cpu-samples"
		}
		if c.Share >= callerFloor {
			r.Callers = append(r.Callers, Caller{Symbol: c.Symbol, File: c.File, Line: c.Line, Share: c.Share, Weight: weight, Reason: c.Reason})
		}
	}
	if s.switches != nil {
		r.Top = s.top()
		r.Tree, r.TreeTitle = s.tree(), "by switches, callers first"
		s.unresolved(&r)
	}
	return r
}

func (s *stackFacts) unresolved(r *StackReport) {
	if s.total == 0 {
		return
	}
	r.Unresolved = evidence.Some(s.badUser / s.total)
	if s.unnamed > 0 {
		r.Why = append(r.Why, Textf("kernel frames without a name: %s of the switches; give --kallsyms a copy of that machine's /proc/kallsyms",
			quantity.Percent(s.unnamed/s.total, 1)))
	}
	type share struct {
		why string
		w   float64
	}
	var list []share
	for why, w := range s.why {
		list = append(list, share{why, w})
	}
	slices.SortFunc(list, func(a, b share) int { return cmp.Or(-cmp.Compare(a.w, b.w), cmp.Compare(a.why, b.why)) })
	for _, x := range list {
		r.Why = append(r.Why, Textf("%s: %s", x.why, quantity.Percent(x.w/s.total, 1)))
	}
}

// reasonRows joins the blocking reasons, the CPU samples in them and the
// triggers of involuntary switches into one table.
func (s *stackFacts) reasonRows(f *Facts) []ReasonRow {
	var rows []ReasonRow
	at := map[string]int{}
	for _, b := range f.Blocking {
		row := ReasonRow{ID: b.Reason.ID, Label: b.Reason.Label, Frame: b.Frame, SwitchShare: evidence.Some(b.Share)}
		if s.total > 0 {
			row.Switches = evidence.Some(b.Switches)
		}
		if b.OffN > 0 {
			row.OffNS = evidence.Some(b.OffNS)
		}
		at[row.ID] = len(rows)
		rows = append(rows, row)
	}
	for _, c := range f.CPU {
		i, ok := at[c.Reason.ID]
		if !ok {
			i = len(rows)
			rows = append(rows, ReasonRow{ID: c.Reason.ID, Label: c.Reason.Label, Frame: c.Frame})
		}
		rows[i].CPUShare = evidence.Some(c.Share)
	}
	for t, x := range f.Triggers {
		if x.Switches > 0 && s.total > 0 {
			rows = append(rows, ReasonRow{ID: Trigger(t).String(), Label: Trigger(t).Label(), Frame: signature.Base(x.Frame), Involuntary: true,
				Switches: evidence.Some(x.Switches), SwitchShare: evidence.Some(x.Switches / s.total)})
		}
	}
	return rows
}

func (s *stackFacts) top() []StackRow {
	var out []StackRow
	fr := frameBuf{t: s.switches}
	heaviest := s.stacks.sorted()
	heaviest = heaviest[:min(len(heaviest), maxTopStacks)]
	states := s.statesOf(heaviest)
	for _, x := range heaviest {
		buf := fr.of(x.stack)
		row := StackRow{Reason: x.label, Weight: "switches", Value: x.weight, Share: x.weight / s.total}
		for i := range buf {
			row.Frames = append(row.Frames, FrameName(&buf[i]))
		}
		if x.offN > 0 {
			row.OffNS = evidence.Some(x.offNS)
		}
		row.State = mainState(states[x.stack])
		out = append(out, row)
	}
	return out
}

// statesOf adds up how a few stacks left the CPU.
func (s *stackFacts) statesOf(list []*stackSum) map[int32]*[evidence.NumStates]float64 {
	by := make(map[int32]*[evidence.NumStates]float64, len(list))
	for _, x := range list {
		by[x.stack] = new([evidence.NumStates]float64)
	}
	for i := range s.switches.Samples {
		sm := &s.switches.Samples[i]
		if st := by[sm.Stack]; st != nil && s.mine(s.switches, sm) {
			st[sm.State] += sm.Weight
		}
	}
	return by
}

func mainState(st *[evidence.NumStates]float64) string {
	best := evidence.State(0)
	for i, w := range st {
		if w > st[best] {
			best = evidence.State(i)
		}
	}
	if st[best] == 0 || best == evidence.StateUnknown {
		return ""
	}
	return best.String()
}

// FrameName is a frame as reports name it; "[unknown]" when unresolved, and
// evidence.OtherStacks for that of the stacks that are not told apart.
func FrameName(f *evidence.Frame) string {
	switch {
	case f.Symbol != "":
		return f.Symbol
	case f.Module == evidence.OtherStacks:
		return f.Module
	}
	return "[unknown]"
}

// treeNode is a frame of the tree with the switches that pass through it on
// this path.
type treeNode struct {
	frame  evidence.Frame
	weight float64
	blocks bool
	kids   []*treeNode
}

// child returns the node of a frame below n, made if it is new.
func (n *treeNode) child(f *evidence.Frame) *treeNode {
	for _, k := range n.kids {
		if k.frame.Symbol == f.Symbol {
			return k
		}
	}
	k := &treeNode{frame: *f}
	n.kids = append(n.kids, k)
	return k
}

// tree lays the paths out callers first, the heaviest first. Below treeFloor,
// and beyond maxTreePaths leaves, nothing is listed.
func (s *stackFacts) tree() []TreeLine {
	var root treeNode
	paths := s.paths()
	for _, p := range paths.heaviest(maxPaths) {
		n := &root
		for d, id := range paths.frames(&p) {
			n = n.child(&s.switches.Frames[id])
			n.weight += p.weight
			n.blocks = n.blocks || d == int(p.blocks)
		}
	}
	var lines []TreeLine
	leaves := 0
	var walk func(n *treeNode, depth int)
	walk = func(n *treeNode, depth int) {
		slices.SortStableFunc(n.kids, func(a, b *treeNode) int { return -cmp.Compare(a.weight, b.weight) })
		shown := 0
		for _, k := range n.kids {
			if k.weight < treeFloor*s.total || leaves == maxTreePaths {
				break
			}
			lines = append(lines, TreeLine{Depth: depth, Share: k.weight / s.total, Symbol: FrameName(&k.frame),
				File: k.frame.File, Line: k.frame.Line, Blocks: k.blocks})
			shown++
			walk(k, depth+1)
		}
		if shown == 0 && depth > 0 {
			leaves++
		}
	}
	walk(&root, 0)
	return lines
}
