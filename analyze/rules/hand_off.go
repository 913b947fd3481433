package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// HandOff: two threads pass the CPU to each other for every message. The
// switch is the price of the message, whether the waker is preempted by the
// one it woke (involuntary) or blocks for the answer (voluntary).
var HandOff = &analyze.Rule{
	ID:    "hand-off",
	Doc:   "threads pass work to each other one message at a time, over a pipe, socket, eventfd or futex, and every message is a switch",
	Run:   handOff,
	Rival: handOffRival,
}

// byPeer are waits that end when one other thread acts. A futex whose caller
// is hidden, an event, and a signal, which a timer sends too, may be such
// waits; only the wakeups tell.
var (
	byPeer  = func(r signature.Reason) bool { return r.Class == signature.ClassIPC && r.ID != "signal" }
	maybe   = ofClass(signature.ClassFutex, signature.ClassCond, signature.ClassEvent, signature.ClassNetwork, signature.ClassTimed, signature.ClassIPC)
	byOwner = ofClass(signature.ClassLock)
)

// handOffCase is what the facts show of a hand-off.
type handOffCase struct {
	share  float64 // of the switches
	w      wait
	woken  float64 // of the switches: on return from a call that woke the next
	p      pairing
	g      ground
	judged bool
}

func handOff(f *analyze.Facts) []analyze.Finding {
	c := handOffOf(f)
	if c == nil || c.share < partShare {
		return nil
	}
	fd := analyze.Finding{ID: "hand-off", Severity: severity(f), Share: some(c.share)}
	c.g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	fd.Summary = c.summary(f)
	fd.Claim = c.claim(f)
	fd.Shown = c.shown(f)
	fd.Evidence = append(rateEvidence(heaviest(allWaiters(f))), reasonEvidence(c.w.reasons)...)
	fd.Advice = handOffAdvice(f, c)
	fd.Next = settle(f, nil)
	return settled(f, fd)
}

func handOffOf(f *analyze.Facts) *handOffCase {
	c := &handOffCase{p: partners(f), woken: triggerShare(f, analyze.TriggerHandOff)}
	if slow(f) {
		return nil // the peer works, and the switch is not what it costs
	}
	if irq, ok := wokenByIRQ(f); ok && irq >= mainShare {
		return nil // timers or devices wake them, no peer
	}
	if p, _ := sender(f); p != nil {
		return nil // it sends, and waits for no answer
	}
	if switchWaits(f) {
		c.byStacks(f)
	} else {
		c.byWakeups(f)
	}
	if !c.judged {
		return nil
	}
	c.g.compare(f)
	return c
}

// slow reports whether waits last far longer than passing the CPU on takes.
func slow(f *analyze.Facts) bool {
	h := gaps(heaviest(allWaiters(f)))
	return h != nil && h.N >= fewGaps && quantile(h, 0.5) > roundTripNS
}

// byStacks: waits for one peer, and returns from calls that woke the next.
func (c *handOffCase) byStacks(f *analyze.Facts) {
	c.w = waitsFor(f.Blocking, byPeer)
	if c.p.share >= mainShare { // the wakeups say that the others are waits for a peer too
		c.w = waitsFor(f.Blocking, func(r signature.Reason) bool { return byPeer(r) || maybe(r) })
	}
	lock := waitsFor(f.Blocking, byOwner)
	c.share = min(c.w.share+c.returns(f), 1)
	switch {
	case lock.share >= partShare:
		return
	case c.w.share >= partShare && c.share >= mainShare:
		what := fmt.Sprintf("%s of the switches wait for a peer or return from waking it", percent(c.share))
		c.g.decide(stacks, what)
		c.unpaired(f, what)
	case c.woken >= mainShare:
		c.share = c.woken
		c.g.decide(stacks, fmt.Sprintf("%s of the switches are on return from a call that woke the next task", percent(c.woken)))
	case !tickRate(f) && onReturn(f) && c.returns(f) >= mainShare:
		c.share = c.returns(f)
		what := fmt.Sprintf("%s of the switches are on return from a system call, more often than a tick comes: the call woke the next task", percent(c.share))
		c.g.decide(stacks, what)
		c.g.atMost(analyze.ConfidenceMedium, what+"; the call has no name")
	default:
		if !c.outside(f) && !c.byHub(f) {
			c.hidden(f)
		}
		return
	}
	c.judged = true
	c.agree(f)
}

