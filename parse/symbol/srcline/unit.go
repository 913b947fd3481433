package srcline

import (
	"cmp"
	"container/list"
	"debug/dwarf"
	"slices"
	"sort"
)

// unit is a compilation unit that is loaded.
type unit struct {
	f        *File
	off, end uint64 // in .debug_info
	first    uint64 // of the first entry
	format
	abbrevs *abbrevTable

	root    entry
	low     uint64 // base of its ranges
	compDir string

	scanned   bool
	scanErr   error
	functions []function
	scopes    []scope
	linesRead bool
	linesErr  error
	lines     *lineTable
	names     map[uint64]string

	held  *list.Element // in the budget's list; nil when it was forgotten
	bytes int64
}

// unitRange is a part of the code of a unit.
type unitRange struct {
	lo, hi uint64
	unit   uint32 // index in File.units
}

const (
	unitRangeBytes = 24
	maxUnits       = 1 << 20
	maxUnit        = 256 << 20 // bytes of one in the file
	maxOverlap     = 64        // ranges looked at that begin before an address
)

// header reads the header of the unit at an offset.
//
// Layout: DWARF 5, section 7.5.1.
func (f *File) header(off uint64) (*unit, error) {
	const longestHeader = 40
	s, err := f.section("info")
	if err != nil {
		return nil, err
	}
	u := &unit{f: f, off: off, format: format{order: f.order}}
	c := cursor{b: s.bytes(off, longestHeader), order: f.order}
	length := c.uint(4)
	if length == 0xffffffff {
		u.wide, length = true, c.uint(8)
	}
	begin := off + uint64(c.i)
	if c.bad || length > s.size-begin {
		return nil, errDamaged
	}
	u.end = begin + length
	u.version = uint16(c.uint(2))
	var abbrevOff uint64
	typ := uint8(unitCompile)
	switch {
	case u.version >= 2 && u.version <= 4:
		abbrevOff = c.uint(u.offSize())
		u.addrSize = c.u8()
	case u.version == 5:
		typ = c.u8()
		u.addrSize = c.u8()
		abbrevOff = c.uint(u.offSize())
		switch typ {
		case unitSkeleton, unitSplitCompile:
			c.skip(8)
		case unitType, unitSplitType:
			c.skip(8 + uint64(u.offSize()))
		}
	default:
		return u, errVersion
	}
	u.first = off + uint64(c.i)
	if c.bad || u.first > u.end || u.addrSize != 4 && u.addrSize != 8 {
		return u, errDamaged
	}
	u.abbrevs, err = f.abbrevTable(abbrevOff, u.format)
	return u, err
}

// Types of units, DWARF 5, table 7.2.
const (
	unitCompile      = 1
	unitType         = 2
	unitSkeleton     = 4
	unitSplitCompile = 5
	unitSplitType    = 6
)

// errVersion is a unit of an unknown version; the next one can be readable.
var errVersion = dwarf.DecodeError{Name: "info", Err: "unknown version"}

// open reads the header and the root entry of a unit.
func (f *File) open(off uint64) (*unit, error) {
	u, err := f.header(off)
	if err != nil {
		return u, err
	}
	e, _, err := u.entry(u.first)
	if err != nil {
		return u, err
	}
	u.root = e
	if e.low.form != 0 {
		u.low, _ = u.address(e.low)
	}
	return u, nil
}

// entry reads the entry at an offset of .debug_info. The bytes are those that
// a string in place is in, valid up to the next read of the section.
func (u *unit) entry(off uint64) (e entry, b []byte, err error) {
	if off < u.first || off >= u.end {
		return e, nil, errDamaged
	}
	s, err := u.f.section("info")
	if err != nil {
		return e, nil, err
	}
	for n := 512; ; n *= 8 {
		have := s.bytes(off, int(min(uint64(n), u.end-off)))
		if err := u.f.budget.work(int64(len(have))); err != nil {
			return e, nil, err
		}
		c := cursor{b: have, order: u.order}
		e = entry{off: off, abbrev: u.abbrevs.find(c.uleb())}
		if e.abbrev == nil {
			return e, nil, errDamaged
		}
		if e.read(&c, &u.format); !c.bad {
			return e, have, nil
		}
		if len(have) < n || n > 1<<20 {
			return e, nil, errDamaged
		}
	}
}

