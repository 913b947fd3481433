package parse

import (
	"os"
	"path/filepath"

	"ctxan/parse/symbol"
)

// What a folder of captures keeps beside them for its symbols, as ctxan record
// does: a copy of the kernel's symbols, and the programs and libraries.
const keptSymfs = "symbols"

var keptKallsyms = []string{"kallsyms", "kallsyms.gz"}

// useSymbolsOf makes the symbols that a folder keeps those of its captures,
// where the user names no others. It returns what undoes that.
func (o *opener) useSymbolsOf(dir string) (undo func()) {
	opt, found := o.opt.Symbols, false
	if p := filepath.Join(dir, keptSymfs); opt.Symfs == "" && isFolder(p) {
		opt.Symfs, found = p, true
	}
	for _, name := range keptKallsyms {
		if p := filepath.Join(dir, name); opt.Kallsyms == "" && isFile(p) {
			opt.Kallsyms, found = p, true
		}
	}
	if !found {
		return func() {}
	}
	kept, err := symbol.New(opt)
	if err != nil { // such as a kallsyms that was cut
		o.problem(dir, "the symbols kept in it can't be used: "+err.Error(), "", err)
		return func() {}
	}
	outer := o.symbols
	o.symbols = kept
	return func() {
		o.symbols = outer
		if err := kept.Close(); err != nil {
			o.problem(dir, reason(err), "", err)
		}
	}
}

func isFolder(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}

func isFile(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.Mode().IsRegular()
}
