package perfreport

import (
	"strings"
)

// role is what a column holds.
type role uint8

const (
	roleOther    role = iota // text that is not kept
	roleOverhead             // the percentages
	roleChildren
	roleSelf
	rolePct // a percentage that is not kept: sys, usr
	roleSamples
	roleNumber // a number that is not kept: Period
	roleComm
	roleModule
	roleSymbol
	roleTID  // "1234:comm"
	roleTGID // "1234:comm"
	roleTrace
	roleField // a tracepoint's field, under its own name
)

func (r role) percent() bool { return r >= roleOverhead && r <= rolePct }
func (r role) number() bool  { return r == roleSamples || r == roleNumber }

// column is one column of a table. A text column starts at start; percentages
// and numbers are right-aligned.
type column struct {
	name  string
	role  role
	start int
}

// columnNames are the headers of perf report's columns that a header may be
// recognised by, the longer of two with the same beginning first.
//
// Names: the se_header fields in the kernel's tools/perf/util/sort.c and
// perf_hpp__format in tools/perf/ui/hist.c.
var columnNames = []struct {
	name string
	role role
}{
	{"Overhead sys", rolePct}, {"Overhead us", rolePct}, {"Overhead guest sys", rolePct}, {"Overhead guest us", rolePct},
	{"Overhead", roleOverhead}, {"Children", roleChildren}, {"Self", roleSelf},
	{"guest sys", rolePct}, {"guest usr", rolePct}, {"sys", rolePct}, {"usr", rolePct},
	{"Samples", roleSamples}, {"Period", roleNumber}, {"Weight1", roleNumber}, {"Weight2", roleNumber}, {"Weight3", roleNumber},
	{"Command:  Pid", roleTID}, {"Command", roleComm}, {"Shared Object", roleModule}, {"Symbol size", roleOther}, {"Symbol", roleSymbol},
	{"Pid:Command", roleTID}, {"Tid:Command", roleTID}, {"Tgid:Command", roleTGID}, {"Trace output", roleTrace},
	{"Source:Line", roleOther}, {"Source File", roleOther}, {"Source Symbol", roleOther}, {"Source Shared Object", roleOther},
	{"Target Symbol", roleOther}, {"Target Shared Object", roleOther}, {"Parent symbol", roleOther}, {"Parent", roleOther},
	{"CPU", roleOther}, {"Socket", roleOther}, {"Time", roleOther}, {"Cgroup", roleOther}, {"cgroup id (dev/inode)", roleOther},
	{"IPC   [IPC Coverage]", roleOther}, {"Local Weight", roleOther}, {"Weight", roleOther}, {"Memory access", roleOther},
	{"Snoop", roleOther}, {"TLB access", roleOther}, {"Locked", roleOther}, {"Data Symbol", roleOther}, {"Data Object", roleOther},
	{"Code Page Size", roleOther}, {"Data Page Size", roleOther}, {"Basic Block Cycles", roleOther}, {"Transaction", roleOther},
}

// table is the layout that a column header gives.
type table struct {
	cols    []column
	sep     string // of -t; "" for columns in white space
	pcts    int    // columns with percentages
	dots    bool   // the columns' positions come from the line of dots
	levels  bool   // --hierarchy: the text columns are one below the other
	comment bool   // the header has perf's leading #
	generic bool   // no header: the columns follow from each row
}

// parseHeader reads the line with the columns' names.
func parseHeader(line string) (*table, bool) {
	if !strings.Contains(line, "Overhead") && !strings.Contains(line, "Self") {
		return nil, false
	}
	t := &table{}
	at := skipSpace(line, 0)
	if at < len(line) && line[at] == '#' {
		t.comment = true
		at = skipSpace(line, at+1)
	}
	if t.sep = separator(line[at:]); t.sep != "" {
		for _, w := range strings.Split(line[at:], t.sep) {
			t.add(strings.TrimSpace(w), 0)
		}
	} else if !t.scan(line, at) {
		return nil, false
	}
	return t, t.plausible()
}

// separator returns the -t separator of a header: the character that directly
// follows its first name.
func separator(header string) string {
	for _, name := range []string{"Overhead", "Children"} {
		if rest, ok := strings.CutPrefix(header, name); ok && rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			return rest[:1]
		}
	}
	return ""
}

// scan finds the names and where they start.
func (t *table) scan(line string, at int) bool {
	for at = skipSpace(line, at); at < len(line); at = skipSpace(line, at) {
		name := knownName(line[at:])
		switch {
		case name != "":
		case line[at] == '/' && t.comment && len(t.cols) > 0: // a further level
			t.levels = true
			at++
			continue
		default:
			if name = fieldName(line[at:]); name == "" || !t.comment {
				return false
			}
		}
		t.add(name, at)
		at += len(name)
	}
	return true
}

func knownName(s string) string {
	for _, c := range columnNames {
		if rest, ok := strings.CutPrefix(s, c.name); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '+') {
			return c.name
		}
	}
	return ""
}

// fieldName reads the name of a tracepoint's field.
func fieldName(s string) string {
	i := 0
	for i < len(s) && (s[i] == '_' || s[i] == '.' || isDigit(s[i]) || s[i] >= 'a' && s[i] <= 'z') {
		i++
	}
	if i < len(s) && s[i] != ' ' {
		return ""
	}
	return s[:i]
}

func (t *table) add(name string, start int) {
	c := column{name: name, role: roleField, start: start}
	for _, k := range columnNames {
		if k.name == name {
			c.role = k.role
		}
	}
	if c.role.percent() {
		t.pcts++
	}
	t.cols = append(t.cols, c)
}

// plausible reports whether the names make a perf report table: the overhead, or
// children and self, and something that it is the overhead of.
func (t *table) plausible() bool {
	var overhead, children, self, text bool
	for _, c := range t.cols {
		overhead = overhead || c.role == roleOverhead
		children = children || c.role == roleChildren
		self = self || c.role == roleSelf
		text = text || !c.role.percent() && !c.role.number()
	}
	return (overhead || children && self) && (text || t.comment)
}

// setDots takes the columns' positions from the line of dots below the header.
func (t *table) setDots(line string) bool {
	at := skipSpace(line, 0)
	if at == len(line) || line[at] != '#' || t.dots || t.sep != "" || !t.comment {
		return false
	}
	if strings.Trim(line[at:], "#. \t") != "" || !strings.Contains(line, "..") {
		return false
	}
	t.dots = true
	var starts []int
	for i := at + 1; i < len(line); i++ {
		if line[i] == '.' && line[i-1] != '.' {
			starts = append(starts, i)
		}
	}
	if t.levels || len(starts) != len(t.cols) {
		return true
	}
	for i := range t.cols {
		t.cols[i].start = starts[i]
	}
	return true
}

// text returns the index of the first column behind the percentages and numbers.
func (t *table) text() int {
	for i, c := range t.cols {
		if !c.role.percent() && !c.role.number() {
			return i
		}
	}
	return len(t.cols)
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
