package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
	"slices"
)

// maxMini bounds .gnu_debugdata, packed and unpacked: it has the symbol table
// of one program.
const maxMini = 64 << 20

// loadMore loads what an image has besides a symbol table. An error leaves the
// rest as it is.
func (r *Resolver) loadMore(img *image, e *elfFile) error {
	var errs []error
	if !img.full {
		errs = append(errs, r.loadMini(img, e), r.loadGo(img, e))
	}
	if t := e.pltTable(r.opt.Limits); t != nil && r.charge(t.bytes()) == nil {
		img.more = append(img.more, t)
	}
	return errors.Join(errs...)
}

// loadMini adds the functions in .gnu_debugdata to the exported ones: it has
// those that .dynsym lacks, in an ELF file packed by xz.
//
// Layout: "MiniDebugInfo" in the manual of GDB.
func (r *Resolver) loadMini(img *image, e *elfFile) error {
	s := e.named(".gnu_debugdata")
	if s == nil || s.typ == elf.SHT_NOBITS {
		return nil
	}
	if s.size > maxMini {
		return errLimit
	}
	packed, err := e.data(s.off, s.size, maxMini)
	if err != nil {
		return err
	}
	z, err := unpacked(bytes.NewReader(packed))
	if err != nil || z == nil {
		return cmpErr(err, "not packed by xz")
	}
	b, err := inMemory(z, maxMini)
	if err != nil {
		return err
	}
	mini, err := readELF(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	t, err := r.merge(e, mini)
	if err != nil || t == nil {
		return err
	}
	return r.replace(img, t, true)
}

func cmpErr(err error, text string) error {
	if err == nil {
		err = errors.New(".gnu_debugdata: " + text)
	}
	return err
}

// merge makes one table of the exported functions of a file and those of the
// file in its .gnu_debugdata, which holds no code of its own.
func (r *Resolver) merge(e, mini *elfFile) (*table, error) {
	i := slices.IndexFunc(mini.secs, func(s section) bool { return s.typ == elf.SHT_SYMTAB })
	if i < 0 {
		return nil, nil
	}
	spans := e.execSpans()
	sr, err := mini.readSymbols(&mini.secs[i], r.opt.Limits, spans, nil, 0)
	if err != nil || sr.names.r != nil {
		return nil, err
	}
	t := &table{syms: sr.out, names: sr.names, limit: r.opt.Limits.NameBytes}
	if i := slices.IndexFunc(e.secs, func(s section) bool { return s.typ == elf.SHT_DYNSYM }); i >= 0 {
		dyn, err := e.readSymbols(&e.secs[i], r.opt.Limits, spans, nil, 0)
		if err == nil && dyn.names.r == nil {
			t.add(dyn)
		}
	}
	t.finish(sr.end)
	return t, nil
}

// add appends the symbols of another table that is not finished either.
func (t *table) add(sr *symReader) {
	base := uint32(len(t.names.blob))
	t.names = &names{blob: slices.Concat(t.names.blob, sr.names.blob)}
	for _, e := range sr.out {
		e.name += base
		t.syms = append(t.syms, e)
	}
}
