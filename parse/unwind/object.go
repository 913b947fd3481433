package unwind

import (
	"debug/elf"
	"encoding/binary"
	"errors"

	"ctxan/parse/symbol"
)

// Object is a mapped file, shared by all mappings of it. It is opened when the
// first address asks for it.
type Object struct {
	u      *Unwinder
	m      symbol.Mapping
	state  state
	why    string // of noFile
	arch   Arch
	files  []*symbol.Object // the mapped file first
	tables tables
	rows   map[uint64]*row // by address; missing ones as emptyRow, bad ones as badRow
	calls  map[uint64]bool // whether a call ends before an address
}

type state uint8

const (
	fresh state = iota
	ready
	noFile
	overLimit
	badFile // tables or architecture not understood
)

// What stands in the cache for an address without a row.
var (
	emptyRow = &row{}
	badRow   = &row{}
)

// entryRow is for the code at a program's entry point, which nothing calls and
// which may have no CFI: the dynamic loader's has none.
var entryRow = &row{outermost: true}

// entrySpan is how far the code at an entry point reaches at most.
const entrySpan = 96

func (o *Object) isEntry(pc uint64) bool {
	entry := o.files[0].Entry()
	return entry != 0 && pc-entry < entrySpan
}

const maxObjects = 256 // open at once

// load opens the file and reads its search tables.
func (o *Object) load() {
	if o.u.open >= maxObjects {
		o.state = overLimit
		return
	}
	files, why := o.u.files.Open(o.m)
	if len(files) == 0 {
		o.state, o.why = noFile, why
		return
	}
	o.u.open++
	o.files, o.state, o.arch = files[:1], badFile, archOf(files[0])
	for i, f := range files {
		keep := i == 0
		if o.arch != NoArch && archOf(f) == o.arch {
			took, err := o.take(f)
			keep = keep || took
			if i > 0 && keep {
				o.files = append(o.files, f)
			}
			o.judge(err)
		}
		if !keep {
			f.Close()
		}
	}
}

func (o *Object) take(f *symbol.Object) (bool, error) {
	o.tables.ptr = 8
	return o.tables.take(f, &o.u.budget)
}

// judge sets the state after a file was taken: one good file is enough.
func (o *Object) judge(err error) {
	switch {
	case err == nil:
		o.state = ready
	case o.state != ready && errors.Is(err, errOverLimit):
		o.state = overLimit
	}
}

// archOf returns the architecture of a file whose stacks are unwound.
func archOf(f *symbol.Object) Arch {
	switch {
	case !f.Wide || f.Order != binary.LittleEndian:
		return NoArch
	case f.Machine == elf.EM_X86_64:
		return X86_64
	case f.Machine == elf.EM_AARCH64:
		return ARM64
	}
	return NoArch
}

// row returns how to unwind from an address of the file's own.
func (o *Object) row(pc uint64, arch Arch) (*row, Reason) {
	if o.state == fresh {
		o.load()
	}
	switch {
	case o.state == noFile:
		return nil, NoFile
	case o.state == overLimit:
		return nil, OverLimit
	case o.state == badFile || o.arch != arch:
		return nil, BadCFI
	}
	r, ok := o.rows[pc]
	if !ok {
		r = o.make(pc)
		o.keep(pc, r)
	}
	switch r {
	case emptyRow:
		return nil, NoCFI
	case badRow:
		return nil, BadCFI
	}
	return r, Complete
}

func (o *Object) make(pc uint64) *row {
	f, err := o.tables.find(pc)
	switch {
	case err != nil:
		return badRow
	case f == nil && o.isEntry(pc):
		return entryRow
	case f == nil:
		return emptyRow
	}
	r, err := f.row(pc, &specs[o.arch])
	if err != nil {
		return badRow
	}
	return r
}

// keep remembers a row.
func (o *Object) keep(pc uint64, r *row) {
	o.u.remember(r.bytes())
	if o.rows == nil {
		o.rows = map[uint64]*row{}
	}
	o.rows[pc] = r
}

// remember makes room for n bytes: when what is remembered of addresses takes
// too much, all of it is forgotten.
func (u *Unwinder) remember(n int64) {
	if u.rowBytes += n; u.rowBytes > maxRowBytes {
		for _, o := range u.objects {
			o.rows, o.calls = nil, nil
		}
		u.rowBytes = n
	}
}

// vaddr turns an address in a mapping into one of the file's own.
func (o *Object) vaddr(off uint64) (uint64, bool) {
	if o.state == fresh {
		o.load()
	}
	if len(o.files) == 0 {
		return 0, false
	}
	return o.files[0].Vaddr(off)
}
