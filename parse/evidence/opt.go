package evidence

import "encoding/json"

// Opt is a value that a capture may or may not hold. The zero Opt is absent.
// It encodes as JSON null when absent.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some returns a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// Get returns the value and whether it is present.
func (o Opt[T]) Get() (T, bool) { return o.V, o.OK }

// Or returns the value, or def when it is absent.
func (o Opt[T]) Or(def T) T {
	if o.OK {
		return o.V
	}
	return def
}

// MarshalJSON encodes an absent value as null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.OK {
		return []byte("null"), nil
	}
	return json.Marshal(o.V)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (o *Opt[T]) UnmarshalJSON(p []byte) error {
	if string(p) == "null" {
		*o = Opt[T]{}
		return nil
	}
	o.OK = true
	return json.Unmarshal(p, &o.V)
}
