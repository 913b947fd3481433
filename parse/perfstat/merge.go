package perfstat

import "math"

// mergeSummaries joins each block of intervals with the block that sums it up,
// where one follows: perf stat --summary prints the totals after the last
// interval. A block that merely counts the same events is another measurement.
func mergeSummaries(blocks []*block) []*block {
	var out []*block
	for _, b := range blocks {
		if n := len(out); n > 0 && sumsUp(b, out[n-1]) {
			prev := out[n-1]
			b.timed, b.summary = prev.timed, true
			b.line = prev.line
			b.votes.point += prev.votes.point
			b.votes.comma += prev.votes.comma
			if b.command == "" {
				b.command = prev.command
			}
			out[n-1] = b
			continue
		}
		out = append(out, b)
	}
	return out
}

// sumsUp reports whether b holds the totals of the intervals of prev: the same
// events, and nothing between the two or equal sums.
func sumsUp(b, prev *block) bool {
	if len(prev.timed) == 0 || len(prev.cells) > 0 || len(b.timed) > 0 || len(b.cells) == 0 || b.style != prev.style {
		return false
	}
	in := map[string]bool{}
	for i := range prev.timed {
		in[prev.timed[i].ev.raw] = true
	}
	for i := range b.cells {
		if !in[b.cells[i].ev.raw] {
			return false
		}
	}
	return b.headerGap != gapText || sameTotals(b, prev)
}

// sameTotals compares the sums of counted events, which differ only where
// events were multiplexed.
func sameTotals(b, prev *block) bool {
	quiet := func(int, error) {}
	whole := (&block{style: b.style, cells: b.cells, votes: b.votes}).evidence(quiet)
	sums := (&block{style: prev.style, timed: prev.timed, votes: prev.votes}).evidence(quiet)
	equal := 0
	for i := range whole.Counters {
		c := &whole.Counters[i]
		for j := range sums.Counters {
			s := &sums.Counters[j]
			if s.Key() != c.Key() || s.Status != c.Status || s.Value == 0 {
				continue
			}
			if math.Abs(s.Value-c.Value) > 0.01*math.Abs(c.Value) {
				return false
			}
			equal++
		}
	}
	return equal > 0
}
