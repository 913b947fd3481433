package perfdata

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/testdata/shared"
)

// truth is a truth.tsv: rows by kind, each a list of its fields.
type truth map[string][][]string

func readTruth(tb testing.TB, path string) truth {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	t := truth{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		cols := strings.Split(sc.Text(), "\t")
		t[cols[0]] = append(t[cols[0]], cols[1:])
	}
	return t
}

// find returns the fields of the row of a kind that begins with key.
func (t truth) find(kind, key string) []string {
	for _, r := range t[kind] {
		if len(r) > 0 && r[0] == key {
			return r[1:]
		}
	}
	return nil
}

// keyed reads fields of the form name=number.
func keyed(fields []string) map[string]uint64 {
	m := map[string]uint64{}
	for _, f := range fields {
		k, v, ok := strings.Cut(f, "=")
		if n, err := strconv.ParseUint(v, 10, 64); ok && err == nil {
			m[k] = n
		}
	}
	return m
}

// fixture is a file that was read.
type fixture struct {
	set   evidence.Set
	src   *evidence.Source
	stats Stats
	truth truth
	err   error
}

func readFixture(tb testing.TB, path string, opt Options) *fixture {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	fx := &fixture{}
	b := fx.set.NewBuilder(path, Format)
	fx.src = b.Source()
	opt.Stats = &fx.stats
	fx.err = Read(Input{R: f, Size: st.Size(), Name: filepath.Base(path)}, b, opt)
	return fx
}

func local(tb testing.TB) string { return filepath.Join(shared.Dir(tb), "fixtures", "local") }

// checker counts compared values.
type checker struct {
	t     *testing.T
	total int
	right int
}

func (c *checker) equal(what string, got, want any) {
	c.t.Helper()
	c.total++
	if got == want {
		c.right++
		return
	}
	c.t.Errorf("%s: %v, want %v", what, got, want)
}

// TestTruth holds everything that truth.tsv knows of the recorded fixtures
// against what is read: records by type, samples by event, times, losses, and
// per thread the switches and, system-wide, the times.
func TestTruth(t *testing.T) {
	dir := local(t)
	c := &checker{}
	for _, name := range truthFixtures(t, dir) {
		t.Run(name, func(t *testing.T) {
			c.t = t
			fx := readFixture(t, filepath.Join(dir, name, "perf.data"), Options{})
			if fx.err != nil {
				t.Fatal(fx.err)
			}
			fx.truth = readTruth(t, filepath.Join(dir, name, "truth.tsv"))
			checkRecords(c, fx)
			checkThreads(c, fx)
		})
	}
	t.Logf("%d of %d values equal", c.right, c.total)
}

// truthFixtures lists the fixtures with a perf.data and a truth.tsv.
func truthFixtures(tb testing.TB, dir string) []string {
	tb.Helper()
	var out []string
	list, err := filepath.Glob(filepath.Join(dir, "*", "truth.tsv"))
	if err != nil || len(list) == 0 {
		tb.Fatalf("no fixtures in %s: %v", dir, err)
	}
	for _, p := range list {
		d := filepath.Dir(p)
		if st, err := os.Stat(filepath.Join(d, "perf.data")); err == nil && st.Mode().IsRegular() {
			out = append(out, filepath.Base(d))
		}
	}
	return out
}

func checkRecords(c *checker, fx *fixture) {
	for _, r := range fx.truth["records"] {
		n, _ := strconv.ParseUint(r[1], 10, 64)
		c.equal(r[0]+" records", fx.stats.Records[recordType(r[0])], n)
	}
	for _, r := range fx.truth["samples"] {
		n, _ := strconv.ParseUint(r[1], 10, 64)
		got := fx.stats.Samples[r[0]]
		if strings.HasPrefix(r[0], "type2/config") { // the file does not name it
			continue
		}
		c.equal(r[0]+" samples", got, n)
	}
	if r := fx.truth.find("time_ns", "first"); r != nil && r[0] != "-" {
		c.equal("first", strconv.FormatUint(fx.stats.FirstNS, 10), r[0])
		c.equal("last", strconv.FormatUint(fx.stats.LastNS, 10), r[2])
	}
	if r := fx.truth.find("raw", "lost"); r != nil {
		c.equal("lost", strconv.FormatUint(fx.src.Loss.LostRecords, 10), r[0])
		c.equal("lost samples", strconv.FormatUint(fx.src.Loss.LostSamples, 10), r[2])
	}
}

func recordType(name string) wire.Type {
	if n, err := strconv.Atoi(name); err == nil {
		return wire.Type(n)
	}
	for t := range wire.Type(128) {
		if t.String() == name {
			return t
		}
	}
	return 0
}

