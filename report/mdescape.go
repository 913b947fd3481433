package report

import (
	"strings"

	"ctxan/analyze"
)

// mdPlain writes a text of ours, which may hold what came in from a capture, so
// that Markdown and HTML take it for plain characters. A vertical bar becomes an
// entity, because tables are split before anything else is read; an at sign a
// code span, because sites make mentions and addresses of it after reading.
func mdPlain(s string) string {
	var b strings.Builder
	us := proseUnits(s, false)
	for i := range us {
		b.WriteString(mdUnit(us, i))
	}
	return b.String()
}

func mdUnit(us []unit, i int) string {
	u := us[i]
	switch {
	case u.esc: // \x1b: the backslash is to be seen
		return `\` + u.s
	case len(u.s) != 1:
		return u.s
	}
	switch u.s {
	case "&":
		return "&amp;"
	case "<": // before a digit it opens nothing
		if !digitAt(us, i+1) {
			return "&lt;"
		}
	case "[", "]": // ids in brackets are no links: there is nothing to refer to
		if !inBrackets(us, i) {
			return `\` + u.s
		}
	case "|":
		return "&#124;"
	case "@":
		return "`@`"
	case "\\", "`", "*", "#", "~", "$":
		return `\` + u.s
	case "_":
		// Between letters and digits it is plain in any case, and easier to read
		// in the source without a backslash.
		if i == 0 || i == len(us)-1 || !wordByte(us[i-1].s) || !wordByte(us[i+1].s) {
			return `\_`
		}
	case ":": // of a bare link
		if i+2 < len(us) && us[i+1].s == "/" && us[i+2].s == "/" {
			return `\:`
		}
	case ".":
		if i >= 3 && strings.EqualFold(unitsString(us[i-3:i]), "www") {
			return `\.`
		}
	}
	return u.s
}

func digitAt(us []unit, i int) bool {
	return i >= 0 && i < len(us) && len(us[i].s) == 1 && us[i].s[0] >= '0' && us[i].s[0] <= '9'
}

// inBrackets reports whether the bracket at i is of digits in brackets with a
// blank, or nothing, on either side: "[58931]".
func inBrackets(us []unit, i int) bool {
	open, end := i, i
	for digitAt(us, open-1) {
		open--
	}
	for digitAt(us, end+1) {
		end++
	}
	if us[i].s == "]" {
		open--
	} else {
		end++
	}
	blank := func(k int) bool { return k < 0 || k >= len(us) || us[k].s == " " }
	return end-open > 1 && open >= 0 && end < len(us) && us[open].s == "[" && us[end].s == "]" && blank(open-1) && blank(end+1)
}

func wordByte(s string) bool {
	return len(s) == 1 && (s[0] >= '0' && s[0] <= '9' || s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// blockStart is Markdown that begins a paragraph or a list item, and nothing
// else: what would begin a list or underline a heading is escaped.
func blockStart(md string) string {
	md = strings.TrimLeft(md, " ")
	if md == "" {
		return md
	}
	if strings.IndexByte("-+=>", md[0]) >= 0 {
		return `\` + md
	}
	n := 0
	for n < len(md) && md[n] >= '0' && md[n] <= '9' {
		n++
	}
	if n > 0 && n < len(md) && (md[n] == '.' || md[n] == ')') && (n+1 == len(md) || md[n+1] == ' ') {
		return md[:n] + `\` + md[n:]
	}
	return md
}

// mdCode writes a name as a code span; one that a code span cannot hold in a
// table, because of a vertical bar, is written as plain characters.
func mdCode(s string) string {
	s = shown(s)
	if strings.Contains(s, "|") || strings.TrimSpace(s) == "" {
		return mdPlain(s)
	}
	return codeSpan(s)
}

// codeSpan fences a text with more backticks than it has in a row.
func codeSpan(s string) string {
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if s == "" {
		return ""
	}
	if s[0] == '`' || s[len(s)-1] == '`' || (s[0] == ' ' && s[len(s)-1] == ' ') {
		s = " " + s + " "
	}
	return fence + s + fence
}

func longestRun(s string, c byte) int {
	most, n := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	return most
}

// mdName writes the name of a task or a file: plain where it is made of
// letters, digits and the joints between them, otherwise as a code span.
func mdName(s string) string {
	if s == "" {
		return absent
	}
	for i := 0; i < len(s); i++ {
		inner := i > 0 && i < len(s)-1 && strings.IndexByte("_-./:", s[i]) >= 0
		if !wordByte(s[i:i+1]) && !inner {
			return mdCode(s)
		}
	}
	return mdPlain(shown(s))
}

// mdText writes a text with its names.
func mdText(t analyze.Text) string {
	return strings.TrimSpace(t.Set(mdPlain, mdCode))
}

// mdBlock writes lines as a code block that they cannot end.
func mdBlock(lang string, lines []string) string {
	n := 2
	for _, l := range lines {
		n = max(n, longestRun(l, '`'))
	}
	fence := strings.Repeat("`", n+1)
	return fence + lang + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

// mdCommand writes a command: as a code span where that can hold it.
func mdCommand(cmd string) string {
	s := unitsString(nameUnits(strings.TrimSpace(cmd), false))
	if strings.Contains(s, "|") {
		return mdPlain(s)
	}
	return codeSpan(s)
}
