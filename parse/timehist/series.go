package timehist

import "ctxan/parse/evidence"

// seriesBuckets bounds a series: when time runs past the last bucket, pairs of
// them are joined.
const seriesBuckets = 512

// minSeriesShift makes the first buckets 2^20 ns (about 1 ms) wide, the
// resolution of the coarsest clock.
const minSeriesShift = 20

// series counts switches over time in a fixed number of buckets.
type series struct {
	start  uint64
	shift  uint
	bucket [seriesBuckets]uint32
}

func (s *series) begin(at uint64) { s.start, s.shift = at, minSeriesShift }

// add counts one switch. A time before the start counts at the start.
func (s *series) add(at uint64) {
	i := (max(at, s.start) - s.start) >> s.shift
	for i >= seriesBuckets {
		s.double()
		i >>= 1
	}
	s.bucket[i]++
}

// double joins pairs of buckets.
func (s *series) double() {
	s.shift++
	for i := range seriesBuckets / 2 {
		s.bucket[i] = s.bucket[2*i] + s.bucket[2*i+1]
	}
	clear(s.bucket[seriesBuckets/2:])
}

// evidence returns the series up to the bucket of the last time.
func (s *series) evidence(last uint64) evidence.Series {
	n := (max(last, s.start)-s.start)>>s.shift + 1
	n = min(n, seriesBuckets)
	return evidence.Series{
		StartNS:  s.start,
		StepNS:   1 << s.shift,
		Switches: append([]uint32(nil), s.bucket[:n]...),
	}
}
