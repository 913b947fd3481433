package unwind

import (
	"encoding/binary"
	"errors"
)

var (
	errCut      = errors.New("unwind information cut off")
	errEncoding = errors.New("pointers in an encoding that is not known")
)

// cursor reads the fields of CFI. After an error all reads give zero.
type cursor struct {
	b   []byte
	at  int
	err error
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.at = len(c.b)
}

func (c *cursor) left() int { return len(c.b) - c.at }

// bytes takes n bytes.
func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(c.left()) {
		c.fail(errCut)
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) u8() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// uint reads an unsigned number of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size int) uint64 {
	b := c.bytes(uint64(size))
	if b == nil {
		return 0
	}
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

func (c *cursor) uleb() uint64 {
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		c.fail(errCut)
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := 0; shift < 70; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.fail(errCut)
	return 0
}

// text reads a string that a zero byte ends.
func (c *cursor) text() string {
	for i, b := range c.b[c.at:] {
		if b == 0 {
			return string(c.bytes(uint64(i) + 1)[:i])
		}
	}
	c.fail(errCut)
	return ""
}

// Encodings of pointers in .eh_frame: a format in the low bits, and what the
// value is relative to. Source: Linux Standard Base, DWARF Extensions.
const (
	encOmit     = 0xff
	encFormat   = 0x0f
	encRelative = 0x70
	encPC       = 0x10
	encData     = 0x30
	encIndirect = 0x80
)

// base is what encoded pointers may be relative to.
type base struct {
	here uint64 // the address of the cursor's first byte
	data uint64 // of .eh_frame_hdr; 0 when nothing may be relative to it
}

// pointer reads an encoded pointer.
func (c *cursor) pointer(enc byte, size int, b base) uint64 {
	here := b.here + uint64(c.at)
	v := c.number(enc&encFormat, size)
	switch {
	case enc&encIndirect != 0:
		c.fail(errEncoding)
	case enc&encRelative == encPC:
		v += here
	case enc&encRelative == encData && b.data != 0:
		v += b.data
	case enc&encRelative != 0:
		c.fail(errEncoding)
	}
	return v
}

// number reads a value in one of the formats.
func (c *cursor) number(format byte, size int) uint64 {
	switch format {
	case 0x00, 0x08:
		return c.uint(size)
	case 0x01:
		return c.uleb()
	case 0x02:
		return c.uint(2)
	case 0x03:
		return c.uint(4)
	case 0x04, 0x0c:
		return c.uint(8)
	case 0x09:
		return uint64(c.sleb())
	case 0x0a:
		return uint64(int16(c.uint(2)))
	case 0x0b:
		return uint64(int32(c.uint(4)))
	}
	c.fail(errEncoding)
	return 0
}
