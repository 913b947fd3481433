package rules

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"ctxan/analyze"
	"ctxan/parse"
)

// TestPrintedCommands runs the commands that reports print, each once, as they
// are printed: only the ids of processes and threads that do not exist here are
// replaced by those of one that does. What they write must be read again.
func TestPrintedCommands(t *testing.T) {
	needLive(t)
	pid := busy(t)
	lines := printedCommands(t, pid)
	if len(lines) < 10 {
		t.Fatalf("%d commands: %v", len(lines), lines)
	}
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			runPrinted(t, line)
		})
	}
}

// needLive skips where nothing can be measured, and says what is missing.
func needLive(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("measures for half a minute")
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: the printed commands say (as root)")
	}
	for _, tool := range []string{"perf", "pidstat", "awk"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	out, err := exec.Command("perf", "record", "-q", "-a", "-e", "sched:sched_switch", "-o", filepath.Join(t.TempDir(), "probe"), "--", "true").CombinedOutput()
	if err != nil {
		t.Skipf("perf cannot record sched:sched_switch here: %s", out)
	}
}

// busy starts a process that wakes often, and returns its id.
func busy(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do sleep 0.005; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

var (
	pidOption = regexp.MustCompile(`-p \d+(,\d+)*`)
	tidOption = regexp.MustCompile(`-t \d{2,}(,\d+)*`)
	numbers   = regexp.MustCompile(`-?\d+`)
	procPath  = regexp.MustCompile(`/proc/(\d+|PID)/`)
)

// printedCommands are all different commands of all cases of the rules.
func printedCommands(t *testing.T, pid int) []string {
	t.Helper()
	var out []string
	shapes := map[string]bool{} // the same but for ids and the numbers of files is the same
	add := func(line string) {
		line = pidOption.ReplaceAllString(line, fmt.Sprintf("-p %d", pid))
		line = tidOption.ReplaceAllString(line, fmt.Sprintf("-t %d", pid))
		line = procPath.ReplaceAllString(line, fmt.Sprintf("/proc/%d/", pid))
		line = strings.ReplaceAll(line, "-p PID", fmt.Sprintf("-p %d", pid))
		if shape := numbers.ReplaceAllString(line, ""); line != "" && !shapes[shape] {
			shapes[shape] = true
			out = append(out, line)
		}
	}
	files, _ := filepath.Glob(filepath.Join(casesDir, "*", "*.txtar"))
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range caseNames(a) {
			res, err := analyze.Run(caseSet(t, caseFiles(a, name)), All(), analyze.Options{})
			if err != nil {
				continue
			}
			for _, c := range res.Cases {
				for _, n := range c.Next {
					add(n.Line)
				}
				for i := range c.Findings {
					for _, n := range c.Findings[i].Next {
						add(n.Line)
					}
				}
				for _, l := range c.Chain {
					add(l.Capture.V)
				}
			}
		}
	}
	return out
}

var written = regexp.MustCompile(`(?:-o|>) ([\w.-]+)`)

// runPrinted runs a command as a reader would, and reads what it wrote.
func runPrinted(t *testing.T, line string) {
	dir := t.TempDir()
	if strings.Contains(line, "FILE") { // a recording at hand
		line = analyze.CaptureBoth() + " && " + strings.ReplaceAll(line, "FILE", "sched.data")
	}
	line = strings.ReplaceAll(line, "sudo ", "")
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(line, "cpu.stat") { // a machine without the cpu controller has no cpu.stat
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range written.FindAllStringSubmatch(line, -1) {
		path := filepath.Join(dir, m[1])
		if st, err := os.Stat(path); err != nil || st.Size() == 0 {
			t.Errorf("%s was not written: %s", m[1], out)
			continue
		}
		if m[1] == "kallsyms.txt" {
			continue
		}
		if set, problems, err := parse.Open([]string{path}, parse.Options{}); err != nil || len(set.Sources) == 0 {
			t.Errorf("%s is not understood: %v %v", m[1], err, problems)
		}
	}
}
