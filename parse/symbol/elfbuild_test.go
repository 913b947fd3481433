package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// elfSym is a symbol of a built file; sec is the section's name.
type elfSym struct {
	name        string
	value, size uint64
	typ         elf.SymType
	bind        elf.SymBind
	vis         elf.SymVis
	sec         string
}

// elfSpec describes a small ELF file: one executable segment that holds .text
// and .plt, symbols, a build-id.
type elfSpec struct {
	narrow, big   bool
	machine       elf.Machine
	off, vaddr    uint64 // of the segment
	text          uint64 // its size
	id            []byte
	symtab        []elfSym
	dynsym        []elfSym
	link          string // .gnu_debuglink
	crc           uint32
	noID, noPhdrs bool
	extra         []builtSection
}

type builtSection struct {
	name string
	h    elf.Section64
	data []byte
}

const pltBytes = 0x40

func (s elfSpec) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if s.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// build writes the file.
func (s elfSpec) build(tb testing.TB) []byte {
	tb.Helper()
	if s.machine == 0 {
		s.machine = elf.EM_X86_64
	}
	ax := uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR)
	secs := []builtSection{
		{},
		{".text", elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: ax, Addr: s.vaddr, Off: s.off, Size: s.text - pltBytes}, nil},
		{".plt", elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: ax, Addr: s.vaddr + s.text - pltBytes, Off: s.off + s.text - pltBytes, Size: pltBytes}, nil},
		{".data", elf.Section64{Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_WRITE), Addr: s.vaddr + 0x100000, Size: 0x100}, nil},
	}
	if !s.noID {
		secs = append(secs, builtSection{".note.gnu.build-id", elf.Section64{Type: uint32(elf.SHT_NOTE)}, s.note()})
	}
	secs = s.addSymbols(secs, ".symtab", elf.SHT_SYMTAB, s.symtab)
	secs = s.addSymbols(secs, ".dynsym", elf.SHT_DYNSYM, s.dynsym)
	if s.link != "" {
		b := append([]byte(s.link), make([]byte, 4-len(s.link)%4)...)
		secs = append(secs, builtSection{".gnu_debuglink", elf.Section64{Type: uint32(elf.SHT_PROGBITS)}, s.order().AppendUint32(b, s.crc)})
	}
	return s.write(tb, append(secs, s.extra...))
}

func (s elfSpec) note() []byte {
	var b []byte
	for _, v := range []uint32{4, uint32(len(s.id)), 3} {
		b = s.order().AppendUint32(b, v)
	}
	b = append(append(b, "GNU\x00"...), s.id...)
	return append(b, make([]byte, -len(b)&3)...)
}

func (s elfSpec) addSymbols(secs []builtSection, name string, typ elf.SectionType, syms []elfSym) []builtSection {
	if syms == nil {
		return secs
	}
	str, tab := []byte{0}, make([]byte, s.symBytes())
	for _, y := range syms {
		shndx := elf.SHN_UNDEF
		for i := range secs {
			if secs[i].name == y.sec && i > 0 {
				shndx = elf.SectionIndex(i)
			}
		}
		tab = append(tab, s.sym(y, uint32(len(str)), uint16(shndx))...)
		str = append(append(str, y.name...), 0)
	}
	n := uint32(len(secs))
	return append(secs, builtSection{name, elf.Section64{Type: uint32(typ), Link: n + 1, Entsize: uint64(s.symBytes())}, tab},
		builtSection{name + ".str", elf.Section64{Type: uint32(elf.SHT_STRTAB)}, str})
}

func (s elfSpec) symBytes() int {
	if s.narrow {
		return sym32Bytes
	}
	return sym64Bytes
}

func (s elfSpec) sym(y elfSym, name uint32, shndx uint16) []byte {
	info := elf.ST_INFO(y.bind, y.typ)
	if s.narrow {
		return s.encode(elf.Sym32{Name: name, Value: uint32(y.value), Size: uint32(y.size), Info: info, Other: byte(y.vis), Shndx: shndx})
	}
	return s.encode(elf.Sym64{Name: name, Value: y.value, Size: y.size, Info: info, Other: byte(y.vis), Shndx: shndx})
}

