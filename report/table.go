package report

import (
	"math"
	"strings"
)

// bar is a cell that is drawn: lengths as fractions of the longest bar of the
// column. The hatched part follows the solid one.
type bar struct{ solid, hatched float64 }

// cell is one cell of a text table.
type cell struct {
	text spans
	bar  bar
	name string // of a text that is a name: how to shorten it
}

// nameCell is a cell of a name, in at most w columns.
func (p *page) nameCell(name string, w int) cell {
	if name == "" {
		return cell{text: p.prose(absent)}
	}
	return cell{text: p.nameIn(name, w), name: name}
}

// column is a column of a text table. A page that is too narrow loses the
// columns of the lowest keep first, then shortens what may shrink.
type column struct {
	head  string
	right bool
	gap   int  // blanks before it
	keep  int  // 0 is never left out
	from  int  // the page width from which on it is shown
	least int  // columns that it may shrink to; 0: it does not
	hard  bool // it shrinks only when nothing else helps
	bar   bool
	most  int // of a bar
}

// leastBar is the shortest scale that a bar is drawn on.
const leastBar = 4

// table is a text table. Cells of columns that are left out are ignored.
type table struct {
	cols []column
	rows [][]cell
	bare bool // without a head
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// render writes the table, each line behind the indent, and reports whether it
// drew anything hatched.
func (t *table) render(p *page, indent spans) (hatched bool) {
	widths := t.fit(p, p.edge()-indent.width())
	if !t.bare {
		head := make([]cell, len(t.cols))
		for i, c := range t.cols {
			head[i] = cell{text: p.prose(c.head)}
		}
		t.row(p, indent, widths, head, true)
	}
	for _, r := range t.rows {
		hatched = t.row(p, indent, widths, r, false) || hatched
	}
	return hatched
}

func (t *table) row(p *page, indent spans, widths []int, cells []cell, head bool) (hatched bool) {
	parts := []spans{indent}
	first := true
	for i, c := range t.cols {
		if widths[i] == 0 {
			continue
		}
		gap := c.gap
		if first {
			gap, first = 0, false
		}
		text := cells[i].text
		if c.bar && !head {
			text = p.drawBar(cells[i].bar, widths[i])
			hatched = hatched || (len(text) > 0 && text[len(text)-1].st == styleInvol)
		}
		if text.width() > widths[i] && cells[i].name != "" {
			text = p.nameIn(cells[i].name, widths[i])
		}
		text = p.shorten(text, widths[i])
		fill := pad(widths[i] - text.width())
		if c.right {
			parts = append(parts, plain(pad(gap)+fill), text)
		} else {
			parts = append(parts, plain(pad(gap)), text, plain(fill))
		}
	}
	p.line(parts...)
	return hatched
}

// shorten cuts a cell that was given less than it needs.
func (p *page) shorten(text spans, w int) spans {
	if text.width() <= w {
		return text
	}
	if w < 2 {
		head, _ := splitSpans(text, w)
		return head
	}
	ellipsis := p.prose("…")
	head, _ := splitSpans(text, w-ellipsis.width())
	return append(append(spans{}, head...), ellipsis...)
}

// fit returns the width of each column, 0 for those that are left out.
func (t *table) fit(p *page, room int) []int {
	widths := make([]int, len(t.cols))
	for i, c := range t.cols {
		if c.from <= p.width {
			widths[i] = t.natural(p, i)
		}
	}
	for t.total(widths) > room {
		excess := t.total(widths) - room
		if !t.shrink(widths, excess, false) && !t.drop(widths) {
			t.shrink(widths, excess, true)
			break
		}
	}
	t.growBars(widths, room)
	return widths
}

// natural is what a column needs: a bar the shortest scale.
func (t *table) natural(p *page, i int) int {
	c := t.cols[i]
	if c.bar {
		return leastBar
	}
	w := 0
	if !t.bare {
		w = p.prose(c.head).width()
	}
	for _, r := range t.rows {
		w = max(w, r[i].text.width())
	}
	return w
}

func (t *table) total(widths []int) int {
	sum, first := 0, true
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if !first {
			sum += t.cols[i].gap
		}
		sum, first = sum+w, false
	}
	return sum
}

// shrink takes columns off what may be shortened, the widest first, while the
// whole excess can be taken off that way without touching anything else.
func (t *table) shrink(widths []int, excess int, hard bool) bool {
	may := func(i int) bool {
		c := &t.cols[i]
		return c.least > 0 && widths[i] > c.least && (hard || !c.hard)
	}
	spare := 0
	for i, c := range t.cols {
		if may(i) {
			spare += widths[i] - c.least
		}
	}
	if spare < excess {
		return false
	}
	for ; excess > 0; excess-- {
		at := -1
		for i := range t.cols {
			if may(i) && (at < 0 || widths[i] > widths[at]) {
				at = i
			}
		}
		widths[at]--
	}
	return true
}

// drop leaves out the column that matters least.
func (t *table) drop(widths []int) bool {
	at := -1
	for i, c := range t.cols {
		if widths[i] > 0 && c.keep > 0 && (at < 0 || c.keep < t.cols[at].keep) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	widths[at] = 0
	return true
}

// growBars gives the room that is left to the bars, all alike.
func (t *table) growBars(widths []int, room int) {
	for grown := true; grown; {
		grown = false
		for i, c := range t.cols {
			if c.bar && widths[i] > 0 && widths[i] < c.most && t.total(widths) < room {
				widths[i]++
				grown = true
			}
		}
	}
}

// drawBar draws a bar on a scale of w columns. What is not 0 is visible.
func (p *page) drawBar(b bar, w int) spans {
	solid, hatched := clamp(b.solid), clamp(b.hatched)
	if hatched > 0 {
		return p.drawBoth(solid, hatched, w)
	}
	if solid == 0 {
		return nil
	}
	if p.ascii {
		return spans{{strings.Repeat("#", barCells(solid, w)), styleVol}}
	}
	eighths := max(int(math.Round(solid*float64(w)*8)), 1)
	s := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		s += string("▏▎▍▌▋▊▉"[3*(part-1) : 3*part])
	}
	return spans{{s, styleVol}}
}

// drawBoth draws a solid and a hatched part in whole columns, parted as they
// are; a part of less than half a column is left to the figures.
func (p *page) drawBoth(solid, hatched float64, w int) spans {
	full, dots := "█", "░"
	if p.ascii {
		full, dots = "#", "o"
	}
	all := barCells(solid+hatched, w)
	n := int(math.Round(solid / (solid + hatched) * float64(all)))
	if n == all {
		return p.drawBar(bar{solid: solid + hatched}, w)
	}
	var out spans
	if n > 0 {
		out = spans{{strings.Repeat(full, n), styleVol}}
	}
	return append(out, span{strings.Repeat(dots, all-n), styleInvol})
}

func barCells(f float64, w int) int { return min(max(int(math.Round(f*float64(w))), 1), w) }

func clamp(f float64) float64 {
	if !(f > 0) { // NaN too
		return 0
	}
	return min(f, 1)
}
