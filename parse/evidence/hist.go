package evidence

import "math/bits"

// Histogram counts durations in log-linear buckets: each power of two is cut
// into 8, so a bucket is at most 12.5 % wide and values below 8 are exact.
// It grows with the span of what it saw (about 100 buckets for a thread). The
// zero Histogram is empty and ready. It is not safe for concurrent use.
type Histogram struct {
	base   int // index of counts[0]
	counts []uint64
	N      uint64
	Sum    uint64
	Max    uint64
	Min    uint64
}

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
	i := histIndex(v) - h.base
	if uint(i) >= uint(len(h.counts)) {
		h.grow(histIndex(v))
		i = histIndex(v) - h.base
	}
	h.counts[i]++
	if h.N == 0 || v < h.Min {
		h.Min = v
	}
	if v > h.Max {
		h.Max = v
	}
	h.N++
	h.Sum += v
}

// grow makes room for bucket i and some on either side of it.
func (h *Histogram) grow(i int) {
	lo, hi := i, i+1
	if len(h.counts) > 0 {
		lo, hi = min(lo, h.base), max(hi, h.base+len(h.counts))
	}
	lo, hi = lo/histSub*histSub, (hi+histSub-1)/histSub*histSub
	c := make([]uint64, hi-lo)
	copy(c[max(h.base-lo, 0):], h.counts)
	h.base, h.counts = lo, c
}

// Merge adds all of o.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil || o.N == 0 {
		return
	}
	h.grow(o.base)
	h.grow(o.base + len(o.counts) - 1)
	for i, c := range o.counts {
		h.counts[o.base+i-h.base] += c
	}
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
	var out []Bucket
	for i, c := range h.counts {
		if c > 0 {
			lo, hi := BucketBounds(h.base + i)
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
