package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Catalogue holds the texts of one language. It implements analyze.Translator.
type Catalogue struct {
	tag      string // of its head
	exact    map[string]string
	patterns []*pattern // those with most letters first
}

// entry is an English text with its counterpart, and the line it begins in.
type entry struct {
	en, other string
	line      int
}

func read(source string) (*Catalogue, error) {
	list, err := entries(source)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{exact: map[string]string{}, tag: headTag(list)}
	list = slices.DeleteFunc(list, func(e entry) bool { return e.en == "" }) // the head
	for _, e := range list {
		if _, twice := c.exact[e.en]; twice {
			return nil, fmt.Errorf("line %d: %q is there already", e.line, e.en)
		}
		c.exact[e.en] = e.other
	}
	for _, e := range list {
		c.add(e.en, e.other)
		if bare := strings.TrimLeft(e.en, ",;:. "); bare != e.en { // a part by itself
			c.add(bare, strings.TrimLeft(e.other, "，；：。 "))
		}
	}
	slices.SortStableFunc(c.patterns, func(a, b *pattern) int { return b.letters - a.letters })
	return c, nil
}

// add makes a pattern of a text with verbs; one without letters would fit anything.
func (c *Catalogue) add(en, other string) {
	if p := newPattern(en, other); p != nil {
		c.patterns = append(c.patterns, p)
	} else if _, ok := c.exact[en]; !ok && !strings.Contains(en, "%") {
		c.exact[en] = other
	}
}

// entries reads the part of the PO format that is used: comments, msgid, msgstr,
// and strings that go on in the next lines.
func entries(source string) ([]entry, error) {
	var list []entry
	var into *string
	n := 0
	for line := range strings.Lines(source) {
		n++
		line = strings.TrimSpace(line)
		quoted := line
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "msgid "):
			list = append(list, entry{line: n})
			quoted, into = line[len("msgid "):], &list[len(list)-1].en
		case strings.HasPrefix(line, "msgstr ") && len(list) > 0:
			quoted, into = line[len("msgstr "):], &list[len(list)-1].other
		}
		s, err := strconv.Unquote(quoted)
		if err != nil || into == nil {
			return nil, fmt.Errorf("line %d is no part of a catalogue", n)
		}
		*into += s
	}
	for _, e := range list {
		if e.other == "" && e.en != "" {
			return nil, fmt.Errorf("line %d: %q has no counterpart", e.line, e.en)
		}
	}
	return list, nil
}

// headTag is the language that the head of a catalogue names, as HTML writes it:
// "zh-CN" of "Language: zh_CN".
func headTag(list []entry) string {
	for _, e := range list {
		if e.en != "" {
			continue
		}
		for line := range strings.Lines(e.other) {
			if tag, ok := strings.CutPrefix(line, "Language: "); ok {
				return strings.ReplaceAll(strings.TrimSpace(tag), "_", "-")
			}
		}
	}
	return ""
}

// Tag is the language of the texts as a BCP 47 tag: "zh-CN"; of none, English.
func (c *Catalogue) Tag() string {
	if c == nil {
		return "en"
	}
	return c.tag
}

// Format returns the counterpart of a format, or the format. The case of its first
// letter, blanks around it and a colon at its end make no difference.
func (c *Catalogue) Format(en string) string {
	if s, ok := c.exact[en]; ok {
		return s
	}
	bare, before, after := cutSpace(en)
	if s, ok := c.whole(bare); ok {
		return tidy(before + s + after)
	}
	if body, cut := strings.CutSuffix(bare, ":"); cut {
		if s, ok := c.whole(body); ok {
			return tidy(before + s + "：" + after)
		}
	}
	return en
}

// Phrase translates what the program put together: as a whole, by a pattern, or
// part by part. Blanks around it stay; what is not known does.
func (c *Catalogue) Phrase(en string) string {
	bare, before, after := cutSpace(en)
	if s, ok := c.phrase(bare, maxDepth); ok {
		return tidy(before + s + after)
	}
	return en
}

// The most levels of patterns within patterns, and the longest text that is looked
// into: what comes from a capture may be anything.
const (
	maxDepth  = 6
	maxPhrase = 2000
)

func (c *Catalogue) phrase(en string, depth int) (string, bool) {
	if depth <= 0 || len(en) > maxPhrase {
		return en, false
	}
	if s, ok := c.whole(en); ok {
		return s, true
	}
	if !strings.ContainsFunc(en, unicode.IsLetter) {
		return en, false
	}
	for _, end := range [][2]string{{":", "："}, {".", "。"}} {
		if body, cut := strings.CutSuffix(en, end[0]); cut {
			if s, ok := c.whole(body); ok {
				return s + end[1], true
			}
		}
	}
	if s, ok := c.counted(en); ok {
		return s, true
	}
	if s, ok := c.byPattern(en, depth, true); ok {
		return s, true
	}
	if s, ok := c.split(en, separators[0], depth, false); ok {
		return s, true
	}
	if s, ok := c.split(en, comma, depth, true); ok {
		return s, true
	}
	if s, ok := c.byPattern(en, depth, false); ok {
		return s, true
	}
	for _, sep := range separators[1:] {
		if s, ok := c.split(en, sep, depth, sep == and); ok {
			return s, true
		}
	}
	return en, false
}

