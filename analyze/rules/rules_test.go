package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"ctxan/analyze"
	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/parse/perfreport"
	"ctxan/parse/perfstat"
	"ctxan/parse/pidstat"
	"ctxan/parse/procfs"
)

const casesDir = "../../testdata/rules"

// TestCases runs the cases in testdata/rules/ID/*.txtar: captures as text, the
// facts of a trace in the small language of trace_test.go, and what the rule
// must say of them.
func TestCases(t *testing.T) {
	for _, r := range All() {
		files, _ := filepath.Glob(filepath.Join(casesDir, r.ID, "*.txtar"))
		kinds := map[string]bool{}
		for _, file := range files {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range caseNames(a) {
				kind, _, _ := strings.Cut(name, "-")
				kinds[kind] = true
				t.Run(r.ID+"/"+name, func(t *testing.T) { runCase(t, r.ID, kind, caseFiles(a, name)) })
			}
		}
		for _, kind := range []string{"fires", "silent", "missing"} {
			if !kinds[kind] {
				t.Errorf("%s: no case %q in testdata/rules/%s", r.ID, kind, r.ID)
			}
		}
	}
}

func caseNames(a *txtar.Archive) []string {
	var out []string
	for _, f := range a.Files {
		if dir, _, _ := strings.Cut(f.Name, "/"); !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

func caseFiles(a *txtar.Archive, name string) map[string]string {
	out := map[string]string{}
	for _, f := range a.Files {
		if dir, base, _ := strings.Cut(f.Name, "/"); dir == name {
			out[base] = string(f.Data)
		}
	}
	return out
}

// runCase analyses a case and holds the rule's finding against want.txt.
func runCase(t *testing.T, id, kind string, files map[string]string) {
	res, err := analyze.Run(caseSet(t, files), All(), analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := res.Primary()
	checkManners(t, c)
	i := slices.IndexFunc(c.Findings, func(f analyze.Finding) bool { return f.ID == id })
	var fd *analyze.Finding
	if i >= 0 {
		fd = &c.Findings[i]
	}
	if (kind == "fires" && fd == nil) || (kind == "silent" && fd != nil) {
		t.Errorf("%s: finding %v", kind, fd)
	}
	for line := range strings.Lines(files["want.txt"]) {
		if key, want, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			wantLine(t, c, fd, id, key, want)
		}
	}
}

// wantLine checks one line of want.txt.
func wantLine(t *testing.T, c *analyze.Case, fd *analyze.Finding, id, key, want string) {
	t.Helper()
	switch key {
	case "verdict":
		if got := c.Verdict.Cause + " " + string(c.Verdict.Confidence); got != want {
			t.Errorf("verdict: %s, want %s", got, want)
		}
		return
	case "not":
		for i := range c.Findings {
			for _, l := range sentences(&c.Findings[i]) {
				if strings.Contains(l, want) {
					t.Errorf("%q is in %q", want, l)
				}
			}
		}
		return
	case "because":
		i := slices.IndexFunc(c.Rivals, func(r analyze.Rival) bool { return r.ID == id })
		if i < 0 || !strings.Contains(strings.ReplaceAll(c.Rivals[i].Because.String(), "\u00a0", " "), want) {
			t.Errorf("because: %v, want %s", c.Rivals, want)
		}
		return
	case "rival":
		i := slices.IndexFunc(c.Rivals, func(r analyze.Rival) bool { return r.ID == id })
		if i < 0 || string(c.Rivals[i].Status) != want {
			t.Errorf("rival: %v, want %s", c.Rivals, want)
		}
		return
	}
	if fd == nil {
		if key != "confidence" || want != "none" {
			t.Errorf("%s: no finding, want %q", key, want)
		}
		return
	}
	var got []string
	switch key {
	case "confidence":
		if string(fd.Confidence) != want {
			t.Errorf("confidence %s, want %s (%s)", fd.Confidence, want, fd.Ground)
		}
		return
	case "summary":
		got = []string{fd.Summary.String()}
	case "shown":
		got = texts(fd.Shown)
	case "against":
		got = texts(fd.Against)
	case "ground":
		got = []string{fd.Ground.String()}
	case "impact":
		got = []string{fd.Impact.String()}
	case "next":
		for _, n := range fd.Next {
			got = append(got, n.Line)
		}
	case "effect":
		for _, a := range fd.Advice {
			for _, e := range a.Effects {
				got = append(got, e.Label+": "+e.Value.String())
			}
		}
	default:
		t.Fatalf("no such key in want.txt: %s", key)
	}
	plain := strings.ReplaceAll(strings.Join(got, "\n"), "\u00a0", " ")
	if !strings.Contains(plain, want) {
		t.Errorf("%s: %q is not in\n%s", key, want, plain)
	}
}

func texts(ts []analyze.Text) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.String()
	}
	return out
}

