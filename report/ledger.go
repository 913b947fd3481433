package report

import (
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// taken lists who took the CPU from threads that wanted to go on.
func (t *textReport) taken() {
	if len(t.c.Taken) == 0 {
		return
	}
	tab := table{bare: true, cols: []column{{least: 16, hard: true}, {right: true, gap: 2}, {right: true, gap: 2, keep: 5}, {right: true, gap: 2, keep: 4}, {bar: true, gap: 2, keep: 1, most: 36}}}
	for _, k := range t.c.Taken {
		tab.add(cell{text: t.text(k.By, 30)}, cell{text: t.prose(quantity.Whole(k.Count)).styled(styleInvol)}, cell{text: t.prose(quantity.Percent(k.Share, 1))},
			cell{text: t.prose(ranFor(&k))}, cell{bar: bar{hatched: k.Share}})
	}
	t.labelledTable("taken by", &tab)
}

// ranFor says how long a preemptor then ran.
func ranFor(k *analyze.TakenRow) string {
	if ns, ok := k.RanNS.Get(); ok {
		return "for " + quantity.Time(ns)
	}
	return ""
}

// held lists who ran while threads waited for the CPU.
func (t *textReport) held() {
	h := t.c.Held
	if h == nil {
		return
	}
	tab := table{bare: true, cols: []column{{least: 16, hard: true}, {right: true, gap: 2}, {right: true, gap: 2, keep: 5}, {bar: true, gap: 2, keep: 1, most: 36}}}
	for _, k := range h.Rows {
		tab.add(cell{text: t.text(k.By, 30)}, cell{text: t.prose(quantity.Time(k.NS))}, cell{text: t.prose(quantity.Percent(k.Share, 1))}, cell{bar: bar{solid: k.Share}})
	}
	t.labelledTable("held by", &tab)
	if note := idleNote(h); note != "" {
		t.labelled("", t.prose(note))
	}
}

// idleNote says that waits were in vain: another CPU had nothing to do.
func idleNote(h *analyze.Held) string {
	if h.IdleShare < worthSaying {
		return ""
	}
	return quantity.Percent(h.IdleShare, 1) + " of these waits passed while another CPU was idle: held by an affinity or a cpuset, or not yet moved there"
}

// worthSaying: a smaller share is no sentence.
const worthSaying = 0.05

// ledger accounts for the switches in three lines.
func (t *textReport) ledger() {
	l := t.c.Ledger
	if l == nil {
		return
	}
	t.blank()
	t.labelled("ledger", t.text(ledgerLine(l, l.Scenarios), maxName))
	if len(l.Kinds) > 0 {
		t.labelled("next", t.prose(kindLine(l)))
	}
}

// ledgerLine writes rows with their shares: "blocks by itself 97.1 %,
// preempted by a woken task 2.9 % of 4,010 switches".
func ledgerLine(l *analyze.Ledger, rows []analyze.LedgerRow) analyze.Text {
	parts := make([]string, len(rows))
	for i, r := range rows {
		parts[i] = r.Label + " " + quantity.Percent(r.Share, 1)
	}
	return analyze.Textf("%s of %s switches", strings.Join(parts, ", "), quantity.Whole(l.Switches))
}

func kindLine(l *analyze.Ledger) string {
	parts := make([]string, len(l.Kinds))
	for i, r := range l.Kinds {
		parts[i] = r.Label + " " + quantity.Percent(r.Share, 1)
	}
	out := strings.Join(parts, ", ")
	if m, ok := l.Migrated.Get(); ok {
		out += "; " + quantity.Count(m) + " migrations"
	}
	return out
}

func (m *markdown) taken() {
	if len(m.c.Taken) == 0 {
		return
	}
	rows := [][]string{{"CPU taken by", "Times", "Share", "Ran for"}}
	for _, k := range m.c.Taken {
		ran := absent
		if ns, ok := k.RanNS.Get(); ok {
			ran = quantity.Time(ns)
		}
		rows = append(rows, []string{m.text(k.By), m.plain(quantity.Whole(k.Count)), m.plain(quantity.Percent(k.Share, 1)), m.plain(ran)})
	}
	m.gap()
	m.table("lrrr", rows...)
}

func (m *markdown) held() {
	h := m.c.Held
	if h == nil {
		return
	}
	rows := [][]string{{"Held up by", "Time", "Share"}}
	for _, k := range h.Rows {
		rows = append(rows, []string{m.text(k.By), m.plain(quantity.Time(k.NS)), m.plain(quantity.Percent(k.Share, 1))})
	}
	m.gap()
	m.table("lrr", rows...)
	if note := idleNote(h); note != "" {
		m.list([]string{m.plain(note) + m.say(".")})
	}
}

// ledger is the whole account: what each switch was for, and what followed.
func (m *markdown) ledger() {
	l := m.c.Ledger
	if l == nil {
		return
	}
	rows := [][]string{{"Ledger", "Switches", "Share", "Off CPU"}}
	for _, r := range l.Why {
		off := absent
		if ns, ok := r.OffNS.Get(); ok {
			off = quantity.Time(ns)
		}
		rows = append(rows, []string{m.plain(r.Label), m.plain(quantity.Whole(r.Switches)), m.plain(quantity.Percent(r.Share, 1)), m.plain(off)})
	}
	total := absent
	if ns, ok := l.OffNS.Get(); ok {
		total = quantity.Time(ns)
	}
	rows = append(rows, []string{m.say("all"), m.plain(quantity.Whole(l.Switches)), m.plain(quantity.Percent(1, 0)), m.plain(total)})
	m.gap()
	m.table("lrrr", rows...)
	m.list([]string{capital(m.text(ledgerLine(l, l.Scenarios))) + m.say(".")})
	if len(l.Kinds) > 0 {
		m.list([]string{m.plain(capital(kindLine(l))) + m.say(".")})
	}
}
