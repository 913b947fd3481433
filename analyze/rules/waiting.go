package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// waiting is a cause that is what threads wait for: switch stacks decide it,
// and everything else only agrees or not.
type waiting struct {
	id, doc string
	pass    func(signature.Reason) bool
	many    string // what several threads do: "wait for the disk"
	one     string // and one, or the subject: "waits for the disk"
	noun    string // "waits for the disk"
	look    string // the frames that show it
	common  bool   // worth a line when rejected

	// also are switches that may belong to the cause besides the waits, and what
	// they are; they are told with their own share, and decide nothing.
	also   func(*analyze.Facts) float64
	alsoIs string
	// weigh adds what else speaks for or against it.
	weigh  func(*analyze.Facts, *wait, *ground)
	advise func(*analyze.Facts, *wait) []analyze.Advice
	next   []analyze.Command // recordings that the advice speaks of
	// fit ranks it where no stack decides; nil: never a candidate.
	fit func(*analyze.Facts) (float64, string)
	// blind ranks it by the states of a trace without stacks, which speak for it
	// whatever else is captured; nil: they do not.
	blind func(*analyze.Facts) (float64, string)
}

func (k *waiting) rule() *analyze.Rule {
	return &analyze.Rule{ID: k.id, Doc: k.doc, Run: k.run, Rival: k.rival}
}

// measure sums the switches that belong to the cause.
func (k *waiting) measure(f *analyze.Facts) (wait, float64) {
	w := waitsFor(f.Blocking, k.pass)
	all := w.share
	if k.also != nil && w.share > 0 {
		all += k.also(f)
	}
	return w, min(all, 1)
}

func (k *waiting) run(f *analyze.Facts) []analyze.Finding {
	w, share := k.measure(f)
	if !switchWaits(f) || share < partShare {
		return nil
	}
	g := k.judge(f, &w)
	fd := analyze.Finding{ID: k.id, Severity: severity(f), Share: some(w.share)}
	g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	ws := waiters(f, k.pass, 0)
	fd.Summary = k.summary(f, ws, &w, share)
	fd.Claim = k.claim(f, &w, share)
	fd.Shown = k.shown(f, &w, share)
	fd.Evidence = append(rateEvidence(ws), reasonEvidence(w.reasons)...)
	if k.advise != nil {
		fd.Advice = k.advise(f, &w)
	}
	fd.Next = append(settle(f, ws), k.next...)
	return settled(f, fd)
}

// judge applies the criteria that all causes of this kind share.
func (k *waiting) judge(f *analyze.Facts, w *wait) *ground {
	g := &ground{}
	what := fmt.Sprintf("%s of the switches are %s", quantity.Percent(w.share, 1), k.noun)
	switch {
	case w.share >= mainShare:
		g.decide(stacks, what)
	case w.ofWaits >= mainShare && w.share >= partShare:
		g.decide(stacks, what)
		g.atMost(analyze.ConfidenceMedium, what+", the most of those that wait, and less than half of all")
	default:
		g.fit(what)
		g.fit("that is a part of them")
		g.atMost(analyze.ConfidenceLow, what+", a cause beside others")
	}
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && independent(f) && v >= w.share-traceShare {
		g.agree(threads, quantity.Percent(v, 1)+" of them are voluntary")
	}
	g.compare(f)
	if k.weigh != nil {
		k.weigh(f, w, g)
	}
	return g
}

func (k *waiting) summary(f *analyze.Facts, ws []waiter, w *wait, share float64) analyze.Text {
	ws = heaviest(ws)
	part := text("%s", partOf(f, w.share))
	if more := share - w.share; more >= partShare {
		part = text("%s; %s more are %s", part, percent(more), k.alsoIs)
	}
	if len(ws) == 0 {
		do := k.one
		if plural(f) {
			do = k.many
		}
		return text("%s %s: %s.", subjectName(f), do, part)
	}
	do := k.many
	if len(ws) == 1 {
		do = k.one
	}
	return text("%s %s, %s: %s.", threadsOf(f, ws), do, rateSpan(ws), part)
}

// heaviest are the threads that make HotShare of the rate of all of them.
func heaviest(ws []waiter) []waiter {
	sum, all := 0.0, sumPerS(ws)
	for i := range ws {
		if sum >= analyze.HotShare*all {
			return ws[:i]
		}
		sum += ws[i].perS
	}
	return ws
}

// claim is what the stacks show: the waits, and with their own share the
// switches that may belong to them.
func (k *waiting) claim(f *analyze.Facts, w *wait, share float64) analyze.Text {
	t := blocks(f, w)
	if more := share - w.share; more >= traceShare {
		return text("%s %s of the switches are %s.", t, percent(more), k.alsoIs)
	}
	return t
}

func (k *waiting) shown(f *analyze.Facts, w *wait, share float64) []analyze.Text {
	out := []analyze.Text{k.claim(f, w, share)}
	if off, ok := w.meanOffNS(); ok {
		out = append(out, text("A wait lasts %s on average: %s off CPU in %s waits.", quantity.Time(off), quantity.Time(w.offNS), quantity.Whole(w.offN)))
	}
	return out
}

func (k *waiting) rival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(k.run(f)) > 0 {
		return analyze.Rival{}, false
	}
	_, share := k.measure(f)
	if k.blind != nil && !f.Has.Stacks {
		if v, because := k.blind(f); v > 0 {
			return analyze.Rival{Status: analyze.RivalCandidate, Because: text("%s", because), Look: text("%s", k.look), Fit: v}, true
		}
	}
	switch {
	case switchWaits(f) && share >= traceShare:
		return open(k.look, "%s of the switches are %s: a part, not the most", quantity.Percent(share, 1), k.noun)
	case !k.common:
		return analyze.Rival{}, false
	case switchWaits(f):
		return ruledOut(f, share, partShare, k.look, "%s of the switches are %s", quantity.Percent(share, 1), k.noun)
	case involuntaryCase(f):
		return rejectedInvoluntary(f)
	case k.fit == nil:
		return analyze.Rival{}, false
	}
	return candidate(f, k.look, func() (float64, string) { return k.fit(f) })
}
