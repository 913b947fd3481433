// Package paste takes the marks of its journey off a captured text: byte order
// marks, UTF-16, line ends, terminal escapes, NUL bytes, quoting, diff signs,
// log prefixes, HTML and Markdown wrapping. What is left are the lines as the
// tool printed them, each with its number in the original.
//
// A prefix is taken off where it stands before a whole run of lines, never
// because one line looks like it: perf's own output has lines that begin with
// "#", with a time of day or with a bar.
package paste

import (
	"errors"
	"strings"
)

// Line is one line of a text without its decoration.
type Line struct {
	No   int    // 1-based, in the original
	Text string // without line end
}

// Text is a cleaned text.
type Text struct {
	Lines    []Line
	Notes    []string // what was taken off, for people: "UTF-16", "quoting '> '"
	EndsOpen bool     // the last line has no line end: it may be cut
}

// ErrBinary says that the input is no text: too many of its bytes are control
// characters or no character of any encoding.
var ErrBinary = errors.New("not a text: binary data")

// maxLines bounds the memory of a text of (nearly) empty lines. Real captures
// have far longer lines and stay below it at any size that is read whole.
const maxLines = 8 << 20

// maxRounds bounds how many decorations may lie around one another.
const maxRounds = 8

// Clean returns the lines of raw without their decoration. It fails with
// ErrBinary, and in no other way. The lines share one copy of raw, which is
// not retained.
//
// Several lines can have one number (a line with carriage returns inside, or
// HTML line breaks), and numbers can be missing (dropped Markdown fences,
// joined quoted-printable lines). A no-break space that stands alone between
// two digits is kept, because it may group thousands; all others become
// spaces.
func Clean(raw []byte) (*Text, error) {
	c := &cleaner{}
	s := c.decode(raw)
	if isBinary(s) {
		return nil, ErrBinary
	}
	c.split(s)
	c.clean(s)
	return &c.text, nil
}

// IsDecorated reports whether a text that begins with head needs Clean. A byte
// order mark in UTF-8, carriage returns before line feeds and indentation do
// not count: a reader of lines trims those by itself. A line that head cuts is
// left out of the decision.
func IsDecorated(head []byte) bool {
	if i := strings.LastIndexByte(string(head), '\n'); i >= 0 {
		head = head[:i+1]
	}
	t, err := Clean(head)
	if err != nil {
		return true
	}
	for _, n := range t.Notes {
		if n != noteBOM && n != noteCRLF && n != noteIndent {
			return true
		}
	}
	return false
}

// The notes that IsDecorated passes over.
const (
	noteBOM    = "byte order mark"
	noteCRLF   = "CRLF line ends"
	noteIndent = "indentation"
)

// cleaner holds a text while it is being cleaned.
type cleaner struct {
	text Text
	full int // lines with text, counted up to a handful
}

func (c *cleaner) note(s string) {
	for _, have := range c.text.Notes {
		if have == s {
			return
		}
	}
	c.text.Notes = append(c.text.Notes, s)
}

// clean takes decorations off until none is left. s is the whole text, for
// quick looks at whether it can hold a decoration at all.
func (c *cleaner) clean(s string) {
	c.encodings(s)
	for range maxRounds {
		changed := c.markup()
		changed = c.prefixes() || changed
		if !changed {
			break
		}
	}
	c.zshMark()
}

// encodings undoes what stands for other characters.
func (c *cleaner) encodings(s string) {
	if mayBeQuotedPrintable(s) && c.quotedPrintable() {
		s = c.join()
	}
	if mayBeJSONLog(s) && c.jsonLog() || c.literalNewlines(s) {
		s = c.join()
	}
	if strings.IndexByte(s, '&') >= 0 || strings.IndexByte(s, '<') >= 0 {
		if c.html(s) {
			s = c.join()
		}
	}
	c.control(s)
	c.spaces(s)
}

// join returns the text of all lines after they were changed.
func (c *cleaner) join() string {
	var b strings.Builder
	for _, l := range c.text.Lines {
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// mapLines replaces each line by f of it, and notes name when one changed.
func (c *cleaner) mapLines(name string, f func(string) string) {
	changed := false
	for i := range c.text.Lines {
		l := &c.text.Lines[i]
		if t := f(l.Text); t != l.Text {
			l.Text, changed = t, true
		}
	}
	if changed {
		c.note(name)
	}
}

// split cuts s into lines at line feeds and carriage returns. Where the text
// has more lone carriage returns than line feeds, they end (and count) lines;
// otherwise they are a terminal's overwriting, and each piece keeps the number
// of its line.
func (c *cleaner) split(s string) {
	if s == "" {
		return
	}
	lf, lone := strings.Count(s, "\n"), loneCRs(s)
	crEnds := lone > lf
	n := lf + 1
	if crEnds {
		n += lone
		c.note("CR line ends")
	}
	c.text.Lines = make([]Line, 0, min(n, maxLines))
	c.text.EndsOpen = s[len(s)-1] != '\n' && !(crEnds && s[len(s)-1] == '\r')
	no := 1
	for s != "" && len(c.text.Lines) < maxLines {
		line, rest, _ := strings.Cut(s, "\n")
		s = rest
		if lone > 0 {
			no = c.splitCR(no, line, crEnds)
			continue
		}
		if t := strings.TrimRight(line, "\r"); len(t) != len(line) {
			c.note(noteCRLF)
			line = t
		}
		c.text.Lines = append(c.text.Lines, Line{No: no, Text: line})
		no++
	}
	if s != "" {
		c.note("only the first 8388608 lines were read")
	}
}

// splitCR adds the pieces of a line that may hold carriage returns and returns
// the number of the next line.
func (c *cleaner) splitCR(no int, line string, crEnds bool) int {
	if t := strings.TrimRight(line, "\r"); !crEnds && len(t) != len(line) {
		c.note(noteCRLF)
		line = t
	}
	if crEnds {
		line = strings.TrimSuffix(line, "\r")
	} else if strings.IndexByte(line, '\r') >= 0 {
		c.note("carriage returns")
	}
	for {
		piece, rest, more := strings.Cut(line, "\r")
		if len(c.text.Lines) < maxLines && (crEnds || piece != "" || !more) {
			c.text.Lines = append(c.text.Lines, Line{No: no, Text: piece})
		}
		if !more {
			return no + 1
		}
		if crEnds {
			no++
		}
		line = rest
	}
}

// loneCRs counts the carriage returns that do not lead up to a line feed.
func loneCRs(s string) int {
	n := 0
	for i := strings.IndexByte(s, '\r'); i >= 0 && i < len(s); {
		j := i
		for j < len(s) && s[j] == '\r' {
			j++
		}
		if j == len(s) || s[j] != '\n' {
			n += j - i
		}
		k := strings.IndexByte(s[j:], '\r')
		if k < 0 {
			break
		}
		i = j + k
	}
	return n
}

// zshMark takes off the "%" that zsh shows where output did not end its line.
// After a digit it may be a real per cent sign.
func (c *cleaner) zshMark() {
	for i := len(c.text.Lines) - 1; i >= 0; i-- {
		l := &c.text.Lines[i]
		t := strings.TrimRight(l.Text, " ")
		if t == "" {
			continue
		}
		if n := len(t); n > 1 && t[n-1] == '%' && isLetter(t[n-2]) {
			l.Text = t[:n-1]
			c.text.EndsOpen = false
			c.note("zsh end-of-line mark")
		}
		return
	}
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
