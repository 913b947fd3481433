package report

import (
	"strconv"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// threadCol is a column of the thread table, in any format. It is shown when
// any row has a value for it.
type threadCol struct {
	id    string
	head  string // of a terminal
	title string // of a wider table
	right bool
	value func(*analyze.ThreadRow) (string, bool)
}

// absent stands for a value that the input does not hold.
const absent = "–"

func (c *threadCol) cell(r *analyze.ThreadRow) string {
	if s, ok := c.value(r); ok {
		return s
	}
	return absent
}

// threadCols are the columns of the thread table, in order.
func threadCols() []threadCol {
	return []threadCol{
		{"tid", "tid", "TID", true, func(r *analyze.ThreadRow) (string, bool) { return decimal(r.TID), r.TID != 0 }},
		{"vol", "voluntary/s", "Voluntary/s", true, optRate(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.VoluntaryPerS })},
		{"vol", "voluntary", "Voluntary", true, optCount(func(r *analyze.ThreadRow) evidence.Opt[uint64] { return r.Voluntary })},
		{"invol", "invol/s", "Invol./s", true, optRate(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.InvoluntaryPerS })},
		{"invol", "invol", "Invol.", true, optCount(func(r *analyze.ThreadRow) evidence.Opt[uint64] { return r.Involuntary })},
		{"all", "switches/s", "Switches/s", true, optRate(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.SwitchesPerS })},
		{"all", "switches", "Switches", true, optCount(func(r *analyze.ThreadRow) evidence.Opt[uint64] { return r.Switches })},
		{"share", "share", "Share", true, optShare(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.Share })},
		{"migr", "migr", "Migrations", true, optCount(func(r *analyze.ThreadRow) evidence.Opt[uint64] { return r.Migrations })},
		{"trigger", "trigger", "Trigger", false, func(r *analyze.ThreadRow) (string, bool) { return r.Trigger, r.Trigger != "" }},
		{"trigger-share", "", "Trigger's share", true, optShare(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.TriggerShare })},
		{"run", "run p50", "Run p50", true, optTime(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.Run.P50 })},
		{"delay", "delay p99", "Delay p99", true, optTime(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.Delay.P99 })},
		{"off", "off p50", "Off-CPU p50", true, optTime(func(r *analyze.ThreadRow) evidence.Opt[float64] { return r.OffCPU.P50 })},
	}
}

func optRate(get func(*analyze.ThreadRow) evidence.Opt[float64]) func(*analyze.ThreadRow) (string, bool) {
	return func(r *analyze.ThreadRow) (string, bool) { v, ok := get(r).Get(); return quantity.Whole(v), ok }
}

func optCount(get func(*analyze.ThreadRow) evidence.Opt[uint64]) func(*analyze.ThreadRow) (string, bool) {
	return func(r *analyze.ThreadRow) (string, bool) { v, ok := get(r).Get(); return quantity.Count(v), ok }
}

func optShare(get func(*analyze.ThreadRow) evidence.Opt[float64]) func(*analyze.ThreadRow) (string, bool) {
	return func(r *analyze.ThreadRow) (string, bool) { v, ok := get(r).Get(); return quantity.Percent(v, 1), ok }
}

func optTime(get func(*analyze.ThreadRow) evidence.Opt[float64]) func(*analyze.ThreadRow) (string, bool) {
	return func(r *analyze.ThreadRow) (string, bool) { v, ok := get(r).Get(); return quantity.Time(v), ok }
}

// shownCols are the columns that any row has a value for. Of the two ways to
// give a figure, as a rate and as a count, the first that is there is taken;
// the sum of both kinds only where a row has not both apart.
func shownCols(rows []threadLine) []threadCol {
	var out []threadCol
	have := map[string]bool{}
	for _, c := range threadCols() {
		if have[c.id] || (c.id == "all" && have["vol"] && have["invol"] && !anySumOnly(rows)) {
			continue
		}
		for i := range rows {
			if _, ok := c.value(&rows[i].ThreadRow); ok {
				out = append(out, c)
				have[c.id] = true
				break
			}
		}
	}
	return out
}

