package perfreport

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
		fmt.Fprintf(&w, "source %d: %s; tool %q command %q target %v %v %q\n", s.ID, s.Variant, s.Tool, s.Command, s.Target.Kind, s.Target.IDs, s.Target.Name)
		fmt.Fprintf(&w, "  host %+v date %q duration %v start %v end %v lost %d truncated %v\n", s.Host, s.Window.Date,
			s.Window.DurationS, s.Window.StartNS, s.Window.EndNS, s.Loss.LostSamples, s.Loss.Truncated)
		for _, m := range append(s.Warnings, s.Notes...) {
			fmt.Fprintf(&w, "  says: %s\n", m)
		}
		for _, d := range s.Dropped {
			fmt.Fprintf(&w, "  dropped line %d: %s\n", d.Line, d.Err)
		}
		for _, p := range set.Profiles {
			if p.Pos.Source == s.ID {
				showProfile(&w, p)
			}
		}
	}
	return w.String()
}

func showProfile(w *strings.Builder, p evidence.Profile) {
	fmt.Fprintf(w, "  line %d: %s of %s, samples %v %q, event count %v, lost %v, children %v\n", p.Pos.Line, p.Kind, p.Event, p.Samples, p.SamplesRaw, p.EventCount, p.Lost, p.Children)
	for _, r := range p.Rows {
		fmt.Fprintf(w, "    %d: ", r.Pos.Line)
		for _, o := range []evidence.Opt[float64]{r.OverheadPct, r.ChildrenPct, r.SelfPct} {
			if o.OK {
				fmt.Fprintf(w, "%.2f ", o.V)
			}
		}
		if r.Samples.OK {
			fmt.Fprintf(w, "n=%d ", r.Samples.V)
		}
		fmt.Fprintf(w, "%q %q kernel=%v %q", r.Comm, r.Module, r.Kernel, r.Symbol)
		if r.Task != (evidence.Task{}) {
			fmt.Fprintf(w, " task %+v", r.Task)
		}
		if r.Trace != "" {
			fmt.Fprintf(w, " trace %q", r.Trace)
		}
		fmt.Fprintln(w)
		for _, c := range r.Chains {
			fmt.Fprintf(w, "      %.2f %s\n", c.Pct, strings.Join(c.Frames, " < "))
		}
	}
}

func TestGoldens(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/perf-report/*.txt")
	if len(files) == 0 {
		t.Fatal("no captures in testdata/perf-report")
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
