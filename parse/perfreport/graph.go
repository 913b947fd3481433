package perfreport

import (
	"strings"
)

// graph is the call graph printed below one row, as read: in the order and the
// unit of the text. chains.go makes shares of the whole report of it.
type graph struct {
	kind  graphKind
	roots []*node
	open  []*node // the path to the node read last
	last  *node
	vague bool // some of the TUI's nodes may be two, of which the second is printed without its share
}

type graphKind uint8

const (
	graphNone   graphKind = iota
	graphTree             // --stdio -g graph, fractal
	graphFlat             // -g flat: a value, then a line a frame
	graphFolded           // -g folded: a value and the frames in one line
	graphTUI
)

// node is a branch: frames that follow each other without a fork.
type node struct {
	frames []string
	value  float64 // a percentage, a count or a period; only with a unit
	unit   byte    // 0: that of its parent, '%', 'n', unknown
	col    int     // where it starts in the text
	kids   []*node
}

// unknown is the unit of a node whose share is not printed.
const unknown = '?'

// line takes a line that is not a row. It reports whether it belongs to a call
// graph.
//
// Layout: callchain__fprintf_graph, _flat and _folded in the kernel's
// tools/perf/ui/stdio/hist.c; hist_browser__show_callchain in
// tools/perf/ui/browsers/hists.c.
func (g *graph) line(s string, rowEnd int, add func(frame string) string) bool {
	s = strings.TrimRight(s, " \t")
	at := 0
	for at < len(s) && (s[at] == ' ' || s[at] == '|' || s[at] == '\t') {
		at++
	}
	rest := s[at:]
	switch {
	case rest == "":
		return true
	case strings.HasPrefix(rest, "---") && at > 0:
		g.start(graphTree, &node{col: at, frames: []string{add(rest[3:])}})
	case strings.HasPrefix(rest, "--") && at > 0:
		return g.branch(rest[2:], at, add)
	case g.folded(s, rowEnd, add):
	case g.flat(rest, at):
	case g.tui(rest, at, add):
	case g.last != nil && at > 0 && (g.kind == graphTree || g.kind == graphFlat):
		g.last.frames = append(g.last.frames, add(rest))
	default:
		return false
	}
	return true
}

// start begins a new root.
func (g *graph) start(kind graphKind, n *node) {
	g.kind = kind
	g.roots = append(g.roots, n)
	g.open = append(g.open[:0], n)
	g.last = n
}

// child adds a node below the nearest open one that starts further left.
func (g *graph) child(n *node) {
	for len(g.open) > 0 && g.open[len(g.open)-1].col >= n.col {
		g.open = g.open[:len(g.open)-1]
	}
	if len(g.open) == 0 {
		g.roots = append(g.roots, n)
	} else {
		p := g.open[len(g.open)-1]
		p.kids = append(p.kids, n)
	}
	g.open = append(g.open, n)
	g.last = n
}

// branch reads "47.73%--frame", or "47.73%-- frame" of old versions.
func (g *graph) branch(s string, at int, add func(string) string) bool {
	value, frame, ok := strings.Cut(s, "--")
	v, unit, okV := parseValue(value)
	if !ok || !okV {
		return false
	}
	g.kind = graphTree
	g.child(&node{col: at, value: v, unit: unit, frames: []string{add(frame)}})
	return true
}

// parseValue reads what a call graph prints before a branch.
func parseValue(s string) (v float64, unit byte, ok bool) {
	unit = 'n'
	if p, isPct := strings.CutSuffix(s, "%"); isPct {
		s, unit = p, '%'
	}
	if s == "" || len(s) > 20 || strings.Trim(s, "0123456789.,") != "" {
		return 0, 0, false
	}
	v, ok = decimal(s)
	return v, unit, ok && (unit == 'n' || v <= maxShare)
}

// folded reads "21.73% a;b;c", which starts further left than a row.
func (g *graph) folded(s string, rowEnd int, add func(string) string) bool {
	if g.kind == graphTree || g.kind == graphFlat || g.kind == graphTUI {
		return false
	}
	trimmed := strings.TrimLeft(s, " ")
	value, path, ok := strings.Cut(trimmed, " ")
	v, unit, okV := parseValue(value)
	if !ok || !okV || path == "" || path[0] == ' ' {
		return false
	}
	if !strings.Contains(path, ";") && len(s)-len(trimmed)+len(value) >= rowEnd {
		return false
	}
	n := &node{value: v, unit: unit}
	for _, f := range strings.Split(path, ";") {
		n.frames = append(n.frames, add(f))
	}
	g.start(graphFolded, n)
	return true
}

// flat reads the value above the frames of a flat chain.
func (g *graph) flat(rest string, at int) bool {
	v, unit, ok := parseValue(rest)
	if !ok || at == 0 || g.kind != graphNone && g.kind != graphFlat {
		return false
	}
	if unit != '%' && (g.last != nil || at < 8) { // an unresolved frame, "0"
		return false
	}
	g.start(graphFlat, &node{value: v, unit: unit, col: at})
	return true
}

// tui reads a line of the TUI's tree: a sign, a percentage and a frame, of which
// the first two may be missing.
func (g *graph) tui(rest string, at int, add func(string) string) bool {
	if g.kind != graphTUI {
		return false
	}
	signed := len(rest) > 2 && (rest[0] == '-' || rest[0] == '+') && rest[1] == ' '
	if signed {
		rest, at = rest[2:], at+2
	}
	n := &node{col: at}
	if value, frame, ok := strings.Cut(rest, " "); ok {
		if v, unit, ok := parseValue(value); ok {
			n.value, n.unit, rest = v, unit, frame
		}
	}
	if rest == "" || at < 3 {
		return false
	}
	switch last := g.last; {
	case n.unit != 0 || last == nil:
	case at == last.col: // the next frame of the same node
		last.frames = append(last.frames, add(rest))
		return true
	case at == last.col+3 && !signed && last.unit == '%' && len(last.frames) == 1:
		// the same, below a frame with a percentage; an only child looks alike
		g.vague = true
		last.col = at
		last.frames = append(last.frames, add(rest))
		return true
	default: // an only child; what its parent has of its own is not told
		n.unit = unknown
	}
	n.frames = []string{add(rest)}
	g.child(n)
	return true
}

// blank takes an empty line. It ends a tree, and a flat chain.
func (g *graph) blank() {
	if g.kind == graphTree || g.kind == graphFlat {
		g.last = nil
		g.open = g.open[:0]
	}
}

// cleanFrame takes off what perf adds to a symbol in a call graph: a source
// line or an offset behind it (-g address), and the mark of an inlined function.
func cleanFrame(f string) string {
	f = strings.TrimSpace(f)
	f = strings.TrimSuffix(f, " (inlined)")
	if i := strings.LastIndexByte(f, ' '); i > 0 {
		word := f[i+1:]
		if j := strings.LastIndexByte(word, ':'); j > 0 && word[j-1] != ':' && isNumber(word[j+1:]) {
			f = f[:i]
		} else if word[0] == '+' && isNumber(word[1:]) {
			f = f[:i]
		}
	}
	return strings.TrimSuffix(f, " (inlined)")
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
