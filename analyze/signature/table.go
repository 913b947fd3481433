package signature

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed signatures.tsv
var frameData string

//go:embed reasons.tsv
var reasonData string

// row is one line of the table of frames.
type row struct {
	role     Role
	reason   Reason
	over     map[string]bool // reasons that the row refines
	api      string
	since    string // kernel or library version, for people and the kallsyms test
	until    string
	patterns []string
	line     int
}

// refines reports whether the row says more of the reason.
func (r *row) refines(id string) bool { return r.over["*"] || r.over[id] }

// plain reports whether the row is of calls whose names programs use, too: read,
// poll, wait. In a program's own object only its innermost frame can be one.
func (r *row) plain() bool {
	return (r.role == RoleAPI || r.role == RoleWakeAPI) && r.reason.ID == ""
}

type prefixRow struct {
	prefix string
	row    *row
}

// regexRow is a regular expression, which is compiled when it is first needed:
// most runs see symbols that few of them can match.
type regexRow struct {
	head string // what a match begins with
	re   func() *regexp.Regexp
	row  *row
}

func newRegexRow(p string, r *row) regexRow {
	return regexRow{literalHead(p), sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?:" + p + ")$") }), r}
}

// literalHead is the text that all matches of a regular expression begin with,
// as far as it is easily seen: in front of the first character that may mean
// something else.
func literalHead(p string) string {
	const special = `\.+*?()|[]{}^$`
	depth := 0
	for i := 0; i < len(p); i++ { // one of several expressions has no head
		switch p[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				return ""
			}
		}
	}
	n := strings.IndexAny(p, special)
	switch {
	case n < 0:
		return p
	case n > 0 && strings.IndexByte("*?{", p[n]) >= 0:
		n-- // the last character may be missing
	}
	return p[:n]
}

// matcher finds the row of a symbol: exact names first, then prefixes, then
// regular expressions.
type matcher struct {
	exact    map[string]*row
	prefixes []prefixRow
	regexes  []regexRow

	mu    sync.RWMutex
	cache map[string]*row
}

// maxCached bounds the cache of symbols, which a hostile capture could fill.
const maxCached = 1 << 16

// Table holds the signatures. It is safe for concurrent use.
type Table struct {
	reasons map[string]Reason
	order   []string
	rows    []*row
	kernel  matcher
	user    matcher
}

// Default returns the table built into the program.
var Default = sync.OnceValue(func() *Table {
	t, err := parse(reasonData, frameData)
	if err != nil {
		panic(err) // the data is part of the program; a test parses it
	}
	return t
})

// Reason returns a reason by id.
func (t *Table) Reason(id string) (Reason, bool) {
	r, ok := t.reasons[id]
	return r, ok
}

// Reasons returns all reasons in the order of the table.
func (t *Table) Reasons() []Reason {
	out := make([]Reason, len(t.order))
	for i, id := range t.order {
		out[i] = t.reasons[id]
	}
	return out
}

func parse(reasons, frames string) (*Table, error) {
	t := &Table{reasons: map[string]Reason{}}
	t.kernel.init()
	t.user.init()
	for n, f := range lines(reasons, 4) {
		if f == nil {
			return nil, fmt.Errorf("reasons.tsv: a line has not 4 columns, near line %d", n)
		}
		t.reasons[f[0]] = Reason{ID: f[0], Label: f[1], Class: Class(f[2]), Note: f[3]}
		t.order = append(t.order, f[0])
	}
	for n, f := range lines(frames, 8) {
		if f == nil {
			return nil, fmt.Errorf("signatures.tsv: a line has not 8 columns, near line %d", n)
		}
		if err := t.addRow(n, f); err != nil {
			return nil, fmt.Errorf("signatures.tsv:%d: %w", n, err)
		}
	}
	return t, nil
}

