package analyze

import (
	"fmt"
	"strings"

	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
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
	case len(f.Macro.Implausible) > 0:
		v.Summary = Textf("The counters of %s contradict themselves: %s.", who, f.Macro.Implausible[0])
	case c.leadersOnly() && !f.Has.Counters:
		v.Summary = Textf("What %s switches is not known: the capture shows main threads only.", who)
	case f.Has.Unnamed:
		v.Summary = Textf("%s %s, and the stacks that would say why have no kernel symbols.", capital(who), c.often())
	case f.Subject.Kind == SubjectThreads && !stacks:
		v.Summary = Textf("%s %s, but nothing here says why.", capital(who), c.often())
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
	case m.Grade.Rank() >= GradeElevated.Rank() && m.ImpactWord != "negligible":
		return Textf("switches often enough to look into")
	case ok:
		return Textf("switches %s times a second", quantity.Whole(rate))
	}
	if r, ok := c.facts.Layer2.SwitchesPerS.Get(); ok {
		return Textf("switches %s times a second", quantity.Whole(r))
	}
	return Textf("switches at a rate that is not in the input")
}

func (c *caseBuild) calmRate() bool {
	g := c.facts.Macro.Grade
	return (g == GradeHealthy || g == GradeNormal) && !c.facts.Macro.matters()
}

// decide lists the commands that give what is missing.
func (c *caseBuild) decide() []Command {
	f := &c.facts
	switch {
	case c.lossy():
		return []Command{{Line: CaptureLarger(), Why: Textf("the same with larger buffers (as root)")}}
	case len(f.Macro.Implausible) > 0:
		return []Command{{Line: captureMacro(f), Why: Textf("the counters again (as root)")}}
	case c.leadersOnly() && !f.Has.Stacks:
		return []Command{{Line: captureThreads(f), Why: Textf("the same with all threads")}}
	case f.Has.Unnamed:
		return []Command{{Line: CopyKallsyms, Why: Textf("the names of the kernel's frames: on the machine of the capture, before it reboots; give the file by --kallsyms")}}
	case !f.Has.Threads && !f.Has.Stacks:
		return []Command{{Line: CaptureBoth(), Why: Textf("answers both missing layers, in half a second (as root); give it to ctxan beside this file")}}
	case !f.Has.Stacks:
		return []Command{{Line: captureStacks(f), Why: Textf("what each switch waits for (as root)")}}
	case !f.Has.Wakeups:
		return []Command{{Line: CaptureBoth(), Why: Textf("who wakes whom, and the scheduling delay (as root)")}}
	case !f.Has.Counters:
		return []Command{{Line: captureMacro(f), Why: Textf("what it costs")}}
	}
	var out []Command
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && v < 0.5 && f.Subject.PID.OK {
		out = append(out, Command{Line: QuotaCounts(fmt.Sprint(f.Subject.PID.V)),
			Why: Textf("twice, some seconds apart: whether a CPU quota holds the group back (nr_throttled)")})
	}
	if len(f.Blocking) > 0 && f.Blocking[0].Reason.Class == signature.ClassFutex && f.Subject.PID.OK {
		out = append(out, Command{Line: fmt.Sprintf("perf record --call-graph dwarf --buildid-all -e sched:sched_switch -p %d -o callers.data -- sleep 0.2", f.Subject.PID.V),
			Why: Textf("the callers that libc hides: which lock or condition it is (as root)")})
	}
	if len(out) == 0 {
		out = append(out, Command{Line: strings.Replace(CaptureBoth(), "sleep 0.5", "sleep 3", 1), Why: Textf("a longer recording with wakeups (as root)")})
	}
	return out
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