// unpaired holds a conclusion from what threads wait in to what it shows: a
// pipe that is read tells of no answer. Two sides do, or wakeups in turn.
func (c *handOffCase) unpaired(f *analyze.Facts, what string) {
	ws := sides(f)
	switch {
	case c.p.share >= mainShare:
	case f.Wake.Total >= fewGaps:
		c.g.atMost(analyze.ConfidenceLow, "a fit: "+what+", and yet the wakeups show no two threads that wake each other in turn")
	case len(ws) == 2 && alike(ws[0].perS, ws[1].perS), c.woken >= partShare:
	case len(ws) < 2 && perThread(f):
		c.g.atMost(analyze.ConfidenceLow, "a fit: "+what+", and one side alone is seen; a sender that waits for no answer looks alike")
	default:
		c.g.atMost(analyze.ConfidenceMedium, what+"; who wakes whom is not in the input")
	}
}

// sides are the hot threads that wait for a peer, or return from waking it, in
// most of their switches.
func sides(f *analyze.Facts) []waiter {
	var out []waiter
	for i := range hot(f) {
		t := &f.Threads[i]
		waits, told := ownShare(t, byPeer)
		all := waitsFor(t.Blocking, func(signature.Reason) bool { return true }).switches
		for _, n := range t.Triggers {
			all += n
		}
		back := t.Triggers[analyze.TriggerHandOff] + t.Triggers[analyze.TriggerReturn] + t.Triggers[analyze.TriggerRace]
		if told && waits >= traceShare && waits+back/all >= mainShare {
			out = append(out, waiter{t, t.SwitchesPerS.V, waits + back/all})
		}
	}
	return out
}

// onReturn reports whether the undecided returns to user mode are from system
// calls, not from interrupts or page faults.
func onReturn(f *analyze.Facts) bool {
	_, role, _ := signature.Default().Symbol(f.Triggers[analyze.TriggerReturn].Frame)
	return role == signature.RoleReturn
}

// returns is the share of switches on the way back from system calls: those
// that woke the next, and, among threads that wait for peers, those whose call
// has no name. At this rate they cannot be ends of slices.
func (c *handOffCase) returns(f *analyze.Facts) float64 {
	out := c.woken
	if ns, ok := stint(f); !ok || ns < baseSliceNS {
		out += triggerShare(f, analyze.TriggerReturn, analyze.TriggerRace)
	}
	return out
}

func (c *handOffCase) agree(f *analyze.Facts) {
	if c.p.share >= mainShare {
		c.g.agree(threads, fmt.Sprintf("%s of the wakeups are of threads that wake each other", percent(c.p.share)))
	}
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && independent(f) && v >= mainShare-pairSwing {
		c.g.agree(threads, percent(v)+" of them are voluntary")
	}
}

// pairSwing: how many of a pair's switches are voluntary depends on whether
// they share a CPU; half or more are. Bound, with room for sampling.
const pairSwing = 0.10

// outside: the subject's threads have one waker each in another process, and
// answer it soon. A producer that needs no answer looks alike.
func (c *handOffCase) outside(f *analyze.Facts) bool {
	share, top := oneSided(f)
	w := waitsFor(f.Blocking, func(r signature.Reason) bool { return byPeer(r) || maybe(r) })
	if share < mainShare || w.share < mainShare || gaps(heaviest(allWaiters(f))) == nil {
		return false
	}
	c.w, c.share, c.judged = w, w.share, true
	c.p.top = []analyze.PairFact{*top}
	c.g.fit(fmt.Sprintf("%s of the wakeups are by one thread of another process", percent(share)))
	c.g.fit("it answers within " + quantity.Time(roundTripNS))
	c.g.atMost(analyze.ConfidenceLow, "a fit: one peer of another process wakes it each time, and soon; a producer that needs no answer looks alike")
	return true
}

