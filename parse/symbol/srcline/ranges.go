package srcline

// eachRange gives the addresses of an entry to yield until that returns false.
func (u *unit) eachRange(e *entry, yield func(lo, hi uint64) bool) error {
	if e.ranges.form != 0 {
		if u.version >= 5 {
			return u.rangeList(e.ranges, yield)
		}
		return u.oldRanges(e.ranges.u, yield)
	}
	if e.low.form == 0 || e.high.form == 0 {
		return nil
	}
	lo, ok := u.address(e.low)
	if !ok {
		return errDamaged
	}
	hi := lo + e.high.u
	if e.high.isAddr() {
		hi, ok = u.address(e.high)
	}
	if ok && lo < hi {
		yield(lo, hi)
	}
	return nil
}

// covers reports whether an entry has code at an address.
func (u *unit) covers(e *entry, addr uint64) (found bool, err error) {
	err = u.eachRange(e, func(lo, hi uint64) bool {
		found = addr >= lo && addr < hi
		return !found
	})
	return found, err
}

// maxAddr is the highest address, which marks base addresses in old lists.
func (u *unit) maxAddr() uint64 {
	if u.addrSize == 4 {
		return 1<<32 - 1
	}
	return 1<<64 - 1
}

// oldRanges reads a list of .debug_ranges. Layout: DWARF 4, section 2.17.3.
func (u *unit) oldRanges(off uint64, yield func(lo, hi uint64) bool) error {
	s, err := u.f.section("ranges")
	if err != nil {
		return err
	}
	st, base, n := u.f.stream(s, off), u.low, int(u.addrSize)
	for {
		st.next()
		lo, hi := st.uint(n), st.uint(n)
		if st.bad {
			return errDamaged
		}
		if err := u.f.budget.work(int64(2 * n)); err != nil {
			return err
		}
		switch {
		case lo == 0 && hi == 0:
			return nil
		case lo == u.maxAddr():
			base = hi
		case lo < hi && !yield((base+lo)&u.maxAddr(), (base+hi)&u.maxAddr()):
			return nil
		}
	}
}

// Kinds of entries in .debug_rnglists, DWARF 5, section 7.25.
const (
	rleEnd = iota
	rleBaseAddrx
	rleStartxEndx
	rleStartxLength
	rleOffsetPair
	rleBaseAddress
	rleStartEnd
	rleStartLength
)

// rangeList reads a list of .debug_rnglists.
func (u *unit) rangeList(v value, yield func(lo, hi uint64) bool) error {
	s, err := u.f.section("rnglists")
	if err != nil {
		return err
	}
	off := v.u
	if v.form == formRnglistx {
		n := uint64(u.offSize())
		if off >= s.size/n {
			return errDamaged
		}
		c := cursor{b: s.bytes(u.root.rngBase.u+off*n, int(n)), order: u.order}
		if off = u.root.rngBase.u + c.uint(int(n)); c.bad {
			return errDamaged
		}
	}
	st, base := u.f.stream(s, off), u.low
	for {
		st.next()
		from := st.i
		lo, hi, kind, ok := u.rangeEntry(&st.cursor, base)
		if st.bad || !ok {
			return errDamaged
		}
		if err := u.f.budget.work(int64(st.i - from)); err != nil {
			return err
		}
		switch {
		case kind == rleEnd:
			return nil
		case kind == rleBaseAddrx || kind == rleBaseAddress:
			base = lo
		case lo < hi && !yield(lo, hi):
			return nil
		}
	}
}

// rangeEntry reads one entry of a list; lo is the base where it sets that.
func (u *unit) rangeEntry(c *cursor, base uint64) (lo, hi uint64, kind uint8, ok bool) {
	addr := func() uint64 { return c.uint(int(u.addrSize)) }
	kind, ok = c.u8(), true
	switch kind {
	case rleEnd:
	case rleBaseAddrx:
		lo, ok = u.indexed(c.uleb())
	case rleStartxEndx:
		var ok2 bool
		lo, ok = u.indexed(c.uleb())
		hi, ok2 = u.indexed(c.uleb())
		ok = ok && ok2
	case rleStartxLength:
		lo, ok = u.indexed(c.uleb())
		hi = lo + c.uleb()
	case rleOffsetPair:
		lo = base + c.uleb()
		hi = base + c.uleb()
	case rleBaseAddress:
		lo = addr()
	case rleStartEnd:
		lo, hi = addr(), addr()
	case rleStartLength:
		lo = addr()
		hi = lo + c.uleb()
	default:
		ok = false
	}
	return lo, hi, kind, ok
}

// readAranges takes the ranges of units that do not say all of them in their
// root entry from .debug_aranges. A damaged section
// gives what is before the damage.
//
// Layout: DWARF 5, section 6.1.2.
func (f *File) readAranges(units map[uint64]uint32, room int64) error {
	s, err := f.section("aranges")
	if err != nil || len(units) == 0 {
		return err
	}
	for off := uint64(0); off < s.size; {
		next, err := f.readArangeSet(s, off, units)
		if err == ErrLimit || int64(len(f.ranges)) >= room {
			return ErrLimit
		}
		if err != nil {
			return nil
		}
		off = next
	}
	return nil
}

// readArangeSet reads the ranges of one unit.
func (f *File) readArangeSet(s *section, off uint64, units map[uint64]uint32) (next uint64, err error) {
	st, fm := f.stream(s, off), format{order: f.order}
	st.next()
	length := st.uint(4)
	if length == 0xffffffff {
		fm.wide, length = true, st.uint(8)
	}
	next = off + uint64(st.i) + length
	st.skip(2) // version
	unit, wanted := units[st.uint(fm.offSize())]
	n := int(st.u8())
	st.skip(1) // size of a segment selector
	if st.bad || length > s.size || n != 4 && n != 8 {
		return 0, errDamaged
	}
	if !wanted {
		return next, nil
	}
	st.skip(uint64(-st.i & (2*n - 1)))
	for off+length > st.pos+uint64(st.i) {
		st.next()
		lo, size := st.uint(n), st.uint(n)
		if st.bad || lo == 0 && size == 0 {
			break
		}
		if f.inText(lo) && lo+size > lo {
			f.ranges = append(f.ranges, unitRange{lo, lo + size, unit})
		}
		if err := f.budget.work(int64(2 * n)); err != nil {
			return 0, err
		}
	}
	return next, nil
}
