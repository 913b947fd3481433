package analyze

import (
	"cmp"
	"encoding/json"
	"slices"

	"ctxan/parse/evidence"
)

// Bounds of a call tree. What is narrower than flameFloor of the whole, and
// than threadFloor of each thread that it is of, is left out: a pixel of a page is about 0.1 %.
const (
	flameFloor      = 1.0 / 4000
	threadFloor     = 1.0 / 400
	maxFlameNodes   = 4000
	maxFlameThreads = 16
)

// Flame is the call tree of one weight, callers first, for flame graphs. A run of
// unresolved frames of one module is one frame.
type Flame struct {
	ID      string        `json:"id"`     // "switches", "off_cpu", "cpu"
	Unit    string        `json:"unit"`   // of the weights: "switches", "ns"; of CPU samples "periods", of which only shares mean anything
	Source  int           `json:"source"` // of the stacks
	Total   float64       `json:"total"`  // with the samples that have no call chain
	Threads []FlameThread `json:"threads"`
	Frames  []FlameFrame  `json:"frames"` // the distinct ones of the nodes
	Nodes   []FlameNode   `json:"nodes"`  // depth first, siblings the heaviest first
	Pruned  int           `json:"pruned"` // nodes left out, being narrow
	Floor   float64       `json:"pruned_below_share"`
}

// FlameThread is what a tree can be filtered by. One with Count above 1 stands
// for the threads that have no entry of their own.
type FlameThread struct {
	Name   string  `json:"comm"`
	TID    int     `json:"tid"`
	Count  int     `json:"count"`
	Weight float64 `json:"weight"`
}

// FlameFrame is a function. Of an unresolved one only the module is known.
type FlameFrame struct {
	Symbol string `json:"symbol"` // "" when unresolved
	Module string `json:"module,omitempty"`
	Kind   string `json:"kind"` // "kernel", "user", "unresolved", "none": the sample had no chain
}

// FlameNode is a function on one path from the outermost caller.
type FlameNode struct {
	Depth  int // from 1 on: 0 is the whole
	Frame  int // index into Flame.Frames
	Weight float64
	By     []FlameBy // the weight by thread
}

// FlameBy is the part of a node's weight that is of Flame.Threads[Thread].
type FlameBy struct {
	Thread int
	Weight float64
}

// MarshalJSON writes a node as [depth, frame, weight, thread, weight, ...]:
// there are thousands of them.
func (n FlameNode) MarshalJSON() ([]byte, error) {
	row := []float64{float64(n.Depth), float64(n.Frame), n.Weight}
	for _, b := range n.By {
		row = append(row, float64(b.Thread), b.Weight)
	}
	return json.Marshal(row)
}

// flames lays out the call trees: by switches, by the time off the CPU that
// followed, and of CPU samples.
func (s *stackFacts) flames() []Flame {
	var out []Flame
	add := func(b *flameBuild, id, unit string, weight func(*evidence.StackSample) float64) {
		if f, ok := b.flame(id, unit, weight); ok {
			out = append(out, f)
		}
	}
	byWeight := func(sm *evidence.StackSample) float64 { return sm.Weight }
	if s.switches != nil {
		b := newFlameBuild(s, s.switches)
		add(b, "switches", "switches", byWeight)
		add(b, "off_cpu", "ns", func(sm *evidence.StackSample) float64 { return float64(sm.OffNS) })
	}
	if off := s.best(evidence.StackOffCPU); off != nil && (len(out) == 0 || out[len(out)-1].ID != "off_cpu") {
		add(newFlameBuild(s, off), "off_cpu", "ns", byWeight)
	}
	if s.cpu != nil {
		add(newFlameBuild(s, s.cpu), "cpu", "periods", byWeight)
	}
	return out
}

// flameBuild is a table of stacks, made ready for trees: its frames merged by
// name, its samples in the order of their paths.
type flameBuild struct {
	table   *evidence.StackTable
	frames  []FlameFrame
	paths   [][]int32 // by stack, the outermost frame first, indices into frames; the last is of samples without a chain
	samples []*evidence.StackSample
	threads []FlameThread
	groupOf []int32 // by task of the table: index into threads
}

func newFlameBuild(s *stackFacts, t *evidence.StackTable) *flameBuild {
	b := &flameBuild{table: t}
	for i := range t.Samples {
		if s.mine(t, &t.Samples[i]) {
			b.samples = append(b.samples, &t.Samples[i])
		}
	}
	b.groupThreads()
	b.name()
	b.sort()
	return b
}

// sort puts the samples in the order of their paths. The paths are sorted first:
// there are fewer of them, and they are long to compare.
func (b *flameBuild) sort() {
	order := make([]int32, len(b.paths))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Or(slices.Compare(b.paths[x], b.paths[y]), cmp.Compare(x, y)) })
	next := make([]int32, len(b.paths)) // first how many samples a path has, then where its next one goes
	for _, sm := range b.samples {
		next[b.pathOf(sm)]++
	}
	at := int32(0)
	for _, p := range order {
		next[p], at = at, at+next[p]
	}
	sorted := make([]*evidence.StackSample, len(b.samples))
	for _, sm := range b.samples {
		p := b.pathOf(sm)
		sorted[next[p]] = sm
		next[p]++
	}
	b.samples = sorted
}