// byHub: one task outside and several threads of the subject wake each other in
// turn, as a client that keeps several servers busy does.
func (c *handOffCase) byHub(f *analyze.Facts) bool {
	hub, share, n := hubOf(f)
	w := waitsFor(f.Blocking, func(r signature.Reason) bool { return byPeer(r) || maybe(r) })
	if hub == nil || share < mainShare || w.share < partShare {
		return false
	}
	c.w, c.share, c.judged = w, min(w.share+c.woken, 1), true
	why := fmt.Sprintf("%s of the wakeups come from one task outside, which they wake in turn", percent(share))
	c.g.fit(why)
	c.g.fit(fmt.Sprintf("%d threads answer it", n))
	c.g.atMost(analyze.ConfidenceLow, "a fit: "+why+"; the work between question and answer waits for other things, too")
	return true
}

// hidden: all wait in a futex whose caller has no name. Two threads that
// switch equally often, and wait for nothing else, fit a hand-off; a lock that
// two threads fight for fits too.
func (c *handOffCase) hidden(f *analyze.Facts) {
	w := waitsFor(f.Blocking, ofID("futex"))
	hot := hot(f)
	if w.share < willing || len(hot) != 2 || !alike(hot[0].SwitchesPerS.V, hot[1].SwitchesPerS.V) {
		return
	}
	c.w, c.share, c.judged = w, w.share, true
	c.g.fit("two threads switch equally often")
	c.g.fit("both wait in a futex and nowhere else")
	c.g.atMost(analyze.ConfidenceLow, "a fit: two threads switch equally often in a futex; the callers' names, or the wakeups, would tell it from a lock")
}

// byWakeups: without stacks, pairs that wake each other and give the CPU up
// right after are the evidence.
func (c *handOffCase) byWakeups(f *analyze.Facts) {
	if c.p.share < mainShare {
		return
	}
	c.share, c.judged = c.p.share, true
	why := fmt.Sprintf("%s of the wakeups are of threads that wake each other", percent(c.p.share))
	if c.p.handsOn || c.woken >= partShare {
		c.g.decide(threads, why+", and the waker leaves the CPU right after")
	} else {
		c.g.fit(why)
		c.g.fit("each has one partner")
	}
	c.g.atMost(analyze.ConfidenceMedium, why+"; no stack says over what")
}

func alike(a, b float64) bool { return a > 0 && b > 0 && a-b <= alikeWithin*a && b-a <= alikeWithin*b }

func (c *handOffCase) summary(f *analyze.Facts) analyze.Text {
	over := ""
	if c.w.top != nil {
		over = ", over " + channel(c.w.top.Reason)
	}
	if c.g.confidence() == analyze.ConfidenceLow {
		if len(c.p.top) > 0 {
			return text("%s and %s look like two sides of a hand-off%s: %s.", name(c.p.top[0].A), name(c.p.top[0].B), over, partOf(f, c.share))
		}
		ws := heaviest(allWaiters(f))
		if len(ws) == 1 {
			return text("%s looks like one side of a hand-off%s: %s.", threadsOf(f, ws), over, partOf(f, c.share))
		}
		return text("%s look like two sides of a hand-off%s: %s.", threadsOf(f, ws), over, partOf(f, c.share))
	}
	rate := ""
	if r, ok := switchRate(f); ok {
		rate = fmt.Sprintf(", %s", quantity.PerS(r*c.share))
	}
	if len(c.p.top) > 0 && c.p.share >= mainShare {
		p := c.p.top[0]
		return text("%s and %s hand the CPU to each other for every message%s%s: %s.", name(p.A), name(p.B), over, rate, partOf(f, c.share))
	}
	return text("%s pass%s work on one message at a time%s%s: %s.", subjectName(f), es(f), over, rate, partOf(f, c.share))
}

// channel is what a message goes over.
func channel(r signature.Reason) string {
	switch r.ID {
	case "pipe-read", "pipe-write":
		return "a pipe"
	case "unix-read", "unix-write":
		return "a unix socket"
	case "eventfd":
		return "an eventfd"
	case "net-read", "net-write", "net-accept":
		return "a socket"
	case "tty-read":
		return "a terminal"
	case "sysv-sem", "futex-sem":
		return "a semaphore"
	case "signal":
		return "signals"
	case "epoll", "poll":
		return "a descriptor that it polls"
	}
	if r.Class == signature.ClassFutex || r.Class == signature.ClassCond {
		return "a futex"
	}
	return "a " + r.Label
}

