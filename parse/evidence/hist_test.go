package evidence

import (
	"math/rand/v2"
	"testing"
)

// plainHist is the definition of Histogram, by a map.
type plainHist struct {
	counts              map[int]uint64
	n, sum, most, least uint64
}

func (p *plainHist) add(v uint64) {
	if p.counts == nil {
		p.counts = map[int]uint64{}
	}
	for i := range HistBuckets {
		lo, hi := BucketBounds(i)
		if v >= lo && v-lo < hi-lo { // hi of the last bucket is 1<<64, that is 0
			p.counts[i]++
		}
	}
	if p.n == 0 || v < p.least {
		p.least = v
	}
	p.most = max(p.most, v)
	p.n++
	p.sum += v
}

func (p *plainHist) check(t *testing.T, h *Histogram) {
	t.Helper()
	if h.N != p.n || h.Sum != p.sum || h.Max != p.most || h.Min != p.least {
		t.Fatalf("N, Sum, Max, Min = %d %d %d %d, want %d %d %d %d", h.N, h.Sum, h.Max, h.Min, p.n, p.sum, p.most, p.least)
	}
	var n uint64
	for _, b := range h.Buckets() {
		i := histIndex(b.Lo)
		if b.Count != p.counts[i] {
			t.Fatalf("bucket %d has %d, want %d", b.Lo, b.Count, p.counts[i])
		}
		n += b.Count
	}
	if n != p.n {
		t.Fatalf("buckets hold %d values, want %d", n, p.n)
	}
}

// TestHistogram adds and merges values of all sizes, in numbers on either side
// of the border between the first values and buckets.
func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var h Histogram
		var p plainHist
		for range r.IntN(4) {
			var o Histogram
			var some []uint32
			for range r.IntN(2 * fewValues) {
				v := r.Uint64() >> r.UintN(64)
				switch r.IntN(3) {
				case 0:
					h.Add(v)
				case 1:
					o.Add(v)
				default:
					v = uint64(uint32(v))
					some = append(some, uint32(v))
				}
				p.add(v)
			}
			h.AddAll(some)
			h.Merge(&o)
		}
		p.check(t, &h)
	}
}

func BenchmarkHistogramAdd(b *testing.B) {
	var h Histogram
	r := rand.New(rand.NewPCG(1, 2))
	vs := make([]uint64, 4096)
	for i := range vs {
		vs[i] = 1000 + r.Uint64N(100000)
	}
	b.ReportAllocs()
	for i := range b.N {
		h.Add(vs[i%len(vs)])
	}
}
