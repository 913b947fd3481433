package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// coord writes a coordinate of a drawing.
func coord(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
}

// htmlTick is a mark of an axis, at a part of its length.
type htmlTick struct {
	At, Text, Class string // Class: "a0" at the left edge, "a1" at the right
}

// htmlCurve is the cumulative share of the switches by rank of thread.
type htmlCurve struct {
	Head  template.HTML
	Path  string
	Ref   string // the hot ones
	Label string
	HotAt string // of the text, from the edge that Right tells
	Right bool
	Hot   string
	Ticks []htmlTick
}

// leastCurve: fewer threads are read off the table.
const leastCurve = 8

func (h *htmlReport) curve() *htmlCurve {
	c := h.c
	share, ok := c.Layer2.TopShare.Get()
	if !ok || len(c.Threads) < leastCurve {
		return nil
	}
	n := float64(len(c.Threads))
	var path strings.Builder
	path.WriteString("M0 100")
	sum := 0.0
	for i := range c.Threads {
		sum += c.Threads[i].Share.V
		fmt.Fprintf(&path, "L%s %s", coord(float64(i+1)/n*1000), coord(100*(1-min(sum, 1))))
		if sum > 0.99999 {
			fmt.Fprintf(&path, "L1000 %s", coord(100*(1-min(sum, 1))))
			break
		}
	}
	x, y := float64(c.Layer2.Top)/n, 1-share
	hot := h.sayf("%s, %s", plural(c.Layer2.Top, "thread", "threads"), quantity.Percent(share, 1))
	at, right := x, x > 0.5
	if right {
		at = 1 - x
	}
	return &htmlCurve{Right: right, Head: htmlText(c.Layer2.Concentration), Path: path.String(), Ref: fmt.Sprintf("M0 %sH%sV100", coord(100*y), coord(1000*x)),
		Label: h.say("Cumulative share of the switches by rank of the thread: ") + hot, HotAt: pct(at * 100), Hot: hot,
		Ticks: []htmlTick{{"0", "0", "a0"}, {"100%", h.say(plural(len(c.Threads), "thread", "threads")), "a1"}}}
}

// htmlRate is the switch rate over the capture.
type htmlRate struct {
	Head  string
	Note  template.HTML
	Path  string
	Top   string // the upper end of the scale
	Half  string
	Label string
	Ticks []htmlTick
}

func (h *htmlReport) rate() *htmlRate {
	c := h.c
	window, body, ok := rateText(c)
	if !ok {
		return nil
	}
	_, scale := rateValues(c)
	first, last := c.Rates[0].StartS, c.Rates[len(c.Rates)-1].EndS
	if !(last > first) {
		return nil
	}
	x := func(s float64) string { return coord((s - first) / (last - first) * 1000) }
	var path strings.Builder
	at := first - 1
	for i := range c.Rates {
		r := &c.Rates[i]
		y := coord(100 * (1 - min(r.PerS/scale, 1)))
		if r.StartS != at { // nothing is drawn where nothing was counted
			fmt.Fprintf(&path, "M%s %s", x(r.StartS), y)
		} else {
			path.WriteString("V" + y)
		}
		path.WriteString("H" + x(r.EndS))
		at = r.EndS
	}
	unit := func(s float64) string { return quantity.With(seconds(s), "s") }
	return &htmlRate{Head: h.sayf("The rate is %s", inert(body)), Note: htmlProse(h.sayf("Switches a second in %s over %s.", plural(len(c.Rates), "step", "steps"), window)),
		Path: path.String(), Top: quantity.PerS(scale), Half: quantity.Whole(scale / 2), Label: h.sayf("Switches a second over %s: %s", window, body),
		Ticks: []htmlTick{{"0", unit(first), "a0"}, {"50%", seconds((first + last) / 2), ""}, {"100%", unit(last), "a1"}}}
}

// htmlHists are the distributions: a line for each thread, a panel for each kind.
type htmlHists struct {
	Head  string
	Grid  template.CSS // the columns: a decade is equally long in all panels
	Kinds []htmlHistKind
	Lines []htmlHistLine
	N     int // columns
}

type htmlHistKind struct {
	Title, Sub string
	Ticks      []htmlTick
}

type htmlHistLine struct {
	Name   template.HTML
	Panels []htmlPanel
}

type htmlPanel struct {
	Kind          string
	Box           string // of the drawing
	Bars          string
	P50, P99, Max string // paths; "" when absent
	T50, T99, TMx string // values
	Label         string
	Ticks         []htmlTick
	Empty         bool
}

// binsPerDecade is how fine the histograms are drawn.
const binsPerDecade = 12

