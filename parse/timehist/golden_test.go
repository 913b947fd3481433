package timehist

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

var update = flag.Bool("update", false, "write the golden files anew")

const testdata = "../../testdata/timehist"

// captures returns the project's own captures.
func captures(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in %s (%v)", testdata, err)
	}
	return files
}

func TestGolden(t *testing.T) {
	for _, f := range captures(t) {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got := describe(readStream(t, filepath.Base(f), raw))
		golden := strings.TrimSuffix(f, ".txt") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-golden +got):\n%s", f, d)
		}
	}
}

// describe prints a set for comparison.
func describe(set *evidence.Set) string {
	var b strings.Builder
	for _, s := range set.Sources {
		fmt.Fprintf(&b, "source %d %s: %s\n", s.ID, s.Name, s.Variant)
		fmt.Fprintf(&b, "  command %q target %v host CPUs %s window %s s, %s..%s\n", s.Command, s.Target.Kind, opt(s.Host.CPUs),
			opt(s.Window.DurationS), opt(s.Window.StartNS), opt(s.Window.EndNS))
		fmt.Fprintf(&b, "  loss %+v dropped %d\n", s.Loss, s.DroppedTotal)
		for _, w := range s.Warnings {
			fmt.Fprintf(&b, "  warning: %s\n", w)
		}
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "  note: %s\n", n)
		}
	}
	for _, t := range set.Traces {
		fmt.Fprintf(&b, "trace %d line %d: switches %d (idle %d) wakeups %d migrations %d, run %d idle %d\n", t.Pos.Source, t.Pos.Line,
			t.SwitchRows, t.IdleRows, t.WakeupRows, t.MigrateRows, t.RunNS, t.IdleNS)
		if r, ok := t.First.Get(); ok {
			fmt.Fprintf(&b, "  first %+v\n", r)
		}
		if s, ok := t.Totals.Get(); ok {
			fmt.Fprintf(&b, "  totals of %v summary: tasks %s switches %s run %s window %s CPUs %s idle", s.Kind,
				opt(s.Tasks), opt(s.Switches), opt(s.RunNS), opt(s.WindowNS), opt(s.CPUs))
			for _, i := range s.Idle {
				fmt.Fprintf(&b, " %d:%s", i.CPU, opt(i.IdleNS))
			}
			b.WriteByte('\n')
		}
	}
	for _, t := range set.Threads {
		describeThread(&b, &t)
	}
	for _, c := range set.CPUs {
		fmt.Fprintf(&b, "cpu %d: switches %d busy %d idle %d breaks %d\n", c.CPU, c.Switches, c.BusyNS, c.IdleNS, c.ChainBreaks)
	}
	for _, s := range set.Series {
		fmt.Fprintf(&b, "series from %d by %d: %v\n", s.StartNS, s.StepNS, s.Switches)
	}
	for _, s := range set.Stacks {
		describeStacks(&b, &s)
	}
	return b.String()
}

func describeThread(b *strings.Builder, t *evidence.TaskStats) {
	fmt.Fprintf(b, "thread %d %+v kernel %v line %d: switches %s run %s delay %s wait %s preempt %s migrations %s wakeups %s\n", t.Pos.Source,
		t.Task, t.Kernel, t.Pos.Line, opt(t.Switches), opt(t.RunNS), opt(t.DelayNS), opt(t.WaitNS), opt(t.PreemptNS), opt(t.Migrations), opt(t.Wakeups))
	for _, h := range []struct {
		name string
		h    *evidence.Histogram
	}{{"run", t.Run}, {"delay", t.Delay}, {"off-cpu", t.OffCPU}, {"preempt", t.Preempt}} {
		if h.h != nil {
			fmt.Fprintf(b, "  %s: n %d sum %d min %d max %d %v\n", h.name, h.h.N, h.h.Sum, h.h.Min, h.h.Max, h.h.Buckets())
		}
	}
	if m, ok := t.MaxDelay.Get(); ok {
		fmt.Fprintf(b, "  longest delay %+v\n", m)
	}
	for _, w := range t.Wakers {
		fmt.Fprintf(b, "  waker %+v\n", w)
	}
}

func describeStacks(b *strings.Builder, t *evidence.StackTable) {
	fmt.Fprintf(b, "stacks %s %v\n", t.Event, t.Kind)
	for _, s := range t.Samples {
		fmt.Fprintf(b, "  %+v count %d weight %v off %d of %d delay %d:", t.Tasks[s.Task], s.Count, s.Weight, s.OffNS, s.OffN, s.DelayNS)
		if s.Stack < 0 {
			b.WriteString(" no chain\n")
			continue
		}
		for _, f := range t.Stacks[s.Stack] {
			fr := t.Frames[f]
			fmt.Fprintf(b, " %s%s/%v", fr.Symbol, fr.Why, fr.Kernel)
		}
		b.WriteByte('\n')
	}
}

func opt[T any](o evidence.Opt[T]) string {
	if !o.OK {
		return "-"
	}
	return fmt.Sprint(o.V)
}

