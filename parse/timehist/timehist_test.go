package timehist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

const header = "           time    cpu  task name                       wait time  sch delay   run time\n" +
	"                        [tid/pid]                          (msec)     (msec)     (msec)\n" +
	"--------------- ------  ------------------------------  ---------  ---------  ---------\n"

func TestParseName(t *testing.T) {
	for _, c := range []struct {
		in       string
		comm     string
		tid, pid int
		idle     bool
		plain    bool
	}{
		{"perf[15504]", "perf", 15504, 15504, false, false},
		{"over-0[2477/2473]", "over-0", 2477, 2473, false, false},
		{"<idle>", "<idle>", 0, 0, true, false},
		{"&lt;idle&gt;", "<idle>", 0, 0, true, false},
		{"", "<idle>", 0, 0, true, false},
		{"swapper", "<idle>", 0, 0, true, false},
		{"swapper/12[0]", "<idle>", 0, 0, true, false},
		{":70", ":70", 70, 0, false, false},
		{":-1[-1/15636]", ":-1", -1, 15636, false, false},
		{"a b[7]", "a b", 7, 7, false, false},
		{"a[1][55]", "a[1]", 55, 55, false, false},
		{"[x][55/4]", "[x]", 55, 4, false, false},
		{"a ==> b[9]", "a ==> b", 9, 9, false, false},
		{"日本[9]", "日本", 9, 9, false, false},
		{"async-rt-worker[1234567/1234567", "async-rt-worker", 1234567, 1234567, false, false}, // perf cuts at 31 bytes
		{"short[1234567/12345", "short[1234567/12345", -1, 0, false, true},                     // cut by something else
		{"swapper/x", "swapper/x", -1, 0, false, true},
		{"worker", "worker", -1, 0, false, true},
		{"x[99999999999]", "x[99999999999]", -1, 0, false, true},
	} {
		n := parseName([]byte(c.in))
		if string(n.comm) != c.comm || n.tid != c.tid || n.pid != c.pid || n.idle != c.idle || n.plain != c.plain {
			t.Errorf("%q: got %q %d/%d idle %v plain %v", c.in, n.comm, n.tid, n.pid, n.idle, n.plain)
		}
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]uint64{"0.000": 0, "1.234": 1234000, "65.267": 65267000, "18446744073709.551": noTime, "999999.999": 999999999000} {
		if ns, ok := msec([]byte(in)); !ok || ns != want {
			t.Errorf("%s: %d %v", in, ns, ok)
		}
	}
	for _, in := range []string{"", ".", "1", "1.23", "1.2345", "-1.234", "1.23x", "1,234", ".123", "x.123"} {
		if ns, ok := msec([]byte(in)); ok {
			t.Errorf("%q is no duration: %d", in, ns)
		}
	}
	for in, want := range map[string]uint64{"762.581374": 762581374000, "3458569.254": 3458569254000000, "1.000000001": 1000000001} {
		if ns, _, ok := clock([]byte(in)); !ok || ns != want {
			t.Errorf("%s: %d %v", in, ns, ok)
		}
	}
	for _, in := range []string{"762", "762.5", "762.58137", ".581374", "762.5813741", "1e3.123456"} {
		if _, _, ok := clock([]byte(in)); ok {
			t.Errorf("%q is no time", in)
		}
	}
}

// TestEight compares eight bytes at once with one after the other.
func TestEight(t *testing.T) {
	for _, in := range []string{"12345678", "00000000", "       1", "    0000", "99999999", "        ", " 1 2    ", "1234567 ", "123 5678",
		"1234567:", "/2345678", "!2345678", "\"1234567", "\x00\x00345678", "\xb0\xb1345678", "        9", "  -45678"} {
		x := uint64(0)
		for i := 7; i >= 0; i-- {
			x = x<<8 | uint64(in[i])
		}
		trimmed := strings.TrimLeft(in[:8], " ")
		v, n := digits([]byte(trimmed))
		good := n == len(trimmed)
		if (faults(x) == 0) != good || good && eight(x) != v {
			t.Errorf("%q: faults %x, number %d", in, faults(x), eight(x))
		}
		if (noDigits(x) == 0) != (good && n == 8) {
			t.Errorf("%q: noDigits %x", in, noDigits(x))
		}
	}
}

