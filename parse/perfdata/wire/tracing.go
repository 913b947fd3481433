package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Tracing is what the tracing data says.
type Tracing struct {
	Order    binary.ByteOrder
	LongSize int
	Formats  []*Format
}

// ErrTracing is for tracing data that is cut short or none.
var ErrTracing = errors.New("damaged tracing data")

// tracingMagic begins the tracing data, followed by a version.
const tracingMagic = "\x17\x08\x44tracing"

// ParseTracing reads the tracepoint formats of the TRACING_DATA feature (or of
// the payload behind a TRACING_DATA record). It returns what it read before an
// error; formats that make no sense are left out.
func ParseTracing(b []byte) (*Tracing, error) {
	t := &Tracing{Order: binary.LittleEndian}
	r := &Reader{B: b, Order: t.Order}
	if !bytes.Equal(r.Bytes(len(tracingMagic)), []byte(tracingMagic)) {
		return t, fmt.Errorf("%w: no magic", ErrTracing)
	}
	cString(r) // version
	if r.Byte() == 1 {
		t.Order = binary.BigEndian
		r.Order = t.Order
	}
	t.LongSize = int(r.Byte())
	r.U32() // page size
	for range 2 {
		cString(r) // header_page, header_event
		sized(r)
	}
	for range counted(r) { // formats of ftrace itself
		t.add("ftrace", sized(r))
	}
	for range counted(r) {
		system := cString(r)
		for range counted(r) {
			t.add(system, sized(r))
		}
	}
	if r.Err != nil {
		return t, fmt.Errorf("%w: %w", ErrTracing, r.Err)
	}
	return t, nil
}

func (t *Tracing) add(system string, text []byte) {
	if len(text) == 0 {
		return
	}
	if f, err := ParseFormat(system, string(text)); err == nil {
		t.Formats = append(t.Formats, f)
	}
}

// counted reads a number of entries, none larger than the bytes left.
func counted(r *Reader) int {
	n := r.U32()
	if uint64(n) > uint64(r.Left()) {
		r.Bytes(r.Left() + 1)
		return 0
	}
	return int(n)
}

// sized reads bytes with a u64 size before them.
func sized(r *Reader) []byte {
	n := r.U64()
	if n > uint64(r.Left()) {
		r.Bytes(r.Left() + 1)
		return nil
	}
	return r.Bytes(int(n))
}

// cString reads a string ended by NUL.
func cString(r *Reader) string {
	i := bytes.IndexByte(r.B[r.At:], 0)
	if i < 0 {
		r.Bytes(r.Left() + 1)
		return ""
	}
	s := string(r.B[r.At : r.At+i])
	r.At += i + 1
	return s
}
