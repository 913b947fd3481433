package perfstat

import (
	"errors"
	"strconv"
	"strings"
)

// numberKind tells how perf prints a number, and so how an ambiguous one
// ("1.234") is to be read.
type numberKind uint8

const (
	kindCount   numberKind = iota // an event count: an integer, thousands may be grouped
	kindScaled                    // a value with a unit: two or six decimals, thousands may be grouped
	kindDecimal                   // never grouped: seconds, metrics, per cents, CSV and JSON
)

var errNumber = errors.New("unreadable number")

// numberEnd returns how many bytes of s are a number: digits, with separators
// between them. Every run of bytes outside ASCII is one separator, because
// no-break spaces and apostrophes arrive in many encodings, whole or broken.
func numberEnd(s string) int {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == 0 {
		return 0
	}
	for i < len(s) {
		n := separator(s[i:])
		if n == 0 || i+n == len(s) || !isDigit(s[i+n]) {
			return i
		}
		i += n
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	}
	return i
}

// isNumber reports whether all of s is a number.
func isNumber(s string) bool { return s != "" && numberEnd(s) == len(s) }

// separator returns the length of the separator at the start of s. A question
// mark is what some programs leave of a no-break space.
func separator(s string) int {
	switch s[0] {
	case '.', ',', '\'', '?', ' ':
		return 1
	}
	n := 0
	for n < len(s) && n < 12 && s[n] >= 0x80 {
		n++
	}
	return n
}

// maxGroups is more groups of digits than any counter has.
const maxGroups = 12

// number is a printed number cut at its separators: one fewer of those than
// of groups of digits.
type number struct {
	digits [maxGroups]string
	seps   [maxGroups]string
	groups int
}

// cut reads s. ok is false for too many groups.
func (n *number) cut(s string) (ok bool) {
	for n.groups < maxGroups {
		i := 0
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		n.digits[n.groups] = s[:i]
		n.groups++
		if i == len(s) {
			return true
		}
		w := max(separator(s[i:]), 1)
		n.seps[n.groups-1] = s[i : i+w]
		s = s[i+w:]
	}
	return false
}

// parseNumber reads a number. decimal is the decimal separator of its block, 0
// when nothing tells. fraction reports whether the number had decimals.
func parseNumber(s string, kind numberKind, decimal byte) (v float64, fraction bool, err error) {
	if allDigits(s) {
		v, err = strconv.ParseFloat(s, 64)
		return v, false, err
	}
	var n number
	if !isNumber(s) || !n.cut(s) {
		return 0, false, errNumber
	}
	if fraction, err = n.hasFraction(kind, decimal); err != nil {
		return 0, false, err
	}
	whole := n.groups
	if fraction {
		whole--
	}
	if !groupedByThousands(n.digits[:whole]) {
		return 0, false, errNumber
	}
	v, err = n.value(whole)
	return v, fraction, err
}

// value joins the first groups to the integer and takes what is left for
// decimals.
func (n *number) value(whole int) (float64, error) {
	var buf [64]byte
	b := buf[:0]
	for _, d := range n.digits[:whole] {
		b = append(b, d...)
	}
	if whole < n.groups {
		b = append(b, '.')
		b = append(b, n.digits[whole]...)
	}
	return strconv.ParseFloat(string(b), 64)
}

// hasFraction decides whether the last separator is the decimal one.
func (n *number) hasFraction(kind numberKind, decimal byte) (bool, error) {
	last := n.groups - 2
	sep := n.seps[last]
	point := sep == "." || sep == ","
	for _, s := range n.seps[:last] {
		if s != n.seps[0] {
			return false, errNumber
		}
	}
	if last > 0 {
		if sep == n.seps[0] {
			return false, nil
		}
		if !point {
			return false, errNumber
		}
		return true, nil
	}
	switch {
	case kind == kindDecimal:
		return true, nil
	case !point:
		return false, nil
	}
	return n.singlePoint(kind, decimal)
}

// singlePoint decides for one "." or ",": grouping puts one to three digits
// before it and exactly three behind it. A count that looks grouped is an
// integer, because perf prints no fractions of counts, unless the block
// contradicts that.
func (n *number) singlePoint(kind numberKind, decimal byte) (bool, error) {
	head, tail := n.digits[0], n.digits[1]
	if len(tail) != 3 || len(head) > 3 || head == "0" {
		return true, nil
	}
	if kind == kindCount {
		if decimal != 0 && n.seps[0][0] == decimal {
			return false, errNumber
		}
		return false, nil
	}
	return decimal == 0 || n.seps[0][0] == decimal, nil
}

// groupedByThousands checks the groups of an integer: three digits each after
// the first, or two before the last three (South Asia). A leading zero is left
// of a number that was cut.
func groupedByThousands(g []string) bool {
	if len(g) == 1 {
		return true
	}
	if g[0] == "" || g[0][0] == '0' || len(g[0]) > 3 || len(g[len(g)-1]) != 3 {
		return false
	}
	for _, d := range g[1 : len(g)-1] {
		if len(d) != len(g[1]) || len(d) != 3 && len(d) != 2 {
			return false
		}
	}
	return true
}

// parseDecimal reads a number that perf never groups.
func parseDecimal(s string) (float64, bool) {
	if !isNumber(s) {
		return 0, false
	}
	v, _, err := parseNumber(s, kindDecimal, 0)
	return v, err == nil
}

// votes counts which decimal separator a block uses.
type votes struct{ point, comma int }

// add takes a number that perf prints without grouping as a vote.
func (v *votes) add(s string) {
	i := strings.IndexAny(s, ".,")
	if i <= 0 || strings.LastIndexAny(s, ".,") != i || !isDigit(s[i-1]) {
		return
	}
	if s[i] == '.' {
		v.point++
	} else {
		v.comma++
	}
}

// addValue takes a counter's value as a vote, where its form leaves no doubt.
func (v *votes) addValue(s string) {
	if strings.IndexAny(s, ".,") <= 0 {
		return
	}
	var n number
	if !n.cut(s) {
		return
	}
	last := n.groups - 2
	sep := n.seps[last]
	if sep != "." && sep != "," {
		return
	}
	head, tail := n.digits[0], n.digits[last+1]
	if last == 0 && len(tail) == 3 && len(head) <= 3 && head != "0" || last > 0 && sep == n.seps[0] {
		return
	}
	if sep == "." {
		v.point++
	} else {
		v.comma++
	}
}

// decimal returns the separator with most votes, 0 for none.
func (v votes) decimal() byte {
	switch {
	case v.point > v.comma:
		return '.'
	case v.comma > v.point:
		return ','
	}
	return 0
}

func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}
