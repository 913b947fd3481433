package symbol

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"

	"ctxan/parse/symbol/srcline"
)

// debugSections gives the sections of a file with debug information, unpacked.
type debugSections struct {
	elf    *elfFile
	budget *srcline.Budget
	spool  *spooler
	held   int64      // bytes of the budget
	files  []*os.File // of sections that are too large for memory
}

// maxInMemory is the largest packed section that is unpacked into memory.
const maxInMemory = 16 << 20

// hasDebug reports whether the file has debug information and not just the headers
// of its sections.
func (f *elfFile) hasDebug() bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s := f.named(name); s != nil && s.typ != elf.SHT_NOBITS && s.size > 0 {
			return true
		}
	}
	return false
}

// get implements srcline.Sections.
func (d *debugSections) get(name string) (*io.SectionReader, error) {
	s, old := d.elf.named(".debug_"+name), false
	if s == nil {
		s, old = d.elf.named(".zdebug_"+name), true
	}
	if s == nil || s.typ == elf.SHT_NOBITS {
		return nil, nil
	}
	if !d.elf.inFile(s.off, s.size) {
		return nil, errors.New("section beyond the end of the file")
	}
	r := io.NewSectionReader(d.elf.r, int64(s.off), int64(s.size))
	switch {
	case s.flags&elf.SHF_COMPRESSED != 0:
		return d.compressed(r)
	case old:
		return d.zdebug(r)
	}
	return r, nil
}

// compressed unpacks a section of the flag SHF_COMPRESSED.
//
// Layout: Elf64_Chdr of the gABI, "Section compression".
func (d *debugSections) compressed(r *io.SectionReader) (*io.SectionReader, error) {
	var wide elf.Chdr64
	var narrow elf.Chdr32
	n := int64(12)
	if d.elf.wide {
		n = 24
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, 0); err != nil {
		return nil, err
	}
	if err := d.elf.decode(b, &wide, &narrow); err != nil {
		return nil, err
	}
	if !d.elf.wide {
		wide = elf.Chdr64{Type: narrow.Type, Size: uint64(narrow.Size)}
	}
	packing := map[elf.CompressionType]string{elf.COMPRESS_ZLIB: "zlib", elf.COMPRESS_ZSTD: "zstd"}[elf.CompressionType(wide.Type)]
	if packing == "" {
		return nil, errors.New("section compressed in an unknown way")
	}
	return d.unpack(packing, io.NewSectionReader(r, n, r.Size()-n), wide.Size)
}

// zdebug unpacks a section as old linkers packed them: "ZLIB", the size as a
// big-endian number of 8 bytes, the data.
func (d *debugSections) zdebug(r *io.SectionReader) (*io.SectionReader, error) {
	b := make([]byte, 12)
	if _, err := r.ReadAt(b, 0); err != nil {
		return nil, err
	}
	if string(b[:4]) != "ZLIB" {
		return r, nil
	}
	size := uint64(0)
	for _, x := range b[4:] {
		size = size<<8 | uint64(x)
	}
	return d.unpack("zlib", io.NewSectionReader(r, 12, r.Size()-12), size)
}

// unpack unpacks size bytes, into memory or, when they are many, a file.
func (d *debugSections) unpack(packing string, r *io.SectionReader, size uint64) (*io.SectionReader, error) {
	z, err := unpacker(packing, bufio.NewReaderSize(r, 64<<10), nil)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	if size > maxInMemory {
		f, n, err := d.spool.keep(z, int64(min(size, 1<<62)))
		if err != nil {
			return nil, err
		}
		d.files = append(d.files, f)
		return io.NewSectionReader(f, 0, n), nil
	}
	if err := d.budget.Charge(int64(size)); err != nil {
		return nil, err
	}
	d.held += int64(size)
	b, err := inMemory(z, int64(size))
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))), err
}

func (d *debugSections) close() error {
	var errs []error
	for _, f := range d.files {
		errs = append(errs, f.Close())
	}
	d.budget.Release(d.held)
	d.files, d.held = nil, 0
	return errors.Join(errs...)
}
