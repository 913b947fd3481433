package paste

import (
	"html"
	"regexp"
	"strings"
)

// entity is a character reference that HTML escaping makes.
var entity = regexp.MustCompile(`&(?:lt|gt|amp|quot|apos|nbsp|#[0-9]{1,6}|#x[0-9a-fA-F]{1,5});`)

// pageTag are the tags that pages put around and into preformatted text. Names
// that a tool prints in angle brackets (<idle>, <not counted>) are not there.
var pageTag = regexp.MustCompile(`(?i)</?(pre|code|br|span|div|p|b|i|u|em|strong|font|a|samp|tt|kbd|html|body|table|tbody|tr|td|th|ul|ol|li|blockquote|details|summary|h[1-6])(?:\s[^<>]*)?/?>`)

// pageMark is what only HTML has: without one of these, "<b>" may be a part of
// a C++ name.
var pageMark = regexp.MustCompile(`(?i)</(?:pre|code|span|div|p|samp|tt|kbd|font|td|li|html|body|details|blockquote)>|<br\s*/?>|(?m)^\s*<pre[\s>]`)

// breakTag tells the tags that end a line.
var breakTag = regexp.MustCompile(`(?i)^(?:<br\s*/?|</(?:p|div|tr|li|pre|h[1-6]|summary))>?`)

// html takes tags and character references off a text that was escaped for, or
// copied out of, a web page.
func (c *cleaner) html(s string) bool {
	tags := mayBePage(s) && pageMark.MatchString(s)
	if tags {
		c.splitTags()
		c.note("HTML tags")
	}
	ents := isEscaped(s)
	for range 2 {
		if !ents {
			break
		}
		c.mapLines("HTML entities", func(t string) string {
			if strings.IndexByte(t, '&') < 0 {
				return t
			}
			return entity.ReplaceAllStringFunc(t, unescape)
		})
		ents = strings.Contains(s, "&amp;lt;") || strings.Contains(s, "&amp;gt;")
	}
	return tags || ents || isEscaped(s)
}

// mayBePage is a quick look for what pageMark matches.
func mayBePage(s string) bool {
	return strings.Contains(s, "</") || strings.Contains(s, "<br") || strings.Contains(s, "<BR") ||
		strings.Contains(s, "<pre") || strings.Contains(s, "<PRE")
}

// isEscaped reports whether s has references beside "&amp;", which alone may
// belong to an address.
func isEscaped(s string) bool {
	for _, e := range []string{"&lt;", "&gt;", "&quot;", "&nbsp;", "&apos;", "&amp;lt;", "&amp;gt;"} {
		if strings.Contains(s, e) {
			return true
		}
	}
	return strings.Contains(s, "&#") && numericEntity.MatchString(s)
}

// numericEntity are the references to characters that HTML escaping replaces.
var numericEntity = regexp.MustCompile(`&#(?:0*(?:34|38|39|60|62|160)|[xX]0*(?:22|26|27|3[cCeE]|[aA]0));`)

// unescape decodes one reference, and never to a line end.
func unescape(e string) string {
	switch t := html.UnescapeString(e); t {
	case "\n", "\r", "\x00":
		return " "
	default:
		return t
	}
}

// splitTags removes page tags and ends lines where the page did.
func (c *cleaner) splitTags() {
	out := make([]Line, 0, len(c.text.Lines))
	for _, l := range c.text.Lines {
		if strings.IndexByte(l.Text, '<') < 0 {
			out = append(out, l)
			continue
		}
		t := pageTag.ReplaceAllStringFunc(l.Text, func(tag string) string {
			if breakTag.MatchString(tag) {
				return "\n"
			}
			return ""
		})
		t = strings.TrimSuffix(t, "\n")
		for part := range strings.SplitSeq(t, "\n") {
			if len(out) < maxLines {
				out = append(out, Line{No: l.No, Text: part})
			}
		}
	}
	c.text.Lines = out
}

