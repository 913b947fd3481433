// Package perfreport reads the tables that perf report prints: --stdio text of
// any column set, with or without children and call graphs, and pastes of its
// TUI.
package perfreport

import (
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// Format is the name of this format.
const Format = "perf-report"

// Detect reports whether t holds a perf report: its title, its column header, or
// a row with a percentage and a symbol's level mark, or a percentage and a switch
// as the tracepoint prints it.
func Detect(t *paste.Text) bool {
	for _, l := range t.Lines {
		if _, ok := parseTitle(l.Text); ok {
			return true
		}
		if _, ok := parseHeader(l.Text); ok {
			return true
		}
		if _, ok := headless(l.Text); ok {
			return true
		}
	}
	return false
}

// Read adds the reports in t to b, one Profile an event; the members of an event
// group become one each. Percentages are as printed, of the whole report. A
// title's rounded sample count ("59K") fills SamplesRaw only. Chains are leaf
// first, hold the row's symbol, and their shares are of the whole report,
// whatever the call graph's mode was; chains that perf left out below its limit
// are missing.
//
// A row that ends early is kept with what it has if the text ends there too. A
// second report of other data in the same text becomes a source of its own. Read
// returns no error.
//
// Layout: hists__fprintf and hist_entry__fprintf in the kernel's
// tools/perf/ui/stdio/hist.c; hist_entry__sym_snprintf in tools/perf/util/sort.c.
func Read(t *paste.Text, b *evidence.Builder) error {
	r := reader{b: b, names: map[string]string{}}
	last := len(t.Lines) - 1
	for last >= 0 && strings.TrimSpace(t.Lines[last].Text) == "" {
		last--
	}
	for i, l := range t.Lines {
		r.line(l, i == last)
	}
	r.finish()
	return nil
}

// reader walks the lines of a text.
type reader struct {
	b      *evidence.Builder
	used   bool // b has a profile
	report *report
	lost   evidence.Opt[uint64]
	names  map[string]string
}

func (r *reader) line(l paste.Line, last bool) {
	text := strings.TrimRight(l.Text, " \t")
	if text == "" {
		if r.report != nil {
			r.report.blank()
		}
		return
	}
	if t, ok := parseTitle(text); ok {
		r.begin(l.No, t)
		return
	}
	if t, ok := parseHeader(text); ok {
		r.table(l.No, t)
		return
	}
	if text[0] == '#' || strings.HasPrefix(strings.TrimLeft(text, " \t"), "# ") {
		if r.comment(text) {
			return
		}
	}
	if c, ok := recordCommand(text); ok {
		r.command(c)
		return
	}
	r.body(text, l.No, last)
}

// begin takes a title: what comes is another event's table.
func (r *reader) begin(line int, t title) {
	r.flush()
	r.report = newReport(line, t)
	r.report.setLost(r.lost)
	r.lost = evidence.Opt[uint64]{}
}

// table takes a column header.
func (r *reader) table(line int, t *table) {
	if r.report != nil && r.report.table != nil && !r.report.table.generic {
		r.flush()
	}
	if r.report == nil {
		r.report = newReport(line, title{})
	}
	r.report.setTable(t)
}

// comment takes a line that begins with #. It reports whether it was one of
// perf's.
func (r *reader) comment(text string) bool {
	if r.report != nil && r.report.table != nil && len(r.report.rows) == 0 && r.report.table.setDots(text) {
		return true
	}
	key, value, ok := parseComment(text)
	if (r.used || r.report != nil) && r.startsReport(text, key) {
		r.flush()
		r.b, r.used = r.b.Next(), false
	}
	if !ok {
		return strings.Trim(text, "# \t") == ""
	}
	switch key {
	case "Event count (approx.)":
		if r.report != nil {
			r.report.setCount(leadingNumber(value))
		}
	case "Total Lost Samples":
		r.takeLost(leadingNumber(value))
	default:
		describe(r.b.Source(), key, value)
		_, isCommand := recordCommand(strings.TrimLeft(text, "# "))
		return !isCommand
	}
	return true
}

// startsReport reports whether a comment is the first of another report.
func (r *reader) startsReport(text, key string) bool {
	return key == "captured on" || key == "hostname" && r.b.Source().Host.Name != "" ||
		strings.Contains(text, "To display the perf.data header info")
}

// takeLost takes the number of lost samples, printed above the title; new
// versions print one for each event.
func (r *reader) takeLost(n evidence.Opt[uint64]) {
	r.lost = n
	r.b.Source().Loss.LostSamples += n.V
}

// command takes a perf record command line of the paste, where the report's own
// header does not give it.
func (r *reader) command(c string) {
	if src := r.b.Source(); src.Tool == "" && r.report == nil && !r.used {
		src.Command, src.Target = c, target(c)
	}
}

// body takes a row or a line of a call graph.
func (r *reader) body(text string, line int, last bool) {
	if r.report == nil || r.report.table == nil {
		t, ok := headless(text)
		if !ok {
			return
		}
		if r.report == nil {
			r.report = newReport(line, title{})
		}
		r.report.setTable(t)
	}
	if r.report.table.generic {
		if t, ok := headless(text); ok {
			r.report.setTable(t)
		}
	}
	switch r.report.line(text, line, last, r.intern) {
	case lineCut:
		r.b.Source().Loss.Truncated = true
	case lineTooMany:
		r.b.Drop(line, errTooMany)
	case lineShare:
		r.b.Drop(line, errShare)
	}
}

// intern copies a name once, so that the evidence does not keep the text alive.
func (r *reader) intern(s string) string {
	if have, ok := r.names[s]; ok {
		return have
	}
	s = strings.Clone(s)
	r.names[s] = s
	return s
}

// flush writes the report being read.
func (r *reader) flush() {
	if r.report == nil {
		return
	}
	if !r.report.empty() {
		r.report.finish(r.b)
		r.used = true
	}
	r.report = nil
}

func (r *reader) finish() {
	r.flush()
	src := r.b.Source()
	if src.Variant == "" {
		src.Variant = "no table"
	}
}
