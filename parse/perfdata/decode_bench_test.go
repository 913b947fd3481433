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

// BenchmarkIndex walks over the records of the same and cuts it into runs.
func BenchmarkIndex(b *testing.B) {
	g := gen{cpus: 1, rounds: 1, perRound: 50_000}
	file := g.write(b)
	c, err := open(Input{R: bytes.NewReader(file), Size: int64(len(file)), Name: "memory"})
	if err != nil {
		b.Fatal(err)
	}
	r := &reader{capture: c, schema: newSchema(c)}
	b.SetBytes(c.dataTo - c.dataFrom)
	b.ReportAllocs()
	for b.Loop() {
		ix := &index{r: r, s: r.schema, add: func([]timeline.Run, uint64) error { return nil }}
		ix.buf = make([]byte, indexBlock)
		ix.pos, ix.to = c.dataFrom, c.dataTo
		if err := ix.segment(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*g.perRound), "ns/sample")
}
