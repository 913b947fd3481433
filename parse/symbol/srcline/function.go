package srcline

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"sort"
)

// function is a range of addresses of a function.
type function struct {
	lo, hi uint64
	off    uint32 // of its entry, from the begin of the unit
	size   uint32 // of the entry with all that it holds
}

const functionBytes = 24

// scan notes the functions of a unit that have code, once. It goes through all
// entries: compilers put functions also into namespaces, types and functions.
func (u *unit) scan() error {
	if u.scanned {
		return u.scanErr
	}
	u.scanned = true
	u.scanErr = u.readFunctions()
	u.functions, u.scopes = slices.Clip(u.functions), slices.Clip(u.scopes)
	if err := u.f.budget.grow(u, int64(cap(u.functions))*functionBytes+int64(cap(u.scopes))*scopeBytes); err != nil {
		u.functions, u.scopes, u.scanErr = nil, nil, err
	}
	return u.scanErr
}

func (u *unit) readFunctions() error {
	n := u.end - u.off
	if n > maxUnit {
		return ErrLimit
	}
	if err := u.f.budget.work(int64(n)); err != nil {
		return err
	}
	s, err := u.f.section("info")
	if err != nil {
		return err
	}
	b, err := s.read(u.off, n)
	if err != nil {
		return err
	}
	sc := scanner{u: u, c: cursor{b: b, i: int(u.first - u.off), order: u.order}}
	err = sc.run()
	slices.SortStableFunc(u.functions, func(a, b function) int { return cmp.Compare(a.lo, b.lo) })
	return err
}

// scanner goes through the entries of a unit.
type scanner struct {
	u      *unit
	c      cursor
	depth  int
	open   []openFunction
	scopes []openScope
}

// openFunction is a function whose end was not reached yet.
type openFunction struct {
	depth, from, to int // functions[from:to]
}

func (s *scanner) run() error {
	for s.c.left() > 0 {
		off := s.c.i
		code := s.c.uleb()
		if code == 0 {
			if s.depth--; s.depth <= 0 {
				return nil
			}
			s.closeFunction()
			s.closeScope()
			continue
		}
		a := s.u.abbrevs.find(code)
		if a == nil {
			return errDamaged
		}
		if a.tag != dwarf.TagSubprogram {
			a.skip(&s.c, &s.u.format)
		} else if err := s.function(a, off); err != nil {
			return err
		}
		if a.children && isScope(a.tag) {
			s.openScope(off)
		}
		if s.c.bad {
			return errDamaged
		}
		if int64(len(s.u.scopes))*scopeBytes > s.u.f.budget.Bytes {
			return ErrLimit
		}
		if a.children {
			s.depth++
		} else if s.depth == 0 {
			return nil // a unit of one entry
		}
	}
	return nil
}

// function notes a function, when it has code.
func (s *scanner) function(a *abbrev, off int) error {
	e := entry{off: s.u.off + uint64(off), abbrev: a}
	e.read(&s.c, &s.u.format)
	from := len(s.u.functions)
	err := s.u.eachRange(&e, func(lo, hi uint64) bool {
		if s.u.f.inText(lo) {
			s.u.functions = append(s.u.functions, function{lo, hi, uint32(off), uint32(s.c.i - off)})
		}
		return int64(len(s.u.functions))*functionBytes < s.u.f.budget.Bytes
	})
	if err == ErrLimit || int64(len(s.u.functions))*functionBytes >= s.u.f.budget.Bytes {
		return ErrLimit
	}
	if a.children && len(s.u.functions) > from {
		s.open = append(s.open, openFunction{s.depth, from, len(s.u.functions)})
	}
	return nil
}

// closeFunction ends the function whose children are through.
func (s *scanner) closeFunction() {
	n := len(s.open) - 1
	if n < 0 || s.open[n].depth != s.depth {
		return
	}
	for i := s.open[n].from; i < s.open[n].to; i++ {
		f := &s.u.functions[i]
		f.size = uint32(s.c.i) - f.off
	}
	s.open = s.open[:n]
}

// call is a function on the way to an address: the one that holds it, or one
// that was inlined into the one before.
type call struct {
	die                uint64 // its entry in .debug_info
	callFile, callLine uint64 // where it was inlined
}

