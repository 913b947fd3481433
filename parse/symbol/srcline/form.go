package srcline

import (
	"encoding/binary"
)

// form is how an attribute is encoded.
type form uint32

// Layout: DWARF 5, table 7.6; the GNU forms are those of split units before
// version 5 and of dwz.
const (
	formAddr         form = 0x01
	formBlock2       form = 0x03
	formBlock4       form = 0x04
	formData2        form = 0x05
	formData4        form = 0x06
	formData8        form = 0x07
	formString       form = 0x08
	formBlock        form = 0x09
	formBlock1       form = 0x0a
	formData1        form = 0x0b
	formFlag         form = 0x0c
	formSdata        form = 0x0d
	formStrp         form = 0x0e
	formUdata        form = 0x0f
	formRefAddr      form = 0x10
	formRef1         form = 0x11
	formRef2         form = 0x12
	formRef4         form = 0x13
	formRef8         form = 0x14
	formRefUdata     form = 0x15
	formIndirect     form = 0x16
	formSecOffset    form = 0x17
	formExprloc      form = 0x18
	formFlagPresent  form = 0x19
	formStrx         form = 0x1a
	formAddrx        form = 0x1b
	formRefSup4      form = 0x1c
	formStrpSup      form = 0x1d
	formData16       form = 0x1e
	formLineStrp     form = 0x1f
	formRefSig8      form = 0x20
	formImplicit     form = 0x21
	formLoclistx     form = 0x22
	formRnglistx     form = 0x23
	formRefSup8      form = 0x24
	formStrx1        form = 0x25
	formStrx2        form = 0x26
	formStrx3        form = 0x27
	formStrx4        form = 0x28
	formAddrx1       form = 0x29
	formAddrx2       form = 0x2a
	formAddrx3       form = 0x2b
	formAddrx4       form = 0x2c
	formGNUAddrIndex form = 0x1f01
	formGNUStrIndex  form = 0x1f02
	formGNURefAlt    form = 0x1f20
	formGNUStrpAlt   form = 0x1f21
)

// format is what the sizes of forms depend on.
type format struct {
	order    binary.ByteOrder
	version  uint16
	addrSize uint8
	wide     bool // 64-bit DWARF
}

// offSize is the size of an offset in a section.
func (f *format) offSize() int {
	if f.wide {
		return 8
	}
	return 4
}

// Sizes of forms that are not a number of bytes.
const (
	sizeLEB     = -1
	sizeString  = -2
	sizeBlock   = -3
	sizeUnknown = -4
)

// size returns how many bytes a form takes, or one of the constants above.
func (f *format) size(fm form) int {
	switch fm {
	case formFlagPresent, formImplicit:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(f.addrSize)
	case formRefAddr:
		if f.version == 2 {
			return int(f.addrSize)
		}
		return f.offSize()
	case formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return f.offSize()
	case formUdata, formSdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		return sizeLEB
	case formString:
		return sizeString
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
		return sizeBlock
	}
	return sizeUnknown
}

// blockLen reads the length of a block.
func (c *cursor) blockLen(fm form) uint64 {
	switch fm {
	case formBlock1:
		return c.uint(1)
	case formBlock2:
		return c.uint(2)
	case formBlock4:
		return c.uint(4)
	}
	return c.uleb()
}

// skipForm passes over a value.
func (c *cursor) skipForm(fm form, f *format) {
	if fm == formIndirect {
		fm = form(c.uleb())
	}
	switch n := f.size(fm); n {
	case sizeLEB:
		c.uleb()
	case sizeString:
		c.str()
	case sizeBlock:
		c.skip(c.blockLen(fm))
	case sizeUnknown:
		c.fail()
	default:
		c.skip(uint64(n))
	}
}

// value is an attribute of a debugging information entry; form 0: not there.
// For a string in place, u is where it begins in the cursor's bytes.
type value struct {
	form form
	u    uint64
}

// value reads a value. Those of blocks and of 16 bytes are passed over.
func (c *cursor) value(a attr, f *format) value {
	v := value{form: a.form}
	if v.form == formIndirect {
		v.form = form(c.uleb())
	}
	switch n := f.size(v.form); {
	case v.form == formImplicit:
		v.u = uint64(a.implicit)
	case v.form == formSdata:
		v.u = uint64(c.sleb())
	case n == sizeLEB:
		v.u = c.uleb()
	case n == sizeString:
		v.u = uint64(c.i)
		c.str()
	case n > 0 && n <= 8:
		v.u = c.uint(n)
	default:
		c.skipForm(v.form, f)
	}
	return v
}

// isAddr reports whether a value is an address and not a distance.
func (v value) isAddr() bool {
	switch v.form {
	case formAddr, formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return true
	}
	return false
}
