package lang

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// verbs match the verbs of a format.
var verbs = regexp.MustCompile(`%(?:\[(\d+)\])?([+#]?[0-9.]*[a-zA-Z])`)

// pattern is an English format that texts are held against, and its counterpart.
type pattern struct {
	pieces  []string // of the English text, between the verbs
	kinds   []string // the verbs
	other   []string // the counterpart, between its verbs
	takes   []int    // which argument each of its verbs takes, from 0
	letters int      // of the pieces
}

// newPattern returns nil for a text without verbs, and for one without letters.
func newPattern(en, other string) *pattern {
	p := &pattern{}
	p.pieces, p.takes, p.kinds = CutFormat(en)
	p.other, p.takes, _ = CutFormat(other)
	for _, s := range p.pieces {
		for _, r := range s {
			if unicode.IsLetter(r) {
				p.letters++
			}
		}
	}
	if len(p.kinds) == 0 || p.letters == 0 {
		return nil
	}
	return p
}

// CutFormat takes a format apart: the texts around its verbs, of each verb the
// argument that it takes and its kind.
func CutFormat(f string) (pieces []string, takes []int, kinds []string) {
	const percent = "\ufdd2"
	f = strings.ReplaceAll(f, "%%", percent)
	next, from := 0, 0
	for _, at := range verbs.FindAllStringSubmatchIndex(f, -1) {
		pieces = append(pieces, strings.ReplaceAll(f[from:at[0]], percent, "%"))
		if at[2] >= 0 {
			n, _ := strconv.Atoi(f[at[2]:at[3]])
			next = n - 1
		}
		takes, kinds = append(takes, next), append(kinds, f[at[4]:at[5]])
		next, from = next+1, at[1]
	}
	return append(pieces, strings.ReplaceAll(f[from:], percent, "%")), takes, kinds
}

// match returns what stands at the verbs. A piece is found at its first place
// behind the one before it; the last is the end.
func (p *pattern) match(s string) ([]string, bool) {
	last := len(p.pieces) - 1
	if !strings.HasPrefix(s, p.pieces[0]) || !strings.HasSuffix(s, p.pieces[last]) || len(s) < len(p.pieces[0])+len(p.pieces[last]) {
		return nil, false
	}
	s = s[len(p.pieces[0]) : len(s)-len(p.pieces[last])]
	args := make([]string, 0, last)
	for _, piece := range p.pieces[1:last] {
		i := strings.Index(s, piece)
		if i < 0 {
			return nil, false
		}
		args = append(args, s[:i])
		s = s[i+len(piece):]
	}
	args = append(args, s)
	if p.pieces[0] == "" && strings.Contains(args[0], ": ") {
		return nil, false // the text before the colon is of another format, around this one
	}
	for i, a := range args {
		if p.kinds[i] == "d" && !number(a) {
			return nil, false
		}
	}
	return args, true
}

func number(s string) bool {
	return strings.Trim(s, "0123456789,") == "" && strings.ContainsAny(s, "0123456789")
}

// fill sets what stands at the verbs into the counterpart.
func (p *pattern) fill(args []string) string {
	var b strings.Builder
	for i, s := range p.other {
		b.WriteString(s)
		if i < len(p.takes) && p.takes[i] < len(args) {
			b.WriteString(args[p.takes[i]])
		}
	}
	return b.String()
}
