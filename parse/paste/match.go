package paste

import "strings"

// The functions here return the length of a prefix, with the one space or tab
// that ends it, or 0 where there is none.

// ender adds the separator after a prefix of n bytes: one space or tab, or the
// end of a line whose trailing spaces were trimmed.
func ender(s string, n int) int {
	switch {
	case n == 0:
		return 0
	case n == len(s):
		return n
	case s[n] == ' ' || s[n] == '\t':
		return n + 1
	}
	return 0
}

// quotePrefix matches the quoting of mail and Markdown, all its levels.
func quotePrefix(s string) int {
	i := 0
	for i < len(s) && i < 3 && s[i] == ' ' {
		i++
	}
	if i == len(s) || s[i] != '>' {
		return 0
	}
	for i < len(s) && s[i] == '>' {
		i++
		if i < len(s) && s[i] == ' ' {
			i++
		}
	}
	return i
}

// digitsAt matches a pattern in which 0 stands for a digit, at the start of s.
func digitsAt(s, pattern string) bool {
	if len(s) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if p := pattern[i]; p == '0' && !isDigit(s[i]) || p != '0' && p != s[i] {
			return false
		}
	}
	return true
}

// isoPrefix matches "2026-01-05T10:11:12.0000000Z ", also in brackets, with
// what GitLab and Kubernetes put behind it.
func isoPrefix(s string) int {
	n := isoTime(s)
	if n == 0 {
		return 0
	}
	for _, mark := range []string{" stdout F", " stderr F", " stdout P", " stderr P", " 00O", " 00E", " 01O", " 01E"} {
		if strings.HasPrefix(s[n:], mark) {
			n += len(mark)
			break
		}
	}
	if n < len(s) && s[n] == '+' {
		return n + 1
	}
	return ender(s, n)
}

// isoTime matches the time stamp itself.
func isoTime(s string) int {
	open := 0
	if s != "" && s[0] == '[' {
		open = 1
	}
	t := s[open:]
	if !digitsAt(t, "0000-00-00T00:00:00") && !digitsAt(t, "0000-00-00 00:00:00") {
		return 0
	}
	n := 19
	if n < len(t) && (t[n] == '.' || t[n] == ',') {
		n++
		for n < len(t) && isDigit(t[n]) {
			n++
		}
	}
	n += zone(t[n:])
	if open == 1 {
		if n == len(t) || t[n] != ']' {
			return 0
		}
		n++
	}
	return open + n
}

func zone(s string) int {
	switch {
	case strings.HasPrefix(s, "Z"):
		return 1
	case s == "" || s[0] != '+' && s[0] != '-':
		return 0
	case digitsAt(s[1:], "00:00"):
		return 6
	case digitsAt(s[1:], "0000"):
		return 5
	}
	return 0
}

// jobLogPrefix matches "job<tab>step<tab>time " of downloaded CI logs. The
// time has a "T": rows of sadf have a date and a time in their third column.
func jobLogPrefix(s string) int {
	if s == "" || !isLetter(s[0]) {
		return 0
	}
	at := 0
	for range 2 {
		i := strings.IndexByte(s[at:min(len(s), at+200)], '\t')
		if i < 0 {
			return 0
		}
		at += i + 1
	}
	n := isoTime(s[at:])
	if n == 0 || s[at+10] != 'T' {
		return 0
	}
	return ender(s, at+n)
}

// dateStamp matches "Nov 30 12:00:00", with a fraction.
func dateStamp(s string) int {
	if len(s) < 15 || !isLetter(s[0]) || s[3] != ' ' || s[6] != ' ' || !digitsAt(s[7:], "00:00:00") {
		return 0
	}
	if s[4] != ' ' && !isDigit(s[4]) || !isDigit(s[5]) || !isMonth(s[:3]) {
		return 0
	}
	n := 15
	if n < len(s) && s[n] == '.' {
		n++
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	}
	return n
}

func isMonth(s string) bool {
	const months = "JanFebMarAprMayJunJulAugSepOctNovDec"
	i := strings.Index(months, s)
	return i >= 0 && i%3 == 0
}

