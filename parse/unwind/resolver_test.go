package unwind

import (
	"os"
	"path/filepath"
	"testing"

	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// TestResolver unwinds with files that symbol.Resolver finds by their
// build-ids below a --symfs folder, and without some of them.
func TestResolver(t *testing.T) {
	rec := readRecording(t, shared.Gunzip(t, filepath.Join(testdata, "chains.data.gz")))
	dir := t.TempDir()
	place := func(name, path string) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, shared.Gunzip(t, filepath.Join(testdata, "bin", name+".gz")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := ""
	for _, m := range rec.maps[rec.samples[0].pid] {
		if filepath.Base(m.Path) == "chains" {
			program = m.Path
		}
	}
	count := func() (reasons map[Reason]int, why string) {
		res, err := symbol.New(symbol.Options{Symfs: dir, NoHost: true})
		if err != nil {
			t.Fatal(err)
		}
		u := New(res)
		reasons = map[Reason]int{}
		for i := range rec.samples {
			s := &rec.samples[i]
			_, stop := s.unwind(u, rec.space(u, s), nil)
			reasons[stop.Reason]++
			if stop.Reason == NoFile && stop.Path == program {
				why = stop.Why
			}
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
		return reasons, why
	}
	place("libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6")
	place("ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
	if r, why := count(); r[NoFile] < 80 || why != symbol.WhyMissing {
		t.Errorf("without the program: %v, %q", r, why)
	}
	place("objects", program)
	if r, why := count(); r[NoFile] < 80 || why != symbol.WhyBuildID {
		t.Errorf("with another program in its place: %v, %q", r, why)
	}
	place("chains", program)
	if r, _ := count(); r[Complete] != 109 || r[ShortStack] != 5 {
		t.Errorf("with all files: %v", r)
	}
}

// TestLimits checks that files and rows are bounded.
func TestLimits(t *testing.T) {
	u := New(folder{tb: t})
	m := symbol.Mapping{Path: "/lib/libc.so.6"}
	o := u.Object(m)
	if o != u.Object(m) {
		t.Error("two objects for a file")
	}
	if _, why := o.row(0x27249, X86_64); why != Complete || len(o.rows) != 1 {
		t.Fatal(why)
	}
	if _, why := o.row(0x27249, ARM64); why != BadCFI {
		t.Errorf("of another architecture: %v", why)
	}
	u.rowBytes = maxRowBytes
	if _, why := o.row(0x27304, X86_64); why != Complete || len(o.rows) != 1 || u.rowBytes > 1000 {
		t.Errorf("%v; %d rows of %d bytes are kept beyond the limit", why, len(o.rows), u.rowBytes)
	}
	u.budget.left = 1000
	if _, why := u.Object(symbol.Mapping{Path: "/lib/libm.so.6"}).row(0x10000, X86_64); why != OverLimit {
		t.Errorf("a table beyond the limit: %v", why)
	}
	u.open = maxObjects
	if _, why := u.Object(symbol.Mapping{Path: "/bin/chains"}).row(0x1000, X86_64); why != OverLimit {
		t.Errorf("a file beyond the limit: %v", why)
	}
	if _, why := u.Object(symbol.Mapping{Path: "/bin/none"}).row(0x1000, X86_64); why != OverLimit {
		t.Errorf("a file beyond the limit: %v", why)
	}
}

func TestEvaluate(t *testing.T) {
	regs := regsOf(X86_64, map[uint8]uint64{16: 0x102b, 6: 0})
	for name, c := range map[string]struct {
		expr []byte
		want uint64
		why  Reason
	}{
		"procedure linkage table": {[]byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, stackAt + 16, Complete},
		"dereferenced":            {[]byte{0x77, 8, 0x06}, 42, Complete},
		"4 bytes":                 {[]byte{0x77, 8, 0x94, 4}, 42, Complete},
		"beyond the copy":         {[]byte{0x77, 16, 0x06}, 0, ShortStack},
		"below it":                {[]byte{0x77, 0x70, 0x06}, 0, NoProgress},
		"cfa":                     {[]byte{0x9c, 0x23, 8}, 0x5008, Complete},
		"division by zero":        {[]byte{0x31, 0x30, 0x1b}, 0, BadCFI},
		"empty":                   {nil, 0, BadCFI},
		"empty stack":             {[]byte{0x23, 1}, 0, BadCFI},
		"register not known":      {[]byte{0x73, 0}, 0, BadCFI},
		"endless":                 {[]byte{0x31, 0x2f, 0xfc, 0xff}, 1, Complete}, // the library gives up after some steps
		"a register, not a value": {[]byte{0x57}, 0, BadCFI},
	} {
		stack := Stack{Base: stackAt, Data: words(1, 42)}
		if got, why := evaluate(c.expr, regs, &stack, 0x5000); got != c.want || why != c.why {
			t.Errorf("%s: got %#x %v, want %#x %v", name, got, why, c.want, c.why)
		}
	}
}

func TestCursor(t *testing.T) {
	b := []byte{0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	at := base{here: 0x1000, data: 0x8000}
	for _, c := range []struct {
		enc  byte
		want uint64
		used int
	}{
		{0x00, 0xfffffffffffffff0, 8}, {0x02, 0xfff0, 2}, {0x0a, 0xfffffffffffffff0, 2}, {0x03, 0xfffffff0, 4},
		{0x0b, 0xfffffffffffffff0, 4}, {0x0c, 0xfffffffffffffff0, 8}, {0x1b, 0xff0, 4}, {0x3b, 0x7ff0, 4}, {0x12, 0x10ff0, 2},
	} {
		cur := cursor{b: b}
		if got := cur.pointer(c.enc, 8, at); got != c.want || cur.at != c.used || cur.err != nil {
			t.Errorf("encoding %#x: got %#x in %d bytes, %v", c.enc, got, cur.at, cur.err)
		}
	}
	for _, enc := range []byte{0x05, 0x20, 0x50, 0x80, 0x9b} {
		cur := cursor{b: b}
		if cur.pointer(enc, 8, at); cur.err == nil {
			t.Errorf("encoding %#x was taken", enc)
		}
	}
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 40, -1 << 40, 1<<63 - 1, -1 << 63} {
		cur := cursor{b: appendSLEB(nil, v)}
		if got := cur.sleb(); got != v || cur.left() != 0 || cur.err != nil {
			t.Errorf("%d: got %d, %d bytes left, %v", v, got, cur.left(), cur.err)
		}
	}
	for n := range 8 {
		cur := cursor{b: b[:n]}
		if cur.pointer(0x00, 8, at); cur.err == nil || cur.left() != 0 {
			t.Errorf("8 of %d bytes were read", n)
		}
	}
}