// one reads a text with one capture.
func one(t *testing.T, text string) *evidence.Set {
	t.Helper()
	set := readStream(t, "one", []byte(text))
	sameSets(t, "tolerant", set, readSlow(t, "one", []byte(text)))
	if len(set.Sources) != 1 {
		t.Fatalf("%d sources", len(set.Sources))
	}
	return set
}

func thread(t *testing.T, set *evidence.Set, tid int) evidence.TaskStats {
	t.Helper()
	for _, th := range set.Threads {
		if th.Task.TID == tid {
			return th
		}
	}
	t.Fatalf("no thread %d in %+v", tid, set.Threads)
	return evidence.TaskStats{}
}

// row makes a row as perf prints it.
func textRow(time string, cpu int, name string, wait, delay, run string) string {
	return fmt.Sprintf("%15s [%04d]  %-30s %10s %10s %10s \n", time, cpu, name, wait, delay, run)
}

// TestTimes checks what the three times mean.
//
//	CPU 0:  perf | A runs 1.000 | B runs 2.000, A runnable from 100.0025 | A runs 1.500
func TestTimes(t *testing.T) {
	set := one(t, header+
		textRow("100.000000", 0, "perf[5]", "0.000", "0.000", "0.000")+
		textRow("100.001000", 0, "a[7]", "0.000", "0.250", "1.000")+
		textRow("100.003000", 0, "b[9/8]", "0.000", "0.000", "2.000")+
		textRow("100.004500", 0, "a[7]", "2.000", "0.500", "1.500"))
	a := thread(t, set, 7)
	if a.Switches.V != 2 || a.RunNS.V != 2500000 || a.DelayNS.V != 750000 || a.WaitNS.V != 2000000 {
		t.Errorf("a: %+v", a)
	}
	if a.Run.N != 2 || a.Delay.N != 2 || a.OffCPU.N != 1 {
		t.Errorf("a: %d runs, %d delays, %d waits", a.Run.N, a.Delay.N, a.OffCPU.N)
	}
	want := evidence.Extreme{AtNS: 100003000000, NS: 500000, Instead: evidence.Task{PID: 8, TID: 9, Comm: "b"}}
	if a.MaxDelay.V != want {
		t.Errorf("longest delay %+v", a.MaxDelay)
	}
	if a.Voluntary.OK || a.Involuntary.OK || a.Migrations.OK || a.Wakeups.OK {
		t.Errorf("what timehist does not tell must be absent: %+v", a)
	}
	if p := thread(t, set, 5); p.RunNS.OK || p.DelayNS.OK || p.WaitNS.OK || p.Switches.V != 1 {
		t.Errorf("the first row of a CPU has no times: %+v", p)
	}
	if b := thread(t, set, 9); b.Task.PID != 8 || b.WaitNS.OK || b.DelayNS.V != 0 || !b.DelayNS.OK {
		t.Errorf("b: %+v", b)
	}
}

