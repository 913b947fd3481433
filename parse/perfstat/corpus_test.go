package perfstat

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/testdata/shared"
)

// indexRow is a capture of the corpus with what its index expects.
type indexRow struct {
	shared.Capture
	expected map[string]any
}

func readIndex(t *testing.T) []indexRow {
	t.Helper()
	var rows []indexRow
	for _, c := range shared.Corpus(t) {
		row := indexRow{Capture: c}
		c.Want(t, &row.expected)
		rows = append(rows, row)
	}
	return rows
}

// understood is what the reader made of one file.
type understood struct {
	set    *evidence.Set
	reader *reader // after reading, for what the model leaves out
	text   *paste.Text
}

func readFile(t *testing.T, path string) understood {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return readBytes(t, raw)
}

func readBytes(t testing.TB, raw []byte) understood {
	t.Helper()
	text, err := paste.Clean(raw)
	if err != nil {
		t.Fatal(err)
	}
	set := &evidence.Set{}
	if err := Read(text, set.NewBuilder("x", Format)); err != nil {
		t.Fatal(err)
	}
	r := newReader(text, nil)
	r.read()
	return understood{set, r, text}
}

// eventOf maps the index's keys to the keys of counters.
func eventOf(key string) (string, bool) {
	base, pmu, hybrid := strings.Cut(key, "@")
	name, mod, hasMod := strings.Cut(base, ":")
	names := map[string]string{
		"task_clock_ms": "task-clock", "cpu_clock_ms": "cpu-clock", "context_switches": "context-switches",
		"cpu_migrations": "cpu-migrations", "page_faults": "page-faults", "cycles": "cycles", "instructions": "instructions",
		"branches": "branches", "branch_misses": "branch-misses", "context-switches": "context-switches",
		"l1_dcache_load_misses": "L1-dcache-load-misses", "summary_instructions": "instructions",
	}
	ev, ok := names[name]
	switch {
	case !ok && hasMod: // a tracepoint
		return key, true
	case !ok:
		return "", false
	case hasMod:
		ev += ":" + mod
	}
	if hybrid {
		ev += "@" + pmu
	}
	return ev, true
}

// find returns the counter that a key of the index means: the plain event, or
// the one with a modifier where there is no plain one.
func find(cs []evidence.Counter, key string) (*evidence.Counter, bool) {
	for i := range cs {
		if cs[i].Key() == key {
			return &cs[i], true
		}
	}
	return evidence.FindCounter(cs, key)
}

// checker counts the values that are compared.
type checker struct {
	t        *testing.T
	path     string
	pristine bool // the capture is as it was printed
	compared int
}

func (c *checker) eq(what string, got, want any) {
	c.t.Helper()
	c.compared++
	if got != want {
		c.t.Errorf("%s: %s: got %v, want %v", c.path, what, got, want)
	}
}

func (c *checker) near(what string, got evidence.Opt[float64], want float64) {
	c.t.Helper()
	c.compared++
	if !got.OK || math.Abs(got.V-want) > 1e-9*math.Max(1, math.Abs(want)) {
		c.t.Errorf("%s: %s: got %v, want %v", c.path, what, got, want)
	}
}

func (c *checker) counter(cs []evidence.Counter, key string, want any) {
	c.t.Helper()
	ev, ok := eventOf(key)
	if !ok {
		c.t.Errorf("%s: key %q of the index is not understood by the test", c.path, key)
		return
	}
	got, ok := find(cs, ev)
	if !ok {
		c.compared++
		c.t.Errorf("%s: no counter %s, want %v", c.path, ev, want)
		return
	}
	if s, isText := want.(string); isText {
		c.eq(ev, "<"+got.Status.String()+">", s)
		return
	}
	status := evidence.StatusCounted
	if kernelOnly(got.Event) && strings.Contains(got.Modifier, "u") {
		status = evidence.StatusUnmeasurable
	}
	c.eq(ev+" status", got.Status, status)
	c.near(ev, evidence.Some(got.Value), want.(float64))
}

