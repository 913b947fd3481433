package perfreport

import (
	"path/filepath"
	"strings"
	"testing"

	"ctxan/testdata/shared"
)

// expected is what the corpus' index says of a capture.
type expected struct {
	Events      [][2]string `json:"events"`
	EventCounts []uint64    `json:"event_counts"`
	First       float64     `json:"first_overhead_pct"`
}

func TestCorpus(t *testing.T) {
	values, files := 0, 0
	for _, c := range shared.Corpus(t) {
		raw := c.Raw(t)
		ours := c.Kind == "perf-report"
		reported := strings.Contains(string(raw), "\n$perf report -i perf.data\n") // and its rows, in a perf stat capture
		if txt, err := cleaned(raw); err == nil && Detect(txt) != (ours || reported) {
			t.Errorf("%s: Detect = %v", c.Name, !(ours || reported))
		}
		if !ours {
			continue
		}
		files++
		var want expected
		c.Want(t, &want)
		t.Run(filepath.Base(c.Name), func(t *testing.T) { values += want.check(t, string(raw)) })
	}
	t.Logf("%d values of %d captures compared", values, files)
	if files < 8 || values < 32 {
		t.Errorf("only %d values of %d captures compared", values, files)
	}
}

func (want expected) check(t *testing.T, raw string) int {
	set := read(t, raw)
	if len(set.Profiles) != len(want.Events) || len(want.EventCounts) != len(want.Events) {
		t.Fatalf("%d profiles, want %v", len(set.Profiles), want.Events)
	}
	n := 0
	for i, p := range set.Profiles {
		if p.Event != want.Events[i][0] || p.SamplesRaw != want.Events[i][1] {
			t.Errorf("event %d: %q %q, want %q", i, p.Event, p.SamplesRaw, want.Events[i])
		}
		if p.EventCount.V != want.EventCounts[i] {
			t.Errorf("event %d: count %v, want %d", i, p.EventCount, want.EventCounts[i])
		}
		n += 3
	}
	first := set.Profiles[0].Rows[0]
	if got := overhead(&first); got != want.First {
		t.Errorf("first overhead %v, want %v", got, want.First)
	}
	if d := set.Sources[0].DroppedTotal; d != 0 {
		t.Errorf("%d lines dropped", d)
	}
	return n + 1
}