// chain returns the functions at an address, outermost first.
func (u *unit) chain(addr uint64) ([]call, error) {
	err := u.scan()
	fn := u.functionAt(addr)
	if fn == nil {
		return nil, err
	}
	if err := u.f.budget.work(int64(fn.size)); err != nil {
		return nil, err
	}
	off := u.off + uint64(fn.off)
	chain := []call{{die: off}}
	b, err := u.f.body(off, uint64(fn.size))
	if err != nil {
		return chain, err
	}
	w := walker{u: u, c: cursor{b: b, order: u.order}, base: off, addr: addr, chain: chain}
	err = w.run()
	return w.chain, err
}

// maxBody is the largest description of a function that is kept for the next
// address.
const maxBody = 4 << 20

// body reads the description of a function, or has it from the last time.
func (f *File) body(off, size uint64) ([]byte, error) {
	if f.bodyOff == off && uint64(len(f.lastBody)) == size {
		return f.lastBody, nil
	}
	s, err := f.section("info")
	if err != nil {
		return nil, err
	}
	if size <= windowBytes-windowAlign {
		return s.bytes(off, int(size)), nil
	}
	b, err := s.read(off, size)
	if err == nil && size <= maxBody {
		f.bodyOff, f.lastBody = off, b
	}
	return b, err
}

// functionAt returns the function at an address that begins last: a nested one
// rather than the one around it.
func (u *unit) functionAt(addr uint64) *function {
	i := sort.Search(len(u.functions), func(i int) bool { return u.functions[i].lo > addr })
	for k := i - 1; k >= 0 && k >= i-maxOverlap; k-- {
		if u.functions[k].hi > addr {
			return &u.functions[k]
		}
	}
	return nil
}

// maxChain bounds how deep functions are inlined into each other.
const maxChain = 256

// walker goes through the entries of a function for those inlined at an address.
type walker struct {
	u     *unit
	c     cursor
	base  uint64 // of c.b in .debug_info
	addr  uint64
	depth int // of the entry that is read next
	last  int // depth of the innermost function found; it ends where the depth is that again
	past  int // depth of an entry whose children are passed over; 0: none
	chain []call
}

func (w *walker) run() error {
	for w.c.left() > 0 {
		off := w.c.i
		code := w.c.uleb()
		if code == 0 {
			if w.depth--; w.depth <= w.last {
				return nil
			}
			if w.depth <= w.past {
				w.past = 0
			}
			continue
		}
		a := w.u.abbrevs.find(code)
		if a == nil {
			return errDamaged
		}
		done, err := w.entry(a, off)
		if err != nil || done {
			return err
		}
		if w.c.bad || len(w.chain) > maxChain {
			return errDamaged
		}
	}
	return nil
}

// entry takes one entry, and reports whether the innermost function is found.
func (w *walker) entry(a *abbrev, off int) (done bool, err error) {
	what := holds
	if w.depth == 0 || w.past > 0 || a.tag != dwarf.TagInlinedSubroutine && a.tag != dwarf.TagSubprogram {
		a.skip(&w.c, &w.u.format)
	} else if what, err = w.function(a, off); err != nil {
		return false, err
	}
	switch {
	case what == found:
		w.last, done = w.depth, !a.children
	case what == jumped || !a.children:
		return false, nil
	case what == apart:
		w.past = w.depth
	}
	w.depth++
	return done, nil
}

// What an entry is to the address.
const (
	holds  = iota // its children may have it
	found         // a function inlined there
	apart         // neither it nor its children
	jumped        // the same, and they are passed over already
)

// function takes an entry of a function inside the one that is gone through.
func (w *walker) function(a *abbrev, off int) (what int, err error) {
	e := entry{off: w.base + uint64(off), abbrev: a}
	e.read(&w.c, &w.u.format)
	if a.tag == dwarf.TagInlinedSubroutine {
		// An entry with damaged ranges is one that has not the address.
		inside, err := w.u.covers(&e, w.addr)
		if err == ErrLimit {
			return apart, err
		}
		if inside {
			w.chain = append(w.chain, call{e.off, e.callFile.u, e.callLine.u})
			return found, nil
		}
	}
	if at := w.u.off + e.sibling.u - w.base; a.children && e.sibling.form == formRef4 && at > uint64(w.c.i) && at < uint64(len(w.c.b)) {
		w.c.i = int(at)
		return jumped, nil
	}
	return apart, nil
}
