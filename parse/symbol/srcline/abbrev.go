package srcline

import (
	"debug/dwarf"
)

// attr is an attribute of an abbreviation.
type attr struct {
	name     dwarf.Attr
	form     form
	implicit int64
}

// abbrev is what entries with one abbreviation code have.
type abbrev struct {
	tag      dwarf.Tag
	children bool
	fixed    int // size of all attributes, -1 when that depends on them
	attrs    []attr
}

// abbrevTable is the abbreviations of a unit, by code - 1.
type abbrevTable struct {
	list  []abbrev
	attrs []attr // of all
}

const (
	attrBytes   = 16
	abbrevBytes = 48
	maxAbbrevs  = 4 << 20 // bytes of one table in the file
)

func (t *abbrevTable) bytes() int64 {
	return int64(cap(t.list))*abbrevBytes + int64(cap(t.attrs))*attrBytes
}

func (t *abbrevTable) find(code uint64) *abbrev {
	if code-1 >= uint64(len(t.list)) || t.list[code-1].tag == 0 {
		return nil
	}
	return &t.list[code-1]
}

// abbrevCache holds the table that was read last: many compilers give all units
// the same one.
type abbrevCache struct {
	off    uint64
	format format
	table  *abbrevTable
}

// abbrevTable reads the abbreviations at an offset.
func (f *File) abbrevTable(off uint64, fm format) (*abbrevTable, error) {
	if c := &f.abbrevs; c.table != nil && c.off == off && c.format == fm {
		return c.table, nil
	}
	s, err := f.section("abbrev")
	if err != nil {
		return nil, err
	}
	if off >= s.size {
		return nil, errDamaged
	}
	for n := 4 << 10; ; n *= 4 {
		b := s.bytes(off, n)
		if err := f.budget.work(int64(len(b))); err != nil {
			return nil, err
		}
		t := &abbrevTable{}
		c := cursor{b: b, order: f.order}
		t.read(&c, &fm)
		if !c.bad {
			f.abbrevs = abbrevCache{off, fm, t}
			return t, nil
		}
		if len(b) < n || n > maxAbbrevs {
			return nil, errDamaged
		}
	}
}

// read decodes a table up to its end.
func (t *abbrevTable) read(c *cursor, fm *format) {
	type decl struct {
		code     uint64
		from, to int
		abbrev   abbrev
	}
	var decls []decl
	top := uint64(0)
	for {
		d := decl{code: c.uleb(), from: len(t.attrs)}
		if d.code == 0 || c.bad {
			break
		}
		d.abbrev.tag = dwarf.Tag(c.uleb())
		d.abbrev.children = c.u8() != 0
		d.abbrev.fixed = t.readAttrs(c, fm)
		d.to = len(t.attrs)
		decls = append(decls, d)
		top = max(top, d.code)
	}
	// Codes are given from 1 on without gaps; others are not worth a map.
	if c.bad || top > 4*uint64(len(decls))+256 {
		c.fail()
		return
	}
	t.list = make([]abbrev, top)
	for _, d := range decls {
		d.abbrev.attrs = t.attrs[d.from:d.to]
		t.list[d.code-1] = d.abbrev
	}
}

// readAttrs reads the attributes of one abbreviation and returns their size.
func (t *abbrevTable) readAttrs(c *cursor, fm *format) (fixed int) {
	for {
		a := attr{name: dwarf.Attr(c.uleb()), form: form(c.uleb())}
		if a.form == formImplicit {
			a.implicit = c.sleb()
		}
		if a.name == 0 && a.form == 0 || c.bad {
			return fixed
		}
		n := fm.size(a.form)
		if n < 0 {
			fixed = -1
		} else if fixed >= 0 {
			fixed += n
		}
		t.attrs = append(t.attrs, a)
	}
}

// skip passes over the attributes of an entry.
func (a *abbrev) skip(c *cursor, f *format) {
	if a.fixed >= 0 {
		c.skip(uint64(a.fixed))
		return
	}
	for i := range a.attrs {
		c.skipForm(a.attrs[i].form, f)
	}
}

// entry is the attributes of a debugging information entry that matter here.
type entry struct {
	off    uint64 // in .debug_info
	abbrev *abbrev

	low, high, ranges          value
	name, linkage              value
	origin, spec               value
	callFile, callLine         value
	sibling                    value
	stmtList, compDir, dwoName value
	strBase, addrBase, rngBase value
}

// field returns where an attribute goes, nil for those that do not matter.
func (e *entry) field(name dwarf.Attr) *value {
	const mipsLinkageName, gnuDwoName, gnuAddrBase = 0x2007, 0x2130, 0x2133
	switch name {
	case dwarf.AttrLowpc:
		return &e.low
	case dwarf.AttrHighpc:
		return &e.high
	case dwarf.AttrRanges:
		return &e.ranges
	case dwarf.AttrName:
		return &e.name
	case dwarf.AttrLinkageName, mipsLinkageName:
		return &e.linkage
	case dwarf.AttrAbstractOrigin:
		return &e.origin
	case dwarf.AttrSpecification:
		return &e.spec
	case dwarf.AttrCallFile:
		return &e.callFile
	case dwarf.AttrCallLine:
		return &e.callLine
	case dwarf.AttrSibling:
		return &e.sibling
	case dwarf.AttrStmtList:
		return &e.stmtList
	case dwarf.AttrCompDir:
		return &e.compDir
	case dwarf.AttrDwoName, gnuDwoName:
		return &e.dwoName
	case dwarf.AttrStrOffsetsBase:
		return &e.strBase
	case dwarf.AttrAddrBase, gnuAddrBase:
		return &e.addrBase
	case dwarf.AttrRnglistsBase:
		return &e.rngBase
	}
	return nil
}

// read decodes the attributes of an entry whose abbreviation is known.
func (e *entry) read(c *cursor, f *format) {
	for i := range e.abbrev.attrs {
		a := &e.abbrev.attrs[i]
		v := e.field(a.name)
		if v == nil {
			c.skipForm(a.form, f)
			continue
		}
		*v = c.value(*a, f)
	}
}
