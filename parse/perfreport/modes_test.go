package perfreport

import (
	"math"
	"os"
	"strings"
	"testing"

	"ctxan/parse/evidence"
)

func profile(t *testing.T, name string) evidence.Profile {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/perf-report/perf-6.1-" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	set := read(t, string(raw))
	if len(set.Profiles) == 0 {
		t.Fatalf("%s: no profile", name)
	}
	return set.Profiles[0]
}

// chains returns a profile's chains and their shares, by comm and frames.
func chains(p evidence.Profile, own bool) map[string]float64 {
	m := map[string]float64{}
	for _, r := range p.Rows {
		if own && r.ChildrenPct.OK && r.ChildrenPct != r.SelfPct {
			continue
		}
		for _, c := range r.Chains {
			m[r.Comm+": "+strings.Join(c.Frames, " < ")] += c.Pct
		}
	}
	return m
}

// TestModesAgree compares the chains of one recording as perf prints them in its
// call graph modes. -g folded prints every chain with its own share.
func TestModesAgree(t *testing.T) {
	truth := chains(profile(t, "folded"), true)
	if len(truth) < 6 {
		t.Fatalf("only %d folded chains", len(truth))
	}
	compared := 0
	for _, name := range []string{"callee", "caller", "children-caller", "children-callee", "fractal", "flat", "flat-caller", "folded-caller",
		"count", "period", "hierarchy", "separator", "tui"} {
		got := chains(profile(t, name), true)
		found := 0
		for chain, want := range truth {
			pct, ok := got[chain]
			if !ok {
				continue
			}
			found++
			limit := 0.02
			if strings.Contains(name, "caller") { // the shares of branches below the limit are not shown
				limit = 0.55
			}
			if math.Abs(pct-want) > limit {
				t.Errorf("%s: %s has %.2f %%, in folded %.2f %%", name, chain, pct, want)
			}
		}
		least := 5
		if strings.HasPrefix(name, "children") || name == "tui" { // rows of pure callees only; a part of the report
			least = 2
		}
		if found < least {
			t.Errorf("%s: only %d of %d chains", name, found, len(truth))
		}
		compared += found
	}
	t.Logf("%d chains compared", compared)
}

// TestChainsAddUp checks that no row's chains make more than the row.
func TestChainsAddUp(t *testing.T) {
	for _, name := range []string{"callee", "caller", "children-caller", "children-callee", "fractal", "flat", "flat-caller", "folded", "folded-caller",
		"count", "period", "hierarchy", "separator", "sort-sym", "trace", "group", "tui", "tui-children"} {
		p := profile(t, name)
		for _, r := range p.Rows {
			sum := 0.0
			for _, c := range r.Chains {
				sum += c.Pct
				if r.Symbol != "" && c.Frames[0] != r.Symbol && (name == "callee" || name == "caller" || name == "flat") {
					t.Errorf("%s: row %q has a chain from %q", name, r.Symbol, c.Frames[0])
				}
			}
			if whole := overhead(&r); sum > whole+0.03 {
				t.Errorf("%s: line %d: chains make %.2f %% of a row of %.2f %%", name, r.Pos.Line, sum, whole)
			}
		}
	}
}
