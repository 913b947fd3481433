package srcline

import (
	"cmp"
	"path"
	"slices"
	"sort"
)

// lineTable is the line table of a unit.
type lineTable struct {
	rows      []row
	sequences []sequence
	header    lineHeader
	paths     map[uint64]string // of files that were asked for
}

// row says where the code from an address on, up to that of the next row of
// the sequence, comes from.
type row struct {
	addr uint64
	line int32
	file uint32
}

// sequence is a part of the code without gaps: rows[first:end].
type sequence struct {
	lo, hi     uint64
	first, end uint32
}

const (
	rowBytes      = 16
	sequenceBytes = 24
	maxRows       = 8 << 20 // of one unit
)

func (t *lineTable) bytes() int64 {
	return int64(cap(t.rows))*rowBytes + int64(cap(t.sequences))*sequenceBytes + int64(cap(t.header.files)+cap(t.header.dirs))*pathBytes
}

// find returns the file and the line at an address, line -1 when the table has
// nothing there.
func (t *lineTable) find(addr uint64) (file uint32, line int) {
	if t == nil {
		return 0, -1
	}
	i := sort.Search(len(t.sequences), func(i int) bool { return t.sequences[i].lo > addr })
	for k := i - 1; k >= 0 && k >= i-maxOverlap; k-- {
		s := &t.sequences[k]
		if s.hi <= addr {
			continue
		}
		rows := t.rows[s.first:s.end]
		if n := sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr }); n > 0 {
			return rows[n-1].file, int(rows[n-1].line)
		}
	}
	return 0, -1
}

// lineTable returns the line table, nil when the unit has none.
func (u *unit) lineTable() (*lineTable, error) {
	if u.linesRead || u.root.stmtList.form == 0 {
		return u.lines, u.linesErr
	}
	u.linesRead = true
	u.lines, u.linesErr = u.readLines(u.root.stmtList.u)
	if u.lines == nil {
		return nil, u.linesErr
	}
	if err := u.f.budget.grow(u, u.lines.bytes()); err != nil {
		u.lines, u.linesErr = nil, err
	}
	return u.lines, u.linesErr
}

// readLines reads a line program. Of a damaged one there can be a table as
// well, of what is before the damage.
func (u *unit) readLines(off uint64) (*lineTable, error) {
	s, err := u.f.section("line")
	if err != nil {
		return nil, err
	}
	head := cursor{b: s.bytes(off, 12), order: u.order}
	length, wide := head.uint(4), false
	if length == 0xffffffff {
		length, wide = head.uint(8), true
	}
	if head.bad {
		return nil, errDamaged
	}
	if length > maxUnit {
		return nil, ErrLimit
	}
	if err := u.f.budget.work(int64(length)); err != nil {
		return nil, err
	}
	b, err := s.read(off+uint64(head.i), length)
	if err != nil {
		return nil, err
	}
	t := &lineTable{paths: map[uint64]string{}, header: lineHeader{base: off + uint64(head.i), unit: u.format}}
	t.header.unit.wide = wide
	c := cursor{b: b, order: u.order}
	if err := t.header.read(&c); err != nil {
		return nil, err
	}
	p := program{u: u, t: t, c: c, h: &t.header}
	err = p.run()
	t.finish()
	return t, err
}

// finish sorts the sequences.
func (t *lineTable) finish() {
	t.rows, t.sequences = slices.Clip(t.rows), slices.Clip(t.sequences)
	slices.SortStableFunc(t.sequences, func(a, b sequence) int { return cmp.Compare(a.lo, b.lo) })
}

// fileName returns the path of a file of the line table.
func (u *unit) fileName(t *lineTable, n uint64) string {
	if p, ok := t.paths[n]; ok {
		return p
	}
	p := u.findFile(&t.header, n)
	if p != "" && u.f.budget.grow(u, int64(len(p))+nameBytes) == nil {
		t.paths[n] = p
	}
	return p
}

func (u *unit) findFile(h *lineHeader, n uint64) string {
	if h.unit.version < 5 {
		n-- // they count from 1
	}
	if n >= uint64(len(h.files)) {
		return ""
	}
	name := u.pathPart(h, &h.files[n])
	if name == "" || path.IsAbs(name) {
		return clean(name)
	}
	dir := uint64(h.files[n].dir)
	if h.unit.version < 5 {
		dir-- // 0 is the folder of the compilation, which is not in the list
	}
	if dir < uint64(len(h.dirs)) {
		name = u.pathPart(h, &h.dirs[dir]) + "/" + name
	}
	if !path.IsAbs(name) && u.compDir != "" {
		name = u.compDir + "/" + name
	}
	return clean(name)
}

