package rules

import (
	"fmt"
	"math"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// layer is one of the three layers of evidence.
type layer uint8

const (
	counters layer = 1 << iota
	threads
	stacks
)

func (l layer) count() int {
	n := 0
	for ; l > 0; l >>= 1 {
		n += int(l & 1)
	}
	return n
}

// ground collects what speaks for and against a conclusion, and makes a
// confidence of it by fixed criteria:
//
//	high    something decides, another layer agrees, and nothing contradicts
//	medium  something decides
//	low     it fits, in two ways at least, and other causes might fit too
//	none    otherwise: no finding
//
// A layer decides when it shows what only this cause makes. Two figures of one
// measurement are one reason.
type ground struct {
	decides  layer
	agrees   layer
	fits     int
	reasons  []string
	against  []analyze.Text
	contra   bool
	limit    analyze.Confidence
	limitWhy string
}

// decide notes that a layer shows what only this cause makes.
func (g *ground) decide(l layer, why string) {
	g.decides |= l
	g.reasons = append(g.reasons, why)
}

// agree notes a layer that would look different under other causes.
func (g *ground) agree(l layer, why string) {
	g.agrees |= l
	g.fits++
	g.reasons = append(g.reasons, why)
}

// fit notes a likeness that other causes share.
func (g *ground) fit(why string) {
	g.fits++
	g.reasons = append(g.reasons, why)
}

// oppose notes what speaks against the conclusion and keeps it from being high.
func (g *ground) oppose(t analyze.Text) {
	g.against = append(g.against, t)
	g.contra = true
}

// note adds what a reader should know against it, without weight.
func (g *ground) note(t analyze.Text) { g.against = append(g.against, t) }

// atMost caps the confidence, and says why.
func (g *ground) atMost(c analyze.Confidence, why string) {
	if g.limit == "" || c.Rank() < g.limit.Rank() {
		g.limit, g.limitWhy = c, why
	}
}

// confidence applies the criteria.
func (g *ground) confidence() analyze.Confidence {
	c := analyze.ConfidenceNone
	switch {
	case g.decides != 0 && (g.decides|g.agrees).count() > 1 && !g.contra:
		c = analyze.ConfidenceHigh
	case g.decides != 0:
		c = analyze.ConfidenceMedium
	case g.fits > 1:
		c = analyze.ConfidenceLow
	}
	if g.limit != "" && g.limit.Rank() < c.Rank() {
		return g.limit
	}
	return c
}

// text is the ground in words.
func (g *ground) text() analyze.Text {
	n := (g.decides | g.agrees).count()
	var head string
	switch {
	case g.limit != "" && g.limit == g.confidence() && g.limitWhy != "":
		return analyze.Textf("%s", g.limitWhy)
	case g.decides != 0 && n > 1:
		head = map[int]string{2: "2 of 3 layers agree", 3: "3 of 3 layers agree"}[n]
	case g.decides != 0:
		head = "one layer decides"
	default:
		head = "it fits, and other causes may"
	}
	return analyze.Textf("%s: %s", head, strings.Join(g.reasons, "; "))
}

// apply fills a finding's confidence, ground and what is against it.
func (g *ground) apply(fd *analyze.Finding) {
	fd.Confidence = g.confidence()
	fd.Ground = g.text()
	fd.Against = append(fd.Against, g.against...)
}

// rateAgrees adds layer 1 when its rate bears the conclusion out: it is one
// measurement with layer 2's rates only when the trace is its source.
func (g *ground) rateAgrees(f *analyze.Facts) {
	one, ok1 := f.Macro.Value(analyze.FigRate).Get()
	two, ok2 := f.Layer2.SwitchesPerS.Get()
	if !ok1 || !ok2 || f.Macro.FromTrace {
		return
	}
	d := (two - one) / one
	switch {
	case math.Abs(d) <= 0.1:
		g.agree(counters, "the counters' rate is that of the threads")
	case math.Abs(d) < 0.5:
		g.agree(counters, fmt.Sprintf("the counters' rate is near that of the threads, within %s", quantity.Percent(math.Abs(d), 0)))
	}
}
