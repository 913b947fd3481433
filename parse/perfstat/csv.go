package perfstat

import (
	"strings"

	"ctxan/parse/evidence"
)

// separators are those that people give to -x.
var separators = []string{",", ";", "\t", "|", "'", "^", "~", "!", "@"}

// maxCSV is the longest line that is tried as CSV.
const maxCSV = 4096

// csvRow is a row of CSV.
//
// Layout: [time] [part [counters]] value unit event [cgroup] [variance] runtime
// share [metric unit]; until 3.14 value event only. See print_counter_value_csv
// in the kernel's tools/perf/util/stat-display.c.
type csvRow struct {
	row
	pre      prefix
	summary  bool
	short    bool // perf prints more fields than it has
	run, dev evidence.Opt[float64]
}

// csvLine reads a line of CSV. Lines that only carry on a metric are taken,
// and hold no counter.
func (r *reader) csvLine(i, no int, s string) bool {
	if len(s) > maxCSV || strings.Contains(s, " # ") {
		return false
	}
	if r.sep != "" {
		if strings.Contains(s, r.sep) && r.csvFields(no, s, r.sep) {
			return true
		}
	}
	if hasSeparator(s) {
		for _, sep := range separators {
			if sep != r.sep && strings.Contains(s, sep) && r.csvFields(no, s, sep) {
				return true
			}
		}
	}
	return r.sep != "" && r.cur != nil && r.cur.style == styleCSV && r.csvRest(i, no, s)
}

// hasSeparator is a quick look for any of separators.
func hasSeparator(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ',', ';', '\t', '|', '\'', '^', '~', '!', '@':
			return true
		}
	}
	return false
}

// csvFields reads a line as CSV with one separator.
func (r *reader) csvFields(no int, s, sep string) bool {
	r.fields = splitFields(s, sep, r.fields)
	row, ok := r.csvRow(r.fields, sep)
	if !ok {
		return false
	}
	r.sep = sep
	if r.detect {
		r.found = true
		return true
	}
	if last := r.fields[len(r.fields)-1]; last == row.ev.raw && r.open && (row.short || r.mayBeCut(&row.row)) {
		r.onDrop(no, errCut)
		r.truncated = true
		return true
	}
	r.addCSV(no, row)
	return true
}

// csvRest judges a line without counter between rows of CSV: metrics go on with
// empty fields, a row that was cut is dropped. A number alone may be output of
// the program that was measured, unless the text ends there.
func (r *reader) csvRest(i, no int, s string) bool {
	r.fields = splitFields(s, r.sep, r.fields)
	f := r.fields
	empty, value, known := 0, isCSVValue(f[0]) && (len(f) > 1 || r.lastLine(i)), false
	for k, w := range f {
		if w == "" {
			empty++
			continue
		}
		ev := r.event(w)
		known = known || ev != nil && ev.known
		value = value || k < 4 && len(f) > 2 && isNumber(w)
	}
	switch {
	case empty >= 3 && !known:
		return true
	case value || known && len(f) > 2:
		r.onDrop(no, errCut)
		return true
	}
	return false
}

// splitFields cuts a line at its separators, but not inside pmu/terms/.
func splitFields(s, sep string, dst []string) []string {
	dst = dst[:0]
	for {
		i := strings.Index(s, sep)
		if i < 0 {
			return append(dst, strings.TrimSpace(s))
		}
		if p := openPMU(s[:i]); p && sep != "/" {
			if j := strings.IndexByte(s[i:], '/'); j > 0 {
				k := strings.Index(s[i+j:], sep)
				if k < 0 {
					return append(dst, strings.TrimSpace(s))
				}
				i += j + k
			}
		}
		dst = append(dst, strings.TrimSpace(s[:i]))
		s = s[i+len(sep):]
		if len(dst) > 64 {
			return dst
		}
	}
}

// openPMU matches "pmu/event=0x1", the first term of several.
func openPMU(s string) bool {
	i := strings.IndexByte(s, '/')
	return i > 0 && isWord(s[:i]) && strings.IndexByte(s[i+1:], '/') < 0 && strings.IndexByte(s[i+1:], '=') > 0
}

