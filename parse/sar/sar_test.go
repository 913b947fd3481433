package sar

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

// show writes the captures in a line each.
func show(s *evidence.Set) []string {
	var out []string
	for _, r := range s.System {
		src := s.Sources[r.Pos.Source]
		line := fmt.Sprintf("%s %s %v avg %v %v:", src.Format, src.Host.Name, r.SwitchesPerS, r.AveragePerS.V, r.AverageForks.V)
		for _, x := range r.Samples {
			line += fmt.Sprintf(" forks %v steal %.2f runq %v", x.ForksPerS.V, x.Steal.V, x.Runnable.V)
		}
		if w := src.Window.DurationS; w.OK {
			line += fmt.Sprintf(" in %v s", w.V)
		}
		out = append(out, line)
	}
	for _, d := range s.Sources[0].Dropped {
		out = append(out, fmt.Sprintf("dropped %d: %s", d.Line, d.Err))
	}
	return out
}

const banner = "Linux 6.1.0 (db1) \t11/30/26 \t_x86_64_\t(4 CPU)\n\n"

func TestCaptures(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"decimal comma, French average", banner + "12:00:00       proc/s   cswch/s\n12:00:01         3,50    608,25\nMoyenne :         3,50    608,25\n",
			[]string{"sar db1 [608.25] avg 608.25 3.5: forks 3.5 steal 0.00 runq 0 in 1 s"}},
		{"over noon", "11:59:59 AM    proc/s   cswch/s\n12:00:09 PM      1.00      2.00\n", []string{"sar  [2] avg 0 0: forks 1 steal 0.00 runq 0 in 10 s"}},
		{"over midnight", "23:59:55    proc/s   cswch/s\n00:00:05      1.00      2.00\n", []string{"sar  [2] avg 0 0: forks 1 steal 0.00 runq 0 in 10 s"}},
		{"sysstat 8: no proc/s", "12:00:00    cswch/s\n12:00:01     2.00\n", []string{"sar  [2] avg 0 0: forks 0 steal 0.00 runq 0 in 1 s"}},
		{"three tables of the same times", banner + "12:00:00 CPU %user %nice %system %iowait %steal %idle\n12:00:01 all 1.0 2.0 3.0 4.0 25.0 6.0\n12:00:01 0 1.0 2.0 3.0 4.0 50.0 6.0\n\n" +
			"12:00:00 proc/s cswch/s\n12:00:01 1.0 2.0\n\n12:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n12:00:01 7 100 2.0 3.0 4.0 0\n",
			[]string{"sar db1 [2] avg 0 0: forks 1 steal 0.25 runq 7 in 1 s"}},
		{"two machines", banner + "12:00:00 proc/s cswch/s\n12:00:01 1.0 2.0\n" + strings.Replace(banner, "db1", "db2", 1) + "12:00:00 proc/s cswch/s\n12:00:02 1.0 3.0\n",
			[]string{"sar db1 [2] avg 0 0: forks 1 steal 0.00 runq 0 in 1 s", "sar db2 [3] avg 0 0: forks 1 steal 0.00 runq 0 in 2 s"}},
		{"no number", banner + "12:00:00 proc/s cswch/s\n12:00:01 1.0 nan\n12:00:02 1.0 3.0\n",
			[]string{"sar db1 [3] avg 0 0: forks 1 steal 0.00 runq 0 in 2 s", "dropped 4: cswch/s: no number"}},
		{"a restart between", banner + "12:00:00 proc/s cswch/s\n12:00:01 1.0 2.0\n\n12:00:30     LINUX RESTART\t(4 CPU)\n\n12:01:00 proc/s cswch/s\n12:01:01 1.0 4.0\n",
			[]string{"sar db1 [2 4] avg 0 0: forks 1 steal 0.00 runq 0 forks 1 steal 0.00 runq 0 in 61 s"}},
		{"mpstat", banner + "12:00:00     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n12:00:01     all   28.86    0.00   69.65    0.00    0.00    0.00    1.49    0.00    0.00    0.00\n",
			[]string{"mpstat db1 [] avg 0 0: forks 0 steal 0.01 runq 0 in 1 s"}},
		{"sadf -d", "# hostname;interval;timestamp;proc/s;cswch/s\nvm;10;2026-11-30 12:00:10 UTC;1.00;835.00\nvm;10;2026-11-30 12:00:20 UTC;2.00;150.00\n",
			[]string{"sar vm [835 150] avg 0 0: forks 1 steal 0.00 runq 0 forks 2 steal 0.00 runq 0 in 20 s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := show(read(t, tc.text))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("captures differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNotOurs(t *testing.T) {
	tested.NotOurs(t,
		"12:00:00      UID       PID   cswch/s nvcswch/s  Command\n12:00:01        0      12      1.00      2.00  bash\n",
		"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    1.00    0.00    0.00   98.00\n",
		banner,
	)
}

func seeds(tb testing.TB) []string { return texts.Seeds(tb, 5, "sar") }

// FuzzRead: no panic, a sample for each rate, and Detect agrees with Read.
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
			if len(r.Samples) == 0 || len(r.SwitchesPerS) > 0 && len(r.Samples) != len(r.SwitchesPerS) {
				t.Fatalf("%d rates, %d samples", len(r.SwitchesPerS), len(r.Samples))
			}
		}
		if Detect(x) != (len(set.System) > 0) {
			t.Fatal("Detect and Read disagree")
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var s strings.Builder
	s.WriteString(banner + "12:00:00       proc/s   cswch/s\n")
	for i := range 20_000 {
		fmt.Fprintf(&s, "%02d:%02d:%02d         3.00    608.00\n", i/3600, i/60%60, i%60)
	}
	tested.Benchmark(b, []byte(s.String()))
}
