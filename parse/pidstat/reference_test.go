package pidstat

import (
	"math"
	"os"
	"strings"
	"testing"
)

// TestReference reads the threads of the reference case, whose rates are known,
// and agree with the 75,194 switches a second that perf stat counted.
func TestReference(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/reference/pidstat.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]float64{58949: 17603, 58988: 17633, 58989: 17605, 59001: 14841}
	total, others := 0.0, 0
	for _, r := range read(t, string(raw)).Threads {
		if !r.Average || r.Process {
			continue
		}
		if r.Task.PID != 58931 || r.InvoluntaryPerS.V > 1 {
			t.Errorf("%s", showRow(r))
		}
		if rate, hot := want[r.Task.TID]; hot && r.VoluntaryPerS.V != rate {
			t.Errorf("%s, want %g", showRow(r), rate)
		} else if !hot {
			others++
		}
		delete(want, r.Task.TID)
		total += r.VoluntaryPerS.V + r.InvoluntaryPerS.V
	}
	if len(want) > 0 || others < 7 || math.Abs(total/75194-1) > 0.01 {
		t.Errorf("threads missing %v, %d others, %.0f/s in all", want, others, total)
	}
}

// TestCut reads captures that end anywhere: no rate may be made up.
func TestCut(t *testing.T) {
	for _, name := range []string{"reference/pidstat.txt", "pidstat/sysstat-12.6.1-dec0-wt.txt", "pidstat/sysstat-12.6.1-rudwsvR-ht.txt", "pidstat/sysstat-12.6.1-ko-wt.txt"} {
		raw, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		full := read(t, string(raw)).Threads
		for cut := range raw {
			got := read(t, string(raw[:cut])).Threads
			for i, r := range got {
				whole := full[min(i, len(full)-1)]
				last := i == len(got)-1 && strings.HasPrefix(whole.Task.Comm, strings.TrimLeft(r.Task.Comm, "|_"))
				if r.Task.Comm != whole.Task.Comm && !last || r.Task.TID != whole.Task.TID || r.VoluntaryPerS != whole.VoluntaryPerS ||
					r.InvoluntaryPerS != whole.InvoluntaryPerS || r.Average != whole.Average || r.Process != whole.Process {
					t.Fatalf("%s cut at %d: %s, want %s", name, cut, showRow(r), showRow(whole))
				}
			}
		}
	}
}
