package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ctxan/analyze"
)

func setTicket(t *testing.T, r *analyze.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Ticket(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTicketGolden(t *testing.T) {
	for name, r := range results() {
		golden(t, name+".ticket.md", setTicket(t, r))
	}
}

// lines counts lines as people do.
func lines(b []byte) int { return bytes.Count(b, []byte("\n")) }

// TestTicketIsShort: whatever there is to say, and whatever names are in it.
func TestTicketIsShort(t *testing.T) {
	all := results()
	for _, n := range hostileNames() {
		all[n] = hostile(n)
	}
	many := hostile("many")
	c := many.Cases[0]
	for range 6 {
		c.Advice = append(c.Advice, c.Advice...)
		c.Rivals = append(c.Rivals, c.Rivals...)
		c.Verdict.Against = append(c.Verdict.Against, c.Verdict.Against...)
		c.Verdict.Settle = append(c.Verdict.Settle, analyze.Command{Line: "a\nb\nc"})
		c.Checks = append(c.Checks, c.Checks...)
		many.Cases = append(many.Cases, c)
		many.Sources = append(many.Sources, many.Sources...)
	}
	all["many"] = many
	told := *many
	cant := *c
	cant.Verdict.Cause = "cannot-tell"
	for i := range cant.Rivals {
		cant.Rivals[i].Status = analyze.RivalStatus([]string{"candidate", "rejected", "not-excluded"}[i%3])
	}
	told.Cases = append([]*analyze.Case{&cant}, many.Cases...)
	all["many candidates"] = &told
	for name, r := range all {
		if n := lines(setTicket(t, r)); n > TicketLines {
			t.Errorf("%q: %d lines\n%s", name, n, setTicket(t, r))
		}
	}
}

// TestTicketShape: as TestMarkdownShape.
func TestTicketShape(t *testing.T) {
	for _, name := range hostileNames() {
		want := shape(setTicket(t, hostile(strings.Repeat("n", max(len(name), 1)))))
		got := shape(setTicket(t, hostile(name)))
		if strings.Contains(name, "\n") { // a command of two lines is two commands
			want = slices.DeleteFunc(want, isCode)
			got = slices.DeleteFunc(got, isCode)
		}
		if i := firstDifference(want, got); i >= 0 && strings.TrimSpace(name) != "" {
			t.Errorf("%q: part %d: want %q, got %q\n%s", name, i, at2(want, i), at2(got, i), setTicket(t, hostile(name)))
		}
	}
}

func isCode(part string) bool { return strings.HasPrefix(part, "code of ") }
