package timehist

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

// TestDisguises: what happens to a text on its way changes nothing that is read
// from it.
func TestDisguises(t *testing.T) {
	blanks := regexp.MustCompile(`[ \t]+`)
	disguises := []struct {
		name string
		do   func(string) string
	}{
		{"collapsed blanks", func(s string) string { return blanks.ReplaceAllString(s, " ") }},
		{"no trailing blanks", func(s string) string { return regexp.MustCompile(`(?m) +$`).ReplaceAllString(s, "") }},
		{"no leading blanks", func(s string) string { return regexp.MustCompile(`(?m)^ +`).ReplaceAllString(s, "") }},
		{"tabs", func(s string) string { return regexp.MustCompile(`  +`).ReplaceAllString(s, "\t") }},
		{"CRLF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"indented", func(s string) string { return regexp.MustCompile(`(?m)^`).ReplaceAllString(s, "    ") }},
		{"entities", func(s string) string {
			return strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(s)
		}},
		{"idle task taken for a tag", func(s string) string { return strings.ReplaceAll(s, "<idle>", "") }},
	}
	for _, file := range append(captures(t), sharedCaptures(t)...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := readStream(t, file, raw)
		for _, d := range disguises {
			if strings.Contains(string(raw), "<-") && d.name == "idle task taken for a tag" {
				continue // such a page would lose more than that
			}
			got := readStream(t, file, []byte(d.do(string(raw))))
			sameFigures(t, file+": "+d.name, want, got)
		}
	}
}

// sharedCaptures are the undecorated captures of the corpus, where it is there.
func sharedCaptures(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("CTXAN_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(shared.Dir(t), "corpus", "timehist", "gen*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameFigures compares all but the sources' notes.
func sameFigures(t *testing.T, name string, a, b *evidence.Set) {
	t.Helper()
	x, y := *a, *b
	x.Sources, y.Sources = nil, nil
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%s:\n%s", name, cmp.Diff(describe(a), describe(b)))
	}
	for i := range b.Sources {
		if b.Sources[i].DroppedTotal != a.Sources[i].DroppedTotal {
			t.Errorf("%s: dropped %+v", name, b.Sources[i].Dropped)
		}
	}
}

// TestOddComms gives a task other names, in perf's columns.
func TestOddComms(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(testdata, "perf61-wakeups-migrations-summary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	task := regexp.MustCompile(`sched-pipe(\[24606\] *)`)
	want := readStream(t, "odd", raw)
	for _, comm := range []string{"a", "a b", "  a  b", "[a]", "a[1]", "a]", "[", "a/b", "(sd-pam)", "kworker/u8:1-ev", "a ==> b", "next: a[1]",
		"awakened: a", "migrated: a", "a cpu 0 => 1", "lost 3 events", "1.000 2.000", "100.000 [0000]", "日本語", "a\x01b", "a&b", "a<b>", "%s%n",
		"swapper/0", "-1", "a <- b", "Total run", "sch delay", "a\\nb", "s", "i", "m", "120", "120->100"} {
		text := task.ReplaceAllStringFunc(string(raw), func(m string) string {
			name := comm + strings.TrimPrefix(strings.TrimRight(m, " "), "sched-pipe")
			return name + strings.Repeat(" ", max(len(m)-len(name), min(1, strings.Count(m, " "))))
		})
		got := readStream(t, "odd", []byte(text))
		if name := strings.TrimSpace(comm); thread(t, got, 24606).Task.Comm != name {
			t.Errorf("%q: read as %q", comm, thread(t, got, 24606).Task.Comm)
		}
		if got.Sources[0].DroppedTotal != 0 {
			t.Errorf("%q: dropped %+v", comm, got.Sources[0].Dropped)
		}
		same := strings.ReplaceAll(describe(got), "Comm:"+strings.TrimSpace(comm)+"}", "Comm:sched-pipe}")
		if d := cmp.Diff(describe(want), same); d != "" {
			t.Errorf("%q:\n%s", comm, d)
		}
	}
}
