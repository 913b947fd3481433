package srcline

import (
	"bytes"
	"encoding/binary"
	"io"
)

// cursor decodes bytes. Reading beyond the end gives zeros and sets bad.
type cursor struct {
	b     []byte
	i     int
	bad   bool
	order binary.ByteOrder
}

func (c *cursor) left() int { return len(c.b) - c.i }

// skip passes over n bytes.
func (c *cursor) skip(n uint64) {
	if n > uint64(c.left()) {
		c.fail()
		return
	}
	c.i += int(n)
}

func (c *cursor) fail() { c.i, c.bad = len(c.b), true }

// take returns the next n bytes, nil when there are fewer.
func (c *cursor) take(n int) []byte {
	if n > c.left() {
		c.fail()
		return nil
	}
	c.i += n
	return c.b[c.i-n : c.i]
}

func (c *cursor) u8() uint8 {
	if c.i >= len(c.b) {
		c.fail()
		return 0
	}
	c.i++
	return c.b[c.i-1]
}

// uint reads an unsigned number of 1, 2, 3, 4 or 8 bytes.
func (c *cursor) uint(size int) uint64 {
	b := c.take(size)
	switch {
	case b == nil:
		return 0
	case size == 1:
		return uint64(b[0])
	case size == 2:
		return uint64(c.order.Uint16(b))
	case size == 4:
		return uint64(c.order.Uint32(b))
	case size == 8:
		return c.order.Uint64(b)
	case size == 3 && c.order.Uint16([]byte{1, 0}) == 1:
		return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16
	case size == 3:
		return uint64(b[2]) | uint64(b[1])<<8 | uint64(b[0])<<16
	}
	c.fail()
	return 0
}

// uleb reads an unsigned LEB128 number; bits above 64 are dropped.
func (c *cursor) uleb() (v uint64) {
	if c.i < len(c.b) && c.b[c.i] < 0x80 {
		c.i++
		return uint64(c.b[c.i-1])
	}
	for shift := uint(0); ; shift += 7 {
		x := c.u8()
		v |= uint64(x&0x7f) << shift
		if x < 0x80 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() (v int64) {
	for shift := uint(0); ; {
		x := c.u8()
		v |= int64(x&0x7f) << shift
		shift += 7
		if x < 0x80 {
			if x&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// str passes over a string and returns it.
func (c *cursor) str() []byte {
	n := bytes.IndexByte(c.b[c.i:], 0)
	if n < 0 {
		c.fail()
		return nil
	}
	c.i += n + 1
	return c.b[c.i-n-1 : c.i-1]
}

// section is a section of the file, read through a window.
type section struct {
	r    *io.SectionReader
	size uint64
	at   uint64 // of the window
	win  []byte
}

const (
	windowBytes = 16 << 10
	windowAlign = 4 << 10
)

// section returns a section, an empty one when the file lacks it.
func (f *File) section(name string) (*section, error) {
	if s := f.sections[name]; s != nil {
		return s, nil
	}
	r, err := f.get(name)
	if err != nil {
		return nil, err
	}
	s := &section{}
	if r != nil {
		s.r, s.size = r, uint64(r.Size())
	}
	f.sections[name] = s
	return s, nil
}

// bytes returns up to n bytes at an offset, valid up to the next call.
func (s *section) bytes(off uint64, n int) []byte {
	if off >= s.size {
		return nil
	}
	n = int(min(uint64(n), s.size-off))
	if off >= s.at && off-s.at+uint64(n) <= uint64(len(s.win)) {
		return s.win[off-s.at:][:n]
	}
	from, size := off&^(windowAlign-1), windowBytes
	if n > windowBytes-windowAlign {
		from, size = off, n
	}
	if cap(s.win) < size {
		s.win = make([]byte, size)
	}
	got, _ := s.r.ReadAt(s.win[:size], int64(from))
	s.at, s.win = from, s.win[:got]
	if cap(s.win) > windowBytes {
		defer func() { s.win, s.at = nil, 0 }()
	}
	if off-from >= uint64(got) {
		return nil
	}
	return s.win[off-from : min(off-from+uint64(n), uint64(got))]
}

// read copies a part of the section that must be there in full.
func (s *section) read(off, n uint64) ([]byte, error) {
	if off > s.size || n > s.size-off {
		return nil, errDamaged
	}
	b := make([]byte, n)
	got, err := s.r.ReadAt(b, int64(off))
	if got == len(b) {
		err = nil
	}
	return b, err
}

// maxName bounds names and paths.
const maxName = 4 << 10

// str reads a string, at most maxName bytes of it.
func (s *section) str(off uint64) string {
	for n := 256; ; n = maxName {
		b := s.bytes(off, n)
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(b[:i])
		}
		if n == maxName {
			return string(b)
		}
	}
}

// stream decodes a part of a section of unknown length, piece by piece.
type stream struct {
	cursor
	s   *section
	pos uint64 // in the section, of b[0]
}

// longest is the most that is decoded between two calls of next.
const longest = 64

func (f *File) stream(s *section, off uint64) *stream {
	return &stream{cursor: cursor{order: f.order}, s: s, pos: off}
}

// next makes sure that the coming entry is at hand.
func (s *stream) next() {
	if s.left() >= longest {
		return
	}
	s.pos += uint64(s.i)
	s.b, s.i = s.s.bytes(s.pos, 1<<10), 0
}
