package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"ctxan/analyze"
	"ctxan/analyze/rules"
	"ctxan/parse"
	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
	"ctxan/testdata/shared"
)

// capture is one input, read and analysed.
type capture struct {
	name  string
	set   *evidence.Set
	r     *analyze.Result
	trace *recorder
}

// recorder writes the trace of a capture while it is read.
type recorder struct {
	buf bytes.Buffer
	t   *Trace
}

func (r *recorder) Stint(s timeline.Stint) { r.t.Stint(Stint(s)) }
func (r *recorder) Wake(w timeline.Wake)   { r.t.Wake(Wakeup(w)) }

func open(t testing.TB, paths ...string) *capture {
	t.Helper()
	c := &capture{name: filepath.Base(paths[0]), trace: &recorder{}}
	c.trace.t = NewTrace(&c.trace.buf)
	var problems []error
	var err error
	c.set, problems, err = parse.Open(paths, parse.Options{Watch: func(string) timeline.Watcher { return c.trace }})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if err := c.trace.t.Close(); err != nil {
		t.Fatal(err)
	}
	if c.r, err = analyze.Run(c.set, rules.All(), analyze.Options{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// unpack puts a packed fixture where it can be read.
func unpack(t testing.TB, path string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(path), ".gz"))
	if err := os.WriteFile(out, shared.Gunzip(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

const testdata = "../../testdata/"

// captures are those that every format is held against: of a process, of all
// tasks, of a text, with and without call chains.
func captures(t *testing.T) []*capture {
	return []*capture{
		open(t, unpack(t, testdata+"unwind/switches.data.gz")),
		open(t, testdata+"perfdata/perf-6.1-system.data"),
		open(t, testdata+"timehist/perf61-callchains.txt"),
		open(t, testdata+"reference"),
		open(t, crowd(t)),
	}
}

// crowd writes a system-wide capture of 1,000 threads of two processes.
func crowd(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("           time    cpu  task name                       wait time  sch delay   run time\n" +
		"                        [tid/pid]                          (msec)     (msec)     (msec)\n" +
		"--------------- ------  ------------------------------  ---------  ---------  ---------\n")
	waits := []string{"do_nanosleep <- hrtimer_nanosleep", "futex_wait_queue <- futex_wait", "ep_poll <- do_epoll_wait"}
	for i := range 5000 {
		tid := 4000 + i*7%1000
		fmt.Fprintf(&b, "%15.6f [%04d]  %-30s  %9.3f  %9.3f  %9.3f    %s <- main\n", 100+float64(i)*1e-4, i%8,
			fmt.Sprintf("worker-%d[%d/%d]", tid%10, tid, 4000+tid%2), 0.5+float64(i%50)/100, float64(i%20)/1000, 0.01+float64(i%9)/1000, waits[i%3])
	}
	name := filepath.Join(t.TempDir(), "crowd.txt")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// sharedCaptures are real ones that are not part of the repository.
func sharedCaptures(t *testing.T) []*capture {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local")
	var out []*capture
	for _, n := range []string{"multi_events", "netio_task_fp", "attach_pid", "netio_a_allsched", "killed", "synth_deferred"} {
		out = append(out, open(t, filepath.Join(dir, n, "perf.data")))
		out[len(out)-1].name = n
	}
	return out
}

// whole is the case that all tasks of the capture belong to.
func (c *capture) whole() *analyze.Case {
	for _, k := range c.r.Cases {
		if k.Subject.Kind == analyze.SubjectMachine {
			return k
		}
	}
	return c.r.Primary()
}

func (c *capture) profile(t *testing.T) (*profile.Profile, []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := Pprof(&b, c.set); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	raw := bytes.Clone(b.Bytes())
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if err := p.CheckValid(); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
	return p, raw
}

func hasStacks(c *capture) bool {
	return analyze.StacksOf(c.set, evidence.StackSwitch) != nil || analyze.StacksOf(c.set, evidence.StackCPU) != nil
}

// TestPprof: by what the switches wait for, a profile sums to the rows of the
// report's layer 3, and in all to what the table holds.
func TestPprof(t *testing.T) {
	profiles := 0
	for _, c := range append(captures(t), sharedCaptures(t)...) {
		if !hasStacks(c) {
			var b bytes.Buffer
			if err := Pprof(&b, c.set); err == nil || b.Len() > 0 {
				t.Errorf("%s: a profile without call chains: %v", c.name, err)
			}
			continue
		}
		profiles++
		p, _ := c.profile(t)
		for i, st := range p.SampleType {
			var sum int64
			byTrigger := map[string]float64{}
			for _, s := range p.Sample {
				sum += s.Value[i]
				if len(s.Label["trigger"]) > 0 {
					byTrigger[s.Label["trigger"][0]] += float64(s.Value[i])
				}
			}
			if sum == 0 {
				t.Errorf("%s: %s sums to 0: a type that the capture does not hold", c.name, st.Type)
			}
			c.holdReasons(t, st.Type, byTrigger)
		}
	}
	if profiles < 3 {
		t.Errorf("%d captures have call chains", profiles)
	}
}

// holdReasons compares sums by trigger with the report's.
func (c *capture) holdReasons(t *testing.T, kind string, byTrigger map[string]float64) {
	t.Helper()
	if kind != "switches" && kind != "off_cpu" || c.whole().Stacks.Sampled || analyze.StacksOf(c.set, evidence.StackSwitch) == nil {
		return
	}
	seen := 0
	for _, row := range c.whole().Stacks.Reasons {
		want := row.Switches
		if kind == "off_cpu" {
			want = row.OffNS
		}
		if !want.OK || want.V == 0 {
			continue
		}
		seen++
		if got := byTrigger[row.Label]; math.Abs(got-want.V) > 1e-6*want.V {
			t.Errorf("%s: %s of %q: %v in the profile, %v in the report", c.name, kind, row.Label, got, want.V)
		}
	}
	if seen == 0 && len(byTrigger) > 1 && kind == "switches" {
		t.Errorf("%s: nothing to compare %v with", c.name, byTrigger)
	}
}

var totalLine = regexp.MustCompile(`of ([0-9.]+)(ns|us|ms|s|min)? total`)

// TestGoToolPprof: go tool pprof -top shows the total that the table holds.
func TestGoToolPprof(t *testing.T) {
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	c := open(t, unpack(t, testdata+"unwind/switches.data.gz"))
	p, raw := c.profile(t)
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	var want float64
	for _, sm := range analyze.StacksOf(c.set, evidence.StackSwitch).Samples {
		want += sm.Weight
	}
	out, err := exec.Command(gocmd, "tool", "pprof", "-top", "-unit=minimum", "-sample_index="+p.SampleType[0].Type, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := totalLine.FindSubmatch(out)
	if m == nil || string(m[1]) != strconv.FormatFloat(want, 'f', -1, 64) {
		t.Errorf("want a total of %v switches:\n%s", want, out)
	}
}

// TestPprofSays: labels, mappings with build-ids, and inlined functions as lines
// of one location.
func TestPprofSays(t *testing.T) {
	p, _ := open(t, unpack(t, testdata+"unwind/switches.data.gz")).profile(t)
	ids := 0
	for _, m := range p.Mapping {
		if m.BuildID != "" {
			ids++
		}
		if !m.HasFunctions {
			t.Errorf("%s would be looked up again", m.File)
		}
	}
	if ids == 0 {
		t.Error("no build-id")
	}
	for _, l := range []string{"thread", "comm", "state", "trigger", "pid"} {
		if len(p.Sample[0].Label[l]) != 1 {
			t.Errorf("no label %s", l)
		}
	}
	inlined := evidence.StackTable{Kind: evidence.StackSwitch, Frames: []evidence.Frame{{Symbol: "in", Addr: 8, Inlined: true}, {Symbol: "out", Addr: 8}, {Symbol: "main", Addr: 4}},
		Stacks: [][]int32{{0, 1, 2}, {1, 2}}, Tasks: []evidence.Task{{TID: 1}}, Samples: []evidence.StackSample{{Stack: 0, Count: 1, Weight: 1}, {Stack: 1, Count: 1, Weight: 1}}}
	set := &evidence.Set{}
	set.NewBuilder("x", "perf.data").Stacks(inlined)
	p, _ = (&capture{name: "inlined", set: set}).profile(t)
	if s := p.Sample[0]; len(s.Location) != 2 || len(s.Location[0].Line) != 2 || s.Location[0].Line[0].Function.Name != "in" || s.Location[1] != p.Sample[1].Location[1] {
		t.Errorf("inlined frames: %v", p)
	}
}

// TestFolded: the lines sum to what the weights of the table sum to.
func TestFolded(t *testing.T) {
	for _, c := range append(captures(t), sharedCaptures(t)...) {
		if !hasStacks(c) {
			continue
		}
		p, _ := c.profile(t)
		for i, st := range p.SampleType {
			name := st.Type
			if i == len(p.SampleType)-1 && analyze.StacksOf(c.set, evidence.StackCPU) != nil {
				name = "cpu"
			}
			var b bytes.Buffer
			if err := Folded(&b, c.set, name); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var want, got int64
			for _, s := range p.Sample {
				want += s.Value[i]
			}
			seen := map[string]bool{}
			for line := range strings.Lines(b.String()) {
				stack, n, ok := cutLast(strings.TrimSuffix(line, "\n"))
				v, err := strconv.ParseInt(n, 10, 64)
				if !ok || err != nil || v <= 0 || strings.Count(stack, ";") == 0 || seen[stack] {
					t.Errorf("%s: line %q", c.name, line)
				}
				seen[stack] = true
				got += v
			}
			if got != want {
				t.Errorf("%s: folded %s sum to %d, the profile has %d", c.name, name, got, want)
			}
		}
	}
	c := open(t, testdata+"reference")
	if err := Folded(io.Discard, c.set, ""); err == nil {
		t.Error("stacks of a capture without any")
	}
}

// cutLast cuts at the last blank, as flamegraph.pl does.
func cutLast(s string) (stack, n string, ok bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// traceFile is a Chrome trace as it is read back.
type traceFile struct {
	TraceEvents []struct {
		Ph, Name, Cat string
		PID, TID      int
		TS, Dur       json.Number
		Args          map[string]any
	}
}

func parseTrace(t *testing.T, b []byte) *traceFile {
	t.Helper()
	var f traceFile
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return &f
}

// nanos reads microseconds with three decimals.
func nanos(t *testing.T, n json.Number) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.Replace(n.String(), ".", "", 1), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTrace: parsed back, a trace has the stints that the threads' run times are
// made of, by number and sum, on the tracks of tasks and of CPUs.
func TestTrace(t *testing.T) {
	traced := 0
	for _, c := range append(captures(t), sharedCaptures(t)...) {
		var n, ns uint64
		perTask := map[int]uint64{}
		for i := range c.set.Threads {
			if h := c.set.Threads[i].Run; h != nil && c.trace.t.Stints > 0 {
				n, ns = n+h.N, ns+h.Sum
				perTask[c.set.Threads[i].Task.TID] += h.N
			}
		}
		f := parseTrace(t, c.trace.buf.Bytes())
		var gotN, gotNS, cpuN uint64
		for _, e := range f.TraceEvents {
			switch {
			case e.Ph == "X" && e.Cat == "task":
				gotN, gotNS = gotN+1, gotNS+nanos(t, e.Dur)
				perTask[e.TID]--
			case e.Ph == "X" && e.Cat == "cpu":
				cpuN++
				if e.PID != cpuTracks || e.TID <= cpuTracks {
					t.Errorf("%s: a CPU on track %d of %d", c.name, e.TID, e.PID)
				}
			}
		}
		if gotN != n || gotNS != ns || c.trace.t.Stints != n {
			t.Errorf("%s: %d slices of %d ns, the report has %d of %d", c.name, gotN, gotNS, n, ns)
		}
		if cpuN != n && cpuN != 0 {
			t.Errorf("%s: %d slices of tasks, %d of CPUs", c.name, n, cpuN)
		}
		for tid, left := range perTask {
			if left != 0 {
				t.Errorf("%s: task %d is %d slices off", c.name, tid, int64(left))
			}
		}
		if n > 0 {
			traced++
		}
	}
	if traced < 3 {
		t.Errorf("%d captures tell when tasks ran", traced)
	}
}

// TestTraceStreams: what is kept does not grow with what is told.
func TestTraceStreams(t *testing.T) {
	w := NewTrace(io.Discard)
	at := uint64(1000)
	round := func() {
		for tid := 1; tid <= 4; tid++ {
			w.Wake(Wakeup{Task: evidence.Task{PID: 1, TID: tid, Comm: "a"}, By: evidence.Task{PID: 1, TID: tid%4 + 1, Comm: "a"}, At: at})
			w.Stint(Stint{Task: evidence.Task{PID: 1, TID: tid, Comm: "a"}, CPU: tid % 2, Start: at, End: at + 500})
			at += 600
		}
	}
	round()
	if n := testing.AllocsPerRun(10_000, round); n > 30 { // names of marks, and of CPUs
		t.Errorf("%v allocations a round", n)
	}
	if len(w.flows) > 4 || len(w.names) > 1 || len(w.named) > 4 || len(w.cpus) > 2 || cap(w.buf) > 4096 {
		t.Errorf("kept: %d flows, %d names, %d tasks, %d CPUs, %d bytes", len(w.flows), len(w.names), len(w.named), len(w.cpus), cap(w.buf))
	}
}

// failing is a writer that fails after n bytes.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestTraceErrors(t *testing.T) {
	w := NewTrace(&failing{100})
	for i := range uint64(10_000) {
		w.Stint(Stint{Task: evidence.Task{TID: 1}, Start: i, End: i + 1})
	}
	if err := w.Close(); err != io.ErrShortWrite || w.Stints > 5000 {
		t.Errorf("%v after %d stints", err, w.Stints)
	}
}

// TestCrowd: the made-up capture is what the other tests take it for.
func TestCrowd(t *testing.T) {
	c := open(t, crowd(t))
	if n := len(c.whole().Threads); n != 1000 || c.whole().Subject.Kind != analyze.SubjectMachine || !hasStacks(c) {
		t.Errorf("%d threads of %s", n, c.whole().Subject.Kind)
	}
}

// TestCSV: each cell is the result's value, and each row has every column.
func TestCSV(t *testing.T) {
	for _, c := range append(captures(t), sharedCaptures(t)...) {
		tables := map[string][][]string{}
		for _, k := range CSV(c.set, c.r) {
			var b bytes.Buffer
			if err := k.Write(&b); err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(&b).ReadAll() // refuses rows of another length
			if err != nil {
				t.Fatalf("%s: %s: %v", c.name, k.Name, err)
			}
			tables[k.Name] = rows
		}
		c.holdThreads(t, tables["threads"])
		c.holdHistograms(t, tables["histograms"])
		if s := analyze.StacksOf(c.set, evidence.StackSwitch); s != nil {
			var want, got float64
			for _, sm := range s.Samples {
				want += sm.Weight
			}
			for _, row := range tables["stacks"][1:] {
				if row[2] == "switches" {
					v, _ := strconv.ParseFloat(row[9], 64)
					got += v
				}
			}
			if got != want {
				t.Errorf("%s: stacks weigh %v, not %v", c.name, got, want)
			}
		}
	}
}

func (c *capture) holdThreads(t *testing.T, rows [][]string) {
	t.Helper()
	col := map[string]int{}
	for i, n := range rows[0] {
		col[n] = i
	}
	rows = rows[1:]
	for _, k := range c.r.Cases {
		for i := range k.Threads {
			r, row := &k.Threads[i], rows[0]
			rows = rows[1:]
			for name, want := range map[string]evidence.Opt[float64]{"voluntary_per_s": r.VoluntaryPerS, "switches_per_s": r.SwitchesPerS, "share": r.Share,
				"run_ns": r.RunNS, "delay_ns": r.DelayNS, "wait_ns": r.OffNS, "run_p50_ns": r.Run.P50, "delay_p99_ns": r.Delay.P99, "off_cpu_max_ns": r.OffCPU.Max} {
				got, err := strconv.ParseFloat(row[col[name]], 64)
				if want.OK != (err == nil) || want.OK && got != want.V {
					t.Errorf("%s: %s of %d is %q, want %v", c.name, name, r.TID, row[col[name]], want)
				}
			}
			if row[col["tid"]] != cellID(r.TID) || row[col["switches"]] != cellCount(r.Switches) {
				t.Errorf("%s: row %q of %d", c.name, row, r.TID)
			}
		}
	}
	if len(rows) > 0 {
		t.Errorf("%s: %d threads more", c.name, len(rows))
	}
}

func (c *capture) holdHistograms(t *testing.T, rows [][]string) {
	t.Helper()
	sums := map[[3]string]uint64{} // subject, tid, histogram
	for _, row := range rows[1:] {
		n, err := strconv.ParseUint(row[7], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sums[[3]string{row[0], row[1], row[3]}] += n
	}
	for _, k := range c.r.Cases {
		for _, h := range k.Hists {
			if got := sums[[3]string{subject(k), "", h.ID}]; got != h.Total {
				t.Errorf("%s: %s sums to %d, not %d", c.name, h.ID, got, h.Total)
			}
		}
	}
}
