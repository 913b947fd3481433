package vmstat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/testdata/texts"
)

var tested = texts.Reader{Format: Format, Detect: Detect, Read: Read}

func read(tb testing.TB, raw string) *evidence.Set { return tested.Set(tb, raw) }

// show writes the runs in a line each.
func show(s *evidence.Set) []string {
	var out []string
	for _, r := range s.System {
		line := fmt.Sprintf("%v", r.SwitchesPerS)
		for _, x := range r.Samples {
			line += fmt.Sprintf(" %d:%v,%v,%v,%.2f,%.2f,%.2f", x.Line, x.InterruptsPerS.V, x.Runnable.V, x.Blocked.V, x.Idle.V, x.IOWait.V, x.Steal.V)
			if x.SinceBoot {
				line += " boot"
			}
		}
		w := s.Sources[r.Pos.Source].Window.DurationS
		if w.OK {
			line += fmt.Sprintf(" in %v s", w.V)
		}
		out = append(out, line)
	}
	for _, d := range s.Sources[0].Dropped {
		out = append(out, fmt.Sprintf("dropped %d: %s", d.Line, d.Err))
	}
	return out
}

const titles = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"

func TestRuns(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"the first row is since boot", titles + " 5  1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\n 6  2 0 1 1 1 0 0 1 1 12 33 1 2 80 4 13\n",
			[]string{"[22 33] 2:11,5,1,0.90,0.04,0.03 boot 3:12,6,2,0.80,0.04,0.13"}},
		{"not with -y", "$ vmstat -y 2 2\n" + titles + " 5  1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\n 6  2 0 1 1 1 0 0 1 1 12 33 1 2 80 4 13\n",
			[]string{"[22 33] 3:11,5,1,0.90,0.04,0.03 4:12,6,2,0.80,0.04,0.13 in 4 s"}},
		{"the interval of the command", "# vmstat 5 3   # comment\n" + titles + strings.Repeat(" 5  1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\n", 3),
			[]string{"[22 22 22] 3:11,5,1,0.90,0.04,0.03 boot 4:11,5,1,0.90,0.04,0.03 5:11,5,1,0.90,0.04,0.03 in 10 s"}},
		{"titles again are no new run", titles + "1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\nprocs ---memory--- --cpu----\n" + titles + "1 1 0 1 1 1 0 0 1 1 11 23 1 2 90 4 3\n",
			[]string{"[22 23] 2:11,1,1,0.90,0.04,0.03 boot 5:11,1,1,0.90,0.04,0.03"}},
		{"other text between is", titles + "1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\n$ vmstat\n" + titles + "1 1 0 1 1 1 0 0 1 1 11 23 1 2 90 4 3\n",
			[]string{"[22] 2:11,1,1,0.90,0.04,0.03 boot", "[23] 5:11,1,1,0.90,0.04,0.03 boot"}},
		{"a column of guests", strings.TrimSuffix(titles, "\n") + " gu\n1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3 0\n", []string{"[22] 2:11,1,1,0.90,0.04,0.03 boot"}},
		{"old: no steal", strings.TrimSuffix(titles, " st\n") + "\n1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 7\n", []string{"[22] 2:11,1,1,0.90,0.07,0.00 boot"}},
		{"a row too short", titles + "1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\n1 1 0 1 1 11 22\n1 1 0 1 1 1 0 0 1 1 11 24 1 2 90 4 3\n",
			[]string{"[22 24] 2:11,1,1,0.90,0.04,0.03 boot 4:11,1,1,0.90,0.04,0.03", "dropped 3: a row of 7 numbers under 17 titles"}},
		{"cut inside cs", titles + "1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\n1 1 0 1 1 1 0 0 1 1 11 2",
			[]string{"[22] 2:11,1,1,0.90,0.04,0.03 boot", "dropped 3: a row of 12 numbers under 17 titles"}},
		{"cut behind cs", titles + "1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3\n1 1 0 1 1 1 0 0 1 1 11 23 1",
			[]string{"[22 23] 2:11,1,1,0.90,0.04,0.03 boot 3:11,1,1,0.00,0.00,0.00"}},
		{"time stamps", strings.TrimSuffix(titles, "\n") + " CET\n1 1 0 1 1 1 0 0 1 1 11 22 1 2 90 4 3 2026-11-30 12:00:00\n1 1 0 1 1 1 0 0 1 1 11 23 1 2 90 4 3 2026-11-30 12:00:07\n",
			[]string{"[22 23] 2:11,1,1,0.90,0.04,0.03 boot 3:11,1,1,0.90,0.04,0.03 in 7 s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, show(read(t, tc.text))); diff != "" {
				t.Errorf("runs differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotOurs: tables of whole numbers that are no shares of time.
func TestNotOurs(t *testing.T) {
	row := "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
	tested.NotOurs(t, row+row, titles, "r b\n1 2\n", "12 interrupts\n")
}

func seeds(tb testing.TB) []string { return texts.Seeds(tb, 3, "vmstat") }

// FuzzRead: no panic, one sample for each rate, and Detect agrees with Read.
func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := paste.Clean(raw)
		if err != nil {
			return
		}
		set := read(t, string(raw))
		for _, r := range set.System {
			if len(r.SwitchesPerS) == 0 || len(r.Samples) != len(r.SwitchesPerS) {
				t.Fatalf("%d rates, %d samples", len(r.SwitchesPerS), len(r.Samples))
			}
		}
		if Detect(x) != (len(set.System)+len(set.Readings) > 0) {
			t.Fatal("Detect and Read disagree")
		}
	})
}

func BenchmarkRead(b *testing.B) {
	raw := titles + strings.Repeat(" 5  0      0 19943988  76204 4436092    0    0  1723  2376 1737 31745 24 37 39  0  1\n", 20_000)
	tested.Benchmark(b, []byte(raw))
}
