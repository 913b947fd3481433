package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"ctxan/analyze"
)

// markdown sets one result as GitHub-flavoured Markdown.
type markdown struct {
	bytes.Buffer
	opt Options
	r   *analyze.Result
	c   *analyze.Case
}

// say translates a text of ours.
func (m *markdown) say(s string) string { return m.opt.say(s) }

// plain writes a text of ours, in the language of the report.
func (m *markdown) plain(s string) string { return mdPlain(m.say(s)) }

// text writes a text with its names.
func (m *markdown) text(t analyze.Text) string { return mdText(m.in(t)) }

// in says a text in the language of the report.
func (m *markdown) in(t analyze.Text) analyze.Text { return m.opt.text(t) }

// Markdown writes the report of the primary case as Markdown, in the order of
// [Text], with the formulas and the arithmetic that a terminal has no room for.
// Options matter only for More.
func Markdown(w io.Writer, r *analyze.Result, opt Options) error {
	r = opt.In(r)
	c, err := primary(r)
	if err != nil {
		return err
	}
	m := &markdown{r: r, c: c, opt: opt}
	m.verdict()
	m.chain()
	if cannotTell(&c.Verdict) {
		m.candidates()
	}
	m.advice()
	m.macro()
	m.threads()
	m.stacks()
	m.findings()
	if !cannotTell(&c.Verdict) {
		m.rejected("Rejected")
	}
	m.checks()
	m.sources()
	m.others()
	for _, s := range opt.More {
		m.gap()
		fmt.Fprintf(m, "%s: %s\n", m.say("More"), mdCommand(s))
	}
	_, err = w.Write(m.Bytes())
	return err
}

// gap makes one blank line before what follows.
func (m *markdown) gap() {
	text := bytes.TrimRight(m.Bytes(), "\n")
	m.Truncate(len(text))
	if len(text) > 0 {
		m.WriteString("\n\n")
	}
}

func (m *markdown) heading(s string) {
	m.gap()
	fmt.Fprintf(m, "## %s\n\n", m.say(s))
}

// table writes a table. Aligns are "l" and "r"; cells are Markdown already.
func (m *markdown) table(aligns string, rows ...[]string) {
	for i, r := range rows {
		m.WriteString("|")
		for _, c := range r {
			if i == 0 { // the head is ours
				c = m.say(c)
			}
			m.WriteByte(' ')
			if c != "" {
				m.WriteString(c + " ")
			}
			m.WriteByte('|')
		}
		m.WriteByte('\n')
		if i > 0 {
			continue
		}
		m.WriteByte('|')
		for _, a := range aligns {
			if a == 'r' {
				m.WriteString("--:|")
			} else {
				m.WriteString("---|")
			}
		}
		m.WriteByte('\n')
	}
}

func (m *markdown) verdict() {
	v := &m.c.Verdict
	fmt.Fprintf(m, "# %s: %s\n\n", m.title(), mdPlain(v.Cause))
	if s := m.text(v.Summary); s != "" {
		fmt.Fprintf(m, "**%s**\n\n", s)
	}
	rows := [][]string{{"", ""}, {m.say("Cause"), m.cause()}}
	add := func(label string, t analyze.Text) {
		if len(t) > 0 {
			rows = append(rows, []string{m.say(label), m.text(t)})
		}
	}
	add("Grade", v.Grade)
	add("Impact", v.Impact)
	add("Portrait", v.Portrait)
	for i, a := range v.Against {
		label := "Against"
		if i > 0 {
			label = ""
		}
		add(label, a)
	}
	label := "Would settle it"
	if cannotTell(v) {
		label = "Next"
	}
	for i, c := range settle(m.c) {
		if i > 0 {
			label = ""
		}
		rows = append(rows, []string{m.say(label), m.mdCommandWhy(&c)})
	}
	m.table("ll", rows...)
}

// title names the subject and its host, as far as the inputs do.
func (m *markdown) title() string {
	var s string
	for _, x := range m.in(m.c.Subject.Name()) {
		if x.Code {
			s += mdName(x.S)
		} else {
			s += mdPlain(x.S)
		}
	}
	if h := host(m.c).Name; h != "" {
		s += m.opt.Say(" on %s", analyze.Code(mdName(h)))
	}
	return s
}

func (m *markdown) cause() string {
	v := &m.c.Verdict
	s := mdCode(v.Cause)
	if sev := severity(m.c); sev != "" {
		s += m.opt.Say(", severity %s", sev)
	}
	if v.Confidence != "" && v.Confidence != analyze.ConfidenceNone {
		s += m.opt.Say(", confidence %s", string(v.Confidence))
		if len(v.Ground) > 0 {
			s += m.say(": ") + m.text(v.Ground)
		}
	}
	return s
}

