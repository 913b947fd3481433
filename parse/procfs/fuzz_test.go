package procfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

func seeds(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, dir := range []string{"proc-status", "proc-environment"} {
		files, _ := filepath.Glob("../../testdata/" + dir + "/*.txt")
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, string(raw))
		}
	}
	if len(out) < 10 {
		tb.Fatalf("only %d captures in testdata", len(out))
	}
	return out
}

// FuzzRead: no panic; threads are named by ids that a kernel gives, no thread
// stands twice in a reading, and what is read is in the text.
func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := paste.Clean(raw)
		if err != nil {
			return
		}
		set := &evidence.Set{}
		if err := Read(text, set.NewBuilder("x", Format)); err != nil {
			t.Fatal(err)
		}
		for _, r := range set.Readings {
			seen := map[int]bool{}
			for _, c := range r.Threads {
				if c.Task.TID != 0 && seen[c.Task.TID] {
					t.Fatalf("thread %d twice in a reading", c.Task.TID)
				}
				seen[c.Task.TID] = true
				if c.Pos.Line < 1 {
					t.Fatalf("no line for %+v", c)
				}
			}
		}
		if Detect(text) != (len(set.Readings) > 0) {
			t.Fatal("Detect and Read disagree")
		}
	})
}

func BenchmarkRead(b *testing.B) {
	raw := strings.Repeat(seeds(b)[1], 200)
	text, err := paste.Clean([]byte(raw))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		set := &evidence.Set{}
		if err := Read(text, set.NewBuilder("x", Format)); err != nil {
			b.Fatal(err)
		}
	}
}
