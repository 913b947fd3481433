package rules

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/analyze"
	"ctxan/parse"
	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// posted is what the evidence that people posted was of (cases/truth.json has
// it in words), by cause, and which rival must be ranked first where the input
// does not decide.
var posted = []struct {
	file  string
	right []string
	first string
}{
	{file: "01.txt", right: []string{"short-sleep-polling", "timed-wait-polling"}},
	{file: "03.txt", right: []string{"traced-process", "hand-off"}},
	{file: "05.txt", right: []string{"sched-yield-spin"}},
	{file: "06.txt", right: []string{"thundering-herd"}},
	{file: "10.txt", right: []string{"healthy", "event-loop-idle"}},
	{file: "16.txt", right: []string{"cpu-quota", "healthy"}},
	{file: "17.txt", right: []string{"lock-contention"}},
	{file: "25.txt", right: []string{"measurement-artifact", "healthy"}},
	{file: "26.txt", right: []string{"short-sleep-polling"}, first: "short-sleep-polling"},
	{file: "27.txt", right: []string{"lock-contention"}},
	{file: "34.txt", right: []string{"fsync-journal", "io-wait"}},
}

// TestPosted: what people post decides seldom. Then the report must say so, and
// print what would: it is never wrong.
func TestPosted(t *testing.T) {
	count := map[string]int{}
	for _, p := range posted {
		path := filepath.Join(shared.Dir(t), "cases", p.file)
		if !fileExists(path) {
			t.Skipf("no posted evidence (%s)", path)
		}
		set, _, err := parse.Open([]string{path}, parse.Options{Symbols: symbol.Options{NoHost: true}})
		if err != nil {
			count["not recognised"]++
			continue
		}
		res, err := analyze.Run(set, All(), analyze.Options{})
		if errors.Is(err, analyze.ErrNoEvidence) {
			count["not recognised"]++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		count[judgePosted(t, p.file, p.right, p.first, res.Primary())]++
	}
	t.Logf("right %d, cannot tell %d, not recognised %d", count["right"], count["cannot-tell"], count["not recognised"])
}

func judgePosted(t *testing.T, file string, right []string, first string, c *analyze.Case) string {
	v := &c.Verdict
	if slices.Contains(right, v.Cause) {
		return "right"
	}
	if v.Cause != "cannot-tell" {
		t.Errorf("%s: %s (%s), which it is not: %s", file, v.Cause, v.Confidence, v.Summary)
		return "wrong"
	}
	if len(c.Next) == 0 || !strings.HasPrefix(c.Next[0].Line, "perf ") {
		t.Errorf("%s: cannot tell, and no command that would", file)
	}
	if first != "" && (len(c.Rivals) == 0 || c.Rivals[0].ID != first) {
		t.Errorf("%s: %v ranked first, want %s", file, c.Rivals, first)
	}
	return "cannot-tell"
}
