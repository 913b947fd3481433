package pidstat

import (
	"strings"
	"unicode"
)

// layout is what a header line says of the rows below it.
type layout struct {
	sep     string // "" for columns in white space, otherwise the separator of an exported table
	stamp   int    // how many words the time takes; 0: there is none, stampUnknown: the header does not show it
	shape   string // the first word of the header's time with every digit made 9
	owner   bool   // a UID or USER column
	user    bool   // it is USER: a name
	threads bool   // TGID and TID (pidstat -t) instead of PID
	values  int    // columns between the ids and the command
	vol     int    // which of them are the rates; -1 in the table of another activity
	invol   int
	guessed bool // inferred from rows, or taken from elsewhere in the text
}

const stampUnknown = -1

// switches reports whether the table has the two rates.
func (l *layout) switches() bool { return l.vol >= 0 && l.invol >= 0 }

// header is a parsed header line.
type header struct {
	layout
	time    string // its time, which is that of the previous sample; "" when it shows none
	oneLine bool   // "# Time": pidstat -h
}

// parseHeader reads a table's header: a time, UID or USER or neither, PID or
// TGID and TID, the activity's columns and Command. It takes no other tool's.
//
// Layout: PRINT_ID_HDR in sysstat's pidstat.h and the write_plain_pid_*_stats
// functions of pidstat.c.
func parseHeader(line string) (header, bool) {
	if !strings.Contains(line, "ommand") {
		return header{}, false
	}
	words, sep := headerWords(line)
	if len(words) < 3 || !strings.EqualFold(words[len(words)-1], "Command") {
		return header{}, false
	}
	h := header{layout: layout{sep: sep, vol: -1, invol: -1}}
	i := h.ids(words)
	if i < 0 {
		return header{}, false
	}
	h.values = len(words) - 1 - i
	if !h.columns(words[i : len(words)-1]) {
		return header{}, false
	}
	return h, true
}

// headerWords splits a header, also that of a table exported with separators.
func headerWords(line string) ([]string, string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil, ""
	}
	for _, w := range words {
		if isID(w) && words[len(words)-1] != "|" {
			return words, ""
		}
	}
	for _, sep := range []string{";", ",", "|"} {
		if strings.Count(line, sep) >= 3 {
			return splitSep(line, sep), sep
		}
	}
	return nil, ""
}

// splitSep splits an exported line. A Markdown table has separators outside too.
func splitSep(line, sep string) []string {
	line = strings.TrimSpace(line)
	if sep == "|" {
		line = strings.TrimSuffix(strings.TrimPrefix(line, sep), sep)
	}
	words := strings.Split(line, sep)
	for i, w := range words {
		words[i] = strings.Trim(strings.TrimSpace(w), `"`)
	}
	return words
}

func isID(w string) bool { return strings.EqualFold(w, "PID") || strings.EqualFold(w, "TGID") }

// ids reads the time and the id columns and returns the index of the first
// column after them, or -1.
func (h *header) ids(words []string) int {
	i := 0
	for ; i < len(words) && !isID(words[i]) && !isOwner(words[i]); i++ {
	}
	if i == len(words) || i > 4 {
		return -1
	}
	h.headTime(words[:i])
	if isOwner(words[i]) {
		h.owner, h.user = true, strings.EqualFold(words[i], "USER")
		i++
	}
	switch {
	case i < len(words) && strings.EqualFold(words[i], "PID"):
		return i + 1
	case i+1 < len(words) && strings.EqualFold(words[i], "TGID") && strings.EqualFold(words[i+1], "TID"):
		h.threads = true
		return i + 2
	}
	return -1
}

func isOwner(w string) bool { return strings.EqualFold(w, "UID") || strings.EqualFold(w, "USER") }

// headTime reads what stands before the ids: the time of the previous sample,
// "# Time", the word for average, or nothing.
func (h *header) headTime(words []string) {
	h.stamp = len(words)
	if len(words) == 0 {
		return
	}
	last := words[len(words)-1]
	switch {
	case strings.EqualFold(last, "Time"):
		h.oneLine, h.stamp = true, stampUnknown
	case !hasDigit(words[0]):
		h.stamp = stampUnknown
	default:
		h.time = strings.Join(words, " ")
		h.shape = shape(words[0])
	}
}

// shape makes all digits alike.
func shape(w string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '9'
		}
		return r
	}, w)
}

// asGuess returns the layout for rows that may or may not follow it.
func (l *layout) asGuess() *layout {
	if l == nil {
		return nil
	}
	g := *l
	g.guessed = true
	return &g
}

// activityColumns are the columns of pidstat's tables, of all versions.
var activityColumns = map[string]bool{
	"%usr": true, "%user": true, "%system": true, "%guest": true, "%wait": true, "%cpu": true, "cpu": true,
	"usr-ms": true, "user-ms": true, "system-ms": true, "guest-ms": true,
	"minflt/s": true, "majflt/s": true, "minflt-nr": true, "majflt-nr": true, "vsz": true, "rss": true, "%mem": true,
	"stksize": true, "stkref": true, "kb_rd/s": true, "kb_wr/s": true, "kb_ccwr/s": true, "iodelay": true,
	"cswch/s": true, "nvcswch/s": true, "threads": true, "fd-nr": true, "prio": true, "policy": true,
}

// columns finds the two rates. A table without them is taken only when every
// column is one of pidstat's.
func (h *header) columns(words []string) bool {
	known := len(words) > 0
	for i, w := range words {
		switch w = strings.ToLower(w); w {
		case "cswch/s":
			h.vol = i
		case "nvcswch/s":
			h.invol = i
		}
		known = known && activityColumns[w]
	}
	return known || h.switches()
}
