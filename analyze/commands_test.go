package analyze

import (
	"testing"

	"ctxan/parse/evidence"
)

func TestFreshOutputs(t *testing.T) {
	set := &evidence.Set{}
	set.NewBuilder("dir/sched.data", "perf.data")
	set.NewBuilder("pidstat.txt", "pidstat")
	c := &caseBuild{sel: &selection{set: set}}
	for line, want := range map[string]string{
		"perf record -a -o sched.data -- sleep 1":          "perf record -a -o sched-2.data -- sleep 1",
		"LC_ALL=C pidstat -w -t -p 1 1 3 > pidstat.txt":    "LC_ALL=C pidstat -w -t -p 1 1 3 > pidstat-2.txt",
		"perf stat -p 1 -o perf-stat.txt -- sleep 3":       "perf stat -p 1 -o perf-stat.txt -- sleep 3",
		"perf record -e timer:hrtimer_start -o sleep.data": "perf record -e timer:hrtimer_start -o sleep.data",
	} {
		if got := c.fresh(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

func TestCommandLineIsSafe(t *testing.T) {
	for in, want := range map[string]string{
		"'./a.out -n 3'":      "./a.out -n 3",
		"sh -c rm -rf $HOME":  "COMMAND",
		"a; b":                "COMMAND",
		"":                    "COMMAND",
		"perf bench sched":    "perf bench sched",
		"./x `id`":            "COMMAND",
		"./multi\nline":       "COMMAND",
		"/opt/app/bin/x=1,2%": "/opt/app/bin/x=1,2%",
	} {
		if got := commandLine(in); got != want {
			t.Errorf("commandLine(%q) = %q, want %q", in, got, want)
		}
	}
}

// A command that advice names is the one that is printed, also when its output
// was renamed.
func TestFreshAdvice(t *testing.T) {
	set := &evidence.Set{}
	set.NewBuilder("sched.data", "perf.data")
	c := &caseBuild{sel: &selection{set: set}, out: &Case{Advice: []Advice{{Do: Textf("Settle it: %s.", Code("perf record -a -o sched.data -- sleep 1"))}}}}
	c.freshCommands()
	if got := c.out.Advice[0].Do.String(); got != "Settle it: perf record -a -o sched-2.data -- sleep 1." {
		t.Errorf("advice says %q", got)
	}
}
