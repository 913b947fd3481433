package report

import (
	"bytes"
	"html/template"
	"reflect"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// htmlFlame is a flame graph as it is drawn without a script: everything that
// is at least a pixel wide.
type htmlFlame struct {
	ID      string // of its data
	N       int
	Name    string // "switches"
	Whole   string // "33,402 switches"
	Caption template.HTML
	Hint    string
	Height  string
	Root    htmlFrame
	Frames  []htmlFrame
	Threads []string
	Checked bool
}

// htmlFrame is a frame: a box at a place.
type htmlFrame struct {
	Class string
	Style template.CSS
	Label string
	Title string
}

// A page of the usual width has this many pixels for a flame graph, a row of it
// this many, and a character that many.
const (
	flameWidth = 904
	flameRow   = 20
	flameChar  = 6.8
)

// flameNames are the weights.
var flameNames = map[string]string{"switches": "switches", "off_cpu": "off-CPU time", "cpu": "CPU samples"}

func (h *htmlReport) flames(out *htmlStacks) {
	if h.c.Drawings == nil || len(h.c.Drawings.Flames) == 0 {
		out.NoFlames = h.say("No flame graphs: the input has no call chains of its own, only a printed profile.")
		return
	}
	var data []object
	for i := range h.c.Drawings.Flames {
		f := &h.c.Drawings.Flames[i]
		v := h.flame(f, i)
		v.Caption = htmlProse(h.flameCaption(f)) + ` <span class="src">` + h.list(sourceNames(h.r, []int{f.Source})) + "</span>"
		out.Flames = append(out.Flames, v)
		data = append(data, h.flameData(f, &v))
	}
	var b bytes.Buffer
	if err := encode(&b, reflect.ValueOf(data)); err == nil { // every part of it has a JSON form
		out.data = template.JS(b.String())
	}
}

func (h *htmlReport) flameCaption(f *analyze.Flame) string {
	s := ""
	switch f.ID {
	case "switches":
		s = h.say("Every switch-out by its call chain, weighed by switches.")
		if h.c.Stacks.Sampled {
			s = h.say("Switch-outs by their call chain; a sample of them.")
		}
	case "off_cpu":
		s = h.say("The same call chains, weighed by the time until the thread runs again; waiting for a CPU is in it.")
	case "cpu":
		s = h.say("Samples of running code by call chain; only shares mean anything.")
	}
	s = h.opt.sentences(s, h.say("Callers on top."))
	if f.Pruned > 0 {
		s = h.opt.sentences(s, h.sayf("%s narrower than %s of the whole %s left out.", plural(f.Pruned, "frame", "frames"), quantity.PercentSig(f.Floor, 2), isAre(f.Pruned)))
	}
	return s
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// weightText is a weight with its unit; of periods there is none that says
// anything, only the share.
func (h *htmlReport) weightText(f *analyze.Flame, w float64) string {
	switch f.Unit {
	case "ns":
		return quantity.Time(w)
	case "switches":
		if s := quantity.Whole(w); s != "1" {
			return s + h.opt.fragment(" switches")
		}
		return "1" + h.opt.fragment(" switch")
	}
	return ""
}

func (h *htmlReport) frameTitle(f *analyze.Flame, name string, w float64) string {
	share := quantity.Percent(w/f.Total, 2)
	if t := h.weightText(f, w); t != "" {
		return name + h.say(": ") + t + h.say(", ") + share
	}
	return name + h.say(": ") + share
}

// flameFrameName is a frame's whole name as plain characters.
func (h *htmlReport) frameName(f *analyze.FlameFrame) string {
	switch {
	case f.Kind == "none":
		return h.say("[no call chain]")
	case f.Kind == "unresolved" && f.Module != "" && f.Module != "[unknown]":
		return h.sayf("[unknown] in %s", analyze.Code(wholeName(position(f.Module, 0))))
	case f.Kind == "unresolved":
		return "[unknown]"
	}
	return wholeName(f.Symbol)
}

// frameClass is how a frame is coloured; unresolved ones are outlined.
func frameClass(f *analyze.FlameFrame) string {
	switch f.Kind {
	case "kernel":
		return "k"
	case "user":
		return "u"
	}
	return "x"
}

func (h *htmlReport) flame(f *analyze.Flame, i int) htmlFlame {
	name := flameNames[f.ID]
	v := htmlFlame{ID: f.ID, N: i + 1, Name: h.say(name), Checked: i == 0, Hint: h.say("Point at a frame, or move with the arrow keys, for its figures.")}
	if v.Whole = h.weightText(f, f.Total); v.Whole == "" {
		v.Whole = h.sayf("all %s", name)
	} else if f.ID == "off_cpu" {
		v.Whole = h.sayf("%s off the CPU", v.Whole)
	}
	v.Root = htmlFrame{Class: "k", Style: frameStyle(0, 100, 0), Label: v.Whole, Title: h.frameTitle(f, v.Whole, f.Total)}
	names := make([]string, len(f.Frames))
	for k := range f.Frames {
		names[k] = h.frameName(&f.Frames[k])
	}
	deepest := 0
	next := []float64{0} // where the next frame of each depth begins, as a part of the whole
	for k := range f.Nodes {
		n := &f.Nodes[k]
		next = append(next[:n.Depth], next[n.Depth-1]) // its children begin where it does
		x, w := next[n.Depth-1], n.Weight/f.Total
		next[n.Depth-1] = x + w
		if w*flameWidth < 1 {
			continue
		}
		deepest = max(deepest, n.Depth)
		fr := &f.Frames[n.Frame]
		v.Frames = append(v.Frames, htmlFrame{Class: frameClass(fr), Style: frameStyle(x*100, w*100, n.Depth), Label: frameLabel(names[n.Frame], w*flameWidth),
			Title: h.frameTitle(f, names[n.Frame], n.Weight)})
	}
	v.Height = decimal((deepest+1)*flameRow) + "px"
	for k := range f.Threads {
		v.Threads = append(v.Threads, h.flameThreadName(&f.Threads[k]))
	}
	return v
}

func (h *htmlReport) flameThreadName(t *analyze.FlameThread) string {
	switch {
	case t.TID == 0 && t.Name == "" && t.Count == 0:
		return h.say("threads not known")
	case t.Count != 1:
		return h.say(plural(t.Count, "other", "others"))
	}
	return shown(t.Name) + " " + decimal(t.TID)
}

func frameStyle(left, width float64, depth int) template.CSS {
	return template.CSS("left:" + coord(left) + "%;width:" + coord(width) + "%;top:" + decimal(depth*flameRow) + "px")
}

// frameLabel is as much of a name as a frame of some pixels has room for; a C++
// name loses its qualifiers first. A frame that is too narrow has none.
func frameLabel(name string, px float64) string {
	room := int((px - 8) / flameChar)
	if room < 2 || (room < 5 && width(name) > room) {
		return ""
	}
	return unitsString(fitName(name, room, false))
}

// flameData is a tree for the script of the page.
func (h *htmlReport) flameData(f *analyze.Flame, v *htmlFlame) object {
	names, kinds := make([]string, len(f.Frames)), ""
	for k := range f.Frames {
		names[k] = h.frameName(&f.Frames[k])
		kinds += frameClass(&f.Frames[k])
	}
	threads := make([]float64, len(f.Threads))
	for k := range f.Threads {
		threads[k] = f.Threads[k].Weight
	}
	return object{{"id", f.ID}, {"unit", f.Unit}, {"whole", v.Whole}, {"hint", v.Hint}, {"total", f.Total}, {"names", names}, {"kinds", kinds}, {"threads", threads}, {"nodes", f.Nodes}}
}
