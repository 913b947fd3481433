package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// ShortSleepPolling: a thread looks for work, finds none, and sleeps for less
// than the work takes to come. Each sleep is one switch of the thread.
var ShortSleepPolling = &analyze.Rule{
	ID:    "short-sleep-polling",
	Doc:   "threads wake themselves with sleeps far shorter than the time until the work they wait for",
	Run:   shortSleep,
	Rival: shortSleepRival,
}

var timerSleep = ofID("timer-sleep")

// sleepCase is what the facts show of threads that sleep by timer.
type sleepCase struct {
	ws    []waiter
	share float64 // of the subject's switches
	cpu   float64 // of the CPU samples, on the way into the sleep; 0: not known
	top   *analyze.ReasonFact
	g     ground
}

func shortSleep(f *analyze.Facts) []analyze.Finding {
	c := sleepers(f)
	if c == nil || c.share < partShare {
		return pacedBySender(f)
	}
	c.weighUsers(f)
	fd := analyze.Finding{ID: "short-sleep-polling", Severity: severity(f), Share: some(c.share)}
	c.g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	fd.Summary = c.summary(f)
	fd.Claim = c.claim(f)
	fd.Shown = c.shown(f)
	fd.Evidence = append(rateEvidence(c.ws), c.cite(f)...)
	fd.Against = append(fd.Against, c.unknowns(f)...)
	fd.Advice = c.advice(f)
	fd.Next = settle(f, c.ws)
	if a := askedSleep(f, c.ws); a == nil || !a.exact {
		fd.Next = append([]analyze.Command{sleepTimers(f)}, fd.Next...)
	}
	fd.Impact = c.impact(f)
	return settled(f, fd)
}

// sleepers looks for the threads by the best evidence there is.
func sleepers(f *analyze.Facts) *sleepCase {
	switch {
	case switchWaits(f):
		return sleepersByStacks(f)
	case len(f.CPU) > 0:
		return sleepersByCPU(f)
	}
	return sleepersByWakers(f)
}

// sleepersByStacks: the switches themselves show the sleep. At what rate, the
// threads' rates say.
func sleepersByStacks(f *analyze.Facts) *sleepCase {
	w := waitsFor(f.Blocking, timerSleep)
	c := &sleepCase{top: w.top, ws: waiters(f, timerSleep, minPollPerS)}
	if w.top == nil || len(c.ws) == 0 {
		return nil
	}
	c.cpu, _, _ = cpuPath(f, timerSleep)
	c.share = w.share
	if all, ok := f.Layer2.SwitchesPerS.Get(); ok && all > 0 {
		c.share = min(c.share, sumPerS(c.ws)/all) // without those that sleep long
	}
	what := fmt.Sprintf("%s of the switches sleep by timer", quantity.Percent(w.share, 1))
	if c.share >= mainShare {
		c.g.decide(stacks, what)
	} else {
		c.g.fit(what)
		c.g.fit("that is a part of them")
	}
	agreeVoluntary(f, &c.g)
	if irq, ok := irqShare(c.ws); ok && irq >= fromIRQ {
		c.g.agree(threads, "timers wake them")
	}
	c.g.compare(f)
	if n := c.ws[0].perS; n <= usualLoopPerS && !f.Macro.Value(analyze.FigPerActive).OK {
		c.g.atMost(analyze.ConfidenceLow, fmt.Sprintf("%s in a thread may be a loop on a schedule as well, and the CPU time that tells whether it works is not in the input", quantity.PerS(n)))
	}
	return c
}

// sleepersByCPU: no switch has a stack, but the way into the sleep and out of
// it costs CPU time, and each pass is one switch. When nearly all waiting
// paths of the CPU samples are this one, voluntary switches have no other.
func sleepersByCPU(f *analyze.Facts) *sleepCase {
	share, ofPaths, top := cpuPath(f, timerSleep)
	if share < cpuPathShare || ofPaths < dominance {
		return nil
	}
	c := &sleepCase{cpu: share, top: top, ws: voluntaryThreads(f, minPollPerS)}
	path := fmt.Sprintf("%s of the CPU samples lie on the way into a timer sleep, the only waiting path of weight", quantity.Percent(share, 2))
	if len(c.ws) == 0 {
		return c.withoutThreads(f, path)
	}
	c.share = sumPerS(c.ws) / f.Layer2.SwitchesPerS.V
	if !c.plausible(f) {
		return nil
	}
	c.g.decide(stacks, path)
	c.g.agree(threads, fmt.Sprintf("%d threads give the CPU up by themselves, %s", len(c.ws), rateSpan(c.ws)))
	c.g.compare(f)
	return c
}

