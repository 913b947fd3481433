package analyze

import (
	"strings"
	"testing"

	"ctxan/parse/evidence"
)

func TestImplausibleCounters(t *testing.T) {
	for _, c := range []struct {
		name     string
		counters map[string]float64
		printed  float64 // CPUs utilized; 0: none
		want     string  // part of what is said; "" for nothing
	}{
		{"the reference", referenceCounters, 1.600, ""},
		{"no clock", map[string]float64{"task-clock": 0, "context-switches": 5}, 0, "task-clock is 0"},
		{"nothing at all happened", map[string]float64{"task-clock": 0, "context-switches": 0}, 0, ""},
		{"switches without time", map[string]float64{"task-clock": 1, "context-switches": 1e9}, 0, "less than a switch takes"},
		{"more CPUs than any machine", map[string]float64{"task-clock": 1e12, "context-switches": 5}, 0, "more than a machine has"},
		{"a digit more in the clock", map[string]float64{"task-clock": 48083.0, "context-switches": 225908}, 1.600, "prints 1.600 CPUs utilized"},
		{"one decimal since 6.19", map[string]float64{"task-clock": 4808.30, "context-switches": 225908}, 1.5, ""},
		{"migrations", map[string]float64{"task-clock": 100, "context-switches": 10, "cpu-migrations": 40}, 0, "more migrations"},
	} {
		b := counted(3.004342766, c.counters)
		if c.printed > 0 {
			b.Counters[0].Metric, b.Counters[0].MetricUnit = evidence.Some(c.printed), "CPUs utilized"
		}
		m := macroOf(b, false, DefaultScales())
		got := ""
		if len(m.Implausible) > 0 {
			got = m.Implausible[0].String()
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got != "" && m.Grade != GradeNone {
			t.Errorf("%s: graded %s all the same", c.name, m.Grade)
		}
	}
}
