package report

import (
	"fmt"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// host is the machine of a case, by the case or else by its subject.
func host(c *analyze.Case) evidence.Host {
	if c.Host != (evidence.Host{}) {
		return c.Host
	}
	return c.Subject.Host
}

// identity is the line that says what a report is about: "netio [58931] on
// web-07, 8 CPUs, Linux 6.18.44". It names what no input holds.
func identity(c *analyze.Case) analyze.Text {
	t := c.Subject.Name()
	h := host(c)
	if h.Name != "" {
		t = append(t, analyze.Textf(" on %s", analyze.Code(h.Name))...)
	}
	if n, ok := h.CPUs.Get(); ok {
		t = append(t, analyze.Textf(", %s", plural(n, "CPU", "CPUs"))...)
	}
	if h.Release != "" {
		t = append(t, analyze.Textf(", Linux\u00a0%s", analyze.Code(h.Release))...)
	}
	if m := unnamed(c, h); m != "" {
		t = append(t, analyze.Textf(" (%s not in the input)", m)...)
	}
	return t
}

// unnamed is which of the subject's name and the host the inputs do not hold.
func unnamed(c *analyze.Case, h evidence.Host) string {
	var miss []string
	if c.Subject.Kind == analyze.SubjectProcess && c.Subject.Comm == "" {
		miss = append(miss, "name")
	}
	if h.Name == "" {
		miss = append(miss, "host")
	}
	return strings.Join(miss, " and ")
}

// rate is the case's switch rate, as layer 1 has it or else layer 2.
func rate(c *analyze.Case) evidence.Opt[float64] {
	if v := c.Macro.Value("switches_per_s"); v.OK {
		return v
	}
	return c.Layer2.SwitchesPerS
}

// verdictLine is the cause with its confidence.
func verdictLine(v *analyze.Verdict) string {
	s := inert(v.Cause)
	if v.Confidence != "" && v.Confidence != analyze.ConfidenceNone {
		s += ", confidence " + inert(string(v.Confidence))
	}
	return s
}

// cannotTell reports whether the verdict is that there is none.
func cannotTell(v *analyze.Verdict) bool { return v.Cause == "cannot-tell" || v.Cause == "" }

// sourceNames are the names of sources, each once.
func sourceNames(r *analyze.Result, ids []int) []string {
	var out []string
	for _, id := range ids {
		for i := range r.Sources {
			if r.Sources[i].ID == id {
				out = appendNew(out, r.Sources[i].Name)
			}
		}
	}
	return out
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", quantity.Fixed(float64(n), 0), many)
}

// chainSummary counts the links by what they say.
func chainSummary(links []analyze.Link) string {
	var n, missing, against int
	for i := range links {
		switch links[i].Status {
		case analyze.LinkSupports:
			n++
		case analyze.LinkContradicts:
			against++
		default:
			missing++
		}
	}
	s := fmt.Sprintf("%d of %d links", n, len(links))
	if missing+against == 0 {
		return s + " support"
	}
	if against > 0 {
		s += fmt.Sprintf(", %d against", against)
	}
	if missing > 0 {
		s += fmt.Sprintf(", %d missing", missing)
	}
	return s
}

// checkParts splits checks into those to note, in order of weight, and those passed.
func checkParts(r *analyze.Result, c *analyze.Case) (note, passed []analyze.Check) {
	all := append(append([]analyze.Check{}, c.Checks...), r.Checks...)
	for _, want := range []analyze.CheckStatus{analyze.CheckDiffer, analyze.CheckMissing} {
		for _, k := range all {
			if k.Status == want {
				note = append(note, k)
			}
		}
	}
	for _, k := range all {
		if k.Status == analyze.CheckPass {
			passed = append(passed, k)
		}
	}
	return note, passed
}

func checkSummary(note, passed []analyze.Check) string {
	s := fmt.Sprintf("%d passed", len(passed))
	if len(note) > 0 {
		s += fmt.Sprintf(", %d to note", len(note))
	}
	return s
}

// severity of the finding that is the verdict; "" when there is none.
func severity(c *analyze.Case) string {
	for i := range c.Findings {
		if c.Findings[i].ID == c.Verdict.Cause {
			return c.Findings[i].Severity
		}
	}
	return ""
}

// moreCommands are the case's next commands that neither the verdict nor the
// chain has shown.
func moreCommands(c *analyze.Case) []analyze.Command {
	var out []analyze.Command
	seen := map[string]bool{}
	for _, s := range settle(c) {
		seen[s.Line] = true
	}
	for i := range c.Chain {
		seen[c.Chain[i].Capture.V] = true
	}
	for _, n := range c.Next {
		if !seen[n.Line] {
			seen[n.Line] = true
			out = append(out, n)
		}
	}
	return out
}

// settle are the commands of the verdict; without a verdict also the next ones.
func settle(c *analyze.Case) []analyze.Command {
	if len(c.Verdict.Settle) == 0 && cannotTell(&c.Verdict) {
		return c.Next
	}
	return c.Verdict.Settle
}

// missingFigures are the reasons why figures are absent, each with the labels
// of the figures, in order.
func missingFigures(figs []analyze.Figure) (reasons []string, labels map[string][]string) {
	labels = map[string][]string{}
	for i := range figs {
		f := &figs[i]
		if f.Value.OK || f.Missing == "" {
			continue
		}
		reasons = appendNew(reasons, f.Missing)
		labels[f.Missing] = append(labels[f.Missing], f.Label)
	}
	return reasons, labels
}