var histTitles = map[string][2]string{
	"run": {"Run time", "on the CPU, per stint"}, "delay": {"Scheduling delay", "woken until running"}, "off-CPU": {"Off-CPU time", "gave the CPU up until running again"},
}

func (h *htmlReport) hists() *htmlHists {
	d := distOf(h.c)
	if len(d.panels) == 0 {
		return nil
	}
	out := &htmlHists{Head: h.histHead(d), N: len(d.panels) + 1}
	d.even()
	grid, decades := "112px", 0
	for k := range d.panels {
		p := &d.panels[k]
		p.axis.per = binsPerDecade
		grid += fmt.Sprintf(" minmax(0,%dfr)", p.axis.decades)
		t := histTitles[p.head]
		out.Kinds = append(out.Kinds, htmlHistKind{h.say(t[0]), h.say(t[1]), nil})
		decades += p.axis.decades
	}
	for k := range out.Kinds {
		out.Kinds[k].Ticks = roomyTicks(d.panels[k].axis, decades)
	}
	out.Grid = template.CSS(grid)
	for i := range d.lines {
		out.Lines = append(out.Lines, h.histLine(d, i))
	}
	return out
}

// even gives panels of few decades more of them, so that the figures below have
// room and a decade stays equally long everywhere.
func (d *dist) even() {
	for grown := true; grown; {
		total := 0
		for k := range d.panels {
			total += d.panels[k].axis.decades
		}
		grown = false
		for k := range d.panels {
			if a := &d.panels[k].axis; a.decades*4 < total {
				a.decades++
				grown = true
			}
		}
	}
}

// histHead says what the distributions come to: their medians in the case.
func (h *htmlReport) histHead(d *dist) string {
	c := h.c
	median := map[string]string{}
	for i := range c.Hists {
		if v, ok := c.Hists[i].Q.P50.Get(); ok {
			if k, ok := unitNS(c.Hists[i].Unit); ok {
				median[c.Hists[i].ID] = quantity.Time(v * k)
			}
		}
	}
	run, off := median["run"], median["off_cpu"]
	switch {
	case run != "" && off != "":
		return h.sayf("At the median they run %s, then are off the CPU for %s", run, off)
	case run != "":
		return h.sayf("At the median they run %s between switches", run)
	case off != "":
		return h.sayf("At the median they are off the CPU for %s", off)
	}
	return h.sayf("How long it takes each time: %s", d.panels[0].head)
}

func (h *htmlReport) histLine(d *dist, i int) htmlHistLine {
	l := &d.lines[i]
	out := htmlHistLine{Name: h.histName(l)}
	for k := range d.panels {
		p := &d.panels[k]
		out.Panels = append(out.Panels, h.panel(p, i, h.plainHistName(l)))
	}
	return out
}

func (h *htmlReport) histName(l *threadLine) template.HTML {
	switch {
	case l.label != "":
		return h.prose(l.label)
	case l.Name == "":
		return htmlProse(decimal(l.TID))
	case l.twin:
		return htmlName(l.Name, 24) + htmlProse(" "+decimal(l.TID))
	}
	return htmlName(l.Name, 24)
}

func (h *htmlReport) plainHistName(l *threadLine) string {
	if l.label != "" {
		return h.say(l.label)
	}
	return shown(l.Name) + " " + decimal(l.TID)
}

// panelHeight is the height of a histogram, with room for the marks above it.
const panelHeight = 34

func (h *htmlReport) panel(p *distPanel, i int, name string) htmlPanel {
	a, q := p.axis, p.quant[i]
	out := htmlPanel{Kind: h.say(p.head), Box: fmt.Sprintf("0 0 %d %d", a.width(), panelHeight), Ticks: decadeTicks(a), T50: absent, T99: absent, TMx: absent}
	bins := a.bins(p.cells[i])
	most := largest(bins)
	out.Empty = most == 0
	var bars strings.Builder
	for x, n := range bins {
		if n > 0 {
			tall := max(n/most*(panelHeight-4), 1) // a bin that holds anything is visible
			fmt.Fprintf(&bars, "M%d %dv-%sh.88v%sz", x, panelHeight, coord(tall), coord(tall))
		}
	}
	out.Bars = bars.String()
	line := func(v evidence.Opt[float64], from int) (path, text string) {
		ns, ok := v.Get()
		if !ok {
			return "", absent
		}
		return fmt.Sprintf("M%s %dV%d", coord(a.column(ns)), from, panelHeight), quantity.Time(ns)
	}
	out.P50, out.T50 = line(q.P50, 0)
	out.P99, out.T99 = line(q.P99, 6)
	out.Max, out.TMx = line(q.Max, 24)
	out.Label = h.sayf("%s, %s: p50 %s, p99 %s, maximum %s, %s", analyze.Code(name), p.head, out.T50, out.T99, out.TMx, plural64(q.N, "value", "values"))
	return out
}

