package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// inspection sets a set of evidence for a terminal.
type inspection struct {
	*page
	s *evidence.Set
}

// InspectText writes what was understood from each input, for a terminal:
// counters, threads, stacks, rates and histograms, and what was dropped.
func InspectText(w io.Writer, s *evidence.Set, opt Options) error {
	t := &inspection{newPage(opt), s}
	t.line(t.prose("ctxan inspect   " + plural(len(s.Sources), "capture", "captures")))
	for _, src := range s.Sources {
		t.blank()
		t.source(src)
	}
	for i, c := range opt.More {
		first := plain("        ")
		if i == 0 {
			t.blank()
			first = plain("  more: ")
		}
		t.command(first, plain("        "), c)
	}
	return t.flush(w)
}

func (t *inspection) source(s *evidence.Source) {
	head := append(t.nameIn(s.Name, t.edge()-20), t.prose("   "+s.Format)...)
	if s.Variant != "" {
		head = append(head, t.prose(", "+s.Variant)...)
	}
	if head.width() <= t.edge() {
		t.line(head)
	} else {
		t.para(spans{}, plain("  "), head)
	}
	t.about(s)
	t.counters(s.ID)
	t.traces(s.ID)
	t.cpus(s.ID)
	t.tasks(s.ID)
	t.waits(s.ID)
	t.readings(s.ID)
	t.settings(s.ID)
	t.chains(s.ID)
	t.profiles(s.ID)
	t.system(s.ID)
	t.histograms(s.ID)
	t.trouble(s)
}

// about writes what the capture says of itself.
func (t *inspection) about(s *evidence.Source) {
	if s.Tool != "" {
		t.labelled("tool", t.name(s.Tool))
	}
	if s.Command != "" {
		first := t.prose(label12("command"))
		t.command(first, plain(pad(labelWidth)), s.Command)
	}
	if h := hostText(s.Host); h != "" {
		t.labelled("host", t.prose(h))
	}
	if x := targetText(s.Target); x != "" {
		t.labelled("target", t.prose(x))
	}
	if v, ok := s.Window.DurationS.Get(); ok {
		text := quantity.With(quantity.Fixed(v, 3), "s")
		if s.Window.Date != "" {
			text += ", " + shown(s.Window.Date)
		}
		t.labelled("window", t.prose(text))
	}
}

func hostText(h evidence.Host) string {
	var parts []string
	if h.Name != "" {
		parts = append(parts, shown(h.Name))
	}
	if r := strings.TrimSpace(h.Release + " " + h.Arch); r != "" {
		parts = append(parts, "Linux "+shown(r))
	}
	if n, ok := h.CPUs.Get(); ok {
		parts = append(parts, plural(n, "CPU", "CPUs"))
	}
	if h.CPUDesc != "" {
		parts = append(parts, shown(h.CPUDesc))
	}
	return strings.Join(parts, ", ")
}

// targetText is what a capture was told to watch; "" when it does not say.
func targetText(x evidence.Target) string {
	if x.Kind == evidence.TargetUnknown {
		return ""
	}
	s := x.Kind.String()
	for i, id := range x.IDs {
		if i == 16 {
			s += fmt.Sprintf(" and %d more", len(x.IDs)-i)
			break
		}
		if i > 0 {
			s += ","
		} else {
			s += " "
		}
		s += decimal(id)
	}
	if x.Name != "" {
		s += " " + shown(x.Name)
	}
	return s
}

func (t *inspection) counters(id int) {
	for i := range t.s.Counters {
		if b := &t.s.Counters[i]; b.Pos.Source == id {
			t.block(b)
		}
	}
}

func (t *inspection) block(b *evidence.CounterBlock) {
	t.labelled("counters", t.prose(blockTitle(b)))
	tab := table{bare: true, cols: []column{{least: 12}, {right: true, gap: 2}, {gap: 1}, {gap: 2, keep: 4, least: 8}}}
	for i := range b.Counters {
		c := &b.Counters[i]
		value, note := counterText(c)
		tab.add(t.nameCell(c.Key(), maxName), cell{text: t.prose(value)}, cell{text: t.prose(c.Unit)}, cell{text: t.prose(note)})
	}
	tab.render(t.page, plain("    "))
	if n := len(b.Parts); n > 0 {
		t.para(plain("    "), plain("    "), t.prose(fmt.Sprintf("in %s, by %s", plural(n, "part", "parts"), inert(b.Aggregation))))
	}
	if n := len(b.Intervals); n > 0 {
		t.para(plain("    "), plain("    "), t.prose("in "+plural(n, "interval", "intervals")))
	}
}

