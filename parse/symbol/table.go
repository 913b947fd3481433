package symbol

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"sort"
	"strings"
)

// entry is one symbol: 16 bytes. The upper four bits of size hold what decides
// between several symbols at one address.
type entry struct {
	addr uint64
	size uint32 // 0 until finish: up to the next symbol
	name uint32 // offset in the table's names
}

const (
	sizeMask = 1<<28 - 1

	bindLocal = 1 << 28 // global is 0
	bindWeak  = 2 << 28
	bindMask  = 3 << 28
	flagLow   = 1 << 30 // a label or a section's start: only where nothing else is
	flagEnd   = 1 << 31 // the end of a section: names nothing
)

func (e *entry) length() uint64 { return uint64(e.size & sizeMask) }
func (e *entry) end() uint64    { return e.addr + e.length() }

func (e *entry) setLength(n uint64) {
	e.size = e.size&^sizeMask | uint32(min(n, sizeMask))
}

// names holds the names of a table, each ended by a NUL: in memory, or in a
// string table that is too large for that.
type names struct {
	blob []byte
	r    io.ReaderAt
}

// at returns the name at an offset, at most limit bytes of it.
func (n *names) at(off uint32, limit int) string {
	var b []byte
	switch {
	case n.r != nil:
		b = make([]byte, limit)
		got, _ := n.r.ReadAt(b, int64(off))
		b = b[:got]
	case int64(off) < int64(len(n.blob)):
		b = n.blob[off:]
		b = b[:min(len(b), limit)]
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// table is the sorted symbols of one file, or of one kernel module.
type table struct {
	syms  []entry
	names *names
	limit int  // of a name, in bytes
	last  bool // of several symbols at one address the last one written holds (JIT maps)
}

const (
	entryBytes = 16
	// maxNested is how many symbols are searched for one that reaches over
	// others that begin inside it.
	maxNested = 64
)

func (t *table) bytes() int64 {
	if t == nil {
		return 0
	}
	return int64(cap(t.syms))*entryBytes + int64(cap(t.names.blob))
}

// finish sorts the table and gives symbols without a size the room up to the
// next one, but not beyond end(addr), the end of the section that holds them.
// Those at the address of, or inside, a symbol with a size are left out: they
// are labels.
func (t *table) finish(end func(addr uint64) uint64) {
	byAddr := func(a, b entry) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(t.syms, byAddr) {
		slices.SortStableFunc(t.syms, byAddr)
	}
	out, reach := t.syms[:0], uint64(0)
	for i := 0; i < len(t.syms); {
		next := i
		for next < len(t.syms) && t.syms[next].addr == t.syms[i].addr {
			reach = max(reach, t.syms[next].end())
			next++
		}
		addr, stop := t.syms[i].addr, end(t.syms[i].addr)
		if next < len(t.syms) {
			stop = min(stop, t.syms[next].addr)
		}
		for _, e := range t.syms[i:next] {
			if e.length() == 0 {
				if reach > addr || stop <= addr {
					continue
				}
				e.setLength(stop - addr)
			}
			out = append(out, e)
		}
		i = next
	}
	t.syms = slices.Clip(out)
}

// lookup returns the name of the innermost symbol that covers addr.
func (t *table) lookup(addr uint64) (string, bool) {
	i := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].addr > addr })
	for k := i - 1; k >= 0 && k >= i-maxNested; k-- {
		if t.syms[k].end() <= addr {
			continue
		}
		if t.last {
			return t.names.at(t.syms[k].name, t.limit), true
		}
		return t.bestAt(k, addr)
	}
	return "", false
}

// bestAt chooses between the symbols at the address of entry k.
func (t *table) bestAt(k int, addr uint64) (string, bool) {
	at := t.syms[k].addr
	var best *entry
	var bestName string
	for seen := 0; k >= 0 && t.syms[k].addr == at && seen < maxNested; k, seen = k-1, seen+1 {
		e := &t.syms[k]
		if e.end() <= addr || e.size&flagEnd != 0 {
			continue
		}
		name := t.names.at(e.name, t.limit)
		if best == nil || better(e, name, best, bestName) {
			best, bestName = e, name
		}
	}
	return bestName, bestName != ""
}

// better reports whether a is the better one of two symbols at one address.
//
// The order is perf's for ELF files (choose_best_symbol in the kernel's
// tools/perf/util/symbol.c): a function before a label, strong before weak,
// global before local, fewer leading underscores, the longer name. What perf
// leaves to the order of the file is settled by the name: in kallsyms perf takes
// the last one, which is no choice (__pi_memset for memset).
func better(a *entry, an string, b *entry, bn string) bool {
	if x, y := a.size&flagLow, b.size&flagLow; x != y {
		return x == 0
	}
	if x, y := bindRank(a), bindRank(b); x != y {
		return x < y
	}
	if x, y := isSecond(an), isSecond(bn); x != y {
		return y
	}
	if x, y := underscores(an), underscores(bn); x != y {
		return x < y
	}
	if len(an) != len(bn) {
		return len(an) > len(bn)
	}
	if x, y := isAlias(an), isAlias(bn); x != y {
		return y
	}
	return an < bn
}

func bindRank(e *entry) uint32 { return e.size & bindMask >> 28 }

func underscores(s string) int { return len(s) - len(strings.TrimLeft(s, "_")) }

// isSecond reports whether a kernel symbol is a second name: of 32-bit system
// calls that share the code of the others, of the early boot's functions.
func isSecond(s string) bool {
	return strings.HasPrefix(s, "__ia32_") || strings.HasPrefix(s, "__pi_") || strings.Contains(s, "compat_")
}

// isAlias reports whether a name is a second one for some other use: the old
// entries of system calls, and glibc's calls of its own functions.
func isAlias(s string) bool {
	return strings.HasPrefix(s, "SyS") || strings.HasPrefix(s, "compat_SyS") || strings.HasPrefix(s, "__GI_")
}
