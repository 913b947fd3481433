package srcline

import (
	"debug/dwarf"
	"sort"
)

// scope is a namespace or a type that functions can be in.
type scope struct {
	off, end uint32 // of its entry and what that holds, from the begin of the unit
	parent   int32  // index; -1: none
}

const scopeBytes = 12

// openScope is a scope whose end was not reached yet.
type openScope struct {
	depth int
	index int32
}

func isScope(t dwarf.Tag) bool {
	switch t {
	case dwarf.TagNamespace, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType:
		return true
	}
	return false
}

// openScope notes a scope that begins.
func (s *scanner) openScope(off int) {
	parent := int32(-1)
	if n := len(s.scopes); n > 0 {
		parent = s.scopes[n-1].index
	}
	s.scopes = append(s.scopes, openScope{s.depth, int32(len(s.u.scopes))})
	s.u.scopes = append(s.u.scopes, scope{off: uint32(off), parent: parent})
}

// closeScope ends the scope whose children are through.
func (s *scanner) closeScope() {
	n := len(s.scopes) - 1
	if n < 0 || s.scopes[n].depth != s.depth {
		return
	}
	s.u.scopes[s.scopes[n].index].end = uint32(s.c.i)
	s.scopes = s.scopes[:n]
}

// maxRefs bounds a chain of entries that refer to each other, and maxScopes
// how many scopes are put in front of a name.
const (
	maxRefs   = 16
	maxScopes = 32
)

// nameBytes is what an entry of a map of names costs.
const nameBytes = 64

// name returns the name of the function that an entry is of: the linkage name
// of the entry or of one that it refers to, or else the name and, in front of
// it, the namespaces and types that it is in.
func (u *unit) name(off uint64) string {
	if n, ok := u.names[off]; ok {
		return n
	}
	n := u.findName(off)
	if u.f.budget.grow(u, int64(len(n))+nameBytes) == nil {
		u.names[off] = n
	}
	return n
}

func (u *unit) findName(off uint64) string {
	plain, in, at := "", u, off
	for of, hops := u, 0; hops < maxRefs; hops++ {
		e, b, err := of.entry(off)
		if err != nil {
			break
		}
		if e.linkage.form != 0 {
			if n := of.text(e.linkage, b); n != "" {
				return n
			}
		}
		if plain == "" && e.name.form != 0 {
			plain = of.text(e.name, b)
		}
		in, at = of, off
		next := e.origin
		if next.form == 0 {
			next = e.spec
		}
		if next.form == 0 {
			break
		}
		if of, off, err = of.ref(next); err != nil {
			break
		}
	}
	if plain == "" {
		return ""
	}
	plain = in.scopesOf(at) + plain
	return plain[:min(len(plain), maxName)]
}

// scopesOf returns the names of the scopes that an entry is in, each with "::".
func (u *unit) scopesOf(off uint64) (names string) {
	if u.scan() == ErrLimit {
		return ""
	}
	at := uint32(off - u.off)
	i := sort.Search(len(u.scopes), func(i int) bool { return u.scopes[i].off >= at }) - 1
	for n := 0; i >= 0 && n < maxScopes && len(names) < maxName; i, n = int(u.scopes[i].parent), n+1 {
		if u.scopes[i].end <= at {
			continue
		}
		e, b, err := u.entry(u.off + uint64(u.scopes[i].off))
		if err != nil {
			return names
		}
		name := ""
		if e.name.form != 0 {
			name = u.text(e.name, b)
		}
		switch {
		case name != "":
			names = name + "::" + names
		case e.abbrev.tag == dwarf.TagNamespace:
			names = "(anonymous namespace)::" + names
		}
	}
	return names
}
