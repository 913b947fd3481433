package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The headers are read here and not by debug/elf, whose NewFile copies a name
// for every section: a hostile file of some megabytes makes that terabytes.

// segment is a part of the file that is loaded.
type segment struct {
	off, filesz, vaddr, memsz, align uint64
	exec                             bool
}

// section is a section header.
type section struct {
	typ                     elf.SectionType
	flags                   elf.SectionFlag
	addr, off, size, entsiz uint64
	name, link              uint32
}

// elfFile is the headers of an ELF file.
type elfFile struct {
	r       io.ReaderAt
	size    int64
	wide    bool // 64 bit
	order   binary.ByteOrder
	machine elf.Machine
	entry   uint64 // where the program begins
	loads   []segment
	notes   []segment
	secs    []section
	shstr   uint32
}

const (
	maxSections  = 1 << 16
	maxNotes     = 64
	maxNoteBytes = 64 << 10
)

var errNotELF = errors.New("not an ELF file")

// readELF reads the headers. Everything that it allocates is backed by bytes
// that are in the file.
func readELF(r io.ReaderAt, size int64) (*elfFile, error) {
	var ident [elf.EI_NIDENT]byte
	if _, err := r.ReadAt(ident[:], 0); err != nil || string(ident[:4]) != elf.ELFMAG {
		return nil, errNotELF
	}
	f := &elfFile{r: r, size: size, wide: elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS64}
	if !f.wide && elf.Class(ident[elf.EI_CLASS]) != elf.ELFCLASS32 {
		return nil, fmt.Errorf("ELF class %d", ident[elf.EI_CLASS])
	}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		f.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		f.order = binary.BigEndian
	default:
		return nil, fmt.Errorf("ELF byte order %d", ident[elf.EI_DATA])
	}
	h, err := f.header()
	if err != nil {
		return nil, err
	}
	f.machine, f.entry, f.shstr = elf.Machine(h.Machine), h.Entry, uint32(h.Shstrndx)
	if err := f.readSegments(h); err != nil {
		return nil, err
	}
	return f, f.readSections(h)
}

// decode reads one structure of the file's class: into wide, or into narrow.
func (f *elfFile) decode(b []byte, wide, narrow any) error {
	v := narrow
	if f.wide {
		v = wide
	}
	_, err := binary.Decode(b, f.order, v)
	return err
}

func (f *elfFile) header() (h elf.Header64, err error) {
	b := make([]byte, binary.Size(h))
	n, err := f.r.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return h, err
	}
	var n32 elf.Header32
	if err := f.decode(b[:n], &h, &n32); err != nil {
		return h, errors.New("cut in the ELF header")
	}
	if !f.wide {
		h = elf.Header64{Machine: n32.Machine, Entry: uint64(n32.Entry), Phoff: uint64(n32.Phoff), Phentsize: n32.Phentsize, Phnum: n32.Phnum,
			Shoff: uint64(n32.Shoff), Shentsize: n32.Shentsize, Shnum: n32.Shnum, Shstrndx: n32.Shstrndx}
	}
	return h, nil
}

// table reads n header entries of size each; want is how much of each is used.
func (f *elfFile) table(what string, off uint64, n, size, want int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if size < want {
		return nil, fmt.Errorf("%s entries of %d bytes", what, size)
	}
	if off > uint64(f.size) || uint64(n)*uint64(size) > uint64(f.size)-off {
		return nil, fmt.Errorf("%s beyond the end of the file", what)
	}
	b := make([]byte, n*size)
	_, err := f.r.ReadAt(b, int64(off))
	if err == io.EOF {
		err = nil
	}
	return b, err
}

func (f *elfFile) readSegments(h elf.Header64) error {
	want := binary.Size(elf.Prog32{})
	if f.wide {
		want = binary.Size(elf.Prog64{})
	}
	step := int(h.Phentsize)
	b, err := f.table("program header", h.Phoff, int(h.Phnum), step, want)
	if err != nil {
		return err
	}
	for ; len(b) > 0; b = b[step:] {
		var p elf.Prog64
		var n elf.Prog32
		if err := f.decode(b[:want], &p, &n); err != nil {
			return err
		}
		if !f.wide {
			p = elf.Prog64{Type: n.Type, Flags: n.Flags, Off: uint64(n.Off), Vaddr: uint64(n.Vaddr), Filesz: uint64(n.Filesz), Memsz: uint64(n.Memsz), Align: uint64(n.Align)}
		}
		s := segment{off: p.Off, filesz: p.Filesz, vaddr: p.Vaddr, memsz: p.Memsz, align: p.Align, exec: elf.ProgFlag(p.Flags)&elf.PF_X != 0}
		switch elf.ProgType(p.Type) {
		case elf.PT_LOAD:
			f.loads = append(f.loads, s)
		case elf.PT_NOTE:
			f.notes = append(f.notes, s)
		}
	}
	return nil
}

