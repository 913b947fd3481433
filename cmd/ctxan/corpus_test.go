package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/testdata/shared"
)

// TestCorpusThroughInspect runs `ctxan inspect --format json` on every capture
// of the shared corpus whose kind is read, and holds every value of the
// corpus's index against what comes out.
func TestCorpusThroughInspect(t *testing.T) {
	files, values := 0, 0
	for _, x := range shared.Corpus(t) {
		if !slices.Contains([]string{"perf-stat", "pidstat", "timehist", "perf-report", "proc-status", "proc-sched", "proc-schedstat", "vmstat", "sar", "nasty", "mixed"}, x.Kind) {
			continue
		}
		var want map[string]any
		x.Want(t, &want)
		c := &corpusCase{t: t, path: x.Name}
		c.compare(x.Path, want)
		if c.n > 0 {
			files++
		}
		values += c.n
	}
	t.Logf("%d values of %d captures compared", values, files)
	if files < 100 {
		t.Errorf("only %d captures were compared", files)
	}
}

// inspected is the part of the output that the index speaks of.
type inspected struct {
	Sources []struct {
		ID     int
		Format string
		Loss   struct {
			LostRecords float64 `json:"lost_records"`
		}
	}
	Counters []inspectedBlock
	Threads  []struct {
		TID         int
		PID         int
		Comm        string
		Process     bool
		Average     bool
		Line        int
		Voluntary   *float64 `json:"voluntary_per_s"`
		Involuntary *float64 `json:"involuntary_per_s"`
		Switches    *float64
		Totals      bool     `json:"since_start"`
		VolTotal    *float64 `json:"voluntary"`
		InvolTotal  *float64 `json:"involuntary"`
		Schedstat   *struct {
			RunNS  *float64 `json:"run_ns"`
			WaitNS *float64 `json:"wait_ns"`
			Slices *float64
		}
	}
	System []struct {
		Switches *float64
		Rates    []float64 `json:"switches_per_s"`
		Average  *float64  `json:"average_per_s"`
		Forks    *float64  `json:"average_forks_per_s"`
		Samples  []struct {
			Forks *float64 `json:"forks_per_s"`
		}
	}
	Stacks []struct {
		Event      string
		Samples    *float64
		Printed    string   `json:"samples_printed"`
		EventCount *float64 `json:"event_count"`
		First      *float64 `json:"first_overhead_pct"`
	}
	Traces []struct {
		SwitchRows  float64 `json:"switch_rows"`
		WakeupRows  float64 `json:"wakeup_rows"`
		MigrateRows float64 `json:"migrate_rows"`
		RunNS       float64 `json:"run_ns"`
		First       *struct {
			TimeNS  float64 `json:"time_ns"`
			CPU     float64
			TID     int
			PID     int
			Comm    string
			WaitNS  float64 `json:"wait_ns"`
			DelayNS float64 `json:"delay_ns"`
			RunNS   float64 `json:"run_ns"`
		}
		Totals *struct {
			Tasks    *float64
			Switches *float64
			RunNS    *float64 `json:"run_ns"`
			WindowNS *float64 `json:"window_ns"`
		}
	}
}

type inspectedBlock struct {
	Scope     string
	Elapsed   *float64 `json:"elapsed_s"`
	User      *float64 `json:"user_s"`
	Sys       *float64 `json:"sys_s"`
	Events    map[string]inspectedCounter
	Target    struct{ Kind, Name string }
	Parts     []inspectedPart
	Intervals []inspectedPart
}

type inspectedPart struct {
	Name   string
	End    *float64 `json:"end_s"`
	Events map[string]inspectedCounter
}

type inspectedCounter struct {
	Value  *float64
	Status string
}

type corpusCase struct {
	t    *testing.T
	path string
	got  inspected
	n    int // values compared
}

// compare runs inspect on one file. Prose and empty files must be refused.
func (c *corpusCase) compare(path string, want map[string]any) {
	var out, errs bytes.Buffer
	status := run([]string{"inspect", "--format", "json", path}, stdio{strings.NewReader(""), &out, &errs})
	readable := len(want) > 1 || want["note"] == nil
	if !readable {
		if status == exitNoEvidence && !strings.Contains(errs.String(), filepath.Base(path)) {
			c.t.Errorf("%s: refused without naming the file: %s", c.path, &errs)
		}
		return
	}
	if status == exitNoEvidence {
		if c.known(want) {
			c.t.Errorf("%s: not read: %s", c.path, &errs)
		}
		return
	}
	if err := json.Unmarshal(out.Bytes(), &c.got); err != nil {
		c.t.Errorf("%s: %v", c.path, err)
		return
	}
	for key, v := range want {
		c.key(key, v, want)
	}
}

