package report

import (
	"html/template"
	"math"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// htmlWakes is who wakes whom: a drawing, and the same as a table.
type htmlWakes struct {
	Head   template.HTML
	Draw   bool
	Height string
	Box    string
	Left   []htmlSide
	Right  []htmlSide
	Bands  []htmlBand
	Rows   []htmlWake
}

type htmlSide struct {
	Name  template.HTML
	Count string
	Top   string
}

type htmlBand struct{ Path, Width string }

type htmlWake struct {
	Waker, Wakee template.HTML
	Count, Share string
}

// The heights of the wake graph: of all wakeups, and the least of one name.
const (
	wakeHeight = 140.0
	wakeLeast  = 20.0
)

// leastPairs: fewer pairs are read off the table.
const leastPairs = 3

// wakeSide lays the names of one side out below each other.
type wakeSide struct {
	order []string
	name  map[string]analyze.Text
	count map[string]uint64
	pairs map[string]int
	top   map[string]float64
	used  map[string]float64
	high  float64
}

func newWakeSide(rows []analyze.WakeRow, of func(*analyze.WakeRow) analyze.Text, scale float64) *wakeSide {
	s := &wakeSide{name: map[string]analyze.Text{}, count: map[string]uint64{}, pairs: map[string]int{}, top: map[string]float64{}, used: map[string]float64{}}
	for i := range rows {
		k := of(&rows[i]).String()
		if _, ok := s.name[k]; !ok {
			s.order, s.name[k] = append(s.order, k), of(&rows[i])
		}
		s.count[k] += rows[i].Count
		s.pairs[k]++
	}
	for _, k := range s.order {
		s.top[k] = s.high
		s.high += max(float64(s.count[k])*scale, wakeLeast) + 4
	}
	return s
}

// band takes the next part of a name's height.
func (s *wakeSide) band(k string, thick, scale float64) (middle float64) {
	whole := float64(s.count[k]) * scale
	at := s.top[k] + max(wakeLeast-whole, 0)/2 + s.used[k] + thick/2
	s.used[k] += thick
	return at
}

func (s *wakeSide) rows(scale float64) []htmlSide {
	var out []htmlSide
	for _, k := range s.order {
		mid := s.top[k] + max(float64(s.count[k])*scale, wakeLeast)/2
		side := htmlSide{Name: htmlTextIn(s.name[k], 22), Top: coord(mid) + "px"}
		if s.pairs[k] == 1 { // of several, the table has each
			side.Count = quantity.Count(s.count[k])
		}
		out = append(out, side)
	}
	return out
}

func (h *htmlReport) wakes() *htmlWakes {
	c := h.c
	if len(c.Wakes) == 0 {
		return nil
	}
	total := uint64(0)
	for i := range c.Wakes {
		total += c.Wakes[i].Count
	}
	scale := wakeHeight / math.Max(float64(total), 1)
	left := newWakeSide(c.Wakes, func(w *analyze.WakeRow) analyze.Text { return w.Waker }, scale)
	right := newWakeSide(c.Wakes, func(w *analyze.WakeRow) analyze.Text { return w.Wakee }, scale)
	high := max(left.high, right.high)
	top := &c.Wakes[0]
	out := &htmlWakes{Height: coord(high) + "px", Box: "0 0 100 " + coord(high), Left: left.rows(scale), Right: right.rows(scale)}
	out.Head = htmlTextIn(h.opt.text(analyze.Textf("%s wakes %s: %s of the wakeups", top.Waker, top.Wakee, quantity.Percent(top.Share, 1))), 30)
	out.Draw = len(c.Wakes) >= leastPairs
	for i := range c.Wakes {
		w := &c.Wakes[i]
		thick := float64(w.Count) * scale
		a, b := coord(left.band(w.Waker.String(), thick, scale)), coord(right.band(w.Wakee.String(), thick, scale))
		out.Bands = append(out.Bands, htmlBand{"M0 " + a + "C50 " + a + " 50 " + b + " 100 " + b, coord(max(thick, 1))})
		out.Rows = append(out.Rows, htmlWake{htmlText(w.Waker), htmlText(w.Wakee), quantity.Count(w.Count), quantity.Percent(w.Share, 1)})
	}
	return out
}