// TestChainOffCPU checks that a wait belongs to the chain of the row before.
func TestChainOffCPU(t *testing.T) {
	row := func(time, wait, delay, run, chain string) string {
		return strings.TrimSuffix(textRow(time, 0, "a[7]", wait, delay, run), "\n") + "   " + chain + "\n"
	}
	set := one(t, header+
		row("100.001000", "0.000", "0.000", "1.000", "futex_wait <- do_futex <- entry_SYSCALL_64_after_hwframe <- main")+
		textRow("100.004000", 0, "<idle>", "0.000", "0.000", "3.000")+
		row("100.005000", "3.000", "0.010", "1.000", "do_nanosleep <- hrtimer_nanosleep")+
		textRow("100.009000", 0, "<idle>", "1.000", "0.000", "4.000")+
		row("100.010000", "4.000", "0.020", "1.000", "futex_wait <- do_futex <- entry_SYSCALL_64_after_hwframe <- main"))
	if len(set.Stacks) != 1 || len(set.Stacks[0].Samples) != 2 {
		t.Fatalf("%+v", set.Stacks)
	}
	futex, sleep := set.Stacks[0].Samples[0], set.Stacks[0].Samples[1]
	if futex.Count != 2 || futex.OffNS != 3000000 || futex.OffN != 1 || futex.DelayNS != 10000 {
		t.Errorf("futex: %+v", futex)
	}
	if sleep.Count != 1 || sleep.OffNS != 4000000 || sleep.OffN != 1 || sleep.DelayNS != 20000 {
		t.Errorf("sleep: %+v", sleep)
	}
	var frames []string
	for _, f := range set.Stacks[0].Stacks[futex.Stack] {
		fr := set.Stacks[0].Frames[f]
		frames = append(frames, fmt.Sprint(fr.Symbol, fr.Kernel))
	}
	if got := strings.Join(frames, " "); got != "futex_waittrue do_futextrue entry_SYSCALL_64_after_hwframetrue mainfalse" {
		t.Error(got)
	}
}

func TestWarnings(t *testing.T) {
	base := textRow("100.000000", 0, "perf[5]", "0.000", "0.000", "0.000") +
		textRow("100.001000", 0, "kworker/0:1[7]", "0.000", "0.250", "1.000") +
		textRow("100.002000", 0, "<idle>", "0.000", "0.000", "1.000") +
		textRow("100.003000", 0, "kworker/0:1[7]", "1.000", "0.010", "1.000")
	for _, c := range []struct{ name, text, want string }{
		{"lost", base + "     100.002000 lost 1342 events on cpu 1\n", "1342 events were lost"},
		{"broken chain", base + textRow("100.005000", 0, "kworker/0:1[7]", "0.000", "0.000", "2.000"), "1 of 5 rows follow a row of the same task"},
		{"delay longer than wait", base + textRow("100.004000", 0, "b[9]", "0.000", "0.000", "1.000") +
			textRow("100.005000", 0, "kworker/0:1[7]", "1.000", "1.500", "1.000"), "1 rows have times that contradict"},
		{"underflow", base + textRow("100.003500", 0, "b[9]", "0.000", "0.000", "18446744073709.551"), "1 rows have times that contradict"},
		{"overlap", base + textRow("100.003500", 0, "b[9]", "0.000", "0.000", "1.000"), "1 rows have times that contradict"},
		{"out of order", base + textRow("100.002500", 1, "b[9]", "0.000", "0.000", "0.000"), "1 rows are older"},
		{"rows missing", base + "\nTotal number of context switches: 9\n", "the text has 4 switch rows, its summary counts 9"},
		{"empty", "", "table below the header"},
	} {
		set := one(t, header+c.text)
		if w := strings.Join(set.Sources[0].Warnings, "\n"); !strings.Contains(w, c.want) {
			t.Errorf("%s: warnings %q", c.name, w)
		}
	}
	set := one(t, header+base)
	if len(set.Sources[0].Warnings) != 0 {
		t.Errorf("a good capture has warnings: %q", set.Sources[0].Warnings)
	}
}

// TestImpossibleTimes: what contradicts the clock does not come into the sums.
func TestImpossibleTimes(t *testing.T) {
	set := one(t, header+
		textRow("100.001000", 0, "a[7]", "0.000", "0.000", "1.000")+
		textRow("100.002000", 0, "b[9]", "0.000", "0.000", "18446744073709.551"))
	if b := thread(t, set, 9); b.RunNS.V != 0 || b.Switches.V != 1 {
		t.Errorf("%+v", b)
	}
}

func TestNoDelays(t *testing.T) {
	set := one(t, header+
		textRow("100.001000", 0, "a[7]", "0.000", "0.000", "1.000")+
		textRow("100.002000", 0, "b[9]", "0.000", "0.000", "1.000")+
		textRow("100.003000", 0, "a[7]", "1.000", "0.000", "1.000"))
	if a := thread(t, set, 7); a.DelayNS.OK || a.Delay != nil || !a.WaitNS.OK {
		t.Errorf("%+v", a)
	}
	if n := strings.Join(set.Sources[0].Notes, "\n"); !strings.Contains(n, "delays are not known") {
		t.Error(n)
	}
}

