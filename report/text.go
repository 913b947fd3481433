package report

import (
	"fmt"
	"io"
	"strings"

	"ctxan/analyze"
)

// textReport sets one result for a terminal.
type textReport struct {
	*page
	r *analyze.Result
	c *analyze.Case
}

// Text writes the report of the primary case for a terminal: verdict, chain,
// advice, the three layers, findings with their rivals, checks, sources. No
// line is longer than Options.Width, except a command or a part of one that
// cannot be broken.
func Text(w io.Writer, r *analyze.Result, opt Options) error {
	r = opt.In(r)
	c, err := primary(r)
	if err != nil {
		return err
	}
	t := &textReport{page: newPage(opt), r: r, c: c}
	t.head()
	t.verdict()
	t.chain()
	if cannotTell(&c.Verdict) {
		t.candidates()
	}
	t.advice()
	t.macro()
	t.threads()
	t.stacks()
	t.findings()
	if !cannotTell(&c.Verdict) {
		t.rejected("REJECTED")
	}
	t.checks()
	t.sources()
	t.others()
	t.more(opt.More)
	return t.flush(w)
}

func (t *textReport) head() {
	t.para(plain("ctxan   "), plain("        "), t.text(identity(t.c), maxName))
	t.blank()
}

// section begins a section: its name, what it comes to, and its sources at the
// right edge, or on a line of their own where there is no room.
func (t *textReport) section(title, note string, sources []string) {
	if note != "" {
		title += "   "
	}
	t.rightNote(t.prose(title), t.prose(note), plain("  "), sources)
}

// rightNote writes a line with names at its right edge. Where it must be
// wrapped, the lines but the first stand behind the indent.
func (t *textReport) rightNote(lead, body, indent spans, names []string) {
	right := t.list(names, t.edge()-indent.width()-5)
	room := t.edge() - lead.width() - body.width() - right.width()
	if len(names) > 0 && room >= 2 {
		t.line(lead, body, plain(pad(room)), right)
		return
	}
	t.paraTo(lead, indent, body, t.edge())
	if len(names) > 0 {
		t.para(indent, indent, append(t.prose("from "), right...))
	}
}

// maxList is how many names a list shows before it counts the others.
const maxList = 4

func (t *textReport) list(names []string, w int) spans {
	var out spans
	for i, n := range names {
		if i == maxList && len(names) > maxList+1 {
			return append(out, t.prose(fmt.Sprintf(" and %d more", len(names)-i))...)
		}
		if i > 0 {
			out = append(out, t.prose(", ")...)
		}
		out = append(out, t.nameIn(n, w)...)
	}
	return out
}

func (t *textReport) verdict() {
	v := &t.c.Verdict
	lead, head, ground := t.prose("VERDICT   "), t.titled(verdictLine(v)), v.Ground
	if len(ground) > 0 && !cannotTell(v) {
		whole := append(append(head[:len(head):len(head)], t.prose(": ")...), t.text(ground, maxName)...)
		if lead.width()+whole.width() <= t.proseEdge() {
			head, ground = whole, nil
		}
	}
	if v.Confidence.Rank() == 0 {
		ground = nil // there is nothing to be sure of
	}
	t.para(lead, plain("  "), head)
	t.para(plain("  "), plain("  "), t.text(v.Summary, maxName))
	t.blank()
	t.fact("ground", ground)
	t.fact("grade", v.Grade)
	t.fact("impact", v.Impact)
	t.fact("portrait", v.Portrait)
	for i, a := range v.Against {
		label := "against"
		if i > 0 {
			label = ""
		}
		t.fact(label, a)
	}
	if cannotTell(v) {
		t.nextBlock("next", settle(t.c))
	} else {
		t.commands("settle", settle(t.c))
		t.blank()
	}
}

func (t *textReport) fact(label string, body analyze.Text) {
	if len(body) > 0 {
		t.labelled(label, t.text(body, maxName))
	}
}

