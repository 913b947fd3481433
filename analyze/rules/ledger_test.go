package rules

import (
	"math"
	"path/filepath"
	"testing"

	"ctxan/analyze"
	"ctxan/testdata/shared"
)

// TestLedger: over the laboratory, every switch has one reason or trigger, one
// kind and one scenario, and nothing is counted twice or lost.
func TestLedger(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(shared.Dir(t), "lab", "w*"))
	if len(dirs) == 0 {
		t.Skipf("no lab captures (lab/w*) in %s", shared.Dir(t))
	}
	n := 0
	for _, dir := range dirs {
		for _, file := range []string{"switch.data", "switch-a.data"} {
			if c := diagnose(t, dir, []string{file}, kallsyms(t)); c != nil && c.Ledger != nil {
				n++
				checkLedger(t, filepath.Base(dir)+"/"+file, c)
			}
		}
	}
	if n < len(dirs)/2 {
		t.Errorf("%d recordings have a ledger", n)
	}
}

func checkLedger(t *testing.T, name string, c *analyze.Case) {
	t.Helper()
	l := c.Ledger
	for _, part := range []struct {
		what string
		rows []analyze.LedgerRow
	}{{"why", l.Why}, {"kinds", l.Kinds}, {"scenarios", l.Scenarios}} {
		sum, shares, off := 0.0, 0.0, 0.0
		seen := map[string]bool{}
		for _, r := range part.rows {
			if seen[r.ID] && r.ID != "exit" {
				t.Errorf("%s: %s has %s twice", name, part.what, r.ID)
			}
			seen[r.ID] = true
			sum, shares, off = sum+r.Switches, shares+r.Share, off+r.OffNS.V
		}
		if math.Abs(sum-l.Switches) > 0.5 || math.Abs(shares-1) > 1e-6 {
			t.Errorf("%s: the rows of %s sum to %.1f switches (%.4f), of %.1f", name, part.what, sum, shares, l.Switches)
		}
		if want, ok := l.OffNS.Get(); ok && part.what == "why" && math.Abs(off-want) > 1 {
			t.Errorf("%s: off-CPU time sums to %.0f ns, of %.0f", name, off, want)
		}
	}
	if total, ok := c.Layer2.Switches.Get(); ok && len(c.Layer2.Sources) == 1 && float64(total) != l.Switches {
		t.Errorf("%s: the ledger has %.0f switches, the threads %d", name, l.Switches, total)
	}
}

// TestDelayBlame: what waits for a CPU are charged with is all that was waited.
func TestDelayBlame(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "lab", "w32-batchd")
	if !fileExists(dir) {
		t.Skipf("no lab captures in %s", dir)
	}
	c := diagnose(t, dir, []string{"perf-stat.txt", "switch-a.data"}, kallsyms(t))
	if c == nil || c.Held == nil || len(c.Taken) == 0 {
		t.Fatal("no delay blame, or no preemptors, in a system-wide recording")
	}
	if got := c.Taken[0].By.String(); got != "motionctl" || c.Taken[0].Share < 0.9 {
		t.Errorf("%s takes the CPU most often, want motionctl", got)
	}
	sum := 0.0
	for _, r := range c.Held.Rows {
		sum += r.NS
	}
	if math.Abs(sum-c.Held.WaitedNS) > 1 || c.Held.Rows[0].By.String() != "motionctl" {
		t.Errorf("%v: %.0f ns charged, %.0f waited", c.Held.Rows, sum, c.Held.WaitedNS)
	}
	if c.Held.IdleShare < 0.5 {
		t.Errorf("the other CPU was idle in %.2f of the waits: both tasks are bound to one", c.Held.IdleShare)
	}
}
