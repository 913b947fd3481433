package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/analyze"
	"ctxan/parse"
	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// labTruth is what a workload of the laboratory really does.
type labTruth struct {
	Cause   string   `json:"cause"`
	Also    []string `json:"also_acceptable"`
	MustNot []string `json:"must_not"`
}

// labRuns are the sets of captures that each workload is diagnosed from, with
// how many of the workloads must come out right. None may be wrong with medium
// or high confidence. The recordings are analysed with kernel symbols only, as
// on another machine than theirs.
var labRuns = []struct {
	name  string
	files []string
	right int
	blind bool // without the kernel's symbols
}{
	{name: "all", files: labAll, right: 38},
	{name: "switch.data", files: []string{"switch.data"}, right: 35},
	{name: "perf-stat and pidstat", files: []string{"perf-stat.txt", "pidstat.txt"}, right: 12},
	{name: "all, no kernel symbols", files: labAll, right: 14, blind: true},
	{name: "all and /proc", files: slices.Concat(labAll, labProc), right: 38},
	{name: "perf-stat and /proc", files: append([]string{"perf-stat.txt"}, labProc...), right: 12},
	{name: "/proc", files: labProc, right: 7},
}

var labAll = []string{"perf-stat.txt", "pidstat.txt", "switch.data", "switch-a.data", "cpu.data"}

// labProc are the readings of /proc and of control groups beside them.
var labProc = []string{"proc-before.txt", "proc-after.txt", "cgroup-before.txt", "cgroup-after.txt"}

func TestLab(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(shared.Dir(t), "lab", "w*"))
	if len(dirs) == 0 {
		t.Skipf("no lab captures (lab/w*) in %s", shared.Dir(t))
	}
	for _, run := range labRuns {
		count := map[string]int{}
		for _, dir := range dirs {
			symbols := kallsyms(t)
			if run.blind {
				symbols = ""
			}
			result := labCase(t, run.name, dir, run.files, symbols)
			count[result]++
		}
		t.Logf("%s: right %d, cannot tell %d, wrong with low confidence %d, no evidence %d", run.name,
			count["right"], count["cannot-tell"], count["wrong"], count["none"])
		if count["right"] < run.right {
			t.Errorf("%s: %d right, want %d at least", run.name, count["right"], run.right)
		}
	}
}

// labCase diagnoses one workload; being confidently wrong fails the test.
func labCase(t *testing.T, name, dir string, files []string, symbols string) string {
	c := diagnose(t, dir, files, symbols)
	if c == nil {
		return "none"
	}
	if symbols == "" {
		checkBlind(t, name, dir, c)
	}
	return judge(t, name, dir, c, truthOf(t, dir))
}

// judge holds a verdict to what the workload does.
func judge(t *testing.T, name, dir string, c *analyze.Case, truth labTruth) string {
	checkManners(t, c)
	v := &c.Verdict
	switch {
	case v.Cause == truth.Cause || slices.Contains(truth.Also, v.Cause):
		return "right"
	case v.Cause == "cannot-tell":
		return "cannot-tell"
	}
	t.Logf("%s, %s: %s (%s), truth %s: %s", name, filepath.Base(dir), v.Cause, v.Confidence, truth.Cause, v.Summary)
	if v.Confidence.Rank() >= analyze.ConfidenceMedium.Rank() {
		t.Errorf("%s, %s: confidently wrong: %s (%s), truth %s", name, filepath.Base(dir), v.Cause, v.Confidence, truth.Cause)
	}
	return "wrong"
}

func truthOf(t *testing.T, dir string) labTruth {
	t.Helper()
	var truth labTruth
	raw, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &truth); err != nil {
		t.Fatal(err)
	}
	return truth
}

// checkBlind: frames without names say nothing of what switches wait for.
func checkBlind(t *testing.T, name, dir string, c *analyze.Case) {
	for _, r := range c.Rivals {
		if r.ID != "migration-churn" && r.Status == analyze.RivalRejected && strings.HasPrefix(r.Because.String(), "0\u00a0% of the switches") && !strings.HasSuffix(r.Because.String(), "voluntary") {
			t.Errorf("%s, %s: %s rejected: %s", name, filepath.Base(dir), r.ID, r.Because)
		}
	}
}