// commands writes commands behind a label, each with what it gives below it.
func (t *textReport) commands(label string, cmds []analyze.Command) {
	rest := plain(pad(labelWidth))
	for i, c := range cmds {
		first := rest
		if i == 0 {
			first = t.label12(label)
		}
		t.command(first, rest, c.Line)
		if len(c.Why) > 0 {
			t.para(rest, rest, t.text(c.Why, maxName))
		}
	}
}

// nextBlock writes what to run when nothing can be told: the reason, then the
// commands on lines of their own.
func (t *textReport) nextBlock(label string, cmds []analyze.Command) {
	indent := plain("    ")
	t.blank()
	for i, c := range cmds {
		switch {
		case len(c.Why) > 0 && i == 0:
			t.labelled(label, append(t.text(c.Why, maxName), span{s: ":"}))
			t.blank()
		case len(c.Why) > 0:
			t.blank()
			t.para(plain(pad(labelWidth)), plain(pad(labelWidth)), append(t.text(c.Why, maxName), span{s: ":"}))
			t.blank()
		case i == 0:
			t.line(t.label12(label))
			t.blank()
		}
		t.command(indent, indent, c.Line)
	}
	if len(cmds) > 0 {
		t.blank()
	}
}

func (t *textReport) chain() {
	if len(t.c.Chain) == 0 {
		return
	}
	t.section("CHAIN", chainSummary(t.c.Chain), nil)
	for i := range t.c.Chain {
		t.link(i)
	}
	t.blank()
}

// rail is the line that joins a link to the next one: broken where the next
// link is not there.
func (t *textReport) rail(i int) spans {
	switch {
	case i == len(t.c.Chain)-1:
		return plain("       ")
	case t.c.Chain[i].Status == analyze.LinkSupports && t.c.Chain[i+1].Status == analyze.LinkSupports:
		return append(plain("  "), append(t.sign("│", styleNone), span{s: "    "})...)
	}
	return append(plain("  "), append(t.sign("┆", styleGap), span{s: "    "})...)
}

func (t *textReport) linkMark(s analyze.LinkStatus) spans {
	switch s {
	case analyze.LinkSupports:
		return t.sign("✓", styleOK)
	case analyze.LinkContradicts:
		return t.sign("✗", styleBad)
	}
	return t.sign("○", styleGap)
}

func (t *textReport) link(i int) {
	l := &t.c.Chain[i]
	rail := t.rail(i)
	lead := append(plain("  "), t.linkMark(l.Status)...)
	lead = append(lead, t.prose(fmt.Sprintf(" %d  ", i+1))...)
	from := l.From
	if l.Status == analyze.LinkMissing {
		from = []string{t.say("missing")}
	}
	t.rightNote(lead, t.text(l.Title, maxName), rail, from)
	if len(l.Claim) > 0 {
		t.para(rail, rail, t.text(l.Claim, maxName))
	}
	t.sums(l.Arithmetic, rail)
	if cmd, ok := l.Capture.Get(); ok {
		t.capture(cmd, rail)
	}
	if i < len(t.c.Chain)-1 {
		t.line(rail)
	}
}

// capture writes the command that captures a missing layer, or refers to it
// where the verdict has printed it already. A command of several lines has no
// rail before it, so that it can be copied.
func (t *textReport) capture(cmd string, rail spans) {
	for _, s := range settle(t.c) {
		if s.Line == cmd {
			words := shellWords(cmd)
			before, after, _ := strings.Cut(t.say("the %s command above"), "%s")
			t.para(rail, rail, append(append(t.set(before), commandSpans(strings.Join(words[:min(2, len(words))], " "))...), t.set(after)...))
			return
		}
	}
	if strings.Contains(cmd, "\n") || width(cmd) > t.edge()-rail.width() {
		rail = plain(pad(rail.width()))
	}
	t.command(rail, rail, cmd)
}

// sumWidth is the columns from a label to the end of its value.
const sumWidth = 40

