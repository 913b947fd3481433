package report

import "strings"

// command writes a command line so that it runs as printed: where it is too
// long it is broken between options, with a backslash. The parts themselves are
// never broken. first goes before the first line, rest before the others.
func (p *page) command(first, rest spans, cmd string) {
	for _, line := range strings.Split(strings.TrimSpace(cmd), "\n") {
		for i, l := range breakCommand(line, p.edge()-first.width(), p.edge()-rest.width()-2) {
			if i == 0 {
				p.line(first, commandSpans(l))
			} else {
				p.line(rest, plain("  "), commandSpans(l))
			}
		}
		first = rest
	}
}

// commandSpans is a command without anything that acts on the terminal. Its
// characters are not mapped to ASCII: it would not run any more.
func commandSpans(s string) spans { return unitSpans(nameUnits(s, false)) }

// breakCommand breaks a command into lines of at most first, then rest columns,
// each but the last with " \" at its end.
func breakCommand(cmd string, first, rest int) []string {
	if width(cmd) <= first {
		return []string{cmd}
	}
	parts := commandParts(cmd, rest-2)
	var lines []string
	cur, room := "", first
	for i, part := range parts {
		need := width(part)
		if i < len(parts)-1 {
			need += 2
		}
		switch {
		case cur == "":
			cur = part
		case width(cur)+1+need <= room:
			cur += " " + part
		default:
			lines = append(lines, cur+` \`)
			cur, room = part, rest
		}
	}
	return append(lines, cur)
}

// commandParts are the places where a command may be broken: before options,
// and between any words of a part that would not fit a line by itself.
func commandParts(cmd string, room int) []string {
	var parts []string
	var cur []string
	flush := func() {
		if len(cur) == 0 {
			return
		}
		if s := strings.Join(cur, " "); width(s) <= room {
			parts = append(parts, s)
		} else {
			parts = append(parts, cur...)
		}
		cur = nil
	}
	rest := false // behind "--": the words are another command's
	for _, w := range shellWords(cmd) {
		if (strings.HasPrefix(w, "-") && !rest) || w == "|" || w == ">" || w == "&&" {
			flush()
		}
		rest = (rest || w == "--") && w != "|" && w != "&&"
		cur = append(cur, w)
	}
	flush()
	return parts
}

// shellWords splits a command at blanks that are neither quoted nor escaped.
// The words keep their quotes.
func shellWords(cmd string) []string {
	var out []string
	var b strings.Builder
	var quote byte
	for i := 0; i < len(cmd); i++ {
		c := cmd[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(cmd):
			b.WriteByte(c)
			i++
			c = cmd[i]
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ':
			if b.Len() > 0 {
				out = append(out, b.String())
				b.Reset()
			}
			continue
		}
		b.WriteByte(c)
	}
	if b.Len() > 0 {
		out = append(out, b.String())
	}
	return out
}
