package symbol

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"strings"
)

// Object is the ELF file of a mapping, open for its sections.
type Object struct {
	Path    string // as it was opened
	Machine elf.Machine
	Order   binary.ByteOrder
	Wide    bool // 64 bit

	img   image
	elf   *elfFile
	file  *file // nil unless a Resolver opened it
	close func() error
}

// NewObject reads the headers of an ELF file. The object owns r: Close calls
// end, which may be nil.
func NewObject(name string, r io.ReaderAt, size int64, end func() error) (*Object, error) {
	e, err := readELF(r, size)
	if err != nil {
		return nil, err
	}
	if end == nil {
		end = func() error { return nil }
	}
	return &Object{Path: name, Machine: e.machine, Order: e.order, Wide: e.wide, elf: e, close: end,
		img: image{path: name, id: e.buildID(), loads: e.loads, link: e.debugLink()}}, nil
}

// Close closes the file.
func (o *Object) Close() error { return o.close() }

// Vaddr turns an offset in the file into an address of the file's own. Only
// what is executable has one.
func (o *Object) Vaddr(off uint64) (uint64, bool) { return o.img.vaddr(off) }

// Entry returns the address of a program's first instruction; 0 for none.
func (o *Object) Entry() uint64 {
	var b [elf.EI_NIDENT + 16]byte // e_type and e_machine, e_version, e_entry
	if _, err := o.elf.r.ReadAt(b[:], 0); err != nil || !o.Wide {
		return 0
	}
	return o.Order.Uint64(b[elf.EI_NIDENT+8:])
}

// ReadVaddr fills b from the executable segment at an address of the file's
// own, and reports whether all of it is there.
func (o *Object) ReadVaddr(b []byte, addr uint64) bool {
	for _, s := range o.elf.loads {
		if s.exec && addr >= s.vaddr && addr-s.vaddr < s.filesz && uint64(len(b)) <= s.filesz-(addr-s.vaddr) {
			_, err := o.elf.r.ReadAt(b, int64(s.off+addr-s.vaddr))
			return err == nil
		}
	}
	return false
}

// Section returns the contents of a section as they are in the file, and the
// address it is loaded at; nil when the file lacks it. A compressed section is
// unpacked when it is not larger than limit.
func (o *Object) Section(name string, limit int64) (data *io.SectionReader, addr uint64, err error) {
	s := o.elf.named(name)
	if s == nil || s.typ == elf.SHT_NOBITS || s.size == 0 {
		return nil, 0, nil
	}
	if !o.elf.inFile(s.off, s.size) {
		return nil, 0, errors.New(name + " beyond the end of the file")
	}
	data = io.NewSectionReader(o.elf.r, int64(s.off), int64(s.size))
	if s.flags&elf.SHF_COMPRESSED != 0 {
		data, err = o.unpack(data, limit)
	}
	return data, s.addr, err
}

// unpack reads a section compressed by zlib. Layout: Elf64_Chdr of the gABI.
func (o *Object) unpack(data *io.SectionReader, limit int64) (*io.SectionReader, error) {
	if !o.Wide {
		return nil, errors.New("compressed section of a 32-bit file")
	}
	var h elf.Chdr64
	if err := binary.Read(data, o.Order, &h); err != nil {
		return nil, err
	}
	if h.Type != uint32(elf.COMPRESS_ZLIB) || h.Size > uint64(limit) {
		return nil, errors.New("compressed in another way, or too large")
	}
	z, err := zlib.NewReader(data)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(z, int64(h.Size))); err != nil {
		return nil, err
	}
	return io.NewSectionReader(bytes.NewReader(out.Bytes()), 0, int64(out.Len())), nil
}

// Open opens the files of a mapping that have unwind tables: the mapped file
// itself, always first when it was found, and its separate debug files. Each
// was checked as for symbols. The caller closes them. Without any, why is one
// of the Why constants.
func (r *Resolver) Open(m Mapping) (objects []*Object, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isAnon(m.Path) || m.Symbol != "" {
		return nil, WhyAnon
	}
	why = r.whyMissing(&m)
	queue := r.candidates(&m)
	mapped := len(queue) // what follows are separate debug files
	for i := 0; i < len(queue); i++ {
		o, not := openObject(queue[i])
		if not == "" && !r.belongs(o, &m, queue[i].exact, objects, i >= mapped) {
			o.Close()
			not = WhyBuildID
		}
		switch {
		case not == "" && len(objects) == 0:
			objects = append(objects, o)
			queue = append(queue, r.debugFiles(&o.img, queue[i])...)
		case not == "" && o.unwinds() && !opened(objects, o):
			objects = append(objects, o)
		case not == "":
			o.Close()
		case not != WhyMissing:
			why = not
		}
	}
	return objects, why
}

// belongs reports whether a file is the one of the mapping, or a separate debug
// file of the one that was found first.
func (r *Resolver) belongs(o *Object, m *Mapping, exact bool, found []*Object, debug bool) bool {
	if !debug {
		_, refused, _ := o.img.fits(m, exact)
		return refused == ""
	}
	of := &found[0].img
	if len(of.id) > 0 || len(o.img.id) > 0 {
		return sameID(of.id, o.img.id)
	}
	return sameCRC(o.file, of.link.crc, r.opt.Limits.FileBytes)
}

// Likely opens files for unwinding as a Resolver does, and where a capture has
// no build-id, also this machine's file at the recorded path, when its code is
// mapped just as the capture says. It may be another build all the same: whoever
// uses it has to check what comes out, as package unwind does with each return
// address. Names are never taken from such a file.
type Likely struct{ *Resolver }

// Open is Resolver.Open with that file besides.
func (l Likely) Open(m Mapping) (objects []*Object, why string) {
	objects, why = l.Resolver.Open(m)
	name := strings.TrimSuffix(m.Path, deleted)
	if len(objects) > 0 || len(m.BuildID) > 0 || l.host == nil || !path.IsAbs(name) || pseudo(name) {
		return objects, why
	}
	o, not := openObject(candidate{place: l.host, name: name})
	switch {
	case not != "":
		return nil, why
	case !o.img.mappedAs(&m):
		o.Close()
		return nil, WhyMismatch
	}
	return []*Object{o}, ""
}

func opened(objects []*Object, o *Object) bool {
	for _, have := range objects {
		if have.Path == o.Path {
			return true
		}
	}
	return false
}

func openObject(c candidate) (*Object, string) {
	f, why := c.open()
	if why != "" {
		return nil, why
	}
	o, err := NewObject(f.path, f, f.size, f.close)
	if err != nil {
		f.close()
		return nil, WhyDamaged
	}
	o.file = f
	return o, ""
}

// unwinds reports whether the file itself has unwind tables.
func (o *Object) unwinds() bool {
	for _, name := range []string{".eh_frame", ".debug_frame"} {
		if s := o.elf.named(name); s != nil && s.typ != elf.SHT_NOBITS && s.size > 0 {
			return true
		}
	}
	return false
}
