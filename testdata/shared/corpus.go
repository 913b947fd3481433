package shared

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Capture is one text capture of the shared corpus.
type Capture struct {
	Path  string // of the file
	Name  string // below the corpus's folder: "pidstat/gen126-w.txt"
	Kind  string // "pidstat", or "nasty" and "mixed" for any
	Notes string
	want  string
}

// Raw reads the capture.
func (c *Capture) Raw(tb testing.TB) []byte {
	tb.Helper()
	raw, err := os.ReadFile(c.Path)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// Want decodes the values that the index expects to be read from the capture.
func (c *Capture) Want(tb testing.TB, into any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(c.want), into); err != nil {
		tb.Fatalf("the index says of %s: %v", c.Name, err)
	}
}

// Corpus returns all captures of the shared corpus in the order of its index.
// It skips the test where there is none.
func Corpus(tb testing.TB) []Capture {
	tb.Helper()
	dir := filepath.Join(Dir(tb), "corpus")
	f, err := os.Open(filepath.Join(dir, "index.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	var out []Capture
	for _, row := range rows[1:] {
		out = append(out, Capture{Path: filepath.Join(dir, row[0]), Name: row[0], Kind: row[1], Notes: row[2], want: row[3]})
	}
	if len(out) == 0 {
		tb.Fatal("the corpus's index is empty")
	}
	return out
}