// TestPreemptedDelays: newer perf lets the delay of a preempted task begin when
// it was preempted, with or without wakeup events.
func TestPreemptedDelays(t *testing.T) {
	rows := header +
		textRow("100.001000", 0, "a[7]", "0.000", "0.000", "1.000") +
		textRow("100.002000", 0, "<idle>", "0.000", "0.000", "1.000") +
		textRow("100.003000", 0, "a[7]", "1.000", "0.000", "1.000") +
		textRow("100.004000", 0, "<idle>", "1.000", "1.000", "1.000") +
		textRow("100.005000", 0, "b[9]", "0.000", "0.000", "1.000") +
		textRow("100.006000", 0, "a[7]", "2.000", "2.000", "1.000")
	set := one(t, rows)
	if a := thread(t, set, 7); a.DelayNS.OK || a.PreemptNS.V != 2000000 || a.Preempt.N != 1 {
		t.Errorf("without wakeups: %+v", a)
	}
	set = one(t, rows+textRow("100.007000", 0, "b[9]", "1.000", "0.200", "1.000"))
	if a := thread(t, set, 7); a.DelayNS.V != 2000000 || a.PreemptNS.OK {
		t.Errorf("with wakeups: %+v", a)
	}
}

func TestSingleTaskRecording(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(testdata, "perf61-single-task.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range readStream(t, "single", raw).Threads {
		if th.RunNS.OK || th.WaitNS.OK || th.DelayNS.OK || th.Run != nil || !th.Switches.OK {
			t.Errorf("times of a recording without -a: %+v", th)
		}
	}
}

// TestSeveralCaptures: each capture in a text is a source of its own.
func TestSeveralCaptures(t *testing.T) {
	rows := textRow("100.001000", 0, "a[7]", "0.000", "0.000", "1.000") + textRow("100.002000", 0, "b[9]", "0.000", "0.000", "1.000")
	summary := "\nRuntime summary\n" +
		"                          comm  parent   sched-in     run-time    min-run     avg-run     max-run  stddev  migrations\n" +
		"                          a[7]       1          3        2.000      0.500       0.600       0.700   12.00       0\n\n" +
		"Total number of context switches: 3\n           Total run time (msec): 2.000\n    Total scheduling time (msec): 9.000  (x 2)\n"
	for _, c := range []struct {
		name, text string
		sources    int
		rows       uint64
	}{
		{"two headers", header + rows + header + rows, 2, 4},
		{"two commands", "$ perf sched timehist\n" + header + rows + "After:\n# perf sched timehist -n\n" + header + rows, 2, 4},
		{"two summaries", summary + "\n4 workers\n" + summary, 2, 0},
		{"rows behind totals", header + rows + summary + rows, 2, 4},
		{"rows again behind prose", rows + "\nand then:\n\n" + rows, 2, 4},
		{"rows with their summary", header + rows + summary, 1, 2},
		{"prose between rows", rows + "\n(much later)\n\n" + textRow("101.002000", 0, "b[9]", "0.000", "0.000", "1.000"), 1, 3},
		{"prose about the tool", rows + "see perf sched timehist for more\n" + textRow("101.002000", 0, "b[9]", "0.000", "0.000", "1.000"), 1, 3},
	} {
		set := readText(t, c.name, []byte(c.text))
		var n uint64
		for _, tr := range set.Traces {
			n += tr.SwitchRows
		}
		if len(set.Sources) != c.sources || n != c.rows || len(set.Traces) != c.sources {
			t.Errorf("%s: %d sources, %d rows, %d traces", c.name, len(set.Sources), n, len(set.Traces))
		}
		for _, s := range set.Sources {
			if s.DroppedTotal != 0 {
				t.Errorf("%s: dropped %+v", c.name, s.Dropped)
			}
		}
	}
}

