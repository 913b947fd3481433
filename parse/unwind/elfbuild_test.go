package unwind

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"ctxan/parse/symbol"
)

// built is an ELF file of one executable segment and some sections.
type built struct {
	machine elf.Machine
	entry   uint64
	code    []byte // at codeAt, in the file and in memory
	eh      []byte // at ehAt
	hdr     []byte // at hdrAt
	debug   []byte
}

// Where the parts of a built file are, in the file and in memory.
const (
	codeAt = 0x1000
	ehAt   = 0x4000
	hdrAt  = 0x8000
)

// bytes returns the file.
func (b built) bytes() []byte {
	names := "\x00.eh_frame\x00.eh_frame_hdr\x00.debug_frame\x00.shstrtab\x00"
	const debugAt, namesAt, secAt = 0xa000, 0xe000, 0xe100
	out := make([]byte, 0xf000)
	copy(out[codeAt:], b.code)
	copy(out[ehAt:], b.eh)
	copy(out[hdrAt:], b.hdr)
	copy(out[debugAt:], b.debug)
	copy(out[namesAt:], names)
	sections := []elf.Section64{{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Addr: ehAt, Off: ehAt, Size: uint64(len(b.eh))},
		{Name: 11, Type: uint32(elf.SHT_PROGBITS), Addr: hdrAt, Off: hdrAt, Size: uint64(len(b.hdr))},
		{Name: 25, Type: uint32(elf.SHT_PROGBITS), Off: debugAt, Size: uint64(len(b.debug))},
		{Name: 38, Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names))},
	}
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(b.machine), Version: 1, Entry: b.entry, Phoff: 64, Shoff: secAt,
		Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 4}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	prog := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Filesz: uint64(len(out)), Memsz: uint64(len(out)), Align: 4096}
	put := func(at int, v any) {
		if _, err := binary.Encode(out[at:], le, v); err != nil {
			panic(err)
		}
	}
	put(0, h)
	put(64, prog)
	put(secAt, sections)
	return out
}

func (b built) object(tb testing.TB) *symbol.Object { return object(tb, "built", b.bytes()) }

// mapped is a built file in memory.
const mappedAt = 0x7f0000000000

// Areas is a Space: mappings sorted by Start that do not overlap.
type Areas []Area

// Find implements Space.
func (a Areas) Find(addr uint64) (Area, bool) {
	i, found := slices.BinarySearchFunc(a, addr, func(m Area, at uint64) int { return cmp.Compare(m.Start, at) })
	if !found {
		i--
	}
	if i < 0 || addr >= a[i].End {
		return Area{}, false
	}
	return a[i], true
}

func (b built) unwinder(tb testing.TB, path string) (*Unwinder, Areas) {
	u := New(memory{b.object(tb)})
	return u, Areas{{mappedAt, mappedAt + 0x10000, 0, u.Object(symbol.Mapping{Path: path})}}
}

// cieOf writes a CIE of .eh_frame with absolute addresses, or of .debug_frame.
func cieOf(eh bool, version byte, augmentation string, ra byte, prog ...byte) []byte {
	b := []byte{0, 0, 0, 0}
	if !eh {
		b = []byte{0xff, 0xff, 0xff, 0xff}
	}
	b = append(append(append(b, version), augmentation...), 0)
	if version == 4 {
		b = append(b, 8, 0)
	}
	b = append(b, 1, 0x78, ra) // factors 1 and -8
	if augmentation != "" {
		b = append(b, 0)
	}
	return entryOf(append(b, prog...))
}

// fdeOf writes the FDE of the code at [begin, begin+size), whose CIE is at cie
// when it stands at at itself.
func fdeOf(eh bool, augmented bool, at, cie uint32, begin, size uint64, prog ...byte) []byte {
	ref := cie
	if eh {
		ref = at + 4 - cie
	}
	b := le.AppendUint32(nil, ref)
	b = le.AppendUint64(le.AppendUint64(b, begin), size)
	if augmented {
		b = append(b, 0)
	}
	return entryOf(append(b, prog...))
}

func entryOf(b []byte) []byte {
	for len(b)%8 != 4 {
		b = append(b, cfaNop)
	}
	return append(le.AppendUint32(nil, uint32(len(b))), b...)
}

// table writes a section of one CIE and FDEs.
func table(eh bool, cie []byte, fdes ...func(at uint32) []byte) []byte {
	out := cie
	for _, f := range fdes {
		out = append(out, f(uint32(len(out)))...)
	}
	if eh {
		out = append(out, 0, 0, 0, 0)
	}
	return out
}
