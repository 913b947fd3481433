package perfstat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"

	"github.com/google/go-cmp/cmp"
)

// show writes blocks in short lines, for comparison.
func show(set *evidence.Set) []string {
	var out []string
	for i := range set.Counters {
		b := &set.Counters[i]
		line := fmt.Sprintf("block %d [%s] %s", b.Pos.Line, b.Scope, b.Target.Kind)
		if len(b.Target.IDs) > 0 {
			line += fmt.Sprint(" ", b.Target.IDs)
		}
		if b.ElapsedS.OK {
			line += fmt.Sprintf(" elapsed %.10g", b.ElapsedS.V)
		}
		if b.Runs > 0 {
			line += fmt.Sprintf(" runs %d", b.Runs)
		}
		out = append(out, line)
		out = append(out, showCounters("", b.Counters)...)
		for _, p := range b.Parts {
			out = append(out, showCounters(b.Aggregation+" "+p.Name+": ", p.Counters)...)
		}
		for _, p := range b.Intervals {
			out = append(out, showCounters(fmt.Sprintf("until %.9g: ", p.EndS.V), p.Counters)...)
		}
	}
	for _, d := range set.Sources[0].Dropped {
		out = append(out, fmt.Sprintf("dropped %d", d.Line))
	}
	return out
}

func showCounters(prefix string, cs []evidence.Counter) []string {
	var out []string
	for i := range cs {
		c := &cs[i]
		line := prefix + c.Key()
		if c.Status == evidence.StatusCounted {
			line += fmt.Sprintf(" %.12g", c.Value)
		} else {
			line += " " + c.Status.String()
		}
		if c.Unit != "" {
			line += " " + c.Unit
		}
		if c.RunningPct.OK {
			line += fmt.Sprintf(" running %.4g%%", c.RunningPct.V)
		}
		if c.StdDevPct.OK {
			line += fmt.Sprintf(" ± %.4g%%", c.StdDevPct.V)
		}
		out = append(out, line)
	}
	return out
}

func TestRead(t *testing.T) {
	for _, tt := range readTests {
		t.Run(tt.name, func(t *testing.T) {
			u := readBytes(t, []byte(tt.in))
			want := strings.Split(strings.TrimSpace(tt.want), "\n")
			if d := cmp.Diff(want, show(u.set)); d != "" {
				t.Errorf("wrong blocks (-want +got):\n%s", d)
			}
			if !Detect(u.text) {
				t.Error("not detected")
			}
		})
	}
}

func TestThreads(t *testing.T) {
	u := readFile(t, fixture("perf6.1-per-thread-odd-comms.txt"))
	want := []evidence.TaskStats{
		{Task: evidence.Task{PID: 21234, TID: 21253, Comm: "sd-pam"}, Switches: evidence.Some(uint64(251)), Pos: evidence.Pos{Line: 13}},
		{Task: evidence.Task{PID: 21234, TID: 21249, Comm: "CPU 2/KVM"}, Switches: evidence.Some(uint64(252)), Pos: evidence.Pos{Line: 10}},
		{Task: evidence.Task{PID: 21234, TID: 21250, Comm: "my-thread-7"}, Switches: evidence.Some(uint64(252)), Pos: evidence.Pos{Line: 11}},
		{Task: evidence.Task{PID: 21234, TID: 21251, Comm: "a: b"}, Switches: evidence.Some(uint64(251)), Pos: evidence.Pos{Line: 12}},
		{Task: evidence.Task{PID: 21234, TID: 21252, Comm: "(paren)"}, Switches: evidence.Some(uint64(250)), Pos: evidence.Pos{Line: 14}},
	}
	if d := cmp.Diff(want, u.set.Threads); d != "" {
		t.Errorf("threads (-want +got):\n%s", d)
	}
}

func fixture(name string) string {
	return filepath.Join("..", "..", "testdata", "perf-stat", name)
}

