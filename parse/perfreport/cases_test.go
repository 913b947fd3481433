package perfreport

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/testdata/shared"

	"github.com/google/go-cmp/cmp"
)

func cleaned(raw []byte) (*paste.Text, error) { return paste.Clean(raw) }

// rows prints the rows of a text, one a line.
func rows(set *evidence.Set) string {
	var w strings.Builder
	for _, p := range set.Profiles {
		fmt.Fprintf(&w, "%d %s %q\n", p.Pos.Source, p.Kind, p.Event)
		for _, r := range p.Rows {
			for _, o := range []evidence.Opt[float64]{r.OverheadPct, r.ChildrenPct, r.SelfPct} {
				if o.OK {
					fmt.Fprintf(&w, "%g ", o.V)
				}
			}
			fmt.Fprintf(&w, "%s|%s|%v|%s", r.Comm, r.Module, r.Kernel, r.Symbol)
			if r.Samples.OK {
				fmt.Fprintf(&w, "|n=%d", r.Samples.V)
			}
			if r.Task != (evidence.Task{}) {
				fmt.Fprintf(&w, "|%d/%d", r.Task.PID, r.Task.TID)
			}
			fmt.Fprintln(&w)
		}
	}
	return w.String()
}

func TestRows(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"templates and spaces in symbols", `# Samples: 9  of event 'cycles:P'
# Overhead  Command          Shared Object  Symbol
# ........  ...............  .............  ........................
#
    50.00%  Web Content      libxul.so      [.] std::vector<int, std::allocator<int> >::foo(char const*)
    25.00%  GC Thread#0      libjvm.so (deleted)  [.] operator new[](unsigned long)
    12.50%  swapper          [kernel.kallsyms]  [k] native_safe_halt
`, `0 cpu-samples "cycles:P"
50 Web Content|libxul.so|false|std::vector<int, std::allocator<int> >::foo(char const*)
25 GC Thread#0|libjvm.so (deleted)|false|operator new[](unsigned long)
12.5 swapper|[kernel.kallsyms]|true|native_safe_halt
`},
		{"columns pushed together", `# Samples: 9  of event 'cs'
# Overhead Command Shared Object Symbol
50.00% Web Content libxul.so [.] std::vector<int, std::allocator<int> >::foo(char const*)
`, `0 switches "cs"
50 Web Content|libxul.so|false|std::vector<int, std::allocator<int> >::foo(char const*)
`},
		{"an empty cell", `# Overhead  Command          Shared Object      Symbol
# ........  ...............  .................  ........................
#
    50.00%                   [unknown]          [k] 0000000000000000
    20.00%  :1234            [unknown]          [.] 0x00007f689e0d44a3
`, `0 other ""
50 |[unknown]|true|0000000000000000
20 :1234|[unknown]|false|0x00007f689e0d44a3
`},
		{"TID and TGID", `# Samples: 9  of event 'sched:sched_switch'
# Overhead  Tgid:Command           Pid:Command   Symbol
# ........  .....................  ............  ...........
#
    50.00%     12:java             1234:GC T#0   [k] __schedule
`, `0 switches "sched:sched_switch"
50 GC T#0||true|__schedule|12/1234
`},
		{"TID in old versions", `# Events: 1K cycles
#
# Overhead          Command:  Pid      Shared Object  Symbol
# ........  .....................  .................  ......
#
    23.40%              init:    0  [kernel.kallsyms]  [k] intel_idle
`, `0 cpu-samples "cycles"
23.4 init|[kernel.kallsyms]|true|intel_idle|0/0
`},
		{"decimal comma and no header", `  39,37%  handystats  [kernel.vmlinux]    [k] __bpf_prog_run
  22,97%  handystats  [kernel.vmlinux]    [k] __schedule
`, `0 other ""
39.37 handystats|[kernel.vmlinux]|true|__bpf_prog_run
22.97 handystats|[kernel.vmlinux]|true|__schedule
`},
		{"the TUI's rows pushed together, without a header", `+ 99.83% 99.83% strategyTrade [kernel.kallsyms] [k] schedule
+ 99.70% 0.00% strategyTrade libc.so.6 [.] __sched_yield
`, `0 other ""
99.83 99.83 strategyTrade|[kernel.kallsyms]|true|schedule
99.7 0 strategyTrade|libc.so.6|false|__sched_yield
`},
		{"perf top", `Samples: 1M of event 'cycles', 4000 Hz, Event count (approx.): 123456 lost: 0/0 drop: 0/0
Overhead  Shared Object                 Symbol
  12.34%  [kernel]                      [k] finish_task_switch
   1.00%  libc.so.6                     [.] __sched_yield
`, `0 cpu-samples "cycles"
12.34 |[kernel]|true|finish_task_switch
1 |libc.so.6|false|__sched_yield
`},
		{"a separator that is a comma, with decimal commas", `# Samples: 9  of event 'cs'
# Overhead,Samples,Command,Symbol
 85,59%,9,a,[k] schedule
`, `0 switches "cs"
85.59 a||true|schedule|n=9
`},
		{"a separator without percent signs", `# Samples: 9  of event 'cs'
# Overhead;Command;Symbol
85.59;a;[k] schedule
`, `0 switches "cs"
85.59 a||true|schedule
`},
		{"a group", `# Samples: 1K of events 'anon group { cycles:u, cpu_core/context-switches/ }'
# Event count (approx.): 352500000
#
#         Overhead  Command  Symbol
# ................  .......  ......
#
    78.09%  77.21%  a        [k] b
`, `0 cpu-samples "cycles:u"
78.09 a||true|b
0 switches "cpu_core/context-switches/"
77.21 a||true|b
`},
		{"two events, one without rows", `# Samples: 2  of event 'cs'
# Event count (approx.): 2
#
# Overhead  Command  Symbol
# ........  .......  ......
#
    78.09%  a        [k] b


# Samples: 0  of event 'dummy:HG'
# Event count (approx.): 0
#
# Overhead  Command  Symbol
# ........  .......  ......
#
`, `0 switches "cs"
78.09 a||true|b
0 other "dummy:HG"
`},
		{"two reports in one text", `# To display the perf.data header info, please use --header/--header-only options.
#
# Samples: 2  of event 'cs'
# Overhead  Command  Symbol
    78.09%  a        [k] b
# To display the perf.data header info, please use --header/--header-only options.
#
# Samples: 2  of event 'cycles'
# Overhead  Command  Symbol
    70.00%  a        [k] c
`, `0 switches "cs"
78.09 a||true|b
1 cpu-samples "cycles"
70 a||true|c
`},
		{"prose below", `# Samples: 2  of event 'cs'
# Overhead  Command  Symbol
    78.09%  a        [k] b

So 95% of the time goes to a, and 50%  is more than I thought
`, `0 switches "cs"
78.09 a||true|b
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, rows(read(t, c.text))); d != "" {
				t.Error(d)
			}
			if !Detect(text(t, c.text)) {
				t.Error("not detected")
			}
		})
	}
}

// TestOldGraph reads call graphs as perf 3.x printed them: fractal, and with
// spaces around the lines' names.
func TestOldGraph(t *testing.T) {
	set := read(t, `# Samples: 10  of event 'cycles'
# Overhead  Command  Shared Object      Symbol
# ........  .......  .................  ......
#
    40.00%  app      [kernel.kallsyms]  [k] _raw_spin_lock
            |
            --- _raw_spin_lock
               |          
               |--75.00%-- futex_wake
               |          do_futex
               |          |          
               |          |--50.00%-- a
               |           --50.00%-- b
                --25.00%-- [...]

`)
	want := []evidence.ProfileChain{
		{Pct: 15, Frames: []string{"_raw_spin_lock", "futex_wake", "do_futex", "a"}},
		{Pct: 15, Frames: []string{"_raw_spin_lock", "futex_wake", "do_futex", "b"}},
		{Pct: 10, Frames: []string{"_raw_spin_lock"}},
	}
	if d := cmp.Diff(want, set.Profiles[0].Rows[0].Chains); d != "" {
		t.Error(d)
	}
}

// TestOverShare drops a row of more than there is, and says so.
func TestOverShare(t *testing.T) {
	const head = "# Overhead  Command  Shared Object  Symbol\n#\n"
	for row, want := range map[string]int{
		"   143.90%  app  [kernel.kallsyms]  [k] schedule\n":  1,
		" 18446744073709551615.00%  app  app  [.] main\n":     1,
		"   100.00%  app  [kernel.kallsyms]  [k] schedule\n":  0,
		"   It was 120% faster, they said, and 12% in main\n": 0,
	} {
		set := read(t, head+"    40.00%  app  app  [.] main\n"+row)
		if got := set.Sources[0].DroppedTotal; got != want {
			t.Errorf("%q: %d lines dropped, want %d", row, got, want)
		}
	}
}

func TestTarget(t *testing.T) {
	for command, want := range map[string]evidence.Target{
		"/usr/bin/perf record -e context-switches -a -g -o x -- perf bench sched pipe": {Kind: evidence.TargetSystem},
		"perf record -p 58931,58932 -g -- sleep 3":                                     {Kind: evidence.TargetProcess, IDs: []int{58931, 58932}},
		"perf record -agp 12 sleep 3":                                                  {Kind: evidence.TargetProcess, IDs: []int{12}},
		"perf record --pid=12 -F99":                                                    {Kind: evidence.TargetProcess, IDs: []int{12}},
		"perf record -F 99 -t 5,6":                                                     {Kind: evidence.TargetThread, IDs: []int{5, 6}},
		"perf record -C 0-2,5 -a":                                                      {Kind: evidence.TargetCPU, IDs: []int{0, 1, 2, 5}, Name: "0-2,5"},
		"perf record -g --call-graph dwarf -e cycles ./app -p 3":                       {Kind: evidence.TargetCommand, Name: "./app -p 3"},
		"perf report": {},
	} {
		if d := cmp.Diff(want, target(command)); d != "" {
			t.Errorf("%s: %s", command, d)
		}
	}
}

func TestRecordCommand(t *testing.T) {
	for line, want := range map[string]string{
		"# perf record -e cs -a sleep 1":                         "perf record -e cs -a sleep 1",
		"me@h:~$ sudo /usr/bin/perf record -g ./a":               "perf record -g ./a",
		"perf record ./a":                                        "perf record ./a",
		"[ perf record: Captured and wrote 0.027 MB perf.data ]": "",
		"[ perf record ]":                                        "",
		"I ran perf record -a on it":                             "",
		"prefetch perf recorder":                                 "",
	} {
		if got, ok := recordCommand(line); ok != (want != "") || ok && got != want {
			t.Errorf("recordCommand(%q) = %q, %v", line, got, ok)
		}
	}
}

func TestKind(t *testing.T) {
	for event, want := range map[string]evidence.StackKind{
		"cs": evidence.StackSwitch, "context-switches:u": evidence.StackSwitch, "sched:sched_switch": evidence.StackSwitch,
		"cycles:ppp": evidence.StackCPU, "cpu-clock:k": evidence.StackCPU, "cpu_atom/cycles/P": evidence.StackCPU, "cpu/instructions/u": evidence.StackCPU,
		"ibs_op//": evidence.StackCPU, "cpu/event=0x3c,umask=0x0/": evidence.StackOther,
		"page-faults": evidence.StackOther, "sched:sched_stat_sleep": evidence.StackOther, "": evidence.StackOther,
	} {
		if got := kindOf(event); got != want {
			t.Errorf("kindOf(%q) = %v, want %v", event, got, want)
		}
	}
}

func TestDetectNot(t *testing.T) {
	for _, s := range []string{
		"",
		"The Overhead of the Command was 50%, see Samples: 10 of them.\n",
		"Samples: 41 were taken of event handlers\n",
		"             9,926,666      branch-misses             #    0.16% of all branches\n",
		"     flat  flat%   sum%        cum   cum%\n     1.26s 24.90% 24.90%      1.26s 24.90%  runtime.memmove\n",
		"%Cpu(s):  1.0 us,  2.0 sy\n  PID USER %CPU COMMAND\n",
		"CPU usage 99.83%  [kernel] is busy\n",
		"[ perf record: Captured and wrote 0.027 MB perf.data (93 samples) ]\n",
		"  50%  [k]\n",
	} {
		if Detect(text(t, s)) {
			t.Errorf("detected in %q", s)
		}
	}
}

// TestCases reads the reports that people posted.
func TestCases(t *testing.T) {
	for file, want := range map[string]string{
		"01.txt": "0 cpu-samples \"cpu-clock:k\"\n40.73 swapper|[kernel.kallsyms]|true|native_safe_halt\n19.21 java|[kernel.kallsyms]|true|finish_task_switch\n8.87 java|[kernel.kallsyms]|true|pvclock_clocksource_read\n5.52 java|[kernel.kallsyms]|true|_raw_spin_unlock_irqrestore\n4.57 java|[kernel.kallsyms]|true|entry_SYSCALL_64_after_swapgs\n1.97 java|[kernel.kallsyms]|true|futex_wake\n",
		"03.txt": "0 switches \"sched:sched_switch\"\n8.87 8.87 shadow||false||0/2856\n8.57 8.57 shadow||false||0/2856\n7.99 7.99 shadow||false||0/2856\n",
		"26.txt": "0 other \"\"\n39.37 handystats|[kernel.vmlinux]|true|__bpf_prog_run\n22.97 handystats|[kernel.vmlinux]|true|__schedule\n",
	} {
		raw, err := os.ReadFile(filepath.Join(shared.Dir(t), "cases", file))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, rows(read(t, string(raw)))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// TestMutations changes how captures look and not what they say.
func TestMutations(t *testing.T) {
	pct := regexp.MustCompile(`(\d)\.(\d\d%)`)
	row := regexp.MustCompile(`(?m)^  (  +\d)`)
	for _, m := range []struct {
		name  string
		apply func(string) string
	}{
		{"CRLF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"indented", func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }},
		{"quoted", func(s string) string {
			return "> " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n> ") + "\n"
		}},
		{"decimal comma", func(s string) string { return pct.ReplaceAllString(s, "$1,$2") }},
		{"no dots", func(s string) string { return regexp.MustCompile(`(?m)^# [. ]+\n#\n`).ReplaceAllString(s, "") }},
		{"trailing spaces gone", func(s string) string { return regexp.MustCompile(`(?m) +$`).ReplaceAllString(s, "") }},
		{"plus signs of the TUI", func(s string) string { return row.ReplaceAllString(s, "+ $1") }},
		{"prompts around it", func(s string) string { return "$ perf report --stdio\n" + s + "$ uptime\n 12:00  up 3 days\n" }},
	} {
		for _, name := range []string{"header", "pid-sym", "comm", "children-caller", "trace", "cpu-utilization"} {
			raw, err := os.ReadFile("../../testdata/perf-report/perf-6.1-" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(rows(read(t, string(raw))), rows(read(t, m.apply(string(raw))))); d != "" {
				t.Errorf("%s, %s: %.1500s", name, m.name, d)
			}
		}
	}
}

