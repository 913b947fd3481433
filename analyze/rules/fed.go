package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// fed concludes "healthy" at a rate that is normal and not negligible: work
// comes from outside, each piece is passed on and served once, and nobody comes
// back with nothing done. Such switches are the work's own.
func fed(f *analyze.Facts) []analyze.Finding {
	if f.Macro.Grade != analyze.GradeHealthy && f.Macro.Grade != analyze.GradeNormal || !oneWay(f) {
		return nil
	}
	w := waitsFor(f.Blocking, func(r signature.Reason) bool { return wanted(r) || r.ID == "futex" })
	if !switchWaits(f) || w.ofWaits < willing {
		return nil
	}
	outside := float64(f.Wake.Outside) / float64(f.Wake.Total)
	g := ground{}
	g.fit(fmt.Sprintf("%s of the wakeups bring work from outside, the others pass it on", percent(outside)))
	g.fit("no two threads wake each other in turn, and none is woken by a timer")
	g.atMost(analyze.ConfidenceLow, fmt.Sprintf("a fit: %s of the wakeups bring work from outside, and the others pass it on, one for one; how useful each piece is, no capture says", percent(outside)))
	fd := analyze.Finding{ID: "healthy", Severity: "info"}
	g.apply(&fd)
	rate, _ := switchRate(f)
	fd.Summary = text("%s switch%s %s, as its work comes in: threads wait for work, are woken for it once, and wait again.", subjectName(f), es(f), times(rate))
	fd.Claim = blocks(f, &w)
	fd.Shown = []analyze.Text{fd.Claim, text("%s of the wakeups come from tasks outside, %s from threads of the subject, and %s from timers and devices.",
		percent(outside), percent(float64(f.Wake.Inside)/float64(f.Wake.Total)), percent(float64(f.Wake.IRQ)/float64(f.Wake.Total)))}
	fd.Evidence = append(rateEvidence(heaviest(allWaiters(f))), reasonEvidence(w.reasons)...)
	fd.Next = settle(f, nil)
	return settled(f, fd)
}

// oneWay reports whether wakeups go one way, from outside in and on to the
// next: nobody answers, nobody wakes a crowd, and no timer makes work of its own.
func oneWay(f *analyze.Facts) bool {
	if f.Wake.Total < fewGaps || float64(f.Wake.Outside) < partShare*float64(f.Wake.Total) {
		return false
	}
	irq, ok := wokenByIRQ(f)
	if !ok || irq > unwilling || herdOf(f) != nil {
		return false
	}
	for _, p := range f.Wake.Pairs {
		if answers(p) {
			return false
		}
	}
	share, _ := crowd(f)
	return share < traceShare
}
