package unwind

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"

	"ctxan/parse/symbol"
)

// tables are the unwind tables of a file.
type tables struct {
	ptr   int // bytes of an address
	eh    *section
	hdr   []byte // the search table of .eh_frame_hdr, 8 bytes each: function, entry
	hdrAt uint64 // what its values are relative to
	index []indexed
	dbg   *section
	debug []indexed // of dbg
}

// indexed is where the entry of a function is.
type indexed struct {
	begin uint64
	off   int64
}

const (
	maxIndexed    = 1 << 20  // functions of a section without a search table
	maxScan       = 64 << 20 // bytes of such a section
	maxTableBytes = 256 << 20
	indexedBytes  = 16
)

var errOverLimit = errors.New("over the limit for unwind tables")

// budget is the memory that tables may still take.
type budget struct{ left int64 }

func (b *budget) take(n int64) error {
	if n > b.left {
		return errOverLimit
	}
	b.left -= n
	return nil
}

// take adds the tables of a file: .eh_frame and .debug_frame from the first
// file that has each. It reports whether it took any.
func (t *tables) take(o *symbol.Object, b *budget) (bool, error) {
	took := false
	if t.eh == nil {
		r, addr, err := o.Section(".eh_frame", maxScan)
		if err != nil {
			return false, err
		}
		if r != nil {
			took = true
			t.eh = &section{r: r, size: r.Size(), addr: addr, eh: true}
			if err := t.search(o, b); err != nil {
				return true, err
			}
		}
	}
	if t.dbg == nil {
		r, addr, err := o.Section(".debug_frame", maxScan)
		if err != nil || r == nil {
			return took, err
		}
		took = true
		t.dbg = &section{r: r, size: r.Size(), addr: addr}
		if t.debug, err = t.dbg.index(t.ptr, b); err != nil {
			return true, err
		}
	}
	return took, nil
}

// search reads the search table, or makes an index where there is none.
func (t *tables) search(o *symbol.Object, b *budget) error {
	r, addr, err := o.Section(".eh_frame_hdr", maxScan)
	if err == nil && r != nil {
		if t.hdr, err = readHdr(r, addr, t.ptr, b); err == nil && t.hdr != nil {
			t.hdrAt = addr
			return nil
		}
	}
	if errors.Is(err, errOverLimit) {
		return err
	}
	t.index, err = t.eh.index(t.ptr, b)
	return err
}

// encTable is the only encoding of search tables that linkers write: 4 bytes,
// signed, relative to the section.
const encTable = 0x3b

// readHdr reads the search table of .eh_frame_hdr; nil when it has none of the
// usual form. Layout: Linux Standard Base, .eh_frame_hdr.
func readHdr(r *io.SectionReader, addr uint64, ptr int, b *budget) ([]byte, error) {
	head := make([]byte, min(r.Size(), 32))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	c := cursor{b: head}
	version, encEH, encCount, enc := c.u8(), c.u8(), c.u8(), c.u8()
	if version != 1 || encCount == encOmit || enc != encTable {
		return nil, c.err
	}
	if encEH != encOmit {
		c.pointer(encEH, ptr, base{here: addr, data: addr})
	}
	n := c.pointer(encCount, ptr, base{here: addr, data: addr})
	if c.err != nil || n > uint64(r.Size()-int64(c.at))/8 {
		return nil, errEntry
	}
	if err := b.take(int64(n) * 8); err != nil {
		return nil, err
	}
	table := make([]byte, n*8)
	_, err := r.ReadAt(table, int64(c.at))
	if err == io.EOF {
		err = nil
	}
	return table, err
}

// index lists the functions of a section that has no search table. Entries
// that are damaged are left out; damage to the framing ends it.
func (s *section) index(ptr int, b *budget) ([]indexed, error) {
	if s.size > maxScan {
		return nil, errOverLimit
	}
	whole := make([]byte, s.size)
	if _, err := s.r.ReadAt(whole, 0); err != nil && err != io.EOF {
		return nil, err
	}
	in := *s
	in.r, in.cies = sliceReader(whole), nil
	var out []indexed
	for off := int64(0); off < s.size; {
		f, e, err := in.fde(off, ptr)
		switch {
		case err != nil && e.next <= off:
			off = s.size
			continue
		case err == nil && f != nil && f.size > 0 && f.begin != 0: // 0: the linker dropped the function
			out = append(out, indexed{f.begin, off})
		}
		if len(out) > maxIndexed {
			return nil, errOverLimit
		}
		off = e.next
	}
	if err := b.take(int64(len(out)) * indexedBytes); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b indexed) int { return cmp.Compare(a.begin, b.begin) })
	return slices.Clip(out), nil
}

// sliceReader reads from memory.
type sliceReader []byte

func (b sliceReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// find returns the entry of the function at pc, an address of the file's own;
// nil when it has none.
func (t *tables) find(pc uint64) (*fde, error) {
	var firstErr error
	if t.eh != nil {
		off, ok := t.lookup(pc)
		if ok {
			f, _, err := t.eh.fde(off, t.ptr)
			if err == nil && f != nil && f.covers(pc) {
				return f, nil
			}
			firstErr = err
		}
	}
	if t.dbg != nil {
		if off, ok := lookup(t.debug, pc); ok {
			f, _, err := t.dbg.fde(off, t.ptr)
			if err == nil && f != nil && f.covers(pc) {
				return f, nil
			}
		}
	}
	return nil, firstErr
}

// lookup finds the entry of .eh_frame that may cover pc.
func (t *tables) lookup(pc uint64) (int64, bool) {
	if t.hdr == nil {
		return lookup(t.index, pc)
	}
	at := func(i, word int) uint64 {
		return t.hdrAt + uint64(int32(binary.LittleEndian.Uint32(t.hdr[8*i+4*word:])))
	}
	i := sort.Search(len(t.hdr)/8, func(i int) bool { return at(i, 0) > pc })
	if i == 0 {
		return 0, false
	}
	return int64(at(i-1, 1) - t.eh.addr), true
}

func lookup(list []indexed, pc uint64) (int64, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].begin > pc })
	if i == 0 {
		return 0, false
	}
	return list[i-1].off, true
}