func checkThreads(c *checker, fx *fixture) {
	systemWide := len(fx.truth["switch_mode"]) > 0 && fx.truth["switch_mode"][0][0] == "system_wide"
	wakeups := fx.stats.Samples["sched:sched_wakeup"] > 0 // truth.tsv knows no others
	for _, r := range fx.truth["thread"] {
		tid, err := strconv.Atoi(r[0])
		if err != nil { // swapper/N: the idle task is no thread
			continue
		}
		want := keyed(r[2:])
		sum := sumOf(fx.set.Threads, tid)
		who := "thread " + r[0] + " " + r[1] + " "
		if _, ok := want["out"]; ok {
			c.equal(who+"voluntary", sum["vol"], want["vol"])
			c.equal(who+"involuntary", sum["invol"], want["invol"])
		}
		if !systemWide {
			continue
		}
		for _, k := range []string{"run_ns", "preempt_wait_ns", "sleep_ns", "wake_wait_ns", "first_wait_ns"} {
			switch {
			case want["st_X"]+want["st_x"] > 1: // a made-up task that dies again and again
			case !wakeups && k != "run_ns" && k != "preempt_wait_ns":
			case fx.src.Loss.LostRecords > 0:
				// Nothing is reported across a loss; truth.tsv does not look at that.
				c.equal(who+k+" not above", sum[k] <= want[k], true)
			default:
				c.equal(who+k, sum[k], want[k])
			}
		}
	}
}

// sumOf adds up the rows of a thread id: there are several when the id was
// used again.
func sumOf(rows []evidence.TaskStats, tid int) map[string]uint64 {
	m := map[string]uint64{}
	for i := range rows {
		th := &rows[i]
		if th.Task.TID != tid {
			continue
		}
		m["vol"] += th.Voluntary.Or(0)
		m["invol"] += th.Involuntary.Or(0)
		m["run_ns"] += th.RunNS.Or(0)
		m["preempt_wait_ns"] += th.PreemptNS.Or(0)
		m["sleep_ns"] += th.SleepNS.Or(0)
		m["wake_wait_ns"] += th.DelayNS.Or(0)
		m["first_wait_ns"] += th.FirstWaitNS.Or(0)
	}
	return m
}

// TestThreadsFolder reads a recording made with --threads.
func TestThreadsFolder(t *testing.T) {
	dir := filepath.Join(local(t), "threads_dir")
	var in Input
	for _, name := range []string{"data", "data.0", "data.1"} {
		f, err := os.Open(filepath.Join(dir, "perf.data", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if in.R == nil {
			in.R, in.Size, in.Name = f, st.Size(), name
		} else {
			in.Parts = append(in.Parts, Part{f, st.Size()})
		}
	}
	fx := &fixture{truth: readTruth(t, filepath.Join(dir, "truth.tsv"))}
	b := fx.set.NewBuilder("threads_dir", Format)
	fx.src = b.Source()
	if err := Read(in, b, Options{Stats: &fx.stats}); err != nil {
		t.Fatal(err)
	}
	c := &checker{t: t}
	checkRecords(c, fx)
	checkThreads(c, fx)
	t.Logf("%d of %d values equal", c.right, c.total)
}

// TestStatRecord reads the counts of perf stat record; the values are those
// that perf stat printed (stat.txt beside the file).
func TestStatRecord(t *testing.T) {
	fx := readFixture(t, filepath.Join(local(t), "stat_record", "perf.data"), Options{})
	if fx.err != nil || len(fx.set.Counters) != 1 {
		t.Fatalf("%v, %d blocks", fx.err, len(fx.set.Counters))
	}
	if len(fx.src.Notes) > 0 { // it has the notes of a compressed file, and is none
		t.Errorf("notes %q", fx.src.Notes)
	}
	b := fx.set.Counters[0]
	if b.ElapsedS.Or(0) != 0.046823760 || b.Scope != "'/opt/demo/app/bin/netio 300'" {
		t.Errorf("scope %s, elapsed %v", b.Scope, b.ElapsedS)
	}
	for name, want := range map[string]float64{"context-switches": 1214, "cpu-migrations": 0, "task-clock": 15.389903, "page-faults": 128} {
		c, ok := b.Find(name)
		if !ok || c.Value != want || c.Status != evidence.StatusCounted {
			t.Errorf("%s: %+v, want %v", name, c, want)
		}
	}
}

// TestSwitchRecords holds the switches told of by PERF_RECORD_SWITCH against
// the switch_record rows. The last switch of a task that ends has id -1 there,
// and is the one of the task that was on the CPU here.
func TestSwitchRecords(t *testing.T) {
	c := &checker{t: t}
	for _, name := range []string{"netio_switchev_a", "netio_switchev_task"} {
		dir := filepath.Join(local(t), name)
		fx := readFixture(t, filepath.Join(dir, "perf.data"), Options{})
		if fx.err != nil {
			t.Fatal(fx.err)
		}
		var ends, ended uint64
		for _, r := range readTruth(t, filepath.Join(dir, "truth.tsv"))["switch_record"] {
			tid, err := strconv.Atoi(r[0])
			want := keyed(r[1:])
			if err != nil || tid <= 0 {
				ended += want["out_blocked"]
				continue
			}
			got := sumOf(fx.set.Threads, tid)
			if got["vol"] == want["out_blocked"]+1 {
				ends++
				got["vol"]--
			}
			c.equal(name+" "+r[0]+" voluntary", got["vol"], want["out_blocked"])
			c.equal(name+" "+r[0]+" involuntary", got["invol"], want["out_preempt"])
		}
		c.equal(name+" last switches", ends <= ended, true)
	}
	t.Logf("%d of %d values equal", c.right, c.total)
}
