package analyze

import (
	"gonum.org/v1/gonum/stat"

	"ctxan/parse/evidence"
)

// Figures of caches and translation buffers, which only blocks that counted
// them have.
const (
	FigCacheMisses = "cache_misses_per_switch"
	FigTLBMisses   = "dtlb_misses_per_switch"
)

// cacheEvents and tlbEvents are perf's names of the counters, the best first:
// misses that go to memory, and those that walk the page tables.
var (
	cacheEvents = []string{"LLC-load-misses", "cache-misses", "LLC-misses"}
	tlbEvents   = []string{"dTLB-load-misses", "dTLB-misses"}
)

// misses are the misses per switch, of the events that were counted.
func (r *block) misses() []Figure {
	var out []Figure
	for _, k := range []struct {
		id, label string
		events    []string
	}{{FigCacheMisses, "cache misses/switch", cacheEvents}, {FigTLBMisses, "dTLB misses/switch", tlbEvents}} {
		if ev, in := r.firstCounted(k.events); in.ok {
			out = append(out, quotient(Figure{ID: k.id, Label: k.label, Digits: 1, Formula: ev + " / S"}, in, r.S, 1, in.text+" / "+r.S.text))
		}
	}
	return out
}

func (r *block) firstCounted(events []string) (string, input) {
	for _, ev := range events {
		if in := counterInput(r.b, ev); in.ok {
			return ev, in
		}
	}
	return "", input{}
}

// MissTrend tells over the intervals of a block (perf stat -I) whether a second
// of CPU has more cache misses the more switches it has. Load alone makes no
// such trend: it changes both, and the CPU time with them.
type MissTrend struct {
	R         float64 // correlation
	Intervals int
}

// missTrend is absent for fewer intervals than a correlation means something of.
func (r *block) missTrend() evidence.Opt[MissTrend] {
	var x, y []float64
	for i := range r.b.Intervals {
		b := evidence.CounterBlock{Counters: r.b.Intervals[i].Counters}
		part := block{b: &b}
		t, s := counterInput(&b, r.clock), counterInput(&b, "context-switches")
		_, m := part.firstCounted(cacheEvents)
		if t.ok && s.ok && m.ok && t.v > 0 {
			x, y = append(x, s.v/t.v), append(y, m.v/t.v)
		}
	}
	if len(x) < fewIntervals || stat.StdDev(x, nil) == 0 || stat.StdDev(y, nil) == 0 {
		return evidence.Opt[MissTrend]{}
	}
	return evidence.Some(MissTrend{R: stat.Correlation(x, y, nil), Intervals: len(x)})
}

// fewIntervals: of ten pairs, a correlation of 0.8 comes by chance in one of
// two hundred cases (t distribution with eight degrees of freedom).
const fewIntervals = 10
