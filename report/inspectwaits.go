package report

import (
	"fmt"
	"slices"
	"strings"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

func waitObject(w *evidence.WaitCall) object {
	return append(at(w.Pos),
		field{"event", w.Event}, field{"kind", w.Kind.String()}, field{"op", orNull(w.Op)},
		field{"tid", w.Task.TID}, field{"pid", w.Task.PID}, field{"comm", w.Task.Comm},
		field{"addr", orNull(address(w.Addr))}, field{"others", w.Others}, field{"count", w.Count},
		field{"timed", w.Timed}, field{"no_wait", w.NoWait},
		field{"asked_ns", spreadObject(w.AskedNS)}, field{"slack_ns", spreadObject(w.SlackNS)}, field{"other_clock", w.OtherClock})
}

func address(a uint64) string {
	if a == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", a)
}

func spreadObject(h *evidence.Histogram) any {
	if h == nil || h.N == 0 {
		return nil
	}
	q := analyze.QuantilesOf(h)
	return object{{"n", h.N}, {"min", h.Min}, {"p50", q.P50}, {"p90", q.P90}, {"max", h.Max}, {"buckets", h.Buckets()}}
}

// waits lists what the tasks of a source ask to wait for, by calls.
func (t *inspection) waits(id int) {
	var list []*evidence.WaitCall
	for i := range t.s.Waits {
		if w := &t.s.Waits[i]; w.Pos.Source == id {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return
	}
	t.labelled("waits", t.prose("what tasks ask to wait for: "+plural(len(list), "row", "rows")+"; by calls"))
	tab := table{cols: []column{{head: "comm", least: 8}, {head: "tid", right: true, gap: 2, keep: 30}, {head: "call", gap: 2, least: 24, keep: 40},
		{head: "calls", right: true, gap: 2, keep: 40}}}
	cols := waitCols()
	cols = slices.DeleteFunc(cols, func(c waitCol) bool {
		return !slices.ContainsFunc(list, func(w *evidence.WaitCall) bool { return c.value(w) != "" })
	})
	for _, c := range cols {
		tab.cols = append(tab.cols, column{head: c.head, right: true, gap: 2, keep: c.keep})
	}
	for _, w := range list[:min(len(list), maxTasks)] {
		line := []cell{t.nameCell(w.Task.Comm, 32), {text: t.prose(decimal(w.Task.TID))}, t.nameCell(callText(w), 40), {text: t.prose(quantity.Count(w.Count))}}
		for _, c := range cols {
			v := c.value(w)
			if v == "" {
				v = absent
			}
			line = append(line, cell{text: t.prose(v)})
		}
		tab.add(line...)
	}
	tab.render(t.page, plain("    "))
	if n := len(list) - maxTasks; n > 0 {
		t.para(plain("    "), plain("    "), t.prose(fmt.Sprintf("and %d more: --format json lists them", n)))
	}
}

// callText names a call: what it is, and on what.
func callText(w *evidence.WaitCall) string {
	name := w.Op
	if name == "" {
		if w.Kind == evidence.WaitTimer {
			return "timer " + address(w.Addr)
		}
		return strings.TrimPrefix(w.Event, "syscalls:sys_enter_")
	}
	switch {
	case w.Kind == evidence.WaitTimer:
		return "timer " + name
	case w.Others > 0:
		return fmt.Sprintf("%s, %d others", name, w.Others)
	case w.Addr != 0:
		return name + " " + address(w.Addr)
	}
	return name
}

// waitCol is a column of the table of waits, shown when any row has a value.
type waitCol struct {
	head  string
	keep  int
	value func(*evidence.WaitCall) string
}

func waitCols() []waitCol {
	count := func(get func(*evidence.WaitCall) evidence.Opt[uint64]) func(*evidence.WaitCall) string {
		return func(w *evidence.WaitCall) string {
			if v, ok := get(w).Get(); ok {
				return quantity.Count(v)
			}
			return ""
		}
	}
	median := func(get func(*evidence.WaitCall) *evidence.Histogram) func(*evidence.WaitCall) string {
		return func(w *evidence.WaitCall) string {
			if v, ok := analyze.QuantilesOf(get(w)).P50.Get(); ok {
				return quantity.Time(v)
			}
			return ""
		}
	}
	return []waitCol{
		{"timed", 20, count(func(w *evidence.WaitCall) evidence.Opt[uint64] { return w.Timed })},
		{"no wait", 19, count(func(w *evidence.WaitCall) evidence.Opt[uint64] { return w.NoWait })},
		{"asked p50", 30, median(func(w *evidence.WaitCall) *evidence.Histogram { return w.AskedNS })},
		{"slack p50", 25, median(func(w *evidence.WaitCall) *evidence.Histogram { return w.SlackNS })},
	}
}
