package pidstat

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"ctxan/parse/evidence"
)

// row is one line of a table with the two rates.
type row struct {
	line       int
	task       evidence.Task
	leader     string // "(leader)__name": the process, when its own row was left out
	process    bool   // a TGID row
	thread     bool   // a TID row
	tied       bool   // the row itself names the process
	average    bool
	vol, invol float64
}

// The reasons why a row is dropped.
var (
	errCut     = errors.New("row is cut short")
	errID      = errors.New("no process or thread id where the header has one")
	errOwner   = errors.New("no user id where the header has one")
	errNumber  = errors.New("not a rate")
	errColumns = errors.New("more columns of figures than in the header")
	errCommas  = errors.New("decimal commas cannot be told from the commas between the columns")
)

// maxRate is beyond what any task can do: a switch takes longer than 10 ns.
// pidstat prints such rates when a counter seems to run backwards.
const maxRate = 1e8

// parseRow reads what follows the time of a row.
func (l *layout) parseRow(rest string) (row, error) {
	var r row
	var err error
	if l.owner {
		if rest, err = l.skipOwner(rest); err != nil {
			return r, err
		}
	}
	if rest, err = l.ids(rest, &r); err != nil {
		return r, err
	}
	for i := range l.values {
		var w string
		w, rest = nextWord(rest)
		switch {
		case w == "":
			return r, errCut
		case i == l.vol:
			r.vol, err = parseRate(w)
		case i == l.invol:
			r.invol, err = parseRate(w)
		}
		if err != nil {
			return r, err
		}
	}
	return r, l.command(rest, &r)
}

func (l *layout) skipOwner(rest string) (string, error) {
	w, rest := nextWord(rest)
	switch {
	case w == "":
		return "", errCut
	case !l.user && !allDigits(strings.TrimPrefix(w, "-")):
		return "", errOwner
	}
	return rest, nil
}

// ids reads PID, or TGID and TID, of which one may be "-".
func (l *layout) ids(rest string, r *row) (string, error) {
	w, rest := nextWord(rest)
	pid, okP := parseID(w)
	if !l.threads {
		if !okP {
			return "", idError(w)
		}
		r.task.PID, r.task.TID = pid, pid
		return rest, nil
	}
	w2, rest := nextWord(rest)
	tid, okT := parseID(w2)
	switch {
	case okP && w2 == "-":
		r.task.PID, r.task.TID, r.process, r.tied = pid, pid, true, true
	case w == "-" && okT:
		r.task.TID, r.thread = tid, true
	case okP && okT:
		r.task.PID, r.task.TID, r.thread, r.tied = pid, tid, true, true
	default:
		return "", idError(w2)
	}
	return rest, nil
}

func idError(w string) error {
	if w == "" {
		return errCut
	}
	return errID
}

// parseID reads a process or thread id.
func parseID(w string) (int, bool) {
	if len(w) > 10 || !allDigits(w) {
		return 0, false
	}
	v := 0
	for i := range len(w) {
		v = v*10 + int(w[i]-'0')
	}
	return v, v <= math.MaxInt32
}

// command reads the last column. Threads print "|__name", or "(process)__name"
// when the process has no row of its own.
//
// Layout: print_comm in sysstat's pidstat.c.
func (l *layout) command(rest string, r *row) error {
	name := strings.Trim(rest, " \t")
	if name == "" {
		return errCut
	}
	if first, more := nextWord(name); more != "" && looksLikeRate(first) {
		return errColumns
	}
	if !r.thread {
		r.task.Comm = name
		return nil
	}
	if thread, ok := strings.CutPrefix(name, "|__"); ok {
		name = thread
	} else if leader, thread, ok := strings.Cut(name, ")__"); ok && leader != "" && leader[0] == '(' {
		name, r.leader = thread, leader[1:]
	}
	r.task.Comm = name
	return nil
}

// looksLikeRate reports whether a word is a number with a separator in it.
func looksLikeRate(w string) bool {
	return strings.ContainsAny(w, ".,") && strings.Trim(w, "0123456789.,") == ""
}

// parseRate reads a rate. pidstat prints at most two decimals, with the
// locale's separator, and does not group digits: three digits after a single
// separator are thousands that someone's spreadsheet grouped.
func parseRate(w string) (float64, error) {
	var mantissa uint64
	decimals, seps, last := -1, 0, byte(0)
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			if mantissa > math.MaxUint64/100 {
				return 0, rateError(w)
			}
			mantissa = mantissa*10 + uint64(c-'0')
			if decimals >= 0 {
				decimals++
			}
		case (c == '.' || c == ',') && i > 0:
			if decimals >= 0 && decimals != 3 {
				return 0, rateError(w)
			}
			decimals, last = 0, c
			seps++
		default:
			return 0, rateError(w)
		}
	}
	if w == "" || decimals == 0 || decimals > 3 {
		return 0, rateError(w)
	}
	if decimals == 3 { // grouped, or grouped differently before: "1.234,567" is nothing
		if strings.Count(w, string(last)) != seps {
			return 0, rateError(w)
		}
		decimals = 0
	}
	v := float64(mantissa) / math.Pow10(max(decimals, 0))
	if v > maxRate {
		return 0, fmt.Errorf("%w: %s/s is more than a task can do", errNumber, shorten(w))
	}
	return v, nil
}

func rateError(w string) error { return fmt.Errorf("%w: %q", errNumber, shorten(w)) }

// shorten keeps a message short whatever the input holds.
func shorten(w string) string {
	if len(w) > 40 {
		return strings.ToValidUTF8(w[:40], "") + "…"
	}
	return w
}

// parseSep reads a row of an exported table.
func (l *layout) parseSep(line string) (prefix, row, error) {
	words := splitSep(line, l.sep)
	p := prefix{clock: clock{period: -1}}
	skip := max(l.stamp, 0)
	if l.stamp == stampUnknown {
		skip = 1
	}
	want := skip + l.values + 2 // ids and command
	if l.owner {
		want++
	}
	if l.threads {
		want++
	}
	if len(words) < want {
		return p, row{}, errCut
	}
	if l.sep == "," && len(words) > want && allDigits(words[want-1]) {
		return p, row{}, errCommas
	}
	if skip > 0 {
		p, _, _ = parsePrefix(words[0], l)
	}
	head, command := words[skip:want-1], strings.Join(words[want-1:], l.sep)
	for i, w := range head {
		if w == "" || strings.ContainsAny(w, " \t") {
			return p, row{}, fmt.Errorf("column %d of the table is not one word", skip+i+1)
		}
	}
	r, err := l.parseRow(strings.Join(head, " ") + " " + command)
	return p, r, err
}