// known reports whether any key of an expectation is of a kind that is read.
func (c *corpusCase) known(want map[string]any) bool {
	for _, k := range []string{"blocks", "interval", "csv_rows", "json_objects", "top_voluntary", "pidstat_top", "events", "summary_switches",
		"tasks", "slices_sum", "nr_switches", "status_voluntary", "cs", "cswch_s", "first_cswch_s", "vmstat_cs", "total_context_switches"} {
		if _, ok := want[k]; ok {
			return true
		}
	}
	n, ok := want["switch_rows"].(float64)
	return ok && n > 0
}

func (c *corpusCase) key(key string, v any, want map[string]any) {
	if want["slices_sum"] != nil {
		c.proc(key, v)
		return
	}
	if want["cswch_s"] != nil || want["first_cswch_s"] != nil {
		c.sar(key, v)
		return
	}
	if want["cs"] != nil || strings.HasPrefix(key, "vmstat_") || key == "total_context_switches" {
		c.machine(key, v)
		return
	}
	switch key {
	case "blocks":
		c.blocks(v.([]any))
	case "interval":
		c.interval(v.(map[string]any))
	case "events", "event_counts", "first_overhead_pct":
		c.profile(key, v)
	case "switch_rows", "wakeup_rows", "migrate_rows", "first", "run_sum_nonidle_ms", "lost_events",
		"summary_unique_tasks", "summary_switches", "summary_total_run_ms", "summary_sched_time_ms":
		c.trace(key, v)
	case "top_voluntary", "pidstat_top":
		c.top(v, func(i int) *float64 { return c.got.Threads[i].Voluntary })
	case "top_involuntary":
		c.top(v, func(i int) *float64 { return c.got.Threads[i].Involuntary })
	case "tasks", "name", "voluntary", "nonvoluntary", "voluntary_sum", "nonvoluntary_sum", "status_voluntary", "status_nonvoluntary",
		"nr_switches", "nr_voluntary_switches", "nr_involuntary_switches", "system_ctxt_total", "slices_sum":
		c.proc(key, v)
	case "rows", "pidstat_rows", "average_rows", "process_rows", "thread_rows":
		if want["cs"] == nil && want["note"] == nil {
			c.rowCount(key, v.(float64))
		}
	default:
		if ev, ok := indexEvents[strings.SplitN(strings.SplitN(key, "@", 2)[0], ":", 2)[0]]; ok && want["csv_rows"] != nil || ok && want["json_objects"] != nil {
			c.flat(ev, key, v)
		}
	}
}

// indexEvents maps the index's keys to perf's canonical names.
var indexEvents = map[string]string{"task_clock_ms": "task-clock", "cpu_clock_ms": "cpu-clock", "context_switches": "context-switches",
	"context-switches": "context-switches", "cpu_migrations": "cpu-migrations", "page_faults": "page-faults", "cycles": "cycles",
	"instructions": "instructions", "branches": "branches", "branch_misses": "branch-misses", "l1_dcache_load_misses": "L1-dcache-load-misses",
	"summary_instructions": "instructions", "ipi:ipi_send_cpu": "ipi:ipi_send_cpu", "rcu:rcu_grace_period": "rcu:rcu_grace_period"}

func (c *corpusCase) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s: %s", c.path, fmt.Sprintf(format, args...))
}

func (c *corpusCase) near(what string, got *float64, want float64) {
	c.t.Helper()
	c.n++
	if got == nil || math.Abs(*got-want) > 1e-9*max(1, math.Abs(want)) {
		c.errorf("%s: got %s, want %v", what, show(got), want)
	}
}

func keysOf(m map[string]inspectedCounter) []string {
	return slices.Collect(maps.Keys(m))
}

func show(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprint(*v)
}

func (c *corpusCase) blocks(want []any) {
	for i, w := range want {
		if i >= len(c.got.Counters) {
			c.n++
			c.errorf("%d blocks, want %d", len(c.got.Counters), len(want))
			return
		}
		for key, v := range w.(map[string]any) {
			c.blockKey(&c.got.Counters[i], key, v)
		}
	}
}

