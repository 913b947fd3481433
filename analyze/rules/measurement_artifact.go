package rules

import "ctxan/analyze"

// MeasurementArtifact: the capture cannot be what it says, and there is no
// other one: whatever it reads, it is no property of the program.
var MeasurementArtifact = &analyze.Rule{
	ID:    "measurement-artifact",
	Doc:   "the figures come from how they were measured: a counter that cannot count, or values that contradict each other",
	Run:   artifact,
	Rival: func(*analyze.Facts) (analyze.Rival, bool) { return analyze.Rival{}, false },
}

func artifact(f *analyze.Facts) []analyze.Finding {
	why, figure := artifactOf(f)
	if why == nil {
		return nil
	}
	g := ground{}
	g.decide(counters, why.String())
	fd := analyze.Finding{ID: "measurement-artifact", Severity: "info"}
	g.apply(&fd)
	fd.Summary = text("The capture of %s does not measure its switches: %s.", subjectIn(f), figure)
	fd.Claim = text("%s.", upper(why.String()))
	fd.Shown = []analyze.Text{fd.Claim}
	for _, in := range f.Macro.Inputs {
		fd.Evidence = append(fd.Evidence, in.Evidence)
	}
	fd.Advice = []analyze.Advice{{Do: text("Measure again, as root or with kernel.perf_event_paranoid at most 1, and without the modifier :u; no conclusion follows from these figures.")}}
	fd.Next = []analyze.Command{{Line: analyze.CaptureMacro(f), Why: text("the counters again (as root)")}}
	return settled(f, fd)
}

// artifactOf says what is wrong with the only counters there are.
func artifactOf(f *analyze.Facts) (why, short analyze.Text) {
	if f.Has.Threads || f.Has.Stacks {
		return nil, nil // another capture tells
	}
	switch {
	case f.Macro.Unmeasurable != nil:
		return f.Macro.Unmeasurable, text("the counter reads 0 whatever happens")
	case len(f.Macro.Implausible) > 0:
		return f.Macro.Implausible[0], text("its counters contradict themselves")
	}
	return nil, nil
}
