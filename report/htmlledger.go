package report

import (
	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// takenRows lists who took the CPU from threads that wanted to go on.
func takenRows(c *analyze.Case) []htmlBarRow {
	var out []htmlBarRow
	for i := range c.Taken {
		k := &c.Taken[i]
		r := htmlBarRow{Label: htmlTextIn(k.By, 30), Inv: true, Count: quantity.Whole(k.Count), Share: quantity.Percent(k.Share, 1), Len: length(k.Share), Time: absent}
		if ns, ok := k.RanNS.Get(); ok {
			r.Time = quantity.Time(ns)
		}
		out = append(out, r)
	}
	return out
}

// heldRows lists who ran while threads waited for the CPU.
func heldRows(h *analyze.Held) []htmlBarRow {
	var out []htmlBarRow
	for i := range h.Rows {
		k := &h.Rows[i]
		out = append(out, htmlBarRow{Label: htmlTextIn(k.By, 30), Time: quantity.Time(k.NS), Share: quantity.Percent(k.Share, 1), Len: length(k.Share)})
	}
	return out
}

// htmlLedger accounts for every switch once.
type htmlLedger struct {
	Head  string
	Kinds string
	Rows  []htmlBarRow
	All   htmlBarRow
}

func (h *htmlReport) ledger(l *analyze.Ledger) *htmlLedger {
	if l == nil {
		return nil
	}
	out := &htmlLedger{Head: h.capital(inert(h.opt.text(ledgerLine(l, l.Scenarios)).String())), All: htmlBarRow{Label: h.prose("all"), Count: quantity.Whole(l.Switches), Share: quantity.Percent(1, 0), Time: absent}}
	if len(l.Kinds) > 0 {
		out.Kinds = h.capital(inert(h.say(kindLine(l))))
	}
	for i := range l.Why {
		k := &l.Why[i]
		r := htmlBarRow{Label: htmlProse(k.Label), Inv: k.Willing.OK && !k.Willing.V, Count: quantity.Whole(k.Switches), Share: quantity.Percent(k.Share, 1), Len: length(k.Share), Time: absent}
		if ns, ok := k.OffNS.Get(); ok {
			r.Time = quantity.Time(ns)
		}
		out.Rows = append(out.Rows, r)
	}
	if ns, ok := l.OffNS.Get(); ok {
		out.All.Time = quantity.Time(ns)
	}
	return out
}