// block compares the values of one block of the index.
func (c *checker) block(u understood, blk *evidence.CounterBlock, want map[string]any) {
	c.t.Helper()
	for _, key := range sortedKeys(want) {
		v := want[key]
		switch key {
		case "note":
		case "target":
			got, s := blk.Scope, v.(string)
			if len(s) == 80 && len(got) > 80 {
				got = got[:80]
			}
			c.eq("scope", got, s)
		case "elapsed_s":
			c.near(key, blk.ElapsedS, v.(float64))
		case "user_s":
			c.near(key, blk.UserS, v.(float64))
		case "sys_s":
			c.near(key, blk.SysS, v.(float64))
		case "decimal_comma":
			c.eq(key, blockAt(u, blk.Pos.Line).votes.decimal() == ',', v)
		case "cgroup":
			c.eq(key, blk.Target.Name, v)
			c.eq("aggregation", blk.Aggregation, "cgroup")
		case "threads":
			c.threads(u, blk, v.(map[string]any))
		case "context_switches_truncated":
			_, ok := blk.Find("context-switches")
			c.eq("a cut row became a counter", ok, false)
			c.eq("dropped", u.set.Sources[0].DroppedTotal, 1)
		default:
			c.counter(blk.Counters, key, v)
		}
	}
	if _, ok := want["elapsed_s"]; !ok {
		c.eq("elapsed is absent", blk.ElapsedS.OK, false)
	}
}

func (c *checker) threads(u understood, blk *evidence.CounterBlock, want map[string]any) {
	c.eq("threads", len(blk.Parts), len(want))
	for i := range blk.Parts {
		p := &blk.Parts[i]
		w, ok := want[p.Name].(map[string]any)
		c.eq("thread "+p.Name+" is expected", ok, true)
		for _, key := range sortedKeys(w) {
			c.counter(p.Counters, key, w[key])
		}
		switches, counted := w["context_switches"].(float64)
		found := false
		for _, ts := range u.set.Threads {
			if fmt.Sprintf("%s-%d", ts.Task.Comm, ts.Task.TID) == p.Name {
				found = true
				c.eq("switches of "+p.Name, float64(ts.Switches.Or(0)), switches)
			}
		}
		c.eq("row of thread "+p.Name, found, counted)
	}
}

// interval compares the sums and ends of a run with -I.
func (c *checker) interval(u understood, want map[string]any) {
	c.t.Helper()
	var blk *evidence.CounterBlock
	for i := range u.set.Counters {
		if len(u.set.Counters[i].Intervals) > 0 {
			blk = &u.set.Counters[i]
		}
	}
	if blk == nil {
		c.t.Errorf("%s: no intervals", c.path)
		return
	}
	rows, switches := 0, 0.0
	for _, b := range u.reader.blocks {
		for i := range b.timed {
			if b.timed[i].status != evidence.StatusNotSupported {
				rows++
			}
		}
	}
	for i := range blk.Intervals {
		if s, ok := evidence.FindCounter(blk.Intervals[i].Counters, "context-switches"); ok {
			switches += s.Value
		}
	}
	n := len(blk.Intervals)
	c.eq("interval_rows", float64(rows), want["interval_rows"])
	c.eq("distinct_intervals", float64(n), want["distinct_intervals"])
	c.eq("switches_sum", switches, want["switches_sum"])
	c.eq("first_ts", blk.Intervals[0].Name, want["first_ts"])
	c.eq("last_ts", blk.Intervals[n-1].Name, want["last_ts"])
	total, ok := blk.Find("context-switches")
	if ok {
		c.eq("sum in the block", total.Value, switches)
	}
	if blk.Scope == "" {
		c.eq("elapsed of intervals", fmt.Sprintf("%.9f", blk.ElapsedS.V), want["last_ts"])
	}
}

