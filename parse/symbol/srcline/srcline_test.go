package srcline

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"
)

const testdata = "../../../testdata/symbol/"

// programs are the built programs of testdata.
var programs = []string{"jobs-gcc-dwarf4", "jobs-gcc-dwarf5", "jobs-gcc-dwarf64", "jobs-clang-dwarf4", "jobs-clang-dwarf5"}

// sectionNames are the sections that are read.
var sectionNames = []string{"info", "abbrev", "line", "str", "line_str", "ranges", "rnglists", "addr", "str_offsets", "aranges"}

// parts is the debug sections of a file, by their short names.
type parts map[string][]byte

func (p parts) get(name string) (*io.SectionReader, error) {
	if b, ok := p[name]; ok {
		return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))), nil
	}
	return nil, nil
}

func load(t testing.TB, name string) (parts, *elf.File) {
	t.Helper()
	e, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	p := parts{}
	for _, n := range sectionNames {
		if s := e.Section(".debug_" + n); s != nil {
			if p[n], err = s.Data(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p, e
}

func code(e *elf.File) (out []Span) {
	for _, s := range e.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			out = append(out, Span{s.Addr, s.Addr + s.Size})
		}
	}
	return out
}

func budget() *Budget { return &Budget{Bytes: 64 << 20, Work: 4 << 30} }

// golden reads what llvm-symbolizer said, by address; addresses that are left
// out say what the one before says.
func golden(t testing.TB, name string, lo, hi uint64) map[uint64]string {
	t.Helper()
	b, err := os.ReadFile(name + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	at := map[uint64]string{}
	for line := range strings.Lines(string(b)) {
		addr, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		a, err := strconv.ParseUint(addr, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		at[a] = said
	}
	// The names of parts that the compiler split off come from the symbol
	// table; paths are not cleaned.
	for a := range at {
		at[a] = strings.NewReplacer(".cold ", " ", "/./", "/").Replace(at[a])
	}
	last := ""
	for a := lo; a < hi; a++ {
		if s, ok := at[a]; ok {
			last = s
		}
		at[a] = last
	}
	return at
}

func text(fr []Frame) string {
	var out []string
	for _, f := range fr {
		out = append(out, fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line))
	}
	return strings.Join(out, "\t")
}

// TestFrames compares every address of the programs with llvm-symbolizer.
func TestFrames(t *testing.T) {
	checked, inlined := 0, 0
	for _, name := range programs {
		p, e := load(t, testdata+name)
		f := New(p.get, e.ByteOrder, code(e), budget())
		s := e.Section(".text")
		want := golden(t, testdata+name, s.Addr, s.Addr+s.Size)
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			fr, err := f.Frames(a)
			if err != nil {
				t.Fatalf("%s %#x: %v", name, a, err)
			}
			got := text(fr)
			if len(fr) == 1 && fr[0].Func == "" && strings.HasSuffix(want[a], fr[0].File+":"+strconv.Itoa(fr[0].Line)) {
				continue // between functions, where the symbol table has a name
			}
			if len(fr) == 0 && strings.HasSuffix(want[a], " ??:0") {
				continue
			}
			checked++
			if len(fr) > 1 {
				inlined++
			}
			if got != want[a] {
				t.Errorf("%s %#x:\n got  %s\n want %s", name, a, got, want[a])
			}
		}
	}
	if checked < 2000 || inlined < 800 {
		t.Errorf("only %d addresses, %d in inlined functions", checked, inlined)
	}
	t.Logf("%d addresses as llvm-symbolizer has them, %d of them in inlined functions", checked, inlined)
}

// TestLines compares every address with the line table as debug/dwarf reads it.
func TestLines(t *testing.T) {
	for _, program := range programs {
		p, e := load(t, testdata+program)
		f := New(p.get, e.ByteOrder, code(e), budget())
		d, err := e.DWARF()
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for r := d.Reader(); ; {
			cu, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if cu == nil {
				break
			}
			r.SkipChildren()
			lr, err := d.LineReader(cu)
			if err != nil {
				t.Fatal(err)
			}
			ranges, err := d.Ranges(cu)
			if err != nil {
				t.Fatal(err)
			}
			for _, rg := range ranges {
				for a := rg[0]; a < rg[1]; a++ {
					var want dwarf.LineEntry
					if lr.SeekPC(a, &want) != nil {
						continue
					}
					got, err := f.Frames(a)
					if err != nil || len(got) == 0 {
						t.Fatalf("%s %#x: %v %v", program, a, got, err)
					}
					name := want.File.Name
					if !filepath.IsAbs(name) {
						name = "/src/" + name // which debug/dwarf leaves out for version 5
					}
					if got[0].File != filepath.Clean(name) || got[0].Line != want.Line {
						t.Errorf("%s %#x: %s:%d, want %s:%d", program, a, got[0].File, got[0].Line, name, want.Line)
					}
					checked++
				}
			}
		}
		if checked < 400 {
			t.Errorf("%s: only %d addresses", program, checked)
		}
	}
}

// TestScopes compares the namespaces and types in front of the names of C++
// functions with those in their linkage names.
func TestScopes(t *testing.T) {
	src, err := filepath.Abs(testdata + "src/queue.cc")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "queue")
	if out, err := exec.Command("g++", "-O2", "-g", "-o", file, src).CombinedOutput(); err != nil {
		t.Skipf("no g++ that builds it: %v: %s", err, out)
	}
	p, e := load(t, file)
	f := New(p.get, e.ByteOrder, code(e), budget())
	if err := f.index(); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, off := range f.units {
		u, err := f.unit(off)
		if err != nil || u.scan() != nil {
			t.Fatal(err)
		}
		for _, fn := range u.functions {
			linkage := u.findName(u.off + uint64(fn.off))
			if !strings.HasPrefix(linkage, "_Z") {
				continue
			}
			checked++
			got, want := u.plainName(t, u.off+uint64(fn.off)), demangle.Filter(linkage, demangle.NoParams)
			if bare(got) != bare(want) {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d names", checked)
	}
}

// plainName is the name of a function as if it had no linkage name.
func (u *unit) plainName(t *testing.T, off uint64) string {
	t.Helper()
	for {
		e, b, err := u.entry(off)
		if err != nil {
			t.Fatal(err)
		}
		next := e.origin
		if next.form == 0 {
			next = e.spec
		}
		if next.form == 0 {
			return u.scopesOf(off) + u.text(e.name, b)
		}
		if u, off, err = u.ref(next); err != nil {
			t.Fatal(err)
		}
	}
}

// bare cuts what is in angle brackets: compilers and demanglers spell types in
// different ways.
func bare(name string) string {
	var out strings.Builder
	depth := 0
	for _, r := range name {
		if r == '>' {
			depth--
		}
		if depth == 0 {
			out.WriteRune(r)
		}
		if r == '<' {
			depth++
		}
	}
	return out.String()
}

// TestText checks that code outside of what the file has is not found: linkers
// leave descriptions of dropped functions behind.
func TestText(t *testing.T) {
	p, e := load(t, testdata+programs[0])
	f := New(p.get, e.ByteOrder, []Span{{1, 2}}, budget())
	if fr, err := f.Frames(e.Section(".text").Addr); fr != nil || err != nil {
		t.Errorf("got %v, %v", fr, err)
	}
}

// TestForget checks that forgotten units are read again, and that what is held
// is within the budget.
func TestForget(t *testing.T) {
	p, e := load(t, testdata+"jobs-gcc-dwarf5")
	s := e.Section(".text")
	want := golden(t, testdata+"jobs-gcc-dwarf5", s.Addr, s.Addr+s.Size)
	drain, start := symbolAt(t, e, "drain"), symbolAt(t, e, "_start")
	b := &Budget{Work: 1 << 30}
	for _, a := range []uint64{drain, start} {
		alone := budget()
		if _, err := New(p.get, e.ByteOrder, code(e), alone).Frames(a); err != nil || alone.Used() == 0 {
			t.Fatalf("%v, %d bytes held", err, alone.Used())
		}
		b.Bytes = max(b.Bytes, alone.Used()+100) // one unit, not both
	}
	f := New(p.get, e.ByteOrder, code(e), b)
	for range 3 {
		for _, a := range []uint64{start, drain} {
			fr, err := f.Frames(a)
			if err != nil || text(fr) != want[a] {
				t.Fatalf("%#x: %s, %v; want %s", a, text(fr), err, want[a])
			}
			if b.Used() > b.Bytes || len(f.loaded) != 1 {
				t.Errorf("%d bytes held, %d units", b.Used(), len(f.loaded))
			}
		}
	}
}

func symbolAt(t testing.TB, e *elf.File, name string) uint64 {
	t.Helper()
	syms, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == name })
	return syms[i].Value
}