// datePrefix matches the bare time stamp of ts(1).
func datePrefix(s string) int { return ender(s, dateStamp(s)) }

// syslogPrefix matches "Nov 30 12:00:00 host ident[pid]: ".
func syslogPrefix(s string) int {
	if s != "" && s[0] == '<' {
		return 0
	}
	n := dateStamp(s)
	if n == 0 || n == len(s) || s[n] != ' ' {
		return 0
	}
	m := ident(s[n+1:])
	if m == 0 {
		return 0
	}
	return ender(s, n+1+m)
}

// identPrefix matches "host ident[pid]: ", what is left of an ISO journal line.
func identPrefix(s string) int {
	if s == "" || !isLetter(s[0]) && !isDigit(s[0]) {
		return 0
	}
	n := ident(s)
	if n < 2 || s[n-2] != ']' {
		return 0
	}
	return ender(s, n)
}

// ident matches "host ident[pid]:" or "host ident:".
func ident(s string) int {
	host := nameLen(s)
	if host == 0 || host == len(s) || s[host] != ' ' {
		return 0
	}
	n := host + 1
	id := nameLen(s[n:])
	if id == 0 {
		return 0
	}
	n += id
	if n < len(s) && s[n] == '[' {
		n++
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		if n == len(s) || s[n] != ']' {
			return 0
		}
		n++
	}
	if n == len(s) || s[n] != ':' {
		return 0
	}
	return n + 1
}

// nameLen is the length of a host, service or program name.
func nameLen(s string) int {
	for i := range len(s) {
		if b := s[i]; !isLetter(b) && !isDigit(b) && strings.IndexByte("-_.@/()", b) < 0 {
			return i
		}
		if i == 80 {
			return 0
		}
	}
	return len(s)
}

// dmesgPrefix matches "[   12.345678] ".
func dmesgPrefix(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	n := 1
	for n < len(s) && s[n] == ' ' {
		n++
	}
	from := n
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == from || !digitsAt(s[n:], ".000000") || n+7 >= len(s) || s[n+7] != ']' {
		return 0
	}
	return ender(s, n+8)
}

// composePrefix matches "service-1  | " of docker compose and its kin.
func composePrefix(s string) int {
	if s == "" || !isLetter(s[0]) && !isDigit(s[0]) {
		return 0
	}
	n := 0
	if digitsAt(s, "00:00:00 ") {
		n = 9
	}
	id := nameLen(s[n:])
	if id == 0 || strings.IndexByte(s[n:n+id], '/') >= 0 {
		return 0
	}
	bar := n + id
	for bar < len(s) && s[bar] == ' ' {
		bar++
	}
	if bar == n+id || bar == len(s) || s[bar] != '|' {
		return 0
	}
	return ender(s, bar+1)
}

// oneColumn reports whether the bars stand in one column, as compose pads the
// names, and names come again, as those of a table's rows do not.
func oneColumn(prefixes, _ []string) bool {
	names := map[string]bool{}
	for _, p := range prefixes {
		p = strings.TrimRight(p, " ")
		if len(p) != len(strings.TrimRight(prefixes[0], " ")) {
			return false
		}
		names[p] = true
	}
	return len(names)*2 <= len(prefixes)
}

// hostPrefix matches "node1: ", of tools that run a command on many hosts.
// Names without a digit are left alone: "Average:" means something.
func hostPrefix(s string) int {
	if s == "" || !isLetter(s[0]) {
		return 0
	}
	n := nameLen(s)
	if n == 0 || n == len(s) || s[n] != ':' || !strings.ContainsAny(s[:n], "0123456789") || strings.IndexByte(s[:n], '/') >= 0 {
		return 0
	}
	return ender(s, n+1)
}

// bracketPrefix matches "[pod/name/container] " and "[host1] ". What tools
// print in brackets has no digit between letters ("[kernel.kallsyms]").
func bracketPrefix(s string) int {
	if len(s) < 3 || s[0] != '[' || !isLetter(s[1]) {
		return 0
	}
	n := 1 + nameLen(s[1:])
	if n == 1 || n == len(s) || s[n] != ']' || !strings.ContainsAny(s[1:n], "0123456789") {
		return 0
	}
	return ender(s, n+1)
}

