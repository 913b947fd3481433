// Package quantity writes numbers the way reports show them, so that a figure
// reads the same wherever it appears: counts and rates whole with comma
// thousands, times with three digits and the unit that keeps them below 1,000,
// per cent with a fixed number of decimals that never rounds to a 0 or a 100
// which is not one. Units follow a no-break space; minus is U+2212.
package quantity

import (
	"math"
	"strconv"
	"strings"
)

const (
	nbsp  = "\u00a0"
	minus = "\u2212"
)

// Count writes a whole number: 225,908.
func Count(n uint64) string { return group(strconv.FormatUint(n, 10)) }

// Whole writes a value rounded to a whole number: 75,194. A value that is not
// 0 but would round to it is written with one significant digit.
func Whole(v float64) string {
	if a := math.Abs(v); a > 0 && a < 0.5 {
		return signed(v, strconv.FormatFloat(a, 'g', 1, 64))
	}
	return Fixed(v, 0)
}

// PerS writes a rate: 75,194/s.
func PerS(v float64) string { return Whole(v) + "/s" }

// Fixed writes v with a fixed number of decimals: 4,808.30.
func Fixed(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, frac, ok := strings.Cut(s, ".")
	s = group(whole)
	if ok {
		s += "." + frac
	}
	return signed(v, s)
}

// Sig writes v with n significant digits, at least its whole part: 1.60, 46,983.
func Sig(v float64, n int) string {
	a := math.Abs(v)
	if a == 0 || math.IsInf(a, 0) || math.IsNaN(a) {
		return Fixed(v, 0)
	}
	d := n - 1 - int(math.Floor(math.Log10(a)))
	if r := math.Pow(10, float64(d)); d >= 0 && d < 12 && math.Round(a*r)/r >= math.Pow(10, float64(n-d)) {
		d-- // 9.996 to three digits is 10.0
	}
	return Fixed(v, min(max(d, 0), 12))
}

func signed(v float64, s string) string {
	if v < 0 && strings.ContainsAny(s, "123456789") {
		return minus + s
	}
	return s
}

func group(digits string) string {
	if len(digits) <= 3 {
		return digits
	}
	head := (len(digits)-1)%3 + 1
	var b strings.Builder
	b.WriteString(digits[:head])
	for i := head; i < len(digits); i += 3 {
		b.WriteByte(',')
		b.WriteString(digits[i : i+3])
	}
	return b.String()
}

var timeUnits = []struct {
	name string
	ns   float64
}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// Time writes a duration in nanoseconds with three digits: 38.9 µs, 1.00 ms.
func Time(ns float64) string { return TimeSig(ns, 3) }

// TimeSig is Time with n digits: 21.28 µs.
func TimeSig(ns float64, n int) string {
	u := timeUnits[0]
	for _, t := range timeUnits {
		// A value that would print as 1,000 of a unit takes the next one.
		if math.Abs(ns) >= t.ns*(1-0.5*math.Pow(10, -float64(n))) {
			u = t
		}
	}
	if u.ns == 1 {
		return Fixed(ns, 0) + nbsp + u.name
	}
	return Sig(ns/u.ns, n) + nbsp + u.name
}

// Micros writes a duration in whole microseconds without the unit.
func Micros(ns float64) string { return Fixed(ns/1e3, 0) }

// Percent writes a fraction (0.152) as per cent: 15.2 %. What is neither none
// nor all never reads as 0 or 100.
func Percent(fraction float64, decimals int) string {
	p, least := fraction*100, math.Pow(10, -float64(decimals))
	switch a := math.Abs(p); {
	case a > 0 && a < least/2:
		return "<" + Fixed(least, decimals) + nbsp + "%"
	case a < 100 && a >= 100-least/2:
		return ">" + Fixed(100-least, decimals) + nbsp + "%"
	}
	if fraction == 0 || math.Abs(fraction) == 1 {
		decimals = 0
	}
	return Fixed(p, decimals) + nbsp + "%"
}

// PercentSig writes a fraction as per cent with n digits: 0.152 %.
func PercentSig(fraction float64, n int) string {
	if p := math.Abs(fraction * 100); p >= 99.5 || p < 0.001 {
		return Percent(fraction, max(n-2, 1))
	}
	return Sig(fraction*100, n) + nbsp + "%"
}

// Points writes a difference of two per cent figures: 0.11 points.
func Points(fraction float64) string { return Fixed(fraction*100, 2) + nbsp + "points" }

// Range writes two bounds with an en dash: 0–36.
func Range(lo, hi string) string { return lo + "–" + hi }

// With puts a unit behind a number.
func With(number, unit string) string { return number + nbsp + unit }

// Small writes the numbers up to twelve as words, as prose does.
func Small(n int) string {
	words := [...]string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return group(strconv.Itoa(n))
}
