package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"ctxan/analyze"
	"ctxan/parse/evidence"
	"ctxan/report"
)

func hostileNames() []string {
	return []string{"<script>alert(1)</script>", "| a |", "`tick`", "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\x", "\u202egnp.exe", "a\x00b",
		"bad\xff\xfeutf8", "line\nbreak 1", "cr\rover", "semi;colon 2", `quote"back\slash`, "a,b,\"c\"", "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "}{", "# HELP x y", "para\u2028sep",
		strings.Repeat("symbol", 700), "", " ", "zero\u200bwidth", "\u009b31m", "日本"}
}

// hostileSet has a name in every place that takes one.
func hostileSet(name string) *evidence.Set {
	set := &evidence.Set{}
	b := set.NewBuilder(name, "perf.data")
	b.Source().Command = name
	b.Source().Window.DurationS = evidence.Some(1.0)
	task := evidence.Task{PID: 1, TID: 2, Comm: name}
	frames := []evidence.Frame{{Symbol: name, Module: name, File: name, Line: 3, Addr: 1}, {Module: "/lib/" + name, Addr: 2}, {Symbol: "main"}}
	for _, k := range []evidence.StackKind{evidence.StackSwitch, evidence.StackCPU} {
		b.Stacks(evidence.StackTable{Event: name, Kind: k, Frames: frames, Stacks: [][]int32{{0, 1, 2}}, Tasks: []evidence.Task{task},
			Samples: []evidence.StackSample{{State: evidence.StateS, Count: 1, Weight: 1, OffNS: 10, OffN: 1, DelayNS: 2}}})
	}
	return set
}

func hostileResult(name string) *analyze.Result {
	run := &evidence.Histogram{}
	run.Add(1000)
	c := &analyze.Case{Subject: analyze.Subject{Kind: analyze.SubjectProcess, Comm: name, PID: evidence.Some(1)},
		Threads: []analyze.ThreadRow{{Name: name, TID: 2, PID: 1, Trigger: name, VoluntaryPerS: evidence.Some(1.0), RunHist: run}},
		Stacks:  analyze.StackReport{Reasons: []analyze.ReasonRow{{ID: name, Label: name, SwitchShare: evidence.Some(0.5)}}}}
	c.Verdict.Cause = name
	return &analyze.Result{Cases: []*analyze.Case{c}, Sources: []analyze.SourceInfo{{Name: name, Format: name}}}
}

// visible fails for a text with characters that act on a terminal or hide
// others. Line feeds are those of the format.
func visible(t *testing.T, what, name, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%q in %s: invalid UTF-8", name, what)
	}
	for _, r := range s {
		if r != '\n' && r != '\u00a0' && (!unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%q in %s: raw %U", name, what, r)
			return
		}
	}
}

// TestHostileNames: whatever the names are, each format is read back with as
// many parts as with harmless ones, and holds only what can be seen.
func TestHostileNames(t *testing.T) {
	for _, name := range hostileNames() {
		set, r := hostileSet(name), hostileResult(name)
		hostilePprof(t, name, set)
		hostileFolded(t, name, set)
		hostileTrace(t, name)
		hostileCSV(t, name, set, r)
		b := openMetrics(t, r)
		visible(t, "openmetrics", name, string(b))
		if n, want := len(parseOpenMetrics(t, b)), len(parseOpenMetrics(t, openMetrics(t, hostileResult("harmless")))); n != want {
			t.Errorf("%q in openmetrics: %d samples, want %d", name, n, want)
		}
	}
}

func hostilePprof(t *testing.T, name string, set *evidence.Set) {
	t.Helper()
	var b bytes.Buffer
	if err := Pprof(&b, set); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append([]string{p.DefaultSampleType}, p.Comments...) {
		visible(t, "pprof", name, s)
	}
	for _, f := range p.Function {
		visible(t, "pprof", name, f.Name+f.Filename+f.SystemName)
	}
	for _, m := range p.Mapping {
		visible(t, "pprof", name, m.File)
	}
	for _, s := range p.Sample {
		visible(t, "pprof", name, fmt.Sprint(s.Label))
	}
	whole := strings.Contains(fmt.Sprint(p.Function[0].Name, p.Function[1].Name, p.Function[2].Name, p.Function[3].Name), report.Plain(name))
	if len(p.Sample) != 2 || len(p.Function) != 4 || !whole {
		t.Errorf("%q in pprof: %v", name, p)
	}
}

func hostileFolded(t *testing.T, name string, set *evidence.Set) {
	t.Helper()
	var b bytes.Buffer
	if err := Folded(&b, set, ""); err != nil {
		t.Fatal(err)
	}
	visible(t, "folded", name, b.String())
	stack, n, _ := cutLast(strings.TrimSuffix(b.String(), "\n"))
	if strings.Count(b.String(), "\n") != 1 || n != "1" || strings.Count(stack, ";") != 3 {
		t.Errorf("%q in folded: %q", name, b.String())
	}
}

func hostileTrace(t *testing.T, name string) {
	t.Helper()
	var b bytes.Buffer
	w := NewTrace(&b)
	a, other := evidence.Task{PID: 1, TID: 1, Comm: name}, evidence.Task{PID: 1, TID: 2, Comm: name}
	w.Wake(Wakeup{Task: a, By: other, At: 5})
	w.Stint(Stint{Task: a, Start: 10, End: 20})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	visible(t, "trace", name, b.String())
	f := parseTrace(t, b.Bytes())
	if strings.Contains(b.String(), "<script") || len(f.TraceEvents) != 10 {
		t.Errorf("%q in trace: %s", name, b.String())
	}
	for _, e := range f.TraceEvents {
		if e.Cat == "cpu" && e.Name != commName(a) {
			t.Errorf("%q in trace: %q", name, e.Name)
		}
	}
}

func hostileCSV(t *testing.T, name string, set *evidence.Set, r *analyze.Result) {
	t.Helper()
	for _, k := range CSV(set, r) {
		var b bytes.Buffer
		if err := k.Write(&b); err != nil {
			t.Fatal(err)
		}
		visible(t, "csv", name, b.String())
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(rows) != map[string]int{"threads": 2, "histograms": 2, "stacks": 3}[k.Name] {
			t.Fatalf("%q in csv: %v, %d rows of %s", name, err, len(rows), k.Name)
		}
		for _, row := range rows {
			for _, cell := range row {
				if cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 {
					t.Errorf("%q in csv: the cell %q is a formula", name, cell)
				}
			}
		}
	}
}
