package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// advice: wait for the event; if polling must stay, poll less often.
func (c *sleepCase) advice(f *analyze.Facts) []analyze.Advice {
	if len(c.ws) == 0 {
		return nil
	}
	sketch, lang := pick(f, waitSketches)
	out := []analyze.Advice{{
		Do:      text("Block on the event (condition variable; epoll_wait for sockets) instead of sleeping until it may have come."),
		Effects: c.blockEffects(f),
		Price:   text("whoever makes the event has to signal it"),
		Sketch:  sketch, Lang: lang,
	}}
	if median(c.ws).perS > 2*polledPerS {
		out = append(out, c.sleepLonger(f))
	}
	if len(c.ws) > 1 {
		out = append(out, analyze.Advice{Do: text("Merge the %s loops into one.", quantity.Small(len(c.ws))),
			Effects: []analyze.Effect{{Label: "switches", Value: text("up to %s times fewer; with 1, not instead", quantity.Small(len(c.ws)))}}})
	}
	return out
}

func (c *sleepCase) blockEffects(f *analyze.Facts) []analyze.Effect {
	out := []analyze.Effect{{Label: "switches of these threads", Value: text("%s → one per event", quantity.PerS(sumPerS(c.ws)))}}
	if cpus, ok := f.Util.CPUsUsed.Get(); ok && c.cpu > 0 {
		out = append(out, analyze.Effect{Label: "CPU", Value: text("%s → %s at best: %s x (1 − %s)", quantity.Fixed(cpus, 3),
			quantity.Fixed(cpus*(1-c.cpu), 2), quantity.Fixed(cpus, 3), quantity.Percent(c.cpu, 2))})
	}
	return append(out, analyze.Effect{Label: "latency", Value: text("no worse")})
}

// sleepLonger predicts the effect of a sleep of polledSleep.
func (c *sleepCase) sleepLonger(f *analyze.Facts) analyze.Advice {
	n, now := float64(len(c.ws)), sumPerS(c.ws)
	most := n * polledPerS
	each := fmt.Sprintf("at most %s a thread", quantity.PerS(polledPerS))
	if n > 1 {
		each += fmt.Sprintf(", %s for the %s: %d x %s", quantity.PerS(most), quantity.Small(len(c.ws)), len(c.ws), quantity.Whole(polledPerS))
	}
	effects := []analyze.Effect{{Label: "switches of these threads", Value: text("%s → %s", quantity.PerS(now), each)}}
	if all, ok := f.Layer2.SwitchesPerS.Get(); ok && all-now >= 1 {
		others := all - now
		before := f.Macro.Value(analyze.FigRate).Or(all)
		effects = append(effects, analyze.Effect{Label: "switches in all", Value: text("%s → at most %s (%s + %d x %s), %s", quantity.PerS(before),
			quantity.PerS(others+most), quantity.Whole(others), len(c.ws), quantity.Whole(polledPerS), quantity.Percent((others+most-before)/before, 0))})
	}
	return analyze.Advice{Do: text("If polling must stay, sleep %d ms.", polledSleep.Milliseconds()), Effects: effects,
		Price: text("up to %d ms more delay", polledSleep.Milliseconds())}
}