// TestOddRows reads rows that pasting, other options or other people changed.
func TestOddRows(t *testing.T) {
	for _, c := range []struct {
		name, head, row string
		task            evidence.Task
		wait, delay     uint64 // us
		run             uint64
	}{
		{"tabs", "", "762.581400\t[0000]\tmigration/0[18]\t0.000\t0.006\t0.026", evidence.Task{PID: 18, TID: 18, Comm: "migration/0"}, 0, 6, 26},
		{"comm with blanks", header, textRow("762.581400", 0, "a b  c[18/4]", "1.000", "0.006", "0.026"), evidence.Task{PID: 4, TID: 18, Comm: "a b  c"}, 1000, 6, 26},
		{"comm like a row", header, textRow("762.581400", 0, "0.000 1.0[18]", "1.000", "0.006", "0.026"), evidence.Task{PID: 18, TID: 18, Comm: "0.000 1.0"}, 1000, 6, 26},
		{"comm like an event", header, textRow("762.581400", 0, "awakened: x[18]", "1.000", "0.006", "0.026"), evidence.Task{PID: 18, TID: 18, Comm: "awakened: x"}, 1000, 6, 26},
		{"arrow in comm", header, textRow("762.581400", 0, "a ==> b[18]", "1.000", "0.006", "0.026"), evidence.Task{PID: 18, TID: 18, Comm: "a ==> b"}, 1000, 6, 26},
		{"wide column", header, "     762.581400 [0000]  async-rt-worker[1234567/1234567      1.000      0.006      0.026 \n",
			evidence.Task{PID: 1234567, TID: 1234567, Comm: "async-rt-worker"}, 1000, 6, 26},
		{"wait of an hour", header, "    7762.581400 [0000]  a[18]                          3600000.001      0.006      0.026 \n", evidence.Task{PID: 18, TID: 18, Comm: "a"}, 3600000001, 6, 26},
		{"priority", strings.Replace(header, "  wait time", "  prio      wait time", 1), "     762.581400 [0000]  a b[18]                         120->129      1.000      0.006      0.026 \n",
			evidence.Task{PID: 18, TID: 18, Comm: "a b"}, 1000, 6, 26},
		{"priority without header", "", "     762.581400 [0000]  a b[18]                         120      1.000      0.006      0.026 \n",
			evidence.Task{PID: 18, TID: 18, Comm: "a b"}, 1000, 6, 26},
		{"bitmap without header", "", "     762.581400 [0001]   s   a b[18]                             1.000      0.006      0.026 \n",
			evidence.Task{PID: 18, TID: 18, Comm: "a b"}, 1000, 6, 26},
		{"comm s", header, textRow("762.581400", 0, "s    x[18]", "1.000", "0.006", "0.026"), evidence.Task{PID: 18, TID: 18, Comm: "s    x"}, 1000, 6, 26},
		{"CPU 12345", header, "     762.581400 [12345]  a[18]                               1.000      0.006      0.026 \n", evidence.Task{PID: 18, TID: 18, Comm: "a"}, 1000, 6, 26},
		{"remark", header, strings.TrimRight(textRow("762.581400", 0, "a[18]", "1.000", "0.006", "0.026"), "\n") + "  # <--- here it is\n", evidence.Task{PID: 18, TID: 18, Comm: "a"}, 1000, 6, 26},
		{"entities", header, "     762.581400 [0000]  a&amp;b[18]                             1.000      0.006      0.026 \n", evidence.Task{PID: 18, TID: 18, Comm: "a&b"}, 1000, 6, 26},
	} {
		set := one(t, c.head+c.row)
		if len(set.Threads) != 1 || len(set.Traces) != 1 {
			t.Errorf("%s: threads %+v, dropped %+v", c.name, set.Threads, set.Sources[0].Dropped)
			continue
		}
		r := set.Traces[0].First.V
		if r.Task != c.task || r.WaitNS != c.wait*1000 || r.DelayNS != c.delay*1000 || r.RunNS != c.run*1000 {
			t.Errorf("%s: %+v", c.name, r)
		}
		if len(set.Stacks) != 0 {
			t.Errorf("%s: stacks %+v", c.name, set.Stacks)
		}
	}
}

func TestTails(t *testing.T) {
	state := layout{header: true, state: true}
	for _, c := range []struct {
		l                 layout
		in                string
		next, chain, want string
	}{
		{layout{header: true}, "  next: migration/0[18]            schedule_timeout <- wait_for_completion", "migration/0[18]", "schedule_timeout <- wait_for_completion", ""},
		{layout{header: true}, " next: a b[1] f <- g", "a b[1]", "f <- g", ""},
		{layout{header: true}, "  next: swapper/1[0]            ", "swapper/1[0]", "", ""},
		{layout{header: true}, "  next: async-rt-worker[1234567 ", "async-rt-worker[1234567", "", ""},
		{layout{header: true}, "  next: x[1]y[2]", "x[1]y[2]", "", ""},
		{layout{header: true}, "   [unknown] <- [unknown]", "", "[unknown] <- [unknown]", ""},
		{layout{header: true}, "   do_nanosleep", "", "do_nanosleep", ""},
		{layout{header: true}, "   [unknown]", "", "[unknown]", ""},
		{layout{header: true}, "   foo(int, char const*) <- bar", "", "foo(int, char const*) <- bar", ""},
		{layout{header: true}, "   <--- slow", "", "", ""},
		{layout{header: true}, "   why?", "", "why?", ""},
		{layout{header: true}, "   much too long", "", "", ""},
		{state, "      S    f <- g", "", "f <- g", ""},
		{state, "      R  next: a[1]   ", "a[1]", "", ""},
		{layout{header: true}, "   f <- g", "", "f <- g", ""},
		{layout{}, "   f <- g", "", "f <- g", ""},
		{layout{}, "      D    f <- g", "", "f <- g", ""},
		{layout{header: true, preMig: true}, "      0.004    f <- g", "", "f <- g", ""},
		{layout{header: true, preMig: true, state: true}, "      0.004      S    f <- g", "", "f <- g", ""},
	} {
		var r row
		c.l.parseTail([]byte(c.in), &r)
		if string(r.next) != c.next || string(r.chain) != c.chain {
			t.Errorf("%q: next %q chain %q", c.in, r.next, r.chain)
		}
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		head, row   string
		kind        rowKind
		name, other string
	}{
		{"time cpu task name wait time sch delay run time", "762.1 [0]", rowNone, "", ""},
		{header, "     762.581367 [0000]  perf[15504]                                                      awakened: migration/0[18]", rowWakeup, "perf[15504]", "migration/0[18]"},
		{header, "762.581367 [0000] a[3] awakened: b[1] awakened: :70", rowWakeup, "a[3]", "b[1] awakened: :70"},
		{header, "     762.581379 [0000]  migration/0[18]                                                  migrated: perf[15504] cpu 0 => 1", rowMigrate, "migration/0[18]", "perf[15504]"},
		{header, "762.581379 [0000] x[1] migrated: a cpu 3[2] cpu 0 => 1", rowMigrate, "x[1]", "a cpu 3[2]"},
		{"time cpu 012 task name wait time sch delay run time", "     762.581379 [0000]   m     migration/0[18]                                                  migrated: perf[15504] cpu 0 => 1", rowMigrate, "migration/0[18]", "perf[15504]"},
		{"time cpu 012 task name wait time sch delay run time", "     762.581379 [0000]       m x[18]                                                  awakened: perf[15504]", rowWakeup, "m x[18]", "perf[15504]"},
		{"time cpu 012 task name wait time sch delay run time", "762.581379 [0000] m x[18] migrated: perf[15504] cpu 0 => 1", rowMigrate, "x[18]", "perf[15504]"},
		{header, "762.581379 [0000] x[1] migrated: a cpu 0 =>", rowNone, "", ""},
	} {
		l := parseHeader([]byte(strings.SplitN(c.head, "\n", 2)[0]))
		var r row
		k, _ := l.parse([]byte(c.row), &r)
		if k != c.kind || k != rowNone && (string(r.name) != c.name || string(r.other) != c.other) {
			t.Errorf("%q: kind %d name %q other %q", c.row, k, r.name, r.other)
		}
	}
}