func TestLimits(t *testing.T) {
	p, e := load(t, testdata+"jobs-gcc-dwarf5")
	a := e.Section(".text").Addr
	for _, b := range []*Budget{{Bytes: 10, Work: 1 << 30}, {Bytes: 600, Work: 1 << 30}, {Bytes: 1 << 20, Work: 100}} {
		f := New(p.get, e.ByteOrder, code(e), b)
		for range 2 {
			if fr, err := f.Frames(a); err != ErrLimit {
				t.Errorf("%d bytes, work %d: %v, %v", b.Bytes, b.Work, fr, err)
			}
		}
		if b.Used() > b.Bytes {
			t.Errorf("%d of %d bytes held", b.Used(), b.Bytes)
		}
	}
}

// TestHugeCounts checks numbers in headers that are larger than the file.
func TestHugeCounts(t *testing.T) {
	p, e := load(t, testdata+"jobs-gcc-dwarf5")
	a := e.Section(".text").Addr
	for section, offsets := range map[string][]int{"info": {0}, "line": {0, 6}, "rnglists": {0}} {
		for _, off := range offsets {
			bad := parts{}
			for n, b := range p {
				bad[n] = bytes.Clone(b)
			}
			for _, v := range []uint32{0xffffffef, 0x7fffffff, 0xffffffff} {
				binary.LittleEndian.PutUint32(bad[section][off:], v)
				b := budget()
				if _, err := New(bad.get, e.ByteOrder, code(e), b).Frames(a); err == nil && section != "rnglists" {
					t.Errorf("%#x at %d of %s: no error", v, off, section)
				}
				if b.done > 1<<20 {
					t.Errorf("%d bytes decoded", b.done)
				}
			}
		}
	}
}

