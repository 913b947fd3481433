package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"path"
	"sort"
	"strings"

	"ctxan/parse/symbol/srcline"
)

// goTable is the function table that the Go runtime keeps in a program, for its
// own tracebacks; strip leaves it there. Versions: Go 1.18 and later.
//
// debug/gosym is not used for that: it copies the name of every function, which
// damaged offsets make quadratic in the size of the section.
//
// Layout: pcHeader in the Go runtime's symtab.go, _func in runtime2.go.
type goTable struct {
	order   binary.ByteOrder
	quantum uint64 // smallest instruction
	text    uint64 // address that entries are relative to
	count   int    // of functions

	names, units, files, pcs, funcs []byte
}

const (
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1
	maxGo      = 256 << 20 // bytes of .gopclntab
	goEntry    = 8         // bytes of an entry of the list of functions
)

var errGo = errors.New("damaged .gopclntab")

// loadGo names the functions of a Go program without a symbol table.
func (r *Resolver) loadGo(img *image, e *elfFile) error {
	g, err := r.goTable(e)
	if err != nil || g == nil {
		return err
	}
	t, err := g.table(r.opt.Limits)
	if err == nil {
		err = r.charge(t.bytes())
	}
	if err != nil {
		return err
	}
	img.golang, img.more = g, append(img.more, t)
	return nil
}

// findGoLines loads the table of a Go program for its lines only.
func (r *Resolver) findGoLines(img *image) {
	if img.golang != nil || img.from.place == nil && !img.from.vdso {
		return
	}
	f, why := img.from.open()
	if why != "" {
		return
	}
	defer f.close()
	if e, err := readELF(f, f.size); err == nil && sameFile(img.id, e.buildID()) {
		img.golang, _ = r.goTable(e)
	}
}

// goTable reads .gopclntab, nil when the file has none.
func (r *Resolver) goTable(e *elfFile) (*goTable, error) {
	s := e.named(".gopclntab")
	if s == nil {
		s = e.named(".data.rel.ro.gopclntab")
	}
	if s == nil || s.typ == elf.SHT_NOBITS {
		return nil, nil
	}
	if s.size > maxGo {
		return nil, errLimit
	}
	b, err := e.data(s.off, s.size, maxGo)
	if err != nil {
		return nil, err
	}
	if err := r.charge(int64(len(b))); err != nil {
		return nil, err
	}
	g, err := newGoTable(b, e.order)
	if err == nil && !g.place(e, s) {
		err = errors.New("a Go program that does not say where its code begins")
	}
	if err != nil {
		r.tables -= int64(len(b))
		return nil, err
	}
	return g, nil
}

// newGoTable reads the header.
func newGoTable(b []byte, order binary.ByteOrder) (*goTable, error) {
	if len(b) < 8 || b[4] != 0 || b[5] != 0 || b[7] != 4 && b[7] != 8 {
		return nil, errGo
	}
	if m := order.Uint32(b); m != goMagic118 && m != goMagic120 {
		return nil, errors.New("a Go program of an unknown version")
	}
	size := int(b[7])
	if len(b) < 8+8*size {
		return nil, errGo
	}
	word := func(n int) uint64 {
		if size == 4 {
			return uint64(order.Uint32(b[8+4*n:]))
		}
		return order.Uint64(b[8+8*n:])
	}
	part := func(n int) []byte { return b[min(word(n), uint64(len(b))):] }
	g := &goTable{order: order, quantum: uint64(b[6]), names: part(3), units: part(4), files: part(5), pcs: part(6), funcs: part(7)}
	if word(0) >= uint64(len(g.funcs)/goEntry) {
		return nil, errGo
	}
	g.count = int(word(0))
	return g, nil
}

// place finds the address that the entries are relative to: runtime.text.
// Programs before Go 1.26 have it in the header; later ones in their module
// data, as words 21 to 23 of that section; in those that are loaded anywhere
// the words are filled in by relocations. Where the entry point is a function
// of the table, that settles it without them.
func (g *goTable) place(e *elfFile, s *section) bool {
	word := uint64(4)
	if e.wide {
		word = 8
	}
	const textStart, moduleText = 2, 22
	if g.fits(e, e.pointer(s, 8+textStart*word)) {
		return true
	}
	for i := range g.count {
		if name := g.name(i); strings.HasPrefix(name, "_rt0_") && g.fits(e, e.entry-g.offset(i)) {
			return true
		}
	}
	m := e.named(".go.module")
	return m != nil && m.typ != elf.SHT_NOBITS && g.fits(e, e.pointer(m, moduleText*word))
}

// fits takes text as the begin of the code, when the functions then lie in an
// executable part of the file.
func (g *goTable) fits(e *elfFile, text uint64) bool {
	end := text + g.offset(g.count)
	if text == 0 || end < text {
		return false
	}
	for _, s := range e.execSpans() {
		if text >= s.lo && end <= s.hi {
			g.text = text
			return true
		}
	}
	return false
}

// offset is where the function i begins, from the begin of the code.
func (g *goTable) offset(i int) uint64 { return uint64(g.order.Uint32(g.funcs[i*goEntry:])) }

