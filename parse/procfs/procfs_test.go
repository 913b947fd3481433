package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/testdata/texts"
)

var tested = texts.Reader{Format: Format, Detect: Detect, Read: Read}

func read(tb testing.TB, raw string) *evidence.Set { return tested.Set(tb, raw) }

// show writes a set's readings in a line each, for comparisons.
func show(s *evidence.Set) []string {
	var out []string
	for i := range s.Readings {
		r := &s.Readings[i]
		line := fmt.Sprintf("at %s %s %s:", opt(r.At.RealNS), opt(r.At.BootNS), r.Label)
		for _, c := range r.Threads {
			line += fmt.Sprintf(" %d/%d %s %s+%s run %s delay %s n %s;", c.Task.PID, c.Task.TID, c.Task.Comm,
				opt(c.Voluntary), opt(c.Involuntary), opt(c.RunNS), opt(c.RunDelayNS), opt(c.Slices))
		}
		for _, g := range r.Groups {
			line += fmt.Sprintf(" group %s %s/%s unlimited=%v periods %s throttled %s %s;", g.Group, opt(g.QuotaUS), opt(g.PeriodUS), g.Unlimited,
				opt(g.Periods), opt(g.Throttled), opt(g.ThrottledNS))
		}
		if m, ok := r.Machine.Get(); ok {
			line += fmt.Sprintf(" ctxt %s steal %d of %d;", opt(m.Switches), m.Ticks.V.Steal, m.Ticks.V.Total())
		}
		out = append(out, line)
	}
	for _, d := range s.Sources[0].Dropped {
		out = append(out, fmt.Sprintf("dropped %d: %s", d.Line, d.Err))
	}
	return out
}

func opt(v evidence.Opt[uint64]) string {
	if !v.OK {
		return "-"
	}
	return fmt.Sprint(v.V)
}

