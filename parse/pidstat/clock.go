package pidstat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clock is a row's time of day, or an epoch time with pidstat -H.
type clock struct {
	sec    int64
	period int64 // it starts over after so many seconds; 0: an epoch time, -1: not a known form
}

const (
	day     = 24 * 3600
	halfDay = 12 * 3600
)

// after returns the seconds from o to c, and whether that can be told: clocks
// of one kind, c not before o.
func (c clock) after(o clock) (int64, bool) {
	d := c.sec - o.sec
	switch {
	case c.period < 0 || c.period != o.period:
		return 0, false
	case c.period == 0:
		return d, d >= 0
	}
	d = (d%c.period + c.period) % c.period
	return d, d <= c.period/2
}

// prefix is what stands before a row's ids.
type prefix struct {
	clock   clock
	average bool
	unsure  bool // a word taken for average only because it ends in a colon
}

// parsePrefix reads the time or the word for average at the start of a row and
// returns what follows it.
//
// The time is strftime's %X: "12:13:40", "12:13:40 PM", "10时05分17秒",
// "10시 05분 17초", "10.05.17"; or seconds since the epoch.
func parsePrefix(line string, l *layout) (prefix, string, bool) {
	word, rest := nextWord(line)
	if word == "" {
		return prefix{}, "", false
	}
	if !hasDigit(word) {
		if after, known, ok := averageWord(line); ok || l.stamp != 0 {
			return prefix{average: true, unsure: !known, clock: clock{period: -1}}, after, ok
		}
	}
	if l.stamp == 0 {
		return prefix{clock: clock{period: -1}}, line, true
	}
	if sec, ok := epoch(word); ok {
		return prefix{clock: clock{sec: sec}}, rest, true
	}
	return timeOfDay(word, rest, l)
}

// timeOfDay reads a time and the words that belong to it: as many as in the
// header, or else those that say which half of the day it is. A time in a form
// not known here is one if it looks like the header's.
func timeOfDay(word, rest string, l *layout) (prefix, string, bool) {
	var digits timeDigits
	digits.add(word)
	marker := ""
	for n := 1; l.stamp == stampUnknown || n < l.stamp; n++ {
		w, r := nextWord(rest)
		if w == "" || allDigits(w) {
			break
		}
		if hasDigit(w) { // the minutes and seconds of a time with spaces
			if digits.n >= 3 || !digits.add(w) {
				break
			}
		} else if marker != "" || (l.stamp == stampUnknown && l.user && !isDayHalf(w)) {
			break
		} else {
			marker = w
		}
		rest = r
	}
	c, ok := digits.clock(marker)
	return prefix{clock: c}, rest, ok || l.shape != "" && shape(word) == l.shape
}

// timeDigits collects hours, minutes and seconds, whatever separates them.
type timeDigits struct {
	v   [3]int64
	n   int
	bad bool
}

func (t *timeDigits) add(word string) bool {
	for i := 0; i < len(word); {
		if c := word[i]; c < '0' || c > '9' {
			r, size := utf8.DecodeRuneInString(word[i:])
			t.bad = t.bad || !strings.ContainsRune(":.hms时時시点點分분秒초", r)
			i += size
			continue
		}
		v, start := int64(0), i
		for ; i < len(word) && word[i] >= '0' && word[i] <= '9'; i++ {
			v = v*10 + int64(word[i]-'0')
		}
		if t.n == len(t.v) || i-start > 2 {
			t.bad = true
			return false
		}
		t.v[t.n] = v
		t.n++
	}
	return !t.bad
}

func (t *timeDigits) clock(marker string) (clock, bool) {
	if t.bad || t.n != 3 || t.v[0] > 24 || t.v[1] > 59 || t.v[2] > 60 {
		return clock{period: -1}, false
	}
	sec := t.v[0]*3600 + t.v[1]*60 + t.v[2]
	switch half := dayHalf(marker); {
	case marker == "":
		return clock{sec, day}, true
	case half < 0:
		return clock{sec % halfDay, halfDay}, true
	default:
		return clock{sec%halfDay + int64(half)*halfDay, day}, true
	}
}

// dayHalf tells which half of the day a word names: 0, 1, or -1.
func dayHalf(w string) int {
	switch strings.ToLower(strings.ReplaceAll(w, ".", "")) {
	case "am", "午前", "上午", "오전", "πμ", "ص", "sa":
		return 0
	case "pm", "午後", "下午", "오후", "μμ", "م", "ch":
		return 1
	}
	return -1
}

func isDayHalf(w string) bool { return dayHalf(w) >= 0 || w[0] >= utf8.RuneSelf }

// epoch reads seconds since 1970: nine to eleven digits.
func epoch(w string) (int64, bool) {
	if len(w) < 9 || len(w) > 11 || !allDigits(w) {
		return 0, false
	}
	v := int64(0)
	for i := range len(w) {
		v = v*10 + int64(w[i]-'0')
	}
	return v, true
}

// averageWords are the translations of "Average:" in sysstat's nls directory.
// pidstat cuts the word after 15 bytes, so two of them stand here cut.
var averageWords = []string{
	"Average:", "Gemideld:", "Сярэдня", "Průměr:", "Middel:", "Durchschn.:", "Durchschnitt:", "Meznombro:", "Media:",
	"Batezbestekoa:", "Keskiarvo:", "Moyenne :", "Moyenne:", "Medie:", "Prosjek:", "Átlag:", "Rata-rata:", "平均値:", "საშუა",
	"평균:", "Орточо:", "Vidēji:", "Medja:", "Gj.snitt:", "Gemiddeld:", "Gemiddelde:", "Średnia:", "Média:", "Среднее:", "Priemer:",
	"Просек:", "Genomsnitt:", "Ortalama:", "Середнє:", "Trung bình:", "平均时间:", "平均時間:", "平均:",
}

// averageWord recognises the word at the start of an average row: a known one,
// or one or two words without digits that end in a colon.
func averageWord(line string) (rest string, known, ok bool) {
	line = strings.TrimLeft(line, " \t")
	for _, a := range averageWords {
		if strings.HasPrefix(line, a) {
			if rest = line[len(a):]; rest != "" && !isBlank(rest[0]) { // the rest of a cut word
				_, rest = nextWord(rest)
			}
			return rest, true, true
		}
	}
	word, rest := nextWord(line)
	second, after := nextWord(rest)
	switch {
	case isColoned(word):
		return rest, false, true
	case !hasDigit(second) && isColoned(second):
		return after, false, true
	}
	return "", false, false
}

func isColoned(w string) bool { return strings.HasSuffix(w, ":") || strings.HasSuffix(w, "：") }

// nextWord splits off the first word of s.
func nextWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	j := i
	for j < len(s) && s[j] != ' ' && s[j] != '\t' {
		j++
	}
	return s[i:j], s[j:]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func hasDigit(s string) bool {
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			return true
		}
		if s[i] >= utf8.RuneSelf {
			return strings.IndexFunc(s[i:], unicode.IsDigit) >= 0
		}
	}
	return false
}
