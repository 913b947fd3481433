package parse

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const block = ` Performance counter stats for process id '4711':

          1,000.00 msec task-clock                #    1.000 CPUs utilized
            10,000      context-switches          #   10.000 K/sec

       1.000000000 seconds time elapsed
`

const table = `Linux 6.1.0 (box) 	11/30/2026 	_x86_64_	(4 CPU)

12:00:00      UID      TGID       TID   cswch/s nvcswch/s  Command
12:00:01     1000      4711         -      0.00      0.00  app
12:00:01     1000         -      4712   9000.00      0.00  |__worker
`

// files writes a folder of files.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, s := range content {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// formats lists what was read: name:format of each source.
func formats(t *testing.T, opt Options, paths ...string) (string, []error) {
	t.Helper()
	set, problems, err := Open(paths, opt)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range set.Sources {
		out = append(out, s.Name+":"+s.Format)
	}
	return strings.Join(out, " "), problems
}

func TestOpenByContent(t *testing.T) {
	dir := files(t, map[string]string{
		"pidstat.log":      block, // named after another tool
		"both.txt":         block + "\n$ pidstat -w -t\n" + table,
		"sub/deep/table":   table,
		"notes.md":         "Nothing here.\n",
		".hidden/stat.txt": block,
		"sub/data.gz":      "\x1f\x8b\x08\x00",
		"sub/empty.txt":    "",
		"sub/noise.bin":    strings.Repeat("\x00\x01\x02\xff", 100),
		"sub/simple.data":  "SIMPLEPERF0000",
	})
	got, problems := formats(t, Options{}, dir)
	want := "both.txt:perf-stat both.txt:pidstat pidstat.log:perf-stat sub/deep/table:pidstat"
	if got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	for _, p := range problems {
		t.Errorf("a file that nobody named is a problem: %v", p)
	}
}

func TestProblemsSayWhatWasSeen(t *testing.T) {
	dir := files(t, map[string]string{
		"data.gz":   "\x1f\x8b\x08\x00",
		"noise.bin": strings.Repeat("\x00\x01\x02\xff", 100),
		"prose.txt": "\n  It was a dark and stormy night.\n",
		"blank.txt": " \n\t\n",
		"app.data":  "SIMPLEPERF0000",
		"a.out":     "\x7fELF\x02\x01",
	})
	for name, want := range map[string]string{
		"data.gz":   "gunzip",
		"noise.bin": "binary data of an unknown kind",
		"prose.txt": `"It was a dark and stormy night."`,
		"blank.txt": "the file is empty",
		"app.data":  "simpleperf",
		"a.out":     "--symfs",
		"none.txt":  "no such file",
	} {
		got, problems := formats(t, Options{}, filepath.Join(dir, name))
		if got != "" || len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: read %q, problems %v, want one with %q", name, got, problems, want)
		}
	}
}

func TestStandardInput(t *testing.T) {
	got, problems := formats(t, Options{Stdin: strings.NewReader(block + table)}, "-")
	if got != "-:perf-stat -:pidstat" || len(problems) > 0 {
		t.Errorf("read %q, problems %v", got, problems)
	}
	_, problems = formats(t, Options{Stdin: bytes.NewReader(make([]byte, 100)), Limits: Limits{Spool: 99}}, "-")
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "longer than 99 bytes") {
		t.Errorf("no limit on standard input: %v", problems)
	}
}

func TestLimits(t *testing.T) {
	dir := files(t, map[string]string{"a.txt": block, "b.txt": block, "c.txt": block, "big.txt": block + strings.Repeat("x\n", 5000)})
	got, problems := formats(t, Options{Limits: Limits{Files: 2}}, dir)
	if got != "a.txt:perf-stat b.txt:perf-stat" || len(problems) != 1 || !strings.Contains(problems[0].Error(), "more than 2 files") {
		t.Errorf("read %q, problems %v", got, problems)
	}
	_, problems = formats(t, Options{Limits: Limits{Text: 4096}}, filepath.Join(dir, "big.txt"))
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "cut out the capture") {
		t.Errorf("a text over the limit: %v", problems)
	}
}

func TestHash(t *testing.T) {
	dir := files(t, map[string]string{"a.txt": "abc\n" + block})
	set, _, err := Open([]string{filepath.Join(dir, "a.txt")}, Options{Hash: true})
	if err != nil {
		t.Fatal(err)
	}
	if h := set.Sources[0].SHA256; len(h) != 64 {
		t.Errorf("hash %q", h)
	}
}