func TestLayouts(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"leading names", "TID 12\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\nTID 13:\nvoluntary_ctxt_switches:\t7\n",
			[]string{"at - - : 0/12  5+6 run - delay - n -; 0/13  7+- run - delay - n -;"}},
		{"relative grep", "task/12/status:voluntary_ctxt_switches:\t5\n13/status:voluntary_ctxt_switches:\t7\n",
			[]string{"at - - : 0/12  5+- run - delay - n -; 0/13  7+- run - delay - n -;"}},
		{"grep with line numbers and context", "/proc/9/task/12/status:56:voluntary_ctxt_switches:\t5\n/proc/9/task/12/status-57-nonvoluntary_ctxt_switches:\t6\n--\n/proc/9/task/13/status:56:voluntary_ctxt_switches:\t7\n",
			[]string{"at - - : 9/12  5+6 run - delay - n -; 9/13  7+- run - delay - n -;"}},
		{"the command of a prompt", "$ cat /proc/9/task/12/schedstat\n5 6 7\n$ cat /proc/9/task/13/schedstat\n8 9 10\n",
			[]string{"at - - : 9/12  -+- run 5 delay 6 n 7; 9/13  -+- run 8 delay 9 n 10;"}},
		{"a thread again is the next reading", "==> /proc/9/task/12/schedstat <==\n5 6 7\n==> /proc/9/task/12/schedstat <==\n8 9 10\n",
			[]string{"at - - : 9/12  -+- run 5 delay 6 n 7;", "at - - : 9/12  -+- run 8 delay 9 n 10;"}},
		{"clocks below", "==> /proc/9/task/12/schedstat <==\n5 6 7\n1796041512.5\n==> /proc/9/task/12/schedstat <==\n8 9 10\n1796041513.5\n",
			[]string{"at 1796041512500000000 - : 9/12  -+- run 5 delay 6 n 7;", "at 1796041513500000000 - : 9/12  -+- run 8 delay 9 n 10;"}},
		{"date", "Mon Nov 30 12:00:00 UTC 2026\n/proc/9/status:voluntary_ctxt_switches:\t5\nMon Nov 30 12:00:02 UTC 2026\n/proc/9/status:voluntary_ctxt_switches:\t8\n",
			[]string{"at 1796040000000000000 - : 9/9  5+- run - delay - n -;", "at 1796040002000000000 - : 9/9  8+- run - delay - n -;"}},
		{"a process and all its threads", "==> /proc/9/status <==\nName:\ta\nvoluntary_ctxt_switches:\t5\n==> /proc/9/task/9/status <==\nvoluntary_ctxt_switches:\t5\n==> /proc/9/task/10/status <==\nName:\tb\nvoluntary_ctxt_switches:\t7\n",
			[]string{"at - - : 9/9 a 5+- run - delay - n -; 9/10 b 7+- run - delay - n -;"}},
		{"a comm with blanks, brackets and colons", "Name:\t(a b) : c\nPid:\t4\nvoluntary_ctxt_switches:\t5\n",
			[]string{"at - - : 0/4 (a b) : c 5+- run - delay - n -;"}},
		{"a sched header with brackets in the name", "a (x) b (4, #threads: 1)\n-----\nse.sum_exec_runtime   :    1234.000005\nnr_voluntary_switches : 3\nnr_involuntary_switches : 4\n",
			[]string{"at - - : 4/4 a (x) b 3+4 run 1234000005 delay - n -;"}},
		{"tail over files of any name", "==> before.txt <==\nPid:\t4\nvoluntary_ctxt_switches:\t5\n\n==> after.txt <==\nPid:\t4\nvoluntary_ctxt_switches:\t8\n",
			[]string{"at - - : 0/4  5+- run - delay - n -;", "at - - : 0/4  8+- run - delay - n -;"}},
		{"the machine's schedstat is none of a thread", "==> /proc/stat (before) <==\ncpu 1 2 3 4\ncpu0 1 2 3 4\nctxt 9\n==> /proc/schedstat (before) <==\ncpu0 1 2 3 4 5 6 7 8 9\n1 2 3\n==> /proc/9/cgroup <==\n1:a:/b\n4 5 6\n",
			[]string{"at - - before: ctxt 9 steal 0 of 10;"}},
		{"no number", "==> /proc/9/status <==\nvoluntary_ctxt_switches:\tx\nnonvoluntary_ctxt_switches:\t6\n",
			[]string{"at - - : 9/9  -+6 run - delay - n -;", `dropped 2: voluntary_ctxt_switches is no number: "x"`}},
		{"a number too long", "==> /proc/9/schedstat <==\n1 2 99999999999999999999999\n==> /proc/9/status <==\nvoluntary_ctxt_switches:\t1\n",
			[]string{"at - - : 9/9  1+- run - delay - n -;", "dropped 2: no row of schedstat: it has three numbers"}},
		{"cgroup version 2", "==> /sys/fs/cgroup/a.slice/cpu.max <==\n40000 100000\n==> /sys/fs/cgroup/a.slice/cpu.stat <==\nusage_usec 12\nnr_periods 5\nnr_throttled 4\nthrottled_usec 9\n",
			[]string{"at - - : group /sys/fs/cgroup/a.slice 40000/100000 unlimited=false periods 5 throttled 4 9000;"}},
		{"no limit", "/sys/fs/cgroup/a/cpu.max:max 100000\n/sys/fs/cgroup/a/cpu.stat:nr_throttled 0\n",
			[]string{"at - - : group /sys/fs/cgroup/a -/100000 unlimited=true periods - throttled 0 -;"}},
		{"cpu.stat in one line", "cpu.stat: nr_periods 3076   nr_throttled 34   throttled_time 12070000\n",
			[]string{"at - - : group  -/- unlimited=false periods 3076 throttled 34 12070000;"}},
		{"cpu.stat twice", "nr_periods 12\nnr_throttled 11\nthrottled_time 7\nnr_periods 53\nnr_throttled 52\nthrottled_time 9\n",
			[]string{"at - - : group  -/- unlimited=false periods 12 throttled 11 7;", "at - - : group  -/- unlimited=false periods 53 throttled 52 9;"}},
		{"/proc/stat twice", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nctxt 100\ncpu  2 2 3 4 5 6 7 9 9 10\nctxt 150\n",
			[]string{"at - - : ctxt 100 steal 8 of 36;", "at - - : ctxt 150 steal 9 of 38;"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, show(read(t, tc.text))); diff != "" {
				t.Errorf("readings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotOurs: prose and other tools' tables are left alone.
func TestNotOurs(t *testing.T) {
	for _, s := range []string{
		"See /proc/4711/status for voluntary context switches.\nPID 4711\n",
		"  PID TTY          TIME CMD\n 4711 pts/0    00:00:00 bash\n",
		"cpu0 1 2 3 4 5 6 7 8 9\ndomain0 3 1 2 3\n",
		"1796041512.5\n",
		"Voluntary context switches: 12\nInvoluntary context switches: 3\n",
		"12 13\n1 2 3\n",
	} {
		x, err := paste.Clean([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if Detect(x) {
			t.Errorf("taken for counters of /proc: %q", s)
		}
	}
}

// TestRecorded reads the captures of testdata: all layouts of one process of
// four threads name the same threads.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("../../testdata/proc-status/*.txt")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		set := read(t, string(raw))
		want := map[int]bool{2658: true, 2884: true, 2885: true, 2886: true}
		leader := strings.Contains(f, "leader")
		for _, r := range set.Readings {
			if len(r.Threads) != len(want) && !leader {
				t.Errorf("%s: %d threads, want %d", f, len(r.Threads), len(want))
			}
			for _, c := range r.Threads {
				if !want[c.Task.TID] || c.Task.PID != 2658 && c.Task.PID != 0 || c.Task.Comm != "" && c.Task.Comm != "python3" || !c.Voluntary.OK || !c.Involuntary.OK {
					t.Errorf("%s: %+v", f, c)
				}
			}
		}
		if s := set.Sources[0]; s.DroppedTotal != 0 || s.LeadersOnly != leader {
			t.Errorf("%s: %d lines dropped, leaders only: %v", f, s.DroppedTotal, s.LeadersOnly)
		}
	}
}

func TestEnvironment(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/proc-environment/linux-6.18-quota-v1.txt")
	if err != nil {
		t.Fatal(err)
	}
	set := read(t, string(raw))
	src := set.Sources[0]
	if src.Format != FormatEnvironment || src.Host.Release != "6.18.44-fc-v782" || src.Host.Arch != "x86_64" || src.Host.CPUs.V != 2 || src.DroppedTotal != 0 {
		t.Errorf("source %+v", src)
	}
	want := []string{
		"at - - before: group /sys/fs/cgroup/cpu/ctxanfix 10000/50000 unlimited=false periods 12 throttled 10 169",
		"at - - after: group /sys/fs/cgroup/cpu/ctxanfix 10000/50000 unlimited=false periods 39 throttled 30 57",
	}
	got := show(set)
	if len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("readings %q", got)
	}
	for _, r := range set.Readings {
		if n := len(r.Machine.V.ByInterrupt); n < 20 || r.Machine.V.Switches.V < 100_000_000 {
			t.Errorf("%s: %d interrupts, %v switches", r.Label, n, r.Machine.V.Switches)
		}
	}
	if len(set.Settings) != 3 || set.Settings[0].Name != "/proc/sys/kernel/perf_event_paranoid" || set.Settings[0].Value != "2" {
		t.Errorf("settings %+v", set.Settings)
	}
}

// TestHowRecorded: what ctxan record had to do without is said with the capture.
func TestHowRecorded(t *testing.T) {
	set := read(t, `==> uname <==
Linux host 6.18.44 #1 SMP x86_64 GNU/Linux

==> /proc/stat (before) <==
cpu  100 0 100 1000 0 0 0 0 0 0
ctxt 5000

==> /proc/stat (after) <==
cpu  150 0 150 1100 0 0 0 0 0 0
ctxt 9000

==> ctxan record <==
step: context-switches counters
missing: tracepoints: tracefs is not mounted; to grant it: mount -t tracefs tracefs /sys/kernel/tracing
note: 2 threads ended while they were attached
`)
	src := set.Sources[0]
	if want := []string{"measured by: context-switches counters", "2 threads ended while they were attached"}; !slices.Equal(src.Notes, want) {
		t.Errorf("notes %q", src.Notes)
	}
	if len(src.Warnings) != 1 || !strings.HasPrefix(src.Warnings[0], "measured without tracepoints: tracefs is not mounted") {
		t.Errorf("warnings %q", src.Warnings)
	}
}
