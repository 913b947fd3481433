package symbol

import (
	"debug/elf"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"
)

// image is an ELF file whose symbols are loaded.
type image struct {
	path  string
	from  candidate // the mapped file itself; path can be its debug file
	id    []byte
	loads []segment
	table *table   // nil when it has no symbols at all
	full  bool     // all functions: a gap between symbols is no missing symbol
	more  []*table // tables asked after that: of calls through the PLT, of Go
	link  debugLink
	file  *file // open only for names that are not in memory

	source *lineSource // of source lines; nil until one is asked for
	golang *goTable
}

// debugLink names a separate debug file.
type debugLink struct {
	name string
	crc  uint32
}

func (i *image) close() error {
	var errs []error
	if i.file != nil {
		errs = append(errs, i.file.close())
		i.file, i.table = nil, nil
	}
	if i.source != nil {
		errs = append(errs, i.source.close())
	}
	return errors.Join(errs...)
}

// lookup names an address of the image's own.
func (i *image) lookup(vaddr uint64) (name string, ok bool) {
	if i.table != nil {
		if name, ok = i.table.lookup(vaddr); ok {
			return name, true
		}
	}
	for _, t := range i.more {
		if name, ok = t.lookup(vaddr); ok {
			return name, true
		}
	}
	return "", false
}

// location is where in an object an address lies.
type location struct {
	object *object // nil: in none
	vaddr  uint64  // its own address
	m      *Mapping
}

// object is what was found for a mapped file.
type object struct {
	img *image
	use *Use
	why string // why img is nil
}

type objectKey struct{ path, id string }

// deleted is what the kernel appends to the path of an unlinked file.
const deleted = " (deleted)"

// userSymbol names a user address or says why not.
func (r *Resolver) userSymbol(m *Mapping, addr uint64) (name, why string, at location) {
	switch {
	case m.Symbol != "":
		return m.Symbol, "", at
	case !m.Contains(addr):
		return "", WhyUnmapped, at
	case isAnon(m.Path) && len(m.BuildID) == 0:
		name, why = r.jitSymbol(m, addr)
		return name, why, at
	}
	o := r.object(m)
	if o.img == nil {
		return "", o.why, at
	}
	vaddr, ok := o.img.vaddr(addr - m.Start + m.PgOff)
	if !ok {
		return "", WhyMismatch, at
	}
	at = location{o, vaddr, m}
	if name, ok = o.img.lookup(vaddr); ok {
		o.use.Frames++
		return r.pretty(name), "", at
	}
	if !o.img.full {
		return "", WhyStripped, at
	}
	return "", WhyNoSymbol, at
}

// isAnon reports whether a mapping has no file that could be found by its path.
func isAnon(p string) bool {
	if p == "[vdso]" {
		return false
	}
	for _, prefix := range []string{"//", "[", "/dev/zero", "/anon_hugepage", "/memfd:", "/SYSV", "/dev/shm/", "anon_inode:"} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return p == ""
}

// vaddr turns a file offset into an address of the file's own, by its program
// headers. Offsets in the padding of a page belong to the segment as well.
func (i *image) vaddr(off uint64) (uint64, bool) {
	for _, padded := range []bool{false, true} {
		for _, s := range i.loads {
			if s.exec && s.holds(off, padded) {
				return off - s.off + s.vaddr, true
			}
		}
	}
	return 0, false
}

// holds reports whether the segment has that file offset, padded to pages.
func (s *segment) holds(off uint64, padded bool) bool {
	lo, hi := s.off, s.off+s.filesz
	if padded {
		page := uint64(pageSize)
		if s.align > page && s.align <= 64<<10 && s.align&(s.align-1) == 0 {
			page = s.align
		}
		lo, hi = lo&^(page-1), (hi+page-1)&^(page-1)
	}
	return s.filesz > 0 && off >= lo && off < hi
}

