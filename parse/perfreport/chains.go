package perfreport

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// The bounds of what is made of call graphs. perf itself stops at 127 frames
// unless told otherwise.
const (
	maxChainFrames   = 512
	maxProfileFrames = 1 << 20
)

// graphs are the call graphs of one profile, which share order and unit.
type graphs struct {
	rows     []rowGraph
	bySymbol bool
}

type rowGraph struct {
	row   int // index into the profile's rows
	graph *graph
}

// fill makes the chains of a profile's rows.
func (gs *graphs) fill(p *evidence.Profile) (notes []string) {
	if len(gs.rows) == 0 {
		return nil
	}
	c := chainer{profile: p, callee: gs.calleeOrder(p), relative: gs.relative(p), bySymbol: gs.bySymbol, total: gs.total(p), left: maxProfileFrames}
	vague := false
	for _, rg := range gs.rows {
		c.row(&p.Rows[rg.row], rg.graph)
		vague = vague || rg.graph.vague
	}
	if vague {
		notes = append(notes, "the TUI prints no share for an only caller or callee: shares of call chains with such an end are upper bounds, or they are left out")
	}
	if c.relative {
		notes = append(notes, "-g fractal prints shares of a branch's visible callers or callees: the shares of call chains made of them are upper bounds")
	}
	if c.unscaled {
		notes = append(notes, "call graph in counts or periods without an exact total: its chains are left out")
	}
	if c.left <= 0 {
		notes = append(notes, "call graphs larger than "+strconv.Itoa(maxProfileFrames)+" frames: the rest is left out")
	}
	return notes
}

// chainer turns graphs into chains.
type chainer struct {
	profile  *evidence.Profile
	callee   bool    // leaf first in the text
	relative bool    // percentages are of the parent (-g fractal)
	bySymbol bool    // the report is sorted by symbol first
	total    float64 // of counts or periods; 0: not known
	unscaled bool
	left     int // frames that may still be made
}

