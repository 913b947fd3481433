package perfstat

import (
	"testing"

	"ctxan/parse/evidence"
)

// The elapsed time of a capture without its footer follows from "CPUs
// utilized", so that this one metric is kept.
func TestCPUsUtilizedIsKept(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       evidence.Opt[float64]
	}{
		{"one line", "1,213.30 msec task-clock # 0.121 CPUs utilized 52,487 context-switches # 0.043 M/sec\n", evidence.Some(0.121)},
		{"decimal comma", " Performance counter stats for './a':\n\n   1.213,30 msec task-clock   #    1,121 CPUs utilized\n   52.487      context-switches   #    0,043 M/sec\n", evidence.Some(1.121)},
		{"6.19", " Performance counter stats for 'a':\n\n  5 context-switches  #  15.6 cs/sec  cs_per_second\n  33.00 msec task-clock  #  0.9 CPUs  CPUs_utilized\n", evidence.Some(0.9)},
		{"none", " Performance counter stats for 'a':\n\n  33.00 msec task-clock\n", evidence.Opt[float64]{}},
		{"CSV, whose figure is bogus", "0.83,msec,task-clock,830000,100.00,176.459,CPUs utilized\n0,,context-switches,830000,100.00,0.000,/sec\n", evidence.Opt[float64]{}},
	} {
		u := readBytes(t, []byte(c.text))
		if len(u.set.Counters) != 1 {
			t.Fatalf("%s: %d blocks", c.name, len(u.set.Counters))
		}
		k, ok := u.set.Counters[0].Find("task-clock")
		if !ok || k.Metric != c.want {
			t.Errorf("%s: got %v, want %v", c.name, k.Metric, c.want)
		}
	}
}
