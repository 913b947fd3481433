package perfreport

import (
	"math"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// cells is a row cut into its columns.
type cells struct {
	sign    byte // '+', '-' of the TUI
	pctEnd  int  // where the first percentage ends, to tell rows from call graphs
	pcts    []float64
	samples evidence.Opt[uint64]
	text    []string // of the text columns, "" where the row has none
	partial bool     // the row ends before its text columns
}

// maxPcts bounds the percentages of a row: the members of an event group.
const maxPcts = 64

// cut cuts a line into a row's columns. It reports whether the line is a row.
func (t *table) cut(line string) (cells, bool) {
	switch {
	case t.sep != "":
		return t.cutSep(line)
	case t.levels:
		return t.cutLevel(line)
	case len(t.cols) > 0 && !t.cols[0].role.percent():
		return t.cutFields(line)
	}
	var c cells
	at, ok := c.percentages(line)
	if !ok || len(c.pcts)%max(t.pcts, 1) != 0 && at < len(line) {
		return c, false
	}
	n := t.text()
	for _, col := range t.cols[:n] {
		if col.role.number() {
			at = c.number(line, at, col.role)
		}
	}
	if at = skipSpace(line, at); at == len(line) {
		c.partial = n < len(t.cols)
		c.text = make([]string, len(t.cols)-n)
		return c, true
	}
	c.text = t.cutText(line, at, t.cols[n:])
	return c, c.text != nil
}

// percentages reads the sign and the percentages at the start of a row. One
// space behind a percentage is a line of a call graph, unless a row's own marks
// follow.
func (c *cells) percentages(line string) (int, bool) {
	at := skipSpace(line, 0)
	if at+2 < len(line) && (line[at] == '+' || line[at] == '-') && line[at+1] == ' ' {
		c.sign = line[at]
		if line[at+2] != ' ' && !hasMark(line) {
			return 0, false
		}
		at = skipSpace(line, at+1)
	}
	end := at
	for len(c.pcts) < maxPcts {
		v, n := percentage(line[at:])
		if n == 0 {
			break
		}
		end = at + n
		if c.pcts = append(c.pcts, v); len(c.pcts) == 1 {
			c.pctEnd = end
		}
		at = skipSpace(line, end)
	}
	if len(c.pcts) == 0 {
		return 0, false
	}
	if len(c.pcts) == 1 && at == end+1 && line[end] == ' ' && at < len(line) && !hasMark(line) {
		return 0, false
	}
	return end, true
}

// maxShare is the largest percentage, with what rounding adds.
const maxShare = 100.01

// percentage reads "99.83%" and returns how long it is; 0 when it is not there.
func percentage(s string) (float64, int) {
	i := 0
	for i < len(s) && (isDigit(s[i]) || s[i] == '.' || s[i] == ',') {
		i++
	}
	if i == 0 || i > 9 || i == len(s) || s[i] != '%' || i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\t' {
		return 0, 0
	}
	v, ok := decimal(s[:i])
	if !ok || v > maxShare {
		return 0, 0
	}
	return v, i + 1
}

// decimal reads a number with a decimal point or comma.
func decimal(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	return v, err == nil && v >= 0 && !math.IsInf(v, 0)
}

// number reads a column with a number, if one stands there.
func (c *cells) number(line string, at int, r role) int {
	at = skipSpace(line, at)
	end := at
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	if end == at || end < len(line) && line[end] != ' ' && line[end] != '\t' {
		return at
	}
	if v, err := strconv.ParseUint(line[at:end], 10, 64); err == nil && r == roleSamples {
		c.samples = evidence.Some(v)
	}
	return end
}

// hasMark reports whether a line holds what stands only before a symbol of a
// row: "[k] ", "[.] " and the like, or is a switch as a tracepoint prints it.
func hasMark(line string) bool { return markAt(line) >= 0 || isSwitchText(line) }

// markAt finds the level mark before a symbol.
func markAt(line string) int {
	for i := 0; ; i++ {
		n := strings.IndexByte(line[i:], '[')
		if i += n; n < 0 || i+3 > len(line) {
			return -1
		}
		if line[i+2] == ']' && strings.IndexByte("k.guH?", line[i+1]) >= 0 && (i+3 == len(line) || line[i+3] == ' ') && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return i
		}
	}
}

func isSwitchText(line string) bool {
	return strings.Contains(line, "prev_comm=") && strings.Contains(line, " ==> next_comm=")
}

// cutText cuts the text columns: by their positions where the row keeps to
// them, by the two spaces between columns, or around the symbol's mark.
func (t *table) cutText(line string, at int, cols []column) []string {
	switch len(cols) {
	case 0:
		return []string{}
	case 1:
		return []string{strings.TrimSpace(line[at:])}
	}
	if text := cutAt(line, cols); text != nil {
		return text
	}
	text := splitWide(line[at:])
	if len(text) == len(cols) {
		return text
	}
	if byMark := cutAtMark(line[at:], cols); byMark != nil {
		return byMark
	}
	if len(text) > len(cols) { // the last column may hold anything
		last := strings.Join(text[len(cols)-1:], "  ")
		return append(text[:len(cols)-1], last)
	}
	return append(text, make([]string, len(cols)-len(text))...)
}

