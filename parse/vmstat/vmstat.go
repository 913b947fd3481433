// Package vmstat reads the machine's switch rates that procps' vmstat prints,
// and the totals of vmstat -s.
package vmstat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// Format is the name of this format.
const Format = "vmstat"

// MaxRows is how many rows of one run are kept.
const MaxRows = 100_000

// Detect reports whether t holds rows of vmstat with the column cs, or the
// totals of vmstat -s.
func Detect(t *paste.Text) bool {
	r := newReader(t)
	r.read()
	return len(r.runs) > 0 || r.totals.Switches.OK
}

// Read adds one SystemRate for each run of vmstat in t: switches per second of
// all CPUs, one for each row. The first row of a run is a mean since boot
// unless its command has -y. A row that is no row is left alone, one whose
// figures cannot be read is dropped and counted. The totals of vmstat -s
// become a Reading. Read returns no error.
//
// Layout: new_format and sum_format in procps' vmstat.c. Columns are found by
// their titles; cs, in, us, sy, id are the same in all its languages.
func Read(t *paste.Text, b *evidence.Builder) error {
	r := newReader(t)
	r.read()
	for _, d := range r.dropped {
		b.Drop(d.line, d.err)
	}
	for i := range r.runs {
		if i > 0 {
			b = b.Next()
		}
		r.runs[i].add(b)
	}
	if r.totals.Switches.OK {
		if len(r.runs) > 0 {
			b = b.Next()
		}
		b.Source().Variant = "totals (-s)"
		b.Source().Target.Kind = evidence.TargetSystem
		b.Reading(evidence.Reading{Pos: r.totals.Pos, Machine: evidence.Some(r.totals)})
	}
	return nil
}

type drop struct {
	line int
	err  error
}

type reader struct {
	text    *paste.Text
	runs    []run
	open    *run // that the next row belongs to
	command command
	totals  evidence.MachineCount
	dropped []drop
}

// run is one run of vmstat.
type run struct {
	layout  layout
	command command
	rate    evidence.SystemRate
	dates   []string // time stamps of the rows, with -t
	cut     bool     // rows beyond MaxRows
}

// layout tells where the columns are; -1 for one that is not there.
type layout struct {
	columns                          int
	r, b, in, cs, us, sy, id, wa, st int
	stamped                          bool // a date and a time end the row
	guessed                          bool
}

func newReader(t *paste.Text) *reader { return &reader{text: t} }

func (r *reader) read() {
	guess := guessLayout(r.text)
	for i := range r.text.Lines {
		l := &r.text.Lines[i]
		last := r.text.EndsOpen && i == len(r.text.Lines)-1
		f := strings.Fields(l.Text)
		switch lay, ok := parseTitles(f); {
		case len(f) == 0:
			r.open = nil
		case ok:
			r.titles(lay)
		case isBanner(l.Text):
		case r.open != nil && r.row(f, l.No, last):
		case guess != nil && r.open == nil && isGuessedRow(f):
			r.titles(*guess)
			r.row(f, l.No, last)
		case r.total(f, l.No):
		default:
			r.open = nil
			r.command.parse(l.Text)
		}
	}
	kept := r.runs[:0]
	for _, x := range r.runs {
		if len(x.rate.SwitchesPerS) > 0 {
			kept = append(kept, x)
		}
	}
	r.runs = kept
}

// titles starts a run, or goes on with one whose titles are printed again.
func (r *reader) titles(l layout) {
	if r.open != nil && r.open.layout == l {
		return
	}
	r.runs = append(r.runs, run{layout: l, command: r.command})
	r.open = &r.runs[len(r.runs)-1]
	r.command = command{}
}

// parseTitles reads the line of column titles.
func parseTitles(f []string) (layout, bool) {
	l := layout{columns: len(f), r: -1, b: -1, in: -1, cs: -1, us: -1, sy: -1, id: -1, wa: -1, st: -1}
	if len(f) < 10 || f[0] != "r" || f[1] != "b" {
		return l, false
	}
	at := map[string]*int{"r": &l.r, "b": &l.b, "in": &l.in, "cs": &l.cs, "us": &l.us, "sy": &l.sy, "id": &l.id, "wa": &l.wa, "st": &l.st}
	known := len(f)
	for i, w := range f {
		if p := at[w]; p != nil && *p < 0 {
			*p = i
		}
	}
	if last := f[known-1]; last != "st" && last != "wa" && last != "gu" && last != "id" { // the time zone of -t
		l.stamped = true
		l.columns--
	}
	return l, l.cs > 0 && l.in == l.cs-1 && l.id > l.cs
}

// isBanner reports whether a line is the one above the titles, which is
// printed again with them.
func isBanner(s string) bool {
	return strings.Contains(s, "--memory--") && strings.Contains(s, "cpu-")
}

// row reads a row of the open run. It reports whether it was one: a line of
// numbers. A text that ends inside a row still has the columns before.
func (r *reader) row(f []string, no int, last bool) bool {
	l := &r.open.layout
	nums := 0
	for nums < len(f) && isWhole(f[nums]) {
		nums++
	}
	if nums < 3 {
		return false
	}
	short := nums < l.columns
	if nums > l.columns || short && !(len(f) == nums && nums > l.cs+1 && (last || nums >= l.columns-3)) || !l.stamped && len(f) > nums {
		r.drop(no, fmt.Errorf("a row of %d numbers under %d titles", nums, l.columns))
		return true
	}
	if len(r.open.rate.SwitchesPerS) >= MaxRows {
		r.open.cut = true
		return true
	}
	value := func(i int, scale float64) evidence.Opt[float64] {
		if i < 0 || i >= nums || i == nums-1 && short {
			return evidence.Opt[float64]{}
		}
		v, err := strconv.ParseUint(f[i], 10, 53)
		return evidence.Opt[float64]{V: float64(v) / scale, OK: err == nil}
	}
	cs := value(l.cs, 1)
	if !cs.OK {
		r.drop(no, errors.New("cs is no number"))
		return true
	}
	x := &r.open.rate
	if len(x.SwitchesPerS) == 0 {
		x.Pos.Line = no
	}
	x.SwitchesPerS = append(x.SwitchesPerS, cs.V)
	x.Samples = append(x.Samples, evidence.SystemSample{Line: no, InterruptsPerS: value(l.in, 1), Runnable: value(l.r, 1), Blocked: value(l.b, 1),
		Idle: value(l.id, 100), IOWait: value(l.wa, 100), Steal: value(l.st, 100)})
	if l.stamped {
		r.open.dates = append(r.open.dates, strings.Join(f[nums:], " "))
	}
	return true
}

func (r *reader) drop(no int, err error) {
	if len(r.dropped) < 100*evidence.MaxDropped {
		r.dropped = append(r.dropped, drop{no, err})
	}
}

func isWhole(s string) bool {
	if len(s) == 0 || len(s) > 20 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