// name merges the frames of one name, and makes the paths of the stacks.
func (b *flameBuild) name() {
	byFrame := map[FlameFrame]int32{}
	intern := func(f FlameFrame) int32 {
		id, ok := byFrame[f]
		if !ok {
			id = int32(len(b.frames))
			byFrame[f], b.frames = id, append(b.frames, f)
		}
		return id
	}
	ids := make([]int32, len(b.table.Frames))
	for i := range b.table.Frames {
		ids[i] = intern(flameFrame(&b.table.Frames[i]))
	}
	total := 1
	for _, st := range b.table.Stacks {
		total += len(st)
	}
	all := make([]int32, 0, total)
	b.paths = make([][]int32, len(b.table.Stacks)+1)
	for i, st := range b.table.Stacks {
		at := len(all)
		for k := len(st) - 1; k >= 0; k-- {
			id := ids[st[k]]
			if n := len(all); n > at && all[n-1] == id && b.frames[id].Kind == "unresolved" {
				continue // a run of frames without names tells no more than one of them
			}
			all = append(all, id)
		}
		b.paths[i] = all[at:len(all):len(all)]
	}
	b.paths[len(b.table.Stacks)] = []int32{intern(FlameFrame{Kind: "none"})}
}

func flameFrame(f *evidence.Frame) FlameFrame {
	switch {
	case !f.Named():
		return FlameFrame{Module: f.Module, Kind: "unresolved"}
	case f.Kernel:
		return FlameFrame{Symbol: f.Symbol, Kind: "kernel"}
	}
	return FlameFrame{Symbol: f.Symbol, Kind: "user"}
}

// pathOf is the index of a sample's path.
func (b *flameBuild) pathOf(sm *evidence.StackSample) int32 {
	if sm.Stack < 0 || len(b.paths[sm.Stack]) == 0 {
		return int32(len(b.paths) - 1)
	}
	return sm.Stack
}

func (b *flameBuild) path(sm *evidence.StackSample) []int32 { return b.paths[b.pathOf(sm)] }

func (b *flameBuild) group(sm *evidence.StackSample) int {
	if sm.Task < 0 {
		return len(b.threads) - 1
	}
	return int(b.groupOf[sm.Task])
}

// groupThreads gives the threads of most weight an entry of their own, and the
// others one together.
func (b *flameBuild) groupThreads() {
	weight, unknown := make([]float64, len(b.table.Tasks)), 0.0
	for _, sm := range b.samples {
		if sm.Task >= 0 {
			weight[sm.Task] += sm.Weight
		} else {
			unknown += sm.Weight
		}
	}
	byTID := map[int]*FlameThread{}
	var list []*FlameThread
	for i, t := range b.table.Tasks {
		if weight[i] == 0 {
			continue
		}
		th := byTID[t.TID]
		if th == nil {
			th = &FlameThread{TID: t.TID, Count: 1}
			byTID[t.TID], list = th, append(list, th)
		}
		th.Name = t.Comm
		th.Weight += weight[i]
	}
	slices.SortFunc(list, func(x, y *FlameThread) int {
		return cmp.Or(-cmp.Compare(x.Weight, y.Weight), cmp.Compare(x.TID, y.TID))
	})
	own := len(list)
	if own > maxFlameThreads+1 || unknown > 0 {
		own = min(own, maxFlameThreads)
	}
	groupOf := map[int]int32{}
	for i, th := range list[:own] {
		b.threads = append(b.threads, *th)
		groupOf[th.TID] = int32(i)
	}
	if rest := list[own:]; len(rest) > 0 || unknown > 0 {
		others := FlameThread{Count: len(rest), Weight: unknown}
		for _, th := range rest {
			others.Weight += th.Weight
			groupOf[th.TID] = int32(own)
		}
		b.threads = append(b.threads, others)
	}
	b.groupOf = make([]int32, len(b.table.Tasks))
	for i, t := range b.table.Tasks {
		b.groupOf[i] = groupOf[t.TID]
	}
}

// openNode is a node whose samples are being added up.
type openNode struct {
	at int       // its place in the nodes
	by []float64 // weight by thread
}

func (o *openNode) sum() float64 {
	w := 0.0
	for _, x := range o.by {
		w += x
	}
	return w
}

// treeBuild makes a tree of samples in the order of their paths, so that only
// the nodes of one path are open at a time, and what is narrow is left out as
// soon as it is whole: memory does not grow with the number of stacks.
type treeBuild struct {
	f      *Flame
	total  []float64 // by thread
	open   []openNode
	path   []int32
	spare  [][]float64
	scores []float64 // of the nodes: how wide they are, 1 at the floor
}

