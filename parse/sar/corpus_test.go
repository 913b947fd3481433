package sar

import (
	"slices"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
	"ctxan/testdata/texts"
)

// expected is what the corpus's index says of a capture.
type expected struct {
	Rows     *int      `json:"rows"`
	CS       []float64 `json:"cswch_s"`
	Forks    []float64 `json:"proc_s"`
	First    *float64  `json:"first_cswch_s"`
	FirstF   *float64  `json:"first_proc_s"`
	Max      *float64  `json:"max_cswch_s"`
	Average  *float64  `json:"avg_cswch_s"`
	AverageF *float64  `json:"avg_proc_s"`
}

func TestCorpus(t *testing.T) {
	tested.Corpus(t, texts.Walk{
		Ours: func(c *shared.Capture) bool {
			return c.Kind == "sar" || c.Kind == "mpstat" && !strings.Contains(c.Name, "I-SUM")
		},
		Check: func(t *testing.T, c *shared.Capture, set *evidence.Set) int {
			var want expected
			c.Want(t, &want)
			return want.check(t, set)
		},
		Files: 16, Values: 65,
	})
}

func (want *expected) check(t *testing.T, set *evidence.Set) int {
	if len(set.System) != 1 {
		t.Fatalf("%d captures", len(set.System))
	}
	r := set.System[0]
	if want.Rows == nil { // a table without switch rates
		if len(r.SwitchesPerS) > 0 || len(set.Sources[0].Warnings) != 1 || len(r.Samples) == 0 {
			t.Errorf("%+v, warnings %v", r, set.Sources[0].Warnings)
		}
		return 0
	}
	n := 1
	if len(r.SwitchesPerS) != *want.Rows {
		t.Fatalf("%d rows, want %d", len(r.SwitchesPerS), *want.Rows)
	}
	same := func(name string, want *float64, got float64) {
		if want == nil {
			return
		}
		if n++; got != *want {
			t.Errorf("%s = %v, want %v", name, got, *want)
		}
	}
	for i := range want.CS {
		same("cswch/s", &want.CS[i], r.SwitchesPerS[i])
		same("proc/s", &want.Forks[i], r.Samples[i].ForksPerS.V)
	}
	same("first cswch/s", want.First, r.SwitchesPerS[0])
	same("first proc/s", want.FirstF, r.Samples[0].ForksPerS.V)
	same("highest cswch/s", want.Max, slices.Max(r.SwitchesPerS))
	same("average cswch/s", want.Average, r.AveragePerS.V)
	same("average proc/s", want.AverageF, r.AverageForks.V)
	if d := set.Sources[0].DroppedTotal; d > 0 {
		t.Errorf("%d lines dropped: %v", d, set.Sources[0].Dropped)
	}
	return n
}
