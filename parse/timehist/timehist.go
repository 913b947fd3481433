// Package timehist reads the text of `perf sched timehist`: one row for every
// time a task left its CPU, with how long it waited, how much of that it was
// runnable, and how long it ran.
//
// Pasted texts and large plain files go through the same engine: a tolerant
// reader of words, and in front of it a fast path for rows in perf's own
// columns, which gives the same evidence or leaves the row to the other.
package timehist

import (
	"bytes"
	"io"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// Format names the format in parse's table.
const Format = "timehist"

// Detect reports whether a cleaned text holds output of perf sched timehist: a
// header, a row, or a line of its summary.
func Detect(t *paste.Text) bool {
	var d detector
	for _, l := range t.Lines {
		if d.line([]byte(l.Text)) == certain {
			return true
		}
	}
	return false
}

// DetectHead reports whether a file that begins with head is plain output of
// perf sched timehist, with nothing around its lines. A head that ends within a
// line is fine.
func DetectHead(head []byte) bool {
	var d detector
	for first := true; ; first = false {
		line, rest, ok := bytes.Cut(head, []byte("\n"))
		if !ok {
			return false
		}
		switch d.line(line) {
		case certain:
			return true
		case foreign:
			if !first { // the first line may be the rest of a row
				return false
			}
		}
		head = rest
	}
}

// verdict is what a line tells of its text.
type verdict uint8

const (
	foreign  verdict = iota // not a line of timehist
	possible                // one that others may print as well
	certain
)

// detector looks for the first line that only timehist prints.
type detector struct {
	layout layout
	sum    summary
}

func (d *detector) line(p []byte) verdict {
	if isHeader(p) {
		return certain
	}
	var r row
	switch k, err := d.layout.parse(trimRight(p), &r); {
	case k == rowSwitch && parseName(r.name).plain:
		return possible
	case k != rowNone && k != rowLost:
		return certain
	case k == rowLost, err != nil, len(trim(p)) == 0, isInfo(p), isRule(p):
		return possible
	}
	if !d.sum.line(p, 0) {
		return foreign
	}
	if d.sum.closed || len(d.sum.tasks) > 0 && d.sum.titled || len(d.sum.tasks) > 1 {
		return certain
	}
	return possible
}

// Read adds what a pasted text holds of perf sched timehist to b. Several
// captures in one text become several sources (b, then evidence.Builder.Next).
//
// Durations are milliseconds in the text and nanoseconds in evidence. A row
// that cannot be read is dropped and counted, never guessed; lines that are not
// timehist's are passed over. Read keeps nothing of t, and fails never: the
// error is for the common signature of readers.
//
// Layout: timehist_print_sample, timehist_print_summary and their neighbours in
// the kernel's tools/perf/builtin-sched.c.
func Read(t *paste.Text, b *evidence.Builder) error {
	newReader(b).text(t)
	return nil
}

// ReadStream adds the rows of a plain file of any size to b, as Read does. Its
// memory grows with threads, CPUs and distinct call chains, not with rows. It
// fails only when r does.
func ReadStream(r io.Reader, b *evidence.Builder) error {
	rd := newReader(b)
	err := readBlocks(r, rd)
	rd.finish()
	return err
}

// text reads a pasted text.
func (r *reader) text(t *paste.Text) {
	var buf []byte
	for i, l := range t.Lines {
		buf = append(append(buf[:0], l.Text...), '\n')
		r.open = t.EndsOpen && i == len(t.Lines)-1
		r.no = l.No - 1
		r.recs, _ = r.scan.scan(buf, 0, r.recs[:0])
		r.consume(buf, r.recs)
	}
	r.finish()
}