// byPattern translates a text that a pattern fits. With strict nothing that
// stands at a verb has the marks between sentences, so that a pattern is not held
// against two of them.
func (c *Catalogue) byPattern(en string, depth int, strict bool) (string, bool) {
	r, n := utf8.DecodeRuneInString(en)
	lower := string(unicode.ToLower(r)) + en[n:]
	for _, p := range c.patterns {
		args, ok := p.match(en)
		if !ok && lower != en {
			args, ok = p.match(lower)
		}
		if !ok || strict && slices.ContainsFunc(args, severalSentences) {
			continue
		}
		said, known := make([]string, len(args)), true
		for i, a := range args {
			var ok bool
			said[i], ok = c.part(a, depth-1)
			known = known && (ok || !manyWords(a))
		}
		if known || p.letters >= tellingLetters {
			return p.fill(said), true
		}
	}
	return en, false
}

// manyWords reports whether a text has more words than a name or a unit.
func manyWords(s string) bool {
	n := 0
	for _, w := range strings.Fields(s) {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'-,;:()") == "" {
			n++
		}
	}
	return n > 1
}

// tellingLetters: a pattern of fewer letters ("%s of %s") fits texts that are none
// of ours, and is taken only where what stands at its verbs is known, or one word.
const tellingLetters = 8

func severalSentences(s string) bool {
	return strings.Contains(s, "; ") || strings.Contains(s, ". ") || strings.Contains(pathList.Replace(s), ", ")
}

// pathList takes out what stands between the paths of a list: that is one sentence.
var pathList = strings.NewReplacer(", /", "", ", [", "")

func (c *Catalogue) part(en string, depth int) (string, bool) {
	bare, before, after := cutSpace(en)
	s, ok := c.phrase(bare, depth)
	return before + s + after, ok
}

// counted translates a number of things: "3 captures".
func (c *Catalogue) counted(en string) (string, bool) {
	n, what, ok := strings.Cut(en, " ")
	if !ok || !number(n) {
		return en, false
	}
	for _, verb := range []string{"%s ", "%d "} { // the language may have a word for counting
		if format, ok := c.exact[verb+what]; ok {
			return newPattern(verb+what, format).fill([]string{n}), true
		}
	}
	s, ok := c.whole(what)
	return n + " " + s, ok
}

// whole looks a text up as it is, and with its first letter in the other case.
func (c *Catalogue) whole(en string) (string, bool) {
	s, ok := c.exact[en]
	if ok || en == "" {
		return s, ok
	}
	r, n := utf8.DecodeRuneInString(en)
	other := unicode.ToLower(r)
	if other == r {
		other = unicode.ToUpper(r)
	}
	s, ok = c.exact[string(other)+en[n:]]
	return s, ok
}

// separators are what the program joins texts with, and their counterparts.
var (
	comma      = [2]string{", ", "，"}
	and        = [2]string{" and ", "和"}
	separators = [][2]string{{"; ", "；"}, {": ", "："}, comma, and}
)

// split translates the parts of a text, when it knows any of them, or all.
func (c *Catalogue) split(en string, sep [2]string, depth int, all bool) (string, bool) {
	parts := strings.Split(en, sep[0])
	if len(parts) < 2 {
		return en, false
	}
	known, done := 0, 0
	var out []string
	for i := 0; i < len(parts); {
		s, took, ok := c.longest(parts[i:], sep[0], depth-1)
		out = append(out, s)
		switch {
		case ok:
			known++
		case sep != and && strings.ContainsFunc(s, han): // it is translated already
			done++
		}
		i += took
	}
	return strings.Join(out, sep[1]), known+done == len(out) || known > 0 && !all
}

// mostJoined bounds how many parts are looked up together.
const mostJoined = 4

// longest translates as many of the first parts as are known together, or one.
func (c *Catalogue) longest(parts []string, sep string, depth int) (s string, took int, ok bool) {
	for n := min(len(parts), mostJoined); n > 1; n-- {
		together := strings.Join(parts[:n], sep)
		if s, ok := c.whole(together); ok {
			return s, n, true
		}
		if s, ok := c.byPattern(together, depth, true); ok {
			return s, n, true
		}
	}
	s, ok = c.part(parts[0], depth)
	return s, 1, ok
}

func cutSpace(s string) (bare, before, after string) {
	bare = strings.TrimLeft(s, " ")
	before = s[:len(s)-len(bare)]
	bare = strings.TrimRight(bare, " ")
	return bare, before, s[len(before)+len(bare):]
}

// Typeset takes out blanks between characters that are set without. before is what
// stands before the text, 0 for nothing.
func (c *Catalogue) Typeset(before rune, s string) string { return typeset(before, s) }

func tidy(s string) string { return typeset(0, s) }

func typeset(start rune, s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		before, after := start, rune(0)
		if i > 0 {
			before = runes[i-1]
		}
		if i < len(runes)-1 {
			after = runes[i+1]
		}
		if r == ' ' && (stop(before) || stop(after) || han(before) && han(after)) {
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func han(r rune) bool { return unicode.Is(unicode.Han, r) || stop(r) }

// stop reports whether r is a full-width mark of punctuation, which brings its
// own space.
func stop(r rune) bool {
	return strings.ContainsRune("，。；：、（）“”？！", r) && r > 0x2fff
}
