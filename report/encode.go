package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// field is a key of a JSON object.
type field struct {
	key   string
	value any
}

// object is a JSON object in the order of its fields.
type object []field

// writeJSON writes a value as JSON for people and tools alike: indented, but
// what fits a line on one line. It differs from encoding/json in what a reader of
// reports needs: a nil slice is [], a number that is not finite is null, and
// characters that control a terminal or hide text are escaped.
func writeJSON(w io.Writer, v any) error {
	var flat, out bytes.Buffer
	if err := encode(&flat, reflect.ValueOf(v)); err != nil {
		return err
	}
	layOut(&out, flat.Bytes(), 0)
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

// jsonLine is the length up to which a list or an object is kept on one line.
const jsonLine = 120

// layOut writes one compact value, broken into lines where it is long.
func layOut(b *bytes.Buffer, src []byte, depth int) {
	if len(src) <= jsonLine || (src[0] != '{' && src[0] != '[') {
		b.Write(src)
		return
	}
	newLine := func(depth int) {
		b.WriteByte('\n')
		for range depth {
			b.WriteString("  ")
		}
	}
	b.WriteByte(src[0])
	for i := 1; i < len(src)-1; {
		newLine(depth + 1)
		if src[0] == '{' {
			end := valueEnd(src, i)
			b.Write(src[i:end])
			b.WriteString(": ")
			i = end + 1
		}
		end := valueEnd(src, i)
		layOut(b, src[i:end], depth+1)
		if i = end; src[i] == ',' {
			b.WriteByte(',')
			i++
		}
	}
	newLine(depth)
	b.WriteByte(src[len(src)-1])
}

// valueEnd returns where the compact JSON value that begins at i ends.
func valueEnd(src []byte, i int) int {
	depth := 0
	for ; i < len(src); i++ {
		switch src[i] {
		case '"':
			for i++; src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

func encode(b *bytes.Buffer, v reflect.Value) error {
	if !v.IsValid() {
		b.WriteString("null")
		return nil
	}
	if o, ok := v.Interface().(object); ok {
		return encodeFields(b, o)
	}
	if m, ok := v.Interface().(json.Marshaler); ok && !isNilPointer(v) {
		return encodeMarshaler(b, v, m)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return encode(b, v.Elem())
	case reflect.Struct:
		return encodeStruct(b, v)
	case reflect.Slice, reflect.Array:
		return encodeList(b, v)
	case reflect.Map:
		return encodeMap(b, v)
	case reflect.String:
		encodeString(b, v.String())
	case reflect.Float32, reflect.Float64:
		encodeFloat(b, v.Float())
	case reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		b.WriteString(strconv.FormatUint(v.Uint(), 10))
	default:
		return fmt.Errorf("report: a %s has no JSON form", v.Type())
	}
	return nil
}

func isNilPointer(v reflect.Value) bool { return v.Kind() == reflect.Pointer && v.IsNil() }

// encodeMarshaler takes a type's own encoding. One that fails because its
// number is not finite is null.
func encodeMarshaler(b *bytes.Buffer, v reflect.Value, m json.Marshaler) error {
	p, err := m.MarshalJSON()
	switch {
	case err == nil && len(p) > 0 && p[0] == '"':
		var s string
		if err := json.Unmarshal(p, &s); err != nil {
			return fmt.Errorf("report: %s: %w", v.Type(), err)
		}
		encodeString(b, s)
	case err == nil:
		b.Write(p)
	case isNotFinite(err):
		b.WriteString("null")
	default:
		return fmt.Errorf("report: %s: %w", v.Type(), err)
	}
	return nil
}

func isNotFinite(err error) bool {
	_, ok := err.(*json.UnsupportedValueError)
	return ok
}

func encodeFields(b *bytes.Buffer, o object) error {
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		encodeString(b, f.key)
		b.WriteByte(':')
		if err := encode(b, reflect.ValueOf(f.value)); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func encodeStruct(b *bytes.Buffer, v reflect.Value) error {
	o, err := fieldsOf(v)
	if err != nil {
		return err
	}
	return encodeFields(b, o)
}

// fieldsOf lists a struct's fields by their json tags. An embedded struct's
// fields are its own.
func fieldsOf(v reflect.Value) (object, error) {
	var out object
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		key, omit, skip := tagOf(f)
		switch {
		case skip || (omit && isEmpty(v.Field(i))):
		case f.Anonymous && key == "" && f.Type.Kind() == reflect.Struct:
			sub, err := fieldsOf(v.Field(i))
			if err != nil {
				return nil, err
			}
			out = append(out, sub...)
		case key == "":
			return nil, fmt.Errorf("report: %s.%s has no json tag", t, f.Name)
		default:
			out = append(out, field{key, v.Field(i).Interface()})
		}
	}
	return out, nil
}

func tagOf(f reflect.StructField) (key string, omitEmpty, skip bool) {
	key, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
	return key, slices.Contains(strings.Split(rest, ","), "omitempty"), key == "-"
}

// isEmpty is omitempty's notion of it.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func encodeList(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func encodeMap(b *bytes.Buffer, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("report: %s has no JSON form", v.Type())
	}
	o := make(object, 0, v.Len())
	for _, k := range v.MapKeys() {
		o = append(o, field{k.String(), v.MapIndex(k).Interface()})
	}
	slices.SortFunc(o, func(a, b field) int { return strings.Compare(a.key, b.key) })
	return encodeFields(b, o)
}

func encodeFloat(b *bytes.Buffer, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		b.WriteString("null")
		return
	}
	p, err := json.Marshal(f)
	if err != nil { // not finite, which it is
		p = []byte("null")
	}
	b.Write(p)
}

// encodeString writes a JSON string. Invalid bytes become U+FFFD, as JSON has no
// way to say them; what would act on a terminal is escaped.
func encodeString(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\ufffd`)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '<' || r == '>' || r == '&' || (hidden(r) && r != nbsp): // safe inside HTML too
			encodeRune(b, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
}

func encodeRune(b *bytes.Buffer, r rune) {
	if r > 0xffff {
		r -= 0x10000
		fmt.Fprintf(b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
