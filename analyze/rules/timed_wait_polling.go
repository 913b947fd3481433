package rules

import (
	"fmt"
	"strings"
	"time"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// TimedWaitPolling: a wait with a short time limit that runs out again and
// again. The stack looks like a wait for an event; the period and the waker
// tell that none comes.
var TimedWaitPolling = &analyze.Rule{
	ID:    "timed-wait-polling",
	Doc:   "threads wait for an event with a short time limit, and the limit is what wakes them",
	Run:   timedWait,
	Rival: timedWaitRival,
}

// mayTimeOut are waits that may have a time limit. A name proves none: glibc
// waits without a limit in __futex_abstimed_wait_common too.
var mayTimeOut = ofClass(signature.ClassTimed, signature.ClassFutex, signature.ClassCond, signature.ClassEvent)

var (
	futexKind = ofClass(signature.ClassTimed, signature.ClassFutex, signature.ClassCond)
	timedCall = ofClass(signature.ClassTimed)
	signalled = ofID("signal")
)

// timedCase is what the facts show of waits that time out.
type timedCase struct {
	ws    []waiter
	w     wait
	share float64
	g     ground
}

func timedWait(f *analyze.Facts) []analyze.Finding {
	c := timedOf(f)
	if c == nil || c.share < partShare {
		return nil
	}
	fd := analyze.Finding{ID: "timed-wait-polling", Severity: severity(f), Share: some(c.share)}
	c.g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	verb := "wake" + s(len(c.ws)) + " by time limit"
	if fd.Confidence == analyze.ConfidenceLow {
		verb = "wake" + s(len(c.ws)) + " as if by time limit"
	}
	if c.bySignal() {
		verb = strings.Replace(verb, "time limit", "a timer's signals", 1)
	}
	fd.Summary = text("%s %s, %s, and wait%s again: %s.", threadsOf(f, c.ws), verb, rateSpan(c.ws), s(len(c.ws)), partOf(f, c.share))
	fd.Claim = blocks(f, &c.w)
	fd.Shown = c.shown(f, fd.Claim)
	fd.Evidence = append(rateEvidence(c.ws), reasonEvidence(c.w.reasons)...)
	fd.Advice = c.advice(f)
	fd.Next = append(settle(f, c.ws), sleepTimers(f))
	return settled(f, fd)
}

func timedOf(f *analyze.Facts) *timedCase {
	if !switchWaits(f) {
		return nil
	}
	pass := mayTimeOut
	if irq, ok := wokenByIRQ(f); ok && irq >= fromIRQ {
		pass = func(r signature.Reason) bool { return mayTimeOut(r) || signalled(r) } // a peer's signal is no interrupt's
	}
	c := &timedCase{w: waitsFor(f.Blocking, pass), ws: waiters(f, pass, minPollPerS)}
	if c.w.top == nil || len(c.ws) == 0 {
		return nil
	}
	c.share = c.w.share
	if all, ok := f.Layer2.SwitchesPerS.Get(); ok && all > 0 {
		c.share = min(c.share, sumPerS(c.ws)/all)
	}
	c.weigh(f)
	return c
}

// weigh looks for what only a time limit makes: no thread ends a futex wait
// from an interrupt; a call that is known to be timed and always lasts the same
// ran out. A steady beat alone may be a peer's.
func (c *timedCase) weigh(f *analyze.Facts) {
	irq, known := irqShare(c.ws)
	h := gaps(c.ws)
	futex := waitsFor(f.Blocking, futexKind).share >= mainShare*c.w.share
	if known && irq < fromIRQ || wokenByMany(c.ws) {
		return // threads wake them
	}
	if !known && pacedInside(f, c.ws) {
		return // another thread of the process has the same beat, and may be what makes it
	}
	if known && futex {
		c.g.decide(threads, fmt.Sprintf("%s of their wakeups come from interrupts, and no device ends a futex wait", percent(irq)))
		c.g.agree(stacks, percent(c.w.share)+" of the switches wait in a futex")
	}
	if known && !futex {
		c.g.fit(percent(irq) + " of their wakeups come from interrupts")
	}
	if known && c.bySignal() {
		c.g.fit("they wait for signals, and no thread sends them")
	}
	if g := cycles(c.ws); steady(h) {
		c.steady(f, h)
	} else if h == nil && steady(g) && quantile(g, 0.10) >= roundTripNS {
		c.g.fit(fmt.Sprintf("from one wait to the next it takes %s to %s, nine in ten times, longer than an answer does", quantity.Time(quantile(g, 0.05)), quantity.Time(quantile(g, 0.95))))
		c.g.fit("a beat is what a time limit makes")
	} else if off, ok := c.roundPeriod(f); ok {
		c.g.fit(fmt.Sprintf("they wait for %s, just above a whole millisecond", quantity.Time(off)))
		if us, txt, ok := figure(f, analyze.FigBetween); ok && us*1e3 <= shortStintNS {
			c.g.fit("they find next to nothing to do: " + txt + " of CPU each time")
		}
	}
	agreeVoluntary(f, &c.g)
	c.g.compare(f)
	if c.g.decides == 0 {
		if !c.g.timed() {
			c.g = ground{}
			return
		}
		if known {
			c.g.atMost(analyze.ConfidenceLow, fmt.Sprintf("a fit: %s of their wakeups come from interrupts; those of a device look alike", percent(irq)))
			return
		}
		c.g.atMost(analyze.ConfidenceLow, "a fit: the waits last the same each time; a peer with a steady beat looks alike, and who wakes them is not in the input")
	}
}

// pacedInside reports whether a thread of the subject sleeps by timer as often
// as the others wait: one that sleeps and then wakes them. It may leave the CPU
// for other reasons between, as when those that it woke preempt it.
func pacedInside(f *analyze.Facts, ws []waiter) bool {
	beat := median(ws).perS
	for i := range f.Threads {
		t := &f.Threads[i]
		own, told := ownShare(t, timerSleep)
		if r := own * t.SwitchesPerS.V; told && r >= beat/paceWithin && r <= beat*paceWithin {
			return true
		}
	}
	return false
}

// paceWithin: two beats that differ by less than this may be one. Practice: a
// recording may miss some of the switches of either.
const paceWithin = 1.5

// bySignal reports whether most of the waits are for signals, which a timer of
// the process sends (setitimer, timer_create).
func (c *timedCase) bySignal() bool { return c.w.top != nil && signalled(c.w.top.Reason) }

// timed reports whether anything but rates speaks for a time limit.
func (g *ground) timed() bool { return g.fits-g.agrees.count() > 0 }

func (c *timedCase) steady(f *analyze.Facts, h *hist) {
	beat := fmt.Sprintf("the waits last %s to %s, nine in ten of them", quantity.Time(quantile(h, 0.05)), quantity.Time(quantile(h, 0.95)))
	if c.bySignal() {
		c.g.decide(threads, beat+", and interrupts end them: a timer's signals")
		return
	}
	if waitsFor(f.Blocking, timedCall).share >= mainShare*c.w.share {
		c.g.decide(threads, beat+", in a call with a time limit")
		return
	}
	c.g.fit(beat)
	c.g.fit("a beat is what a time limit makes")
}

// roundPeriod is the mean time off CPU when it lies just above a whole number
// of milliseconds, as time limits do.
func (c *timedCase) roundPeriod(f *analyze.Facts) (float64, bool) {
	us, ok := f.Macro.Value(analyze.FigBetween).Get()
	if !ok {
		return 0, false
	}
	off := float64(time.Second)/median(c.ws).perS - us*1e3
	whole := float64(int64(off/1e6)) * 1e6
	return off, whole >= 1e6 && off-whole <= lateNS+whole*timerLate
}

// A wait with a limit ends late by the timer's slack, the way to the CPU, and
// in proportion: select and poll allow 0.1 % slack, tracers and clocks add.
// Kernel: select_estimate_accuracy; practice for the rest.
const (
	lateNS    = 200_000
	timerLate = 0.02
)

func (c *timedCase) shown(f *analyze.Facts, claim analyze.Text) []analyze.Text {
	out := []analyze.Text{claim}
	if h := gaps(c.ws); h != nil && h.N >= fewGaps {
		out = append(out, text("A wait lasts %s (median of %s), from %s to %s for nine in ten.", quantity.Time(quantile(h, 0.5)), quantity.Count(h.N),
			quantity.Time(quantile(h, 0.05)), quantity.Time(quantile(h, 0.95))))
	} else if g := cycles(c.ws); h == nil && steady(g) {
		out = append(out, text("From one wait to the next it takes %s (median of %s), from %s to %s for nine in ten.", quantity.Time(quantile(g, 0.5)), quantity.Count(g.N),
			quantity.Time(quantile(g, 0.05)), quantity.Time(quantile(g, 0.95))))
	} else if off, ok := c.roundPeriod(f); ok {
		m := median(c.ws)
		whose := ""
		if len(c.ws) > 1 {
			whose = fmt.Sprintf(", by the median thread, %d", m.t.Task.TID)
		}
		out = append(out, text("The wait lasts %s%s: a period of 1 / %s = %s, less the CPU time of a switch.", quantity.Time(off), whose, quantity.PerS(m.perS),
			quantity.Time(float64(time.Second)/m.perS)))
	}
	if irq, ok := irqShare(c.ws); ok {
		out = append(out, text("%s of their wakeups come from interrupts: the timer, not another thread.", percent(irq)))
	}
	return out
}

func (c *timedCase) advice(f *analyze.Facts) []analyze.Advice {
	now := sumPerS(c.ws)
	if c.bySignal() {
		return []analyze.Advice{{Do: text("Make the interval of the timer (setitimer, timer_create) as long as the work allows, and stop it while there is nothing to do."),
			Effects: []analyze.Effect{{Label: "switches of these threads", Value: text("%s → at most %s a thread at %d ms", quantity.PerS(now), quantity.PerS(polledPerS), polledSleep.Milliseconds())}},
			Price:   text("what the timer drives comes later")}}
	}
	sketch, lang := pick(f, limitSketches)
	out := []analyze.Advice{{Do: text("Wait without a time limit, or until the next deadline that really exists; let whoever has news signal it."),
		Effects: []analyze.Effect{{Label: "switches of these threads", Value: text("%s → one per event", quantity.PerS(now))}}, Price: text("every event must be signalled"),
		Sketch: sketch, Lang: lang}}
	if median(c.ws).perS > 2*polledPerS {
		out = append(out, analyze.Advice{Do: text("If the limit must stay, make it %d ms.", polledSleep.Milliseconds()),
			Effects: []analyze.Effect{{Label: "switches of these threads", Value: text("%s → at most %s: %d x %s", quantity.PerS(now),
				quantity.PerS(float64(len(c.ws))*polledPerS), len(c.ws), quantity.Whole(polledPerS))}},
			Price: text("up to %d ms more delay for what is not signalled", polledSleep.Milliseconds())})
	}
	return out
}

// limitSketches drop the time limit of a wait.
var limitSketches = map[string]string{
	langC: `/* sketch: no time limit */
- pthread_cond_timedwait(&ready, &m, &soon);
+ while (!pending && !stop)
+     pthread_cond_wait(&ready, &m);`,
	langCPP: `// sketch: no time limit
- ready_.wait_for(lock, 1ms);
+ ready_.wait(lock, [&] { return pending_ > 0 || stop_; });`,
	langJava: `// sketch: no time limit
- Job job = queue.poll(1, TimeUnit.MILLISECONDS);
+ Job job = queue.take();`,
	langPython: `# sketch: no time limit
- job = jobs.get(timeout=0.001)
+ job = jobs.get()`,
	langRust: `// sketch: no time limit
- let job = jobs.recv_timeout(limit);
+ let job = jobs.recv()?;`,
}

func timedWaitRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(timedWait(f)) > 0 {
		return analyze.Rival{}, false
	}
	const look = "futex, epoll or poll; woken by timers"
	w := waitsFor(f.Blocking, mayTimeOut)
	irq, known := irqShare(heaviest(allWaiters(f)))
	switch {
	case switchWaits(f) && w.share < traceShare:
		return ruledOut(f, w.share, partShare, look, "%s of the switches wait in futex, epoll or poll", percent(w.share))
	case switchWaits(f) && w.share < partShare:
		return ruledOut(f, w.share, partShare, look, "futex, epoll and poll are %s of the switches", percent(w.share))
	case known && irq < mainShare:
		return rejected(f, "threads, not timers, wake them: %s of the wakeups", percent(1-irq))
	case switchWaits(f) && len(waiters(f, mayTimeOut, minPollPerS)) == 0 && f.Has.Threads:
		return rejected(f, "no thread waits in futex, epoll or poll %d times a second", minPollPerS)
	case involuntaryCase(f):
		return rejectedInvoluntary(f)
	}
	return candidate(f, look, func() (float64, string) { return fitShortWaits(f, 0.60, false) })
}
