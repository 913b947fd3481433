package signature

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

// switchStack is one sched_switch sample of a perf script text.
type switchStack struct {
	comm, state string
	frames      []evidence.Frame
}

var (
	switchLine = regexp.MustCompile(`prev_comm=(.*) prev_pid=(\d+) .*prev_state=(\S+) ==>`)
	frameLine  = regexp.MustCompile(`^\s+[0-9a-f]+ (.+?)(?:\+0x[0-9a-f]+)? \((.*)\)\s*$`)
)

// readScript reads the sched_switch samples of a perf script text. With bare
// set, the frames carry their names only.
func readScript(t *testing.T, path string, bare bool) []switchStack {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []switchStack
	var cur *switchStack
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if m := switchLine.FindStringSubmatch(line); m != nil {
			cur = nil
			if m[2] != "0" {
				out = append(out, switchStack{comm: m[1], state: m[3]})
				cur = &out[len(out)-1]
			}
			continue
		}
		m := frameLine.FindStringSubmatch(line)
		if m == nil || cur == nil {
			if strings.TrimSpace(line) == "" {
				cur = nil
			}
			continue
		}
		fr := evidence.Frame{Symbol: m[1]}
		if m[1] == "[unknown]" {
			fr.Symbol = ""
		}
		if !bare {
			fr.Module, fr.Kernel = m[2], strings.HasPrefix(m[2], "[kernel")
		}
		cur.frames = append(cur.frames, fr)
	}
	return out
}

func (s *switchStack) runnable() bool { return strings.HasPrefix(s.state, "R") }

func (s *switchStack) String() string {
	var names []string
	for _, f := range s.frames {
		names = append(names, f.Symbol)
	}
	return s.state + " " + strings.Join(names, " < ")
}

func labScripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shared.Dir(t), "lab", "*", "switch-script.txt"))
	if err != nil || len(files) == 0 {
		t.Skipf("no lab captures (lab/*/switch-script.txt) in %s", shared.Dir(t))
	}
	return files
}

// TestLabCoverage: nearly every blocked switch of the laboratory has a reason,
// and nearly every runnable one a trigger; names alone do as well.
func TestLabCoverage(t *testing.T) {
	for _, bare := range []bool{false, true} {
		var blocked, named, runnable, triggered int
		for _, path := range labScripts(t) {
			for _, s := range readScript(t, path, bare) {
				if len(s.frames) == 0 {
					continue
				}
				if s.runnable() {
					runnable++
					if p, _ := Default().Preempt(s.frames, evidence.WakeUnknown); p != PreemptUnknown {
						triggered++
					} else {
						t.Logf("no trigger: %s", &s)
					}
					continue
				}
				blocked++
				if _, ok := Default().Blocking(s.frames); ok {
					named++
				} else {
					t.Logf("no reason: %s", &s)
				}
			}
		}
		t.Logf("names only %v: %d of %d blocked switches have a reason, %d of %d runnable ones a trigger", bare, named, blocked, triggered, runnable)
		if named*1000 < blocked*995 || triggered*1000 < runnable*995 {
			t.Errorf("names only %v: under 99.5 %%", bare)
		}
	}
}

// TestKallsyms warns of patterns that a 6.18 kernel should have and has not:
// functions get inlined, renamed and configured away, so it is no failure, but
// a name that misses everywhere may be a misspelling.
func TestKallsyms(t *testing.T) {
	names := readKallsyms(t)
	var hit, missed int
	var missing []string
	for _, r := range Default().rows {
		if !r.role.Kernel() || r.until != "" {
			continue
		}
		found := false
		for _, p := range r.patterns {
			if patternHits(p, names) {
				hit++
				found = true
			} else {
				missed++
				missing = append(missing, p)
			}
		}
		if !found {
			t.Logf("signatures.tsv:%d: no pattern is in the kernel's symbols: %s", r.line, strings.Join(r.patterns, " "))
		}
	}
	t.Logf("%d kernel patterns hit a symbol of 6.18, %d do not: %s", hit, missed, strings.Join(missing, " "))
	if hit < 300 {
		t.Errorf("only %d patterns hit: the table is not for this kernel", hit)
	}
}

// readKallsyms returns the function names, clone suffixes stripped, with the
// entries of system calls as sys:name too.
func readKallsyms(t *testing.T) map[string]bool {
	t.Helper()
	text := shared.Gunzip(t, filepath.Join(shared.Dir(t), "fixtures", "kallsyms-6.18.gz"))
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 3 && strings.ContainsAny(f[1], "tTwW") {
			for _, k := range kernelKeys(f[2]) {
				names[k] = true
			}
		}
	}
	return names
}

func patternHits(p string, names map[string]bool) bool {
	switch {
	case strings.HasPrefix(p, "~"):
		re := regexp.MustCompile("^(?:" + p[1:] + ")$")
		for n := range names {
			if re.MatchString(n) {
				return true
			}
		}
		return false
	case strings.HasSuffix(p, "*"):
		for n := range names {
			if strings.HasPrefix(n, strings.TrimSuffix(p, "*")) {
				return true
			}
		}
		return false
	}
	return names[p]
}
