package evidence

import "math/bits"

// Histogram counts durations in log-linear buckets: each power of two is cut
// into 8, so a bucket is at most 12.5 % wide and values below 8 are exact.
// It grows with the span of what it saw (about 100 buckets for a thread); the
// first values are kept without buckets, for the many threads that live
// shortly. The zero Histogram is empty and ready. It is not safe for
// concurrent use.
type Histogram struct {
	counts []uint64 // nil while all values are in few
	base   int32    // index of counts[0]
	few    [fewValues]uint16
	N      uint64
	Sum    uint64
	Max    uint64
	Min    uint64
}

// fewValues is how many values a Histogram holds without buckets.
const fewValues = 10

const (
	histSubBits = 3
	histSub     = 1 << histSubBits
	// HistBuckets is the number of buckets over all of uint64.
	HistBuckets = (64 - histSubBits + 1) * histSub
)

func histIndex(v uint64) int {
	if v < histSub {
		return int(v)
	}
	e := bits.Len64(v) - 1 - histSubBits
	return (e+1)*histSub + int(v>>uint(e)) - histSub
}

// BucketBounds returns the inclusive lower and exclusive upper bound of bucket i.
func BucketBounds(i int) (lo, hi uint64) {
	if i < histSub {
		return uint64(i), uint64(i) + 1
	}
	e := uint(i/histSub - 1)
	m := uint64(i%histSub + histSub)
	return m << e, (m + 1) << e
}

// Add counts one value.
func (h *Histogram) Add(v uint64) {
	i := histIndex(v)
	if j := uint(i - int(h.base)); j < uint(len(h.counts)) {
		h.counts[j]++
	} else {
		h.place(i, h.N)
	}
	if v > h.Max {
		h.Max = v
	}
	if v < h.Min || h.N == 0 {
		h.Min = v
	}
	h.N++
	h.Sum += v
}

// AddAll counts several values: what Add does to each, for less.
func (h *Histogram) AddAll(vs []uint32) {
	least, most, sum := h.Min, h.Max, h.Sum
	if h.N == 0 && len(vs) > 0 {
		least = uint64(vs[0])
	}
	for n, v32 := range vs {
		v := uint64(v32)
		i := histIndex(v)
		if j := uint(i - int(h.base)); j < uint(len(h.counts)) {
			h.counts[j]++
		} else {
			h.place(i, h.N+uint64(n))
		}
		least, most = min(least, v), max(most, v)
		sum += v
	}
	h.Min, h.Max, h.Sum = least, most, sum
	h.N += uint64(len(vs))
}

// place counts bucket i, which counts does not reach, after n values.
func (h *Histogram) place(i int, n uint64) {
	if h.counts == nil {
		if n < fewValues {
			h.few[n] = uint16(i)
			return
		}
		h.spread(n)
	}
	h.grow(i)
	h.counts[i-int(h.base)]++
}

// spread puts the first n values into buckets.
func (h *Histogram) spread(n uint64) {
	for _, i := range h.few[:min(n, fewValues)] {
		h.grow(int(i))
		h.counts[int(i)-int(h.base)]++
	}
}

// grow makes room for bucket i, and the rest of its power of two.
func (h *Histogram) grow(i int) {
	base := int(h.base)
	if j := i - base; j >= 0 && j < len(h.counts) {
		return
	}
	lo, hi := i, i+1
	if len(h.counts) > 0 {
		lo, hi = min(lo, base), max(hi, base+len(h.counts))
	}
	lo, hi = lo/histSub*histSub, (hi+histSub-1)/histSub*histSub
	c := make([]uint64, hi-lo)
	copy(c[max(base-lo, 0):], h.counts)
	h.base, h.counts = int32(lo), c
}

// each calls f with the buckets and their counts, in no order.
func (h *Histogram) each(f func(i int, n uint64)) {
	if h.counts == nil {
		for _, i := range h.few[:min(h.N, fewValues)] {
			f(int(i), 1)
		}
		return
	}
	for i, n := range h.counts {
		if n > 0 {
			f(int(h.base)+i, n)
		}
	}
}

// Merge adds all of o.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil || o.N == 0 {
		return
	}
	if h.counts == nil {
		h.spread(h.N)
	}
	o.each(func(i int, n uint64) {
		h.grow(i)
		h.counts[i-int(h.base)] += n
	})
	if h.N == 0 || o.Min < h.Min {
		h.Min = o.Min
	}
	h.Max = max(h.Max, o.Max)
	h.N += o.N
	h.Sum += o.Sum
}

// Bucket is a filled bucket: Lo inclusive, Hi exclusive.
type Bucket struct {
	Lo    uint64 `json:"lo"`
	Hi    uint64 `json:"hi"`
	Count uint64 `json:"count"`
}

// Buckets returns the filled buckets in ascending order.
func (h *Histogram) Buckets() []Bucket {
	if h == nil {
		return nil
	}
	if h.counts == nil {
		few := *h
		few.spread(few.N)
		h = &few
	}
	filled := 0
	for _, c := range h.counts {
		if c > 0 {
			filled++
		}
	}
	out := make([]Bucket, 0, filled)
	for i, c := range h.counts {
		if c > 0 {
			lo, hi := BucketBounds(int(h.base) + i)
			out = append(out, Bucket{lo, hi, c})
		}
	}
	return out
}

// TextHistogram is a histogram that a tool printed (bpftrace, bcc).
type TextHistogram struct {
	Pos     Pos
	Title   string
	Unit    string
	Total   uint64
	Buckets []Bucket
}