// TestFixtures reads what perf printed and compares it with the fixture's
// golden, written by hand from the same output.
func TestFixtures(t *testing.T) {
	tests := map[string]string{
		"perf6.1-per-die.txt": `
block 2 ['system wide'] system elapsed 0.208750217
cpu-clock 417.58 msec
context-switches 3204
die S0-D0: cpu-clock 417.58 msec
die S0-D0: context-switches 3204`,
		"perf6.1-cpu.csv": `
block 1 [] unknown
context-switches 2736
cpu-clock 419.89 msec
cpu CPU0: context-switches 1943
cpu CPU0: cpu-clock 209.64 msec
cpu CPU1: context-switches 793
cpu CPU1: cpu-clock 210.25 msec`,
		"perf6.1-interval-summary.csv": `
block 1 [] unknown elapsed 0.257523423
context-switches 5773
cpu-clock 614.73 msec
until 0.100283361: context-switches 1164
until 0.100283361: cpu-clock 204.99 msec
until 0.20507216: context-switches 1293
until 0.20507216: cpu-clock 205.76 msec
until 0.257523423: context-switches 3316
until 0.257523423: cpu-clock 203.97 msec`,
		"perf6.1-interval-summary.json": `
block 1 [] unknown elapsed 0.29975961
context-switches 7250
cpu-clock 605.044856 msec
until 0.102890592: context-switches 1208
until 0.102890592: cpu-clock 207.067921 msec
until 0.210933092: context-switches 3870
until 0.210933092: cpu-clock 247.156119 msec
until 0.29975961: context-switches 2172
until 0.29975961: cpu-clock 150.820816 msec`,
		"perf6.1-modifiers.txt": `
block 2 ['sleep 0.1'] command elapsed 0.682683624
context-switches 6
context-switches:u unmeasurable
context-switches:k 6
page-faults:u 71
cpu-migrations:u unmeasurable
sched:sched_switch 6`,
		"perf6.1-r3.json": `
block 1 [] unknown
task-clock 4.331106 msec ± 10.3%
context-switches 5 ± 6.67%
cpu-migrations 0
page-faults 74`,
		"perf6.1-tab.csv": `
block 1 [] unknown
task-clock 5.7 msec
context-switches 6
cpu-migrations 0
page-faults 74
cycles not supported`,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			u := readFile(t, fixture(name))
			if d := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), show(u.set)); d != "" {
				t.Errorf("wrong blocks (-want +got):\n%s", d)
			}
		})
	}
}

func TestDetectNot(t *testing.T) {
	for _, s := range []string{
		"",
		"The context-switches counter was high. See perf stat docs.",
		"We saw 902,541 context-switches and 24,871 cpu-migrations.\nThat is 3 cycles.",
		"Performance counter stats for details, see the manual.\n",
		"the line `Performance counter stats for` begins a block\n",
		"stress-ng: info:  [8169]                      28575 Context Switches               7.502 K/sec\n" +
			"stress-ng: info:  [8169]                          7 CPU Migrations                 1.838 /sec\n",
		"    123456 CPU context switches\n   1234 forks\n",
		"Voluntary context switches: 36827\nInvoluntary context switches: 3092\n",
		"% time     seconds  usecs/call     calls    errors syscall\n 36.74    0.050723       50723         1           wait4\n",
		"app 1234 12.345678:     250000 cycles:  ffff8000 foo ([k])\napp 1234 12.345690:     250000 cycles:  ffff8000 foo ([k])\n",
		"     26.531950 usecs/op\n          37690 ops/sec\n",
		"# Samples: 59K of event 'context-switches'\n# Event count (approx.): 12724883\n",
		`{"event": "login", "user": "x"}` + "\n",
		"name,value,unit\ncycles,12,ms\n",
		"     762.581374 [0000]  perf[15504]                         0.000      0.000      0.000\n",
	} {
		text, err := paste.Clean([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if Detect(text) {
			t.Errorf("detected perf stat in %.70q", s)
		}
	}
}

func TestSourceFields(t *testing.T) {
	in := "perf version 6.1.187\nroot@box:~# sudo perf stat -a -C 0,1 -e cs sleep 1  # both CPUs\n\n" +
		" Performance counter stats for 'system wide':\n\n   5 cs\n\n 1.0 seconds time elapsed\n"
	set := readBytes(t, []byte(in)).set
	src := set.Sources[0]
	if src.Command != "sudo perf stat -a -C 0,1 -e cs sleep 1" || src.Tool != "perf 6.1.187" || src.Variant != "text" {
		t.Errorf("command %q, tool %q, variant %q", src.Command, src.Tool, src.Variant)
	}
	want := evidence.Target{Kind: evidence.TargetCPU, IDs: []int{0, 1}}
	if d := cmp.Diff(want, set.Counters[0].Target); d != "" {
		t.Errorf("-a with -C counts these CPUs only (-want +got):\n%s", d)
	}
}

func TestCommandLine(t *testing.T) {
	tests := map[string]string{
		"$ perf stat -p 1 sleep 2":                  "perf stat -p 1 sleep 2",
		"[root@h ~]# /usr/bin/perf stat true":       "/usr/bin/perf stat true",
		"Ran ``perf stat ./a b``::":                 "",
		"``perf stat ./a b``::":                     "perf stat ./a b",
		"Command: time sudo perf stat -e cs ./a":    "time sudo perf stat -e cs ./a",
		"See perf stat for details":                 "",
		"\tperf stat ...":                           "",
		"perf stat -e cs -p <PID>":                  "",
		"Running child command: perf stat -t 1,2":   "perf stat -t 1,2",
		"perf stat -x, ./a < in > out 2> perf.stat": "perf stat -x, ./a < in > out 2> perf.stat",
	}
	for in, want := range tests {
		if got, ok := commandLine(in); ok != (want != "") || ok && got != want {
			t.Errorf("commandLine(%q) = %q, %v, want %q", in, got, ok, want)
		}
	}
}

func TestParseNumber(t *testing.T) {
	tests := []struct {
		in      string
		kind    numberKind
		decimal byte
		want    float64
		bad     bool
	}{
		{in: "0", want: 0},
		{in: "", bad: true},
		{in: "-1", bad: true},
		{in: "1.", bad: true},
		{in: "902,541", want: 902541},
		{in: "902.541", want: 902541},
		{in: "1.234", want: 1234},
		{in: "1.234", decimal: '.', bad: true},
		{in: "1.234", kind: kindScaled, want: 1.234},
		{in: "1.234", kind: kindScaled, decimal: ',', want: 1234},
		{in: "1.234,56", kind: kindScaled, want: 1234.56},
		{in: "40'030.13", kind: kindScaled, want: 40030.13},
		{in: "9 903,09", kind: kindScaled, want: 9903.09},
		{in: "60\u202f276", want: 60276},
		{in: "60\xa0276", want: 60276},
		{in: "12,34,56,789", want: 123456789},
		{in: "64,615,7", bad: true},
		{in: "1234,567", kind: kindScaled, want: 1234.567},
		{in: "0.123", want: 0.123},
		{in: "12.5", want: 12.5},
		{in: "1,2,3", bad: true},
		{in: "1.234,567.8", bad: true},
		{in: "02,541", bad: true},
		{in: "61?51", bad: true},
		{in: "61?512", want: 61512},
		{in: "123456.000000", kind: kindDecimal, want: 123456},
		{in: "100,00", kind: kindDecimal, want: 100},
	}
	for _, tt := range tests {
		got, _, err := parseNumber(tt.in, tt.kind, tt.decimal)
		if (err != nil) != tt.bad || err == nil && got != tt.want {
			t.Errorf("parseNumber(%q, %d, %q) = %v, %v, want %v (bad %v)", tt.in, tt.kind, tt.decimal, got, err, tt.want, tt.bad)
		}
	}
}

// FuzzRead looks for panics, and for values that are no measurements.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob(fixture("*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	for _, tt := range readTests {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := paste.Clean(raw)
		if err != nil {
			return
		}
		Detect(text)
		set := &evidence.Set{}
		if err := Read(text, set.NewBuilder("fuzz", Format)); err != nil {
			t.Fatal(err)
		}
		for i := range set.Counters {
			checkBlock(t, &set.Counters[i], len(text.Lines))
		}
	})
}

