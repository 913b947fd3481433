package report

import (
	"fmt"
	"html/template"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// figureID is the anchor of a figure of layer 1. Ids are ours.
func figureID(id string) string { return "f-" + id }

func threadID(i int) string  { return "t-" + decimal(i) }
func reasonID(i int) string  { return "r-" + decimal(i) }
func profileID(i int) string { return "p-" + decimal(i) }
func callerID(i int) string  { return "k-" + decimal(i) }
func sourceID(id int) string { return "s-" + decimal(id) }

// anchors notes where the page shows each figure that evidence refers to.
func (h *htmlReport) anchors() {
	h.figureOf, h.sourceAt = map[analyze.Evidence]string{}, map[int]bool{}
	note := func(es []analyze.Evidence, id string) {
		for _, e := range es {
			if _, ok := h.figureOf[e]; !ok {
				h.figureOf[e] = id
			}
		}
	}
	m := &h.c.Macro
	for i := range m.Figures {
		if f := &m.Figures[i]; f.Value.OK && f.ID == m.GradedOn {
			note(f.Inputs, figureID(f.ID))
		}
	}
	for i := range m.Figures {
		if f := &m.Figures[i]; f.Value.OK {
			note(f.Inputs, figureID(f.ID))
		}
	}
	for i := range h.c.Threads[:min(len(h.c.Threads), mostRows)] {
		note(h.c.Threads[i].Evidence, threadID(i))
	}
	for i := range h.c.Stacks.Profile {
		note([]analyze.Evidence{h.c.Stacks.Profile[i].Evidence}, profileID(i))
	}
	for i := range h.r.Sources {
		h.sourceAt[h.r.Sources[i].ID] = true
	}
}

// anchor is where a piece of evidence is shown: its figure, its row, or the
// frame that it is about, and else the source that holds it.
func (h *htmlReport) anchor(e analyze.Evidence) string {
	if id, ok := h.figureOf[e]; ok {
		return id
	}
	for i := range h.c.Stacks.Reasons {
		if h.c.Stacks.Reasons[i].Frame == e.Figure && e.Figure != "" {
			return reasonID(i)
		}
	}
	for i, c := range callersApart(&h.c.Stacks) {
		if c.Symbol == e.Figure && e.Figure != "" {
			return callerID(i)
		}
	}
	if h.sourceAt[e.Source] {
		return sourceID(e.Source)
	}
	return ""
}

// htmlRef is a link from a finding to the figure that it rests on.
type htmlRef struct {
	ID    string
	Name  template.HTML // of the figure, with its value
	Place template.HTML // "perf-stat.txt:5"
}

// mostRefs is how many pieces of evidence of a finding are listed.
const mostRefs = 12

// refs are the figures of a finding; rest is how many are not listed.
func (h *htmlReport) refs(es []analyze.Evidence) (out []htmlRef, rest int) {
	for i, e := range es {
		if i == mostRefs && len(es) > mostRefs+1 {
			return out, len(es) - i
		}
		out = append(out, htmlRef{ID: h.anchor(e), Name: htmlName(h.figureName(e.Figure), maxName) + " " + htmlProse(evidenceValue(e)), Place: htmlName(h.place(e), maxName)})
	}
	return out, 0
}

// figuresOf are figures that a name from a capture ends.
var figuresOf = []string{"voluntary switches of %s", "involuntary switches of %s", "switches in %s"}

// figureName says what a figure is. One that a capture names by itself, a counter
// or a symbol, keeps its name.
func (h *htmlReport) figureName(s string) string {
	if h.opt.Lang == nil || !strings.Contains(s, " ") {
		return s
	}
	for _, of := range figuresOf {
		if name, ok := strings.CutPrefix(s, strings.TrimSuffix(of, "%s")); ok {
			return h.sayf(of, analyze.Code(name))
		}
	}
	return h.opt.Lang.Format(s)
}

// place is the source and the line of a figure.
func (h *htmlReport) place(e analyze.Evidence) string {
	for i := range h.r.Sources {
		if h.r.Sources[i].ID == e.Source {
			if n, ok := e.Line.Get(); ok && n > 0 {
				return fmt.Sprintf("%s:%d", h.r.Sources[i].Name, n)
			}
			return h.r.Sources[i].Name
		}
	}
	return ""
}

// evidenceValue writes a figure of a capture with its unit.
func evidenceValue(e analyze.Evidence) string {
	switch e.Unit {
	case "/s":
		return quantity.PerS(e.Value)
	case "%":
		return quantity.With(quantity.Fixed(e.Value, 2), "%")
	case "ns":
		return quantity.Time(e.Value)
	case "msec":
		return quantity.With(quantity.Fixed(e.Value, 2), "ms")
	case "", "switches":
		return quantity.Whole(e.Value)
	}
	return quantity.With(quantity.Fixed(e.Value, 3), e.Unit)
}
