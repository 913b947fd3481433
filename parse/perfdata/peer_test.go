package perfdata

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// TestAgainstPerf compares recordings with what perf says of the same files:
// records by type and samples by event (perf report --stats), the switches of
// every thread by state and the call chain of every sample (perf script).
//
// The recordings are the shared ones, and those in the folder that
// $CTXAN_RECORDINGS names.
func TestAgainstPerf(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("no perf here to compare with")
	}
	var paths []string
	if dir := os.Getenv("CTXAN_RECORDINGS"); dir != "" {
		paths, _ = filepath.Glob(filepath.Join(dir, "*.data*"))
	} else {
		for _, name := range truthFixtures(t, local(t)) {
			paths = append(paths, filepath.Join(local(t), name, "perf.data"))
		}
	}
	c := &checker{}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			c.t = t
			comparePerf(c, path)
		})
	}
	t.Logf("%d of %d values equal, %d files", c.right, c.total, len(paths))
}

func comparePerf(c *checker, path string) {
	stats, err := perfOf(path, "report", "-f", "--stats") // of perf 6.1 it fails on pipes with tracepoints
	if !strings.Contains(string(stats), "TOTAL events") && !isPipe(path) {
		c.t.Skipf("perf can't read it: %v, %.200s", err, stats)
	}
	records, samples := perfStats(string(stats))
	var sink tape
	p := readPath(c.t, path, &sink)
	for typ, n := range records {
		c.equal(typ+" records", p.opt.Stats.Records[recordType(typ)], n)
	}
	for event, n := range samples {
		if !slices.ContainsFunc(p.attrs, func(a attrEntry) bool { return a.attr.ReadFormat&wire.ReadGroup != 0 }) {
			c.equal(event+" samples", p.opt.Stats.Samples[event], n) // perf makes samples of the others from a leader's
		}
	}
	compareSwitches(c, path, sink.events)
	compareChains(c, path, p, sink.events)
}

// perfOf runs perf on a file. It reads one in pipe mode from standard input only.
func perfOf(path string, args ...string) ([]byte, error) {
	cmd := exec.Command("perf", append(args, "-i", path)...)
	if isPipe(path) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		cmd.Stdin = f
		cmd.Args[len(cmd.Args)-1] = "-"
	}
	return cmd.Output()
}

func isPipe(path string) bool {
	b, err := os.ReadFile(path)
	return err == nil && len(b) > 16 && le.Uint64(b[8:]) == wire.PipeHeaderSize
}

var (
	statLine  = regexp.MustCompile(`^\s*([A-Z_0-9a-z() ]+) events:\s+(\d+)`)
	eventLine = regexp.MustCompile(`^(\S.*) stats:$`)
)

// perfStats reads what perf report --stats prints. It counts the records of a
// compressed file as those that came out.
func perfStats(text string) (records, samples map[string]uint64) {
	records, samples = map[string]uint64{}, map[string]uint64{}
	event := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := eventLine.FindStringSubmatch(line); m != nil {
			event = m[1]
			continue
		}
		m := statLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.ParseUint(m[2], 10, 64)
		switch {
		case event == "Aggregated" && m[1] != "TOTAL" && !strings.HasPrefix(m[1], "LOST"):
			records[m[1]] = n // perf does not add up LOST records, but what they say
		case event != "Aggregated" && m[1] == "SAMPLE":
			samples[event] = n
		}
	}
	return records, samples
}

// readPath reads a file, or a folder made with --threads.
func readPath(t *testing.T, path string, sinks ...timeline.Sink) *reader {
	t.Helper()
	list := []string{path}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		list, _ = filepath.Glob(filepath.Join(path, "data*"))
	}
	var in Input
	for i, name := range list {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			in.R, in.Size, in.Name = f, st.Size(), name
		} else {
			in.Parts = append(in.Parts, Part{f, st.Size()})
		}
	}
	c, err := open(in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	r := &reader{capture: c, names: &timeline.Names{}, opt: Options{Sinks: sinks, Stats: &Stats{}}}
	b := (&evidence.Set{}).NewBuilder(path, Format)
	r.describe(b.Source())
	if err := r.stream(); err != nil {
		t.Fatal(err)
	}
	if err := r.finish(b); err != nil {
		t.Fatal(err)
	}
	return r
}

