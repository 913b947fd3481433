package report

import (
	"fmt"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// findings writes what the verdict rests on, and the other findings whole.
func (t *textReport) findings() {
	started := false
	for i := range t.c.Findings {
		f := &t.c.Findings[i]
		verdict := f.ID == t.c.Verdict.Cause
		if verdict && len(f.Shown) == 0 {
			continue
		}
		if !started {
			t.section("FINDINGS", "", nil)
			started = true
		}
		t.finding(f, verdict)
	}
	if cmds := moreCommands(t.c); len(cmds) > 0 {
		if !started {
			t.section("FINDINGS", "", nil)
			started = true
		}
		t.commands("next", cmds)
	}
	if started {
		t.blank()
	}
}

// finding writes one finding. Of the verdict, the summary, the objections, the
// advice and the commands stand above.
func (t *textReport) finding(f *analyze.Finding, verdict bool) {
	indent := plain("    ")
	t.para(plain("  "), indent, t.titled(findingTitle(f)))
	if !verdict && len(f.Summary) > 0 {
		t.para(indent, indent, t.text(f.Summary, maxName))
	}
	for _, s := range f.Shown {
		t.item(t.sign("–", styleNone), s)
	}
	if verdict {
		return
	}
	for _, s := range f.Against {
		t.item(t.sign("–", styleNone), analyze.Textf("against: %s", s))
	}
	for i := range f.Advice {
		t.item(t.sign("→", styleNone), f.Advice[i].Do)
	}
	for _, n := range f.Next {
		t.command(indent, indent, n.Line)
	}
}

func findingTitle(f *analyze.Finding) string {
	s := f.ID
	if f.Severity != "" {
		s += ", severity " + f.Severity
	}
	if f.Confidence != "" && f.Confidence != analyze.ConfidenceNone {
		s += ", confidence " + string(f.Confidence)
	}
	return s
}

// titled sets an id and what is said of it behind the first comma.
func (p *page) titled(s string) spans {
	id, rest, ok := strings.Cut(s, ", ")
	if !ok {
		return p.set(s)
	}
	return append(p.set(id), p.prose(", "+rest)...)
}

// item writes a text behind a mark, as part of a finding.
func (t *textReport) item(mark spans, body analyze.Text) {
	first := append(append(plain("    "), mark...), span{s: " "})
	t.para(first, plain(pad(first.width())), t.text(body, maxName))
}

// rivalWidth is the column of a rival's reason, for the ids that there are.
func (t *textReport) rivalWidth(lead int) int {
	w := 20
	for _, r := range t.c.Rivals {
		w = max(w, t.prose(r.ID).width()+2)
	}
	return lead + min(w, 24)
}

// rejected writes the causes that were weighed and are not the verdict: each
// with the figure that rejects it, or with what is not in the input.
func (t *textReport) rejected(title string) {
	started := false
	at := t.rivalWidth(4)
	for _, r := range t.c.Rivals {
		if r.Status == analyze.RivalCandidate && cannotTell(&t.c.Verdict) {
			continue
		}
		if !started {
			t.section(title, "", nil)
			started = true
		}
		first := append(append(plain("  "), t.rivalMark(r.Status)...), span{s: " "})
		t.rival(first, at, r.ID, rivalBecause(&r))
	}
	if started {
		t.blank()
	}
}

func (t *textReport) rivalMark(s analyze.RivalStatus) spans { return t.sign(rivalSign(s), styleGap) }

func rivalSign(s analyze.RivalStatus) string {
	if s == analyze.RivalRejected {
		return "✗"
	}
	return "○"
}

// rivalBecause is the reason, behind what became of the rival where the mark
// alone does not say it.
func rivalBecause(r *analyze.Rival) analyze.Text {
	word := ""
	switch r.Status {
	case analyze.RivalNotExcluded:
		word = "not excluded"
	case analyze.RivalCandidate:
		word = "fits too"
	}
	switch {
	case word == "" || strings.HasPrefix(r.Because.String(), word):
		return r.Because
	case len(r.Because) == 0:
		return analyze.Textf("%s", word)
	}
	return analyze.Textf("%s: %s", word, r.Because)
}

// rival writes an id and a reason beside it; on narrow pages below it.
func (t *textReport) rival(first spans, at int, id string, because analyze.Text) {
	lead := append(first, t.set(id)...)
	if t.width < 60 {
		t.line(lead)
		t.para(plain("      "), plain("      "), t.text(because, maxName))
		return
	}
	fill := max(at-lead.width(), 1)
	t.para(append(lead, span{s: pad(fill)}), plain(pad(at)), t.text(because, maxName))
}

// candidates writes what could be the cause, when nothing decides it.
func (t *textReport) candidates() {
	n := 0
	for _, r := range t.c.Rivals {
		if r.Status != analyze.RivalCandidate {
			continue
		}
		if n == 0 {
			t.section("CANDIDATES", "ranked by fit, not a probability; none shown", nil)
		}
		n++
		at := t.rivalWidth(4)
		t.rival(t.prose(fmt.Sprintf("  %d ", n)), at, r.ID, r.Because)
		if len(r.Look) > 0 {
			if t.width < 60 {
				at = 6
			}
			first := append(plain(pad(at)), t.prose("→ ")...)
			t.para(first, plain(pad(first.width())), t.text(r.Look, maxName))
		}
	}
	if n > 0 {
		t.blank()
	}
	t.rejected("EXCLUDED")
}

func (t *textReport) checks() {
	note, passed := checkParts(t.r, t.c)
	if len(note)+len(passed) == 0 {
		return
	}
	t.section("CHECKS", checkSummary(note, passed), nil)
	for _, k := range note {
		mark := t.sign("≠", styleBad)
		if k.Status == analyze.CheckMissing {
			mark = t.sign("○", styleGap)
		}
		t.check(mark, k.Text)
	}
	if len(passed) > 0 {
		t.check(t.sign("✓", styleOK), joinTexts(passed))
	}
	t.blank()
}

func (t *textReport) check(mark spans, body analyze.Text) {
	first := append(append(plain("  "), mark...), span{s: " "})
	t.para(first, plain("    "), t.text(body, maxName))
}

// joinTexts puts the texts of checks in one line.
func joinTexts(checks []analyze.Check) analyze.Text {
	var out analyze.Text
	for i := range checks {
		if i > 0 {
			out = append(out, analyze.Span{S: "; "})
		}
		out = append(out, checks[i].Text...)
	}
	return out
}

// maxSources is how many inputs are listed one by one.
const maxSources = 20

func (t *textReport) sources() {
	if len(t.r.Sources) == 0 {
		return
	}
	t.section("SOURCES", "", nil)
	tab := table{bare: true, cols: []column{{least: 10}, {gap: 2, least: 10, keep: 10}, {right: true, gap: 2, keep: 8}, {right: true, gap: 2, keep: 12}, {gap: 2, keep: 4, from: wideWidth}}}
	for i := range t.r.Sources {
		if i == maxSources && len(t.r.Sources) > maxSources+1 {
			break
		}
		s := &t.r.Sources[i]
		tab.add(t.nameCell(s.Name, 40), cell{text: t.prose(s.ReadAs)}, cell{text: t.prose(windowText(s))},
			cell{text: t.prose(droppedText(s.Dropped))}, cell{text: t.prose(shortHash(s.SHA256))})
	}
	tab.render(t.page, plain("  "))
	if n := len(t.r.Sources) - len(tab.rows); n > 0 {
		t.para(plain("  "), plain("  "), t.prose(fmt.Sprintf("and %d more: --format json lists them", n)))
	}
	t.sourceNotes()
	t.blank()
}

// sourceNotes writes what readers had to say, each once, with its sources.
func (t *textReport) sourceNotes() {
	var notes []string
	from := map[string][]string{}
	for i := range t.r.Sources {
		for _, n := range t.r.Sources[i].Notes {
			notes = appendNew(notes, n)
			from[n] = appendNew(from[n], t.r.Sources[i].Name)
		}
	}
	for _, n := range notes {
		body := append(t.list(from[n], maxName), t.prose(": "+n)...)
		t.para(plain("  "), plain("    "), body)
	}
}

func windowText(s *analyze.SourceInfo) string {
	v, ok := s.WindowS.Get()
	if !ok {
		return ""
	}
	return quantity.With(quantity.Fixed(v, 3), "s")
}

func droppedText(n int) string {
	if n == 0 {
		return ""
	}
	return quantity.Fixed(float64(n), 0) + " dropped"
}

// shortHash is the ends of a hash.
func shortHash(h string) string {
	if len(h) <= 16 {
		return h
	}
	return h[:8] + "…" + h[len(h)-6:]
}

// others names the other subjects, one line each.
func (t *textReport) others() {
	if len(t.r.Cases) < 2 {
		return
	}
	t.section("OTHER SUBJECTS", "", nil)
	tab := table{bare: true, cols: []column{{least: 12}, {gap: 2, least: 12, hard: true}, {gap: 2, keep: 5}, {right: true, gap: 2, keep: 10}}}
	for _, c := range t.r.Cases[1:] {
		rateText := absent
		if v, ok := rate(c).Get(); ok {
			rateText = quantity.PerS(v)
		}
		conf := ""
		if k := c.Verdict.Confidence; k != "" && k != analyze.ConfidenceNone {
			conf = "confidence " + string(k)
		}
		tab.add(cell{text: t.text(c.Subject.Name(), 40)}, cell{text: t.set(c.Verdict.Cause)}, cell{text: t.prose(conf)}, cell{text: t.prose(rateText)})
	}
	tab.render(t.page, plain("  "))
	t.para(plain("  "), plain("  "), t.prose(othersHint))
	t.blank()
}

const othersHint = "Each in full: give its files alone, or read all cases with --format json."

func (t *textReport) more(cmds []string) {
	for i, c := range cmds {
		first := t.prose("  more: ")
		if i > 0 {
			first = plain("        ")
		}
		t.command(first, plain("        "), c)
	}
}