// csvRow looks for the event among the first fields; everything else stands
// relative to it.
func (r *reader) csvRow(f []string, sep string) (csvRow, bool) {
	for k := 1; k < len(f) && k < 8; k++ {
		if f[k] == "" {
			continue
		}
		ev := r.event(f[k])
		if ev == nil {
			continue
		}
		if row, ok := csvAt(f, k, ev, sep); ok {
			return row, true
		}
	}
	return csvRow{}, false
}

// csvAt reads a row whose event is field k.
func csvAt(f []string, k int, ev *event, sep string) (csvRow, bool) {
	out := csvRow{row: row{ev: ev}}
	at := k - 2 // of the value
	full := at >= 0 && (f[k-1] == "" || isUnit(f[k-1])) && isCSVValue(f[at])
	if !full {
		at = k - 1
		if !ev.known || !isCSVValue(f[at]) {
			return out, false
		}
	}
	tail := out.tail(f[k+1:])
	if full && !tail && !ev.known || !full && len(f) > k+2 && !tail {
		return out, false
	}
	if full {
		out.unit, out.short = f[k-1], !tail
	}
	pre := f[:at]
	out.setValue(f[at])
	if sep == "," && out.unit != "" && out.unit != "ns" && ambiguousComma(f[k+1:]) && at > 0 && allDigits(f[at-1]) {
		out.value = f[at-1] + "." + f[at]
		pre = f[:at-1]
	}
	var ok bool
	out.pre, out.summary, ok = csvPrefix(pre)
	return out, ok
}

func (r *csvRow) setValue(s string) {
	switch s {
	case "<not counted>":
		r.status = evidence.StatusNotCounted
	case "<not supported>":
		r.status = evidence.StatusNotSupported
	default:
		r.value = s
	}
}

func isCSVValue(s string) bool {
	return s == "<not counted>" || s == "<not supported>" || isNumber(s)
}

// tail reads the fields after the event and reports whether they are perf's.
func (r *csvRow) tail(f []string) bool {
	i := 0
	if len(f) > 0 && strings.Trim(f[0], "0123456789.,%") != "" {
		r.cgroup = f[0]
		i++
	}
	var ignore votes
	if i < len(f) && strings.HasSuffix(f[i], "%") {
		r.dev = percent(f[i], &ignore)
		i++
	}
	if i+1 >= len(f) || !allDigits(f[i]) || !isNumber(f[i+1]) {
		return false
	}
	if p, ok := parseDecimal(f[i+1]); ok && p < 100 {
		r.run = evidence.Some(p)
	}
	return true
}

// ambiguousComma reports whether the share was printed as "100,00" between
// commas: then the locale has a decimal comma, and values are cut in two.
func ambiguousComma(f []string) bool {
	for i := 0; i+1 < len(f) && i < 5; i++ {
		if allDigits(f[i]) && len(f[i]) <= 3 && len(f[i+1]) == 2 && allDigits(f[i+1]) {
			return true
		}
	}
	return false
}

// csvPrefix reads the fields before the value.
func csvPrefix(f []string) (p prefix, summary, ok bool) {
	if len(f) > 0 && f[0] == "summary" {
		summary = true
		f = f[1:]
	} else if len(f) > 0 && isStamp(f[0]) {
		p.time, p.timed = parseDecimal(f[0])
		f = f[1:]
	}
	switch {
	case len(f) == 0:
		return p, summary, true
	case aggregation(f[0]) != "":
		p.agg, p.name = aggregation(f[0]), f[0]
		return p, summary, len(f) == 1 || len(f) == 2 && allDigits(f[1])
	case len(f) == 1 && strings.LastIndexByte(f[0], '-') > 0 && isID(f[0][strings.LastIndexByte(f[0], '-')+1:]):
		p.agg, p.name = "thread", f[0]
		return p, summary, true
	}
	return p, summary, false
}

func (r *reader) addCSV(no int, row csvRow) {
	c := cell{
		line: no, time: row.pre.time, timed: row.pre.timed, ev: row.ev, value: row.value, unit: row.unit,
		status: row.status, runPct: row.run, devPct: row.dev,
	}
	c.part = r.part(part{agg: row.pre.agg, name: row.pre.name, cgroup: row.cgroup})
	if c.part == nil && row.cgroup != "" {
		c.part = r.part(part{agg: "cgroup", name: row.cgroup})
	}
	if row.summary && r.cur != nil && r.cur.style == styleCSV && len(r.cur.timed) > 0 {
		r.cur.summary = true
	}
	r.place(&c, styleCSV)
	r.put(c)
}
