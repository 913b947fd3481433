package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

const (
	nbsp = '\u00a0'
	// maxName is how many characters of a name are shown; longer ones are cut in
	// the middle.
	maxName = 64
)

// unit is the least part of a text that is shown or left out as a whole: a
// character, or the escape that stands for one.
type unit struct {
	s   string
	w   int  // columns
	esc bool // an escape
}

// hidden reports whether a character must not reach a reader as itself: it
// controls the terminal, reorders or hides text, or cannot be seen.
func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// escapeRune writes a character as an escape: \x1b, \u202e, \U000e0041.
func escapeRune(r rune) string {
	switch {
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// mostMarks is how many combining marks in a row are shown as themselves.
const mostMarks = 2

// mostBytes is how many bytes of a name make a column at most: a character and
// its marks.
const mostBytes = utf8.UTFMax * (1 + mostMarks)

// nameUnits takes a name from a capture apart. With ascii every character
// beyond ASCII becomes an escape; so do marks piled onto a character.
func nameUnits(s string, ascii bool) []unit { return units(s, ascii, false) }

// proseUnits takes a text of ours apart, which may hold what came in from a
// capture. No-break spaces stay, so that lines are not broken there; with ascii
// the characters that reports use become their ASCII counterparts.
func proseUnits(s string, ascii bool) []unit { return units(s, ascii, true) }

func units(s string, ascii, ours bool) []unit {
	out := make([]unit, 0, len(s))
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		plain, mapped := asciiOf[r]
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, escapeUnit(fmt.Sprintf(`\x%02x`, s[i])))
		case ours && r == nbsp:
			out = append(out, unit{s: s[i : i+n], w: 1})
		case ours && ascii && mapped:
			out = append(out, unit{s: plain, w: len(plain)})
		case hidden(r) || (ascii && r >= utf8.RuneSelf) || marks > mostMarks:
			out = append(out, escapeUnit(escapeRune(r)))
		default:
			out = append(out, unit{s: s[i : i+n], w: runeWidth(r)})
		}
		i += n
	}
	return out
}

func escapeUnit(s string) unit { return unit{s: s, w: len(s), esc: true} }

// asciiOf maps the characters that reports themselves use.
var asciiOf = map[rune]string{
	'→': "->", '←': "<-", '–': "-", '—': "-", '−': "-", '±': "+/-", '×': "x", 'µ': "u", 'μ': "u", '…': "...",
	'✓': "+", '✗': "x", '○': "?", '≠': "!", '≤': "<=", '≥': ">=", '≈': "~", '·': "*", '’': "'", '‘': "'", '“': `"`, '”': `"`,
	'│': "|", '┆': ":", '▕': "|",
}

func unitsWidth(us []unit) int {
	w := 0
	for _, u := range us {
		w += u.w
	}
	return w
}

func unitsString(us []unit) string {
	var b strings.Builder
	for _, u := range us {
		b.WriteString(u.s)
	}
	return b.String()
}

// cutUnits cuts the middle out of a text so that it takes at most w columns.
func cutUnits(us []unit, w int, ellipsis string) []unit {
	if unitsWidth(us) <= w {
		return us
	}
	e := unit{s: ellipsis, w: width(ellipsis)}
	room := w - e.w
	if room <= 0 {
		return headUnits(us, w)
	}
	head := headUnits(us, (room+1)/2)
	tail := len(us)
	for left := room - unitsWidth(head); tail > len(head) && us[tail-1].w <= left; tail-- {
		left -= us[tail-1].w
	}
	out := append(make([]unit, 0, len(us)), head...)
	return append(append(out, e), us[tail:]...)
}

func headUnits(us []unit, w int) []unit {
	n := 0
	for n < len(us) && us[n].w <= w {
		w -= us[n].w
		n++
	}
	return us[:n]
}

// fitName is a name in at most w columns: a C++ name loses its leading
// qualifiers first ("…::task"), any other is cut in the middle.
func fitName(s string, w int, ascii bool) []unit {
	ellipsis := "…"
	if ascii {
		ellipsis = asciiOf['…']
	}
	w = min(w, maxName)
	us := nameUnits(s, ascii)
	if unitsWidth(us) <= w {
		return us
	}
	for _, at := range qualifiers(s) {
		if len(s)-at > mostBytes*w { // cannot fit: a long name has many parts
			continue
		}
		us = nameUnits(s[at:], ascii)
		short := append([]unit{{s: ellipsis, w: width(ellipsis)}, {s: "::", w: 2}}, us...)
		if unitsWidth(short) <= w {
			return short
		}
	}
	return cutUnits(us, w, ellipsis)
}

// qualifiers returns where the parts of a C++ name begin, behind each "::"
// that is not inside brackets.
func qualifiers(s string) []int {
	var at []int
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			depth--
		case ':':
			if depth == 0 && s[i+1] == ':' && i+2 < len(s) {
				at = append(at, i+2)
				i++
			}
		}
	}
	return at
}

// shown is a name as plain characters, cut to maxName; for formats that have no
// other mark for escapes.
func shown(s string) string { return unitsString(fitName(s, maxName, false)) }

// inert is a text of ours with what may have come in from a capture escaped.
func inert(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return unitsString(proseUnits(s, false))
		}
	}
	return s // as nearly all are
}

// maxExcerpt is how many columns of a message are shown that may quote a
// capture at length.
const maxExcerpt = 240

// excerpt cuts the middle out of a message that is too long to be read.
func excerpt(s string) string { return unitsString(cutUnits(proseUnits(s, false), maxExcerpt, "…")) }

// width is the columns that a text takes on a terminal. Characters of
// ambiguous width take one, as in the locales that reports are read in most.
func width(s string) int {
	n := 0
	for _, r := range s {
		if !narrow(r) {
			return columns().StringWidth(s)
		}
		n++
	}
	return n
}

func runeWidth(r rune) int {
	if narrow(r) {
		return 1
	}
	return columns().RuneWidth(r)
}

// narrow reports whether a character is one of those that reports themselves
// use, all one column wide. The package would make a table of 2 MB for the first
// that is not Latin, which takes longer than the rest of a short report.
func narrow(r rune) bool {
	if r == nbsp || r >= '\u2500' && r <= '\u259f' { // lines and blocks
		return true
	}
	_, ours := asciiOf[r]
	return ours || r < utf8.RuneSelf
}

// columns is a fresh condition: the package's own one depends on the locale.
func columns() *runewidth.Condition {
	return &runewidth.Condition{StrictEmojiNeutral: true}
}
