package unwind

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/testdata/shared"
)

// TestRecorded unwinds recordings of perf 6.1 and compares each chain, frame
// by frame, with what perf script printed of it.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		name           string
		samples, equal int
		reasons        map[Reason]int
		// longer: perf's chains may end early. Its unwinder does not read the
		// program's .debug_frame, where that is all there is.
		longer bool
	}{
		{name: "chains", samples: 114, equal: 114, reasons: map[Reason]int{Complete: 109, ShortStack: 5}},
		{name: "objects", samples: 48, equal: 48, reasons: map[Reason]int{Complete: 46, ShortStack: 1, NoCFI: 1}},
		{name: "switches", samples: 56, equal: 56, reasons: map[Reason]int{Complete: 51, ShortStack: 5}},
		{name: "chains_debug", samples: 62, equal: 9, reasons: map[Reason]int{Complete: 59, ShortStack: 3}, longer: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := readRecording(t, shared.Gunzip(t, filepath.Join(testdata, c.name+".data.gz")))
			text, err := os.ReadFile(filepath.Join(testdata, c.name+".stacks.txt"))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]scripted{}
			for _, s := range readScript(t, string(text)) {
				want[fmt.Sprint(s.tid, s.time)] = s
			}
			rec.identify()
			u := New(folder{tb: t})
			reasons := map[Reason]int{}
			equal := 0
			for i := range rec.samples {
				s := &rec.samples[i]
				space := rec.space(u, s)
				addrs, stop := s.unwind(u, space, nil)
				got := relative(space, addrs)
				reasons[stop.Reason]++
				w, ok := want[fmt.Sprint(s.tid, seconds(s.time))]
				switch {
				case !ok:
					t.Errorf("no sample of task %d at %s in perf script", s.tid, seconds(s.time))
				case slices.Equal(got, w.addrs):
					equal++
				case c.longer && stop.Reason == Complete:
					checkEnd(t, got)
				case c.longer && stop.Reason == ShortStack && len(got) > len(w.addrs):
				default:
					t.Errorf("at %s (%+v)\n got %x\nwant %x", seconds(s.time), stop, got, w.addrs)
				}
			}
			if len(rec.samples) != c.samples || equal != c.equal {
				t.Errorf("%d samples, %d equal; want %d, %d", len(rec.samples), equal, c.samples, c.equal)
			}
			for r := range NumReasons {
				if reasons[r] != c.reasons[r] {
					t.Errorf("%d chains are %q, want %d", reasons[r], r, c.reasons[r])
				}
			}
		})
	}
}

// checkEnd checks the outermost frames of the program of chains_debug: main,
// two of libc's, and _start; in the dynamic loader its entry point.
func checkEnd(t *testing.T, got []uint64) {
	t.Helper()
	end := []uint64{0x27249, 0x27304, 0x12c0}
	if n := len(got); n < 5 || !slices.Equal(got[n-3:], end) || got[n-4] < 0x1100 || got[n-4] > 0x1290 {
		t.Errorf("%x does not end in main and %x", got, end)
	}
}

// TestThreads compares the recording of the shared captures with the stacks
// that perf printed of it, of a program without frame pointers.
func TestThreads(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures")
	b, err := os.ReadFile(filepath.Join(dir, "local/netio_task_dwarf/perf.data"))
	if err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "local/netio_task_dwarf/stacks.perf61.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for line := range strings.Lines(string(text)) {
		n, chain := shared.FoldedUser(t, line)
		want[chain] += n
	}
	rec := readRecording(t, b)
	rec.identify()
	u := New(folder{t, map[string]string{"netio_nofp": filepath.Join(dir, "bin/netio_nofp")}})
	got := map[string]int{}
	for i := range rec.samples {
		s := &rec.samples[i]
		space := rec.space(u, s)
		addrs, _ := s.unwind(u, space, nil)
		rel := relative(space, addrs)
		slices.Reverse(rel)
		got[fmt.Sprintf("%x", rel)]++
	}
	for chain, n := range want {
		if got[chain] != n {
			t.Errorf("%d stacks %s, want %d", got[chain], chain, n)
		}
	}
	if len(got) != len(want) || len(rec.samples) != 38 {
		t.Errorf("%d stacks of %d samples, want %d of 38: %v", len(got), len(rec.samples), len(want), got)
	}
}
