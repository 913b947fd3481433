package export

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"ctxan/analyze"
)

func openMetrics(t *testing.T, r *analyze.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := OpenMetrics(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parseOpenMetrics reads metrics as a scraper of OpenMetrics does, into samples
// by their name and labels.
func parseOpenMetrics(t *testing.T, b []byte) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	p := textparse.NewOpenMetricsParser(b, labels.NewSymbolTable())
	for {
		e, err := p.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("no OpenMetrics: %v\n%s", err, b)
		}
		if e != textparse.EntrySeries {
			continue
		}
		_, stamp, v := p.Series()
		var l labels.Labels
		p.Labels(&l)
		if stamp != nil {
			t.Errorf("%v has a time stamp, which textfile collectors refuse", l)
		}
		if _, twice := out[l.String()]; twice {
			t.Errorf("%v twice", l)
		}
		out[l.String()] = v
	}
}

// TestOpenMetrics: the metrics are OpenMetrics, are what node_exporter's
// textfile collector takes, and have the values of the result.
func TestOpenMetrics(t *testing.T) {
	for _, c := range append(captures(t), sharedCaptures(t)...) {
		b := openMetrics(t, c.r)
		om := parseOpenMetrics(t, b)
		parser := expfmt.NewTextParser(model.LegacyValidation) // as node_exporter's
		families, err := parser.TextToMetricFamilies(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for name, f := range families {
			if f.GetHelp() == "" || f.GetType().String() == "UNTYPED" {
				t.Errorf("%s: %s is untyped", c.name, name)
			}
		}
		for _, k := range c.r.Cases {
			for _, f := range macroMetrics {
				key := labels.FromStrings("__name__", f.name, "subject", k.Subject.Name().String()).String()
				got, ok := om[key]
				if want := k.Macro.Value(f.id); ok != want.OK || ok && got != want.V*f.scale {
					t.Errorf("%s: %s is %v (%v), want %v", c.name, key, got, ok, want)
				}
			}
		}
		for _, h := range histMetrics {
			f := families[h.name]
			for _, m := range f.GetMetric() {
				holdHistogram(t, c, m.GetLabel()[0].GetValue(), h.id, m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum())
				for _, b := range m.GetHistogram().GetBucket() {
					holdBucket(t, c, m.GetLabel()[0].GetValue(), h.id, b.GetUpperBound(), b.GetCumulativeCount())
				}
			}
		}
	}
}

func histOf(c *capture, subject, id string) *analyze.NamedHist {
	for _, k := range c.r.Cases {
		for i := range k.Hists {
			if k.Subject.Name().String() == subject && k.Hists[i].ID == id {
				return &k.Hists[i]
			}
		}
	}
	return nil
}

func holdHistogram(t *testing.T, c *capture, subject, id string, n uint64, sum float64) {
	t.Helper()
	h := histOf(c, subject, id)
	if h == nil || h.Total != n || math.Abs(sum-h.Q.Mean.V*float64(h.Total)/1e9) > 1e-9*sum {
		t.Errorf("%s: %s of %s: %d values of %v s", c.name, id, subject, n, sum)
	}
}

// holdBucket counts the values up to a bound from the result's buckets, of which
// none may lie on both sides.
func holdBucket(t *testing.T, c *capture, subject, id string, le float64, n uint64) {
	t.Helper()
	var want uint64
	for _, b := range histOf(c, subject, id).Buckets {
		if float64(b.Lo)/1e9 > le {
			continue
		}
		if float64(b.Hi-1)/1e9 > le {
			t.Errorf("%s: the bound %v cuts the bucket %d to %d", c.name, le, b.Lo, b.Hi)
		}
		want += b.Count
	}
	if n != want {
		t.Errorf("%s: %d values of %s of %s up to %v s, want %d", c.name, n, id, subject, le, want)
	}
}

// TestFewSeries: a machine with a thousand threads is not a thousand series.
func TestFewSeries(t *testing.T) {
	c := &analyze.Case{}
	for i := range 1000 {
		c.Threads = append(c.Threads, analyze.ThreadRow{Name: "w", TID: i + 1})
		c.Threads[i].SwitchesPerS.V, c.Threads[i].SwitchesPerS.OK = 1, true
	}
	b := openMetrics(t, &analyze.Result{Cases: []*analyze.Case{c}})
	if n := strings.Count(string(b), "ctxan_thread_switches_per_second{"); n != maxMetricThreads {
		t.Errorf("%d series of threads", n)
	}
}
