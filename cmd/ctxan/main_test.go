package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ctxan": main})
}

// TestScripts runs the real command on the scripts of testdata/script. They
// find the project's captures in $TESTDATA.
func TestScripts(t *testing.T) {
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join(testdata, "script"),
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition:     condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TESTDATA", testdata)
			env.Setenv("TERM", "dumb")
			return os.Symlink(testdata, filepath.Join(env.WorkDir, "td"))
		},
	})
}

// condition knows "record": that this machine and user can measure live.
func condition(name string) (bool, error) {
	if name != "record" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	_, err := os.Stat("/sys/kernel/tracing/events/sched/sched_switch/id")
	return err == nil && os.Geteuid() == 0, nil
}

// exits runs a command and expects an exit status: exits 3 ctxan FILE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
