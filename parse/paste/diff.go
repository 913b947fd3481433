package paste

import (
	"strconv"
	"strings"
)

const noteDiff = "diff signs"

// diff takes the signs off a text that is a diff as a whole, and leaves the
// diff's own lines out. Removed and added lines both stay, in their order: a
// before and an after.
func (c *cleaner) diff() bool {
	hunks, signs, ok := c.diffShape()
	if !ok || signs < 3 {
		return false
	}
	out := c.text.Lines[:0]
	for _, l := range c.text.Lines {
		if hunks && isDiffMeta(l.Text) {
			continue
		}
		if l.Text != "" {
			l.Text = l.Text[1:]
		}
		out = append(out, l)
	}
	c.text.Lines = out
	c.note(noteDiff)
	return true
}

// diffShape counts the lines with a sign. ok is false as soon as a line cannot
// be of a diff. Without hunk headers every line must have a sign.
func (c *cleaner) diffShape() (hunks bool, signs int, ok bool) {
	plain := 0
	for _, l := range c.text.Lines {
		s := l.Text
		switch {
		case s == "":
		case isDiffMeta(s):
			hunks = hunks || strings.HasPrefix(s, "@@ ")
		case s[0] == '+' || s[0] == '-':
			if isRule(s) || isFoldedRow(s) {
				return false, 0, false
			}
			signs++
		case s[0] == ' ':
			plain++
		default:
			return false, 0, false
		}
	}
	return hunks, signs, hunks || plain == 0
}

func isDiffMeta(s string) bool {
	for _, p := range []string{"diff --git ", "index ", "--- a/", "+++ b/", "--- /dev/null", "@@ ", "new file mode ", `\ No newline`} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// isRule is a line of dashes below a table's head.
func isRule(s string) bool {
	return len(s) > 4 && strings.Trim(s, "- ") == ""
}

// isFoldedRow is a row of perf report's browser, where + and - tell whether a
// call chain can be unfolded or is.
func isFoldedRow(s string) bool {
	f := strings.Fields(s[1:])
	return len(f) > 1 && strings.HasSuffix(f[0], "%") && isNumber(f[0])
}

// numbering takes line numbers off, as from cat -n or grep -n: each line has
// the next number, from the first to the last.
func (c *cleaner) numbering() bool {
	next, n := 0, 0
	var sep byte
	for _, l := range c.text.Lines {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		no, at := lineNumber(l.Text)
		if at == 0 || n > 0 && (no < next || no > next+8 || l.Text[at-1] != sep) {
			return false
		}
		sep = l.Text[at-1]
		next = no + 1
		n++
	}
	if n < 5 {
		return false
	}
	for i := range c.text.Lines {
		l := &c.text.Lines[i]
		if _, at := lineNumber(l.Text); at > 0 {
			l.Text = l.Text[at:]
		}
	}
	c.note("line numbers")
	return true
}

// lineNumber reads a number and its separator (a tab, ":" or "|") and returns
// where the line goes on. A time of day is no line number.
func lineNumber(s string) (no, at int) {
	i := 0
	for i < len(s) && s[i] == ' ' {
		i++
	}
	from := i
	for i < len(s) && isDigit(s[i]) && i-from < 8 {
		i++
	}
	if i == from || i == len(s) || strings.IndexByte("\t:|", s[i]) < 0 {
		return 0, 0
	}
	if s[i] == ':' && i+1 < len(s) && isDigit(s[i+1]) {
		return 0, 0
	}
	no, _ = strconv.Atoi(s[from:i])
	return no, i + 1
}