func plural64(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return quantity.Count(n) + " " + many
}

// roomyTicks labels the decades of an axis that shares the width of a page with
// others. Where decades are short, the neighbours of its ends would run into them.
func roomyTicks(a axis, decades int) []htmlTick {
	ticks := decadeTicks(a)
	if decades < 10 || len(ticks) < 4 {
		return ticks
	}
	out := append([]htmlTick{ticks[0]}, ticks[2:len(ticks)-2]...)
	return append(out, ticks[len(ticks)-1])
}

// decadeTicks labels the decades of an axis: the unit where it changes.
func decadeTicks(a axis) []htmlTick {
	var out []htmlTick
	for d := 0; d <= a.decades; d++ {
		k := htmlTick{At: pct(float64(d) / float64(a.decades) * 100), Text: decadeLabel(a.lo+d, (a.lo+d)%3 == 0 || d == 0)}
		if d == a.decades {
			k.Class, k.Text = "a1", decadeLabel(a.lo+d, true)
		} else if d == 0 {
			k.Class = "a0"
		}
		out = append(out, k)
	}
	return out
}

// htmlMap is the switches of each CPU over time.
type htmlMap struct {
	Head  string
	Note  string
	Label string
	Box   string
	Rows  []htmlMapRow
	Ticks []htmlTick
	Busy  bool
}

type htmlMapRow struct {
	CPU      string
	Levels   []htmlLevel
	Switches string
	Busy     string
}

type htmlLevel struct{ Path, Class string }

// mapLevels is how many strengths the map is drawn in.
const mapLevels = 4

func (h *htmlReport) cpuMap(m *analyze.CPUMap) *htmlMap {
	if len(m.Rows) == 0 {
		return nil
	}
	most, busiest, n := uint64(0), 0, 0
	for i := range m.Rows {
		n = max(n, len(m.Rows[i].Steps))
		for _, k := range m.Rows[i].Steps {
			most = max(most, k)
		}
		if m.Rows[i].Switches > m.Rows[busiest].Switches {
			busiest = i
		}
	}
	if most == 0 {
		return nil
	}
	out := &htmlMap{Box: fmt.Sprintf("0 0 %d 1", n), Busy: hasBusy(m.Rows)}
	out.Head = h.sayf("%s switched; CPU %d most, %s times", plural(m.Of, "CPU", "CPUs"), m.Rows[busiest].CPU, quantity.Count(m.Rows[busiest].Switches))
	out.Note = h.sayf("Switches of all tasks in steps of %s: blank is none, then in four strengths up to %s.", quantity.Time(m.StepS*1e9), quantity.Count(most))
	if m.Of > len(m.Rows) {
		out.Note = h.opt.sentences(out.Note, h.sayf("The %d CPUs that switched most.", len(m.Rows)))
	}
	out.Label = h.opt.sentences(out.Head+h.say("."), h.say("The switches of each CPU stand behind its row."))
	for i := range m.Rows {
		out.Rows = append(out.Rows, mapRow(&m.Rows[i], most))
	}
	end := m.StartS + m.StepS*float64(n)
	out.Ticks = []htmlTick{{"0", quantity.With(seconds(max(m.StartS, 0)), "s"), "a0"}, {"50%", seconds((m.StartS + end) / 2), ""}, {"100%", quantity.With(seconds(end), "s"), "a1"}}
	return out
}

func hasBusy(rows []analyze.CPURow) bool {
	for i := range rows {
		if rows[i].BusyShare.OK {
			return true
		}
	}
	return false
}

func mapRow(r *analyze.CPURow, most uint64) htmlMapRow {
	var paths [mapLevels]strings.Builder
	level := func(n uint64) int { return int((n*mapLevels + most - 1) / most) } // 0: none
	for i := 0; i < len(r.Steps); {
		j, l := i, level(r.Steps[i])
		for j < len(r.Steps) && level(r.Steps[j]) == l {
			j++
		}
		if l > 0 {
			fmt.Fprintf(&paths[l-1], "M%d 0h%dv1h-%dz", i, j-i, j-i)
		}
		i = j
	}
	out := htmlMapRow{CPU: "CPU " + decimal(r.CPU), Switches: quantity.Count(r.Switches), Busy: absent}
	for l := range paths {
		if paths[l].Len() > 0 {
			out.Levels = append(out.Levels, htmlLevel{paths[l].String(), "v" + decimal(l+1)})
		}
	}
	if v, ok := r.BusyShare.Get(); ok {
		out.Busy = quantity.Percent(v, 1)
	}
	return out
}