// object finds the file of a mapping, once.
func (r *Resolver) object(m *Mapping) *object {
	key := objectKey{m.Path, string(m.BuildID)}
	o := r.objects[key]
	if o == nil {
		o = r.find(m)
		r.objects[key] = o
	}
	return o
}

// find looks for the file of a mapping in all places.
func (r *Resolver) find(m *Mapping) *object {
	if img := r.byID[string(m.BuildID)]; img != nil {
		return &object{img: img, use: r.used(img.path, m.Path, "")}
	}
	why := r.whyMissing(m)
	for _, c := range r.candidates(m) {
		img, doubt, refused, detail := r.try(c, m)
		if refused == "" {
			if len(m.BuildID) > 0 {
				r.byID[string(m.BuildID)] = img
			}
			return &object{img: img, use: r.used(img.path, m.Path, doubt)}
		}
		if refused != WhyMissing {
			r.refused(c.String(), m.Path, refused, detail)
			why = refused
		}
	}
	if why == WhyMissing || why == WhyNoBuildID {
		r.refused(m.Path, m.Path, why, "")
	}
	return &object{why: why}
}

// whyMissing is the reason when no candidate exists.
func (r *Resolver) whyMissing(m *Mapping) string {
	if len(m.BuildID) == 0 && r.symfs == nil && r.host != nil {
		return WhyNoBuildID
	}
	return WhyMissing
}

// try opens a candidate, checks that it is the mapped file, and loads it.
func (r *Resolver) try(c candidate, m *Mapping) (img *image, doubt, refused, detail string) {
	f, why := c.open()
	if why != "" {
		return nil, "", why, ""
	}
	defer func() {
		if img == nil || img.file != f {
			f.close()
		}
	}()
	e, err := readELF(f, f.size)
	if err != nil {
		return nil, "", WhyDamaged, err.Error()
	}
	img = &image{path: f.path, from: c, id: e.buildID(), loads: e.loads}
	if doubt, refused, detail = img.fits(m, c.exact); refused != "" {
		return nil, "", refused, detail
	}
	img.link = e.debugLink()
	if err := r.load(img, e, f); err != nil {
		return nil, "", whyLoad(err), err.Error()
	}
	if !img.full {
		r.loadDebug(img, c, m)
	}
	if err := r.loadMore(img, e); err != nil {
		r.refused(img.path, m.Path, whyLoad(err), err.Error())
	}
	return img, doubt, "", ""
}

// fits reports whether the image is the file of the mapping: by build-id, or by
// what was mapped where the capture has none. exact says that it has the whole
// recorded path; one that has only the end of it must fit to the page.
func (i *image) fits(m *Mapping, exact bool) (doubt, refused, detail string) {
	if len(m.BuildID) > 0 {
		if !sameID(m.BuildID, i.id) {
			return "", WhyBuildID, fmt.Sprintf("the capture has %x, the file %s", m.BuildID, idText(i.id))
		}
		return "", "", ""
	}
	if _, ok := i.vaddr(m.PgOff); !ok {
		return "", WhyMismatch, fmt.Sprintf("nothing executable at offset %#x", m.PgOff)
	}
	if !exact && !i.mappedAs(m) {
		return "", WhyMismatch, fmt.Sprintf("no code of %#x bytes at offset %#x", m.End-m.Start, m.PgOff)
	}
	return DoubtNoBuildID, "", ""
}

// mappedAs reports whether loading the image makes just that mapping: one
// executable segment, or, for the first one, room for all of them.
func (i *image) mappedAs(m *Mapping) bool {
	size := m.End - m.Start
	for _, page := range []uint64{4 << 10, 16 << 10, 64 << 10} {
		up := func(v uint64) uint64 { return (v + page - 1) &^ (page - 1) }
		for n, s := range i.loads {
			from := s.off &^ (page - 1)
			if !s.exec || from != m.PgOff {
				continue
			}
			last := i.loads[len(i.loads)-1]
			all := up(last.vaddr+last.memsz) - s.vaddr&^(page-1)
			if size == up(s.off+s.filesz)-from || n == 0 && size == all {
				return true
			}
		}
	}
	return false
}