// TestCut reads captures that end anywhere: what is whole must be as before.
func TestCut(t *testing.T) {
	for _, name := range []string{"children-caller", "comma", "hierarchy", "tui"} {
		raw, err := os.ReadFile("../../testdata/perf-report/perf-6.1-" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		full := read(t, string(raw)).Profiles[0].Rows
		for cut := 0; cut < len(raw); cut += 7 {
			set := read(t, string(raw[:cut]))
			if len(set.Profiles) == 0 {
				continue
			}
			got := set.Profiles[0].Rows
			for i := range len(got) - 1 {
				if i >= len(full) || got[i].Symbol != full[i].Symbol || overhead(&got[i]) != overhead(&full[i]) {
					t.Fatalf("%s cut at %d: row %d is %+v", name, cut, i, got[i])
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("../../testdata/perf-report/*.txt")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw[:min(len(raw), 3000)]))
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if len(raw) > 1<<16 {
			return
		}
		txt, err := cleaned([]byte(raw))
		if err != nil {
			return // not a text
		}
		detected := Detect(txt)
		set := &evidence.Set{}
		if err := Read(txt, set.NewBuilder("x", Format)); err != nil {
			t.Fatal(err)
		}
		if len(set.Profiles) > 0 && !detected {
			t.Error("a profile in a text that is not detected")
		}
		for _, p := range set.Profiles {
			for _, r := range p.Rows {
				checkRow(t, r)
			}
		}
	})
}

func checkRow(t *testing.T, r evidence.ProfileRow) {
	t.Helper()
	for _, o := range []evidence.Opt[float64]{r.OverheadPct, r.ChildrenPct, r.SelfPct} {
		if !(o.V >= 0 && o.V <= 100.01) {
			t.Errorf("impossible share in %+v", r)
		}
	}
	for _, c := range r.Chains {
		if !(c.Pct > 0 && c.Pct <= 100.02) || len(c.Frames) == 0 || len(c.Frames) > maxChainFrames+2 {
			t.Errorf("impossible chain in %+v", r)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	raw, err := os.ReadFile("../../testdata/perf-report/perf-6.1-children-caller.txt")
	if err != nil {
		b.Fatal(err)
	}
	txt := text(b, strings.Repeat(string(raw), 50))
	b.SetBytes(int64(50 * len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		set := &evidence.Set{}
		if err := Read(txt, set.NewBuilder("x", Format)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDetect(b *testing.B) {
	line := "   74512.345678 [0001]  worker-1[1234/1234]                 0.004      0.002      0.120 \n"
	txt := text(b, strings.Repeat(line, 20000))
	b.SetBytes(int64(len(line) * 20000))
	for b.Loop() {
		if Detect(txt) {
			b.Fatal("detected")
		}
	}
}
