package timehist

import "bytes"

// isSpace includes the tab: pasting turns runs of spaces into tabs.
func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func isDigit(c byte) bool { return c-'0' <= 9 }

// trimLeft returns p without leading blanks.
func trimLeft(p []byte) []byte {
	for len(p) > 0 && isSpace(p[0]) {
		p = p[1:]
	}
	return p
}

// trimRight returns p without trailing blanks and carriage returns.
func trimRight(p []byte) []byte {
	for len(p) > 0 && (isSpace(p[len(p)-1]) || p[len(p)-1] == '\r') {
		p = p[:len(p)-1]
	}
	return p
}

func trim(p []byte) []byte { return trimRight(trimLeft(p)) }

// token cuts the first blank-separated word off p, whose leading blanks are
// skipped. It is empty at the end.
func token(p []byte) (word, rest []byte) {
	p = trimLeft(p)
	i := 0
	for i < len(p) && !isSpace(p[i]) {
		i++
	}
	return p[:i], p[i:]
}

// digits returns the number that p begins with and how many digits it has. A
// number that does not fit is returned as the largest one.
func digits(p []byte) (v uint64, n int) {
	const most = 1<<64 - 1
	for n < len(p) && isDigit(p[n]) {
		d := uint64(p[n] - '0')
		if v > (most-d)/10 {
			v = most
		} else {
			v = v*10 + d
		}
		n++
	}
	return v, n
}

// integer reads a whole word as a number.
func integer(word []byte) (uint64, bool) {
	v, n := digits(word)
	return v, n > 0 && n == len(word)
}

// noTime is a printed duration that no clock can have measured, as perf prints
// when it subtracts a later time from an earlier one.
const noTime = 1<<64 - 1

// maxMsec bounds a duration in milliseconds that fits in nanoseconds.
const maxMsec = (1<<63 - 1) / 1_000_000

// msec reads a whole word "msec.usec" with three decimals, the form of every
// duration of timehist, and returns nanoseconds (noTime: too large for any).
func msec(word []byte) (ns uint64, ok bool) {
	v, n := digits(word)
	if n == 0 || n > 20 || len(word) != n+4 || word[n] != '.' {
		return 0, false
	}
	frac, m := digits(word[n+1:])
	if m != 3 {
		return 0, false
	}
	if v > maxMsec {
		return noTime, true
	}
	return v*1e6 + frac*1e3, true
}

// clock reads a whole word of seconds with three, six or nine decimals, and
// returns nanoseconds and the resolution. Other numbers of decimals are those
// of a cut line.
func clock(word []byte) (ns, resolution uint64, ok bool) {
	v, n := digits(word)
	if n == 0 || n > 9 || n == len(word) || word[n] != '.' {
		return 0, 0, false
	}
	frac, m := digits(word[n+1:])
	if n+1+m != len(word) {
		return 0, 0, false
	}
	switch m {
	case 3:
		resolution = 1e6
	case 6:
		resolution = 1e3
	case 9:
		resolution = 1
	default:
		return 0, 0, false
	}
	return v*1e9 + frac*resolution, resolution, true
}

// entities are the HTML spellings of the characters that timehist prints.
var entities = [...]struct{ from, to []byte }{
	{[]byte("&lt;"), []byte("<")},
	{[]byte("&gt;"), []byte(">")},
	{[]byte("&amp;"), []byte("&")},
}

// unescape undoes HTML entities, in a copy where there are any.
func unescape(p []byte) []byte {
	if bytes.IndexByte(p, '&') < 0 {
		return p
	}
	for _, e := range entities {
		if bytes.Contains(p, e.from) {
			p = bytes.ReplaceAll(p, e.from, e.to)
		}
	}
	return p
}

// lastWord splits the last blank-separated word off p.
func lastWord(p []byte) (before, word []byte) {
	p = trimRight(p)
	i := len(p)
	for i > 0 && !isSpace(p[i-1]) {
		i--
	}
	return p[:i], p[i:]
}
