// Package srcline turns addresses of a program into functions and source
// lines, inlined functions included, by the DWARF debug information (versions
// 2 to 5) in its file.
//
// debug/dwarf is not used for that: it wants whole sections in memory, parses
// the abbreviations of all units at once, and allocates as much as a count in
// a line table's header says. Debug files reach gigabytes and may be damaged,
// so here only what an address needs is read, when it needs it, and all of it
// is bounded by a [Budget]:
//
//   - an index of the ranges of all compilation units, made at the first
//     address;
//   - of each unit that an address falls in, the functions that have code and
//     the line table;
//   - per address, the part of the unit that describes the one function.
package srcline

import (
	"encoding/binary"
	"errors"
	"io"
)

// Frame is a function that an address belongs to.
type Frame struct {
	// Func is the linkage name, mangled, or else the name with the namespaces
	// and types that it is in; "" when the debug information does not say.
	Func string
	File string // "" when not known
	Line int    // 0 when not known: code that the compiler made belongs to no line
}

// Span is a range of addresses, [Lo, Hi).
type Span struct{ Lo, Hi uint64 }

// Sections gives a section by its name without the ".debug_", unpacked, or nil
// when the file lacks it.
type Sections func(name string) (*io.SectionReader, error)

// Errors of a lookup. Damage is found when it is met: other addresses of the
// file may be all right.
var (
	ErrLimit   = errors.New("over the limit for debug information")
	errDamaged = errors.New("damaged debug information")
)

// File is the debug information of one file. It is not safe for concurrent use.
type File struct {
	// Text is what is executable, sorted. The linker leaves the descriptions of
	// functions that it dropped, at address 0 or another outside of it.
	Text []Span
	// Alt is the file that dwz moved shared parts to, nil for none.
	Alt *File

	get      Sections
	order    binary.ByteOrder
	budget   *Budget
	sections map[string]*section

	split string // of the first unit met whose functions are in a file of their own

	indexed  bool
	indexErr error
	units    []uint64 // offsets in .debug_info, rising
	ranges   []unitRange
	loaded   map[uint64]*unit
	abbrevs  abbrevCache
	bodyOff  uint64 // of lastBody in .debug_info
	lastBody []byte
}

// New returns the debug information of a file. Nothing is read yet.
func New(get Sections, order binary.ByteOrder, text []Span, budget *Budget) *File {
	return &File{get: get, order: order, Text: text, budget: budget, sections: map[string]*section{}, loaded: map[uint64]*unit{}}
}

// Frames returns the functions at an address, innermost first; nil when the
// debug information has nothing there. The address is taken as it is: for a
// return address give the one before it. An error can come with frames: they
// are what is readable.
func (f *File) Frames(addr uint64) ([]Frame, error) {
	if err := f.index(); err != nil {
		return nil, err
	}
	var first error
	for _, off := range f.unitsAt(addr) {
		u, err := f.unit(off)
		var fr []Frame
		if err == nil {
			fr, err = u.frames(addr)
		}
		if len(fr) > 0 {
			return fr, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// Split names a file with the functions of code that was asked for (-gsplit-dwarf:
// a .dwo, or a .dwp with all of them); "" for none. Those files are not read, so
// that lines are known there and functions that were inlined are not.
func (f *File) Split() string { return f.split }

// inText reports whether an address is one of code that was kept.
func (f *File) inText(addr uint64) bool {
	if f.Text == nil {
		return true
	}
	lo, hi := 0, len(f.Text)
	for lo < hi {
		mid := (lo + hi) / 2
		if f.Text[mid].Hi <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(f.Text) && addr >= f.Text[lo].Lo
}

// frames returns the functions of the unit at an address.
func (u *unit) frames(addr uint64) ([]Frame, error) {
	if u.root.dwoName.form != 0 && u.f.split == "" {
		u.f.split = u.rootString(u.root.dwoName)
	}
	lines, err := u.lineTable()
	file, line := "", 0
	if err == nil {
		var n uint32
		if n, line = lines.find(addr); line >= 0 {
			file = u.fileName(lines, uint64(n))
		}
		line = max(line, 0)
	}
	chain, ferr := u.chain(addr)
	if err == nil {
		err = ferr
	}
	if len(chain) == 0 && file == "" {
		return nil, err
	}
	if len(chain) == 0 {
		return []Frame{{File: file, Line: line}}, err
	}
	out := make([]Frame, 0, len(chain))
	for i := len(chain) - 1; i >= 0; i-- {
		c := &chain[i]
		out = append(out, Frame{Func: u.name(c.die), File: file, Line: line})
		file, line = "", int(min(c.callLine, maxLine))
		if lines != nil && i > 0 {
			file = u.fileName(lines, c.callFile)
		}
	}
	return out, err
}

// maxLine bounds line numbers.
const maxLine = 1<<31 - 1