func (s elfSpec) encode(v any) []byte {
	b, err := binary.Append(nil, s.order(), v)
	if err != nil {
		panic(err)
	}
	return b
}

// write lays the file out: header, program header, sections' data, the code,
// section headers.
func (s elfSpec) write(tb testing.TB, secs []builtSection) []byte {
	str := []byte{0}
	secs = append(secs, builtSection{".shstrtab", elf.Section64{Type: uint32(elf.SHT_STRTAB)}, nil})
	for i := range secs {
		if i > 0 {
			secs[i].h.Name = uint32(len(str))
			str = append(append(str, secs[i].name...), 0)
		}
	}
	secs[len(secs)-1].data = str
	body := make([]byte, 0x200)
	for i := range secs {
		if secs[i].data != nil {
			secs[i].h.Off, secs[i].h.Size = uint64(len(body)), uint64(len(secs[i].data))
			body = append(body, secs[i].data...)
			body = append(body, make([]byte, -len(body)&7)...)
		}
	}
	if need := int(s.off + s.text); len(body) < need {
		body = append(body, make([]byte, need-len(body))...)
	}
	shoff := uint64(len(body))
	for i := range secs {
		body = append(body, s.section(secs[i].h)...)
	}
	h, p := s.headers(shoff, uint16(len(secs)))
	copy(body, h)
	copy(body[len(h):], p)
	if s.off < 0x200 {
		tb.Fatal("the segment overlaps the headers")
	}
	return body
}

func (s elfSpec) section(h elf.Section64) []byte {
	if !s.narrow {
		return s.encode(h)
	}
	return s.encode(elf.Section32{Name: h.Name, Type: h.Type, Flags: uint32(h.Flags), Addr: uint32(h.Addr), Off: uint32(h.Off),
		Size: uint32(h.Size), Link: h.Link, Entsize: uint32(h.Entsize)})
}

func (s elfSpec) headers(shoff uint64, shnum uint16) (head, prog []byte) {
	var id [elf.EI_NIDENT]byte
	copy(id[:], elf.ELFMAG)
	id[elf.EI_CLASS], id[elf.EI_DATA], id[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	if s.big {
		id[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	phnum := uint16(1)
	if s.noPhdrs {
		phnum = 0
	}
	const rx = uint32(elf.PF_R | elf.PF_X)
	if s.narrow {
		id[elf.EI_CLASS] = byte(elf.ELFCLASS32)
		h := elf.Header32{Ident: id, Type: uint16(elf.ET_DYN), Machine: uint16(s.machine), Version: 1, Phoff: 52, Shoff: uint32(shoff), Ehsize: 52,
			Phentsize: 32, Phnum: phnum, Shentsize: 40, Shnum: shnum, Shstrndx: shnum - 1}
		p := elf.Prog32{Type: uint32(elf.PT_LOAD), Off: uint32(s.off), Vaddr: uint32(s.vaddr), Filesz: uint32(s.text), Memsz: uint32(s.text), Flags: rx, Align: 4096}
		return s.encode(h), s.encode(p)
	}
	h := elf.Header64{Ident: id, Type: uint16(elf.ET_DYN), Machine: uint16(s.machine), Version: 1, Phoff: 64, Shoff: shoff, Ehsize: 64,
		Phentsize: 56, Phnum: phnum, Shentsize: 64, Shnum: shnum, Shstrndx: shnum - 1}
	p := elf.Prog64{Type: uint32(elf.PT_LOAD), Off: s.off, Vaddr: s.vaddr, Filesz: s.text, Memsz: s.text, Flags: rx, Align: 4096}
	return s.encode(h), s.encode(p)
}

const elfGlobal = elf.STB_GLOBAL

func fn(name string, value, size uint64) elfSym {
	return elfSym{name: name, value: value, size: size, typ: elf.STT_FUNC, bind: elf.STB_GLOBAL, sec: ".text"}
}

func memFile(b []byte) *file {
	return &file{ReaderAt: bytes.NewReader(b), path: "mem", size: int64(len(b)), close: func() error { return nil }}
}
