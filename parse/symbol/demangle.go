package symbol

import (
	"strings"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
)

// maxDemangled bounds a demangled name: 2 to this power.
const maxDemangled = 12

// pretty turns a symbol of an ELF file into what people read: without its
// version (nanosleep@@GLIBC_2.2.5), C++ and Rust demangled as perf prints them,
// with template arguments and without parameters. Names cut at limit stay
// mangled and end in an ellipsis.
func pretty(sym string, limit int) string {
	if len(sym) >= limit {
		return cut(sym, limit)
	}
	if name, ok := strings.CutSuffix(sym, pltSuffix); ok && name != "" {
		return cut(pretty(name, limit)+pltSuffix, limit)
	}
	if i := strings.IndexByte(sym, '@'); i > 0 {
		sym = sym[:i]
	}
	if !strings.HasPrefix(sym, "_Z") && !strings.HasPrefix(sym, "_R") && !strings.HasPrefix(sym, "__Z") {
		return sym
	}
	return cut(demangle.Filter(sym, demangle.NoParams, demangle.MaxLength(maxDemangled)), limit)
}

// maxPretty bounds the demangled names that are kept, in bytes.
const maxPretty = 16 << 20

// pretty is pretty with a memory: a function that is inlined everywhere comes
// with every other address, and demangling costs more than finding it.
func (r *Resolver) pretty(sym string) string {
	if len(sym) < 2 || sym[0] != '_' {
		return pretty(sym, r.opt.Limits.NameBytes)
	}
	if name, ok := r.names[sym]; ok {
		return name
	}
	name := pretty(sym, r.opt.Limits.NameBytes)
	if r.nameBytes += len(sym) + len(name) + 2*16; r.nameBytes > maxPretty {
		clear(r.names)
		r.nameBytes = 0
	}
	r.names[sym] = name
	return name
}

// cut shortens s to at most limit bytes, at a character, and marks that.
func cut(s string, limit int) string {
	if len(s) < limit {
		return s
	}
	n := max(limit-len("…"), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