func (m *markdown) mdCommandWhy(c *analyze.Command) string {
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(c.Line), "\n") {
		lines = append(lines, mdCommand(l))
	}
	s := strings.Join(lines, m.say(", then "))
	if len(c.Why) > 0 {
		s += m.say(": ") + m.text(c.Why)
	}
	return s
}

// sentence ends a text with a full stop, unless it ends as a sentence does.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".?!:") || strings.HasSuffix(s, "。") || strings.HasSuffix(s, "：") || strings.HasSuffix(s, "？") {
		return s
	}
	return s + "."
}

// capital begins a label of ours with a capital letter. It is not for texts
// that may begin with a name.
func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

func linkWord(s analyze.LinkStatus) string {
	switch s {
	case analyze.LinkSupports:
		return "✓ supports"
	case analyze.LinkContradicts:
		return "✗ contradicts"
	}
	return "○ missing"
}

// says is what a link of the chain says, with the command that captures it
// where it is missing.
func (m *markdown) says(l *analyze.Link) string {
	says := m.text(l.Title)
	if len(l.Claim) > 0 {
		says += m.say(": ") + m.text(l.Claim)
	}
	if cmd, ok := l.Capture.Get(); ok {
		says = sentence(says) + m.say(" To capture: ") + m.mdCommandWhy(&analyze.Command{Line: cmd})
	}
	return says
}

func (m *markdown) chain() {
	if len(m.c.Chain) == 0 {
		return
	}
	m.heading("Evidence chain: " + chainSummary(m.c.Chain))
	rows := [][]string{{"Layer", "Link", "Says", "Source"}}
	for i := range m.c.Chain {
		l := &m.c.Chain[i]
		var from []string
		for _, f := range l.From {
			from = append(from, mdName(f))
		}
		rows = append(rows, []string{fmt.Sprintf("%d %s", i+1, m.plain(l.Layer)), m.say(linkWord(l.Status)), m.says(l), strings.Join(from, ", ")})
	}
	m.table("llll", rows...)
	m.sums()
}

// sums sets the arithmetic of the cross-checks out in one table.
func (m *markdown) sums() {
	rows := [][]string{{"Cross-check", "Value", "Note", ""}}
	for i := range m.c.Chain {
		for k := range m.c.Chain[i].Arithmetic {
			s := &m.c.Chain[i].Arithmetic[k]
			for j := range s.Rows {
				mark := s.Rows[j].Mark
				if j == len(s.Rows)-1 && mark == analyze.MarkNone {
					mark = s.Mark
				}
				rows = append(rows, []string{m.plain(s.Rows[j].Label), m.plain(s.Rows[j].Text()), m.text(s.Rows[j].Note), m.mdMark(s.Rows[j].Note, mark)})
			}
		}
	}
	if len(rows) > 1 {
		m.gap()
		m.table("lrll", rows...)
	}
}

// mdMark is the sign of a mark, with its word where the note does not say it.
func (m *markdown) mdMark(note analyze.Text, k analyze.Mark) string {
	signs := map[analyze.Mark]string{analyze.MarkAgree: "✓", analyze.MarkDiffer: "≠", analyze.MarkMissing: "○"}
	if markWord(m.say, note, k) == "" {
		return signs[k]
	}
	return strings.TrimSpace(signs[k] + " " + m.say(string(k)))
}

func (m *markdown) advice() {
	if len(m.c.Advice) == 0 {
		return
	}
	m.heading("Advice")
	for i := range m.c.Advice {
		a := &m.c.Advice[i]
		var tail []string
		for _, e := range a.Effects {
			tail = append(tail, strings.TrimSpace(m.plain(e.Label)+" "+m.text(e.Value)))
		}
		if len(a.Price) > 0 {
			tail = append(tail, m.say("price: ")+m.text(a.Price))
		}
		fmt.Fprintf(m, "%d. **%s**", i+1, m.text(a.Do))
		if len(tail) > 0 {
			fmt.Fprintf(m, " %s", capital(strings.Join(tail, m.say("; "))))
		}
		m.WriteByte('\n')
		if a.Sketch != "" {
			m.sketch(a)
		}
	}
}

// sketch writes a code block inside a list item.
func (m *markdown) sketch(a *analyze.Advice) {
	var lines []string
	for _, l := range strings.Split(strings.TrimRight(a.Sketch, "\n"), "\n") {
		lines = append(lines, unitsString(nameUnits(l, false)))
	}
	lang := a.Lang
	for i := range len(lang) {
		if !wordByte(lang[i : i+1]) {
			lang = ""
			break
		}
	}
	m.WriteByte('\n')
	for _, l := range strings.Split(strings.TrimRight(mdBlock(lang, lines), "\n"), "\n") {
		m.WriteString("   " + l + "\n")
	}
	m.WriteByte('\n')
}
