package report

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"ctxan/analyze"
	"ctxan/report/lang"
)

// style is the meaning of a span. A terminal shows it as a colour; everything
// that a style says is said by words or marks as well.
type style uint8

const (
	styleNone   style = iota
	styleVol          // voluntary
	styleInvol        // involuntary
	styleOK           // supports, agrees
	styleBad          // contradicts, differs
	styleGap          // missing, rejected
	styleEscape       // an escape in a name
)

var styleSGR = [...]string{"", "34", "33", "32", "31", "2", "7"}

// span is a run of characters of one style.
type span struct {
	s  string
	st style
}

type spans []span

func (ss spans) width() int {
	w := 0
	for _, s := range ss {
		w += width(s.s)
	}
	return w
}

// styled gives spans without a style one; escapes keep theirs.
func (ss spans) styled(st style) spans {
	out := make(spans, len(ss))
	for i, s := range ss {
		if s.st == styleNone {
			s.st = st
		}
		out[i] = s
	}
	return out
}

func plain(s string) spans { return spans{{s: s}} }

func pad(n int) string { return strings.Repeat(" ", max(n, 0)) }

// page collects the lines of a text report.
type page struct {
	buf   bytes.Buffer
	width int // columns of the terminal
	ascii bool
	color bool
	lang  *lang.Catalogue
	gap   bool // a blank line is due before the next one
}

func newPage(opt Options) *page {
	return &page{width: opt.width(), ascii: opt.ASCII, color: opt.Color, lang: opt.Lang}
}

// edge is the last column that is used: one is left free, because a full line
// wraps on some terminals.
func (p *page) edge() int { return p.width - 1 }

// proseEdge bounds running text, which is hard to read in very long lines.
func (p *page) proseEdge() int { return min(p.edge(), 100) }

func (p *page) flush(w io.Writer) error {
	_, err := w.Write(p.buf.Bytes())
	return err
}

// line writes one line. Trailing blanks are left out.
func (p *page) line(parts ...spans) {
	var all spans
	for _, ss := range parts {
		all = append(all, ss...)
	}
	for len(all) > 0 {
		last := &all[len(all)-1]
		if last.s = strings.TrimRight(last.s, " "); last.s != "" {
			break
		}
		all = all[:len(all)-1]
	}
	p.fillGap()
	for _, s := range all {
		p.write(s)
	}
	p.buf.WriteByte('\n')
}

// blank asks for a blank line before the next one. Several are one, and there
// is none at the beginning and at the end.
func (p *page) blank() { p.gap = true }

func (p *page) fillGap() {
	if p.gap && p.buf.Len() > 0 {
		p.buf.WriteByte('\n')
	}
	p.gap = false
}

func (p *page) write(s span) {
	text := s.s
	if p.ascii {
		text = strings.ReplaceAll(text, string(nbsp), " ")
	}
	if sgr := styleSGR[s.st]; p.color && sgr != "" {
		text = "\x1b[" + sgr + "m" + text + "\x1b[0m"
	}
	p.buf.WriteString(text)
}

// sayf formats a text of ours in the language of the report.
func (p *page) sayf(format string, args ...any) string {
	return Options{Lang: p.lang}.Say(format, args...)
}

// name sets a name from a capture, in at most maxName columns.
func (p *page) name(s string) spans { return p.nameIn(s, maxName) }

func (p *page) nameIn(s string, w int) spans { return unitSpans(fitName(s, w, p.ascii)) }

// prose sets a text of ours, in the language of the report.
func (p *page) prose(s string) spans { return p.set(p.say(s)) }

// set sets a text as it is: an id, or what has been translated.
func (p *page) set(s string) spans { return unitSpans(proseUnits(s, p.ascii)) }

// say translates a text of ours.
func (p *page) say(s string) string {
	if p.lang == nil {
		return s
	}
	return p.lang.Phrase(s)
}

// sign sets a mark or another fixed text of ours with a style.
func (p *page) sign(s string, st style) spans { return p.prose(s).styled(st) }

// text sets a text with its names, each in at most w columns.
func (p *page) text(t analyze.Text, w int) spans {
	if p.lang != nil {
		t = t.In(p.lang)
	}
	var out spans
	for _, s := range t {
		if s.Code {
			out = append(out, p.nameInProse(s.S, w)...)
		} else {
			out = append(out, p.set(s.S)...)
		}
	}
	return out
}