func idText(id []byte) string {
	if len(id) == 0 {
		return "none"
	}
	return fmt.Sprintf("%x", id)
}

// replace gives an image another table, within the bound of all tables.
func (r *Resolver) replace(img *image, t *table, full bool) error {
	if err := r.charge(t.bytes()); err != nil {
		return err
	}
	r.tables -= img.table.bytes()
	if img.file != nil {
		img.file.close()
		img.file = nil
	}
	img.table, img.full = t, full
	return nil
}

// load reads the symbols of an image from its own or its debug file, which
// stays open when their names stay in it. Only a full table replaces another.
func (r *Resolver) load(img *image, e *elfFile, f *file) error {
	t, full, err := e.symbols(r.opt.Limits, nil)
	if err != nil || t == nil || img.table != nil && !full {
		return err
	}
	if err := r.replace(img, t, full); err != nil {
		return err
	}
	if t.names.r != nil {
		img.file = f
	}
	return nil
}

// charge counts the memory of a symbol table.
func (r *Resolver) charge(n int64) error {
	if r.tables+n > r.opt.Limits.TableBytes {
		return errLimit
	}
	r.tables += n
	return nil
}

// loadDebug replaces the symbols of a stripped image by those of its separate
// debug file, where there is one.
func (r *Resolver) loadDebug(img *image, c candidate, m *Mapping) {
	for _, d := range r.debugFiles(img, c) {
		f, why := d.open()
		if why != "" {
			continue
		}
		why, detail := r.tryDebug(img, f)
		if img.file != f {
			f.close()
		}
		if why == "" {
			img.path = f.path
			return
		}
		if why != WhyStripped {
			r.refused(d.String(), m.Path, why, detail)
		}
	}
}

// tryDebug loads the symbols of a separate debug file, when it is the image's.
func (r *Resolver) tryDebug(img *image, f *file) (why, detail string) {
	e, err := readELF(f, f.size)
	if err != nil {
		return WhyDamaged, err.Error()
	}
	if why, detail = r.notDebugOf(img, e, f); why != "" {
		return why, detail
	}
	if err := r.load(img, e, f); err != nil {
		return whyLoad(err), err.Error()
	}
	if !img.full {
		return WhyStripped, ""
	}
	return "", ""
}

// notDebugOf says why a file is not a debug file of the image, "" when it is.
func (r *Resolver) notDebugOf(img *image, e *elfFile, f *file) (why, detail string) {
	id := e.buildID()
	switch {
	case len(img.id) > 0 || len(id) > 0:
		if !sameID(img.id, id) {
			return WhyBuildID, fmt.Sprintf("the program has %s, the debug file %s", idText(img.id), idText(id))
		}
	case !sameCRC(f, img.link.crc, r.opt.Limits.FileBytes):
		return WhyBuildID, "the checksum in .gnu_debuglink differs"
	}
	return "", ""
}

// sameCRC compares a file with the checksum in .gnu_debuglink.
func sameCRC(f *file, want uint32, limit int64) bool {
	if f.size > limit {
		return false
	}
	h := crc32.NewIEEE()
	_, err := io.Copy(h, f.reader())
	return err == nil && h.Sum32() == want
}

// debugLink reads .gnu_debuglink: a name, padded to four bytes, and a checksum.
func (f *elfFile) debugLink() (l debugLink) {
	s := f.named(".gnu_debuglink")
	if s == nil || s.typ == elf.SHT_NOBITS {
		return l
	}
	b, err := f.data(s.off, s.size, 4096)
	if err != nil || len(b) < 8 {
		return l
	}
	name, _, _ := strings.Cut(string(b[:len(b)-4]), "\x00")
	if name == "" || path.Base(name) != name {
		return l
	}
	return debugLink{name, f.order.Uint32(b[len(b)-4:])}
}