// row makes the chains of one row.
func (c *chainer) row(r *evidence.ProfileRow, g *graph) {
	whole := overhead(r)
	for _, n := range g.roots {
		switch g.kind {
		case graphFolded:
			c.emit(r, n.frames, c.share(r, n, whole))
		case graphFlat: // see flat
		default:
			c.walk(r, n, nil, c.share(r, n, whole))
		}
	}
	if g.kind == graphFlat {
		c.flat(r, g.roots, whole)
	}
	slices.SortStableFunc(r.Chains, func(a, b evidence.ProfileChain) int { return -compare(a.Pct, b.Pct) })
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// overhead is the share that a row's call graph divides.
func overhead(r *evidence.ProfileRow) float64 {
	if r.ChildrenPct.OK {
		return r.ChildrenPct.V
	}
	return r.OverheadPct.V
}

// share returns a node's share of the whole report, or NaN.
func (c *chainer) share(r *evidence.ProfileRow, n *node, parent float64) float64 {
	switch {
	case n.unit == 0:
		return parent
	case n.unit == unknown:
		return math.NaN()
	case n.unit == '%' && c.relative:
		return parent * n.value / 100
	case n.unit == '%':
		return n.value
	}
	if c.total >= n.value && c.total > 0 {
		return 100 * n.value / c.total
	}
	c.unscaled = true
	return math.NaN()
}

// total returns what counts or periods (-g count, period) are shares of: the
// event count if one of them is more than the number of samples.
func (gs *graphs) total(p *evidence.Profile) float64 {
	highest := 0.0
	var look func(nodes []*node)
	look = func(nodes []*node) {
		for _, n := range nodes {
			if n.unit == 'n' {
				highest = max(highest, n.value)
			}
			look(n.kids)
		}
	}
	for _, rg := range gs.rows {
		look(rg.graph.roots)
	}
	if highest > atMost(p.SamplesRaw) {
		return float64(p.EventCount.V)
	}
	return float64(p.Samples.V)
}

// walk emits a chain for each leaf of a tree, and one for the part of a branch
// that its children do not account for (perf prints none below its limit).
// Callees that are not shown leave the chain without its leaf: that part is
// left out in caller order.
func (c *chainer) walk(r *evidence.ProfileRow, n *node, path []string, pct float64) (emitted float64) {
	if len(path)+len(n.frames) > maxChainFrames || c.left <= 0 {
		return c.emit(r, path, pct)
	}
	path = append(path[:len(path):len(path)], n.frames...)
	rest := pct
	for _, k := range n.kids {
		if isRemainder(k) {
			continue
		}
		kid := c.share(r, k, pct)
		below := c.walk(r, k, path, kid)
		emitted += below
		if math.IsNaN(kid) {
			kid = below
		}
		rest -= kid
	}
	const rounding = 0.005 // of the two decimals, once for every figure
	if len(n.kids) == 0 || c.callee && rest > rounding*float64(len(n.kids)+1) {
		emitted += c.emit(r, path, rest)
	}
	return emitted
}

// isRemainder reports whether a node is perf's "[...]": what it did not print.
func isRemainder(n *node) bool { return len(n.frames) == 1 && n.frames[0] == omitted }

// flat emits flat chains. Their values include those of longer chains that begin
// alike, which sorting puts right behind them.
func (c *chainer) flat(r *evidence.ProfileRow, roots []*node, whole float64) {
	sorted := slices.Clone(roots)
	slices.SortStableFunc(sorted, func(a, b *node) int { return slices.Compare(a.frames, b.frames) })
	own := map[*node]float64{}
	var above []*node
	for _, n := range sorted {
		own[n] = c.share(r, n, whole)
		for len(above) > 0 && !beginsWith(n.frames, above[len(above)-1].frames) {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			own[above[len(above)-1]] -= own[n]
		}
		above = append(above, n)
	}
	const rounding = 0.011
	for _, n := range roots {
		if own[n] > rounding || n.value == 0 {
			c.emit(r, n.frames[:min(len(n.frames), maxChainFrames)], own[n])
		}
	}
}

func beginsWith(frames, with []string) bool {
	return len(frames) >= len(with) && slices.Equal(frames[:len(with)], with)
}

// emit adds a chain, leaf first, with the row's symbol in it, and returns its share.
func (c *chainer) emit(r *evidence.ProfileRow, frames []string, pct float64) float64 {
	shown := math.Round(pct*1e4) / 1e4
	if len(frames) == 0 || math.IsNaN(pct) || shown <= 0 || c.left <= 0 {
		return 0
	}
	out := make([]string, 0, len(frames)+1)
	out = append(out, frames...)
	if !c.callee {
		slices.Reverse(out)
	}
	if r.Symbol != "" && !slices.ContainsFunc(out, func(f string) bool { return sameFrame(r.Symbol, f) }) {
		out = c.withSymbol(r, out)
	}
	c.left -= len(out)
	r.Chains = append(r.Chains, evidence.ProfileChain{Pct: shown, Frames: out})
	return pct
}

// omitted stands for frames of a chain that perf did not print.
const omitted = "[...]"

// withSymbol adds the row's symbol to a chain (leaf first) without it. A report
// sorted by symbol does not print the row's own frame again: it began the chain.
// Otherwise a chain in caller order lacks its end, which is the symbol, because
// perf prints no branch below its limit.
func (c *chainer) withSymbol(r *evidence.ProfileRow, chain []string) []string {
	switch {
	case c.callee:
		return slices.Insert(chain, 0, r.Symbol)
	case c.bySymbol && !ownSamples(r):
		return append(chain, r.Symbol)
	}
	return slices.Insert(chain, 0, r.Symbol, omitted)
}

// ownSamples reports whether all of a row's samples were taken in its function
// itself, and not in what it called.
func ownSamples(r *evidence.ProfileRow) bool {
	return !r.ChildrenPct.OK || r.SelfPct.V > 0 && r.SelfPct.V >= r.ChildrenPct.V
}

// sameFrame reports whether a row's symbol and a frame name the same function.
// Rows pad addresses with zeros, and the TUI cuts symbols at its right edge.
func sameFrame(symbol, frame string) bool {
	if symbol == frame {
		return true
	}
	if a, ok := address(symbol); ok {
		b, okB := address(frame)
		return okB && a == b
	}
	return len(symbol) >= 24 && strings.HasPrefix(frame, symbol)
}

func address(s string) (uint64, bool) {
	hex, ok := strings.CutPrefix(s, "0x")
	if !ok && strings.Trim(s, "0") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(hex, 16, 64)
	return v, err == nil
}

// relative reports whether the percentages are of the parent: a child then can
// exceed its parent, and what is not shown is summed up as "[...]".
func (gs *graphs) relative(p *evidence.Profile) bool {
	for _, rg := range gs.rows {
		if rg.graph.kind != graphFolded && rg.graph.kind != graphFlat && exceeds(rg.graph.roots, overhead(&p.Rows[rg.row])) {
			return true
		}
	}
	return false
}

func exceeds(nodes []*node, parent float64) bool {
	const rounding = 0.011
	for _, n := range nodes {
		if isRemainder(n) {
			return true
		}
		pct := parent
		if n.unit == '%' {
			if pct = n.value; pct > parent+rounding {
				return true
			}
		}
		if exceeds(n.kids, pct) {
			return true
		}
	}
	return false
}

// calleeOrder reports whether chains are printed leaf first. A row's own samples
// end in its symbol: it stands first in every chain of callee order, last in
// caller order. (A row that is on the way to others has chains of both kinds.)
// Where rows do not tell, well-known outermost and innermost
// functions do, and then perf's default: caller order with children.
func (gs *graphs) calleeOrder(p *evidence.Profile) bool {
	votes, hints := 0, 0
	for _, rg := range gs.rows {
		r := &p.Rows[rg.row]
		first, last := 0, 0
		own := r.Symbol != "" && ownSamples(r)
		eachPath(rg.graph.roots, func(f, l string) {
			hints += edge(f) - edge(l)
			if own && f != l {
				first += bit(sameFrame(r.Symbol, f))
				last += bit(sameFrame(r.Symbol, l))
			}
		})
		votes += compare(float64(first), float64(last))
	}
	switch {
	case votes != 0:
		return votes > 0
	case hints != 0:
		return hints > 0
	}
	return !p.Children
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// eachPath calls f with the first and the last frame of each path of a forest.
func eachPath(roots []*node, f func(first, last string)) {
	var down func(n *node, first string)
	down = func(n *node, first string) {
		if len(n.frames) == 0 || isRemainder(n) {
			return
		}
		if first == "" {
			first = n.frames[0]
		}
		if len(n.kids) == 0 {
			f(first, n.frames[len(n.frames)-1])
		}
		for _, k := range n.kids {
			down(k, first)
		}
	}
	for _, n := range roots {
		down(n, "")
	}
}

// edge tells whether a function is known to stand at one end of a call chain:
// 1 innermost, -1 outermost.
func edge(f string) int {
	switch f, _, _ = strings.Cut(f, "@"); f {
	case "__schedule", "schedule", "schedule_idle", "native_safe_halt", "pv_native_safe_halt", "finish_task_switch.isra.0":
		return 1
	case "_start", "main", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "__clone", "clone3", "__clone3",
		"thread_start", "ret_from_fork", "ret_from_fork_asm", "kthread", "secondary_startup_64", "secondary_startup_64_no_verify",
		"common_startup_64", "x86_64_start_kernel", "start_kernel", "cpu_startup_entry", "runtime.goexit", "runtime.goexit.abi0",
		"__primary_switched", "__secondary_switched":
		return -1
	}
	return 0
}
