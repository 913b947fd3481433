package rules

import (
	"fmt"
	"math"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

func text(format string, args ...any) analyze.Text { return analyze.Textf(format, args...) }

func code(s string) analyze.Code { return analyze.Code(s) }

// upper makes the first letter a capital.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// threadsOf writes "Four threads of netio [58931]", or the subject's own name
// when it is threads, or the thread's name when it is one.
func threadsOf(f *analyze.Facts, ws []waiter) analyze.Text {
	if len(ws) == 1 {
		t := &ws[0].t.Task
		if t.Comm != "" {
			return text("Thread %s [%d]", code(t.Comm), t.TID)
		}
		return text("Thread %d", t.TID)
	}
	head := upper(quantity.Small(len(ws))) + " threads"
	if f.Subject.Kind == analyze.SubjectThreads || f.Subject.Kind == analyze.SubjectUnknown {
		return text("%s", head)
	}
	return text("%s of %s", head, subjectIn(f))
}

// s is the ending of a verb whose subject are n things.
func s(n int) string {
	if n == 1 {
		return "s"
	}
	return ""
}

// rateSpan writes the rates of threads: "14,841 to 17,633 times a second each".
func rateSpan(ws []waiter) string {
	lo, hi := math.Inf(1), 0.0
	for i := range ws {
		lo, hi = min(lo, ws[i].perS), max(hi, ws[i].perS)
	}
	each := ""
	if len(ws) > 1 {
		each = " each"
	}
	a, b := quantity.Whole(lo), quantity.Whole(hi)
	if a == b {
		return times(hi) + each
	}
	return fmt.Sprintf("%s to %s times a second%s", a, b, each)
}

// partOf writes a share of the subject's switches: "90.1 % of its context switches".
func partOf(f *analyze.Facts, share float64) string {
	whose := "its"
	switch {
	case f.Subject.Kind == analyze.SubjectMachine:
		whose = "the machine's"
	case f.Subject.Kind == analyze.SubjectThreads, f.Subject.Kind == analyze.SubjectUnknown:
		whose = "the"
	case plural(f):
		whose = "their"
	}
	return fmt.Sprintf("%s of %s context switches", quantity.Percent(share, 1), whose)
}

// times writes a rate in words: "17,603 times a second".
func times(perS float64) string {
	switch n := quantity.Whole(perS); {
	case perS < 0.5:
		return "less than once a second"
	case n == "1":
		return "once a second"
	default:
		return n + " times a second"
	}
}

// subjectIn names the subject within a sentence; many processes by their number.
func subjectIn(f *analyze.Facts) analyze.Text {
	if n := len(f.Subject.TIDs); n > 3 && !f.Subject.PID.OK {
		kind := "processes"
		if f.Subject.Kind == analyze.SubjectThreads {
			kind = "threads"
		}
		return text("%d %s", n, kind)
	}
	return f.Subject.Name()
}

// plural reports whether the subject's name takes a plural verb; verbS and es
// are the endings of a verb in present tense.
func plural(f *analyze.Facts) bool { return !f.Subject.PID.OK && len(f.Subject.TIDs) > 1 }

func verbS(f *analyze.Facts) string {
	if plural(f) {
		return ""
	}
	return "s"
}

func es(f *analyze.Facts) string {
	if plural(f) {
		return ""
	}
	return "es"
}

// subjectName begins a sentence with the subject.
func subjectName(f *analyze.Facts) analyze.Text {
	n := subjectIn(f)
	if len(n) > 0 && !n[0].Code {
		n = append(analyze.Text{}, n...)
		n[0].S = upper(n[0].S)
	}
	return n
}

// severity is how much the subject's switching may cost, as a severity.
func severity(f *analyze.Facts) string {
	switch f.Macro.ImpactWord {
	case "large":
		return "high"
	case "notable":
		return "medium"
	case "low":
		return "low"
	case "negligible":
		return "info"
	}
	switch {
	case f.Macro.Grade.Rank() >= analyze.GradeSevere.Rank():
		return "high"
	case f.Macro.Grade.Rank() >= analyze.GradeElevated.Rank():
		return "medium"
	}
	return "low"
}

// figure is a figure of layer 1 with its text, when it has a value.
func figure(f *analyze.Facts, id string) (float64, string, bool) {
	fig, ok := f.Macro.Figure(id)
	if !ok {
		return 0, "", false
	}
	return fig.Value.V, fig.Text(), true
}

func some(v float64) evidence.Opt[float64] { return evidence.Some(v) }

// reasonEvidence cites the stacks of some reasons.
func reasonEvidence(rs []*analyze.ReasonFact) []analyze.Evidence {
	var out []analyze.Evidence
	for _, r := range rs[:min(len(rs), maxEvidence)] {
		out = append(out, r.Evidence...)
	}
	return out
}

// percent writes a share with one digit.
func percent(v float64) string { return quantity.Percent(v, 1) }

// sentence puts one text after another; the first may be missing.
func sentence(a, b analyze.Text) analyze.Text {
	if a == nil {
		return b
	}
	return text("%s %s", a, b)
}

// mostly names the frame that most of a group's weight is in, when there is one:
// its own share is not known.
func mostly(frame string) analyze.Text {
	if frame == "" {
		return nil
	}
	return text(", most often in %s", code(signature.Base(frame)))
}

// labels lists reasons, each with its own share: "vfork 26.1 %, tracer stop 25.9 %".
func labels(w *wait) analyze.Text {
	var t analyze.Text
	for i, r := range w.reasons[:min(len(w.reasons), maxBlocks)] {
		one := text("%s %s", r.Reason.Label, percent(r.Share))
		if i == 0 {
			t = one
		} else {
			t = text("%s, %s", t, one)
		}
	}
	return t
}
