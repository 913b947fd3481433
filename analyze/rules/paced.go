package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// pacedBySender: the subject waits for what one other process sends, and that
// process sleeps by timer before each: the sleep there paces the switches here.
func pacedBySender(f *analyze.Facts) []analyze.Finding {
	p, share := sender(f)
	w := waitsFor(f.Blocking, func(r signature.Reason) bool { return byPeer(r) || maybe(r) })
	if p == nil || w.share < mainShare || float64(p.IRQ) < fromIRQ*float64(p.Woken) {
		return nil
	}
	sleeps := waitsFor(p.Blocking, timerSleep)
	if r, ok := switchRate(f); sleeps.share < mainShare || !ok || r*w.share < minPollPerS {
		return nil
	}
	g := ground{}
	why := fmt.Sprintf("%s of the wakeups come from one sender, which sleeps by timer in %s of its switches", percent(share), percent(sleeps.share))
	g.decide(threads, why)
	g.atMost(analyze.ConfidenceMedium, why)
	g.compareWillingness(f)
	fd := analyze.Finding{ID: "short-sleep-polling", Severity: severity(f), Share: some(w.share)}
	g.apply(&fd)
	fd.Summary = text("%s wait%s for %s, which sleeps by timer before each thing it sends: %s.", subjectName(f), verbS(f), name(p.Task), partOf(f, w.share))
	fd.Claim = blocks(f, &w)
	fd.Shown = []analyze.Text{fd.Claim,
		text("%s makes %s of the wakeups, and nothing here wakes it in turn; %s of its own %s wakeups come from interrupts.", name(p.Task), percent(share),
			percent(float64(p.IRQ)/float64(p.Woken)), quantity.Count(p.Woken))}
	fd.Evidence = append(rateEvidence(heaviest(allWaiters(f))), reasonEvidence(w.reasons)...)
	fd.Advice = []analyze.Advice{{Do: text("Change the sender, not the receiver: let %s sleep longer, or collect and send several things at a time.", name(p.Task)),
		Effects: []analyze.Effect{{Label: "switches", Value: text("one per sleep of the sender, on both sides → one per batch")}}, Price: text("what is sent comes later")}}
	fd.Next = settle(f, nil)
	return settled(f, fd)
}
