package symbol

import (
	"cmp"
	"debug/elf"
	"errors"
	"io"
	"slices"
	"sort"
)

// maxBlob is the largest string table that is held in memory: the names of a
// larger one are read when they are asked for.
const maxBlob = 32 << 20

// span is an executable part of the address space of a file.
type span struct{ lo, hi uint64 }

// symReader reads one symbol table.
type symReader struct {
	f     *elfFile
	lim   Limits
	names *names
	spans []span            // executable, by address
	marks map[string]uint64 // when not nil, where to put the kernel's bounds
	only  uint16            // when not 0, the section whose symbols are read
	out   []entry
}

// symbols reads the function symbols of .symtab, or of .dynsym where that is
// not there or holds none. full tells that it was .symtab. A file without
// either has no table. With marks, the kernel's bounds are put there.
func (f *elfFile) symbols(lim Limits, marks map[string]uint64) (t *table, full bool, err error) {
	for _, typ := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		i := slices.IndexFunc(f.secs, func(s section) bool { return s.typ == typ }) // a file has one of each
		if i < 0 {
			continue
		}
		t, err := f.symtab(&f.secs[i], lim, marks)
		if err != nil {
			return nil, false, err
		}
		if len(t.syms) > 0 {
			return t, typ == elf.SHT_SYMTAB, nil
		}
	}
	return nil, false, nil
}

// symtab reads one symbol table section.
func (f *elfFile) symtab(s *section, lim Limits, marks map[string]uint64) (*table, error) {
	sr, err := f.readSymbols(s, lim, f.execSpans(), marks, 0)
	if err != nil {
		return nil, err
	}
	t := &table{syms: sr.out, names: sr.names, limit: lim.NameBytes}
	t.finish(sr.end)
	return t, nil
}

// readSymbols reads the symbols of one section that lie in the spans; with only,
// not 0, those of that section of code.
func (f *elfFile) readSymbols(s *section, lim Limits, spans []span, marks map[string]uint64, only uint16) (*symReader, error) {
	if int64(s.link) >= int64(len(f.secs)) || !f.inFile(s.off, s.size) {
		return nil, errors.New("symbol table beyond the end of the file")
	}
	str := &f.secs[s.link]
	if str.typ != elf.SHT_STRTAB || !f.inFile(str.off, str.size) || str.size > 1<<32-1 {
		return nil, errors.New("symbol table without names")
	}
	sr := &symReader{f: f, lim: lim, names: &names{}, spans: spans, marks: marks, only: only}
	if str.size <= maxBlob {
		b, err := f.data(str.off, str.size, maxBlob)
		if err != nil {
			return nil, err
		}
		sr.names.blob = b
	} else {
		sr.names.r = io.NewSectionReader(f.r, int64(str.off), int64(str.size))
	}
	return sr, sr.read(s)
}

// execSpans lists what is executable, by the sections or else by the segments.
func (f *elfFile) execSpans() []span {
	var out []span
	for i := range f.secs {
		if s := &f.secs[i]; s.flags&elf.SHF_EXECINSTR != 0 && s.flags&elf.SHF_ALLOC != 0 && s.addr+s.size > s.addr {
			out = append(out, span{s.addr, s.addr + s.size})
		}
	}
	if out == nil {
		for _, s := range f.loads {
			if s.exec && s.vaddr+s.filesz > s.vaddr {
				out = append(out, span{s.vaddr, s.vaddr + s.filesz})
			}
		}
	}
	slices.SortFunc(out, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	return out
}

// end returns where the executable part that holds addr ends, addr when none does.
func (sr *symReader) end(addr uint64) uint64 {
	i := sort.Search(len(sr.spans), func(i int) bool { return sr.spans[i].lo > addr })
	if i == 0 || addr >= sr.spans[i-1].hi {
		return addr
	}
	return sr.spans[i-1].hi
}

// rawSym is a symbol as the file has it.
type rawSym struct {
	value, size uint64
	name        uint32
	shndx       uint16
	info, other byte
}

const (
	sym32Bytes = 16
	sym64Bytes = 24
	symChunk   = 64 << 10 / sym64Bytes
)

// read goes through a symbol table in blocks.
func (sr *symReader) read(s *section) error {
	step := sym32Bytes
	if sr.f.wide {
		step = sym64Bytes
	}
	if s.entsiz != 0 && s.entsiz != uint64(step) {
		return errors.New("symbols of an unknown size")
	}
	total := s.size / uint64(step)
	buf := make([]byte, min(total, symChunk)*uint64(step))
	for at := uint64(0); at < total; {
		b := buf[:min(total-at, symChunk)*uint64(step)]
		if _, err := sr.f.r.ReadAt(b, int64(s.off+at*uint64(step))); err != nil && err != io.EOF {
			return err
		}
		at += uint64(len(b) / step)
		for ; len(b) > 0; b = b[step:] {
			sr.add(sr.decode(b))
		}
		if len(sr.out) > sr.lim.Symbols {
			return errLimit
		}
	}
	return nil
}

func (sr *symReader) decode(b []byte) rawSym {
	o := sr.f.order
	if sr.f.wide {
		return rawSym{name: o.Uint32(b), info: b[4], other: b[5], shndx: o.Uint16(b[6:]), value: o.Uint64(b[8:]), size: o.Uint64(b[16:])}
	}
	return rawSym{name: o.Uint32(b), value: uint64(o.Uint32(b[4:])), size: uint64(o.Uint32(b[8:])), info: b[12], other: b[13], shndx: o.Uint16(b[14:])}
}

// add keeps a symbol that is, or may be, code: functions, indirect functions,
// and the labels of hand-written assembly.
func (sr *symReader) add(s rawSym) {
	typ := elf.ST_TYPE(s.info)
	if s.name == 0 || s.shndx == uint16(elf.SHN_UNDEF) || sr.only != 0 && s.shndx != sr.only {
		return
	}
	if sr.marks != nil && typ != elf.STT_FUNC {
		sr.mark(s)
	}
	if typ != elf.STT_FUNC && typ != elf.STT_GNU_IFUNC && typ != elf.STT_NOTYPE {
		return
	}
	if sr.f.machine == elf.EM_ARM && typ != elf.STT_NOTYPE {
		s.value &^= 1 // the Thumb bit
	}
	if sr.end(s.value) == s.value {
		return
	}
	e := entry{addr: s.value, name: s.name}
	e.setLength(s.size)
	if typ == elf.STT_NOTYPE {
		if !sr.label(s) {
			return
		}
		e.size |= flagLow
	}
	switch elf.ST_BIND(s.info) {
	case elf.STB_LOCAL:
		e.size |= bindLocal
	case elf.STB_WEAK:
		e.size |= bindWeak
	}
	sr.out = append(sr.out, e)
}

// label reports whether a symbol without a type names code: neither the mapping
// symbols of the ARM and RISC-V ABIs ($x, $d) nor a compiler's own (.L1).
func (sr *symReader) label(s rawSym) bool {
	vis := elf.ST_VISIBILITY(s.other)
	if vis == elf.STV_HIDDEN || vis == elf.STV_INTERNAL {
		return false
	}
	name := sr.names.at(s.name, 2)
	return name != "" && name[0] != '$' && name != ".L"
}

// mark keeps the symbols that bound a kernel.
func (sr *symReader) mark(s rawSym) {
	const longest = 16
	name := sr.names.at(s.name, longest)
	if markNames[name] != 0 && s.value != 0 {
		sr.marks[name] = s.value
	}
}
