package parse

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// TestSymbolNotes: a recording says which symbol files were not used, why, and
// what to do; a second one of the same does not say it again.
func TestSymbolNotes(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures")
	path := filepath.Join(dir, "local", "netio_task_fp", "perf.data")
	set, problems, err := Open([]string{path, path}, Options{Symbols: symbol.Options{NoHost: true, Symfs: filepath.Join(dir, "bin")}})
	if err != nil || len(problems) > 0 || len(set.Sources) != 2 {
		t.Fatalf("%v, %v", err, problems)
	}
	for _, part := range []string{"no symbols from /usr/lib/x86_64-linux-gnu/libc.so.6", "file missing; give a folder", "bin/netio: the capture has no build-id to check it by"} {
		has := func(s string) bool { return strings.Contains(s, part) }
		if first, second := slices.ContainsFunc(set.Sources[0].Notes, has), slices.ContainsFunc(set.Sources[1].Notes, has); !first || second {
			t.Errorf("%q is in the first %v, in the second %v: %q", part, first, second, set.Sources[0].Notes)
		}
	}
}

func TestSymbolNote(t *testing.T) {
	for want, uses := range map[string][]symbol.Use{
		"no symbols from /a/libc.so: build-id differs, 1 and 2; the file was changed since": {{Path: "/a/libc.so", For: "/a/libc.so", Why: symbol.WhyBuildID, Detail: "1 and 2"}},
		"no symbols from k for [kernel.kallsyms]: symbols of another kernel":                {{Path: "k", For: "[kernel.kallsyms]", Why: symbol.WhyOtherKernel}},
		"no symbols from a, b, c and 1 more: stripped; install": {{Path: "a", For: "a", Why: symbol.WhyStripped}, {Path: "b", For: "b"},
			{Path: "c", For: "c"}, {Path: "d", For: "d"}},
		"symbols of v: it could not be compared": {{Path: "v", Used: true, Why: symbol.DoubtNoEnd}},
	} {
		if got := symbolNote(uses); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
