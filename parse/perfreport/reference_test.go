package perfreport

import (
	"os"
	"strings"
	"testing"

	"ctxan/parse/evidence"
)

// TestReference reads the CPU samples of the reference case.
func TestReference(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/reference/perf-report.txt")
	if err != nil {
		t.Fatal(err)
	}
	set := read(t, string(raw))
	if len(set.Profiles) != 1 || set.Profiles[0].Kind != evidence.StackCPU || !set.Profiles[0].Children {
		t.Fatalf("%+v", set.Profiles)
	}
	target := set.Sources[0].Target
	if target.Kind != evidence.TargetProcess || len(target.IDs) != 1 || target.IDs[0] != 58931 {
		t.Errorf("target %+v", target)
	}
	want := map[string][2]float64{
		"[unknown]": {69.22, 0}, "system_call_fastpath": {65.83, 0}, "sys_nanosleep": {43.90, 0.79}, "hrtimer_nanosleep": {41.53, 0.40},
		"do_nanosleep": {40.59, 1.44}, "schedule": {30.58, 0.12}, "__schedule": {27.00, 1.10}, "uv_runtime_sw::MultiHostNetworkIOMgr::task": {30.58, 1.27},
	}
	for _, r := range set.Profiles[0].Rows {
		pcts, ok := want[r.Symbol]
		if !ok || r.ChildrenPct.V != pcts[0] || r.SelfPct.V != pcts[1] || r.Kernel != strings.HasPrefix(r.Module, "[kernel") {
			t.Errorf("%+v, want %v", r, pcts)
		}
		delete(want, r.Symbol)
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
}
