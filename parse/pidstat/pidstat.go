// Package pidstat reads the task switch rates that sysstat's pidstat prints
// with -w, also with -t and in tables mixed with other activities.
package pidstat

import (
	"errors"
	"fmt"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// Format is the name of this format.
const Format = "pidstat"

// Detect reports whether t holds a table of pidstat: by a header of its columns,
// or, where the header is missing, by rows that can be nothing else. A table of
// another activity counts too, so that the user hears what it lacks.
func Detect(t *paste.Text) bool {
	for _, l := range t.Lines {
		if _, ok := parseHeader(l.Text); ok {
			return true
		}
	}
	return guess(t) != nil
}

// Read adds the rows of the switch tables in t to b, one TaskStats a row: rates
// per second, also those of the tool's average rows, which have Average set. A
// row of a TGID has Process set and stands for the process in the listing; its
// figures are those of the main thread, whose own row repeats them. Thread rows
// get their process from the TGID row above them; where the rows do not stand in
// pidstat's order, the process is left unknown. Without -t a row is a main
// thread.
//
// A further capture in the same text becomes a source of its own. A row that
// cannot be read is dropped and counted. Of captures with more than [MaxRows]
// interval rows, each task's mean is kept. Read returns no error.
//
// Layout: write_plain_pid_ctxswitch_stats, print_line_id and print_comm in
// sysstat's pidstat.c.
func Read(t *paste.Text, b *evidence.Builder) error {
	r := reader{b: b, layout: guess(t)}
	for i, l := range t.Lines {
		next := ""
		if i+1 < len(t.Lines) {
			next = t.Lines[i+1].Text
		}
		r.line(l, next, t.EndsOpen && i == len(t.Lines)-1)
	}
	r.finish()
	return nil
}

// reader walks the lines of a text.
type reader struct {
	b       *evidence.Builder
	used    bool    // b has a capture
	layout  *layout // of the table we are in; nil outside
	capture capture

	// The start of the last row and what it was read as: the rows of one
	// sample start alike.
	start  string
	prefix prefix
}

func (r *reader) line(l paste.Line, next string, open bool) {
	text := strings.TrimPrefix(strings.TrimLeft(l.Text, " \t"), "^C")
	if text == "" {
		return
	}
	if h, ok := parseHeader(text); ok {
		r.header(h)
		return
	}
	if b, ok := parseBanner(text, next); ok {
		r.begin()
		r.capture.banner = b
		return
	}
	if r.layout != nil && r.row(text, l.No, open) {
		return
	}
	if c, ok := parseCommand(text); ok {
		r.begin()
		r.capture.command = c
		r.layout = r.layout.asGuess()
	} else if isPrompt(text) {
		r.layout = nil
	}
}

// begin starts a new capture if the present one has begun to print.
func (r *reader) begin() {
	if r.capture.tables || r.capture.others {
		r.flush()
	}
}

func (r *reader) flush() {
	if r.used {
		r.b = r.b.Next()
	}
	r.used = true
	r.capture.finish(r.b)
	r.capture = capture{}
	r.start = ""
}

func (r *reader) finish() {
	if r.capture.tables || r.capture.others || !r.used {
		r.flush()
	}
}

func (r *reader) header(h header) {
	if r.capture.averages > 0 && h.time != "" { // averages are the last that pidstat prints
		r.flush()
	}
	c := &r.capture
	c.process, r.start, r.layout = 0, "", &h.layout
	if !h.switches() {
		c.others = true
		return
	}
	c.tables = true
	if h.time == "" {
		return
	}
	if p, _, ok := parsePrefix(h.time, &h.layout); ok {
		c.times.header(p.clock)
	}
}

// row reads a line inside a table. It reports whether it was one of its rows.
func (r *reader) row(text string, no int, open bool) bool {
	if !r.layout.switches() {
		_, _, ok := parsePrefix(text, r.layout)
		return ok
	}
	p, got, err := r.parse(text)
	if err == nil {
		r.take(got, p, no)
		return true
	}
	switch {
	case errors.Is(err, errNoRow):
		r.capture.cut = r.capture.cut || open && hasDigit(text[:1]) && !strings.Contains(text, " ")
		return false
	case r.layout.guessed, p.unsure:
		return false
	case isTitles(text): // the header of another tool's table
		r.layout = nil
		return true
	}
	r.b.Drop(no, err)
	r.capture.cut = r.capture.cut || open
	return true
}

func (r *reader) take(got row, p prefix, no int) {
	c := &r.capture
	got.line, got.average = no, p.average
	c.tables = true
	if !p.average {
		c.times.row(p.clock)
	}
	if !c.add(got) {
		r.b.Drop(no, errTooMany)
	}
}

var (
	errNoRow   = errors.New("not a row")
	errTooMany = fmt.Errorf("more than %d tasks", MaxRows)
)

// parse reads a row, its time from the row before where that is the same.
func (r *reader) parse(text string) (prefix, row, error) {
	if r.layout.sep != "" {
		if strings.Trim(text, "|-: ") == "" { // below a Markdown table's header
			return prefix{}, row{}, errNoRow
		}
		return r.layout.parseSep(text)
	}
	if rest, ok := strings.CutPrefix(text, r.start); ok && r.start != "" && rest != "" && isBlank(rest[0]) {
		got, err := r.layout.parseRow(rest)
		return r.prefix, got, err
	}
	p, rest, ok := parsePrefix(text, r.layout)
	if !ok {
		return p, row{}, errNoRow
	}
	got, err := r.layout.parseRow(rest)
	if err == nil {
		r.start, r.prefix = text[:len(text)-len(rest)], p
		r.capture.process = 0 // a new sample starts with a process
	}
	return p, got, err
}

// isTitles reports whether a line has column titles and no figures behind its time.
func isTitles(text string) bool {
	_, rest := nextWord(text)
	for n := 0; ; n++ {
		var w string
		if w, rest = nextWord(rest); w == "" {
			return n > 0
		}
		if w[0] == '-' || w[0] >= '0' && w[0] <= '9' {
			return false
		}
	}
}
