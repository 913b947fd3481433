package symbol

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSplitDebug compares a program whose debug information is in a file of its
// own with the same without: names and lines are equal, only the functions that
// were inlined are missing, and that is said.
func TestSplitDebug(t *testing.T) {
	needTools(t, "g++")
	src, err := filepath.Abs(fixtures + "src/queue.cc")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		dir := t.TempDir()
		build := func(name string, more ...string) *program {
			out := filepath.Join(dir, name)
			cmd := exec.Command("g++", append(more, "-O2", "-g", version, "-o", out, src)...)
			cmd.Dir = dir
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("%v: %v: %s", cmd.Args, err, text)
			}
			return openProgram(t, out, Options{NoHost: true})
		}
		whole, split := build("whole"), build("split", "-gsplit-dwarf")
		inlined := 0
		for _, a := range whole.sample(300) {
			want, got := whole.frames(a), split.frames(a)
			if len(got) != 1 {
				t.Fatalf("%s: %#x: %s", version, a, text(got))
			}
			if inlined += len(want) - 1; got[0].Symbol != want[len(want)-1].Symbol || got[0].File != want[0].File || got[0].Line != want[0].Line {
				t.Errorf("%s: %#x: %s, want the outer name and the inner line of %s", version, a, text(got), text(want))
			}
		}
		if inlined == 0 {
			t.Error("nothing is inlined in the program")
		}
		said := false
		for _, u := range split.r.Report() {
			said = said || u.Why == WhySplit && strings.HasSuffix(u.Path, ".dwo") && !u.Used
		}
		if !said || Hint(WhySplit) == "" {
			t.Errorf("%s: %v", version, split.r.Report())
		}
	}
}