// field reads the 32-bit word n of what is known of function i, and whether it
// is there.
func (g *goTable) field(i, n int) (uint32, bool) {
	at := uint64(g.order.Uint32(g.funcs[i*goEntry+4:])) + 4*uint64(n)
	if at+4 > uint64(len(g.funcs)) {
		return 0, false
	}
	return g.order.Uint32(g.funcs[at:]), true
}

// Words of a function.
const (
	goName = 1
	goFile = 5
	goLine = 6
	goUnit = 8
)

// maxGoName bounds names and paths.
const maxGoName = 4 << 10

func (g *goTable) name(i int) string {
	off, ok := g.field(i, goName)
	if !ok {
		return ""
	}
	return cString(g.names, off)
}

// cString returns the string at an offset.
func cString(b []byte, off uint32) string {
	if uint64(off) >= uint64(len(b)) {
		return ""
	}
	b = b[off:]
	b = b[:min(len(b), maxGoName)]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// table makes a symbol table of the functions. The names stay where they are.
func (g *goTable) table(lim Limits) (*table, error) {
	if g.count > lim.Symbols {
		return nil, errLimit
	}
	t := &table{syms: make([]entry, 0, g.count), names: &names{blob: g.names}, limit: lim.NameBytes}
	for i := range g.count {
		name, ok := g.field(i, goName)
		if !ok {
			continue
		}
		e := entry{addr: g.text + g.offset(i), name: name}
		e.setLength(g.offset(i+1) - g.offset(i))
		t.syms = append(t.syms, e)
	}
	t.names = &names{blob: g.names}
	t.finish(func(addr uint64) uint64 { return addr })
	return t, nil
}

// lines returns the source line at an address. Calls that were inlined are not
// told apart here: where the line is of another file than the function's, it
// is the line of some inlined function, and left out.
func (g *goTable) lines(addr uint64) []srcline.Frame {
	if g == nil || addr < g.text {
		return nil
	}
	off := addr - g.text
	i := sort.Search(g.count+1, func(i int) bool { return g.offset(i) > off }) - 1
	if i < 0 || i >= g.count {
		return nil
	}
	file, ok := g.value(i, goFile, off)
	own, ok2 := g.value(i, goFile, g.offset(i))
	line, ok3 := g.value(i, goLine, off)
	if !ok || !ok2 || !ok3 || file != own || line <= 0 {
		return nil
	}
	if name := g.fileName(i, file); name != "" {
		return []srcline.Frame{{Func: g.name(i), File: name, Line: int(line)}}
	}
	return nil
}

// fileName returns the path of a file of the unit of function i.
func (g *goTable) fileName(i int, file int32) string {
	unit, ok := g.field(i, goUnit)
	at := (uint64(unit) + uint64(uint32(file))) * 4
	if !ok || file < 0 || at+4 > uint64(len(g.units)) {
		return ""
	}
	name := cString(g.files, g.order.Uint32(g.units[at:]))
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// value runs a table of function i, which gives values to ranges of addresses,
// up to an offset in the code.
//
// Layout: step in the Go runtime's symtab.go.
func (g *goTable) value(i, table int, off uint64) (int32, bool) {
	at, ok := g.field(i, table)
	if !ok || at == 0 || uint64(at) >= uint64(len(g.pcs)) {
		return 0, false
	}
	b, pc, val := g.pcs[at:], g.offset(i), int32(-1)
	for i := range maxGoSteps {
		step, n := uvarint(b)
		if n == 0 || step == 0 && i > 0 {
			return 0, false
		}
		size, k := uvarint(b[n:])
		if k == 0 {
			return 0, false
		}
		b = b[n+k:]
		val += int32(step>>1) ^ -int32(step&1)
		if pc += uint64(size) * g.quantum; off < pc {
			return val, true
		}
	}
	return 0, false
}

// maxGoSteps bounds the steps through the table of one function.
const maxGoSteps = 1 << 20

// uvarint reads a number of at most five bytes; n is 0 when there is none.
func uvarint(b []byte) (v uint32, n int) {
	for shift := uint(0); n < len(b) && n < 5; shift += 7 {
		v |= uint32(b[n]&0x7f) << shift
		if n++; b[n-1] < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// pointer reads an address at an offset of a section: as it is in the file, or
// else as a relocation puts it there when the program is loaded.
func (f *elfFile) pointer(s *section, off uint64) uint64 {
	const widest = 8
	if b, err := f.data(s.off+off, widest, widest); err == nil && off+widest <= s.size && f.word(b) != 0 {
		return f.word(b)
	}
	var out uint64
	left := maxPLT
	for i := range f.secs {
		if r := &f.secs[i]; r.typ == elf.SHT_RELA && r.flags&elf.SHF_ALLOC != 0 {
			f.relocations(r, func(at uint64, _ uint32, sym uint64, addend int64) bool {
				if at == s.addr+off && sym == 0 {
					out = uint64(addend)
				}
				left--
				return out == 0 && left > 0
			})
		}
	}
	return out
}