// checkManners holds every finding to what all must keep.
func checkManners(t *testing.T, c *analyze.Case) {
	t.Helper()
	for i := range c.Findings {
		f := &c.Findings[i]
		sum := f.Summary.String()
		if sum == "" || !strings.HasSuffix(sum, ".") {
			t.Errorf("%s: summary %q is no sentence", f.ID, sum)
		}
		if f.Confidence == analyze.ConfidenceHigh && strings.Contains(sum, " may ") {
			t.Errorf("%s: high confidence, and %q", f.ID, sum)
		}
		if f.Ground == nil && f.ID != "cannot-tell" {
			t.Errorf("%s: no ground for the confidence", f.ID)
		}
		for _, a := range f.Advice {
			checkSketch(t, f.ID, a.Sketch)
		}
		if f.Confidence == analyze.ConfidenceLow && len(f.Advice) > 0 && f.Next != nil && !strings.HasPrefix(f.Advice[0].Do.String(), "Settle the cause first") {
			t.Errorf("%s: low confidence, and unconditional advice: %s", f.ID, f.Advice[0].Do)
		}
		for _, n := range f.Next {
			for _, one := range strings.Split(n.Line, " & ") {
				if perf := strings.Contains(one, "perf record"); perf && strings.Count(one, " -t ") > 1 || (strings.Contains(one, " -a ") && strings.Contains(one, " -p ")) {
					t.Errorf("%s: %q does not work as printed", f.ID, n.Line)
				}
			}
		}
		if len(f.Shown) == 0 && f.ID != "cannot-tell" {
			t.Errorf("%s: no evidence in words", f.ID)
		}
		if f.Confidence != analyze.ConfidenceHigh && len(f.Next) == 0 {
			t.Errorf("%s: %s confidence, and nothing that would settle it", f.ID, f.Confidence)
		}
		checkWords(t, f)
	}
}

// sentences are all that a finding says.
func sentences(f *analyze.Finding) []string {
	lines := append(texts(f.Shown), texts(f.Against)...)
	lines = append(lines, f.Summary.String(), f.Claim.String(), f.Ground.String())
	for _, a := range f.Advice {
		lines = append(lines, a.Do.String())
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\u00a0", " ")
	}
	return lines
}

// checkWords holds the sentences of a finding against what was wrong with them once.
func checkWords(t *testing.T, f *analyze.Finding) {
	t.Helper()
	for _, l := range sentences(f) {
		for _, bad := range []string{"called from", "are wait for", " 1 threads", "within 1", "within 2", "within 3", "within 4"} {
			if strings.Contains(" "+l, bad) {
				t.Errorf("%s: %q in %q", f.ID, bad, l)
			}
		}
	}
	said := map[string]bool{}
	for _, l := range texts(f.Shown) {
		if said[l] {
			t.Errorf("%s: said twice: %q", f.ID, l)
		}
		said[l] = true
	}
}

func checkSketch(t *testing.T, id, sketch string) {
	t.Helper()
	if sketch == "" {
		return
	}
	first, _, _ := strings.Cut(sketch, "\n")
	if !strings.Contains(first, "sketch") {
		t.Errorf("%s: the first line of the sketch does not say so: %q", id, first)
	}
	for line := range strings.Lines(sketch) {
		if len(strings.TrimRight(line, "\n")) > 60 {
			t.Errorf("%s: sketch line longer than 60 columns: %q", id, line)
		}
	}
}

func TestSketches(t *testing.T) {
	for _, by := range []map[string]string{waitSketches, limitSketches} {
		for lang, sk := range by {
			checkSketch(t, lang, sk)
		}
	}
}

// caseSet reads the captures of a case.
func caseSet(t *testing.T, files map[string]string) *evidence.Set {
	t.Helper()
	set := &evidence.Set{}
	read := func(name, format string, f func(*paste.Text, *evidence.Builder) error) {
		raw, ok := files[name]
		if !ok {
			return
		}
		text, err := paste.Clean([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := f(text, set.NewBuilder(name, format)); err != nil {
			t.Fatal(err)
		}
	}
	read("perf-stat.txt", perfstat.Format, perfstat.Read)
	read("pidstat.txt", pidstat.Format, pidstat.Read)
	read("perf-report.txt", perfreport.Format, perfreport.Read)
	read("group.txt", procfs.Format, procfs.Read)
	if raw, ok := files["trace.txt"]; ok {
		readTrace(t, raw, set.NewBuilder("trace.txt", "perf.data"))
	}
	return set
}

// TestOrder: every rule has an id of its own, a sentence, and a file named
// after it.
func TestOrder(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.ID] || r.Doc == "" || r.Run == nil || r.Rival == nil {
			t.Errorf("rule %q is incomplete or there twice", r.ID)
		}
		seen[r.ID] = true
		if _, err := os.Stat(strings.ReplaceAll(r.ID, "-", "_") + ".go"); err != nil {
			t.Error(err)
		}
	}
}