// nameInProse is a name of at most w columns in running text. On a narrow page a
// C++ name loses qualifiers; any other is broken where the line ends.
func (p *page) nameInProse(s string, w int) spans {
	if room := p.edge() - 16; len(qualifiers(s)) > 0 && len(s) > room {
		w = min(w, room)
	}
	return p.nameIn(s, w)
}

func unitSpans(us []unit) spans {
	var out spans
	var b strings.Builder
	esc := false
	flush := func() {
		if b.Len() == 0 {
			return
		}
		st := styleNone
		if esc {
			st = styleEscape
		}
		out = append(out, span{b.String(), st})
		b.Reset()
	}
	for _, u := range us {
		if u.esc != esc {
			flush()
			esc = u.esc
		}
		b.WriteString(u.s)
	}
	flush()
	return out
}

// para writes wrapped text: the first line behind first, the others behind
// rest, none beyond the prose edge.
func (p *page) para(first, rest, body spans) {
	p.paraTo(first, rest, body, p.proseEdge())
}

func (p *page) paraTo(first, rest, body spans, edge int) {
	for i, l := range wrap(body, edge-first.width(), edge-rest.width()) {
		if i == 0 {
			p.line(first, l)
		} else {
			p.line(rest, l)
		}
	}
}

// wrap breaks a text at blanks into lines of at most first and then rest
// columns. No-break spaces do not break; a word that is too long is cut up.
func wrap(body spans, first, rest int) []spans {
	first, rest = max(first, 1), max(rest, 1)
	var lines []spans
	var cur spans
	room, used := first, 0
	breakLine := func() {
		lines = append(lines, cur)
		cur, used, room = nil, 0, rest
	}
	for _, next := range words(body) {
		word, blank := next.body, 1
		if next.joined {
			blank = 0
		}
		w := word.width()
		if used > 0 && used+blank+w > room {
			breakLine()
		}
		for w > room { // used is 0 here
			head, tail := splitSpans(word, room)
			cur = head
			breakLine()
			word, w = tail, tail.width()
		}
		if used > 0 && !next.joined {
			cur = append(cur, span{s: " "})
			used++
		}
		cur = append(cur, word...)
		used += w
	}
	return append(lines, cur)
}

// word is a part of a text that is not broken unless it is too long for a line.
type word struct {
	body   spans
	joined bool // to the one before, without a blank
}

// words splits spans at blanks, and where Chinese may be broken.
func words(body spans) []word {
	var out []word
	var cur word
	end := func(joined bool) {
		if cur.body != nil {
			out = append(out, cur)
			cur = word{joined: joined}
		}
	}
	last := rune(0)
	for _, s := range body {
		for i, part := range strings.Split(s.s, " ") {
			if i > 0 {
				end(false)
				last = 0
			}
			from := 0
			for at, r := range part {
				if mayBreak(last, r) {
					if at > from {
						cur.body = append(cur.body, span{part[from:at], s.st})
					}
					end(true)
					from = at
				}
				last = r
			}
			if from < len(part) {
				cur.body = append(cur.body, span{part[from:], s.st})
			}
		}
	}
	end(false)
	return out
}

// mayBreak reports whether a line may end between two characters: beside a wide
// one, but not before what closes and not behind what opens.
func mayBreak(before, r rune) bool {
	if before == 0 || r < utf8.RuneSelf && before < utf8.RuneSelf || runeWidth(before) < 2 && runeWidth(r) < 2 {
		return false
	}
	return before != nbsp && r != nbsp && !strings.ContainsRune("（“‘《「([{", before) && !strings.ContainsRune("，。、；：？！）”’》」%‰…,.;:?!)]}", r)
}

// splitSpans cuts spans after at most w columns, and after one character at least.
func splitSpans(ss spans, w int) (head, tail spans) {
	for i, s := range ss {
		for j, r := range s.s {
			rw := runeWidth(r)
			if rw > w && (j > 0 || i > 0) {
				if j > 0 {
					head = append(head, span{s.s[:j], s.st})
				}
				return head, append(spans{{s.s[j:], s.st}}, ss[i+1:]...)
			}
			w -= rw
		}
		head = append(head, s)
	}
	return head, nil
}

// labelled writes "  label     text", wrapped behind the label's column.
func (p *page) labelled(label string, body spans) {
	p.para(p.label12(label), plain(pad(labelWidth)), body)
}

// labelWidth is the column behind the labels of a block.
const labelWidth = 12

// label12 is a label, filled up to that column.
func (p *page) label12(label string) spans {
	s := append(plain("  "), p.prose(label)...)
	return append(s, span{s: pad(max(labelWidth-s.width(), 1))})
}
