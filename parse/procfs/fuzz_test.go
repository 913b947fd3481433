package procfs

import (
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/testdata/texts"
)

func seeds(tb testing.TB) []string { return texts.Seeds(tb, 10, "proc-status", "proc-environment") }

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
	tested.Benchmark(b, []byte(raw))
}
