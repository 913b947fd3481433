package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// EventLoopIdle: a loop that blocks until the next event is what a program
// should do; its switches follow its work.
var EventLoopIdle = &analyze.Rule{
	ID:    "event-loop-idle",
	Doc:   "healthy: event loops wait for their next event, and the switches follow the work",
	Run:   eventLoop,
	Rival: func(f *analyze.Facts) (analyze.Rival, bool) { return analyze.Rival{}, false },
}

func eventLoop(f *analyze.Facts) []analyze.Finding {
	w := waitsFor(f.Blocking, ofClass(signature.ClassEvent))
	after := triggerShare(f, analyze.TriggerHandOff)
	if !cheap(f) || !switchWaits(f) || w.share+after < mainShare || w.ofWaits < mainShare || len(timedWait(f)) > 0 {
		return nil
	}
	g := ground{}
	g.decide(stacks, quantity.Percent(w.share, 1)+" of the switches wait for the next event")
	agreeVoluntary(f, &g)
	g.compare(f)
	fd := analyze.Finding{ID: "event-loop-idle", Severity: "info", Share: some(w.share)}
	g.apply(&fd)
	ws := heaviest(waiters(f, ofClass(signature.ClassEvent), 0))
	if len(ws) > 0 {
		fd.Summary = text("%s wait%s for events, %s: %s, as an event loop should.", threadsOf(f, ws), s(len(ws)), rateSpan(ws), partOf(f, w.share))
	} else {
		fd.Summary = text("%s wait%s for events: %s, as an event loop should.", subjectName(f), verbS(f), partOf(f, w.share))
	}
	fd.Claim = blocks(f, &w)
	fd.Shown = []analyze.Text{fd.Claim}
	if t := costBound(f); t != nil {
		fd.Shown = append(fd.Shown, t)
	}
	fd.Evidence = append(rateEvidence(ws), reasonEvidence(w.reasons)...)
	return settled(f, fd)
}
