package timehist

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/testdata/shared"
)

// corpusCase is a line of the shared index.
type corpusCase struct {
	path string
	want map[string]any
}

// corpus returns the timehist captures of the shared index.
func corpus(t testing.TB) []corpusCase {
	t.Helper()
	var out []corpusCase
	for _, x := range shared.Corpus(t) {
		if x.Kind != "timehist" && !strings.HasPrefix(x.Name, "nasty/timehist-") {
			continue
		}
		c := corpusCase{path: x.Path}
		x.Want(t, &c.want)
		out = append(out, c)
	}
	if len(out) == 0 {
		t.Fatal("no timehist captures in the index")
	}
	return out
}

// readText reads a capture as a pasted text.
func readText(t testing.TB, name string, raw []byte) *evidence.Set {
	t.Helper()
	text, err := paste.Clean(raw)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var set evidence.Set
	if err := Read(text, set.NewBuilder(name, Format)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &set
}

// readStream reads a capture as a plain file.
func readStream(t testing.TB, name string, raw []byte) *evidence.Set {
	t.Helper()
	var set evidence.Set
	if err := ReadStream(bytes.NewReader(raw), set.NewBuilder(name, Format)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &set
}

// TestCorpus compares every value of the shared index.
func TestCorpus(t *testing.T) {
	values, files := 0, 0
	for _, c := range corpus(t) {
		raw, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := paste.Clean(raw)
		if err != nil || !Detect(text) {
			t.Errorf("%s: not detected (%v)", c.path, err)
		}
		values += compareCase(t, c, readText(t, c.path, raw))
		files++
	}
	t.Logf("%d values of %d captures compared", values, files)
}

// compareCase compares one capture with the index and returns how many values
// it looked at.
func compareCase(t *testing.T, c corpusCase, set *evidence.Set) (n int) {
	got := map[string]any{}
	var rows, wake, migr, lost, threadRows, idle uint64
	var run, runThreads uint64
	var first *evidence.SchedRow
	lists := map[string][]any{}
	for i := range set.Traces {
		tr := &set.Traces[i]
		rows += tr.SwitchRows
		idle += tr.IdleRows
		wake += tr.WakeupRows
		migr += tr.MigrateRows
		run += tr.RunNS
		if first == nil && tr.First.OK {
			first = &tr.First.V
		}
		if tot, ok := tr.Totals.Get(); ok {
			for k, v := range map[string]evidence.Opt[uint64]{
				"summary_unique_tasks": tot.Tasks, "summary_switches": tot.Switches,
			} {
				if v.OK {
					lists[k] = append(lists[k], float64(v.V))
				}
			}
			for k, v := range map[string]evidence.Opt[uint64]{
				"summary_total_run_ms": tot.RunNS, "summary_sched_time_ms": tot.WindowNS,
			} {
				if v.OK {
					lists[k] = append(lists[k], float64(v.V)/1e6)
				}
			}
		}
	}
	for _, s := range set.Sources {
		lost += s.Loss.LostRecords
	}
	if rows > 0 {
		for _, th := range set.Threads {
			threadRows += th.Switches.Or(0)
			runThreads += th.RunNS.Or(0)
		}
	}
	for k, v := range lists {
		if got[k] = any(v); len(v) == 1 {
			got[k] = v[0]
		}
	}
	got["switch_rows"], got["wakeup_rows"], got["migrate_rows"] = float64(rows), float64(wake), float64(migr)
	got["lost_events"] = float64(lost)
	got["run_sum_nonidle_ms"] = float64(run) / 1e6
	for key, want := range c.want {
		switch key {
		case "note":
		case "first":
			n += compareFirst(t, c.path, want.(map[string]any), first)
		default:
			n++
			if !same(got[key], want) {
				t.Errorf("%s: %s: got %v, want %v", c.path, key, got[key], want)
			}
		}
	}
	// The threads' own counts must add up to the same, where they are given.
	if !strings.Contains(c.path, "idle-summary") && !strings.HasSuffix(c.path, "idle.txt") && !strings.Contains(c.path, "pub-idle") {
		if threadRows+idle != rows || runThreads != run {
			t.Errorf("%s: threads have %d switches and %d ns run time, rows %d and %d", c.path, threadRows+idle, runThreads, rows, run)
		}
	}
	return n
}

func compareFirst(t *testing.T, path string, want map[string]any, r *evidence.SchedRow) (n int) {
	if r == nil {
		t.Errorf("%s: no first row", path)
		return len(want)
	}
	name := r.Task.Comm
	switch {
	case r.Task.TID == 0:
	case r.Task.PID == r.Task.TID:
		name = fmt.Sprintf("%s[%d]", name, r.Task.TID)
	default:
		name = fmt.Sprintf("%s[%d/%d]", name, r.Task.TID, r.Task.PID)
	}
	decimals := len(want["time"].(string)) - strings.IndexByte(want["time"].(string), '.') - 1
	got := map[string]any{
		"time": fmt.Sprintf("%.*f", decimals, float64(r.TimeNS)/1e9), "cpu": float64(r.CPU), "task": name,
		"wait": float64(r.WaitNS) / 1e6, "delay": float64(r.DelayNS) / 1e6, "run": float64(r.RunNS) / 1e6,
	}
	for k, w := range want {
		n++
		if !same(got[k], w) {
			t.Errorf("%s: first %s: got %v, want %v", path, k, got[k], w)
		}
	}
	return n
}

// same compares values of JSON, times to the nanosecond.
func same(got, want any) bool {
	switch w := want.(type) {
	case float64:
		g, ok := got.(float64)
		return ok && math.Abs(g-w) < 1e-6
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	}
	return got == want
}
