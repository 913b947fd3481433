package report

import (
	"fmt"
	"io"
	"strings"

	"ctxan/analyze"
)

// TicketLines is how many lines a ticket has at most.
const TicketLines = 40

// How much of each part a ticket has.
const (
	ticketAdvice   = 3
	ticketCommands = 3
	ticketAgainst  = 3
	ticketRivals   = 6
	ticketChecks   = 3
	ticketOthers   = 4
)

// Ticket writes the primary case as Markdown of at most [TicketLines] lines, for
// a ticket: the verdict, the chain, what to do, what speaks against it and what
// settles it, what was rejected. Lines are as long as they have to be; parts
// that are cut say by how much. Of the options only Lang matters.
func Ticket(w io.Writer, r *analyze.Result, opt Options) error {
	r = opt.In(r)
	c, err := primary(r)
	if err != nil {
		return err
	}
	t := &ticket{markdown{r: r, c: c, opt: opt}}
	t.head()
	t.evidence()
	t.agreement()
	if cannotTell(&c.Verdict) {
		t.candidates()
	} else {
		t.fix()
	}
	t.against()
	t.settle()
	t.rivals()
	t.failedChecks()
	t.others()
	t.origin()
	_, err = w.Write(t.Bytes())
	return err
}

// ticket sets a result as a short Markdown.
type ticket struct{ markdown }

// bold is the name of a part, before what it holds.
func (t *ticket) bold(name string) string { return "**" + t.say(name) + "**" + t.say(": ") }

// para writes a paragraph of one line.
func (t *ticket) para(line string) {
	if line != "" {
		t.gap()
		fmt.Fprintf(t, "%s\n", line)
	}
}

func (t *ticket) head() {
	v := &t.c.Verdict
	fmt.Fprintf(t, "### %s: %s", t.title(), mdPlain(v.Cause))
	if n, ok := rate(t.c).Get(); ok {
		fmt.Fprint(t, t.opt.Say(", %s switches/s", mdPlain(analyze.FormatValue(n, analyze.UnitPerS, 0))))
	}
	t.WriteByte('\n')
	if s := t.text(v.Summary); s != "" {
		t.para("**" + s + "**")
	}
	parts := []string{t.say("Cause") + " " + t.cause()}
	add := func(label string, s analyze.Text) {
		if len(s) > 0 {
			parts = append(parts, t.say(label)+" "+t.text(s))
		}
	}
	add("Grade", v.Grade)
	add("Impact:", v.Impact)
	for i := range parts {
		parts[i] = sentence(parts[i])
	}
	t.para(strings.Join(parts, " "))
}

// evidence is the chain, a row a layer.
func (t *ticket) evidence() {
	if len(t.c.Chain) == 0 {
		return
	}
	rows := [][]string{{"Layer", "", "Says"}}
	for i := range t.c.Chain {
		l := &t.c.Chain[i]
		layer := fmt.Sprintf("%d %s", i+1, t.plain(l.Layer))
		if len(l.From) > 0 {
			layer = fmt.Sprintf("%d %s", i+1, t.names(l.From, 2))
		}
		sign, _, _ := strings.Cut(linkWord(l.Status), " ")
		rows = append(rows, []string{layer, sign, t.says(l)})
	}
	t.gap()
	t.table("lll", rows...)
}

// names lists names, and counts those beyond most.
func (t *ticket) names(list []string, most int) string {
	var out []string
	for _, s := range list[:min(len(list), most)] {
		out = append(out, mdName(s))
	}
	return t.andMore(out, len(list), ", ")
}

// andMore joins what is shown of n parts.
func (t *ticket) andMore(shown []string, n int, sep string) string {
	sep = t.say(sep)
	s := strings.Join(shown, sep)
	if more := n - len(shown); more > 0 {
		s += sep + t.opt.Say("and %d more", more)
	}
	return s
}

// agreement is what the cross-checks came to: of each, the two sides and their
// difference.
func (t *ticket) agreement() {
	var agree, differ []string
	for i := range t.c.Chain {
		for k := range t.c.Chain[i].Arithmetic {
			s := &t.c.Chain[i].Arithmetic[k]
			switch s.Mark {
			case analyze.MarkAgree:
				agree = append(agree, t.mdSum(s))
			case analyze.MarkDiffer:
				differ = append(differ, t.mdSum(s))
			}
		}
	}
	if len(differ) > 0 {
		t.para(t.say("≠ The layers differ: ") + strings.Join(differ, t.say("; ")))
	}
	if len(agree) > 0 {
		t.para(t.say("✓ The layers agree: ") + strings.Join(agree, t.say("; ")))
	}
}

// mdSum is the end of a sum on one line.
func (t *ticket) mdSum(s *analyze.Sum) string {
	rows := s.Rows[max(len(s.Rows)-3, 0):]
	parts := make([]string, len(rows))
	for i := range rows {
		parts[i] = t.plain(rows[i].Label) + " " + t.plain(rows[i].Text())
	}
	if len(rows) > 0 && len(rows[len(rows)-1].Note) > 0 {
		parts[len(parts)-1] += " (" + t.text(rows[len(rows)-1].Note) + ")"
	}
	return strings.Join(parts, ", ")
}

