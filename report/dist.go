package report

import (
	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// dist is the distributions of a case: a line for each thread, a panel for each
// kind that any of them has, the axis of a panel shared by all lines.
type dist struct {
	lines  []threadLine
	panels []distPanel
}

// distPanel is one kind of distribution; cells and quantiles are by line.
type distPanel struct {
	head  string
	axis  axis
	cells [][]evidence.Bucket // in nanoseconds
	quant []*analyze.Quantiles
}

// distOf collects the distributions of the threads, or where threads have none
// those of the case.
func distOf(c *analyze.Case) *dist {
	d := &dist{lines: histLines(c.Threads)}
	if len(d.lines) == 0 {
		return caseDist(c)
	}
	kind := func(head string, get func(*analyze.ThreadRow) (*evidence.Histogram, *analyze.Quantiles)) {
		p := distPanel{head: head}
		for i := range d.lines {
			h, q := get(&d.lines[i].ThreadRow)
			p.cells, p.quant = append(p.cells, h.Buckets()), append(p.quant, q)
		}
		d.add(p)
	}
	kind("run", func(r *analyze.ThreadRow) (*evidence.Histogram, *analyze.Quantiles) { return r.RunHist, &r.Run })
	kind("delay", func(r *analyze.ThreadRow) (*evidence.Histogram, *analyze.Quantiles) { return r.DelayHist, &r.Delay })
	kind("off-CPU", func(r *analyze.ThreadRow) (*evidence.Histogram, *analyze.Quantiles) { return r.OffHist, &r.OffCPU })
	return d
}

// caseDist is one line with the case's own distributions.
func caseDist(c *analyze.Case) *dist {
	d := &dist{lines: []threadLine{{label: "all"}}}
	for _, kind := range [][2]string{{"run", "run"}, {"delay", "delay"}, {"off_cpu", "off-CPU"}} {
		for i := range c.Hists {
			h := &c.Hists[i]
			if buckets, ok := inNS(h.Buckets, h.Unit); ok && h.ID == kind[0] {
				d.add(distPanel{head: kind[1], cells: [][]evidence.Bucket{buckets}, quant: []*analyze.Quantiles{&h.Q}})
				break
			}
		}
	}
	return d
}

// add keeps a panel that holds anything.
func (d *dist) add(p distPanel) {
	if a, ok := axisOf(p.cells); ok {
		p.axis = a
		d.panels = append(d.panels, p)
	}
}

// The columns that a decade of the axes may take.
const (
	leastDecade = 2
	mostDecade  = 12
)

// scale makes a decade equally long in all panels, so that they fill a room,
// and reports whether that is enough to see anything.
func (d *dist) scale(room int) bool {
	decades := 0
	for i := range d.panels {
		decades += d.panels[i].axis.decades
	}
	if decades == 0 {
		return false
	}
	per := min((room-len(d.panels)+1)/decades, mostDecade)
	for i := range d.panels {
		d.panels[i].axis.per = per
	}
	return per >= leastDecade
}

// distName is how many columns of a name are shown beside its distributions.
const distName = 18

// distNameWidth is the room for the names, with the blank behind them.
func (p *page) distNameWidth(d *dist) int {
	w := labelWidth - 2
	for i := range d.lines {
		w = max(w, p.threadName(&d.lines[i], distName).width()+1)
	}
	return w
}

// drawDist draws the distributions, rule between the panels.
func (p *page) drawDist(d *dist, nameW int, rule string) []spans {
	head, foot := plain(pad(nameW)), plain(pad(nameW))
	last := len(d.panels) - 1
	for k := range d.panels {
		a := d.panels[k].axis
		title := p.say(d.panels[k].head)
		head = append(head, span{s: title + pad(a.width()-width(title))})
		foot = append(foot, p.prose(a.labels())...)
		if k < last {
			head, foot = append(head, span{s: " "}), append(foot, span{s: " "})
		}
	}
	out := []spans{head}
	for i := range d.lines {
		name := p.threadName(&d.lines[i], distName)
		l := append(name, span{s: pad(nameW - name.width())})
		for k := range d.panels {
			bins := d.panels[k].axis.bins(d.panels[k].cells[i])
			l = append(l, span{s: p.spark(bins, largest(bins))})
			if k < last {
				l = append(l, p.prose(rule)...)
			}
		}
		out = append(out, l)
	}
	return append(out, foot)
}

// distributions draws the histograms, where there is room for them, and gives
// their quantiles as figures.
func (t *textReport) distributions() {
	d := distOf(t.c)
	if len(d.panels) == 0 {
		return
	}
	nameW := t.distNameWidth(d)
	if t.width >= 66 && d.scale(t.width-2-nameW) {
		t.blank()
		for _, l := range t.drawDist(d, nameW, "▕") {
			t.line(plain("  "), l)
		}
	}
	t.blank()
	t.quantiles(d, nameW)
}

func (t *textReport) quantiles(d *dist, nameW int) {
	tab := table{cols: []column{{}}}
	for k := range d.panels {
		tab.cols = append(tab.cols, quantileColumns(d.panels[k].head, k)...)
	}
	for i := range d.lines {
		name := t.threadName(&d.lines[i], distName)
		line := []cell{{text: append(name, span{s: pad(nameW - name.width())})}}
		for k := range d.panels {
			q := d.panels[k].quant[i]
			line = append(line, t.timeCell(q.P50), t.timeCell(q.P99), t.timeCell(q.Max))
		}
		tab.add(line...)
	}
	tab.render(t.page, plain("  "))
}

func (p *page) timeCell(v evidence.Opt[float64]) cell {
	ns, ok := v.Get()
	if !ok {
		return cell{text: p.prose(absent)}
	}
	return cell{text: p.prose(quantity.Time(ns))}
}

// quantileColumns are median, p99 and maximum of panel k. The maxima of waiting
// are shown where there is room; a narrow page keeps the medians longest.
func quantileColumns(head string, k int) []column {
	gap, maxFrom := 3, wideWidth
	if k == 0 {
		gap, maxFrom = 2, 0
	}
	if head == "off-CPU" {
		head = "off"
	}
	return []column{
		{head: head + " p50", right: true, gap: gap, keep: 20 - k},
		{head: "p99", right: true, gap: 2, keep: 10 - k},
		{head: "max", right: true, gap: 2, keep: 5 - k, from: maxFrom},
	}
}