func (c *corpusCase) blockKey(b *inspectedBlock, key string, v any) {
	switch key {
	case "elapsed_s":
		c.near(key, b.Elapsed, v.(float64))
	case "user_s":
		c.near(key, b.User, v.(float64))
	case "sys_s":
		c.near(key, b.Sys, v.(float64))
	case "target":
		c.n++
		if got := b.Scope; !strings.HasPrefix(got, v.(string)) {
			c.errorf("scope %q, want %q", got, v)
		}
	case "cgroup":
		c.n++
		if b.Target.Name != v {
			c.errorf("cgroup %q, want %q", b.Target.Name, v)
		}
	case "threads":
		for name, w := range v.(map[string]any) {
			i := slices.IndexFunc(b.Parts, func(p inspectedPart) bool { return p.Name == name })
			if i < 0 {
				c.errorf("no thread %s", name)
				continue
			}
			for k, x := range w.(map[string]any) {
				c.counter(b.Parts[i].Events, k, x)
			}
		}
	default:
		c.counter(b.Events, key, v)
	}
}

// counter compares one counter by the index's key: a value, or a status.
func (c *corpusCase) counter(events map[string]inspectedCounter, key string, want any) {
	c.t.Helper()
	base, pmu, hybrid := strings.Cut(key, "@")
	ev, ok := indexEvents[base]
	mod := ""
	if name, m, has := strings.Cut(base, ":"); !ok && has {
		ev, ok = indexEvents[name]
		mod = ":" + m
	}
	if !ok {
		return // context_switches_truncated, decimal_comma: not values
	}
	ev += mod
	if hybrid {
		ev += "@" + pmu
	}
	got, ok := events[ev]
	for _, m := range []string{":u", ":HG", ":k", ":uk"} {
		if !ok {
			got, ok = events[ev+m]
		}
	}
	switch w := want.(type) {
	case string:
		c.n++
		if "<"+got.Status+">" != w {
			c.errorf("%s is %q, want %s", ev, got.Status, w)
		}
	case float64:
		// Some rows of the index give the 0 that perf prints of a kernel event
		// counted in user mode only; it is no measurement.
		if got.Status == "unmeasurable" && w == 0 {
			c.n++
			if got.Value != nil || !strings.Contains(ev+strings.Join(keysOf(events), " "), ":u") {
				c.errorf("%s is %s %s", ev, got.Status, show(got.Value))
			}
			return
		}
		c.near(ev, got.Value, w)
	}
}

// flat compares a value of a CSV or JSON capture, in whichever block it is.
func (c *corpusCase) flat(ev, key string, want any) {
	for i := range c.got.Counters {
		for k := range c.got.Counters[i].Events {
			if k == ev || strings.HasPrefix(k, ev+":") {
				c.counter(c.got.Counters[i].Events, key, want)
				return
			}
		}
	}
	c.n++
	c.errorf("no counter %s, want %v", ev, want)
}

func (c *corpusCase) interval(want map[string]any) {
	i := slices.IndexFunc(c.got.Counters, func(b inspectedBlock) bool { return len(b.Intervals) > 0 })
	if i < 0 {
		c.n++
		c.errorf("no intervals")
		return
	}
	iv := c.got.Counters[i].Intervals
	n, sum := float64(len(iv)), 0.0
	for _, p := range iv {
		if v := p.Events["context-switches"].Value; v != nil {
			sum += *v
		}
	}
	c.near("distinct_intervals", &n, want["distinct_intervals"].(float64))
	c.near("switches_sum", &sum, want["switches_sum"].(float64))
	for k, p := range map[string]inspectedPart{"first_ts": iv[0], "last_ts": iv[len(iv)-1]} {
		c.n++
		if p.End == nil || fmt.Sprintf("%.9f", *p.End) != want[k] {
			c.errorf("%s: got %s, want %s", k, show(p.End), want[k])
		}
	}
}

func (c *corpusCase) profile(key string, v any) {
	if first, ok := v.(float64); ok {
		if len(c.got.Stacks) > 0 {
			c.near(key, c.got.Stacks[0].First, first)
		}
		return
	}
	for i, w := range v.([]any) {
		if i >= len(c.got.Stacks) {
			c.errorf("%d profiles, want %d", len(c.got.Stacks), i+1)
			return
		}
		p := c.got.Stacks[i]
		switch key {
		case "events":
			pair := w.([]any)
			c.n++
			samples := p.Printed
			if p.Samples != nil {
				samples = fmt.Sprint(*p.Samples)
			}
			if name := pair[0].(string); (p.Event != name && !(name == "cs" && p.Event == "context-switches")) || samples != pair[1] {
				c.errorf("event %s with %s samples, want %v", p.Event, samples, pair)
			}
		case "event_counts":
			c.near(key, p.EventCount, w.(float64))
		}
	}
}

func (c *corpusCase) trace(key string, v any) {
	if list, ok := v.([]any); ok {
		for i, w := range list {
			c.traceValue(i, key, w)
		}
		return
	}
	c.traceValue(0, key, v)
}