func blockTitle(b *evidence.CounterBlock) string {
	var parts []string
	if b.Pos.Line > 0 {
		parts = append(parts, "line "+decimal(b.Pos.Line))
	}
	if b.Scope != "" {
		parts = append(parts, shown(b.Scope))
	}
	for _, x := range []struct {
		v    evidence.Opt[float64]
		name string
	}{{b.ElapsedS, "elapsed"}, {b.UserS, "user"}, {b.SysS, "sys"}} {
		if v, ok := x.v.Get(); ok {
			parts = append(parts, quantity.With(exact(v), "s")+" "+x.name)
		}
	}
	if b.Runs > 0 {
		parts = append(parts, "mean of "+plural(b.Runs, "run", "runs"))
	}
	return strings.Join(parts, ", ")
}

// exact writes a number with the decimals it has, at most nine.
func exact(v float64) string {
	s := quantity.Fixed(v, 9)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// counterText is a counter's value, "–" unless it was counted, and what there
// is to know about it.
func counterText(c *evidence.Counter) (value, note string) {
	value = absent
	var notes []string
	if c.Status == evidence.StatusCounted {
		value = exact(c.Value)
	} else {
		notes = append(notes, c.Status.String())
	}
	if c.Status == evidence.StatusUnmeasurable {
		notes = append(notes, "printed as "+exact(c.Value))
	}
	if v, ok := c.RunningPct.Get(); ok {
		notes = append(notes, "running "+quantity.Percent(v/100, 2))
	}
	if v, ok := c.StdDevPct.Get(); ok {
		notes = append(notes, "± "+quantity.Percent(v/100, 2))
	}
	return value, strings.Join(notes, ", ")
}

func (t *inspection) chains(id int) {
	for i := range t.s.Stacks {
		x := &t.s.Stacks[i]
		if x.Pos.Source != id {
			continue
		}
		sum := x.Sum()
		body := fmt.Sprintf("%s: %s %s, %s", inert(x.Event), quantity.Whole(sum.Weight), weightName(x.Kind.String()), plural(len(x.Stacks), "distinct stack", "distinct stacks"))
		if v, ok := sum.UnresolvedPct.Get(); ok {
			body += ", unresolved " + quantity.Percent(v/100, 1)
		}
		if v, ok := sum.NoChainPct.Get(); ok && v > 0 {
			body += ", without a call chain " + quantity.Percent(v/100, 1)
		}
		if x.Sampled {
			body += ", sampled"
		}
		t.labelled("stacks", t.prose(body))
		for _, c := range x.Heaviest(3) {
			share := t.prose(quantity.Percent(c.Pct/100, 1))
			t.chain(append(plain("    "+pad(7-share.width())), share...), c.Frames)
		}
	}
}

// chain writes the frames of a stack in one line, as many as there is room for.
func (t *inspection) chain(first spans, frames []string) {
	line := append(first, span{s: "  "})
	for i, f := range frames {
		name := t.nameIn(f, 40)
		sep := t.prose(" ← ")
		if i == 0 {
			sep = nil
		}
		if line.width()+sep.width()+name.width()+4 > t.edge() {
			if i == 0 {
				line = append(line, t.nameIn(f, t.edge()-line.width())...)
			} else {
				line = append(line, t.prose(" …")...)
			}
			break
		}
		line = append(append(line, sep...), name...)
	}
	t.line(line)
}

func (t *inspection) profiles(id int) {
	for i := range t.s.Profiles {
		x := &t.s.Profiles[i]
		if x.Pos.Source != id {
			continue
		}
		body := inert(x.Event) + ": " + plural(len(x.Rows), "row", "rows") + " of " + weightName(x.Kind.String())
		if n, ok := x.Samples.Get(); ok {
			body += ", " + quantity.Count(n) + " samples"
		} else if x.SamplesRaw != "" {
			body += ", " + inert(x.SamplesRaw) + " samples"
		}
		if n, ok := x.EventCount.Get(); ok {
			body += ", event count " + quantity.Count(n)
		}
		t.labelled("profile", t.prose(body))
		t.profileRows(x)
	}
}

func (t *inspection) profileRows(p *evidence.Profile) {
	tab := table{cols: []column{{head: "symbol", least: 14}, {head: "overhead", right: true, gap: 2}, {head: "self", right: true, gap: 2, keep: 8}}}
	if !p.Children {
		tab.cols = tab.cols[:2]
	} else {
		tab.cols[1].head = "children"
	}
	for i := range p.Rows[:min(len(p.Rows), 8)] {
		r := &p.Rows[i]
		first := r.OverheadPct
		if p.Children {
			first = r.ChildrenPct
		}
		line := []cell{t.nameCell(r.Symbol, maxName), {text: t.prose(pctText(first))}}
		if p.Children {
			line = append(line, cell{text: t.prose(pctText(r.SelfPct))})
		}
		tab.add(line...)
	}
	if len(tab.rows) > 0 {
		tab.render(t.page, plain("    "))
	}
	if n := len(p.Rows) - len(tab.rows); n > 0 {
		t.line(plain("    "), t.prose(fmt.Sprintf("and %d more", n)))
	}
}

func pctText(v evidence.Opt[float64]) string {
	v.V /= 100
	return printedPct(v)
}

func (t *inspection) system(id int) {
	for i := range t.s.System {
		x := &t.s.System[i]
		if x.Pos.Source != id {
			continue
		}
		body := plural(max(len(x.SwitchesPerS), len(x.Samples)), "interval", "intervals")
		if len(x.SwitchesPerS) > 0 {
			lo, hi := slices.Min(x.SwitchesPerS), slices.Max(x.SwitchesPerS)
			body += fmt.Sprintf(", %s to %s", quantity.Whole(lo), quantity.PerS(hi))
		}
		if n, ok := x.CPUs.Get(); ok {
			body += ", " + plural(n, "CPU", "CPUs")
		}
		t.labelled("machine", t.prose(body))
	}
}

func (t *inspection) histograms(id int) {
	for i := range t.s.Histograms {
		h := &t.s.Histograms[i]
		if h.Pos.Source != id {
			continue
		}
		t.labelled("histogram", t.prose(fmt.Sprintf("%s: %s in %s (%s)", inert(h.Title), quantity.Count(h.Total), plural(len(h.Buckets), "bucket", "buckets"), inert(h.Unit))))
		buckets, ok := inNS(h.Buckets, h.Unit)
		a, filled := axisOf([][]evidence.Bucket{buckets})
		if !ok || !filled || t.width < 66 {
			continue
		}
		if a.per = min((t.edge()-labelWidth)/a.decades, mostDecade); a.per < leastDecade {
			continue
		}
		bins := a.bins(buckets)
		t.line(plain(pad(labelWidth)), plain(t.spark(bins, largest(bins))))
		t.line(plain(pad(labelWidth)), t.prose(a.labels()))
	}
}

// trouble writes what is missing from the capture or was not understood.
func (t *inspection) trouble(s *evidence.Source) {
	if s.Loss.Any() {
		t.labelled("lost", t.prose(lossText(s.Loss)))
	}
	for _, w := range s.Warnings {
		t.labelled("warning", t.prose(excerpt(w)))
	}
	for i, d := range s.Dropped {
		if i == 5 {
			break
		}
		where := fmt.Sprintf("offset %d", d.Offset)
		if d.Line > 0 {
			where = "line " + decimal(d.Line)
		}
		t.labelled("dropped", t.prose(where+": "+excerpt(d.Err)))
	}
	if n := s.DroppedTotal - min(len(s.Dropped), 5); n > 0 {
		t.labelled("dropped", t.prose(fmt.Sprintf("%d more", n)))
	}
	for _, n := range s.Notes {
		t.labelled("note", t.prose(excerpt(n)))
	}
	if !t.s.Usable(s.ID) {
		t.labelled("evidence", t.prose("none"))
	}
}

func lossText(l evidence.Loss) string {
	var parts []string
	for _, x := range []struct {
		n    uint64
		name string
	}{{l.LostRecords, "lost records"}, {l.LostSamples, "lost samples"}, {l.ChainBreaks, "chain breaks"}} {
		if x.n > 0 {
			parts = append(parts, quantity.Count(x.n)+" "+x.name)
		}
	}
	if l.Truncated {
		parts = append(parts, "the capture ends before its tool finished it")
	}
	return strings.Join(parts, ", ")
}