// fix is the advice, to be ticked off.
func (t *ticket) fix() {
	list := t.c.Advice
	if len(list) == 0 {
		return
	}
	t.para("**" + t.say("Fix") + "**")
	t.WriteByte('\n')
	for i := range list[:min(len(list), ticketAdvice)] {
		a := &list[i]
		var tail []string
		for _, e := range a.Effects {
			tail = append(tail, strings.TrimSpace(t.plain(e.Label)+" "+t.text(e.Value)))
		}
		if len(a.Price) > 0 {
			tail = append(tail, t.say("price: ")+t.text(a.Price))
		}
		fmt.Fprintf(t, "- [ ] %s\n", strings.TrimSpace(sentence(t.text(a.Do))+" "+capital(strings.Join(tail, t.say("; ")))))
	}
}

// candidates are the causes that fit, when nothing decides.
func (t *ticket) candidates() {
	n := 0
	for _, r := range t.c.Rivals {
		if r.Status != analyze.RivalCandidate {
			continue
		}
		if n++; n == 1 {
			t.para(t.say("**Candidates**, by fit, not a probability; none shown"))
			t.WriteByte('\n')
		}
		if n <= ticketAdvice {
			fmt.Fprintf(t, "%d. %s%s%s\n", n, mdCode(r.ID), t.say(": "), t.text(r.Because))
		}
	}
	if n > ticketAdvice {
		fmt.Fprintf(t, "%d. %s\n", ticketAdvice+1, t.opt.Say("and %d more", n-ticketAdvice))
	}
}

func (t *ticket) against() {
	list := t.c.Verdict.Against
	var out []string
	for _, s := range list[:min(len(list), ticketAgainst)] {
		out = append(out, t.text(s))
	}
	if len(out) > 0 {
		t.para(t.bold("Against") + t.andMore(out, len(list), "; "))
	}
}

// settle are the commands that decide.
func (t *ticket) settle() {
	var lines []string
	for _, c := range settle(t.c) {
		for _, l := range strings.Split(strings.TrimSpace(c.Line), "\n") {
			lines = append(lines, unitsString(nameUnits(l, false)))
		}
	}
	if len(lines) == 0 {
		return
	}
	title := "To settle it"
	if cannotTell(&t.c.Verdict) {
		title = "Next"
	}
	if len(lines) > ticketCommands {
		title = "**" + t.say(title) + "**" + t.opt.Say(" (%d of %d commands)", ticketCommands, len(lines)) + t.say(":")
		lines = lines[:ticketCommands]
	} else {
		title = strings.TrimRight(t.bold(title), " ")
	}
	t.para(title)
	t.gap()
	t.WriteString(mdBlock("sh", lines))
}

// rivals are the causes that are not it, and those that may be.
func (t *ticket) rivals() {
	var out, open []string
	rejected := 0
	for _, r := range t.c.Rivals {
		switch r.Status {
		case analyze.RivalRejected:
			if rejected++; rejected <= ticketRivals {
				out = append(out, mdPlain(r.ID)+" ("+t.text(r.Because)+")")
			}
		case analyze.RivalNotExcluded:
			open = append(open, mdPlain(r.ID))
		}
	}
	if len(out) > 0 {
		t.para(t.bold("Rejected") + t.andMore(out, rejected, ", "))
	}
	if len(open) > 0 {
		t.para(t.bold("Not excluded") + strings.Join(open, t.say(", ")))
	}
}

// failedChecks are those to note; they are never left out silently.
func (t *ticket) failedChecks() {
	note, _ := checkParts(t.r, t.c)
	var out []string
	for i := range note[:min(len(note), ticketChecks)] {
		sign := "≠ "
		if note[i].Status == analyze.CheckMissing {
			sign = "○ "
		}
		out = append(out, sign+t.text(note[i].Text))
	}
	if len(out) > 0 {
		t.para(t.bold("Checks") + t.andMore(out, len(note), "; "))
	}
}

func (t *ticket) others() {
	if len(t.r.Cases) < 2 {
		return
	}
	list := t.r.Cases[1:]
	var out []string
	for _, c := range list[:min(len(list), ticketOthers)] {
		out = append(out, t.text(c.Subject.Name())+" ("+mdPlain(c.Verdict.Cause)+")")
	}
	t.para(t.bold("Other subjects") + t.andMore(out, len(list), ", "))
}

// origin is what the report was made of.
func (t *ticket) origin() {
	var names []string
	for i := range t.r.Sources {
		names = appendNew(names, t.r.Sources[i].Name)
	}
	line := t.hostLine()
	if len(names) > 0 {
		line = strings.TrimSpace(line + t.say(" Read: ") + t.names(names, 6) + t.say("."))
	}
	t.para(line)
}