// lines yields the columns of each line that is not a comment, with its line
// number; nil when a line has another number of columns.
func lines(data string, columns int) func(func(int, []string) bool) {
	return func(yield func(int, []string) bool) {
		n := 0
		for line := range strings.Lines(data) {
			n++
			line = strings.TrimRight(line, "\r\n")
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			f := strings.Split(line, "\t")
			if len(f) != columns {
				f = nil
			}
			for i := range f {
				if f[i] == "-" {
					f[i] = ""
				}
			}
			if !yield(n, f) {
				return
			}
		}
	}
}

func (t *Table) addRow(line int, f []string) error {
	r := &row{api: f[3], since: f[4], until: f[5], line: line, over: map[string]bool{}}
	for i, name := range roleNames {
		if name == f[0] && name != "" {
			r.role = Role(i)
		}
	}
	if r.role == RoleNone {
		return fmt.Errorf("no role %q", f[0])
	}
	var ok bool
	if r.reason, ok = t.reasons[f[1]]; f[1] != "" && !ok {
		return fmt.Errorf("no reason %q", f[1])
	}
	for _, id := range strings.Fields(f[2]) {
		if _, ok := t.reasons[id]; !ok && id != "*" {
			return fmt.Errorf("no reason %q to refine", id)
		}
		r.over[id] = true
	}
	r.patterns = strings.Fields(f[6])
	t.rows = append(t.rows, r)
	return t.addPatterns(r)
}

func (t *Table) addPatterns(r *row) error {
	ms := []*matcher{&t.user}
	if r.role.Kernel() {
		ms[0] = &t.kernel
	} else if r.role == RoleYield {
		ms = append(ms, &t.kernel)
	}
	for _, p := range r.patterns {
		for _, m := range ms {
			if err := m.add(p, r, m == &t.user); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *matcher) init() {
	m.exact = map[string]*row{}
	m.cache = map[string]*row{}
}

// add files a pattern: ~regexp, prefix*, =name to the letter, or a name. A name
// sys:x stands for the entry functions of a system call under all prefixes.
func (m *matcher) add(p string, r *row, user bool) error {
	switch {
	case strings.HasPrefix(p, "~"):
		m.regexes = append(m.regexes, newRegexRow(p[1:], r))
	case strings.HasSuffix(p, "*"):
		m.prefixes = append(m.prefixes, prefixRow{strings.TrimSuffix(p, "*"), r})
	default:
		switch {
		case strings.HasPrefix(p, "="):
			p = p[1:]
		case user:
			p = userKey(p)
		}
		if old := m.exact[p]; old != nil && old != r {
			return fmt.Errorf("%s is in line %d too", p, old.line)
		}
		m.exact[p] = r
	}
	return nil
}

// find returns the row of a symbol, or nil. The symbol is as captured.
func (m *matcher) find(symbol string, keys func(string) []string) *row {
	m.mu.RLock()
	r, ok := m.cache[symbol]
	m.mu.RUnlock()
	if ok {
		return r
	}
	r = m.search(keys(symbol))
	m.mu.Lock()
	if len(m.cache) < maxCached {
		m.cache[symbol] = r // not a copy: equal strings in one place are compared at once
	}
	m.mu.Unlock()
	return r
}

func (m *matcher) search(keys []string) *row {
	for _, k := range keys {
		if r := m.exact[k]; r != nil {
			return r
		}
	}
	for _, k := range keys {
		for _, p := range m.prefixes {
			if strings.HasPrefix(k, p.prefix) {
				return p.row
			}
		}
	}
	for _, k := range keys {
		for _, p := range m.regexes {
			if strings.HasPrefix(k, p.head) && p.re().MatchString(k) {
				return p.row
			}
		}
	}
	return nil
}

func (t *Table) kernelRow(symbol string) *row { return t.kernel.find(symbol, kernelKeys) }
func (t *Table) userRow(symbol string) *row   { return t.user.find(symbol, userKeys) }

// Symbol tells what a single symbol of a printed profile stands for, kernel
// names first. The reason is that of the symbol alone, without its callers.
func (t *Table) Symbol(name string) (Reason, Role, bool) {
	r := t.kernelRow(name)
	if r == nil {
		r = t.userRow(name)
	}
	if r == nil {
		return Reason{}, RoleNone, false
	}
	return r.reason, r.role, true
}
