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
//	high    something decides, another layer agrees within the tolerance, and nothing contradicts
//	medium  something decides
//	low     it fits, in two ways at least, and other causes might fit too
//	none    otherwise: no finding
//
// A layer decides when it shows what only this cause makes. Two figures of one
// measurement are one reason.
type ground struct {
	decides  layer
	agrees   layer
	differs  layer // out of tolerance: it counts for nothing
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

// layers is how many layers speak for the conclusion.
func (g *ground) layers() int { return ((g.decides | g.agrees) &^ g.differs).count() }

// confidence applies the criteria.
func (g *ground) confidence() analyze.Confidence {
	c := analyze.ConfidenceNone
	switch {
	case g.decides != 0 && g.layers() > 1 && !g.contra:
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
	n := g.layers()
	var head string
	switch {
	case g.limit != "" && g.limit == g.confidence() && g.limitWhy != "":
		return analyze.Textf("%s", g.limitWhy)
	case g.decides != 0 && n > 1 && g.contra:
		head = fmt.Sprintf("%d of 3 layers agree, and something speaks against it", n)
	case g.decides != 0 && n > 1:
		head = fmt.Sprintf("%d of 3 layers agree", n)
	case g.decides != 0 && g.contra:
		head = "one layer decides, and something speaks against it"
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

// compare sets the sources against each other: layer 1's rate against that of
// the threads, and what the stacks show as voluntary against what the threads
// count as such.
func (g *ground) compare(f *analyze.Facts) {
	if g.contrast(f) {
		g.agree(counters, "the counters' rate is that of the threads")
	}
}

// contrast is compare for causes that equal rates do not speak for; it reports
// whether the rates are equal.
func (g *ground) contrast(f *analyze.Facts) bool {
	g.compareWillingness(f)
	return g.compareRates(f)
}

// crossRates are layer 1's rate and that of the threads, when they are two
// measurements.
func crossRates(f *analyze.Facts) (one, two float64, ok bool) {
	one, ok1 := f.Macro.Value(analyze.FigRate).Get()
	two, ok2 := f.Layer2.SwitchesPerS.Get()
	return one, two, ok1 && ok2 && !f.Macro.FromTrace && one > 0 && two > 0
}

// compareRates reports whether layer 1's rate is that of the threads. A layer
// that is out of tolerance counts for nothing, and far out it keeps the
// conclusion from being sure; beyond otherLoad the engine's own check lowers it.
func (g *ground) compareRates(f *analyze.Facts) bool {
	one, two, ok := crossRates(f)
	if !ok {
		return false
	}
	d := (two - one) / one
	if math.Abs(d) <= analyze.AgreeWithin {
		return true
	}
	g.differs |= g.other()
	t := text("the threads' rate differs from the counters' by %s (%s against %s; ±%s is allowed)", quantity.Percent(d, 1),
		quantity.PerS(two), quantity.PerS(one), quantity.Percent(analyze.AgreeWithin, 0))
	switch {
	case max(one/two, two/one) > otherLoad:
	case math.Abs(d) > differBeyond:
		g.oppose(t)
	default:
		g.note(t)
	}
	return false
}

// other is the layer that differs from the deciding one.
func (g *ground) other() layer {
	if g.decides&counters != 0 {
		return threads
	}
	return counters
}

// compareWillingness: sources of which one says that most switches are voluntary
// and the other that most are not do not show the same thing.
func (g *ground) compareWillingness(f *analyze.Facts) {
	v, ok := f.Layer2.VoluntaryShare.Get()
	invol, okI := stacksInvoluntary(f)
	if !ok || !okI || !independent(f) || math.Abs(1-invol-v) <= partShare {
		return
	}
	g.oppose(text("the sources contradict each other: %s of the switches are voluntary by the threads' counts, %s by the stacks", percent(v), percent(1-invol)))
	g.atMost(analyze.ConfidenceLow, fmt.Sprintf("the sources contradict each other: %s voluntary by the threads' counts, %s by the stacks", percent(v), percent(1-invol)))
}
