package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Sizes of the file header: a pipe has magic and size only.
const (
	PipeHeaderSize = 16
	FileHeaderSize = 104
)

// Magic is how a perf.data file of a little-endian machine begins; on a
// big-endian one the bytes stand in reverse.
const (
	Magic        = "PERFILE2"
	MagicSwapped = "2ELIFREP"
	magicV1      = "PERFFILE"
)

// Section is a range of the file.
type Section struct{ Offset, Size uint64 }

// End returns the first byte behind the section.
func (s Section) End() uint64 { return s.Offset + s.Size }

// Header is the header of a perf.data file.
type Header struct {
	Order    binary.ByteOrder
	Pipe     bool
	Size     uint64 // of the header itself
	AttrSize uint64 // stride of the attrs section
	Attrs    Section
	Data     Section
	Types    Section // names of events, in files before 3.12
	Features []Feature
}

// Errors of ParseHeader.
var (
	ErrMagic  = errors.New("not a perf.data file")
	ErrOldV1  = errors.New("perf.data of the first version (before Linux 2.6.31), which no tool reads any more")
	ErrHeader = errors.New("perf.data header cut short")
)

// IsMagic reports whether b begins like a perf.data file.
func IsMagic(b []byte) bool {
	return len(b) >= 8 && (string(b[:8]) == Magic || string(b[:8]) == MagicSwapped)
}

// ParseHeader reads the header from the first FileHeaderSize bytes of a file,
// or from as many as it has. Only the fields are read; whether the sections
// lie inside the file is for the caller to see.
func ParseHeader(b []byte) (*Header, error) {
	if len(b) >= 8 && string(b[:8]) == magicV1 {
		return nil, ErrOldV1
	}
	if !IsMagic(b) {
		return nil, ErrMagic
	}
	h := &Header{Order: binary.LittleEndian}
	if string(b[:8]) == MagicSwapped {
		h.Order = binary.BigEndian
	}
	if len(b) < PipeHeaderSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrHeader, len(b))
	}
	h.Size = h.Order.Uint64(b[8:])
	if h.Size == PipeHeaderSize {
		h.Pipe = true
		return h, nil
	}
	if h.Size < FileHeaderSize-32 { // without the feature bits
		return nil, fmt.Errorf("%w: it says it has %d bytes", ErrHeader, h.Size)
	}
	if len(b) < FileHeaderSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrHeader, len(b))
	}
	section := func(at int) Section { return Section{h.Order.Uint64(b[at:]), h.Order.Uint64(b[at+8:])} }
	h.AttrSize = h.Order.Uint64(b[16:])
	h.Attrs, h.Data, h.Types = section(24), section(40), section(56)
	h.Features = featureBits(b[72:104], h.Order)
	return h, nil
}

// featureBits lists the set bits in ascending order, which is the order of the
// table of features behind the data.
//
// A bitmap is an array of unsigned long: on a big-endian machine the words are
// swapped as wholes, of 8 bytes or of 4. The bit of HOSTNAME, which every
// writer sets, tells which (perf_file_header__read in tools/perf/util/header.c).
func featureBits(b []byte, o binary.ByteOrder) []Feature {
	words := make([]uint64, 0, 4)
	for i := 0; i < len(b); i += 8 {
		words = append(words, o.Uint64(b[i:]))
	}
	if words[0]&(1<<FeatHostname) == 0 {
		for i := range words {
			if swapped := bits.RotateLeft64(words[i], 32); i == 0 && swapped&(1<<FeatHostname) == 0 {
				break
			}
			words[i] = bits.RotateLeft64(words[i], 32)
		}
	}
	var out []Feature
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			out = append(out, Feature(64*i+bits.TrailingZeros64(w)))
		}
	}
	return out
}
