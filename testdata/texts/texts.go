// Package texts is what the tests of the readers of texts have in common.
package texts

import (
	"os"
	"path/filepath"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/testdata/shared"
)

// Reader is a reader under test.
type Reader struct {
	Format string
	Detect func(*paste.Text) bool
	Read   func(*paste.Text, *evidence.Builder) error
}

// Clean takes off a text what pasting left on it.
func Clean(tb testing.TB, raw []byte) *paste.Text {
	tb.Helper()
	t, err := paste.Clean(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// Set reads a text.
func (r Reader) Set(tb testing.TB, raw string) *evidence.Set {
	tb.Helper()
	return r.read(tb, Clean(tb, []byte(raw)), "x")
}

func (r Reader) read(tb testing.TB, text *paste.Text, name string) *evidence.Set {
	tb.Helper()
	set := &evidence.Set{}
	if err := r.Read(text, set.NewBuilder(name, r.Format)); err != nil {
		tb.Fatal(err)
	}
	return set
}

// NotOurs wants texts to be taken for something else.
func (r Reader) NotOurs(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if r.Detect(Clean(t, []byte(s))) {
			t.Errorf("taken for %s: %q", r.Format, s)
		}
	}
}

// Walk is a walk over the shared corpus.
type Walk struct {
	Ours     func(*shared.Capture) bool // whether a capture is of the format, and has values in the index
	Detected func(*shared.Capture) bool // whether the format is in others as well; nil: it is not
	Check    func(t *testing.T, c *shared.Capture, set *evidence.Set) (values int)

	Files, Values int // how many there are at least
}

// Corpus reads the captures of the shared corpus that are of the format, and
// wants no other to be detected.
func (r Reader) Corpus(t *testing.T, w Walk) {
	values, files := 0, 0
	for _, c := range shared.Corpus(t) {
		text, err := paste.Clean(c.Raw(t))
		if err != nil {
			continue
		}
		ours := w.Ours(&c)
		if want := ours || w.Detected != nil && w.Detected(&c); r.Detect(text) != want {
			t.Errorf("%s: Detect = %v", c.Name, !want)
		}
		if !ours {
			continue
		}
		set := r.read(t, text, c.Name)
		files++
		t.Run(filepath.Base(c.Name), func(t *testing.T) { values += w.Check(t, &c, set) })
	}
	t.Logf("%d values of %d captures compared", values, files)
	if files < w.Files || values < w.Values {
		t.Errorf("only %d values of %d captures compared", values, files)
	}
}

// Benchmark reads a text.
func (r Reader) Benchmark(b *testing.B, raw []byte) {
	text := Clean(b, raw)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		r.read(b, text, "x")
	}
}

// Seeds returns the captures in folders of testdata, as seen from a package two
// folders below the top; there must be as many as least.
func Seeds(tb testing.TB, least int, dirs ...string) []string {
	tb.Helper()
	var out []string
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join("../../testdata", dir, "*.txt"))
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, string(raw))
		}
	}
	if len(out) < least {
		tb.Fatalf("only %d captures in %v", len(out), dirs)
	}
	return out
}