// flame makes the tree of one weight; false when nothing has any.
func (b *flameBuild) flame(id, unit string, weight func(*evidence.StackSample) float64) (Flame, bool) {
	f := Flame{ID: id, Unit: unit, Source: b.table.Pos.Source, Threads: slices.Clone(b.threads), Floor: flameFloor}
	t := treeBuild{f: &f, total: make([]float64, len(b.threads))}
	for _, sm := range b.samples {
		t.total[b.group(sm)] += weight(sm)
	}
	for i, w := range t.total {
		f.Total += w
		f.Threads[i].Weight = w
	}
	if f.Total <= 0 {
		return f, false
	}
	for _, sm := range b.samples {
		if w := weight(sm); w > 0 {
			t.add(b.path(sm), b.group(sm), w)
		}
	}
	t.close(0)
	t.limit()
	f.order()
	f.keepFrames(b.frames)
	return f, true
}

func (t *treeBuild) add(path []int32, group int, w float64) {
	same := 0
	for same < len(t.path) && same < len(path) && t.path[same] == path[same] {
		same++
	}
	t.close(same)
	for d := same; d < len(path); d++ {
		o := openNode{at: len(t.f.Nodes)}
		if n := len(t.spare); n > 0 {
			o.by, t.spare = t.spare[n-1], t.spare[:n-1]
			clear(o.by)
		} else {
			o.by = make([]float64, len(t.total))
		}
		t.open = append(t.open, o)
		t.f.Nodes = append(t.f.Nodes, FlameNode{Depth: d + 1, Frame: int(path[d])})
		t.scores = append(t.scores, 0)
	}
	t.path = path
	for i := range t.open {
		t.open[i].by[group] += w
	}
}

// close ends all open nodes but the first n. A node that is too narrow goes,
// and with it what is below, which is no wider.
func (t *treeBuild) close(n int) {
	for len(t.open) > n {
		o := &t.open[len(t.open)-1]
		score := o.sum() / t.f.Total / flameFloor
		for g, w := range o.by {
			if w > 0 {
				score = max(score, w/t.total[g]/threadFloor)
			}
		}
		if score < 1 {
			t.f.Pruned += len(t.f.Nodes) - o.at
			t.f.Nodes, t.scores = t.f.Nodes[:o.at], t.scores[:o.at]
		} else {
			t.scores[o.at] = score
			t.keep(o)
		}
		t.spare = append(t.spare, o.by)
		t.open = t.open[:len(t.open)-1]
	}
}

func (t *treeBuild) keep(o *openNode) {
	n := &t.f.Nodes[o.at]
	n.Weight = o.sum()
	for g, w := range o.by {
		if w > 0 {
			n.By = append(n.By, FlameBy{g, w})
		}
	}
}

// limit raises the floor until the tree is small enough to be carried around.
func (t *treeBuild) limit() {
	if len(t.f.Nodes) <= maxFlameNodes {
		return
	}
	sorted := slices.Clone(t.scores)
	slices.SortFunc(sorted, func(a, b float64) int { return -cmp.Compare(a, b) })
	least := sorted[maxFlameNodes]
	room := maxFlameNodes - slices.Index(sorted, least) // for those that are just as wide; callers come first
	kept := t.f.Nodes[:0]
	for i, n := range t.f.Nodes {
		if t.scores[i] == least {
			room--
		}
		if t.scores[i] > least || (t.scores[i] == least && room >= 0) {
			kept = append(kept, n)
		}
	}
	t.f.Pruned += len(t.f.Nodes) - len(kept)
	t.f.Nodes, t.f.Floor = kept, flameFloor*least
}

// order puts siblings in the order of their weight.
func (f *Flame) order() {
	var walk func(nodes []FlameNode) []FlameNode
	walk = func(nodes []FlameNode) []FlameNode {
		var trees [][]FlameNode
		for i := 0; i < len(nodes); {
			end := i + 1
			for end < len(nodes) && nodes[end].Depth > nodes[i].Depth {
				end++
			}
			trees = append(trees, nodes[i:end])
			i = end
		}
		slices.SortStableFunc(trees, func(a, b []FlameNode) int { return -cmp.Compare(a[0].Weight, b[0].Weight) })
		out := make([]FlameNode, 0, len(nodes))
		for _, tr := range trees {
			out = append(append(out, tr[0]), walk(tr[1:])...)
		}
		return out
	}
	f.Nodes = walk(f.Nodes)
}

// keepFrames lists the frames that the nodes are of.
func (f *Flame) keepFrames(all []FlameFrame) {
	at := map[int]int{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		k, ok := at[n.Frame]
		if !ok {
			k = len(f.Frames)
			at[n.Frame], f.Frames = k, append(f.Frames, all[n.Frame])
		}
		n.Frame = k
	}
}