// codeTag are the code marks of Jira, forums and wikis.
var codeTag = regexp.MustCompile(`^\s*(?:\{(?:code|noformat|panel|quote)(?::[^{}]*)?\}|\[/?(?i:code|pre|quote)(?:=[^\[\]]*)?\])|\{(?:code|noformat)\}\s*$|\[/(?i:code|pre)\]\s*$`)

// markup takes off fences and code marks, with the indentation that a fence
// has in a list.
func (c *cleaner) markup() bool {
	if !c.hasMarkup() {
		return false
	}
	changed, fence := false, -1
	out := c.text.Lines[:0]
	for _, l := range c.text.Lines {
		t, indent, kind := fenceLine(l.Text)
		switch {
		case kind == fenceNone:
			t = dedentTo(l.Text, fence)
		case fence >= 0:
			fence = -1
		case kind == fenceOpen:
			fence = indent
		}
		keep := kind == fenceNone || strings.TrimSpace(t) != ""
		changed = changed || t != l.Text || !keep
		if keep {
			out = append(out, Line{No: l.No, Text: t})
		}
	}
	c.text.Lines = out
	if changed {
		c.note("Markdown or wiki code marks")
	}
	return changed
}

// hasMarkup is a quick look for fences, code marks and inline code.
func (c *cleaner) hasMarkup() bool {
	for _, l := range c.text.Lines {
		s := strings.TrimLeft(l.Text, " \t")
		if s == "" {
			continue
		}
		switch s[0] {
		case '`', '~', '{', '[':
			if _, _, kind := fenceLine(s); kind != fenceNone {
				return true
			}
		}
		if e := s[len(s)-1]; e == '`' || e == '}' || e == ']' {
			if _, _, kind := fenceLine(s); kind != fenceNone {
				return true
			}
		}
	}
	return false
}

type fenceKind int

const (
	fenceNone   fenceKind = iota
	fenceOpen             // opens a block, or closes it
	fenceInline           // a mark beside text: the text stays
)

// fenceLine looks for a code mark in a line and returns what is left of it.
func fenceLine(s string) (rest string, indent int, kind fenceKind) {
	t := strings.TrimLeft(s, " \t")
	indent = len(s) - len(t)
	r := strings.TrimRight(t, " \t")
	if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
		info := strings.TrimLeft(r, r[:1])
		if strings.IndexByte(info, '`') < 0 && isFenceInfo(info) {
			return "", indent, fenceOpen
		}
	}
	if inner := strings.Trim(r, "`"); inner != "" && isTicked(r) {
		return inner, indent, fenceInline
	}
	if r == "" || strings.IndexByte("{[", r[0]) < 0 && strings.IndexByte("}]", r[len(r)-1]) < 0 {
		return s, indent, fenceNone
	}
	if m := codeTag.FindStringIndex(s); m != nil {
		return s[:m[0]] + s[m[1]:], indent, fenceInline
	}
	return s, indent, fenceNone
}

// isFenceInfo reports whether s can be the language and the attributes of a
// fence, and not text.
func isFenceInfo(s string) bool {
	for i, w := range strings.Fields(s) {
		switch {
		case strings.HasPrefix(w, "{") || i > 0 && strings.IndexByte(w, '=') > 0:
		case i > 0 || len(w) > 30 || !isLetter(w[0]) || strings.Trim(w[1:], infoChars) != "":
			return false
		}
	}
	return true
}

// infoChars are those of the names of languages, and of files behind them.
const infoChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_.#:{}="

// isTicked reports whether backticks stand around a line as inline code, or
// open or close a block beside text.
func isTicked(s string) bool {
	head := len(s) - len(strings.TrimLeft(s, "`"))
	tail := len(s) - len(strings.TrimRight(s, "`"))
	return head > 0 && head == tail || head >= 3 && tail == 0 || tail >= 3 && head == 0
}

// dedentTo removes up to n leading spaces.
func dedentTo(s string, n int) string {
	for n > 0 && s != "" && s[0] == ' ' {
		s = s[1:]
		n--
	}
	return s
}