func (f *elfFile) readSections(h elf.Header64) error {
	want := binary.Size(elf.Section32{})
	if f.wide {
		want = binary.Size(elf.Section64{})
	}
	n, step := int(h.Shnum), int(h.Shentsize)
	if n == 0 && h.Shoff != 0 {
		// More than fit in the header: the number is in the first entry.
		b, err := f.table("section header", h.Shoff, 1, step, want)
		if err != nil {
			return err
		}
		first, err := f.section(b[:want])
		if err != nil {
			return err
		}
		if n = int(min(first.size, maxSections+1)); h.Shstrndx == uint16(elf.SHN_XINDEX) {
			f.shstr = first.link
		}
	}
	if n > maxSections {
		return fmt.Errorf("more than %d sections", maxSections)
	}
	b, err := f.table("section header", h.Shoff, n, step, want)
	if err != nil {
		return err
	}
	f.secs = make([]section, 0, n)
	for ; len(b) > 0; b = b[step:] {
		s, err := f.section(b[:want])
		if err != nil {
			return err
		}
		f.secs = append(f.secs, s)
	}
	return nil
}

func (f *elfFile) section(b []byte) (section, error) {
	var s elf.Section64
	var n elf.Section32
	if err := f.decode(b, &s, &n); err != nil {
		return section{}, err
	}
	if !f.wide {
		s = elf.Section64{Name: n.Name, Type: n.Type, Flags: uint64(n.Flags), Addr: uint64(n.Addr), Off: uint64(n.Off), Size: uint64(n.Size),
			Link: n.Link, Entsize: uint64(n.Entsize)}
	}
	return section{typ: elf.SectionType(s.Type), flags: elf.SectionFlag(s.Flags), addr: s.Addr, off: s.Off, size: s.Size,
		entsiz: s.Entsize, name: s.Name, link: s.Link}, nil
}

// inFile reports whether [off, off+size) lies in the file.
func (f *elfFile) inFile(off, size uint64) bool {
	return off <= uint64(f.size) && size <= uint64(f.size)-off
}

// data reads a part of the file, at most limit bytes of it.
func (f *elfFile) data(off, size uint64, limit int) ([]byte, error) {
	if !f.inFile(off, size) {
		return nil, errors.New("section beyond the end of the file")
	}
	b := make([]byte, min(size, uint64(limit)))
	_, err := f.r.ReadAt(b, int64(off))
	if err == io.EOF {
		err = nil
	}
	return b, err
}

// named finds a section by name.
func (f *elfFile) named(name string) *section {
	if int(f.shstr) >= len(f.secs) {
		return nil
	}
	str := &f.secs[f.shstr]
	if str.typ == elf.SHT_NOBITS || !f.inFile(str.off, str.size) {
		return nil
	}
	b := make([]byte, len(name)+1)
	for i := range f.secs {
		s := &f.secs[i]
		if uint64(s.name)+uint64(len(b)) > str.size {
			continue
		}
		if _, err := f.r.ReadAt(b, int64(str.off+uint64(s.name))); err == nil && string(b[:len(name)]) == name && b[len(name)] == 0 {
			return s
		}
	}
	return nil
}

// buildID returns the GNU build-id, nil when there is none. The sections come
// first: a separate debug file has the segments of the file it was cut from.
func (f *elfFile) buildID() []byte {
	var notes []segment
	for i := range f.secs {
		if s := &f.secs[i]; s.typ == elf.SHT_NOTE {
			notes = append(notes, segment{off: s.off, filesz: s.size})
		}
	}
	notes = append(notes, f.notes...)
	for _, n := range notes[:min(len(notes), maxNotes)] {
		if id := f.noteID(n.off, n.filesz); id != nil {
			return id
		}
	}
	return nil
}

func (f *elfFile) noteID(off, size uint64) []byte {
	b, err := f.data(off, size, maxNoteBytes)
	if err != nil {
		return nil
	}
	return noteBuildID(b, f.order)
}

// noteBuildID finds the build-id in a list of ELF notes.
func noteBuildID(b []byte, order binary.ByteOrder) []byte {
	const ntGNUBuildID = 3
	for len(b) >= 12 {
		namesz, descsz, typ := order.Uint32(b), order.Uint32(b[4:]), order.Uint32(b[8:])
		b = b[12:]
		name, desc := (uint64(namesz)+3)&^3, (uint64(descsz)+3)&^3
		if name > uint64(len(b)) || uint64(descsz) > uint64(len(b))-name {
			return nil
		}
		id := b[name : name+uint64(descsz)]
		if typ == ntGNUBuildID && namesz == 4 && string(b[:4]) == "GNU\x00" && len(id) > 0 {
			return bytes.Clone(id)
		}
		b = b[min(name+desc, uint64(len(b))):]
	}
	return nil
}

// sameID compares build-ids. perf pads the shorter ones that it records to 20
// bytes with zeros.
func sameID(a, b []byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) > 0 && bytes.Equal(a, b[:len(a)]) && len(bytes.Trim(b[len(a):], "\x00")) == 0
}
