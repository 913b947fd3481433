package paste

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decode returns raw as UTF-8 without byte order mark. Bytes that are no UTF-8
// are kept as they are.
func (c *cleaner) decode(raw []byte) string {
	switch {
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		c.note(noteBOM)
		return string(raw[3:])
	case bytes.HasPrefix(raw, []byte("\xff\xfe")):
		c.note("UTF-16")
		return decodeUTF16(raw[2:], 0)
	case bytes.HasPrefix(raw, []byte("\xfe\xff")):
		c.note("UTF-16")
		return decodeUTF16(raw[2:], 1)
	}
	if big, ok := looksUTF16(raw); ok {
		c.note("UTF-16")
		return decodeUTF16(raw, big)
	}
	return string(raw)
}

// looksUTF16 recognises UTF-16 without a byte order mark by the zero halves of
// its ASCII characters. big is 1 for big-endian.
func looksUTF16(raw []byte) (big int, ok bool) {
	head := raw[:min(len(raw), 4096)]
	pairs := len(head) / 2
	if pairs < 4 || bytes.IndexByte(head, 0) < 0 {
		return 0, false
	}
	var zero [2]int
	for i, b := range head[:2*pairs] {
		if b == 0 {
			zero[i&1]++
		}
	}
	switch {
	case zero[1]*10 > pairs*6 && zero[0]*20 < pairs:
		return 0, true
	case zero[0]*10 > pairs*6 && zero[1]*20 < pairs:
		return 1, true
	}
	return 0, false
}

