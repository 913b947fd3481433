package analyze

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTextKeepsNamesApart(t *testing.T) {
	inner := Textf("%s [%d]", Code("net|io"), 7)
	got := Textf("%s blocks in %s, %.1f times", inner, Code("do_nanosleep"), 1.5)
	want := Text{{S: "net|io", Code: true}, {S: " [7] blocks in "}, {S: "do_nanosleep", Code: true}, {S: ", 1.5 times"}}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i].S != want[i].S || got[i].Code != want[i].Code {
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
	if len(got) != 2 || got[0].S != "ab" || !got[0].Code || got[1].S != " and cd" || got[1].Code {
		t.Errorf("got %v", got)
	}
}

// german stands for a catalogue.
type german map[string]string

func (g german) Format(s string) string { return g.Phrase(s) }

func (g german) Typeset(_ rune, s string) string { return s }

func (g german) Phrase(s string) string {
	if t, ok := g[s]; ok {
		return t
	}
	return s
}

func TestTextInAnotherLanguage(t *testing.T) {
	dict := german{"%s wait%s for %s": "auf %[3]s warten %[1]s", "%d threads of %s": "%d Threads von %s", "a lock": "eine Sperre", "%s.": "%s!", "Not captured.": "Fehlt."}
	who := Textf("%d threads of %s", 4, Code("netio"))
	whole := Textf("%s.", Textf("%s wait%s for %s", who, "", "a lock"))
	joined := append(Textf("%s", whole), Textf("Not captured.")...)
	capital := append(Text{}, Textf("%s wait%s for %s", "a lock", "s", Code("x"))...)
	capital[0].S = "A" + capital[0].S[1:]
	masked := Textf("%s of %s", Code("netio"), Code("host.example"))
	masked[2].S = "host-1"
	for _, c := range []struct {
		text Text
		want string
	}{
		{whole, "auf eine Sperre warten 4 Threads von netio!"},
		{joined, "auf eine Sperre warten 4 Threads von netio!Fehlt."},
		{capital, "auf x warten eine Sperre"},
		{masked, "netio of host-1"}, // never what was masked
		{Text{{S: "a lock"}, {S: "a lock", Code: true}}, "eine Sperrea lock"},
	} {
		got := c.text.In(dict)
		if got.String() != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
		if again := got.In(dict).String(); again != c.want {
			t.Errorf("%q said twice is %q", c.want, again)
		}
	}
	if got := whole.In(dict); len(got) != 3 || !got[1].Code {
		t.Errorf("the name is no name any more: %v", got)
	}
}

// upper says texts in capitals.
type upper struct{}

func (upper) Format(s string) string {
	return strings.NewReplacer("shows", "SHOWS", "why", "WHY").Replace(s)
}
func (upper) Phrase(s string) string          { return s }
func (upper) Typeset(_ rune, s string) string { return s }

// A text whose names were replaced is said in another language with the new ones.
func TestMapNames(t *testing.T) {
	was := Textf("%s shows %s", Code("perf -o a"), Textf("why %s", Code("a")))
	got := was.mapNames(func(s string) string { return strings.ReplaceAll(s, "a", "b") })
	if got.String() != "perf -o b shows why b" || got.In(upper{}).String() != "perf -o b SHOWS WHY b" {
		t.Errorf("%q, and %q", got, got.In(upper{}))
	}
	if was.In(upper{}).String() != "perf -o a SHOWS WHY a" {
		t.Errorf("the text itself became %q", was.In(upper{}))
	}
}
