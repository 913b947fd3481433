package analyze

import (
	"math"
	"strings"
	"testing"
)

func TestReadGrades(t *testing.T) {
	got, err := ReadGrades(strings.NewReader("# ours\n500 healthy\n5,000 normal # of a core\n\n20000 elevated\n50000 severe\n- extreme\n"))
	if err != nil || len(got) != 5 || got[1].Below != 5000 || !math.IsInf(got[4].Below, 1) {
		t.Fatal(got, err)
	}
	for _, bad := range []string{"", "500 healthy", "500 normal", "500 healthy\n400 normal\n1e4 elevated\n2e4 severe\n- extreme", "x healthy",
		"1 healthy\n2 normal\n3 elevated\n4 severe\n5 extreme", "1 healthy\n2 normal\n- elevated\n4 severe\n- extreme", "1 healthy\n2 normal\n3 elevated\n4 severe\n- extreme\n6 extreme", "NaN healthy"} {
		if got, err := ReadGrades(strings.NewReader(bad)); err == nil {
			t.Errorf("%q gives %v", bad, got)
		}
	}
}

func TestReadCost(t *testing.T) {
	got, err := ReadCost(strings.NewReader("low 2.8\nhigh 20\ndirect 0.2\nsource lat_ctx on app-host\n"))
	if want := (CostScale{2.8, 20, 0.2, "lat_ctx on app-host"}); err != nil || got != want {
		t.Fatal(got, err)
	}
	for _, bad := range []string{"", "low 3", "low 3\nhigh 2", "low -1\nhigh 2", "low 1 2\nhigh 3", "slow 3\nhigh 4", "low 0.05\nhigh 3", "low Inf\nhigh Inf"} {
		if got, err := ReadCost(strings.NewReader(bad)); err == nil {
			t.Errorf("%q gives %v", bad, got)
		}
	}
}

// TestScales: the same counters held against other tables.
func TestScales(t *testing.T) {
	s := DefaultScales()
	s.Grades[0].Below, s.Grades[1].Below, s.Grades[2].Below = 10_000, 20_000, 30_000
	s.Cost = CostScale{1, 2, 0.1, "a test"}
	m := macroOf(counted(3.004342766, referenceCounters), false, s)
	if m.Grade != GradeSevere {
		t.Errorf("46,983/s per active CPU is %s above 30,000", m.Grade)
	}
	if lo, hi := m.Cost.LoCPUs.V, m.Cost.HiCPUs.V; math.Abs(lo-0.0752) > 1e-3 || math.Abs(hi-0.1504) > 1e-3 || !strings.Contains(m.Cost.Table, "a test") {
		t.Errorf("cost %v to %v (%s)", lo, hi, m.Cost.Table)
	}
}