func decodeUTF16(raw []byte, big int) string {
	out := make([]byte, 0, len(raw)/2+len(raw)/16)
	unit := func(i int) rune { return rune(raw[i+1-big])<<8 | rune(raw[i+big]) }
	for i := 0; i+1 < len(raw); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) && i+3 < len(raw) {
			if d := utf16.DecodeRune(r, unit(i+2)); d != utf8.RuneError {
				r = d
				i += 2
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// binarySample is how much of a text is looked at to tell it from binary data.
const binarySample = 64 << 10

// isBinary reports whether s cannot be a text. A text may hold a few NUL and
// control bytes, and letters in another encoding than UTF-8. Leading zeros are
// passed over: a log that was truncated while it was written has them.
func isBinary(s string) bool {
	s = strings.TrimLeft(s, "\x00")
	s = s[:min(len(s), binarySample)]
	nul, control, invalid := 0, 0, 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			switch {
			case b == 0:
				nul++
			case b < 0x20 && !isTextControl(b):
				control++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			invalid++
		}
		i += n
	}
	n := len(s)
	return nul*10 > n*2 || control*25 > n || invalid > 8 && invalid*10 > n*3
}

// isTextControl tells the control characters that terminals and log collectors
// leave in texts.
func isTextControl(b byte) bool {
	switch b {
	case '\t', '\n', '\r', '\f', '\v', '\b', '\a', 0x1b, 0x0e, 0x0f:
		return true
	}
	return false
}

// mayBeQuotedPrintable is a quick look for the marks of that encoding.
func mayBeQuotedPrintable(s string) bool {
	return strings.IndexByte(s, '=') >= 0 &&
		(strings.Contains(s, "=3D") || strings.Contains(s, "=20") || strings.Contains(s, "=C2=A0") ||
			strings.Contains(s, "=\n") || strings.Contains(s, "=\r\n"))
}

// quotedPrintable decodes the text, or the part after a mail header that says
// so, when it is clearly quoted-printable: two clear marks of it without such
// a header, and no "=" that is none.
func (c *cleaner) quotedPrintable() bool {
	from := c.mailBody()
	lines := c.text.Lines[from:]
	clear := 0
	for _, l := range lines {
		n, ok := qpMarks(l.Text)
		if !ok {
			return false
		}
		clear += n
	}
	if clear < 2 && from == 0 {
		return false
	}
	out := lines[:0]
	for i := 0; i < len(lines); {
		no := lines[i].No
		t, more := qpLine(lines[i].Text)
		i++
		if more {
			var b strings.Builder
			for b.WriteString(t); more && i < len(lines); i++ {
				t, more = qpLine(lines[i].Text)
				b.WriteString(t)
			}
			t = b.String()
		}
		out = append(out, Line{No: no, Text: t})
	}
	c.text.Lines = c.text.Lines[:from+len(out)]
	c.note("quoted-printable")
	return true
}

// mailBody returns the index of the first line after a header that announces
// quoted-printable, or 0.
func (c *cleaner) mailBody() int {
	for i, l := range c.text.Lines[:min(len(c.text.Lines), 200)] {
		if !strings.EqualFold(strings.TrimSpace(l.Text), "Content-Transfer-Encoding: quoted-printable") {
			continue
		}
		for j := i + 1; j < len(c.text.Lines); j++ {
			if c.text.Lines[j].Text == "" {
				return j + 1
			}
		}
	}
	return 0
}

// qpMarks counts the marks of a line that nothing else would leave there: an
// encoded "=", a byte of a longer character, a space at the end, and a soft
// break where the encoding limits the line. ok is false when the line holds a
// "=" that is no mark at all.
func qpMarks(s string) (n int, ok bool) {
	long := len(s) > 60 && len(s) < 80
	for {
		i := strings.IndexByte(s, '=')
		if i < 0 {
			return n, true
		}
		s = s[i+1:]
		if strings.TrimRight(s, " \t") == "" {
			if long {
				n++
			}
			return n, true
		}
		v, ok := hexByte(s)
		if !ok {
			return n, false
		}
		s = s[2:]
		if v == '=' || v >= 0xc2 || v == ' ' && s == "" {
			n++
		}
	}
}

// qpLine decodes a line; more is true when it ends in a soft break.
func qpLine(s string) (t string, more bool) {
	if strings.IndexByte(s, '=') < 0 {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '=' {
			b = append(b, s[i])
			continue
		}
		v, ok := hexByte(s[i+1:])
		if !ok {
			return string(b), true
		}
		if v == '\n' || v == '\r' {
			v = ' '
		}
		b = append(b, v)
		i += 2
	}
	return string(b), false
}

// hexByte reads two upper-case hex digits.
func hexByte(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	const digits = "0123456789ABCDEF"
	hi, lo := strings.IndexByte(digits, s[0]), strings.IndexByte(digits, s[1])
	if hi < 0 || lo < 0 {
		return 0, false
	}
	return byte(hi<<4 | lo), true
}

func mayBeJSONLog(s string) bool { return strings.HasPrefix(s, `{"log":"`) }

// jsonLog takes the lines out of the objects of Docker's json-file log driver,
// one object a line.
func (c *cleaner) jsonLog() bool {
	out := make([]Line, 0, len(c.text.Lines))
	for _, l := range c.text.Lines {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		var o struct{ Log *string }
		if json.Unmarshal([]byte(l.Text), &o) != nil || o.Log == nil {
			return false
		}
		out = append(out, Line{No: l.No, Text: strings.TrimRight(*o.Log, "\r\n")})
	}
	c.text.Lines = out
	c.note("JSON log objects")
	return true
}

// literalNewlines splits a text that was copied out of a string literal: one
// line with several "\n" written out.
func (c *cleaner) literalNewlines(s string) bool {
	if len(c.text.Lines) > 2 || strings.Count(s, `\n`) < 2 {
		return false
	}
	var out []Line
	for _, l := range c.text.Lines {
		for part := range strings.SplitSeq(l.Text, `\n`) {
			if len(out) == maxLines {
				break
			}
			out = append(out, Line{No: l.No, Text: strings.ReplaceAll(part, `\t`, "\t")})
		}
	}
	c.text.Lines = out
	c.note(`line ends written as "\n"`)
	return true
}
