package signature

import "strings"

// cloneSuffixes start what compilers append to the names of cloned functions.
var cloneSuffixes = []string{".isra.", ".constprop.", ".part.", ".cold", ".llvm.", ".lto_priv.", ".localalias", ".abi0", ".warm"}

// Base strips a symbol of what tools and compilers add to the function's name:
// the [k] or [.] of perf report, an offset, a symbol version, clone suffixes.
func Base(symbol string) string {
	s := strings.TrimSpace(symbol)
	if len(s) > 3 && s[0] == '[' && s[2] == ']' { // [k] [.] [u] [g] [H]
		s = strings.TrimLeft(s[3:], " ")
	}
	s = strings.TrimSuffix(strings.TrimSuffix(s, "_[k]"), "_[i]") // marks of folded stacks
	if i := strings.LastIndex(s, "+0x"); i > 0 {
		s = s[:i]
	}
	if i := strings.Index(s, "@"); i > 0 && isVersion(strings.TrimLeft(s[i:], "@")) {
		s = s[:i]
	}
	for _, c := range cloneSuffixes {
		if i := strings.Index(s, c); i > 0 {
			s = s[:i]
		}
	}
	return s
}

func isVersion(s string) bool {
	for _, p := range []string{"GLIBC", "GCC", "CXXABI", "plt", "LIB", "OPENSSL"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// syscallPrefixes are those of a system call's entry function, by kernel and
// architecture: sys_ before 4.17 (SyS_ from 3.11), __x64_sys_ and its kin since.
var syscallPrefixes = []string{"__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__x32_compat_sys_", "__arm64_sys_", "__arm64_compat_sys_",
	"__s390x_sys_", "__riscv_sys_", "__powerpc_sys_", "__se_sys_", "__se_compat_sys_", "__do_sys_", "__do_compat_sys_", "compat_SyS_", "compat_sys_", "SyS_", "SYSC_", "sys_", "ksys_", "__sys_"}

// kernelKeys are the names under which the table may know a kernel symbol.
func kernelKeys(symbol string) []string {
	b := Base(symbol)
	for _, p := range syscallPrefixes {
		if name, ok := strings.CutPrefix(b, p); ok && name != "" {
			return []string{b, "sys:" + name}
		}
	}
	return []string{b}
}

// userKey is a C library name without the marks of its aliases: __GI_, the
// leading underscores, libc_.
func userKey(s string) string {
	s = strings.TrimPrefix(s, "__GI_")
	s = strings.TrimLeft(s, "_")
	return strings.TrimPrefix(s, "libc_")
}

// userKeys are the names under which the table may know a user symbol: the
// library's plain name, and the whole name with and without its parameters.
func userKeys(symbol string) []string {
	b := Base(symbol)
	keys := []string{userKey(b)}
	if b != keys[0] {
		keys = append(keys, b)
	}
	if p := withoutParameters(b); p != b {
		keys = append(keys, p)
	}
	return keys
}

// withoutParameters cuts the parameter list that ends a demangled C++ name.
func withoutParameters(s string) string {
	t := strings.TrimSuffix(s, " const")
	if !strings.HasSuffix(t, ")") {
		return s
	}
	depth := 0
	for i := len(t) - 1; i > 0; i-- {
		switch t[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return t[:i]
			}
		}
	}
	return s
}