// withoutThreads: CPU samples alone show where time goes, not how many
// switches, so this is a fit at most.
func (c *sleepCase) withoutThreads(f *analyze.Facts, path string) *sleepCase {
	if f.Has.Threads || f.Macro.Grade.Rank() < analyze.GradeElevated.Rank() {
		return nil
	}
	c.share = mainShare
	c.g.fit(path)
	c.g.fit("the rate is high")
	c.g.atMost(analyze.ConfidenceLow, "CPU samples alone: they show where time goes, not who switches")
	return c
}

// plausible: the CPU time on the path, spread over the switches, must be what
// a sleeping call costs. Far less, and the path cannot be that of the switches.
func (c *sleepCase) plausible(f *analyze.Facts) bool {
	cpus, ok := f.Util.CPUsUsed.Get()
	return !ok || c.cpu*cpus*1e9/sumPerS(c.ws) >= leastSleepNS
}

// leastSleepNS: a call that sleeps costs two switches and a timer. Practice:
// never under half a microsecond.
const leastSleepNS = 500

// sleepersByWakers: without stacks, threads that interrupts wake after the same
// short time each time may sleep by timer; so may a timed wait, or a peer that
// answers over the network in the same time.
func sleepersByWakers(f *analyze.Facts) *sleepCase {
	var ws []waiter
	for _, w := range voluntaryThreads(f, minPollPerS) {
		irq, ok := irqShare([]waiter{w})
		if ok && irq >= fromIRQ && !inD(w.t) && steadyish(gaps([]waiter{w})) {
			ws = append(ws, w)
		}
	}
	if len(ws) == 0 {
		return nil
	}
	c := &sleepCase{ws: ws, share: sumPerS(ws) / f.Layer2.SwitchesPerS.V}
	irq, _ := irqShare(ws)
	c.g.fit(fmt.Sprintf("%s of their wakeups come from interrupts", quantity.Percent(irq, 1)))
	c.g.fit(fmt.Sprintf("they come after %s each time", quantity.Time(quantile(gaps(ws), 0.5))))
	c.g.atMost(analyze.ConfidenceLow, "a fit: woken by interrupts after the same short time, and no stack says by which timer or device")
	return c
}

// weighUsers looks at the code that asks, where it is known: a runtime's
// helper or a lock's back-off sleeps too, and is no polling of the application.
func (c *sleepCase) weighUsers(f *analyze.Facts) {
	if b := waitsFor(f.Blocking, ofID("lock-backoff", "runtime-helper")); b.share >= traceShare {
		c.g.oppose(text("%s of the switches sleep as %s", quantity.Percent(b.share, 1), b.top.Reason.Label))
	}
	if share, _, top := cpuPath(f, ofID("lock-backoff")); share >= cpuPathShare {
		c.g.oppose(text("%s of the CPU samples lie in a lock's back-off (%s)", quantity.Percent(share, 1), code(top.Frame)))
	}
	if f.Has.UserFrames || len(f.Callers) > 0 || !f.Has.Stacks && !f.Has.CPUStacks {
		return
	}
	switch {
	case len(c.ws) == 1 && len(f.Threads) > 1:
		c.g.atMost(analyze.ConfidenceLow, "one thread of several sleeps by timer, and no user frame says whose code asks: a helper of a language runtime does, too")
	default:
		c.g.atMost(analyze.ConfidenceMedium, "the switches sleep by timer, and no user frame says whose code asks")
	}
}

// agreeVoluntary adds layer 2 when a measurement other than the stacks' own
// says that the switches are voluntary.
func agreeVoluntary(f *analyze.Facts, g *ground) {
	v, ok := f.Layer2.VoluntaryShare.Get()
	if ok && v >= willing && independent(f) {
		g.agree(threads, quantity.Percent(v, 1)+" of them are voluntary")
	}
}

// independent reports whether the threads' rates are a measurement of their
// own, and not counted from the same trace as the stacks.
func independent(f *analyze.Facts) bool { return len(f.Layer2.Sources) > 1 || !f.Has.Trace }

func (c *sleepCase) summary(f *analyze.Facts) analyze.Text {
	if len(c.ws) == 0 {
		return text("%s of the CPU samples of %s lie on the way into short sleeps.", quantity.Percent(c.cpu, 1), subjectIn(f))
	}
	verb := "poll" + s(len(c.ws)) + " by sleeping"
	if c.g.confidence() == analyze.ConfidenceLow {
		verb = "wake" + s(len(c.ws)) + " by what looks like a timer"
	}
	return text("%s %s, %s: %s.", threadsOf(f, c.ws), verb, rateSpan(c.ws), partOf(f, c.share))
}

