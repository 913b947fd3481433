package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"ctxan/parse/symbol"
)

// ownLab holds the workloads recorded for this project: other mechanics of the
// causes than the laboratory's, in more languages.
const ownLab = "../../testdata/lab"

// ownRuns are as labRuns, for the workloads of ownLab.
var ownRuns = []struct {
	name  string
	files []string
	right int
}{
	{"all", []string{"perf-stat.txt", "pidstat.txt", "switch.data", "switch-a.data"}, 32},
	{"switch.data", []string{"switch.data"}, 24},
	{"perf-stat and pidstat", []string{"perf-stat.txt", "pidstat.txt"}, 5},
}

func TestOwnLab(t *testing.T) {
	cases := ownTruth(t)
	for _, run := range ownRuns {
		count := map[string]int{}
		for _, c := range cases {
			dir := filepath.Join(ownLab, c.ID)
			got := ownCase(t, run.name, dir, run.files, c.labTruth)
			if got != "right" {
				t.Logf("%s, %s: %s", run.name, c.ID, got)
			}
			count[got]++
		}
		t.Logf("%s: right %d, cannot tell %d, wrong with low confidence %d of %d", run.name, count["right"], count["cannot-tell"], count["wrong"], len(cases))
		if count["right"] < run.right {
			t.Errorf("%s: %d right, want %d at least", run.name, count["right"], run.right)
		}
		if count["none"] > 0 {
			t.Errorf("%s: no evidence in %d cases", run.name, count["none"])
		}
	}
}

// ownCase diagnoses one workload with what is kept of its symbols.
func ownCase(t *testing.T, name, dir string, files []string, truth labTruth) string {
	symbols := symbol.Options{Kallsyms: filepath.Join(ownLab, "kallsyms.gz"), NoHost: true}
	if kept := filepath.Join(dir, "symbols"); fileExists(kept) {
		symbols.Symfs = kept
	}
	c := diagnoseWith(t, dir, files, symbols)
	if c == nil {
		return "none"
	}
	return judge(t, name, dir, c, truth)
}

// ownTruths are the workloads and what they do, by their design.
type ownTruths []struct {
	ID string `json:"id"`
	labTruth
}

func ownTruth(t *testing.T) (out ownTruths) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(ownLab, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no cases in truth.json")
	}
	return out
}
