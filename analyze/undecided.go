package analyze

import (
	"strings"

	"ctxan/analyze/quantity"
)

// cannotTell is the verdict when no rule concludes anything: what is known,
// what is missing, and the commands that would decide.
func (c *caseBuild) cannotTell() Finding {
	f := &c.facts
	v := Finding{ID: "cannot-tell", Confidence: ConfidenceNone, Severity: "info"}
	who := f.Subject.Name()
	threads, stacks := f.Has.Threads, f.Has.Stacks
	switch {
	case c.lossy():
		lost := max(f.Loss.LostRecords, f.Loss.LostSamples)
		v.Summary = Textf("The recording of %s lost %s events: what is left does not show how often it switches, or why.", who, quantity.Count(lost))
	case !threads && !stacks:
		v.Summary = Textf("%s %s, but nothing here says which threads do it, or why.", capital(who), c.often())
	case !stacks:
		v.Summary = Textf("%s %s, but nothing here says what its threads wait for, or what takes the CPU from them.", capital(who), c.often())
	case !threads:
		v.Summary = Textf("%s %s, but nothing here says which threads do it, and the stacks do not decide.", capital(who), c.often())
	default:
		v.Summary = Textf("%s %s, and what the captures hold fits several causes, or none.", capital(who), c.often())
	}
	if c.calmRate() && !c.lossy() {
		v.Against = append(v.Against, Textf("the rate is low: there may be nothing to explain"))
	}
	v.Next = c.decide()
	return v
}

// often says how much the subject switches.
func (c *caseBuild) often() Text {
	m := &c.facts.Macro
	rate, ok := m.Value(FigRate).Get()
	switch {
	case m.Grade.Rank() >= GradeElevated.Rank():
		return Textf("switches often enough to look into")
	case ok:
		return Textf("switches %s times a second", quantity.Whole(rate))
	}
	if r, ok := c.facts.Layer2.SwitchesPerS.Get(); ok {
		return Textf("switches %s times a second", quantity.Whole(r))
	}
	return Textf("was captured")
}

func (c *caseBuild) calmRate() bool {
	g := c.facts.Macro.Grade
	return g == GradeHealthy || g == GradeNormal
}

// decide lists the commands that give what is missing.
func (c *caseBuild) decide() []Command {
	f := &c.facts
	switch {
	case c.lossy():
		return []Command{{Line: strings.Replace(CaptureBoth(), "-a -g", "-a -g -m 64M", 1), Why: Textf("the same with larger buffers (as root)")}}
	case !f.Has.Threads && !f.Has.Stacks:
		return []Command{{Line: CaptureBoth(), Why: Textf("answers both missing layers, in half a second (as root); give it to ctxan beside this file")}}
	case !f.Has.Stacks:
		return []Command{{Line: captureStacks(f), Why: Textf("what each switch waits for (as root)")}}
	case !f.Has.Wakeups:
		return []Command{{Line: CaptureBoth(), Why: Textf("who wakes whom, and the scheduling delay (as root)")}}
	case !f.Has.Counters:
		return []Command{{Line: captureMacro(f), Why: Textf("what it costs")}}
	}
	return []Command{{Line: CaptureBoth(), Why: Textf("the same again, over a moment that matters (as root)")}}
}

// capital starts a text with a capital letter, unless a name starts it.
func capital(t Text) Text {
	if len(t) == 0 || t[0].Code {
		return t
	}
	out := append(Text(nil), t...)
	out[0].S = upperFirst(out[0].S)
	return out
}
