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

// sorted returns the stacks by weight.
func (s *stackFacts) sorted() []*stackSum {
	list := make([]*stackSum, 0, len(s.stacks))
	for _, x := range s.stacks {
		if x.stack >= 0 {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *stackSum) int {
		return cmp.Or(-cmp.Compare(a.weight, b.weight), cmp.Compare(a.stack, b.stack))
	})
	return list
}

func (s *stackFacts) top() []StackRow {
	var out []StackRow
	var buf []evidence.Frame
	for _, x := range s.sorted() {
		if len(out) == maxTopStacks {
			break
		}
		buf = frames(s.switches, x.stack, buf)
		row := StackRow{Reason: x.label, Weight: "switches", Value: x.weight, Share: x.weight / s.total}
		for i := range buf {
			row.Frames = append(row.Frames, FrameName(&buf[i]))
		}
		if x.offN > 0 {
			row.OffNS = evidence.Some(x.offNS)
		}
		row.State = mainState(x.states)
		out = append(out, row)
	}
	return out
}

func mainState(st [evidence.NumStates]float64) string {
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

// FrameName is a frame as reports name it; "[unknown]" when unresolved.
func FrameName(f *evidence.Frame) string {
	if f.Symbol == "" {
		return "[unknown]"
	}
	return f.Symbol
}

// stackPath is a stack cut to what a reader needs, outermost first: the code that
// asked, the library call, the system call, down to the frame that blocks.
type stackPath struct {
	frames []evidence.Frame
	blocks int // index of the deciding frame; -1: none
	weight float64
}

// key names a frame in the tree.
func (p *stackPath) key() string {
	k := ""
	for i := range p.frames {
		k += p.frames[i].Symbol + "\x00"
	}
	return k
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
	for _, p := range s.paths() {
		n := &root
		for d := range p.frames {
			n = n.child(&p.frames[d])
			n.weight += p.weight
			n.blocks = n.blocks || d == p.blocks
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

// paths cuts every stack and merges equal ones, the heaviest first.
func (s *stackFacts) paths() []stackPath {
	by := map[string]int{}
	var out []stackPath
	var buf []evidence.Frame
	for _, x := range s.sorted() {
		buf = frames(s.switches, x.stack, buf)
		p := s.cut(x, buf)
		if len(p.frames) == 0 {
			continue
		}
		k := p.key()
		if i, ok := by[k]; ok {
			out[i].weight += p.weight
			continue
		}
		by[k] = len(out)
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b stackPath) int { return -cmp.Compare(a.weight, b.weight) })
	return out[:min(len(out), maxPaths)]
}

// maxPaths bounds the distinct paths that the tree is made of.
const maxPaths = 512

// cut drops carriers, entry code and unresolved frames, and what lies outside
// the code that asked.
func (s *stackFacts) cut(x *stackSum, fr []evidence.Frame) stackPath {
	last := len(fr) - 1
	if i, ok := s.table.Caller(fr); ok {
		last = i
		if i+1 < len(fr) && fr[i+1].File != "" && fr[i+1].Symbol != "" && fr[i+1].Module == fr[i].Module {
			last++ // who called the code that asked, where its source is known
		}
	}
	p := stackPath{blocks: -1, weight: x.weight}
	for i := last; i >= max(x.frame, 0); i-- {
		if i != x.frame && !s.worthShowing(&fr[i]) {
			continue
		}
		if i == x.frame && x.waits {
			p.blocks = len(p.frames)
		}
		p.frames = append(p.frames, fr[i])
	}
	return p
}

func (s *stackFacts) worthShowing(f *evidence.Frame) bool {
	if f.Symbol == "" {
		return false
	}
	if !f.Kernel {
		return true
	}
	_, role, _ := s.table.Symbol(f.Symbol)
	return role != signature.RoleCarrier && role != signature.RoleEntry
}
