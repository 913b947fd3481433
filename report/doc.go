// Package report writes what an analysis found and what was read from the
// captures: for a terminal, as Markdown for a ticket, and as JSON by contract.
//
// Renderers format and decide nothing: every figure comes from one
// [analyze.Result] (or [evidence.Set]), so it is the same in every format. What
// the model does not hold is not shown: a section or a column without data is
// left out, a single absent cell is "–", and JSON has null.
//
// Names from captures (comms, symbols, paths, command lines, hosts) are hostile
// input. Control characters, bidirectional and invisible characters and invalid
// bytes are shown as escapes (\x1b) in every format; Markdown's and HTML's own
// characters are made inert.
package report

import (
	"errors"
	"fmt"
	"strings"

	"ctxan/analyze"
	"ctxan/report/lang"
)

// Options tell how a report is set. The zero Options are 80 columns, Unicode,
// no colour.
type Options struct {
	Width int  // columns; 0: 80. Less than MinWidth counts as MinWidth
	Color bool // ANSI colours; nothing is lost without them
	ASCII bool // no character beyond ASCII

	// Lang are the texts of another language than English; nil: English.
	Lang *lang.Catalogue

	// More are command lines that say more, printed last: "ctxan explain healthy".
	More []string
}

// The widths that text is set in. Two are designed, DefaultWidth and wideWidth.
const (
	DefaultWidth = 80
	MinWidth     = 40
	wideWidth    = 120 // what is not at DefaultWidth is from here on; between them bars grow
)

// ErrNoCase is returned for a result without a case.
var ErrNoCase = errors.New("report: the result has no case")

func (o Options) width() int {
	if o.Width == 0 {
		return DefaultWidth
	}
	return max(o.Width, MinWidth)
}

// Say formats a fixed text of a renderer in the language of the report. Arguments
// that are strings of ours are translated too.
func (o Options) Say(format string, args ...any) string {
	if o.Lang == nil {
		return fmt.Sprintf(format, args...)
	}
	return analyze.Textf(format, args...).In(o.Lang).String()
}

// say translates a text that was put together already.
func (o Options) say(s string) string {
	if o.Lang == nil {
		return s
	}
	return o.Lang.Phrase(s)
}

// text says a text in the language of the report.
func (o Options) text(t analyze.Text) analyze.Text {
	if o.Lang == nil {
		return t
	}
	return t.In(o.Lang)
}

// space is what stands between two sentences; full-width marks bring their own.
func (o Options) space() string {
	if o.Lang == nil {
		return " "
	}
	return o.Lang.Typeset('。', " ")
}

// sentences puts sentences one behind the other.
func (o Options) sentences(list ...string) string { return strings.Join(list, o.space()) }

// In returns the result in the language of the report: all its texts and labels.
// The result itself stays as it is. Names are to be masked in what In returns.
func (o Options) In(r *analyze.Result) *analyze.Result {
	if o.Lang == nil || r == nil {
		return r
	}
	return lang.Localized(r, o.Lang)
}

// primary returns the case to report on.
func primary(r *analyze.Result) (*analyze.Case, error) {
	if r == nil || len(r.Cases) == 0 || r.Cases[0] == nil {
		return nil, ErrNoCase
	}
	return r.Cases[0], nil
}