func (c *corpusCase) traceValue(i int, key string, v any) {
	if i >= len(c.got.Traces) {
		c.n++
		c.errorf("%s: no trace %d", key, i)
		return
	}
	tr := &c.got.Traces[i]
	all := func(of func(k int) float64) *float64 { // a plain number is of the whole file
		sum := 0.0
		for k := range c.got.Traces {
			sum += of(k)
		}
		return &sum
	}
	ms := func(ns *float64) *float64 {
		if ns == nil {
			return nil
		}
		x := math.Round(*ns/1e3) / 1e3
		return &x
	}
	switch key {
	case "switch_rows":
		c.near(key, all(func(k int) float64 { return c.got.Traces[k].SwitchRows }), v.(float64))
	case "wakeup_rows":
		c.near(key, all(func(k int) float64 { return c.got.Traces[k].WakeupRows }), v.(float64))
	case "migrate_rows":
		c.near(key, all(func(k int) float64 { return c.got.Traces[k].MigrateRows }), v.(float64))
	case "run_sum_nonidle_ms":
		c.near(key, ms(all(func(k int) float64 { return c.got.Traces[k].RunNS })), v.(float64))
	case "lost_events":
		c.near(key, &c.got.Sources[0].Loss.LostRecords, v.(float64))
	case "first":
		c.firstRow(i, v.(map[string]any))
	default:
		if tr.Totals == nil {
			c.n++
			c.errorf("%s: no totals", key)
			return
		}
		switch key {
		case "summary_unique_tasks":
			c.near(key, tr.Totals.Tasks, v.(float64))
		case "summary_switches":
			c.near(key, tr.Totals.Switches, v.(float64))
		case "summary_total_run_ms":
			c.near(key, ms(tr.Totals.RunNS), v.(float64))
		case "summary_sched_time_ms":
			c.near(key, ms(tr.Totals.WindowNS), v.(float64))
		}
	}
}

func (c *corpusCase) firstRow(i int, want map[string]any) {
	f := c.got.Traces[i].First
	if f == nil {
		c.errorf("no first row")
		return
	}
	c.n++
	task := f.Comm
	if f.TID != 0 {
		task = fmt.Sprintf("%s[%d]", f.Comm, f.TID)
		if f.PID != 0 && f.PID != f.TID {
			task = fmt.Sprintf("%s[%d/%d]", f.Comm, f.TID, f.PID)
		}
	}
	if want["task"] != task && !(f.TID == 0 && want["task"] == "<idle>") {
		c.errorf("first task %q, want %q", task, want["task"])
	}
	at := f.TimeNS / 1e9
	var sec float64
	fmt.Sscan(want["time"].(string), &sec)
	c.near("first time", &at, sec)
	c.near("first cpu", &f.CPU, want["cpu"].(float64))
	for k, ns := range map[string]float64{"wait": f.WaitNS, "delay": f.DelayNS, "run": f.RunNS} {
		v := ns / 1e6
		c.near("first "+k, &v, want[k].(float64))
	}
}

// top compares the row with the highest rate.
func (c *corpusCase) top(v any, rate func(i int) *float64) {
	want, ok := v.(map[string]any)
	if !ok {
		pair := v.([]any) // the mixed capture's form: id, voluntary, involuntary
		want = map[string]any{"id": pair[0], "cswch": pair[1], "nvcswch": pair[2]}
	}
	for i, t := range c.got.Threads {
		if fmt.Sprint(t.TID) != want["id"] && fmt.Sprint(t.PID) != want["id"] {
			continue
		}
		if t.Voluntary != nil && *t.Voluntary == want["cswch"] && t.Involuntary != nil && *t.Involuntary == want["nvcswch"] {
			c.n += 3
			for k, o := range c.got.Threads {
				if r := rate(k); r != nil && *r > *rate(i) && !o.Average {
					c.errorf("row of line %d has a higher rate than the top row %v", o.Line, want)
					return
				}
			}
			return
		}
	}
	c.n++
	c.errorf("no row %v", want)
}

func (c *corpusCase) rowCount(key string, want float64) {
	n := 0.0
	for _, t := range c.got.Threads {
		if t.Voluntary == nil {
			continue
		}
		switch {
		case key == "average_rows" && t.Average, key == "process_rows" && t.Process && !t.Average,
			key == "thread_rows" && !t.Process && !t.Average, (key == "rows" || key == "pidstat_rows") && !t.Average:
			n++
		}
	}
	c.near(key, &n, want)
}
