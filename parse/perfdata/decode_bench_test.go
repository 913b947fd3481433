package perfdata

import (
	"bytes"
	"testing"

	"ctxan/parse/timeline"
)

// BenchmarkDecode decodes a recording of one CPU and does nothing else.
func BenchmarkDecode(b *testing.B) {
	g := gen{cpus: 1, rounds: 1, perRound: 50_000}
	file := g.write(b)
	c, err := open(Input{R: bytes.NewReader(file), Size: int64(len(file)), Name: "memory"})
	if err != nil {
		b.Fatal(err)
	}
	d := newDecoder(c, newSchema(c), &timeline.Names{})
	buf := make([]timeline.Event, 0, 1024)
	b.SetBytes(c.dataTo - c.dataFrom)
	b.ReportAllocs()
	for b.Loop() {
		var last uint64
		for at := c.dataFrom; at < c.dataTo; {
			if _, at, err = d.Decode(at, c.dataTo, &last, buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*g.perRound), "ns/sample")
}

// BenchmarkWalk goes over the records of the same, cuts them into runs, decodes
// them and throws the events away.
func BenchmarkWalk(b *testing.B) {
	g := gen{cpus: 1, rounds: 1, perRound: 50_000}
	file := g.write(b)
	c, err := open(Input{R: bytes.NewReader(file), Size: int64(len(file)), Name: "memory"})
	if err != nil {
		b.Fatal(err)
	}
	r := &reader{capture: c, schema: newSchema(c)}
	dec := newDecoder(c, r.schema, &timeline.Names{})
	b.SetBytes(c.dataTo - c.dataFrom)
	b.ReportAllocs()
	for b.Loop() {
		o := timeline.NewOrder(dec, func([]timeline.Event) error { return nil }, timeline.OrderOptions{CPUs: 1})
		w := &walker{r: r, s: r.schema, dec: dec, in: o.Intake(), pos: c.dataFrom, to: c.dataTo}
		if err := w.segment(); err != nil {
			b.Fatal(err)
		}
		w.in.Keep(w.dst)
		if _, err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*g.perRound), "ns/sample")
}
