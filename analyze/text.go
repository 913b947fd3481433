package analyze

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Text is prose in which names taken from a capture are kept apart from our
// own words, so that each renderer can escape and set them its own way.
type Text []Span

// Span is a run of a Text. Code marks a name from a capture or a command.
type Span struct {
	S    string
	Code bool
}

// Code is a Textf argument that is a name: a comm, a symbol, an event.
type Code string

// Marks around code in the intermediate string of Textf. They are
// noncharacters: not valid in any capture once stripped from the arguments.
const (
	codeOpen  = "\ufdd0"
	codeClose = "\ufdd1"
)

var stripMarks = strings.NewReplacer(codeOpen, "", codeClose, "")

// Textf formats like fmt.Sprintf; arguments of type Code become code spans and
// arguments of type Text keep their spans.
func Textf(format string, args ...any) Text {
	marked := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case Code:
			marked[i] = codeOpen + stripMarks.Replace(string(v)) + codeClose
		case Text:
			marked[i] = v.marked()
		case string:
			marked[i] = stripMarks.Replace(v)
		default:
			marked[i] = a
		}
	}
	return parseMarked(fmt.Sprintf(format, marked...))
}

func (t Text) marked() string {
	var b strings.Builder
	for _, s := range t {
		if s.Code {
			b.WriteString(codeOpen + s.S + codeClose)
		} else {
			b.WriteString(s.S)
		}
	}
	return b.String()
}

func parseMarked(s string) Text {
	var t Text
	add := func(s string, code bool) {
		if s != "" {
			t = append(t, Span{s, code})
		}
	}
	for s != "" {
		plain, rest, ok := strings.Cut(s, codeOpen)
		add(plain, false)
		if !ok {
			break
		}
		code, after, _ := strings.Cut(rest, codeClose)
		add(code, true)
		s = after
	}
	return t
}

// String is the text without marks.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.S)
	}
	return b.String()
}

// MarshalJSON encodes the text as a plain string.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }
