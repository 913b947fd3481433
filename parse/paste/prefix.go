package paste

import "strings"

// prefixKind is a decoration that stands before each line of a run.
type prefixKind struct {
	name string

	// match returns the length of the prefix of s, or 0. It is called for
	// every line of every text, so it must turn ordinary lines away at once.
	match func(s string) int

	min  int  // lines that a run needs, unless it is the whole text
	all  bool // the whole text is enough, if it has two lines
	gap  int  // other lines that may interrupt a run
	same bool // all prefixes of a run are alike

	// accept looks at the prefixes and the rest of a run's lines and tells
	// whether it is a decoration at all. nil: always.
	accept func(prefixes, rest []string) bool
}

// prefixTable lists the kinds in the order in which they are tried.
func prefixTable() []prefixKind {
	return []prefixKind{
		{name: "quoting '> '", match: quotePrefix, min: 2, all: true, gap: 3},
		{name: "log time stamps", match: isoPrefix, min: 3, all: true, gap: 2},
		{name: "log time stamps", match: jobLogPrefix, min: 3, all: true, gap: 2},
		{name: "journal prefixes", match: syslogPrefix, min: 3, all: true, gap: 2},
		{name: "journal prefixes", match: identPrefix, min: 3, all: true, gap: 2},
		{name: "log time stamps", match: datePrefix, min: 3, gap: 2},
		{name: "kernel log time stamps", match: dmesgPrefix, min: 3},
		{name: "container name prefixes", match: composePrefix, min: 3, all: true, gap: 1, accept: oneColumn},
		{name: "host name prefixes", match: hostPrefix, min: 4, same: true},
		{name: "host name prefixes", match: bracketPrefix, min: 4, same: true},
		{name: "bars before lines", match: barPrefix, min: 3, accept: noTree},
		{name: noteDiff, match: signPrefix, min: 4, accept: someRows},
		{name: "comment signs", match: hashPrefix, min: 2, accept: mostlyRows},
		{name: "comment signs", match: commentPrefix, min: 3, accept: someRows},
	}
}

// prefixes takes one layer of prefixes off and reports whether there was one.
func (c *cleaner) prefixes() bool {
	kinds := prefixTable()
	counts := c.countPrefixes(kinds)
	c.full = c.nonBlank()
	changed := c.numbering()
	for k := range kinds {
		if kinds[k].name == noteDiff && counts[k] > 2 && !changed {
			changed = c.diff()
		}
		if counts[k] > 0 && !changed {
			changed = c.stripRuns(&kinds[k])
		}
	}
	return changed || c.dedent()
}

// countPrefixes counts the lines that could have each kind of prefix.
func (c *cleaner) countPrefixes(kinds []prefixKind) []int {
	counts := make([]int, len(kinds))
	for _, l := range c.text.Lines {
		s := l.Text
		if s == "" || s[0] == ' ' && (len(s) < 2 || s[1] == ' ' || isDigit(s[1])) {
			continue // the common case: rows of a table
		}
		for k := range kinds {
			if kinds[k].match(s) > 0 {
				counts[k]++
			}
		}
	}
	return counts
}

// stripRuns takes a prefix off each run of lines that is long enough.
func (c *cleaner) stripRuns(p *prefixKind) bool {
	lines := c.text.Lines
	changed := false
	for i := 0; i < len(lines); {
		run, end := c.findRun(p, i)
		if len(run) > 0 && c.isRun(p, run) {
			for _, j := range run {
				lines[j].Text = lines[j].Text[p.match(lines[j].Text):]
			}
			changed = true
		}
		i = end
	}
	if changed {
		c.note(p.name)
	}
	return changed
}

// findRun returns the indices of the lines with prefix p in the first run at
// or after line i, and where to look on. Empty lines do not end a run.
func (c *cleaner) findRun(p *prefixKind, i int) (run []int, end int) {
	lines := c.text.Lines
	misses, first := 0, ""
	for ; i < len(lines); i++ {
		s := lines[i].Text
		n := p.match(s)
		if n > 0 && p.same && first != "" && !alike(s[:n], first) {
			return run, i
		}
		switch {
		case n > 0:
			if first == "" {
				first = s[:n]
			}
			run = append(run, i)
			misses = 0
		case len(run) == 0 || strings.TrimSpace(s) == "":
		case misses == p.gap:
			return run, i
		default:
			misses++
		}
	}
	return run, i
}

// alike compares prefixes without the space that ends them, which editors trim.
func alike(a, b string) bool {
	return strings.TrimRight(a, " \t") == strings.TrimRight(b, " \t")
}

func (c *cleaner) isRun(p *prefixKind, run []int) bool {
	if len(run) < p.min && !(p.all && len(run) > 1 && len(run) == c.full) {
		return false
	}
	if p.accept == nil {
		return true
	}
	prefixes, rest := make([]string, len(run)), make([]string, len(run))
	for k, j := range run {
		s := c.text.Lines[j].Text
		n := p.match(s)
		prefixes[k], rest[k] = s[:n], s[n:]
	}
	return p.accept(prefixes, rest)
}

// nonBlank counts the lines with text, up to a handful.
func (c *cleaner) nonBlank() int {
	n := 0
	for _, l := range c.text.Lines {
		if strings.TrimSpace(l.Text) != "" {
			n++
		}
		if n > 8 {
			break
		}
	}
	return n
}

// dedent takes off the indentation that all lines share, when the first line
// has no more of it and is no row of a table: inside a list or a quoted block
// all of a text is moved.
func (c *cleaner) dedent() bool {
	common, first, tab := -1, -1, false
	for _, l := range c.text.Lines {
		t := strings.TrimLeft(l.Text, " \t")
		if t == "" {
			continue
		}
		n := len(l.Text) - len(t)
		if n == 0 {
			return false
		}
		if first < 0 {
			if !isLetter(t[0]) && strings.IndexByte("#$[{+-", t[0]) < 0 || isRule(t) || strings.Contains(t, " | ") {
				return false
			}
			first = n
			tab = l.Text[0] == '\t'
		}
		if common < 0 || n < common {
			common = n
		}
	}
	if common < 2 && !tab || common != first || !c.sharePrefix(common) {
		return false
	}
	for i := range c.text.Lines {
		l := &c.text.Lines[i]
		l.Text = l.Text[min(common, len(l.Text)):]
	}
	c.note(noteIndent)
	return true
}

// sharePrefix reports whether the first n bytes of all lines with text are
// equal (tabs and spaces may not be mixed).
func (c *cleaner) sharePrefix(n int) bool {
	first := ""
	for _, l := range c.text.Lines {
		if strings.TrimSpace(l.Text) == "" {
			continue
		}
		if first == "" {
			first = l.Text[:n]
		}
		if l.Text[:n] != first {
			return false
		}
	}
	return true
}
