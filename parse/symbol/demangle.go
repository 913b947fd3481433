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
	if i := strings.IndexByte(sym, '@'); i > 0 {
		sym = sym[:i]
	}
	if !strings.HasPrefix(sym, "_Z") && !strings.HasPrefix(sym, "_R") && !strings.HasPrefix(sym, "__Z") {
		return sym
	}
	return cut(demangle.Filter(sym, demangle.NoParams, demangle.MaxLength(maxDemangled)), limit)
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