// clean takes the "." and ".." out of a path, and bounds it.
func clean(name string) string {
	if name == "" {
		return ""
	}
	return path.Clean(name[:min(len(name), maxName)])
}

// pathPart reads the name of a file or of a folder.
func (u *unit) pathPart(h *lineHeader, p *pathName) string {
	switch p.form {
	case formString:
		s, err := u.f.section("line")
		if err != nil {
			return ""
		}
		return s.str(h.base + p.off)
	case 0:
		return ""
	}
	return u.text(value{p.form, p.off}, nil)
}

// program runs the line number program of a unit.
//
// Layout: DWARF 5, section 6.2.
type program struct {
	u *unit
	t *lineTable
	c cursor
	h *lineHeader

	addr, op   uint64
	file, line uint64
	first      int // row of the sequence
	sorted     bool
}

func (p *program) reset() {
	p.addr, p.op, p.file, p.line = 0, 0, 1, 1
	p.first, p.sorted = len(p.t.rows), true
}

// Opcodes of line number programs.
const (
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9
	lneEndSequence    = 1
	lneSetAddress     = 2
)

func (p *program) run() error {
	p.reset()
	for p.c.left() > 0 {
		if op := p.c.u8(); op >= p.h.opcodeBase {
			op -= p.h.opcodeBase
			p.advance(uint64(op / p.h.lineRange))
			p.line += uint64(int64(p.h.lineBase) + int64(op%p.h.lineRange))
			p.emit()
		} else if op != 0 {
			p.standard(op)
		} else if err := p.extended(); err != nil {
			return err
		}
		if p.c.bad {
			return errDamaged
		}
		if len(p.t.rows) > maxRows {
			return ErrLimit
		}
	}
	return nil
}

// advance moves the address by a number of operations.
func (p *program) advance(n uint64) {
	if p.h.maxOps <= 1 {
		p.addr += n * uint64(p.h.minInst)
		return
	}
	ops := uint64(p.h.maxOps)
	p.addr += uint64(p.h.minInst) * ((p.op + n) / ops)
	p.op = (p.op + n) % ops
}

func (p *program) standard(op uint8) {
	switch op {
	case lnsCopy:
		p.emit()
	case lnsAdvancePC:
		p.advance(p.c.uleb())
	case lnsAdvanceLine:
		p.line += uint64(p.c.sleb())
	case lnsSetFile:
		p.file = p.c.uleb()
	case lnsConstAddPC:
		p.advance(uint64((255 - p.h.opcodeBase) / p.h.lineRange))
	case lnsFixedAdvancePC:
		p.addr, p.op = p.addr+p.c.uint(2), 0
	default:
		for range p.h.lengths[op] {
			p.c.uleb()
		}
	}
}

func (p *program) extended() error {
	n := p.c.uleb()
	if n == 0 {
		return nil
	}
	if n > uint64(p.c.left()) {
		return errDamaged
	}
	next := p.c.i + int(n)
	switch p.c.u8() {
	case lneEndSequence:
		p.endSequence()
	case lneSetAddress:
		size := int(n - 1)
		if size != 2 && size != 4 && size != 8 {
			return errDamaged
		}
		p.addr, p.op = p.c.uint(size), 0
	}
	p.c.i = next
	return nil
}

// emit adds a row. Of several at one address the last one holds; one that says
// the same as the row before is left out.
func (p *program) emit() {
	r := row{addr: p.addr, line: int32(min(p.line, maxLine)), file: uint32(min(p.file, 1<<32-1))}
	rows := p.t.rows
	if n := len(rows); n > p.first {
		last := &rows[n-1]
		switch {
		case last.addr == r.addr:
			*last = r
			return
		case last.addr > r.addr:
			p.sorted = false
		case last.line == r.line && last.file == r.file:
			return
		}
	}
	p.t.rows = append(rows, r)
}

// endSequence ends the rows of a sequence, or drops them when their code was
// dropped by the linker.
func (p *program) endSequence() {
	rows := p.t.rows[p.first:]
	if !p.sorted {
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.addr, b.addr) })
	}
	if len(rows) > 0 && rows[0].addr < p.addr && p.u.f.inText(rows[0].addr) {
		p.t.sequences = append(p.t.sequences, sequence{rows[0].addr, p.addr, uint32(p.first), uint32(len(p.t.rows))})
	} else {
		p.t.rows = p.t.rows[:p.first]
	}
	p.reset()
}
