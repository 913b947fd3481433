package analyze

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is prose in which names taken from a capture are kept apart from our
// own words, so that each renderer can escape and set them its own way.
type Text []Span

// Span is a run of a Text. Code marks a name from a capture or a command.
type Span struct {
	S    string
	Code bool
	from *message // of the first span that Textf made: what it was made of
}

// message is a call of Textf: what [Text.In] needs to say it in another language.
type message struct {
	format string
	args   []any
	spans  int // how many it made
}

// A Translator knows the program's texts in another language.
type Translator interface {
	// Format is the counterpart of a format of Textf. It refers to the arguments
	// by their numbers (%[2]s) where it takes them in another order, and may
	// leave some out.
	Format(english string) string
	// Phrase translates a text of the program that was put together already.
	// What is not known comes back as it is.
	Phrase(english string) string
	// Typeset mends the blanks of a text that was put together of translated
	// parts; before is the character that it follows, 0 for none.
	Typeset(before rune, text string) string
}

// Code is a Textf argument that is a name: a comm, a symbol, an event.
type Code string

// ownName is a Textf argument that is set as a name and is a word of ours: it is
// translated.
type ownName string

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
		case ownName:
			marked[i] = codeOpen + string(v) + codeClose
		case Text:
			marked[i] = v.marked()
		case string:
			marked[i] = stripMarks.Replace(v)
		default:
			marked[i] = a
		}
	}
	t := parseMarked(fmt.Sprintf(format, marked...))
	if len(t) > 0 {
		t[0].from = &message{format, args, len(t)}
	}
	return t
}

// In says the text in another language. Spans that were changed after Textf made
// them, as masking does, are not made again of what they once were.
func (t Text) In(tr Translator) Text {
	var out Text
	for _, s := range t.translated(tr) { // prose in one piece, to be set as one
		if n := len(out); n > 0 && !s.Code && !out[n-1].Code {
			out[n-1].S += s.S
		} else {
			out = append(out, s)
		}
	}
	last := rune(0)
	for i := range out {
		if s := &out[i]; !s.Code {
			s.S = tr.Typeset(last, s.S)
		}
		if r, n := utf8.DecodeLastRuneInString(out[i].S); n > 0 {
			last = r
		}
	}
	return out
}

func (t Text) translated(tr Translator) Text {
	var out Text
	for i := 0; i < len(t); {
		if m := t[i].from; m != nil && i+m.spans <= len(t) && t[i:i+m.spans].says(m) {
			out = append(out, m.in(tr)...)
			i += m.spans
			continue
		}
		s := t[i]
		s.from = nil
		if !s.Code {
			s.S = tr.Phrase(s.S)
		}
		out = append(out, s)
		i++
	}
	return out
}

// mapNames returns the text with another name in the place of each, also in what it
// was made of, so that it can be said in another language still.
func (t Text) mapNames(f func(string) string) Text {
	out := append(Text{}, t...)
	for i := range out {
		if out[i].Code {
			out[i].S = f(out[i].S)
		}
		m := out[i].from
		if m == nil {
			continue
		}
		own := message{m.format, append([]any{}, m.args...), m.spans}
		for k, a := range own.args {
			switch v := a.(type) {
			case Code:
				own.args[k] = Code(f(string(v)))
			case Text:
				own.args[k] = v.mapNames(f)
			}
		}
		out[i].from = &own
	}
	return out
}

// says reports whether the spans are those of the message still; a capital letter
// at the beginning of a sentence makes no difference.
func (t Text) says(m *message) bool {
	return strings.EqualFold(t.String(), Textf(m.format, m.args...).String())
}

func (m *message) in(tr Translator) Text {
	args := make([]any, len(m.args))
	for i, a := range m.args {
		switch v := a.(type) {
		case Text:
			args[i] = v.translated(tr)
		case ownName:
			args[i] = ownName(tr.Phrase(string(v)))
		case string:
			args[i] = tr.Phrase(v)
		default:
			args[i] = a
		}
	}
	format := tr.Format(m.format)
	if !strings.Contains(strings.ReplaceAll(format, "%%", ""), "%") {
		args = nil // it leaves all of them out
	}
	t := Textf(format, args...)
	for i := range t {
		t[i].from = nil
	}
	return t
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
			t = append(t, Span{S: s, Code: code})
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

// Set writes the text, its prose and its names each in a way of its own.
func (t Text) Set(prose, name func(string) string) string {
	var b strings.Builder
	for _, s := range t {
		if s.Code {
			b.WriteString(name(s.S))
		} else {
			b.WriteString(prose(s.S))
		}
	}
	return b.String()
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