// readSlow reads lines with the tolerant reader alone.
func readSlow(t testing.TB, name string, raw []byte) *evidence.Set {
	t.Helper()
	var set evidence.Set
	r := newReader(set.NewBuilder(name, Format))
	r.slow = true
	if err := readBlocks(strings.NewReader(string(raw)), r); err != nil {
		t.Fatal(err)
	}
	r.finish()
	return &set
}

// readTextSlow is readText with the tolerant reader alone.
func readTextSlow(t testing.TB, name string, raw []byte) *evidence.Set {
	t.Helper()
	text, err := paste.Clean(raw)
	if err != nil {
		t.Fatal(err)
	}
	var set evidence.Set
	r := newReader(set.NewBuilder(name, Format))
	r.slow = true
	r.text(text)
	return &set
}

// sameSets compares everything that two readings gave.
func sameSets(t testing.TB, name string, a, b *evidence.Set) {
	t.Helper()
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: readings differ:\n%s", name, cmp.Diff(describe(a), describe(b)))
	}
}

// TestFastEqualsTolerant reads every capture with the fast path and without.
func TestFastEqualsTolerant(t *testing.T) {
	files := captures(t)
	for _, f := range files {
		equalReadings(t, f)
	}
	raw := generate(30_000)
	sameSets(t, "generated", readStream(t, "g", raw), readSlow(t, "g", raw))
	sameSets(t, "generated text", readText(t, "g", raw), readStream(t, "g", raw))
}

// TestFastEqualsTolerantCorpus does so with the shared captures.
func TestFastEqualsTolerantCorpus(t *testing.T) {
	n := 0
	for _, c := range corpus(t) {
		equalReadings(t, c.path)
		n++
	}
	lab, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(corpus(t)[0].path)), "..", "lab", "*", "timehist.txt"))
	if err != nil || len(lab) == 0 {
		t.Fatalf("no laboratory captures (%v)", err)
	}
	for _, f := range lab {
		equalReadings(t, f)
	}
	t.Logf("%d corpus and %d laboratory captures", n, len(lab))
}

func equalReadings(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sameSets(t, file+" as a stream", readStream(t, file, raw), readSlow(t, file, raw))
	sameSets(t, file+" as a text", readText(t, file, raw), readTextSlow(t, file, raw))
	if !paste.IsDecorated(raw) && strings.IndexByte(string(raw), '\r') < 0 {
		sameSets(t, file+" as text and stream", readText(t, file, raw), readStream(t, file, raw))
	}
}

// TestEveryByte puts every byte at every place of a row: what the fast path
// takes must be what the tolerant reader reads.
func TestEveryByte(t *testing.T) {
	taken := 0
	for _, line := range []string{
		textRow("100.003000", 0, "a[7]", "1.000", "0.250", "1.000"),
		textRow("12345678.012345", 1234, "async-rt-worker[123/45]", "1234.567", "999.999", "9999.001"),
		strings.TrimRight(textRow("100.003000", 0, "<idle>", "1.000", "0.250", "1.000"), " \n") + "   f <- g \r\n",
	} {
		for at := range line {
			for b := range 256 {
				text := []byte(line)
				text[at] = byte(b)
				if compareRow(t, text) {
					taken++
				}
			}
		}
	}
	if taken < 1000 {
		t.Errorf("the fast path took %d rows only", taken)
	}
}

// compareRow reads a line by the scanner and by the tolerant reader, and
// reports whether the scanner took it.
func compareRow(t *testing.T, text []byte) bool {
	t.Helper()
	recs, _ := newScanner().scan(text, 0, nil)
	if len(recs) == 0 || recs[0].kind == rowNone {
		return false
	}
	rec := recs[0]
	name := text[rec.off+colTask:][:rec.width]
	if !cacheable(name) {
		return false // reader.newName leaves it
	}
	l := layout{header: true}
	var want, got row
	if k, err := l.parse(trimRight(text[:rec.end]), &want); k != rowSwitch || err != nil {
		t.Fatalf("%q: taken, but not a row: %v", text, err)
	}
	l.parseTail(unescape(trimRight(text[rec.tail:rec.end])), &got)
	if rec.at != want.time || int(rec.cpu) != want.cpu || uint64(rec.wait)*1e3 != want.wait || uint64(rec.delay)*1e3 != want.delay ||
		uint64(rec.run)*1e3 != want.run || !bytes.Equal(unescape(trim(name)), want.name) || !bytes.Equal(got.chain, want.chain) {
		t.Fatalf("%q: taken as %+v, is %+v", text, rec, want)
	}
	return true
}

