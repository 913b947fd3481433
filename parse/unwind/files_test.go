package unwind

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// testdata is where the recordings of this package are.
const testdata = "../../testdata/unwind"

// program opens one of the programs and libraries in testdata.
func program(tb testing.TB, name string) *symbol.Object {
	tb.Helper()
	return object(tb, name, shared.Gunzip(tb, filepath.Join(testdata, "bin", name+".gz")))
}

func object(tb testing.TB, name string, b []byte) *symbol.Object {
	tb.Helper()
	o, err := symbol.NewObject(name, bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// folder opens files in testdata by the last part of their path.
type folder struct {
	tb    testing.TB
	extra map[string]string // other files, by that part
}

func (f folder) Open(m symbol.Mapping) ([]*symbol.Object, string) {
	name := strings.Trim(filepath.Base(m.Path), "[]")
	if other := f.extra[name]; other != "" {
		b, err := os.ReadFile(other)
		if err != nil {
			f.tb.Fatal(err)
		}
		return []*symbol.Object{object(f.tb, name, b)}, ""
	}
	name = strings.TrimSuffix(name, ".0.30") // libstdc++.so.6.0.30
	if _, err := os.Stat(filepath.Join(testdata, "bin", name+".gz")); err != nil {
		return nil, symbol.WhyMissing
	}
	return []*symbol.Object{program(f.tb, name)}, ""
}

// memory is a Files of one file; nil for none.
type memory struct{ o *symbol.Object }

func (m memory) Open(symbol.Mapping) ([]*symbol.Object, string) {
	if m.o == nil {
		return nil, symbol.WhyMissing
	}
	return []*symbol.Object{m.o}, ""
}

func mappingOf(path string) symbol.Mapping { return symbol.Mapping{Path: path} }
