package rules

import (
	"fmt"
	"time"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// sleepLength is the range in which the asked sleep lies.
type sleepLength struct {
	lo, hi     float64 // ns
	exact      bool    // the timers themselves were traced
	span       analyze.Text
	arithmetic analyze.Text
}

// askedSleep infers the length that the threads ask to sleep for. It is a
// range: a timer fires up to its slack late, and the thread runs some time
// after that; in a virtual machine much longer.
func askedSleep(f *analyze.Facts, ws []waiter) *sleepLength {
	if len(ws) == 0 {
		return nil
	}
	if h := merge(ws, func(t *analyze.ThreadFact) *hist { return t.Asked }); h != nil {
		return askedByTimers(ws, h)
	}
	if h := gaps(ws); h != nil && h.N >= fewGaps {
		return askedByGaps(ws)
	}
	return askedByRate(f, ws)
}

// askedByTimers reads what the threads asked for: the earliest time at which
// each timer may fire, less the time at which it was started.
func askedByTimers(ws []waiter, h *hist) *sleepLength {
	a := &sleepLength{lo: quantile(h, 0.05), hi: quantile(h, 0.95), exact: true}
	a.span = span(a)
	slack := ""
	if s := merge(ws, func(t *analyze.ThreadFact) *hist { return t.Slack }); s != nil {
		slack = fmt.Sprintf(", and may end %s later (timer slack)", quantity.Time(quantile(s, 0.5)))
	}
	a.arithmetic = text("The asked sleep is %s: softexpires less the time of the sample, the median of %s timers (5th to 95th percentile %s to %s)%s.",
		quantity.Time(quantile(h, 0.5)), quantity.Count(h.N), quantity.Time(a.lo), quantity.Time(a.hi), slack)
	return a
}

// askedByGaps: no timer fires early, so that the sleep is not longer than the
// shortest gaps; less the slack and what waking up takes, not shorter either.
// Where the wake latency was not captured there is no lower bound.
func askedByGaps(ws []waiter) *sleepLength {
	h := gaps(ws)
	least, most := quantileBucket(h, 0.05)
	a := &sleepLength{hi: most}
	delay := merge(ws, func(t *analyze.ThreadFact) *hist { return t.Delay })
	if delay == nil {
		a.span = span(a)
		a.arithmetic = text("The asked sleep lies in %s: the shortest of %s gaps off CPU last %s to %s (5th percentile), and no timer fires early.",
			a.span, quantity.Count(h.N), quantity.Time(least), quantity.Time(most))
		return a
	}
	late := quantile(delay, 0.90)
	a.lo = max(0, least-timerSlackNS-late)
	a.span = span(a)
	a.arithmetic = text("The asked sleep lies in %s: the shortest of %s gaps off CPU last %s to %s (5th percentile), no timer fires early, and "+
		"up to %s are timer slack and %s the way from wakeup to CPU (90th percentile).",
		a.span, quantity.Count(h.N), quantity.Time(least), quantity.Time(most), quantity.Time(timerSlackNS), quantity.Time(late))
	return a
}

// askedByRate takes the median thread's period, and from it the mean CPU time
// between switches; what is left is off-CPU time.
func askedByRate(f *analyze.Facts, ws []waiter) *sleepLength {
	m := median(ws)
	cpu, cpuText, ok := figure(f, analyze.FigBetween)
	if !ok {
		return nil
	}
	period := float64(time.Second) / m.perS
	off := period - cpu*1e3
	if off <= 0 {
		return nil
	}
	a := &sleepLength{hi: off}
	a.span = span(a)
	whose := ""
	if len(ws) > 1 {
		whose = fmt.Sprintf(", by the median thread, %d", m.t.Task.TID)
	}
	a.arithmetic = text("The asked sleep lies in %s%s: a period of 1 / %s = %s, less %s of CPU a switch (T / S over all threads), leaves %s off CPU; "+
		"of that up to %s are timer slack, and waking up takes its part.",
		a.span, whose, quantity.PerS(m.perS), quantity.Time(period), cpuText, quantity.Time(off), quantity.Time(timerSlackNS))
	return a
}

// span writes a range of a sleep in one unit: 0–36 µs.
func span(a *sleepLength) analyze.Text {
	return text("%s", quantity.With(quantity.Range(quantity.Micros(a.lo), quantity.Micros(a.hi)), "µs"))
}
