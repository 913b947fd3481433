package analyze

import (
	"math"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// Bounds of what counters can be.
const (
	// maxCPUs: more than any Linux kernel is built for (CONFIG_NR_CPUS).
	maxCPUs = 8192

	// metricWithin: perf prints three decimals of the CPUs utilized; since 6.19
	// one, and of a slightly other time (metricCoarse).
	metricWithin = 0.02
	metricFine   = 0.0015
	metricCoarse = 0.15
)

// implausible lists what the counters of a block cannot be: a value that
// damage or an editor changed must not become a grade.
func (r *block) implausible(m *Macro) []Text {
	var out []Text
	add := func(t Text) { out = append(out, t) }
	if r.T.ok && r.S.ok && r.T.v == 0 && r.S.v > 0 {
		add(Textf("%s is 0 with %s context switches", r.clock, r.S.text))
	}
	if v, ok := m.Value(FigBetween).Get(); ok && v < m.Scales.Cost.DirectUS {
		add(Textf("%s of CPU between two switches is less than a switch takes (%s)", quantity.Time(v*1e3), quantity.Time(m.Scales.Cost.DirectUS*1e3)))
	}
	cpus, ok := m.Value(FigCPUs).Get()
	if ok && cpus > maxCPUs {
		add(Textf("%s CPUs utilized is more than a machine has", quantity.Whole(cpus)))
	}
	if u, printed := printedCPUs(r.b); ok && printed && r.fromT == "" && r.b.Runs == 0 && len(r.b.Intervals) == 0 && r.b.Aggregation == "" && math.Abs(u-cpus) > metricWithin*cpus+rounding(u) {
		add(Textf("the capture prints %s CPUs utilized, its own clock and elapsed time give %s", quantity.Fixed(u, 3), quantity.Fixed(cpus, 3)))
	}
	if v, ok := m.Value(FigMigrations).Get(); ok && v > 1 {
		add(Textf("more migrations than context switches: %s", quantity.Percent(v, 1)))
	}
	return out
}

// rounding is by how much a printed metric may differ for its decimals.
func rounding(u float64) float64 {
	if tenths := u * 10; tenths == math.Trunc(tenths) {
		return metricCoarse
	}
	return metricFine
}

// unmeasurable says why the block's count of switches is no count.
func (r *block) unmeasurable() Text {
	c, ok := r.b.Find("context-switches")
	if !ok || c.Status != evidence.StatusUnmeasurable {
		return nil
	}
	return Textf("%s", notUsable(c))
}
