package pidstat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxan/testdata/shared"
)

// TestLab counts the rows of the laboratory captures with a plain word count:
// every line with one of the two ids' forms is a row.
func TestLab(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared.Dir(t), "lab", "*", "pidstat.txt"))
	total := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, average := 0, 0
		for _, l := range strings.Split(string(raw), "\n") {
			words := strings.Fields(l)
			if len(words) >= 7 && words[1] != "UID" && words[0] != "Linux" {
				want++
				if words[0] == "Average:" {
					average++
				}
			}
		}
		set := read(t, string(raw))
		got := 0
		for _, r := range set.Threads {
			if r.Average {
				got++
			}
			if r.Task.PID == 0 {
				t.Errorf("%s: line %d: no process", f, r.Pos.Line)
			}
		}
		if len(set.Threads) != want || got != average || len(set.Sources) != 1 || set.Sources[0].DroppedTotal != 0 {
			t.Errorf("%s: %d rows, %d averages, %d sources, %d dropped; want %d, %d, 1, 0",
				f, len(set.Threads), got, len(set.Sources), set.Sources[0].DroppedTotal, want, average)
		}
		total += want
	}
	t.Logf("%d rows of %d captures", total, len(files))
}
