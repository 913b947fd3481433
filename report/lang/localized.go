package lang

import (
	"reflect"
	"strings"

	"ctxan/analyze"
)

// labels are the fields of results that hold words of the program as plain
// strings, to be translated. Ids, names and figures are in the others.
var labels = map[string]bool{"Label": true, "Title": true, "TreeTitle": true, "Missing": true, "Recovered": true, "Trigger": true, "Table": true,
	"ReadAs": true, "Notes": true}

// Localized returns a copy of a result with all its texts and labels in the
// language of the catalogue.
func Localized(r *analyze.Result, c *Catalogue) *analyze.Result {
	out := *r
	l := localizer{c, map[reflect.Type]bool{}}
	l.walk(reflect.ValueOf(&out).Elem(), false)
	return &out
}

type localizer struct {
	c    *Catalogue
	held map[reflect.Type]bool // whether values of a type hold texts
}

var textType = reflect.TypeFor[analyze.Text]()

// walk translates what v holds; v can be set, and is shared with no other
// result. label is said of strings of the program.
func (l *localizer) walk(v reflect.Value, label bool) {
	if !label && !l.holds(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			v.Set(own)
			l.walk(own.Elem(), false)
		}
	case reflect.Slice:
		l.slice(v, label)
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.IsExported() && f.Name == sketchField && plainStrings(f.Type):
				v.Field(i).SetString(l.c.sketch(v.Field(i).String()))
			case f.IsExported():
				l.walk(v.Field(i), labels[f.Name] && plainStrings(f.Type))
			}
		}
	case reflect.String:
		if label {
			v.SetString(l.c.Phrase(v.String()))
		}
	}
}

func (l *localizer) slice(v reflect.Value, label bool) {
	switch {
	case v.IsNil():
	case v.Type() == textType:
		v.Set(reflect.ValueOf(v.Interface().(analyze.Text).In(l.c)))
	default:
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range own.Len() {
			l.walk(own.Index(i), label)
		}
	}
}

// sketchField holds code, whose first line is a comment.
const sketchField = "Sketch"

// sketch translates what the comment on the first line of a sketch says.
func (c *Catalogue) sketch(code string) string {
	first, rest, more := strings.Cut(code, "\n")
	i := strings.Index(first, "sketch: ")
	if i < 0 {
		return code
	}
	says, end := first[i:], ""
	if body, cut := strings.CutSuffix(says, " */"); cut {
		says, end = body, " */"
	}
	out := first[:i] + c.Phrase(says) + end
	if more {
		out += "\n" + rest
	}
	return out
}

func plainStrings(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.String && t.PkgPath() == ""
}

// holds reports whether values of a type may hold texts or labels.
func (l *localizer) holds(t reflect.Type) bool {
	if known, ok := l.held[t]; ok {
		return known
	}
	l.held[t] = false // while it is looked into, should it hold itself
	is := t == textType
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		is = is || l.holds(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			is = is || f.IsExported() && (labels[f.Name] && plainStrings(f.Type) || l.holds(f.Type))
		}
	}
	l.held[t] = is
	return is
}
