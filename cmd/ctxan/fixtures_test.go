package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctxan/testdata/shared"
)

// truthColumns maps the columns of a fixture's truth to the keys of inspect's
// threads. Those of the second list are known of system-wide recordings only.
var truthCounts = map[string]string{"vol": "voluntary", "invol": "involuntary"}
var truthTimes = map[string]string{"run_ns": "run_ns", "wake_wait_ns": "delay_ns", "preempt_wait_ns": "preempt_ns", "sleep_ns": "sleep_ns",
	"first_wait_ns": "first_wait_ns", "migrations": "migrations"}

// TestFixtureThreads holds every thread of the recordings against their truth,
// which was computed from the raw records by another program.
func TestFixtureThreads(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local")
	values := 0
	for _, name := range []string{"netio_task_fp", "netio_a_allsched", "mutex_a", "hog_a", "pingthr_a", "fsync_a", "migrate_a",
		"churn_a", "multi_events", "attach_pid", "lost_stop"} {
		values += fixtureThreads(t, filepath.Join(dir, name))
	}
	t.Logf("%d values compared", values)
	if values < 1000 {
		t.Errorf("only %d values were compared", values)
	}
}

// truthThread is a `thread` row: the tid and its columns.
type truthThread struct {
	tid  int
	cols map[string]uint64
}

func readTruth(t *testing.T, path string) (threads []truthThread, systemWide bool) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if f[0] == "switch_mode" {
			systemWide = f[1] == "system_wide"
		}
		tid, err := strconv.Atoi(f[min(1, len(f)-1)])
		if f[0] != "thread" || err != nil {
			continue
		}
		th := truthThread{tid, map[string]uint64{}}
		for _, kv := range f[3:] {
			k, v, _ := strings.Cut(kv, "=")
			if n, err := strconv.ParseUint(v, 10, 64); err == nil {
				th.cols[k] = n
			}
		}
		threads = append(threads, th)
	}
	return threads, systemWide
}

func fixtureThreads(t *testing.T, dir string) (values int) {
	truth, systemWide := readTruth(t, filepath.Join(dir, "truth.tsv"))
	got := inspectThreads(t, filepath.Join(dir, "perf.data"))
	lossy := strings.HasPrefix(filepath.Base(dir), "lost_")
	columns := map[string]string{}
	for k, v := range truthCounts {
		columns[k] = v
	}
	if systemWide {
		for k, v := range truthTimes {
			columns[k] = v
		}
	}
	for _, th := range truth {
		if th.cols["out"] == 0 {
			continue // seen only as what came next, or as what was woken
		}
		row := got[th.tid]
		for col, key := range columns {
			want, v := th.cols[col], row[key]
			if v == nil && (want == 0 || lossy && truthTimes[col] != "") {
				continue // absent: the truth has no such row, or bridges a loss, which ctxan does not
			}
			values++
			if n, ok := v.(float64); !ok || uint64(n) != want {
				t.Errorf("%s: thread %d: %s is %v, want %d", filepath.Base(dir), th.tid, key, v, want)
			}
		}
	}
	return values
}

// inspectThreads returns the thread rows of a capture; those of one tid are summed.
func inspectThreads(t *testing.T, path string) map[int]map[string]any {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run([]string{"inspect", "--format", "json", path}, stdio{strings.NewReader(""), &out, &errs}); status != exitOK {
		t.Fatalf("%s: status %d: %s", path, status, &errs)
	}
	var doc struct{ Threads []map[string]any }
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	by := map[int]map[string]any{}
	for _, row := range doc.Threads {
		tid := int(row["tid"].(float64))
		if by[tid] == nil {
			by[tid] = row
			continue
		}
		for k, v := range row {
			a, okA := by[tid][k].(float64)
			b, okB := v.(float64)
			switch {
			case okA && okB:
				by[tid][k] = a + b
			case okB:
				by[tid][k] = b
			}
		}
	}
	return by
}

// TestFixtureVerdicts: what the recorded programs do is known from their
// source; where a capture does not decide, the candidates must name it.
func TestFixtureVerdicts(t *testing.T) {
	root := shared.Dir(t)
	for name, want := range map[string]string{
		"netio_task_fp":    "short-sleep-polling",
		"netio_a_allsched": "short-sleep-polling",
		"netio_task_cs_fp": "short-sleep-polling",
		"multi_events":     "short-sleep-polling",
		"attach_pid":       "short-sleep-polling",
		"hog_a":            "oversubscription",
		"pingthr_a":        "hand-off",
		"mutex_a":          "lock-contention",
		"fsync_a":          "io-wait fsync-journal",
		"migrate_a":        "migration-churn",
		"churn_a":          "task-churn",
		"lost_stop":        "cannot-tell",
	} {
		v := verdictOf(t, root, filepath.Join(root, "fixtures", "local", name, "perf.data"))
		cause, confidence := v["cause"].(string), v["confidence"].(string)
		t.Logf("%-17s %s, %s: %s", name, cause, confidence, v["summary"])
		switch {
		case strings.Contains(" "+want+" ", " "+cause+" "):
		case cause == "cannot-tell":
			t.Logf("%s: undecided, want %s", name, want)
		case confidence == "low":
			t.Logf("%s: a low guess at %s, want %s", name, cause, want)
		default:
			t.Errorf("%s: %s with confidence %s, want %s", name, cause, confidence, want)
		}
	}
}

func verdictOf(t *testing.T, root string, paths ...string) map[string]any {
	t.Helper()
	var out, errs bytes.Buffer
	args := append([]string{"--format", "json", "--kallsyms", filepath.Join(root, "fixtures", "kallsyms-6.18.gz"),
		"--symfs", filepath.Join(root, "fixtures", "bin")}, paths...)
	if status := run(args, stdio{strings.NewReader(""), &out, &errs}); status != exitOK {
		t.Fatalf("%v: status %d: %s", paths, status, &errs)
	}
	var doc struct{ Verdict map[string]any }
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Verdict
}
