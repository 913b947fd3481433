package unwind

import (
	"errors"
	"io"
)

// section is a .eh_frame or .debug_frame.
type section struct {
	r    io.ReaderAt
	size int64
	addr uint64
	eh   bool
	cies map[int64]*cie
	buf  []byte
}

// cie is a common information entry: what many functions share.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64 // the column of the return address
	enc       byte   // of the addresses in its FDEs
	ptr       int    // bytes of an address
	data      bool   // its FDEs have augmentation data
	signal    bool   // its FDEs are signal trampolines
	prog      []byte
}

// fde is a frame description entry: the CFI of a function.
type fde struct {
	*cie
	begin, size uint64
	prog        []byte // valid until the section is read again
	progAt      uint64 // the address of prog
}

const (
	maxEntry = 64 << 10 // bytes of an FDE
	maxCIE   = 4 << 10  // bytes of a CIE
	maxCIEs  = 256      // that are kept of a section
)

var (
	errEntry = errors.New("unwind entry out of bounds")
	errCIE   = errors.New("unwind entry without its common part")
)

// entry is a raw CIE or FDE.
type entry struct {
	off  int64  // of it in the section
	next int64  // where the next one begins
	body []byte // behind the CIE id or pointer; valid until the next read
	at   int64  // where body begins
	cie  int64  // of an FDE; -1 for a CIE
	end  bool   // the zero entry that ends a section
}

// read reads the entry at off. Layout: DWARF 5, section 6.4.1, and for
// .eh_frame the Linux Standard Base, Exception Frames.
func (s *section) read(off int64) (e entry, err error) {
	h, err := s.head(off)
	if err != nil || h.end {
		return h, err
	}
	n := h.next - h.at
	if n > maxEntry {
		return e, errEntry
	}
	if int64(cap(s.buf)) < n {
		s.buf = make([]byte, n+n/2)
	}
	h.body = s.buf[:n]
	if m, err := s.r.ReadAt(h.body, h.at); m < len(h.body) {
		return e, err
	}
	return h, nil
}

// head reads what stands before the body of an entry.
func (s *section) head(off int64) (e entry, err error) {
	if off < 0 || off > s.size-4 {
		return e, errEntry
	}
	var b [20]byte
	n, err := s.r.ReadAt(b[:min(int64(len(b)), s.size-off)], off)
	if n < 4 {
		return e, err
	}
	c := cursor{b: b[:n]}
	width, length := 4, c.uint(4)
	if length == 0xffffffff {
		width, length = 8, c.uint(8)
	}
	if length == 0 {
		return entry{off: off, next: off + 4, end: true}, nil
	}
	start := off + int64(c.at)
	idWidth := width
	if s.eh {
		idWidth = 4
	}
	idAt := start
	id := c.uint(idWidth)
	if c.err != nil || length > uint64(s.size-start) || length < uint64(idWidth) {
		return e, errEntry
	}
	e = entry{off: off, next: start + int64(length), at: start + int64(idWidth)}
	switch {
	case s.eh && id == 0, !s.eh && id == 1<<(8*idWidth)-1:
		e.cie = -1
	case s.eh:
		e.cie = idAt - int64(id)
	default:
		e.cie = int64(id)
	}
	if e.cie < -1 || e.cie >= s.size {
		return e, errCIE
	}
	return e, nil
}

// cie reads the common part at off, once.
func (s *section) cie(off int64, ptr int) (*cie, error) {
	if c := s.cies[off]; c != nil {
		return c, nil
	}
	e, err := s.read(off)
	if err != nil {
		return nil, err
	}
	if e.cie != -1 || e.end || len(e.body) > maxCIE {
		return nil, errCIE
	}
	c, err := s.parseCIE(e, ptr)
	if err != nil {
		return nil, err
	}
	if s.cies == nil || len(s.cies) >= maxCIEs {
		s.cies = map[int64]*cie{}
	}
	s.cies[off] = c
	return c, nil
}

func (s *section) parseCIE(e entry, ptr int) (*cie, error) {
	cur := cursor{b: e.body}
	c := &cie{ptr: ptr}
	version := cur.u8()
	aug := cur.text()
	if version >= 4 && !s.eh {
		if c.ptr = int(cur.u8()); c.ptr != 4 && c.ptr != 8 || cur.u8() != 0 {
			return nil, errEncoding
		}
	}
	if aug == "eh" {
		cur.bytes(uint64(ptr))
		aug = ""
	}
	c.codeAlign, c.dataAlign = cur.uleb(), cur.sleb()
	if version == 1 {
		c.ra = uint64(cur.u8())
	} else {
		c.ra = cur.uleb()
	}
	if aug != "" {
		if aug[0] != 'z' {
			return nil, errors.New("augmentation " + aug)
		}
		c.data = true
		data := cur.uleb()
		here := base{here: s.addr + uint64(e.at) + uint64(cur.at)}
		c.augmented(aug[1:], cursor{b: cur.bytes(data)}, here)
	}
	c.prog = append([]byte(nil), cur.bytes(uint64(cur.left()))...)
	return c, cur.err
}

// augmented takes what the letters of an augmentation say. One that is not
// known ends it: the length of its data is known, not its meaning.
func (c *cie) augmented(letters string, cur cursor, b base) {
	for _, l := range letters {
		switch l {
		case 'L':
			cur.u8()
		case 'P':
			enc := cur.u8()
			cur.number(enc&encFormat, c.ptr)
		case 'R':
			c.enc = cur.u8()
		case 'S':
			c.signal = true
		case 'B', 'G': // arm64: signed by key B, tagged stack
		default:
			return
		}
	}
}

// fde reads the entry at off; nil when it is a CIE or the end.
func (s *section) fde(off int64, ptr int) (*fde, entry, error) {
	h, err := s.head(off)
	if err != nil || h.end || h.cie == -1 {
		return nil, h, err
	}
	c, err := s.cie(h.cie, ptr)
	if err != nil {
		return nil, h, err
	}
	e, err := s.read(off)
	if err != nil {
		return nil, h, err
	}
	cur := cursor{b: e.body}
	f := &fde{cie: c}
	f.begin = cur.pointer(c.enc, c.ptr, base{here: s.addr + uint64(e.at)})
	f.size = cur.number(c.enc&encFormat, c.ptr)
	if c.data {
		cur.bytes(cur.uleb())
	}
	f.progAt = s.addr + uint64(e.at) + uint64(cur.at)
	f.prog = cur.bytes(uint64(cur.left()))
	return f, e, cur.err
}

func (f *fde) covers(pc uint64) bool { return pc-f.begin < f.size }