// barPrefix matches "| " and the bars of boxes.
func barPrefix(s string) int {
	for _, bar := range []string{"|", "│", "┃", "║", "▏"} {
		if strings.HasPrefix(s, bar) {
			return ender(s, len(bar))
		}
	}
	return 0
}

// noTree turns away the bars of call graphs and of tables.
func noTree(_, rest []string) bool {
	for _, s := range rest {
		t := strings.TrimSpace(s)
		if strings.HasPrefix(t, "|") || strings.HasPrefix(t, "--") || strings.HasSuffix(t, "|") {
			return false
		}
	}
	return true
}

// signPrefix matches the signs of a diff.
func signPrefix(s string) int {
	if s != "" && (s[0] == '+' || s[0] == '-') && !isRule(s) && !isFoldedRow(s) && !isDiffMeta(s) {
		return 1
	}
	return 0
}

// someRows reports whether the run holds rows of a tool, as a list of remarks
// does not.
func someRows(_, rest []string) bool {
	rows := 0
	for _, s := range rest {
		if isRow(s) {
			rows++
		}
	}
	return rows > 2 || rows > 0 && rows*10 >= len(rest)
}

// hashPrefix matches the comment sign of shells, with which tools begin lines
// of their own.
func hashPrefix(s string) int {
	if s == "" || s[0] != '#' {
		return 0
	}
	return ender(s, 1)
}

// commentPrefix matches the comment signs of other languages.
func commentPrefix(s string) int {
	for _, sign := range []string{"//", ";", "--", "*", " *", "%"} {
		if strings.HasPrefix(s, sign) {
			return ender(s, len(sign))
		}
	}
	return 0
}

// mostlyRows reports whether at least a third of the lines are rows that no
// tool prints behind a comment sign. Headers of perf report, perf script and
// ftrace are comments by themselves and stay.
func mostlyRows(_, rest []string) bool {
	rows, n := 0, 0
	for _, s := range rest {
		if strings.TrimSpace(s) == "" {
			continue
		}
		n++
		if isRow(s) {
			rows++
		}
	}
	return rows*3 >= n && rows > 0
}

// isRow knows the rows of the tools by their first fields.
func isRow(s string) bool {
	if strings.Contains(s, "Performance counter stats for") || strings.Contains(s, "seconds time elapsed") {
		return true
	}
	if isDataRow(strings.TrimSpace(s)) {
		return true
	}
	f := strings.Fields(s[:min(len(s), 200)])
	if len(f) < 2 {
		return false
	}
	numbers := 0
	for _, w := range f {
		if isNumber(w) {
			numbers++
		}
	}
	switch {
	case !isNumber(f[0]):
		return strings.HasSuffix(f[0], "voluntary_ctxt_switches:")
	case strings.HasSuffix(f[0], "%"):
		return true
	case strings.HasPrefix(f[1], "[") && strings.HasSuffix(f[1], "]"):
		return true
	}
	return numbers >= 3 || strings.Contains(s, " # ") || len(f) <= 3 && strings.Contains(f[len(f)-1], "-")
}

// isDataRow knows rows of CSV, which begin with a number or lack one, and JSON
// objects.
func isDataRow(s string) bool {
	switch {
	case strings.HasPrefix(s, "<not "), strings.HasPrefix(s, `{"`):
		return true
	case s == "" || !isDigit(s[0]) && s[0] != 'S' && s[0] != 'C':
		return false
	}
	return strings.Count(s, ",") > 4 || strings.Count(s, ";") > 4
}

// isNumber accepts anything made of digits and number signs.
func isNumber(w string) bool {
	for i := range len(w) {
		if !isDigit(w[i]) && strings.IndexByte(".,:%-+", w[i]) < 0 {
			return false
		}
	}
	return strings.ContainsAny(w, "0123456789")
}
