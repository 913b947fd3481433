package report

import (
	"math"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// sparks are the levels of a spark line; a blank is an empty bin.
var (
	sparks      = []rune("▁▂▃▄▅▆▇█")
	sparksASCII = []rune(".:-=+*#%")
)

// axis is a logarithmic axis of time over whole decades, in nanoseconds.
type axis struct {
	lo, decades int // from 10^lo ns on
	per         int // columns a decade
}

func (a axis) width() int { return a.decades * a.per }

// axisOf covers all buckets of the histograms.
func axisOf(hists [][]evidence.Bucket) (axis, bool) {
	lo, hi := math.Inf(1), 0.0
	for _, h := range hists {
		for _, b := range h {
			if b.Count > 0 {
				lo = min(lo, max(float64(b.Lo), firstLo(b)))
				hi = max(hi, float64(b.Hi-1), 1)
			}
		}
	}
	if hi == 0 {
		return axis{}, false
	}
	a := axis{lo: int(math.Floor(math.Log10(lo)))}
	a.decades = max(int(math.Ceil(math.Log10(hi)-1e-9))-a.lo, 1)
	return a, true
}

// firstLo is where a bucket that begins at 0 is drawn from.
func firstLo(b evidence.Bucket) float64 {
	if b.Lo > 0 {
		return 1
	}
	return max(float64(b.Hi)/2, 1)
}

// leastPart is the share of a bucket below which a column gets nothing of it:
// bounds of buckets and columns need not meet exactly.
const leastPart = 0.02

// bins spreads buckets over the columns of the axis. A bucket that reaches
// over several columns gives each its part.
func (a axis) bins(h []evidence.Bucket) []float64 {
	out := make([]float64, a.width())
	for _, b := range h {
		from := a.column(float64(b.Lo))
		to := a.column(float64(b.Hi))
		if to <= from {
			to = from + 1e-9
		}
		for i := max(int(from), 0); i < len(out) && float64(i) < to; i++ {
			part := (min(to, float64(i+1)) - max(from, float64(i))) / (to - from)
			if part >= leastPart {
				out[i] += float64(b.Count) * part
			}
		}
	}
	return out
}

// column is where a time stands on the axis, within it.
func (a axis) column(ns float64) float64 {
	c := (math.Log10(math.Max(ns, 1)) - float64(a.lo)) * float64(a.per)
	return min(max(c, 0), float64(a.width())-1e-9)
}

// spark draws values against their largest. What is not 0 is visible.
func (p *page) spark(values []float64, most float64) string {
	levels := sparks
	if p.ascii {
		levels = sparksASCII
	}
	out := make([]rune, len(values))
	for i, v := range values {
		out[i] = ' '
		if v > 0 {
			n := int(math.Ceil(v/most*float64(len(levels)))) - 1
			out[i] = levels[min(max(n, 0), len(levels)-1)]
		}
	}
	return string(out)
}

func largest(values []float64) float64 {
	m := 0.0
	for _, v := range values {
		m = max(m, v)
	}
	return m
}

// labels writes the axis below its columns: the unit where it changes, bare
// numbers between. Labels that do not fit are left out, the whole units last.
func (a axis) labels() string {
	row := []rune(pad(a.width()))
	put := func(d int, s string) {
		at := d * a.per
		r := []rune(s)
		if at+len(r) > len(row) {
			return
		}
		for i := max(at-1, 0); i < min(at+len(r)+1, len(row)); i++ {
			if row[i] != ' ' {
				return
			}
		}
		copy(row[at:], r)
	}
	for d := range a.decades {
		if (a.lo+d)%3 == 0 {
			put(d, decadeLabel(a.lo+d, true))
		}
	}
	put(0, decadeLabel(a.lo, true))
	for d := range a.decades {
		if (a.lo+d)%3 != 0 && d > 0 {
			put(d, decadeLabel(a.lo+d, false))
		}
	}
	return string(row)
}

// decadeLabel writes 10^n ns.
func decadeLabel(n int, unit bool) string {
	s := quantity.Fixed(math.Pow(10, float64(n%3)), 0)
	if unit {
		names := [...]string{"ns", "µs", "ms", "s"}
		k := min(n/3, len(names)-1)
		s = quantity.Fixed(math.Pow(10, float64(n-3*k)), 0) + names[k]
	}
	return s
}

// unitNS is how many nanoseconds the unit of a printed histogram has.
func unitNS(unit string) (float64, bool) {
	switch unit {
	case "ns", "nsecs", "nsec":
		return 1, true
	case "us", "µs", "usecs", "usec":
		return 1e3, true
	case "ms", "msecs", "msec":
		return 1e6, true
	case "s", "secs", "sec":
		return 1e9, true
	}
	return 0, false
}

// inNS scales buckets to nanoseconds.
func inNS(h []evidence.Bucket, unit string) ([]evidence.Bucket, bool) {
	k, ok := unitNS(unit)
	if !ok {
		return nil, false
	}
	out := make([]evidence.Bucket, len(h))
	for i, b := range h {
		out[i] = evidence.Bucket{Lo: scaleNS(b.Lo, k), Hi: scaleNS(b.Hi, k), Count: b.Count}
	}
	return out, true
}

// scaleNS multiplies without running over.
func scaleNS(v uint64, k float64) uint64 {
	f := float64(v) * k
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return uint64(f)
}

// resample spreads equal steps over n columns: each column is the mean of the
// steps in it, and a step is never drawn in less than one column.
func resample(values []float64, n int) []float64 {
	if len(values) <= n {
		k := max(n/max(len(values), 1), 1)
		out := make([]float64, 0, len(values)*k)
		for _, v := range values {
			for range k {
				out = append(out, v)
			}
		}
		return out
	}
	out := make([]float64, n)
	for i := range out {
		lo, hi := i*len(values)/n, (i+1)*len(values)/n
		for _, v := range values[lo:hi] {
			out[i] += v / float64(hi-lo)
		}
	}
	return out
}

// niceMax is the least of 1, 2, 4, 5, 8 times a power of ten that is not below v.
func niceMax(v float64) float64 {
	if v <= 0 {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, k := range []float64{1, 2, 4, 5, 8} {
		if k*base >= v {
			return k * base
		}
	}
	return 10 * base
}
