// Package shared finds the material that tests use from outside the
// repository: real captures that are not for redistribution with it.
package shared

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of the shared captures: $CTXAN_SHARED, or the folder
// "shared" beside the repository. It skips the test where there is none.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("CTXAN_SHARED")
	if dir == "" {
		dir = filepath.Join(root(tb), "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "corpus", "index.tsv")); err != nil {
		tb.Skipf("no shared captures (corpus/index.tsv) in %s; set CTXAN_SHARED to the folder that holds them", dir)
	}
	return dir
}

// root returns the repository's root: the nearest folder above with a go.mod.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			tb.Fatal("no go.mod above the test")
		}
		dir = up
	}
}
