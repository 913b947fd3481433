package pidstat

import (
	"cmp"
	"math"
	"slices"

	"ctxan/parse/evidence"
)

// times follows the time stamps of a capture's samples.
type times struct {
	first, last clock
	seen        bool
	headed      bool // the first stamp is a header's, of the sample before the first rows
	samples     int  // distinct stamps of rows, one after the other
	elapsed     int64
	unclear     bool // a stamp of an unknown form, or one that goes back
	lastRow     clock

	// The first rows have the stamp of their header: without an interval
	// pidstat prints the means since boot.
	sinceBoot bool
}

// header takes the stamp of a header: that of the sample before.
func (t *times) header(c clock) {
	if !t.seen {
		t.headed = true
	}
	t.step(c)
}

// row takes the stamp of a row.
func (t *times) row(c clock) {
	if t.samples > 0 && c == t.lastRow {
		return
	}
	t.sinceBoot = t.sinceBoot || t.samples == 0 && t.headed && c == t.last && c.period >= 0
	t.lastRow = c
	t.samples++
	t.step(c)
}

func (t *times) step(c clock) {
	if !t.seen {
		t.seen, t.first, t.last = true, c, c
		t.unclear = c.period < 0
		return
	}
	if c == t.last {
		return
	}
	d, ok := c.after(t.last)
	t.unclear = t.unclear || !ok
	t.elapsed += d
	t.last = c
}

// window tells how long the capture took. Where no header shows when the first
// interval began (pidstat -h), it was as long as the others.
func (t *times) window(w *evidence.Window, sinceBoot bool) {
	if !t.seen || t.unclear || sinceBoot || t.samples == 0 || t.elapsed == 0 {
		return
	}
	s := float64(t.elapsed)
	if !t.headed {
		s *= float64(t.samples) / float64(t.samples-1)
	}
	w.DurationS = evidence.Some(s)
	if t.first.period == 0 && t.last.sec < 1<<33 {
		start := t.first.sec - (int64(math.Round(s)) - t.elapsed)
		w.StartNS, w.EndNS = evidence.Some(uint64(start)*1e9), evidence.Some(uint64(t.last.sec)*1e9)
	}
}

func sortByLine(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.line, b.line) })
}