// plain are the events that the index counts in csv_rows.
func plain(ev *event) bool {
	switch ev.name {
	case "task-clock", "cpu-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions",
		"branches", "branch-misses":
		return ev.pmu == ""
	}
	return false
}

// flat compares a file of CSV or JSON, whose values stand beside one another.
func (c *checker) flat(u understood, want map[string]any) {
	c.t.Helper()
	var all []evidence.Counter
	intervals := 0
	for i := range u.set.Counters {
		all = append(all, u.set.Counters[i].Counters...)
		intervals += len(u.set.Counters[i].Intervals)
	}
	rows, objects := 0, 0
	for _, b := range u.reader.blocks {
		for _, cells := range [][]cell{b.cells, b.timed} {
			for i := range cells {
				objects++
				if plain(cells[i].ev) {
					rows++
				}
			}
		}
	}
	for _, key := range sortedKeys(want) {
		switch v := want[key]; key {
		case "note":
		case "csv_rows":
			c.eq(key, float64(rows), v)
		case "intervals":
			c.eq(key, float64(intervals), v)
		case "json_objects":
			if !c.pristine {
				continue
			}
			c.eq(key, float64(validObjects(u.text)), v.(float64)-want["invalid_json_objects"].(float64))
		case "invalid_json_objects":
		default:
			c.counter(all, key, v)
		}
	}
}

// validObjects counts the lines that are valid JSON, by another parser.
func validObjects(t *paste.Text) int {
	n := 0
	for _, l := range t.Lines {
		if strings.HasPrefix(l.Text, "{") && json.Valid([]byte(l.Text)) {
			n++
		}
	}
	return n
}

func blockAt(u understood, line int) *block {
	for _, b := range u.reader.blocks {
		if b.line == line {
			return b
		}
	}
	return &block{}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// wanted reports whether the index row is for this package.
func wanted(row indexRow) bool {
	if row.Kind == "perf-stat" {
		return true
	}
	base := filepath.Base(row.Name)
	return strings.HasPrefix(base, "perfstat-") || base == "long-line-100k.txt" || base == "nul-bytes.txt"
}

// compareAll compares everything that the index says of one capture.
func compareAll(c *checker, u understood, row indexRow) {
	c.t.Helper()
	c.eq("detected", Detect(u.text), true)
	blocks, hasBlocks := row.expected["blocks"].([]any)
	iv, hasInterval := row.expected["interval"].(map[string]any)
	if hasInterval {
		c.interval(u, iv)
	}
	switch {
	case hasBlocks:
		c.eq("blocks", len(u.set.Counters), len(blocks))
		for i := range min(len(blocks), len(u.set.Counters)) {
			c.block(u, &u.set.Counters[i], blocks[i].(map[string]any))
		}
	case !hasInterval:
		c.flat(u, row.expected)
	}
}

func TestCorpus(t *testing.T) {
	files, compared := 0, 0
	for _, row := range readIndex(t) {
		if !wanted(row) {
			continue
		}
		files++
		u := readFile(t, row.Path)
		c := &checker{t: t, path: row.Name, pristine: true}
		compareAll(c, u, row)
		compared += c.compared
	}
	t.Logf("%d files, %d values compared", files, compared)
	if files < 80 || compared < 700 {
		t.Errorf("only %d files and %d values: the index was not read", files, compared)
	}
}

// TestCorpusOthers holds the reader off everything that is not perf stat.
func TestCorpusOthers(t *testing.T) {
	files := 0
	for _, row := range readIndex(t) {
		if wanted(row) {
			continue
		}
		raw, err := os.ReadFile(row.Path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := paste.Clean(raw)
		if err != nil {
			t.Fatal(err)
		}
		files++
		if Detect(text) {
			t.Errorf("%s was taken for perf stat", row.Name)
		}
	}
	t.Logf("%d files of other kinds", files)
}
