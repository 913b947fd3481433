package vmstat

import (
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
	"ctxan/testdata/texts"
)

// expected is what the corpus's index says of a capture.
type expected struct {
	Rows      *int      `json:"rows"`
	CS        []float64 `json:"cs"`
	MixedRows *int      `json:"vmstat_rows"`
	MixedCS   []float64 `json:"vmstat_cs"`
	Total     *uint64   `json:"total_context_switches"`
}

func TestCorpus(t *testing.T) {
	tested.Corpus(t, texts.Walk{
		Ours: func(c *shared.Capture) bool {
			return c.Kind == "vmstat" && !strings.Contains(c.Name, "vmstat-d") || strings.HasPrefix(c.Name, "nasty/vmstat") || c.Kind == "mixed"
		},
		Detected: func(c *shared.Capture) bool { return strings.Contains(c.Name, "pub-vmstat-then-pidstat") },
		Check: func(t *testing.T, c *shared.Capture, set *evidence.Set) int {
			var want expected
			c.Want(t, &want)
			return want.check(t, set)
		},
		Files: 19, Values: 100,
	})
}

func (want *expected) check(t *testing.T, set *evidence.Set) int {
	var got []float64
	for _, s := range set.System {
		got = append(got, s.SwitchesPerS...)
	}
	n := 0
	for _, rows := range []*int{want.Rows, want.MixedRows} {
		if rows == nil {
			continue
		}
		if n++; len(got) != *rows {
			t.Fatalf("%d rows, want %d", len(got), *rows)
		}
	}
	for i, cs := range append(want.CS, want.MixedCS...) { // of many rows the index lists the first
		if n++; got[i] != cs {
			t.Errorf("row %d: cs %v, want %v", i, got[i], cs)
		}
	}
	if want.Total != nil {
		if n++; len(set.Readings) != 1 || set.Readings[0].Machine.V.Switches.V != *want.Total {
			t.Errorf("totals %+v, want %d switches", set.Readings, *want.Total)
		}
	}
	if d := set.Sources[0].DroppedTotal; d > 0 {
		t.Errorf("%d lines dropped: %v", d, set.Sources[0].Dropped)
	}
	return n
}
