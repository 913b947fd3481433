package perfdata

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// FuzzReadUnwound reads damaged files with user stacks to unwind and addresses
// to name. It must come to an end, and whatever the registers, the stack copies
// and the mappings say, a chain is no longer than it may be.
func FuzzReadUnwound(f *testing.F) {
	list, err := filepath.Glob("../../testdata/unwind/*.data.gz")
	if err != nil || len(list) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, path := range list {
		b := shared.Gunzip(f, path)
		f.Add(b[:min(len(b), 96<<10)])
	}
	f.Add(deferring(f, true))
	f.Add(offCPUFile(f, true))
	dir := f.TempDir()
	kallsyms := filepath.Join(dir, "kallsyms")
	if err := os.WriteFile(kallsyms, []byte("ffffffff81000000 T _text\nffffffff81000100 T start\nffffffff82000000 T _etext\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	files, err := filepath.Glob("../../testdata/unwind/bin/*.gz")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".gz")
		if err := os.WriteFile(filepath.Join(dir, name), shared.Gunzip(f, path), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := symbol.New(symbol.Options{NoHost: true, Symfs: dir, Kallsyms: kallsyms})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		began := time.Now()
		fx := readBytes(b, Options{Symbols: s})
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
		if fx.err != nil {
			return
		}
		const longest = 1 << 16 / 8 // words in a record, and frames that are unwound, with what is inlined there
		for _, st := range fx.set.Stacks {
			for _, chain := range st.Stacks {
				if len(chain) > 2*longest {
					t.Errorf("a chain of %d frames", len(chain))
				}
			}
		}
	})
}
