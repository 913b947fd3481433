package srcline

// lineHeader is the header of a line number program.
type lineHeader struct {
	base uint64 // in .debug_line, of what follows the length
	unit format // wide is that of the line table

	minInst, maxOps uint8
	lineBase        int8
	lineRange       uint8
	opcodeBase      uint8
	lengths         [256]uint8 // operands of standard opcodes

	dirs, files []pathName
}

// pathName is a name of a file or a folder: where it is, and in what form.
type pathName struct {
	form form
	dir  uint32
	off  uint64
}

const pathBytes = 16

// read decodes a header; the cursor is moved to the program.
//
// Layout: DWARF 5, section 6.2.4.
func (h *lineHeader) read(c *cursor) error {
	h.unit.version = uint16(c.uint(2))
	if h.unit.version < 2 || h.unit.version > 5 {
		return errVersion
	}
	if h.unit.version >= 5 {
		h.unit.addrSize = c.u8()
		c.u8() // of a segment selector
	}
	length := c.uint(h.unit.offSize())
	if length > uint64(c.left()) {
		return errDamaged
	}
	program := c.i + int(length)
	h.minInst, h.maxOps = c.u8(), 1
	if h.unit.version >= 4 {
		h.maxOps = c.u8()
	}
	c.u8() // is a statement by default
	h.lineBase, h.lineRange, h.opcodeBase = int8(c.u8()), c.u8(), c.u8()
	if h.lineRange == 0 || h.opcodeBase == 0 {
		return errDamaged
	}
	for i := 1; i < int(h.opcodeBase); i++ {
		h.lengths[i] = c.u8()
	}
	if h.unit.version >= 5 {
		h.dirs = h.paths(c)
		h.files = h.paths(c)
	} else {
		h.oldPaths(c)
	}
	if c.bad || c.i > program {
		return errDamaged
	}
	c.i = program
	return nil
}

// oldPaths reads the folders and files of versions before 5.
func (h *lineHeader) oldPaths(c *cursor) {
	for {
		at := uint64(c.i)
		if len(c.str()) == 0 {
			break
		}
		h.dirs = append(h.dirs, pathName{form: formString, off: at})
	}
	for {
		at := uint64(c.i)
		if len(c.str()) == 0 {
			return
		}
		h.files = append(h.files, pathName{form: formString, off: at, dir: uint32(min(c.uleb(), 1<<32-1))})
		c.uleb() // time
		c.uleb() // size
	}
}

// What a part of an entry is, DWARF 5, table 7.27.
const (
	lnctPath = 1
	lnctDir  = 2
)

// paths reads a list of folders or files of version 5.
func (h *lineHeader) paths(c *cursor) (out []pathName) {
	type part struct {
		what uint64
		attr attr
	}
	parts := make([]part, c.u8())
	for i := range parts {
		parts[i] = part{c.uleb(), attr{form: form(c.uleb())}}
	}
	n := c.uleb()
	if n > uint64(c.left()) {
		c.fail() // each takes a byte at least
		return nil
	}
	for range n {
		var p pathName
		from := c.i
		for _, t := range parts {
			switch v := c.value(t.attr, &h.unit); t.what {
			case lnctPath:
				p.form, p.off = v.form, v.u
			case lnctDir:
				p.dir = uint32(min(v.u, 1<<32-1))
			}
		}
		if c.i == from {
			c.fail()
		}
		if c.bad {
			return nil
		}
		out = append(out, p)
	}
	return out
}