// index notes which unit has what code, once. Units that are damaged are left
// out: the lengths in front of them tell where the next one is.
func (f *File) index() error {
	if f.indexed {
		return f.indexErr
	}
	f.indexed = true
	if f.indexErr = f.readIndex(); f.indexErr != nil {
		f.units, f.ranges = nil, nil
		return f.indexErr
	}
	f.units, f.ranges = slices.Clip(f.units), slices.Clip(f.ranges)
	if f.indexErr = f.budget.Charge(int64(cap(f.units))*8 + int64(cap(f.ranges))*unitRangeBytes); f.indexErr != nil {
		f.units, f.ranges = nil, nil
	}
	return f.indexErr
}

func (f *File) readIndex() error {
	s, err := f.section("info")
	if err != nil {
		return err
	}
	silent := map[uint64]uint32{}
	room := (f.budget.Bytes - f.budget.used) / unitRangeBytes
	for off := uint64(0); off < s.size; {
		u, err := f.open(off)
		if err == ErrLimit || len(f.units) >= maxUnits {
			return ErrLimit
		}
		if u == nil && len(f.units) > 0 {
			break // cut: what is before it is all right
		}
		if u == nil {
			return err
		}
		f.units = append(f.units, off)
		if off = u.end; err != nil {
			continue
		}
		if u.silent() {
			silent[u.off] = uint32(len(f.units) - 1)
		}
		err = u.eachRange(&u.root, func(lo, hi uint64) bool {
			if f.inText(lo) {
				f.ranges = append(f.ranges, unitRange{lo, hi, uint32(len(f.units) - 1)})
			}
			return int64(len(f.ranges)) < room
		})
		if err == ErrLimit || int64(len(f.ranges)) >= room {
			return ErrLimit
		}
	}
	if err := f.readAranges(silent, room); err != nil {
		return err
	}
	slices.SortStableFunc(f.ranges, func(a, b unitRange) int { return cmp.Compare(a.lo, b.lo) })
	return nil
}

// silent reports whether a unit may not say where all of its code is: DWARF 2
// has no lists of ranges.
func (u *unit) silent() bool {
	e := &u.root
	return e.abbrev.tag == dwarf.TagCompileUnit && e.ranges.form == 0 && (e.high.form == 0 || u.version == 2)
}

// unitsAt returns the offsets of the units that have code at an address, the
// nearest begin first.
func (f *File) unitsAt(addr uint64) []uint64 {
	i := sort.Search(len(f.ranges), func(i int) bool { return f.ranges[i].lo > addr })
	var out []uint64
	for k := i - 1; k >= 0 && k >= i-maxOverlap; k-- {
		if off := f.units[f.ranges[k].unit]; f.ranges[k].hi > addr && !slices.Contains(out, off) {
			out = append(out, off)
		}
	}
	return out
}

// unit returns the unit at an offset, loaded.
func (f *File) unit(off uint64) (*unit, error) {
	if u := f.loaded[off]; u != nil {
		f.budget.touch(u)
		return u, nil
	}
	u, err := f.open(off)
	if err != nil {
		return nil, err
	}
	if u.root.compDir.form != 0 {
		u.compDir = u.rootString(u.root.compDir)
	}
	u.names = map[uint64]string{}
	f.loaded[off] = u
	f.budget.keep(u)
	if err := f.budget.grow(u, u.abbrevs.bytes()+unitBytes); err != nil {
		return nil, err
	}
	return u, nil
}

// unitBytes is the size of a unit without its tables.
const unitBytes = 1 << 10

// unitOf returns the unit that holds an offset of .debug_info.
func (f *File) unitOf(off uint64) (*unit, error) {
	if err := f.index(); err != nil {
		return nil, err
	}
	i := sort.Search(len(f.units), func(i int) bool { return f.units[i] > off })
	if i == 0 {
		return nil, errDamaged
	}
	return f.unit(f.units[i-1])
}