func anySumOnly(rows []threadLine) bool {
	for i := range rows {
		r := &rows[i]
		if (r.SwitchesPerS.OK || r.Switches.OK) && !r.VoluntaryPerS.OK && !r.Voluntary.OK {
			return true
		}
	}
	return false
}

// threadBars are the lengths of each row's bar: voluntary solid, involuntary
// hatched, on one scale, that of the busiest thread. Threads that are summed
// have no bar where it would be longer. All rows use the same kind of figure.
func threadBars(rows []threadLine) []bar {
	rates := false
	for i := range rows {
		rates = rates || rows[i].VoluntaryPerS.OK || rows[i].InvoluntaryPerS.OK || rows[i].SwitchesPerS.OK
	}
	out := make([]bar, len(rows))
	most := 0.0
	for i := range rows {
		out[i] = threadBar(&rows[i].ThreadRow, rates)
		if rows[i].label == "" {
			most = max(most, out[i].solid+out[i].hatched)
		}
	}
	for i := range out {
		if out[i].solid+out[i].hatched > most {
			out[i] = bar{}
		} else if most > 0 {
			out[i].solid /= most
			out[i].hatched /= most
		}
	}
	return out
}

func threadBar(r *analyze.ThreadRow, rates bool) bar {
	if rates {
		if r.VoluntaryPerS.OK || r.InvoluntaryPerS.OK {
			return bar{r.VoluntaryPerS.V, r.InvoluntaryPerS.V}
		}
		return bar{solid: r.SwitchesPerS.V}
	}
	if r.Voluntary.OK || r.Involuntary.OK {
		return bar{float64(r.Voluntary.V), float64(r.Involuntary.V)}
	}
	return bar{solid: float64(r.Switches.V)}
}

// The numbers of threads that reports show one by one.
const (
	leastThreads = 8
	mostThreads  = 16
	mostHists    = 8
)

// threadLine is a line of a thread table: a thread, or several summed, which
// then have a label of ours for a name.
type threadLine struct {
	analyze.ThreadRow
	label string
	twin  bool // another line has its name
}

// tableLines are the threads to show, the hot ones and some more, and the
// others summed.
func tableLines(rows []analyze.ThreadRow) []threadLine {
	hot := 0
	for hot < len(rows) && rows[hot].Hot {
		hot++
	}
	return withOthers(rows, min(max(hot, leastThreads), mostThreads))
}

// histLines are the threads whose distributions are shown: the hot ones, and
// the others that have any summed.
func histLines(rows []analyze.ThreadRow) []threadLine {
	var have []analyze.ThreadRow
	hot := 0
	for i := range rows {
		r := &rows[i]
		if r.RunHist == nil && r.DelayHist == nil && r.OffHist == nil {
			continue
		}
		have = append(have, *r)
		if r.Hot && hot == len(have)-1 {
			hot++
		}
	}
	lines := withOthers(have, min(max(hot, 1), mostHists))
	count := map[string]int{}
	for i := range lines {
		count[lines[i].Name]++
	}
	for i := range lines {
		lines[i].twin = lines[i].label == "" && lines[i].TID != 0 && count[lines[i].Name] > 1
	}
	return lines
}

// withOthers keeps the first n rows and sums the others, unless that is one.
func withOthers(rows []analyze.ThreadRow, n int) []threadLine {
	if len(rows) <= n+1 {
		n = len(rows)
	}
	var out []threadLine
	for i := range rows[:n] {
		out = append(out, threadLine{ThreadRow: rows[i]})
	}
	if rest := rows[n:]; len(rest) > 0 {
		out = append(out, threadLine{ThreadRow: analyze.Others(rest), label: quantity.Fixed(float64(len(rest)), 0) + " others"})
	}
	return out
}

func decimal(n int) string { return strconv.Itoa(n) }
