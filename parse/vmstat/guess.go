package vmstat

import (
	"strconv"
	"strings"

	"ctxan/parse/paste"
)

// headerless is the layout of rows whose titles were not copied: the 17
// columns of vmstat and vmstat -a since procps 3.2.
var headerless = layout{columns: 17, r: 0, b: 1, in: 10, cs: 11, us: 12, sy: 13, id: 14, wa: 15, st: 16, guessed: true}

// guessLayout returns the layout of a text that has rows of vmstat and no
// titles: two rows at least, each of 17 whole numbers whose last five are
// shares of the CPUs' time. nil: it has none, or it has titles.
func guessLayout(t *paste.Text) *layout {
	rows := 0
	for _, l := range t.Lines {
		f := strings.Fields(l.Text)
		if _, ok := parseTitles(f); ok {
			return nil
		}
		if isGuessedRow(f) {
			rows++
		}
	}
	if rows < 2 {
		return nil
	}
	l := headerless
	return &l
}

// isGuessedRow reports whether a line can be a row by itself. The shares are
// rounded, so their sum can be 3 off.
func isGuessedRow(f []string) bool {
	if len(f) != headerless.columns {
		return false
	}
	sum := 0
	for i, w := range f {
		if !isWhole(w) {
			return false
		}
		if i > headerless.cs {
			v, err := strconv.Atoi(w)
			if err != nil || v > 100 {
				return false
			}
			sum += v
		}
	}
	return sum >= 97 && sum <= 103
}