func (c *handOffCase) claim(f *analyze.Facts) analyze.Text {
	var t analyze.Text
	if c.w.top != nil {
		t = blocks(f, &c.w)
	}
	if c.woken >= traceShare {
		t = sentence(t, text("%s of the switches are on return from the call that woke the next task.", percent(c.woken)))
	}
	if ret := triggerShare(f, analyze.TriggerReturn); switchWaits(f) && ret >= traceShare && c.returns(f) > c.woken {
		t = sentence(t, text("%s of the switches are on return to user mode%s; whom the call woke is not told.", percent(ret), mostly(f.Triggers[analyze.TriggerReturn].Frame)))
	}
	return t
}

func (c *handOffCase) shown(f *analyze.Facts) []analyze.Text {
	var out []analyze.Text
	if t := c.claim(f); t != nil {
		out = append(out, t)
	}
	if len(c.p.top) > 0 {
		p := c.p.top[0]
		t := text("%s wakes %s %s times, and is woken by it %s times", name(p.A), name(p.B), quantity.Count(p.AB), quantity.Count(p.BA))
		if after, ok := p.AfterNS.Get(); ok {
			t = text("%s; after a wakeup the waker runs on for %s on average", t, quantity.Time(after))
		}
		out = append(out, text("%s.", t))
	}
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && v < willing && v > unwilling {
		out = append(out, text("%s of the switches are involuntary: the waker is preempted by the thread it woke. That is no lack of CPUs.", percent(1-v)))
	}
	return out
}

func handOffAdvice(f *analyze.Facts, c *handOffCase) []analyze.Advice {
	now := "one per message"
	if r, ok := switchRate(f); ok {
		now = quantity.PerS(r*c.share) + ", one per message"
	}
	return []analyze.Advice{
		{Do: text("Batch: pass several messages at a time, and wake the peer once for all of them."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("%s → one per batch: a tenth with ten messages a batch", now)}},
			Price:   text("the first message of a batch waits for the last")},
		{Do: text("Do the peer's part in the same thread where it is short: a call instead of a hand-off."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("%s → none", now)}}, Price: text("the two parts no longer overlap")},
		{Do: text("If both must stay, keep the pair on CPUs that share a cache; let the receiver spin briefly before it blocks."), Price: text("CPU time for spinning")},
	}
}

func handOffRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(handOff(f)) > 0 {
		return analyze.Rival{}, false
	}
	w := waitsFor(f.Blocking, byPeer)
	switch {
	case f.Wake.Total >= fewGaps:
		if p, share := sender(f); p != nil {
			return rejected(f, "%s makes %s of the wakeups, and none wakes it in turn: it sends, and waits for no answer", name(p.Task), percent(share))
		}
		if irq, ok := wokenByIRQ(f); ok && irq >= mainShare {
			return rejected(f, "%s of the wakeups come from interrupts, not from a peer", percent(irq))
		}
		if p := partners(f); p.share >= traceShare {
			return rejected(f, "pairs that wake each other in turn make %s of the wakeups", percent(p.share))
		}
		return rejected(f, "no two threads wake each other in turn")
	case switchWaits(f) && w.share < traceShare && !futexHidden(f):
		return ruledOut(f, w.share, traceShare, "pipe, socket or eventfd reads; threads that wake each other",
			"%s of the switches wait for a pipe, a socket or an eventfd", percent(w.share))
	}
	return candidate(f, "threads wake each other", func() (float64, string) {
		v, because := fitShortWaits(f, 0.70, false)
		if m, txt, ok := figure(f, analyze.FigMigrations); ok && m < traceShare && v > 0 {
			return v, because + ", few migrations (" + txt + ")"
		}
		return v, because
	})
}

// futexHidden reports whether many switches wait in a futex whose caller is hidden.
func futexHidden(f *analyze.Facts) bool {
	return waitsFor(f.Blocking, ofID("futex")).share >= partShare
}
