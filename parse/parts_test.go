package parse

import (
	"os"
	"path/filepath"
	"testing"

	"ctxan/testdata/shared"
)

// TestRecordingInParts: the folder that perf record --threads makes is one
// recording, by whatever of it is named. The switches of its threads are in the
// parts, in data none.
func TestRecordingInParts(t *testing.T) {
	from := filepath.Join(shared.Dir(t), "fixtures", "local", "threads_dir", "perf.data")
	all := filepath.Join(t.TempDir(), "captures")
	dir := filepath.Join(all, "a[1].data")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(all, "data.1"), []byte(block), 0o644); err != nil {
		t.Fatal(err)
	}
	const part = "a[1].data:perf.data"
	for _, c := range []struct{ path, want string }{
		{dir, part}, {filepath.Join(dir, "data"), dir + ":perf.data"}, {all, part + " data.1:perf-stat"},
	} {
		if got, problems := formats(t, Options{}, c.path); got != c.want || len(problems) > 0 {
			t.Errorf("%s: %s, want %s; %v", c.path, got, c.want, problems)
		}
	}
	set, _, err := Open([]string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var n uint64
	for _, x := range set.Threads {
		n += x.Voluntary.Or(0) + x.Involuntary.Or(0)
	}
	if n < 100 {
		t.Errorf("%d switches", n)
	}
}

func TestPartNames(t *testing.T) {
	dir := files(t, map[string]string{"data": "x", "data.10": "x", "data.2": "x", "data.old": "x", "data.0": "x", "other": "x"})
	var got []string
	for _, p := range partNames(filepath.Join(dir, "data")) {
		got = append(got, filepath.Base(p))
	}
	if len(got) != 3 || got[0] != "data.0" || got[1] != "data.2" || got[2] != "data.10" {
		t.Errorf("%q", got)
	}
	if names := partNames(filepath.Join(dir, "other")); names != nil || isPart(filepath.Join(dir, "data.2")) {
		t.Errorf("%q; data is no recording, so data.2 is no part of one", names)
	}
}
