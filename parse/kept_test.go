package parse

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeptSymbols uses the symbols that a folder keeps for its captures, and
// reads none of them as a capture.
func TestKeptSymbols(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stat, err := os.ReadFile("../testdata/reference/perf-stat.txt")
	if err != nil {
		t.Fatal(err)
	}
	write("perf-stat.txt", stat)
	write("symbols/bin/perf-stat.txt", stat) // a program may be anything
	var z strings.Builder
	zw := gzip.NewWriter(&z)
	if _, err := zw.Write([]byte("ffffffff81000000 T _text\nffffffff81000100 T schedule\nffffffff82000000 T _etext\n")); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	write("kallsyms.gz", []byte(z.String()))
	o := &opener{}
	undo := o.useSymbolsOf(dir)
	if o.symbols == nil || len(o.problems) > 0 {
		t.Errorf("symbols %v, problems %v", o.symbols, o.problems)
	}
	undo()
	if o.symbols != nil {
		t.Error("the symbols of a folder serve beyond it")
	}
	set, problems, err := Open([]string{dir}, Options{})
	if err != nil || len(problems) > 0 || len(set.Sources) != 1 || set.Sources[0].Name != "perf-stat.txt" {
		t.Errorf("sources %v, problems %v, %v", set.Sources, problems, err)
	}
	write("kallsyms.gz", []byte("\x1f\x8bcut"))
	if _, problems, _ := Open([]string{dir}, Options{}); len(problems) != 1 || !strings.Contains(problems[0].Error(), "can't be used") {
		t.Errorf("problems %v with damaged symbols", problems)
	}
}