// compareSwitches compares the switches of all threads, with their states in
// the letters that the format of the recording has.
func compareSwitches(c *checker, path string, events []timeline.Event) {
	out, err := perfOf(path, "script", "-f", "--ns", "-F", "tid,time,cpu,event,trace")
	if err != nil {
		return
	}
	re := regexp.MustCompile(`(?m)^\s*(-?\d+) (?:\[(\d+)\] +)?(?:(\d+)\.(\d{9}): +)?sched:sched_switch: prev_comm=.* prev_pid=(\d+) prev_prio=\S+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+) `)
	want, got := map[string]uint64{}, map[string]uint64{}
	for _, m := range re.FindAllStringSubmatch(string(out), -1) {
		cpu, _ := strconv.Atoi(m[2])
		if m[2] == "" {
			cpu = -1
		}
		state := m[6]
		if old := map[string]evidence.State{"W": evidence.StateOther, "x": evidence.StateX}; old[state] != 0 { // letters of old kernels
			state = old[state].String()
		}
		want[fmt.Sprintf("%s%s cpu %d %s %s -> %s", strings.TrimLeft(m[3], "0"), m[4], cpu, m[5], state, m[7])]++
	}
	for _, e := range events {
		if e.Kind != timeline.KindSwitch {
			continue
		}
		at := ""
		if e.Time > 0 {
			at = fmt.Sprint(e.Time)
		}
		got[fmt.Sprintf("%s cpu %d %d %s -> %d", at, e.CPU, e.TID, e.State, e.Other)]++
	}
	if len(want) == 0 {
		return
	}
	for k, n := range want {
		c.equal("switch "+k, got[k], n)
	}
	c.equal("different switches", len(got), len(want))
}

// compareChains compares the call chains of all samples that become events, in
// order of time. Frames that perf does not find a file for are compared by address.
// Of samples taken inside execve perf takes the mappings of the program before,
// which are kept for no other sample: a tenth of the chains may differ.
func compareChains(c *checker, path string, r *reader, events []timeline.Event) {
	if !slices.ContainsFunc(r.schema.events, func(e *event) bool { return e.layout.Has(wire.SampleCallchain) }) ||
		slices.ContainsFunc(r.schema.events, (*event).unwinds) {
		return
	}
	out, err := perfOf(path, "script", "-f", "--ns", "--max-stack", "1024", "-F", "time,event,ip")
	if err != nil {
		return
	}
	want := map[string]int{}
	head := regexp.MustCompile(`^\s*(\d+)\.(\d{9}):\s+(\S+): `)
	key := ""
	for line := range strings.Lines(string(out) + "\n") {
		m := head.FindStringSubmatch(line)
		switch f := strings.Fields(line); {
		case m != nil:
			want[key]++
			key = strings.TrimLeft(m[1]+m[2], "0") + " " + m[3]
		case len(f) > 0:
			key += " " + f[0]
		}
	}
	want[key]++
	fr := newFrames(r, r.spaces, r.dec)
	var other int
	for _, e := range events {
		if (e.Kind != timeline.KindSwitch && e.Kind != timeline.KindSample) || !r.schema.events[e.Event].info.Chains {
			continue
		}
		key := fmt.Sprintf("%d %s", e.Time, r.schema.events[e.Event].info.Name)
		for _, f := range fr.Frames(e.Stack) {
			key += " " + strconv.FormatUint(r.spaces.inFile(e.Stack, f.Addr), 16)
		}
		if c.total++; want[key] > 0 {
			c.right++
			want[key]--
		} else if other++; other > len(want)/10+1 {
			c.t.Errorf("chain %s: perf has none such", key)
		}
	}
	if other > 0 {
		c.t.Logf("%d of %d chains differ from perf's", other, len(want))
	}
}