// TestEveryOddByte does so with whole captures in several layouts, and the
// bytes that matter.
func TestEveryOddByte(t *testing.T) {
	bitmap := strings.Replace(header, "cpu  task", "cpu  012  task", 1)
	prio := strings.Replace(header, "  wait time", "  prio      wait time", 1)
	plain := textRow("100.001000", 0, "a[7]", "0.000", "0.000", "1.000") + textRow("100.002000", 0, "b[9/8]", "0.000", "0.000", "1.000")
	withBitmap := "     100.001000 [0000]  s    a[7]                                0.000      0.000      1.000 \n" +
		"     100.001500 [0001]   s   b[9/8]                              0.000      0.000      1.000 \n"
	withPrio := "     100.001000 [0000]  a[7]                            120           0.000      0.000      1.000 \n" +
		"     100.002000 [0000]  b[9/8]                          120           0.000      0.000      1.000 \n"
	for _, c := range []struct{ before, row string }{
		{plain, textRow("100.003000", 0, "a[7]", "1.000", "0.250", "1.000")},
		{header + plain, textRow("100.003000", 0, "a[7]", "1.000", "0.250", "1.000")},
		{header + plain, "     100.002000 [0000]  a[7]                                                             awakened: b[9/8]\n"},
		{header + plain, "     100.002000 [0000]  a[7]                                                             awakened: :70 \n"},
		{header + plain, strings.TrimSuffix(textRow("100.003000", 0, "a[7]", "1.000", "0.250", "1.000"), "\n") + " next: b[9]             f <- g\n"},
		{bitmap + withBitmap, "     100.003000 [0000]  s    a[7]                                1.000      0.250      1.000 \n"},
		{withBitmap, "     100.003000 [0000]  s    a[7]                                1.000      0.250      1.000 \n"},
		{bitmap + withBitmap, "     100.003000 [0000]       a[7]                                                             awakened: b[9/8]\n"},
		{prio + withPrio, "     100.003000 [0000]  a[7]                            120->129      1.000      0.250      1.000 \n"},
	} {
		for at := range c.row {
			for _, b := range []byte("\x00\t\n\r !&,-./09:<>[]ims\x80\xff") {
				text := []byte(c.before + c.row)
				text[len(c.before)+at] = b
				fast, slow := readLines(text, false), readLines(text, true)
				if !reflect.DeepEqual(fast, slow) {
					t.Fatalf("byte %q at %d of %q:\n%s", b, at, c.row, cmp.Diff(describe(slow), describe(fast)))
				}
			}
		}
	}
}

// TestFastTakes makes sure that the rows of every layout go the fast way.
func TestFastTakes(t *testing.T) {
	for file, want := range map[string]int{
		"perf61-rows.txt": 45, "perf61-next-bitmap-state.txt": 45, "perf61-bitmap-wakeups-migrations.txt": 75,
		"perf612-prio-premig-state.txt": 35, "perf61-callchains.txt": 10,
	} {
		raw, err := os.ReadFile(filepath.Join(testdata, file))
		if err != nil {
			t.Fatal(err)
		}
		var set evidence.Set
		r := newReader(set.NewBuilder(file, Format))
		taken := 0
		for line := range bytes.Lines(raw) {
			r.recs, _ = r.scan.scan(line, 0, r.recs[:0])
			if len(r.recs) == 1 && r.recs[0].kind != rowNone && r.ready() && r.takeRecord(line, &r.recs[0]) {
				taken++
			} else {
				r.line(bytes.TrimSuffix(line, []byte("\n")), r.no+1)
			}
		}
		if taken < want {
			t.Errorf("%s: %d of %d rows taken", file, taken, bytes.Count(raw, []byte("\n")))
		}
	}
}

// TestColumnGrows: when perf widens the task column, the same words at its ends
// can mean another name.
func TestColumnGrows(t *testing.T) {
	wide := func(s string) string { return strings.Replace(s, "        ", "         ", 1) }
	text := textRow("100.001000", 0, "abcdefghijklm[111]", "0.000", "0.000", "1.000") + textRow("100.002000", 0, "b[9]", "0.000", "0.000", "1.000") +
		textRow("100.003000", 0, "abcdefghijklm[111]", "1.000", "0.000", "1.000") +
		"     100.004000 [0000]  async-rt-worker[1234567/1234567      0.000      0.000      1.000 \n" +
		wide(textRow("100.005000", 0, "abcdefghijklm[1111]", "0.000", "0.000", "1.000")) +
		wide(textRow("100.006000", 0, "abcdefghijklm[111]", "2.000", "0.000", "1.000"))
	set := one(t, text)
	if a, b := thread(t, set, 111), thread(t, set, 1111); a.Switches.V != 3 || b.Switches.V != 1 {
		t.Errorf("%+v %+v", a, b)
	}
	sameSets(t, "lines", readLines([]byte(text), false), readLines([]byte(text), true))
}

// readLines reads whole lines without the goroutine of ReadStream.
func readLines(text []byte, slow bool) *evidence.Set {
	var set evidence.Set
	r := newReader(set.NewBuilder("lines", Format))
	r.slow = slow
	for line := range bytes.Lines(text) {
		r.recs, _ = r.scan.scan(line, 0, r.recs[:0])
		r.consume(line, r.recs)
	}
	r.finish()
	return &set
}