// cutAt cuts at the columns' positions. Every column must be preceded by the
// two spaces that perf prints there.
func cutAt(line string, cols []column) []string {
	if cols[0].start == 0 {
		return nil
	}
	text := make([]string, len(cols))
	for i, c := range cols {
		end := len(line)
		if i+1 < len(cols) {
			end = min(end, cols[i+1].start)
		}
		if c.start >= len(line) {
			continue
		}
		if c.start < 2 || c.start >= end || strings.TrimLeft(line[c.start-2:c.start], " ") != "" {
			return nil
		}
		text[i] = strings.TrimSpace(line[c.start:end])
	}
	return text
}

// splitWide splits at two spaces or more, and at tabs.
func splitWide(s string) []string {
	var out []string
	for _, w := range strings.Split(strings.ReplaceAll(s, "\t", "  "), "  ") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// cutAtMark cuts a row whose spaces were pushed together: the symbol begins with
// its mark, the shared object is the word before, the command what is left.
func cutAtMark(s string, cols []column) []string {
	mark := markAt(s)
	if mark < 0 {
		return nil
	}
	text := make([]string, len(cols))
	mark = verboseMark(s, mark)
	before := strings.TrimSpace(s[:mark])
	for i := len(cols) - 1; i >= 0; i-- {
		switch cols[i].role {
		case roleSymbol:
			if text[i] = strings.TrimSpace(s[mark:]); i < len(cols)-1 {
				text[i], _, _ = strings.Cut(text[i], "  ")
			}
		case roleModule:
			before, text[i] = lastWord(before)
		case roleComm, roleTID, roleTGID:
			text[i] = before
			before = ""
		}
	}
	if before != "" {
		return nil
	}
	return text
}

// verboseMark moves a symbol's start to the address that -v prints before it:
// "0xffffffff8225fd19 k [k] schedule".
func verboseMark(s string, mark int) int {
	before, kind := lastWord(strings.TrimSpace(s[:mark]))
	_, addr := lastWord(before)
	if len(kind) != 1 || !strings.HasPrefix(addr, "0x") && addr != "0" {
		return mark
	}
	return strings.LastIndex(before, addr)
}

func lastWord(s string) (before, word string) {
	i := strings.LastIndexByte(s, ' ')
	if deleted := strings.TrimSuffix(s, " (deleted)"); deleted != s {
		i = strings.LastIndexByte(deleted, ' ')
	}
	return strings.TrimSpace(s[:max(i, 0)]), s[i+1:]
}

// cutSep cuts a row of -t. perf replaces the separator inside values.
func (t *table) cutSep(line string) (cells, bool) {
	var c cells
	words := strings.Split(line, t.sep)
	if t.sep == "," {
		words = joinDecimals(words)
	}
	if len(words) != len(t.cols) {
		return c, false
	}
	for i, w := range words {
		w = strings.TrimSpace(w)
		switch r := t.cols[i].role; {
		case r.percent():
			v, ok := decimal(strings.TrimSuffix(w, "%"))
			if !ok || v > maxShare {
				return c, false
			}
			c.pcts = append(c.pcts, v)
		case r.number():
			c.number(w, 0, r)
		default:
			c.text = append(c.text, w)
		}
	}
	return c, len(c.pcts) > 0
}

// joinDecimals mends percentages with a decimal comma that a comma separator cut.
func joinDecimals(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		w := strings.TrimSpace(words[i])
		if i+1 < len(words) && w != "" && len(w) <= 3 && strings.Trim(w, "0123456789") == "" {
			if next := strings.TrimSpace(words[i+1]); strings.HasSuffix(next, "%") && !strings.Contains(next, ".") {
				out = append(out, w+","+next)
				i++
				continue
			}
		}
		out = append(out, words[i])
	}
	return out
}

// cutLevel cuts a row of --hierarchy: percentages, then one value.
func (t *table) cutLevel(line string) (cells, bool) {
	var c cells
	at, ok := c.percentages(line)
	if !ok {
		return c, false
	}
	for _, col := range t.cols[:t.text()] {
		if col.role.number() {
			at = c.number(line, at, col.role)
		}
	}
	c.text = []string{strings.TrimSpace(line[at:])}
	return c, c.text[0] != ""
}

// cutFields cuts a row in which text comes before the percentages (-F).
func (t *table) cutFields(line string) (cells, bool) {
	var c cells
	text := cutAt(line, t.cols)
	if text == nil {
		return c, false
	}
	for i, w := range text {
		switch r := t.cols[i].role; {
		case r.percent():
			v, n := percentage(w)
			if n == 0 {
				return c, false
			}
			c.pcts = append(c.pcts, v)
			c.pctEnd = t.cols[i].start + n
		case r.number():
			c.number(w, 0, r)
		default:
			c.text = append(c.text, w)
		}
	}
	return c, len(c.pcts) == t.pcts
}
