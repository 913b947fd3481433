package pidstat

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens")

// text makes a cleaned text of raw bytes.
func text(tb testing.TB, raw string) *paste.Text {
	tb.Helper()
	t, err := paste.Clean([]byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func read(tb testing.TB, raw string) *evidence.Set {
	tb.Helper()
	set := &evidence.Set{}
	if err := Read(text(tb, raw), set.NewBuilder("x", Format)); err != nil {
		tb.Fatal(err)
	}
	return set
}

// show prints a set in a form that people can check against the capture.
func show(set *evidence.Set) string {
	var w strings.Builder
	for _, s := range set.Sources {
		fmt.Fprintf(&w, "source %d: %s; host %q release %q arch %q cpus %v; date %q; duration %v start %v end %v\n",
			s.ID, s.Variant, s.Host.Name, s.Host.Release, s.Host.Arch, s.Host.CPUs, s.Window.Date,
			s.Window.DurationS, s.Window.StartNS, s.Window.EndNS)
		fmt.Fprintf(&w, "  command %q target %v %v %q truncated %v\n", s.Command, s.Target.Kind, s.Target.IDs, s.Target.Name, s.Loss.Truncated)
		for _, m := range append(s.Warnings, s.Notes...) {
			fmt.Fprintf(&w, "  says: %s\n", m)
		}
		for _, d := range s.Dropped {
			fmt.Fprintf(&w, "  dropped line %d: %s\n", d.Line, d.Err)
		}
		for _, t := range set.Threads {
			if t.Pos.Source == s.ID {
				fmt.Fprintln(&w, showRow(t))
			}
		}
	}
	return w.String()
}

func showRow(t evidence.TaskStats) string {
	kind := "task"
	if t.Process {
		kind = "process"
	}
	if t.Average {
		kind += " average"
	}
	return fmt.Sprintf("  line %d: %s pid %d tid %d %q %g / %g", t.Pos.Line, kind, t.Task.PID, t.Task.TID, t.Task.Comm,
		t.VoluntaryPerS.V, t.InvoluntaryPerS.V)
}

func TestGoldens(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/pidstat/*.txt")
	if len(files) == 0 {
		t.Fatal("no captures in testdata/pidstat")
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !Detect(text(t, string(raw))) {
				t.Error("not detected")
			}
			got, golden := show(read(t, string(raw))), strings.TrimSuffix(f, ".txt")+".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("differs from %s:\n%s", golden, d)
			}
		})
	}
}
