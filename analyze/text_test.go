package analyze

import (
	"encoding/json"
	"testing"
)

func TestTextKeepsNamesApart(t *testing.T) {
	inner := Textf("%s [%d]", Code("net|io"), 7)
	got := Textf("%s blocks in %s, %.1f times", inner, Code("do_nanosleep"), 1.5)
	want := Text{{"net|io", true}, {" [7] blocks in ", false}, {"do_nanosleep", true}, {", 1.5 times", false}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("span %d: got %v, want %v", i, got[i], want[i])
		}
	}
	if p, err := json.Marshal(got); err != nil || string(p) != `"net|io [7] blocks in do_nanosleep, 1.5 times"` {
		t.Errorf("%s, %v", p, err)
	}
}

// A hostile name cannot pretend to be our own words, or the other way round.
func TestTextStripsItsMarks(t *testing.T) {
	got := Textf("%s and %s", Code("a"+codeClose+"b"), "c"+codeOpen+"d")
	if len(got) != 2 || got[0] != (Span{"ab", true}) || got[1] != (Span{" and cd", false}) {
		t.Errorf("got %v", got)
	}
}