// TestLabWords holds verdicts that once were too sure, or said what no capture
// shows, to what the captures do show.
func TestLabWords(t *testing.T) {
	for _, tt := range []struct {
		lab   string
		most  analyze.Confidence
		says  string
		never string
	}{
		{"w25-spinrank", analyze.ConfidenceMedium, "differs from the counters' by 92.2 %", "3 of 3"},
		{"w47-storelog", analyze.ConfidenceLow, "20.0 % of its context switches; 75.4 % more are preemptions inside the kernel", "95.4 %"},
		{"w49-statd", analyze.ConfidenceMedium, "89.0 % of the switches block in request_wait_answer", "called from"},
		{"w53-spawner", analyze.ConfidenceHigh, "50.6 % of the switches block in __wait_for_common", "100 % of the switches block"},
		{"w56-pgselect", analyze.ConfidenceLow, "the sources contradict each other: 91.6 % of the switches are voluntary", "3 of 3"},
		{"w58-phpish", analyze.ConfidenceMedium, "block in sk_wait_data", "crunch"},
		{"w66-gzip", analyze.ConfidenceMedium, "one layer decides, and something speaks against it", "layers agree"},
	} {
		dir := filepath.Join(shared.Dir(t), "lab", tt.lab)
		if !fileExists(dir) {
			t.Skipf("no lab captures in %s", dir)
		}
		c := diagnose(t, dir, labAll, kallsyms(t))
		if c.Verdict.Confidence.Rank() > tt.most.Rank() {
			t.Errorf("%s: confidence %s, want %s at most", tt.lab, c.Verdict.Confidence, tt.most)
		}
		all := strings.Join(sentences(&c.Findings[0]), "\n")
		if !strings.Contains(all, tt.says) || strings.Contains(all, tt.never) {
			t.Errorf("%s: want %q, and never %q, in\n%s", tt.lab, tt.says, tt.never, all)
		}
	}
}

// kallsyms is the symbol file of the recordings' kernel.
func kallsyms(t *testing.T) string {
	return filepath.Join(shared.Dir(t), "fixtures", "kallsyms-6.18.gz")
}

// diagnose returns the primary case of the files that exist, nil for none.
func diagnose(t *testing.T, dir string, files []string, kallsyms string) *analyze.Case {
	return diagnoseWith(t, dir, files, symbol.Options{Kallsyms: kallsyms, NoHost: true})
}

func diagnoseWith(t *testing.T, dir string, files []string, symbols symbol.Options) *analyze.Case {
	t.Helper()
	var paths []string
	for _, f := range files {
		if p := filepath.Join(dir, f); fileExists(p) {
			paths = append(paths, p)
		}
	}
	set, _, err := parse.Open(paths, parse.Options{Symbols: symbols})
	if err != nil {
		t.Fatal(err)
	}
	res, err := analyze.Run(set, All(), analyze.Options{})
	if err != nil {
		return nil
	}
	return res.Primary()
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestFixtures names the cause of the local recordings whose workload has one.
// Those without call chains cannot give more than medium confidence.
func TestFixtures(t *testing.T) {
	for _, tt := range []struct{ dir, want string }{
		{"netio_task_fp", "short-sleep-polling medium"},
		{"netio_task_cs_fp", "short-sleep-polling medium"},
		{"netio_a_allsched", "short-sleep-polling low"},
		{"pingthr_a", "hand-off medium"},
		{"migrate_a", "migration-churn medium"},
		{"hog_a", "oversubscription medium"},
		{"mutex_a", "lock-contention low"},
		{"churn_a", "task-churn low"},
		{"fsync_a", "cannot-tell none"}, // state D without a stack: a disk, a commit, a vfork?
	} {
		dir := filepath.Join(shared.Dir(t), "fixtures", "local", tt.dir)
		c := diagnose(t, dir, []string{"perf.data"}, kallsyms(t))
		if c == nil {
			t.Skipf("no recording in %s", dir)
		}
		if got := c.Verdict.Cause + " " + string(c.Verdict.Confidence); got != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.dir, got, tt.want, c.Verdict.Summary)
		}
	}
}

// TestReference: four threads that poll with a sleep of 10 us.
func TestReference(t *testing.T) {
	c := diagnose(t, "../../testdata/reference", []string{"perf-stat.txt", "pidstat.txt", "perf-report.txt"}, "")
	if c == nil {
		t.Fatal("no evidence in testdata/reference")
	}
	if got := c.Verdict.Cause + " " + string(c.Verdict.Confidence); got != "short-sleep-polling high" {
		t.Fatal(got)
	}
	shown := strings.ReplaceAll(strings.Join(texts(c.Findings[0].Shown), "\n"), "\u00a0", " ")
	for _, want := range []string{"0–36 µs", "1 / 17,603/s = 56.8 µs, less 21.28 µs of CPU", "43.90 % of the CPU samples", "MultiHostNetworkIOMgr::task"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	var effects []string
	for _, a := range c.Findings[0].Advice {
		for _, e := range a.Effects {
			effects = append(effects, e.Value.String())
		}
	}
	for _, want := range []string{"at most 100/s a thread, 400/s for the four", "(7,400 + 4 x 100)", "1.600 → 0.90 at best"} {
		if !strings.Contains(strings.Join(effects, "\n"), want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(effects, "\n"))
		}
	}
}
