package analyze

import (
	"fmt"
	"math"
	"strings"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// checks verifies the captures against each other and against themselves.
func (c *caseBuild) checks() []Check {
	var out []Check
	add := func(ks ...Check) { out = append(out, ks...) }
	for _, t := range c.facts.Macro.Implausible {
		add(Check{ID: "implausible", Status: CheckDiffer, Lowers: true, Text: Textf("layer 1 cannot be what it says: %s", t)})
	}
	if c.leadersOnly() {
		add(Check{ID: "leaders-only", Status: CheckDiffer, Lowers: true, Text: Textf("%s shows each process's main thread only: the other threads' switches are not in it",
			Code(c.facts.Names[c.rows[0].src.ID]))})
	}
	add(c.read.about(c.sel)...)
	add(c.checkMachine()...)
	add(c.checkSums()...)
	add(c.checkTraces()...)
	add(c.checkHotTIDs()...)
	add(c.checkBlocks()...)
	add(c.checkUnmeasurable()...)
	add(c.checkDropped()...)
	add(c.checkWarnings()...)
	add(c.checkFooter()...)
	add(c.checkLoss()...)
	return out
}

// fewSwitches a second may be there in one capture and missing in another.
const fewSwitches = 10

// compareRates judges two rates that should be of the same load.
func compareRates(a, b float64) (diff float64, m Mark) {
	switch {
	case a == 0 && b >= fewSwitches:
		return 1, MarkDiffer // all of it: there is nothing to relate it to
	case a == 0:
		return 0, MarkNone
	}
	diff = (b - a) / a
	if math.Abs(diff) <= AgreeWithin {
		return diff, MarkAgree
	}
	return diff, MarkDiffer
}

// contradicts reports whether two rates are too far apart to be one load's.
func contradicts(a, b float64) bool {
	return a == 0 && b >= fewSwitches || a > 0 && b > 0 && (b/a > contradictBeyond || a/b > contradictBeyond)
}

// crossRates returns layer 1's rate and the sum of layer 2's when they are two
// measurements.
func (c *caseBuild) crossRates() (one, two float64, ok bool) {
	f := &c.facts
	a, okA := f.Macro.Value(FigRate).Get()
	b, okB := f.Layer2.SwitchesPerS.Get()
	return a, b, okA && okB && !f.Macro.FromTrace && f.Has.Counters
}

func (c *caseBuild) checkSums() []Check {
	one, two, ok := c.crossRates()
	if !ok {
		return nil
	}
	diff, m := compareRates(one, two)
	k := Check{ID: "layer-sum", Status: CheckPass, Text: Textf("the threads' switches sum to layer 1's rate: %s against %s, %s",
		quantity.PerS(two), quantity.PerS(one), quantity.Percent(diff, 2))}
	if m == MarkDiffer {
		k.Status, k.Lowers = CheckDiffer, contradicts(one, two)
		k.Text = Textf("%s counts %s switches/s, layer 1 counts %s: %s. %s", Code(c.facts.Names[c.rows[0].src.ID]), quantity.Whole(two),
			quantity.Whole(one), quantity.Percent(diff, 1), c.whyDiffer(one, two))
	}
	return []Check{k}
}

// whyDiffer names what is known to make such a difference.
func (c *caseBuild) whyDiffer(one, two float64) string {
	rs := c.rows[0]
	switch {
	case !rs.threads:
		return "Its rows are of processes, without the threads"
	case rs.trace && two < one:
		return "Tracing every switch slows the program, and the recordings are of different moments"
	case two < one:
		return "The captures are of different moments, and threads that came and went, or children, are in layer 1 only"
	}
	return "The captures are of different moments"
}

// checkTraces compares every other source's rate with layer 1's (or the first's).
func (c *caseBuild) checkTraces() []Check {
	var out []Check
	ref, okRef := c.facts.Macro.Value(FigRate).Get()
	if c.facts.Macro.FromTrace || !okRef {
		ref, okRef = c.facts.Layer2.SwitchesPerS.Get()
	}
	for i, rs := range c.rows {
		w, okW := rs.window()
		if i == 0 || !okRef || !okW || !rs.trace {
			continue
		}
		sum := 0.0
		for _, t := range rs.rows {
			sum += rowSwitches(t)
		}
		diff, m := compareRates(ref, sum/w)
		status := CheckPass
		if m == MarkDiffer {
			status = CheckDiffer
		}
		text := Textf("%s shows %s against %s: %s", Code(c.facts.Names[rs.src.ID]), quantity.PerS(sum/w), quantity.PerS(ref), quantity.Percent(diff, 1))
		if m == MarkDiffer && diff < 0 {
			text = Textf("%s; tracing every switch slows the program, and the captures are of different moments", text)
		} else if m == MarkDiffer {
			text = Textf("%s; the captures are of different moments", text)
		}
		out = append(out, Check{ID: "trace-rate", Status: status, Text: text})
	}
	return out
}

// checkHotTIDs holds the hot threads of layer 2 against those in the stacks.
func (c *caseBuild) checkHotTIDs() []Check {
	share2, share3, seen, n, ok := c.hotShares()
	if !ok {
		return nil
	}
	k := Check{ID: "hot-tids", Status: CheckPass, Text: Textf("the hot threads of layer 2 make %s there and %s of the stacks: %d of %d seen",
		quantity.Percent(share2, 1), quantity.Percent(share3, 1), seen, n)}
	if math.Abs(share2-share3) > 3*pointsWithin || seen < n {
		k.Status, k.Lowers = CheckDiffer, seen == 0
	}
	return []Check{k}
}

// hotShares is the share of the hot threads in layer 2 and in the switch
// stacks, which must come from different sources to say anything.
func (c *caseBuild) hotShares() (share2, share3 float64, seen, n int, ok bool) {
	f, t := &c.facts, c.stacks.switches
	if t == nil || len(c.rows) == 0 || c.rows[0].src.ID == t.Pos.Source || f.Hot == 0 || c.stacks.total == 0 {
		return 0, 0, 0, 0, false
	}
	hot := map[int]bool{}
	for i := range f.Threads[:f.Hot] {
		hot[f.Threads[i].Task.TID] = true
		share2 += f.Threads[i].Share
	}
	found := map[int]bool{}
	for i := range t.Samples {
		sm := &t.Samples[i]
		if sm.Task >= 0 && hot[t.Tasks[sm.Task].TID] && c.sel.keep(t.Tasks[sm.Task]) {
			share3 += sm.Weight / c.stacks.total
			found[t.Tasks[sm.Task].TID] = true
		}
	}
	return share2, share3, len(found), f.Hot, true
}

// checkBlocks mentions counter blocks that were not used.
func (c *caseBuild) checkBlocks() []Check {
	main := c.mainBlock()
	var places []string
	for _, i := range c.sel.blocks {
		if b := &c.sel.set.Counters[i]; b != main {
			places = append(places, Place(c.facts.Names, b.Pos.Source, evidence.Some(b.Pos.Line)))
		}
	}
	if len(places) == 0 {
		return nil
	}
	return []Check{{ID: "blocks", Status: CheckMissing, Text: Textf("%d more counter blocks of the same subject were not added up: %s",
		len(places), strings.Join(places[:min(len(places), 4)], ", "))}}
}

func (c *caseBuild) checkUnmeasurable() []Check {
	var out []Check
	for _, i := range c.sel.blocks {
		b := &c.sel.set.Counters[i]
		for k := range b.Counters {
			if n := &b.Counters[k]; n.Status == evidence.StatusUnmeasurable {
				out = append(out, Check{ID: "unmeasurable", Status: CheckMissing, Text: Textf("%s: %s",
					Place(c.facts.Names, b.Pos.Source, evidence.Some(n.Pos.Line)), notUsable(n))})
			}
		}
	}
	return out
}

// checkDropped shows what a reader could not read; at most three lines a source.
func (c *caseBuild) checkDropped() []Check {
	var out []Check
	for _, id := range c.sel.sources {
		s := c.sel.set.Source(id)
		for i, d := range s.Dropped {
			if i == 3 {
				out = append(out, Check{ID: "dropped", Status: CheckMissing, Text: Textf("%s: %d more dropped", Code(c.facts.Names[id]), s.DroppedTotal-i)})
				break
			}
			at := fmt.Sprintf("%s:%d", c.facts.Names[id], d.Line)
			if d.Line == 0 {
				at = fmt.Sprintf("%s, offset %d", c.facts.Names[id], d.Offset)
			}
			out = append(out, Check{ID: "dropped", Status: CheckMissing, Text: Textf("%s dropped: %s", at, d.Err)})
		}
	}
	return out
}

func (c *caseBuild) checkWarnings() []Check {
	var out []Check
	for _, id := range c.sel.sources {
		s := c.sel.set.Source(id)
		for _, w := range s.Warnings {
			out = append(out, Check{ID: "warning", Status: CheckDiffer, Text: Textf("%s: %s", Code(c.facts.Names[id]), w)})
		}
	}
	return out
}

// checkLoss says what is known to be missing from the traces.
func (c *caseBuild) checkLoss() []Check {
	l := c.facts.Loss
	k := Check{ID: "loss", Status: CheckPass}
	switch {
	case !l.Any() && !c.facts.Has.Trace && c.stacks.switches == nil:
		return nil // no trace, so nothing a tracer could have lost
	case !l.Any():
		k.Text = Textf("lost events 0, chain breaks 0")
		return []Check{k}
	case !c.facts.Has.Trace && l.Truncated:
		k.Status, k.Text = CheckDiffer, Textf("a capture is cut off: what it held before is used")
		return []Check{k}
	}
	k.Status = CheckDiffer
	lost := max(l.LostRecords, l.LostSamples)
	k.Text = Textf("lost events %s, chain breaks %s%s: no delay or wait is reported across them", quantity.Count(lost),
		quantity.Count(l.ChainBreaks), truncatedNote(l))
	k.Lowers = c.lossy()
	return []Check{k}
}

// checkFooter says that a block without its last lines may be cut off.
func (c *caseBuild) checkFooter() []Check {
	b := c.mainBlock()
	if b == nil || b.ElapsedS.OK {
		return nil
	}
	return []Check{{ID: "footer", Status: CheckMissing, Text: Textf("%s has no line %s: it may be cut off",
		Place(c.facts.Names, b.Pos.Source, evidence.Some(b.Pos.Line)), Code("seconds time elapsed"))}}
}

// lossy reports whether the traces lost so much that what is left may mislead,
// and that their rates are far too low.
func (c *caseBuild) lossy() bool {
	l := c.facts.Loss
	lost, total := float64(max(l.LostRecords, l.LostSamples)), c.stacks.total
	if n, ok := c.facts.Layer2.Switches.Get(); ok {
		total = float64(n)
	}
	return lost > 0 && lost > lossShare*(total+lost)
}

// lossShare: a trace that lost more than this of its events may have lost what
// decides.
const lossShare = 0.25

func truncatedNote(l evidence.Loss) string {
	if l.Truncated {
		return ", and the capture ends early"
	}
	return ""
}