// TestCutAnywhere cuts a capture at every byte, from either side: whole rows
// are read, the cut one is dropped, nothing else.
func TestCutAnywhere(t *testing.T) {
	rows := textRow("996.340436", 0, "a[7]", "0.000", "0.010", "1.000") + textRow("996.342436", 0, "b c[8/7]", "0.000", "0.000", "2.000") +
		textRow("996.343440", 0, "<idle>", "0.000", "0.000", "1.004")
	text := header + rows
	for i := range text {
		set := readStream(t, "cut", []byte(text[:i]))
		whole := strings.Count(text[len(header):max(i, len(header))], "\n")
		if n := switchRows(set); int(n) != whole && int(n) != whole+1 { // the last digit of a row completes it
			t.Errorf("first %d bytes: %d rows of %d", i, n, whole)
		} else if int(n) == whole+1 && !strings.HasSuffix(strings.TrimRight(text[:i], " "), ".000") && !strings.HasSuffix(text[:i], "1.004") &&
			!strings.HasSuffix(text[:i], "1.004 ") {
			t.Errorf("first %d bytes: read %q", i, text[i-20:i])
		}
		if s := set.Sources[0]; s.DroppedTotal > 0 && !s.Loss.Truncated {
			t.Errorf("first %d bytes: dropped %+v, not told", i, s.Dropped)
		}
	}
	lastRow := strings.LastIndexByte(rows[:len(rows)-1], '\n') // alone it has no neighbour that shows the cut
	for i := range lastRow {
		set := readStream(t, "cut", []byte(rows[i:]))
		for _, th := range set.Threads {
			if s := th.Task.Comm; s != "a" && s != "b c" {
				t.Errorf("from byte %d: thread %+v", i, th.Task)
			}
		}
		if start, ok := set.Sources[0].Window.StartNS.Get(); ok && start < 996340436000 {
			t.Errorf("from byte %d: starts at %d", i, start)
		}
	}
}

func switchRows(set *evidence.Set) (n uint64) {
	for _, tr := range set.Traces {
		n += tr.SwitchRows
	}
	return n
}

// TestBlocks reads lines across the borders of blocks, lines that are too long,
// and a source that fails.
func TestBlocks(t *testing.T) {
	raw := generate(20_000)
	want := readStream(t, "g", raw)
	for name, r := range map[string]io.Reader{
		"one byte at a time": iotest.OneByteReader(bytes.NewReader(raw)),
		"half of what fits":  iotest.HalfReader(bytes.NewReader(raw)),
		"data with EOF":      iotest.DataErrReader(bytes.NewReader(raw)),
	} {
		var set evidence.Set
		if err := ReadStream(r, set.NewBuilder("g", Format)); err != nil {
			t.Fatal(err)
		}
		sameSets(t, name, &set, want)
	}

	long := bytes.Join([][]byte{raw, bytes.Repeat([]byte("x"), 3*blockSize), []byte("\n"), raw[len(header):]}, nil)
	set := readStream(t, "long", long)
	if n := switchRows(set); n != 40_000 || set.Sources[0].DroppedTotal != 1 {
		t.Errorf("%d rows, dropped %+v", n, set.Sources[0].Dropped)
	}

	broken := errors.New("broken")
	set = &evidence.Set{}
	err := ReadStream(io.MultiReader(bytes.NewReader(raw), iotest.ErrReader(broken)), set.NewBuilder("broken", Format))
	if !errors.Is(err, broken) || switchRows(set) != 20_000 {
		t.Errorf("%v, %d rows", err, switchRows(set))
	}
}