// TestCut checks that sections cut anywhere do no harm.
func TestCut(t *testing.T) {
	p, e := load(t, testdata+"jobs-clang-dwarf5")
	s := e.Section(".text")
	for _, name := range sectionNames {
		for n := 0; n < len(p[name]); n += 1 + n/40 {
			cut := parts{}
			for k, b := range p {
				cut[k] = b
			}
			cut[name] = p[name][:n]
			f := New(cut.get, e.ByteOrder, code(e), budget())
			for a := s.Addr; a < s.Addr+s.Size; a += 23 {
				f.Frames(a)
			}
		}
	}
}

// FuzzFrames changes the sections that are decoded.
func FuzzFrames(f *testing.F) {
	for _, name := range programs {
		p, _ := load(f, testdata+name)
		f.Add(p["info"], p["abbrev"], p["line"], slices.Concat(p["ranges"], p["rnglists"]), p["addr"], p["str_offsets"])
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, ranges, addr, offsets []byte) {
		p := parts{"info": info, "abbrev": abbrev, "line": line, "ranges": ranges, "rnglists": ranges, "addr": addr, "str_offsets": offsets,
			"str": []byte("a\x00b\x00"), "line_str": []byte("/src\x00a.c\x00"), "aranges": ranges}
		b := &Budget{Bytes: 1 << 20, Work: 1 << 22}
		file := New(p.get, binary.LittleEndian, nil, b)
		for a := uint64(0x400140); a < 0x400400; a += 7 {
			fr, _ := file.Frames(a)
			for _, x := range fr {
				if len(x.Func) > maxName || len(x.File) > maxName || x.Line < 0 {
					t.Fatalf("%#x: a name of %d and a path of %d bytes, line %d", a, len(x.Func), len(x.File), x.Line)
				}
			}
			if b.Used() < 0 || b.Used() > b.Bytes || len(fr) > maxChain+1 {
				t.Fatalf("%d bytes held, %d frames", b.Used(), len(fr))
			}
		}
	})
}

func BenchmarkFrames(b *testing.B) {
	p, e := load(b, testdata+"jobs-gcc-dwarf5")
	s := e.Section(".text")
	b.SetBytes(int64(len(p["info"]) + len(p["line"])))
	b.ReportAllocs()
	for b.Loop() {
		f := New(p.get, e.ByteOrder, code(e), budget())
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			f.Frames(a)
		}
	}
}
