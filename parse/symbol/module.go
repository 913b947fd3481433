package symbol

import (
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"strings"
)

// moduleFile is the symbols of a kernel module's own file.
type moduleFile struct {
	table *table // nil: why
	why   string
	use   *Use
	file  *file // open only for names that are not in memory
}

// packedModule are the endings of modules as distributions pack them.
var packedModule = []string{"", ".xz", ".zst", ".gz"}

// moduleFileSymbol names an address of a module by the module's file.
func (r *Resolver) moduleFileSymbol(m *Mapping, addr uint64) (name, why string) {
	key := objectKey{m.Path, string(m.BuildID)}
	f := r.modules[key]
	if f == nil {
		f = r.findModule(m)
		r.modules[key] = f
	}
	if f.table == nil {
		return "", f.why
	}
	name, ok := f.table.lookup(addr - m.Start)
	if !ok {
		return "", WhyNoSymbol
	}
	f.use.Frames++
	return r.pretty(name), ""
}

// findModule looks for the file of a module. Without a build-id only one below
// --symfs that has the whole recorded path is taken.
func (r *Resolver) findModule(m *Mapping) *moduleFile {
	why := WhyMissing
	for _, c := range r.candidates(m) {
		if len(m.BuildID) == 0 && !c.exact || c.vdso {
			continue
		}
		for _, end := range packedModule {
			c := c
			c.name += end
			mf, refused, detail := r.tryModule(c, m)
			if refused == "" {
				return mf
			}
			if refused != WhyMissing {
				r.refused(c.String(), m.Path, refused, detail)
				why = refused
			}
		}
	}
	return &moduleFile{why: why}
}

// tryModule opens a candidate, checks that it is the module, and loads it.
func (r *Resolver) tryModule(c candidate, m *Mapping) (mf *moduleFile, refused, detail string) {
	f, why := c.open()
	if why != "" {
		return nil, why, ""
	}
	if f, why, detail = r.unpackModule(f); why != "" {
		return nil, why, detail
	}
	mf = &moduleFile{}
	defer func() {
		if mf == nil || mf.file != f {
			f.close()
		}
	}()
	e, err := readELF(f, f.size)
	if err != nil {
		return nil, WhyDamaged, err.Error()
	}
	id, doubt := e.buildID(), DoubtNoBuildID
	if len(m.BuildID) > 0 {
		if doubt = ""; !sameID(m.BuildID, id) {
			return nil, WhyBuildID, fmt.Sprintf("the capture has %x, the file %s", m.BuildID, idText(id))
		}
	}
	t, err := e.moduleTable(r.opt.Limits, m)
	if err == nil {
		err = r.charge(t.bytes())
	}
	if err != nil {
		return nil, whyLoad(err), err.Error()
	}
	mf.table, mf.use = t, r.used(f.path, m.Path, doubt)
	if t.names.r != nil {
		mf.file = f
	}
	return mf, "", ""
}

// unpackModule replaces a packed file by what is in it.
func (r *Resolver) unpackModule(f *file) (*file, string, string) {
	z, err := unpacked(f.reader())
	if err == nil && z == nil {
		return f, "", ""
	}
	defer f.close()
	if err != nil {
		return nil, WhyDamaged, err.Error()
	}
	defer z.Close()
	plain, n, err := r.spool.keep(z, r.opt.Limits.FileBytes)
	if err != nil {
		return nil, whyLoad(err), err.Error()
	}
	return &file{ReaderAt: io.NewSectionReader(plain, 0, n), path: f.path, size: n, close: plain.Close}, "", ""
}

// moduleTable reads the functions in .text of a module, by their offset in it.
//
// A module's file gives its sections no addresses. The kernel puts the
// executable ones behind each other at the begin of what it maps, in the order
// of the file; where others go it decides when it loads them, so that only
// .text, and only when it is the first, is known.
//
// Layout: __layout_sections in the kernel's kernel/module/main.c.
func (f *elfFile) moduleTable(lim Limits, m *Mapping) (*table, error) {
	text := f.named(".text")
	i := slices.IndexFunc(f.secs, func(s section) bool { return s.typ == elf.SHT_SYMTAB })
	if text == nil || i < 0 {
		return nil, fmt.Errorf("a module without symbols")
	}
	at := slices.IndexFunc(f.secs, func(s section) bool { return s == *text })
	for j := range f.secs[:at] {
		if s := &f.secs[j]; s.flags&elf.SHF_EXECINSTR != 0 && s.size > 0 && !f.isInit(s) {
			return nil, fmt.Errorf("a module whose .text is not its first code")
		}
	}
	if len(f.loads) > 0 || text.addr != 0 || text.size > m.End-m.Start {
		return nil, fmt.Errorf("not the file of that module")
	}
	sr, err := f.readSymbols(&f.secs[i], lim, []span{{0, text.size}}, nil, uint16(at))
	if err != nil {
		return nil, err
	}
	t := &table{syms: sr.out, names: sr.names, limit: lim.NameBytes}
	t.finish(sr.end)
	return t, nil
}

// isInit reports whether a section is one that the kernel drops after loading.
func (f *elfFile) isInit(s *section) bool {
	str := &f.secs[f.shstr]
	if uint64(s.name) >= str.size {
		return false
	}
	const longest = 16
	b, err := f.data(str.off+uint64(s.name), min(longest, str.size-uint64(s.name)), longest)
	return err == nil && strings.HasPrefix(string(b), ".init")
}
