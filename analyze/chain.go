package analyze

import (
	"fmt"
	"math"
	"slices"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// chain builds the three links around the verdict.
func (c *caseBuild) chain() []Link {
	return []Link{c.linkMacro(), c.linkThreads(), c.linkStacks()}
}

// isCalm reports whether a cause is that nothing is wrong.
func isCalm(id string) bool { return id == "healthy" || id == "event-loop-idle" }

// calm reports whether the verdict is that nothing is wrong.
func (c *caseBuild) calm() bool { return isCalm(c.verdict.ID) }

// matters reports whether layer 1's figures are worth a diagnosis.
func (m *Macro) matters() bool {
	return m.Grade.Rank() >= GradeElevated.Rank() && m.ImpactWord != "negligible" ||
		m.ImpactWord == "notable" || m.ImpactWord == "large"
}

func (c *caseBuild) linkMacro() Link {
	m := &c.facts.Macro
	l := Link{Layer: "macro", Status: LinkMissing, Title: Textf("Is it enough to matter?"), Claim: c.macroClaim()}
	if m.FromTrace && c.lossy() {
		l.Claim, l.Capture = Textf("Not measured, and the trace lost too much to tell."), evidence.Some(captureMacro(&c.facts))
		return l
	}
	if !c.facts.Has.Counters || m.FromTrace { // or none of the switches
		l.Capture = evidence.Some(captureMacro(&c.facts))
		switch {
		case m.FromCounts && m.Grade != GradeNone:
			l.Claim = Textf("%s This is the threads' own sum, no second measurement; the CPU time of schedstat has the switching in it, which task-clock leaves out.", l.Claim)
		case m.FromTrace && m.Grade != GradeNone:
			l.Claim = Textf("%s This is the trace's own sum, no second measurement.", l.Claim)
		}
		return l
	}
	if len(m.Implausible) > 0 {
		l.Claim, l.Capture, l.From = Textf("The counters cannot be right: %s.", m.Implausible[0]), evidence.Some(captureMacro(&c.facts)), c.from(m.Sources)
		return l
	}
	if m.Grade == GradeNone && !m.Value(FigRate).OK {
		l.Claim = Textf("The counters given do not tell the switch rate: %s.", c.whyNoRate())
		l.Capture = evidence.Some(captureMacro(&c.facts))
		l.From = c.from(m.Sources)
		return l
	}
	l.Status, l.From = LinkSupports, c.from(m.Sources)
	l.Title = Textf("It is enough to matter")
	switch {
	case c.calm():
		l.Title = Textf("It is not enough to matter")
		if m.matters() {
			l.Status, l.Title = LinkContradicts, Textf("The rate is not low")
		}
	case !m.matters() && c.verdict.Confidence != ConfidenceNone && m.ImpactWord == "negligible":
		l.Status, l.Title = LinkContradicts, Textf("It costs next to nothing")
	case !m.matters():
		l.Title = Textf("The rate is ordinary")
	}
	for _, fig := range m.Figures {
		l.Evidence = append(l.Evidence, fig.Inputs...)
	}
	l.Evidence = dedupe(l.Evidence)
	l.Arithmetic = c.sumLayers()
	return l
}

func (c *caseBuild) whyNoRate() string {
	if f, _ := c.facts.Macro.Figure(FigRate); f != nil && f.Missing != "" {
		return f.Missing
	}
	return "context-switches is not in the input"
}

func dedupe(es []Evidence) []Evidence {
	var out []Evidence
	for _, e := range es {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// macroClaim is layer 1 in a line.
func (c *caseBuild) macroClaim() Text {
	m := &c.facts.Macro
	var t Text
	add := func(s Text) {
		if t != nil {
			t = Textf("%s %s", t, s)
		} else {
			t = s
		}
	}
	if f, ok := m.Figure(FigBetween); ok {
		add(Textf("One switch every %s of CPU.", f.Text()))
	} else if f, ok := m.Figure(FigRate); ok {
		if _, used := m.Figure(FigCPUs); used {
			add(Textf("%s switches/s.", f.Text()))
		} else {
			add(Textf("%s switches/s; the CPU time is not known.", f.Text()))
		}
	}
	if f, ok := m.Figure(FigIPC); ok {
		add(Textf("IPC %s%s.", f.Text(), ipcClause(f.Value.V)))
	}
	if f, ok := m.Figure(FigMigrations); ok {
		add(Textf("Migrations %s.", f.Text()))
	}
	if t == nil {
		return Textf("Not captured.")
	}
	return t
}

func ipcClause(v float64) string {
	switch {
	case v >= highIPC:
		return ": the code runs well when it runs"
	case v < lowIPC:
		return ": low"
	}
	return ""
}

// sumLayers sets layer 1's rate against the sum of layer 2's.
func (c *caseBuild) sumLayers() []Sum {
	one, two, ok := c.crossRates()
	f := &c.facts
	if !ok {
		v, has := f.Macro.Value(FigRate).Get()
		if !has {
			return nil
		}
		fig, _ := f.Macro.Figure(FigRate)
		return []Sum{{ID: "layer-sum", Mark: MarkMissing, Rows: []SumRow{
			{Label: "layer 1", Value: evidence.Some(v), Unit: UnitPerS, Note: Textf("%s", fig.Arithmetic)},
			{Label: "layer 2, sum", Unit: UnitPerS}}}}
	}
	hot := 0.0
	for i := range f.Threads[:f.Hot] {
		hot += f.Threads[i].SwitchesPerS.V
	}
	fig, _ := f.Macro.Figure(FigRate)
	diff, mark := compareRates(one, two)
	rows := []SumRow{
		{Label: countLabel(f.Hot, "hot thread", "hot threads"), Value: evidence.Some(hot), Unit: UnitPerS},
		{Label: countLabel(len(f.Threads)-f.Hot, "other thread", "other threads"), Value: evidence.Some(two - hot), Unit: UnitPerS},
		{Label: "layer 2, sum", Value: evidence.Some(two), Unit: UnitPerS, Note: Textf("%s", c.lineSpan(c.rows[0]))},
		{Label: "layer 1", Value: evidence.Some(one), Unit: UnitPerS, Note: Textf("%s", fig.Arithmetic)},
		{Label: "difference", Value: evidence.Some(diff), Unit: UnitRatio, Digits: -2, Mark: mark,
			Note: Textf("allowed ±%s", quantity.Percent(AgreeWithin, 0))},
	}
	if f.Hot == len(f.Threads) {
		rows = slices.Delete(rows, 1, 2)
	}
	return []Sum{{ID: "layer-sum", Mark: mark, Rows: rows}}
}

func countLabel(n int, one, many string) string {
	if n != 1 {
		one = many
	}
	return fmt.Sprintf("%d %s", n, one)
}

// lineSpan names the lines that the rows of a source stand on.
func (c *caseBuild) lineSpan(rs *rowSource) string {
	name := c.facts.Names[rs.src.ID]
	lo, hi := math.MaxInt, 0
	for _, t := range rs.rows {
		if t.Pos.Line > 0 {
			lo, hi = min(lo, t.Pos.Line), max(hi, t.Pos.Line)
		}
	}
	switch {
	case hi == 0:
		return name
	case lo == hi:
		return fmt.Sprintf("%s:%d", name, lo)
	}
	return fmt.Sprintf("%s:%d-%d", name, lo, hi)
}

func (c *caseBuild) from(ids []int) []string {
	var out []string
	for _, id := range ids {
		if n := c.facts.Names[id]; !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func (c *caseBuild) linkThreads() Link {
	f := &c.facts
	l := Link{Layer: "threads", Status: LinkMissing, Title: Textf("Who, and willingly or not?")}
	if !f.Has.Threads {
		l.Claim = Textf("Not captured.")
		if c.leadersOnly() {
			l.Claim, l.From = Textf("Main threads only: the others are not in the capture."), c.from(f.Layer2.Sources)
		}
		l.Capture = evidence.Some(captureThreads(f))
		return l
	}
	l.From = c.from(f.Layer2.Sources)
	if c.rows[0].trace && c.lossy() {
		l.Claim = Textf("The trace lost too much: who is left in it need not be who switches most.")
		l.Capture = evidence.Some(captureThreads(f))
		return l
	}
	l.Status, l.Title, l.Claim = LinkSupports, c.threadsTitle(), c.threadsClaim()
	l.Share = f.Layer2.TopShare
	for i := range f.Threads[:f.Hot] {
		l.Evidence = append(l.Evidence, f.Threads[i].Evidence...)
	}
	l.Arithmetic = c.compareShares()
	if one, two, ok := c.crossRates(); ok && contradicts(one, two) {
		l.Status = LinkContradicts
	}
	return l
}

// threadsTitle states who does it and whether they want it.
func (c *caseBuild) threadsTitle() Text {
	f := &c.facts
	who := Textf("%s threads do it", upperFirst(quantity.Small(f.Hot)))
	if f.Hot == 1 {
		who = Textf("One thread does it")
	}
	if len(f.Threads) == f.Hot && f.Hot == 2 {
		who = Textf("Both threads do it")
	} else if len(f.Threads) == f.Hot && f.Hot > 2 {
		who = Textf("All %s threads do it", quantity.Small(f.Hot))
	}
	v, ok := f.Layer2.VoluntaryShare.Get()
	own, by := "they do it themselves", "by themselves"
	if f.Hot == 1 {
		own, by = "by itself", "by itself"
	}
	switch {
	case !ok:
		return Textf("%s; willingly or not is not in the input", who)
	case v >= 0.9:
		return Textf("%s, and %s", who, own)
	case v <= 0.1:
		return Textf("%s, and not willingly", who)
	}
	return Textf("%s, %s of it %s", who, quantity.Percent(v, 0), by)
}

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

func (c *caseBuild) threadsClaim() Text {
	f := &c.facts
	hot := f.Threads[:f.Hot]
	if len(hot) == 0 {
		return Textf("No thread switched.")
	}
	share, _ := f.Layer2.TopShare.Get()
	verb := "make"
	if len(hot) == 1 {
		verb = "makes"
	}
	t := Textf("%s %s %s of the switches", NameList(hot), verb, quantity.Percent(share, 1))
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok {
		t = Textf("%s, %s", t, willingness(v))
	}
	if f.Wake.Total > 0 {
		t = Textf("%s; %s of the wakeups come from interrupts", t, quantity.Percent(float64(f.Wake.IRQ)/float64(f.Wake.Total), 1))
		if len(f.Threads) > 1 {
			t = Textf("%s, %s from each other", t, quantity.Percent(float64(f.Wake.Inside)/float64(f.Wake.Total), 1))
		}
	}
	return Textf("%s.", t)
}

// willingness is the voluntary share of all switches in words.
func willingness(v float64) string {
	switch {
	case v == 1:
		return "all voluntary"
	case v == 0:
		return "all involuntary"
	}
	return quantity.Percent(v, 1) + " of all voluntary"
}

// compareShares sets layer 2 against layer 3: the voluntary share against that
// on a blocking path, the hot threads against those sampled.
func (c *caseBuild) compareShares() []Sum {
	f := &c.facts
	var out []Sum
	v, okV := f.Layer2.VoluntaryShare.Get()
	blocking, okB := c.blockingShare()
	if okV && okB {
		mark := MarkAgree
		if math.Abs(v-blocking) > pointsWithin {
			mark = MarkDiffer
		}
		out = append(out, Sum{ID: "voluntary", Mark: mark, Rows: []SumRow{
			{Label: "voluntary, layer 2", Value: evidence.Some(v), Unit: UnitRatio, Digits: -2},
			{Label: "on a blocking path, layer 3", Value: evidence.Some(blocking), Unit: UnitRatio, Digits: -2},
			{Label: "difference", Value: evidence.Some(math.Abs(v - blocking)), Unit: UnitPoints, Mark: mark,
				Note: Textf("allowed %s", quantity.Fixed(pointsWithin*100, 0))},
		}})
	}
	if s2, s3, seen, n, ok := c.hotShares(); ok {
		mark := MarkAgree
		if seen < n || math.Abs(s2-s3) > 3*pointsWithin {
			mark = MarkDiffer
		}
		out = append(out, Sum{ID: "hot-tids", Mark: mark, Rows: []SumRow{
			{Label: "hot threads, layer 2", Value: evidence.Some(s2), Unit: UnitRatio, Digits: -2},
			{Label: "same TIDs, layer 3", Value: evidence.Some(s3), Unit: UnitRatio, Digits: -2, Mark: mark, Note: Textf("%d of %d TIDs", seen, n)},
		}})
	}
	return out
}

// blockingShare is the share of the switch stacks that block on something.
func (c *caseBuild) blockingShare() (float64, bool) {
	if !c.facts.Has.Stacks || c.stacks.total == 0 {
		return 0, false
	}
	sum := 0.0
	for _, b := range c.facts.Blocking {
		sum += b.Share
	}
	return min(sum, 1), true
}

func (c *caseBuild) linkStacks() Link {
	f := &c.facts
	l := Link{Layer: "stacks", Status: LinkMissing, Title: Textf("Where in the code?")}
	switch {
	case f.Has.Unnamed:
		l.Claim = Textf("The stacks of %s of the switches have kernel frames without names; give that machine's symbols by --kallsyms.", quantity.Percent(c.stacks.unnamed/c.stacks.total, 1))
		l.Capture, l.From = evidence.Some(CopyKallsyms), c.from(c.stacks.sources)
		return l
	case !f.Has.Stacks && !f.Has.CPUStacks:
		l.Claim = Textf("Not captured.")
		if len(c.stacks.profile) > 0 {
			l.Claim = Textf("The profile does not show what the switches wait for.")
			l.From = c.from(c.stacks.sources)
		}
		l.Capture = evidence.Some(captureStacks(f))
		return l
	case len(f.Blocking) == 0 && len(f.CPU) == 0 && c.mainTriggerRow() < 0:
		l.Claim = Textf("The stacks show no path that the signature table knows.")
		l.Capture, l.From = evidence.Some(captureStacks(f)), c.from(c.stacks.sources)
		return l
	}
	l.From = c.from(c.stacks.sources)
	l.Status, l.Title, l.Claim = LinkSupports, c.stacksTitle(), c.verdict.Claim
	if l.Claim == nil {
		l.Claim = c.stacksClaim()
	}
	if c.verdict.Claim == nil && c.verdict.Confidence.Rank() > 0 && !c.calm() && f.Has.Stacks && len(f.Blocking) > 0 {
		l.Status = LinkContradicts
	}
	l.Evidence = c.stackEvidence()
	return l
}

func (c *caseBuild) stacksTitle() Text {
	switch {
	case len(c.facts.Blocking) > 0 && c.facts.Blocking[0].Share >= 0.5:
		return Textf("Most of them wait: %s", c.facts.Blocking[0].Reason.Label)
	case c.mainTriggerRow() >= 0 && (len(c.facts.Blocking) == 0 || c.triggerShare() >= 0.5):
		return Textf("Most of them are preempted: %s", Trigger(c.mainTriggerRow()).Label())
	case len(c.facts.Blocking) > 0:
		return Textf("They wait for several things, most often: %s", c.facts.Blocking[0].Reason.Label)
	case len(c.facts.CPU) > 0:
		return Textf("The CPU samples show the path: %s", c.facts.CPU[0].Reason.Label)
	}
	return Textf("The stacks")
}

// stacksClaim is layer 3 in a line when no rule said it.
func (c *caseBuild) stacksClaim() Text {
	f := &c.facts
	switch {
	case c.mainTriggerRow() >= 0 && (len(f.Blocking) == 0 || c.triggerShare() > f.Blocking[0].Share):
		t := Trigger(c.mainTriggerRow())
		return Textf("%s of the switches are involuntary: %s (%s).", quantity.Percent(c.triggerShare(), 1), t.Label(), Code(f.Triggers[t].Frame))
	case len(f.Blocking) > 0:
		b := f.Blocking[0]
		if b.FrameShare > 0 && b.FrameShare < 0.95*b.Share {
			return Textf("%s of the switches wait (%s), %s of all in %s.", quantity.Percent(b.Share, 1), b.Reason.Label,
				quantity.Percent(b.FrameShare, 1), Code(b.Frame))
		}
		return Textf("%s of the switches block in %s (%s).", quantity.Percent(b.Share, 1), Code(b.Frame), b.Reason.Label)
	case len(f.CPU) > 0:
		b := f.CPU[0]
		return Textf("%s of the CPU samples lie on the %s path (%s).", quantity.Percent(b.Share, 2), b.Reason.Label, Code(b.Frame))
	}
	return Textf("The stacks show no path that the signature table knows.")
}

// mainTriggerRow is the trigger of most involuntary switches that a stack
// decided; -1 for none.
func (c *caseBuild) mainTriggerRow() int {
	best := -1
	for t, x := range c.facts.Triggers {
		if Trigger(t) != TriggerUnknown && x.Switches > 0 && x.Frame != "" && (best < 0 || x.Switches > c.facts.Triggers[best].Switches) {
			best = t
		}
	}
	return best
}

// triggerShare is the main trigger's share of all switches with a stack.
func (c *caseBuild) triggerShare() float64 {
	if t := c.mainTriggerRow(); t >= 0 && c.stacks.total > 0 {
		return c.facts.Triggers[t].Switches / c.stacks.total
	}
	return 0
}

func (c *caseBuild) stackEvidence() []Evidence {
	var out []Evidence
	for _, b := range slices.Concat(c.facts.Blocking, c.facts.CPU) {
		if len(b.Evidence) > 0 {
			out = append(out, b.Evidence...)
		} else if t := c.stacks.switches; t != nil && b.Switches > 0 {
			out = append(out, Evidence{Source: t.Pos.Source, Offset: evidence.Some(t.Pos.Offset), Figure: "switches in " + b.Frame, Value: b.Switches, Unit: "switches"})
		}
	}
	for _, k := range c.facts.Callers[:min(len(c.facts.Callers), 3)] {
		out = append(out, k.Evid)
	}
	return out
}
