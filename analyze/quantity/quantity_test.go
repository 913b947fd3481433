package quantity

import (
	"strings"
	"testing"
)

func TestWriting(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(225908), "225,908"},
		{Count(12), "12"},
		{Whole(75194.4), "75,194"},
		{Whole(0.02), "0.02"},
		{Whole(0), "0"},
		{Whole(-3.4), "−3"},
		{PerS(17603), "17,603/s"},
		{Fixed(4808.3, 2), "4,808.30"},
		{Fixed(-0.001, 2), "0.00"},
		{Sig(1.6004, 4), "1.600"},
		{Sig(0.0021, 3), "0.00210"},
		{Sig(9.996, 3), "10.0"},
		{Time(38_900), "38.9 µs"},
		{Time(999_400), "999 µs"},
		{Time(999_600), "1.00 ms"},
		{Time(12), "12 ns"},
		{Time(0), "0 ns"},
		{Time(2.5e9), "2.50 s"},
		{TimeSig(21284, 4), "21.28 µs"},
		{Percent(0.901, 1), "90.1 %"},
		{Percent(1, 1), "100 %"},
		{Percent(0, 1), "0 %"},
		{Percent(0.99999, 1), ">99.9 %"},
		{Percent(0.00001, 1), "<0.1 %"},
		{Percent(-0.0014, 2), "−0.14 %"},
		{PercentSig(0.00152274, 3), "0.152 %"},
		{Range("0", "36"), "0–36"},
		{Small(4), "four"},
		{Small(37), "37"},
	} {
		if want := strings.ReplaceAll(c.want, " ", nbsp); c.got != want {
			t.Errorf("got %q, want %q", c.got, want)
		}
	}
}
