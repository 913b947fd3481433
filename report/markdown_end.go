package report

import (
	"fmt"
	"html"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

func (m *markdown) stacks() {
	s := &m.c.Stacks
	if !hasStacks(s) {
		return
	}
	m.heading(m.say("3 Stacks") + m.from(s.Sources))
	m.reasons()
	m.tree()
	m.topStack()
	m.profile()
	m.callers()
	if t := unresolvedLine(s); t != nil {
		m.gap()
		fmt.Fprintf(m, "%s%s\n", m.say("Unresolved: "), m.text(t))
	}
}

func (m *markdown) reasons() {
	rows := m.c.Stacks.Reasons
	if len(rows) == 0 {
		return
	}
	head, aligns := []string{"Blocked on", "Frame"}, "ll"
	var cols []reasonCol
	for _, c := range reasonCols() {
		if c.has(rows) {
			cols = append(cols, c)
			head, aligns = append(head, c.title), aligns+"r"
		}
	}
	out := [][]string{head}
	for i := range rows {
		frame := absent
		if rows[i].Frame != "" {
			frame = mdCode(rows[i].Frame)
		}
		row := []string{m.plain(rows[i].Label), frame}
		for k := range cols {
			row = append(row, m.plain(cols[k].cell(&rows[i])))
		}
		out = append(out, row)
	}
	m.table(aligns, out...)
}

func (m *markdown) tree() {
	s := &m.c.Stacks
	if len(s.Tree) == 0 {
		return
	}
	var lines []string
	for i := range s.Tree {
		l := &s.Tree[i]
		share := quantity.Percent(l.Share, 1)
		line := pad(7-width(share)) + share + "  " + pad(2*min(l.Depth, 8)) + shown(l.Symbol)
		if place := position(l.File, l.Line); place != "" {
			line += "   " + shown(place)
		}
		if l.Blocks {
			line += m.say("   ← blocks here")
		}
		lines = append(lines, line)
	}
	title := s.TreeTitle
	if title == "" {
		title = "callers first"
	}
	m.gap()
	fmt.Fprintf(m, "%s:\n\n%s", blockStart(capital(m.plain(title))), mdBlock("", lines))
}

// topStack writes the heaviest stack whole, folded.
func (m *markdown) topStack() {
	if len(m.c.Stacks.Top) == 0 {
		return
	}
	s := &m.c.Stacks.Top[0]
	lines := make([]string, len(s.Frames))
	for i, f := range s.Frames {
		lines[i] = shown(f)
	}
	title := html.EscapeString(inert(m.say(stackTitle(s))))
	m.gap()
	fmt.Fprintf(m, "<details><summary>%s</summary>\n\n%s\n</details>\n", capital(title), mdBlock("", lines))
}

func (m *markdown) profile() {
	rows := m.c.Stacks.Profile
	if len(rows) == 0 {
		return
	}
	out := [][]string{{"In the profile", "Children", "Self", "", "Source"}}
	for i := range rows {
		out = append(out, []string{mdCode(rows[i].Symbol), m.plain(printedPct(rows[i].Children)), m.plain(printedPct(rows[i].Self)),
			m.plain(profileReads(&m.c.Stacks, &rows[i])), m.places([]analyze.Evidence{rows[i].Evidence})})
	}
	m.gap()
	m.table("lrrll", out...)
}

func (m *markdown) callers() {
	list := callersApart(&m.c.Stacks)
	if len(list) == 0 {
		return
	}
	out := [][]string{{"Asked by", "At", "Share", "Of", "Waits for"}}
	for i := range list {
		c := &list[i]
		at := ""
		if p := position(c.File, c.Line); p != "" {
			at = mdName(p)
		}
		out = append(out, []string{mdCode(c.Symbol), at, m.plain(quantity.Percent(c.Share, callerDigits(c))), m.plain(weightName(c.Weight)), m.plain(reasonLabel(&m.c.Stacks, c.Reason))})
	}
	m.gap()
	m.table("llrll", out...)
}

func (m *markdown) findings() {
	started := false
	begin := func() {
		if !started {
			m.heading("Findings")
			started = true
		}
	}
	for i := range m.c.Findings {
		f := &m.c.Findings[i]
		verdict := f.ID == m.c.Verdict.Cause
		if verdict && len(f.Shown) == 0 {
			continue
		}
		begin()
		m.finding(f, verdict)
	}
	for _, c := range moreCommands(m.c) {
		begin()
		m.gap()
		fmt.Fprintf(m, "%s%s\n", m.say("Next: "), m.mdCommandWhy(&c))
	}
}

func (m *markdown) finding(f *analyze.Finding, verdict bool) {
	title := "**" + strings.TrimSpace(m.findingTitle(f)) + "**"
	if !verdict && len(f.Summary) > 0 {
		title += m.say(": ") + m.text(f.Summary)
	}
	m.gap()
	fmt.Fprintf(m, "%s\n", title)
	var items []string
	for _, s := range f.Shown {
		items = append(items, m.text(s))
	}
	if !verdict {
		for _, s := range f.Against {
			items = append(items, m.say("Against: ")+m.text(s))
		}
		for i := range f.Advice {
			items = append(items, "→ "+m.text(f.Advice[i].Do))
		}
		for i := range f.Next {
			items = append(items, m.say("Next: ")+m.mdCommandWhy(&f.Next[i]))
		}
	}
	m.list(items)
}

// findingTitle is an id, which stays, and what is said of it.
func (m *markdown) findingTitle(f *analyze.Finding) string {
	id, rest, ok := strings.Cut(findingTitle(f), ", ")
	if !ok {
		return mdPlain(id)
	}
	return mdPlain(id) + m.plain(", "+rest)
}

func (m *markdown) candidates() {
	rows := [][]string{{"", "Candidate", "Fits", "Would show"}}
	for _, r := range m.c.Rivals {
		if r.Status == analyze.RivalCandidate {
			rows = append(rows, []string{decimal(len(rows)), mdPlain(r.ID), m.text(r.Because), m.text(r.Look)})
		}
	}
	if len(rows) > 1 {
		m.heading("Candidates")
		fmt.Fprint(m, m.say("Ranked by fit, not a probability; none shown.")+"\n\n")
		m.table("rlll", rows...)
	}
	m.rejected("Excluded")
}

func (m *markdown) rejected(title string) {
	rows := [][]string{{"Cause", "Result", "Because"}}
	for _, r := range m.c.Rivals {
		if r.Status == analyze.RivalCandidate && cannotTell(&m.c.Verdict) {
			continue
		}
		rows = append(rows, []string{mdPlain(r.ID), m.say(rivalResult(r.Status)), m.text(r.Because)})
	}
	if len(rows) > 1 {
		m.heading(title)
		m.table("lll", rows...)
	}
}

func rivalResult(s analyze.RivalStatus) string {
	switch s {
	case analyze.RivalRejected:
		return "✗ rejected"
	case analyze.RivalCandidate:
		return "○ fits too"
	}
	return "○ not excluded"
}

func (m *markdown) checks() {
	note, passed := checkParts(m.r, m.c)
	if len(note)+len(passed) == 0 {
		return
	}
	m.heading("Checks: " + checkSummary(note, passed))
	var items []string
	for _, k := range note {
		mark := "≠ "
		if k.Status == analyze.CheckMissing {
			mark = "○ "
		}
		items = append(items, mark+m.text(k.Text))
	}
	for _, k := range passed {
		items = append(items, "✓ "+m.text(k.Text))
	}
	m.list(items)
}

func (m *markdown) sources() {
	if len(m.r.Sources) == 0 {
		return
	}
	m.gap()
	fmt.Fprintf(m, "<details><summary>%s</summary>\n\n", m.say("Sources"))
	rows := [][]string{{"File", "Read as", "Window", "Dropped", "SHA-256"}}
	var notes []string
	for i := range m.r.Sources {
		s := &m.r.Sources[i]
		hash := ""
		if s.SHA256 != "" {
			hash = mdCode(shortHash(s.SHA256))
		}
		rows = append(rows, []string{mdName(s.Name), m.plain(s.ReadAs), m.plain(windowText(s)), decimal(s.Dropped), hash})
		for _, n := range s.Notes {
			notes = append(notes, mdName(s.Name)+": "+m.plain(n))
		}
	}
	m.table("llrrl", rows...)
	m.list(notes)
	if line := m.hostLine(); line != "" {
		m.gap()
		fmt.Fprintf(m, "%s\n", line)
	}
	m.gap()
	fmt.Fprint(m, "</details>\n")
}

// hostLine names the machine and the tools, as far as the inputs say.
func (m *markdown) hostLine() string {
	h := host(m.c)
	var parts []string
	if h.Name != "" {
		parts = append(parts, m.opt.Say("Host %s", analyze.Code(mdName(h.Name))))
	}
	if s := strings.TrimSpace(h.Release + " " + h.Arch); s != "" {
		parts = append(parts, "Linux "+mdPlain(s))
	}
	if n, ok := h.CPUs.Get(); ok {
		parts = append(parts, m.say(plural(n, "CPU", "CPUs")))
	}
	var tools []string
	for i := range m.r.Sources {
		if t := m.r.Sources[i].Tool; t != "" {
			tools = appendNew(tools, m.plain(t))
		}
	}
	line := strings.Join(append(parts, tools...), m.say(", "))
	if line != "" {
		line += m.say(".")
	}
	if miss := unnamed(m.c, h); miss != "" {
		line = strings.TrimSpace(line + " " + m.opt.Say("Not in the input: %s.", miss))
	}
	return line
}

func (m *markdown) others() {
	if len(m.r.Cases) < 2 {
		return
	}
	m.heading("Other subjects")
	rows := [][]string{{"Subject", "Verdict", "Confidence", "Switches/s"}}
	for _, c := range m.r.Cases[1:] {
		rateText := absent
		if v, ok := rate(c).Get(); ok {
			rateText = m.plain(quantity.Whole(v))
		}
		rows = append(rows, []string{m.text(c.Subject.Name()), mdPlain(c.Verdict.Cause), m.plain(string(c.Verdict.Confidence)), rateText})
	}
	m.table("lllr", rows...)
	m.gap()
	fmt.Fprintf(m, "%s\n", m.say(othersHint))
}