// TestFlatMemory: ten times the rows, the same number of allocations.
func TestFlatMemory(t *testing.T) {
	small, large := generate(20_000), generate(200_000)
	count := func(raw []byte) float64 {
		return testing.AllocsPerRun(2, func() {
			var set evidence.Set
			if err := ReadStream(bytes.NewReader(raw), set.NewBuilder("g", Format)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := count(small), count(large); b > a+200 {
		t.Errorf("%v allocations for 20,000 rows, %v for 200,000", a, b)
	}
}

// TestHostileNames: distinct names, chains and CPUs do not grow memory without bound.
func TestHostileNames(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(header)
	for i := range maxTasks + 1000 {
		fmt.Fprintf(&b, "%8d.%06d [%04d]  %-30s %10s %10s %10s \n", 100+i, 0, i%9000, fmt.Sprintf("c%d[%d]", i, i+1), "0.000", "0.000", "0.001")
	}
	set := readStream(t, "hostile", b.Bytes())
	if n := switchRows(set); n != maxTasks+1000 || len(set.Threads) != maxTasks-firstTask {
		t.Errorf("%d rows, %d threads", n, len(set.Threads))
	}
	if w := strings.Join(set.Sources[0].Warnings, "\n"); !strings.Contains(w, "more than") {
		t.Error(w)
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name, text string
		text1, raw bool
	}{
		{"header", header, true, true},
		{"info and header", "Samples do not have callchains.\n" + header, true, true},
		{"rows", textRow("100.001000", 0, "a[7]", "0.000", "0.000", "1.000"), true, true},
		{"cut row first", "000      1.000 \n" + textRow("100.001000", 0, "a[7]", "0.000", "0.000", "1.000"), true, true},
		{"wakeup row", "     762.581367 [0000]  perf[15504]                          awakened: migration/0[18]\n", true, true},
		{"quoted", "> " + strings.ReplaceAll(header, "\n", "\n> ") + "\n", true, false},
		{"prose first", "Hello,\nlook at this:\n" + header, true, false},
		{"summary title alone", "Runtime summary\n", false, false},
		{"summary", "\nRuntime summary\n                          comm  parent   sched-in     run-time    min-run     avg-run     max-run  stddev  migrations\n" +
			"                                          (count)       (msec)     (msec)      (msec)      (msec)       %\n------------------------------\n" +
			"                 b-test[28930]      -1        588    23363.298      0.000      39.733    8412.850   36.00       0\n", true, true},
		{"totals", "Total number of context switches: 2765\n", true, true},
		{"empty", "", false, false},
		{"perf stat", " Performance counter stats for process id '58931':\n\n      4,808.30 msec task-clock   #    1.600 CPUs utilized\n", false, false},
		{"perf script", "perf 15504 [000]   762.581374: sched:sched_switch: prev_comm=perf prev_pid=15504\n", false, false},
		{"tool error", "failed to open /nonexistent: No such file or directory\n", false, false},
		{"vmstat", "procs -----------memory---------- ---swap--\n r  b   swpd   free   buff  cache   si   so\n", false, false},
	} {
		text, err := paste.Clean([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := Detect(text); got != c.text1 {
			t.Errorf("%s: Detect %v", c.name, got)
		}
		if got := DetectHead([]byte(c.text)); got != c.raw {
			t.Errorf("%s: DetectHead %v", c.name, got)
		}
	}
}

// FuzzRead checks that no input makes the readers panic, and that the fast path
// and the tolerant reader agree on all of them.
func FuzzRead(f *testing.F) {
	for _, name := range captures(f) {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[:min(len(raw), 4000)])
		f.Add(raw[max(0, len(raw)-1500):])
	}
	f.Add([]byte("     100.002000 lost 1342 events on cpu 1\n"))
	f.Add([]byte(textRow("3458569.254", 0, "", "0.000", "0.012", "0.003")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		sameSets(t, "stream", readStream(t, "f", raw), readSlow(t, "f", raw))
		DetectHead(raw)
		text, err := paste.Clean(raw)
		if err != nil {
			return
		}
		Detect(text)
		sameSets(t, "text", readText(t, "f", raw), readTextSlow(t, "f", raw))
	})
}