func (c *sleepCase) claim(f *analyze.Facts) analyze.Text {
	if c.top == nil {
		return nil
	}
	if switchWaits(f) {
		w := waitsFor(f.Blocking, timerSleep)
		return blocks(f, &w)
	}
	frame := text("%s", code(c.top.Frame))
	if len(c.top.Evidence) == 0 { // of stacks, not a row of its own
		frame = text("most often %s", frame)
	}
	t := text("%s of the CPU samples lie on the way into the sleep (%s)", quantity.Percent(c.cpu, 2), frame)
	if k := caller(f, "timer-sleep"); k != nil {
		return text("%s, %s under %s.", t, quantity.Percent(k.Share, 2), place(k))
	}
	if k := heaviestUser(f); k != nil {
		return text("%s; the heaviest user code is %s, on the stack in %s of the samples.", t, place(k), quantity.Percent(k.Share, 2))
	}
	return text("%s.", t)
}

// shown sets out the evidence with its arithmetic.
func (c *sleepCase) shown(f *analyze.Facts) []analyze.Text {
	var out []analyze.Text
	if t := c.claim(f); t != nil {
		out = append(out, t)
	}
	if len(c.ws) == 0 {
		return out
	}
	if all, ok := f.Layer2.SwitchesPerS.Get(); ok {
		out = append(out, text("%s: %s of %s, %s.", analyze.NameList(facts(c.ws)), quantity.PerS(sumPerS(c.ws)), quantity.PerS(all), quantity.Percent(c.share, 1)))
	}
	if a := askedSleep(f, c.ws); a != nil {
		out = append(out, a.arithmetic)
	}
	if t := c.perSleep(f); t != nil {
		out = append(out, t)
	}
	return out
}

// perSleep spreads the CPU time on the path over the sleeps.
func (c *sleepCase) perSleep(f *analyze.Facts) analyze.Text {
	cpus, ok := f.Util.CPUsUsed.Get()
	if !ok || c.cpu == 0 || switchWaits(f) {
		return nil
	}
	return text("Each sleep costs %s of CPU: %s x %s CPUs / %s.", quantity.Time(c.cpu*cpus*1e9/sumPerS(c.ws)),
		quantity.Percent(c.cpu, 2), quantity.Fixed(cpus, 3), quantity.PerS(sumPerS(c.ws)))
}

func (c *sleepCase) cite(f *analyze.Facts) []analyze.Evidence {
	var out []analyze.Evidence
	if c.top != nil {
		out = append(out, c.top.Evidence...)
	}
	k := caller(f, "timer-sleep")
	if k == nil && !switchWaits(f) {
		k = heaviestUser(f)
	}
	if k != nil {
		out = append(out, k.Evid)
	}
	return out
}

// unknowns is what the captures leave open.
func (c *sleepCase) unknowns(f *analyze.Facts) []analyze.Text {
	var out []analyze.Text
	if a := askedSleep(f, c.ws); a != nil && !a.exact {
		out = append(out, text("the length of the sleep was not captured; off-CPU time says %s", a.span))
	}
	switch k := caller(f, "timer-sleep"); {
	case k != nil && k.CPU:
		out = append(out, text("the code that sleeps is named in %s of the CPU samples only", quantity.Percent(k.Share, 2)))
	case k != nil && k.Share < mainShare:
		out = append(out, text("the code that sleeps is named in %s of the switches only", quantity.Percent(k.Share, 2)))
	case k == nil && !switchWaits(f) && heaviestUser(f) != nil:
		out = append(out, text("the rows of a printed profile do not tell whose calls end in the sleep"))
	}
	return out
}

func (c *sleepCase) impact(f *analyze.Facts) analyze.Text {
	cpus, ok := f.Util.CPUsUsed.Get()
	if !ok || c.cpu == 0 {
		return nil
	}
	return text("%s of the %s CPUs used go into the sleep call (%s)", quantity.Fixed(c.cpu*cpus, 2), quantity.Fixed(cpus, 2), quantity.Percent(c.cpu, 2))
}

func shortSleepRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(shortSleep(f)) > 0 {
		return analyze.Rival{}, false
	}
	const look = "do_nanosleep; woken by timers"
	w := waitsFor(f.Blocking, timerSleep)
	switch {
	case switchWaits(f) && w.share < partShare:
		return ruledOut(f, w.share, partShare, look, "timer sleeps are %s of the switches", quantity.Percent(w.share, 1))
	case switchWaits(f):
		return rejected(f, "threads sleep, but fewer than %d times a second", minPollPerS)
	case involuntaryCase(f):
		return rejectedInvoluntary(f)
	}
	return candidate(f, look, func() (float64, string) { return fitShortWaits(f, 0.80, true) })
}
