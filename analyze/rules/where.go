package rules

import (
	"path"
	"slices"
	"strconv"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// maxBlocks is how many reasons a sentence lists, each with its own share.
const maxBlocks = 3

// wholeShare: a caller with this part of the waits is the caller of them all.
// Practice: the rest are unwinder mishaps.
const wholeShare = 0.99

// blocks says in which frames switches block, each reason with its own share:
// "50.6 % of the switches block, most often in __wait_for_common (vfork), under
// main; 49.4 %, most often in do_wait (wait for a child), under main".
func blocks(f *analyze.Facts, w *wait) analyze.Text {
	var t analyze.Text
	for i, r := range w.reasons[:min(len(w.reasons), maxBlocks)] {
		if i == 0 {
			t = text("%s of the switches block", percent(r.Share))
		} else {
			t = text("%s; %s", t, percent(r.Share))
		}
		t = text("%s%s%s", t, frameOf(r), under(f, r.Share, r.Reason.ID))
	}
	if n := len(w.reasons) - maxBlocks; n > 0 {
		t = text("%s; %d more reasons", t, n)
	}
	return text("%s.", t)
}

// frameOf names the frame that a reason's switches block in, or the one that
// most of them do, with its own share of all switches.
func frameOf(r *analyze.ReasonFact) analyze.Text {
	switch {
	case r.Frame == "":
		return text(": %s", r.Reason.Label)
	case r.FrameShare >= oneFrame*r.Share:
		return text(" in %s (%s)", code(signature.Base(r.Frame)), r.Reason.Label)
	case r.FrameShare > 0:
		return text("%s (%s of all; %s)", mostly(r.Frame), percent(r.FrameShare), r.Reason.Label)
	}
	return text("%s (%s)", mostly(r.Frame), r.Reason.Label)
}

// oneFrame: a frame with this part of a reason's switches is where they block.
// Practice: the rest are other kernels' names or cut stacks.
const oneFrame = 0.95

// under names the user code that waits of the reasons lie under, with its own
// share where that is not all of them. It never says "called from": a library
// function without a frame pointer hides its direct caller.
func under(f *analyze.Facts, share float64, ids ...string) analyze.Text {
	c := caller(f, ids...)
	switch {
	case c == nil:
		return nil
	case c.CPU:
		return text("; in CPU samples that wait lies under %s (%s of the samples)", place(c), quantity.Percent(c.Share, 2))
	case c.Share >= wholeShare*share:
		return text(", under %s", place(c))
	}
	return text(", %s of all under %s", percent(c.Share), place(c))
}

func place(c *analyze.CallerFact) analyze.Text { return text("%s%s", code(c.Symbol), fileLine(c)) }

// caller is the user code with most weight in stacks that hold one of the
// reasons too; of CPU samples only where no switch names any. Its share is the
// sum over the reasons.
func caller(f *analyze.Facts, ids ...string) *analyze.CallerFact {
	for _, cpu := range []bool{false, true} {
		if c := heaviestCaller(f, cpu, ids); c != nil {
			return c
		}
	}
	return nil
}

func heaviestCaller(f *analyze.Facts, cpu bool, ids []string) *analyze.CallerFact {
	by := map[string]*analyze.CallerFact{}
	var best *analyze.CallerFact
	for i := range f.Callers {
		c := &f.Callers[i]
		if c.CPU != cpu || c.Reason == "" || !slices.Contains(ids, c.Reason) {
			continue
		}
		sum := by[c.Symbol]
		if sum == nil {
			one := *c
			sum, by[c.Symbol] = &one, &one
		} else {
			sum.Share += c.Share
		}
		if best == nil || sum.Share > best.Share {
			best = sum
		}
	}
	return best
}

// heaviestUser is the user code with most weight in a printed profile. Its rows
// do not tell what lies under what, so that it is nobody's caller.
func heaviestUser(f *analyze.Facts) *analyze.CallerFact {
	var best *analyze.CallerFact
	for i := range f.Callers {
		if c := &f.Callers[i]; c.CPU && c.Reason == "" && c.Evid.Line.OK && (best == nil || c.Share > best.Share) {
			best = c
		}
	}
	return best
}

func fileLine(c *analyze.CallerFact) string {
	if c.File == "" {
		return ""
	}
	if c.Line == 0 {
		return " in " + path.Base(c.File)
	}
	return " at " + path.Base(c.File) + ":" + strconv.Itoa(c.Line)
}