// sums sets comparisons out line by line, all of a link alike.
func (t *textReport) sums(sums []analyze.Sum, rail spans) {
	labelW, valueW := 0, 0
	for i := range sums {
		for k := range sums[i].Rows {
			row := &sums[i].Rows[k]
			labelW = max(labelW, t.prose(row.Label).width())
			valueW = max(valueW, t.prose(row.Text()).width())
		}
	}
	indent := append(append(spans{}, rail...), span{s: "  "})
	labelW = min(max(labelW, sumWidth-2-valueW), max(t.edge()-indent.width()-valueW-2, 12))
	if len(sums) > 0 {
		t.line(rail)
	}
	for i := range sums {
		for k := range sums[i].Rows {
			mark := sums[i].Rows[k].Mark
			if k == len(sums[i].Rows)-1 && mark == analyze.MarkNone {
				mark = sums[i].Mark
			}
			t.sumRow(&sums[i].Rows[k], mark, indent, labelW, valueW)
		}
	}
}

func (t *textReport) sumRow(row *analyze.SumRow, mark analyze.Mark, indent spans, labelW, valueW int) {
	label, value := t.shorten(t.prose(row.Label), labelW), t.prose(row.Text())
	first := append(append(spans{}, indent...), label...)
	first = append(first, span{s: pad(labelW - label.width() + 2 + valueW - value.width())})
	first = append(first, value...)
	note := t.markedNote(row.Note, mark)
	if len(note) == 0 {
		t.line(first)
		return
	}
	first = append(first, span{s: "   "})
	rest := append(append(spans{}, indent...), span{s: pad(first.width() - indent.width())})
	if t.edge()-first.width() < 16 { // a narrow page: the note goes below
		t.line(first)
		rest = append(append(spans{}, indent...), span{s: "  "})
		first = rest
	}
	t.paraTo(first, rest, note, t.edge())
}

// markedNote is a note behind its mark, which is also said as a word.
func (t *textReport) markedNote(note analyze.Text, mark analyze.Mark) spans {
	body := t.text(note, maxName)
	var sign spans
	switch mark {
	case analyze.MarkAgree:
		sign = t.sign("✓ ", styleOK)
	case analyze.MarkDiffer:
		sign = t.sign("≠ ", styleBad)
	case analyze.MarkMissing:
		sign = t.sign("○ ", styleGap)
	default:
		return body
	}
	return append(sign, append(t.set(markWord(t.say, note, mark)), body...)...)
}

// markWord is the word of a mark where the note does not say it itself.
func markWord(say func(string) string, note analyze.Text, mark analyze.Mark) string {
	word := say(string(mark))
	switch {
	case strings.HasPrefix(strings.ToLower(note.String()), word):
		return ""
	case len(note) > 0:
		return word + say(", ")
	}
	return word
}

func (t *textReport) advice() {
	if len(t.c.Advice) == 0 {
		return
	}
	t.section("ADVICE", "", nil)
	for i := range t.c.Advice {
		t.remedy(i+1, &t.c.Advice[i])
	}
	t.blank()
}

func (t *textReport) remedy(n int, a *analyze.Advice) {
	first := t.prose(fmt.Sprintf("  %d. ", n))
	t.para(first, plain(pad(first.width())), t.text(a.Do, maxName))
	effects := a.Effects
	if len(a.Price) > 0 {
		effects = append(effects[:len(effects):len(effects)], analyze.Effect{Label: "price", Value: a.Price})
	}
	labelW := 0
	for _, e := range effects {
		labelW = max(labelW, t.prose(e.Label).width())
	}
	labelW = min(labelW, 30)
	for _, e := range effects {
		label := t.shorten(t.prose(e.Label), labelW)
		lead := append(plain("       "), append(label, span{s: pad(labelW - label.width() + 3)})...)
		rest := plain(pad(lead.width()))
		if t.edge()-lead.width() < 20 {
			t.line(lead)
			lead, rest = plain("         "), plain("         ")
		}
		t.para(lead, rest, t.text(e.Value, maxName))
	}
}
