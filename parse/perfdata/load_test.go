package perfdata

import (
	"os"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/symbol"
)

// BenchmarkFile reads the recording that CTXAN_PERFDATA names, such as one made
// by the load mix of the README.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("CTXAN_PERFDATA")
	if path == "" {
		b.Skip("CTXAN_PERFDATA names no recording")
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	var opt Options
	if k := os.Getenv("CTXAN_KALLSYMS"); k != "" {
		if opt.Symbols, err = symbol.New(symbol.Options{Kallsyms: k, NoHost: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(st.Size())
	b.ReportAllocs()
	var stats Stats
	opt.Stats = &stats
	for b.Loop() {
		var set evidence.Set
		if err := Read(Input{R: f, Size: st.Size(), Name: path}, set.NewBuilder(path, Format), opt); err != nil {
			b.Fatal(err)
		}
	}
	var samples uint64
	for _, n := range stats.Samples {
		samples += n
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(samples), "ns/sample")
	b.ReportMetric(float64(stats.Events), "events")
	b.ReportMetric(float64(stats.Stacks), "stacks")
}
