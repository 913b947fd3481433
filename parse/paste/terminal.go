package paste

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// control takes terminal escapes, NUL bytes and other control characters off.
func (c *cleaner) control(s string) {
	if strings.IndexByte(s, 0) >= 0 {
		c.mapLines("NUL bytes", dropNULs)
	}
	if hasSpelledEscape(s) {
		c.mapLines("terminal escapes", func(t string) string {
			return bareSGR.ReplaceAllString(spelledEscapes.Replace(t), "")
		})
	}
	if hasControls(s) {
		t := &terminal{pad: len(s) + 1<<20}
		c.mapLines("terminal escapes", t.dropEscapes)
	}
}

// terminalControls begin or are what a terminal obeys and does not show.
const terminalControls = "\x1b\b\a\f\v\x0e\x0f\x7f"

// hasControls is strings.ContainsAny by single bytes, which is much faster on a
// whole text.
func hasControls(s string) bool {
	for i := range len(terminalControls) {
		if strings.IndexByte(s, terminalControls[i]) >= 0 {
			return true
		}
	}
	return false
}

// terminal shows lines as a terminal would. pad is how many spaces cursor
// movements may make in all, so that a text does not grow without bound.
type terminal struct{ pad int }

// dropNULs removes NUL bytes at the ends of a line and makes a space of those
// between characters, where they may stand for one.
func dropNULs(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	s = strings.Trim(s, "\x00")
	return strings.ReplaceAll(s, "\x00", " ")
}

// spelledEscapes are the forms in which the escape character is written out by
// cat -v, in string literals and in JSON.
var spelledEscapes = strings.NewReplacer(
	"^[[", "\x1b[", `\x1b[`, "\x1b[", `\x1B[`, "\x1b[", `\033[`, "\x1b[", `\e[`, "\x1b[",
	`\u001b[`, "\x1b[", `\u001B[`, "\x1b[", "\u241b[", "\x1b[")

// bareSGR is a colour sequence, with or without its escape character.
var bareSGR = regexp.MustCompile(`\x1b?\[(?:\d{1,3}(?:;\d{1,3})*)?m`)

// hasSpelledEscape reports whether s holds colour sequences without a real
// escape character. A bare "[0m" is the reset that ends every such text.
func hasSpelledEscape(s string) bool {
	return strings.Count(s, "[0m") > strings.Count(s, "\x1b[0m") || strings.Contains(s, "^[[") ||
		strings.Contains(s, `\033[`) || strings.Contains(s, `\x1b[`) || strings.Contains(s, `\u001b[`)
}

// maxPad bounds the spaces that one cursor movement can make.
const maxPad = 512

// dropEscapes removes the control sequences of a terminal (ECMA-48: CSI, OSC
// and other strings, two-character escapes), and what backspaces overwrote.
// Movements to the right become spaces: some terminals compress runs of them
// so.
func (t *terminal) dropEscapes(s string) string {
	i := strings.IndexAny(s, terminalControls)
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		switch s[i] {
		case 0x1b:
			var pad int
			i, pad = escape(s, i, len(b))
			t.pad -= pad
			for range min(pad, max(t.pad, 1)) {
				b = append(b, ' ')
			}
		case '\b':
			_, n := utf8.DecodeLastRune(b)
			b = b[:len(b)-n]
			i++
		case '\a', '\f', '\v', 0x0e, 0x0f, 0x7f:
			i++
		default:
			b = append(b, s[i])
			i++
		}
	}
	return string(b)
}

// escape returns the index after the sequence at s[i], and how many spaces it
// stands for when the cursor is in column col.
func escape(s string, i, col int) (next, pad int) {
	i++
	if i == len(s) {
		return i, 0
	}
	switch b := s[i]; {
	case b == '[':
		return csi(s, i+1, col)
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		return stringEnd(s, i+1), 0
	case b >= 0x20 && b < 0x30:
		for i < len(s) && s[i] >= 0x20 && s[i] < 0x30 {
			i++
		}
		return min(i+1, len(s)), 0
	case b < 0x20 || b >= 0x7f:
		return i, 0
	}
	return i + 1, 0
}

// csi reads a control sequence after its introducer.
func csi(s string, i, col int) (next, pad int) {
	from := i
	for i < len(s) && s[i] >= 0x20 && s[i] < 0x40 {
		i++
	}
	if i == len(s) {
		return i, 0
	}
	final, params := s[i], s[from:i]
	if final < 0x40 || final > 0x7e {
		return i, 0
	}
	n, _ := strconv.Atoi(params)
	switch final {
	case 'C':
		pad = max(n, 1)
	case 'G':
		pad = n - 1 - col
	}
	return i + 1, min(max(pad, 0), maxPad)
}

// stringEnd returns the index after the terminator of an OSC or similar
// string; without one in this line the string is taken for text.
func stringEnd(s string, i int) int {
	for j := i; j < len(s); j++ {
		if s[j] == '\a' {
			return j + 1
		}
		if s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\' {
			return j + 2
		}
	}
	return i
}

// spaces makes plain spaces of the many that word processors, web pages and
// chat programs put in, and drops marks without width.
func (c *cleaner) spaces(s string) {
	for _, lead := range []byte{0xc2, 0xe1, 0xe2, 0xe3, 0xef} {
		if strings.IndexByte(s, lead) >= 0 {
			c.mapLines("no-break or odd spaces", plainSpaces)
			return
		}
	}
}

func plainSpaces(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return isOddSpace(r) || isZeroWidth(r) })
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isZeroWidth(r):
		case isOddSpace(r) && !groupsDigits(b, s[i+n:]):
			b = append(b, ' ')
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// groupsDigits reports whether a space between before and after can be a
// separator of thousands.
func groupsDigits(before []byte, after string) bool {
	return len(before) > 0 && isDigit(before[len(before)-1]) && after != "" && isDigit(after[0])
}

func isOddSpace(r rune) bool {
	switch {
	case r == 0xa0, r == 0x1680, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

func isZeroWidth(r rune) bool {
	switch {
	case r == 0xad, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r == 0x2060, r == 0xfeff:
		return true
	}
	return false
}