func checkBlock(t *testing.T, b *evidence.CounterBlock, lines int) {
	for i := range b.Counters {
		c := &b.Counters[i]
		if c.Value < 0 || c.Value != c.Value || c.Event == "" || c.Status != evidence.StatusCounted && c.Value != 0 && c.Status != evidence.StatusUnmeasurable {
			t.Errorf("bad counter %+v", *c)
		}
	}
	if len(b.Counters) > 4*lines+64*1024 {
		t.Errorf("%d counters of %d lines", len(b.Counters), lines)
	}
}

// manyIntervals makes n intervals of four rows as perf stat -I prints them.
func manyIntervals(n int) []byte {
	var b strings.Builder
	b.WriteString("#           time             counts unit events\n")
	for i := 1; i <= n; i++ {
		at := fmt.Sprintf("%6d.%09d", i, i%1000)
		fmt.Fprintf(&b, "%s %18.2f msec cpu-clock                        #    2.000 CPUs utilized          \n", at, float64(i)+0.25)
		fmt.Fprintf(&b, "%s %18d      context-switches                 #   24.950 /sec                   \n", at, i)
		fmt.Fprintf(&b, "%s %18d      cpu-migrations                   #    3.493 /sec                   \n", at, i%7)
		fmt.Fprintf(&b, "%s    <not supported>      cycles                                                      \n", at)
	}
	return []byte(b.String())
}

func TestManyIntervals(t *testing.T) {
	const n = 5000
	b := &readBytes(t, manyIntervals(n)).set.Counters[0]
	c, ok := b.Find("context-switches")
	if !ok || c.Value != n*(n+1)/2 || len(b.Intervals) != n {
		t.Errorf("%v switches in %d intervals", c, len(b.Intervals))
	}
}

func BenchmarkRead(b *testing.B) {
	raw := manyIntervals(10000)
	text, err := paste.Clean(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		set := &evidence.Set{}
		if err := Read(text, set.NewBuilder("x", Format)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDetect goes through a large text of another tool.
func BenchmarkDetect(b *testing.B) {
	row := "     762.581400 [0000]  migration/0[18]                     0.000      0.006      0.026 \n"
	raw := []byte(strings.Repeat(row, 50000))
	text, err := paste.Clean(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if Detect(text) {
			b.Fatal("detected")
		}
	}
}
