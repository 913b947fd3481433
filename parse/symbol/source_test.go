package symbol

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"ctxan/parse/evidence"
)

const fixtures = "../../testdata/symbol/"

// text is "function file:line" of all frames, innermost first.
func text(fr []evidence.Frame) string {
	var out []string
	for i, f := range fr {
		s := fmt.Sprintf("%s%s %s:%d", f.Symbol, f.Why, f.File, f.Line)
		if f.Inlined != (i < len(fr)-1) {
			s += " (wrongly marked)"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// TestSource resolves addresses of a program with debug information.
func TestSource(t *testing.T) {
	p := openProgram(t, fixtures+"jobs-gcc-dwarf5", Options{NoHost: true})
	for addr, want := range map[uint64]string{
		0x400150: "fail /src/start.c:23",
		0x400153: "leave /src/start.c:18; fail /src/start.c:23",
		0x400160: "step.cold /src/jobs.c:6",
	} {
		if got := text(p.frames(addr)); got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
	if u := p.r.Report(); len(u) != 1 || u[0].Frames != 3 || u[0].Lines != 3 || !strings.Contains(u[0].String(), "named 3 addresses, source lines of 3") {
		t.Errorf("report: %v", u)
	}
}

// TestReturnAddress checks that the address before a return address is in the
// line of the call.
func TestReturnAddress(t *testing.T) {
	p := openProgram(t, fixtures+"jobs-gcc-dwarf5", Options{NoHost: true})
	s := p.elf.Section(".text")
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	var drain uint64
	for addr := range p.starts["drain"] {
		drain = addr
	}
	calls := 0
	for i := 0; i+5 <= len(b); i++ {
		back := s.Addr + uint64(i) + 5
		if b[i] != 0xe8 || back+uint64(int64(int32(binary.LittleEndian.Uint32(b[i+1:])))) != drain {
			continue
		}
		calls++
		if got := text(p.frames(back - 1)); got != "_start /src/start.c:33" {
			t.Errorf("%#x: %s", back-1, got)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls of drain", calls)
	}
}

// packings are the ways to store a debug section.
var packings = map[string]func(t testing.TB, s *builtSection){
	"plain": func(testing.TB, *builtSection) {},
	"zlib": func(t testing.TB, s *builtSection) {
		s.h.Flags = uint64(elf.SHF_COMPRESSED)
		s.data = append(chdr(elf.COMPRESS_ZLIB, s.data), deflate(t, s.data)...)
	},
	"zstd": func(t testing.TB, s *builtSection) {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.h.Flags = uint64(elf.SHF_COMPRESSED)
		s.data = w.EncodeAll(s.data, chdr(elf.COMPRESS_ZSTD, s.data))
	},
	"zdebug": func(t testing.TB, s *builtSection) {
		s.name = ".z" + s.name[1:]
		s.data = append(binary.BigEndian.AppendUint64([]byte("ZLIB"), uint64(len(s.data))), deflate(t, s.data)...)
	},
	"headers": func(_ testing.TB, s *builtSection) { s.h.Type = uint32(elf.SHT_NOBITS) },
}

func chdr(typ elf.CompressionType, b []byte) []byte {
	h := elf.Chdr64{Type: uint32(typ), Size: uint64(len(b)), Addralign: 1}
	out, _ := binary.Append(nil, binary.LittleEndian, h)
	return out
}

func deflate(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const (
	jobsText = 0x400150 // where the code of the fixture begins
	jobsOff  = 0x1000   // where it is in the files built here
)

// jobs is a program with the code addresses of the fixture, and, unless packing
// is empty, its debug sections.
func jobs(t testing.TB, id []byte, packing string) elfSpec {
	t.Helper()
	e, err := elf.Open(fixtures + "jobs-gcc-dwarf5")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := elfSpec{off: jobsOff, vaddr: jobsText, text: e.Section(".text").Size + pltBytes, id: id, noID: id == nil}
	for _, sec := range e.Sections {
		if packing == "" || !strings.HasPrefix(sec.Name, ".debug_") {
			continue
		}
		b, err := sec.Data()
		if err != nil {
			t.Fatal(err)
		}
		x := builtSection{sec.Name, elf.Section64{Type: uint32(elf.SHT_PROGBITS)}, b}
		packings[packing](t, &x)
		s.extra = append(s.extra, x)
	}
	return s
}

// at resolves an address of the program's own.
func at(r *Resolver, id []byte, addr uint64) string {
	m := Mapping{Start: jobsOff, End: jobsOff + 0x1000, PgOff: jobsOff, Path: "/opt/jobs", BuildID: id}
	return text(r.User(m, addr-jobsText+jobsOff))
}

const (
	leaveAddr = 0x400153
	leaveText = "leave /src/start.c:18; fail /src/start.c:23"
)

func TestDebugInformation(t *testing.T) {
	a, rest := hexID(idA)
	symbols := jobs(t, idA, "")
	symbols.symtab = []elfSym{fn("fail", jobsText, 14)}
	stub := jobs(t, idA, "headers")
	stub.symtab = symbols.symtab
	byID := "usr/lib/debug/.build-id/" + a + "/" + rest + ".debug"
	linked := jobs(t, nil, "")
	plain := jobs(t, nil, "plain").build(t)
	linked.link, linked.crc = "jobs.dbg", crc32.ChecksumIEEE(plain)
	cases := []struct {
		name  string
		files map[string][]byte
		id    []byte
		want  string
	}{
		{"in the file", map[string][]byte{"opt/jobs": jobs(t, idA, "plain").build(t)}, idA, leaveText},
		{"packed by zlib", map[string][]byte{"opt/jobs": jobs(t, idA, "zlib").build(t)}, idA, leaveText},
		{"packed by zstd", map[string][]byte{"opt/jobs": jobs(t, idA, "zstd").build(t)}, idA, leaveText},
		{"packed as of old", map[string][]byte{"opt/jobs": jobs(t, idA, "zdebug").build(t)}, idA, leaveText},
		{"by build-id", map[string][]byte{"opt/jobs": symbols.build(t), byID: jobs(t, idA, "zlib").build(t)}, idA, leaveText},
		{"by build-id, no symbols", map[string][]byte{"opt/jobs": jobs(t, idA, "").build(t), byID: jobs(t, idA, "plain").build(t)}, idA, leaveText},
		{"empty sections", map[string][]byte{"opt/jobs": stub.build(t), byID: jobs(t, idA, "plain").build(t)}, idA, leaveText},
		{"by name", map[string][]byte{"opt/jobs": linked.build(t), "opt/jobs.dbg": plain}, nil, leaveText},
		{"another build", map[string][]byte{"opt/jobs": symbols.build(t), byID: jobs(t, idB, "plain").build(t)}, idA, "fail :0"},
		{"none", map[string][]byte{"opt/jobs": symbols.build(t)}, idA, "fail :0"},
		{"no file", nil, idA, WhyMissing + " :0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range c.files {
				put(t, dir, name, data)
			}
			r := mustNew(t, Options{Symfs: dir, NoHost: true})
			if got := at(r, c.id, leaveAddr); got != c.want {
				t.Errorf("got %s, want %s; %v", got, c.want, r.Report())
			}
		})
	}
}

// TestDebugReport checks what is told of a separate debug file.
func TestDebugReport(t *testing.T) {
	dir := t.TempDir()
	a, rest := hexID(idA)
	symbols := jobs(t, idA, "")
	symbols.symtab = []elfSym{fn("fail", jobsText, 14)}
	put(t, dir, "opt/jobs", symbols.build(t))
	put(t, dir, ".build-id/"+a+"/"+rest+"/debug", jobs(t, idA, "plain").build(t))
	r := mustNew(t, Options{Symfs: dir, NoHost: true})
	at(r, idA, leaveAddr)
	at(r, idA, leaveAddr+1)
	got := r.Report()
	want := []Use{
		{Path: filepath.Join(dir, ".build-id", a, rest, "debug"), For: "/opt/jobs", Used: true, Lines: 2},
		{Path: filepath.Join(dir, "opt/jobs"), For: "/opt/jobs", Used: true, Frames: 2},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v", got)
	}
	if s := got[0].String(); !strings.HasSuffix(s, ": source lines of 2 addresses") {
		t.Errorf("text: %s", s)
	}
}

// TestDebugLimits checks that names stay when source lines cost too much.
func TestDebugLimits(t *testing.T) {
	for name, lim := range map[string]Limits{"memory": {DebugBytes: 100}, "time": {DebugWork: 100}} {
		dir := t.TempDir()
		s := jobs(t, idA, "zlib")
		s.symtab = []elfSym{fn("fail", jobsText, 14)}
		put(t, dir, "opt/jobs", s.build(t))
		r := mustNew(t, Options{Symfs: dir, NoHost: true, Limits: lim})
		if got := at(r, idA, leaveAddr); got != "fail :0" {
			t.Errorf("%s: %s", name, got)
		}
		refused := false
		for _, u := range r.Report() {
			refused = refused || !u.Used && u.Why == WhyLimit && strings.Contains(u.Detail, "source lines")
		}
		if !refused {
			t.Errorf("%s: not told: %v", name, r.Report())
		}
	}
}

// TestLargeSection unpacks a section that is too large for memory into a file.
func TestLargeSection(t *testing.T) {
	dir := t.TempDir()
	s := jobs(t, idA, "plain")
	for i := range s.extra {
		if x := &s.extra[i]; x.name == ".debug_str" {
			x.data = append(x.data, make([]byte, maxInMemory)...)
			packings["zlib"](t, x)
		}
	}
	put(t, dir, "opt/jobs", s.build(t))
	r := mustNew(t, Options{Symfs: dir, NoHost: true})
	if got := at(r, idA, leaveAddr); got != leaveText {
		t.Errorf("got %s; %v", got, r.Report())
	}
	if used := DefaultLimits.SpoolBytes - r.spool.left; used < maxInMemory || r.budget.Used() > 1<<20 {
		t.Errorf("%d bytes in files, %d in memory", used, r.budget.Used())
	}
	r = mustNew(t, Options{Symfs: dir, NoHost: true, Limits: Limits{SpoolBytes: 1 << 20}})
	if got := at(r, idA, leaveAddr); strings.Contains(got, "leave") {
		t.Errorf("beyond the limit: %s", got)
	}
}

// TestDamagedDebug cuts and changes a file with debug information: names by the
// symbol table stay.
func TestDamagedDebug(t *testing.T) {
	s := jobs(t, idA, "zlib")
	s.symtab = []elfSym{fn("fail", jobsText, 14)}
	good := s.build(t)
	dir := t.TempDir()
	for i := 0x200; i < len(good); i += 61 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		put(t, dir, "opt/jobs", bad)
		r := mustNew(t, Options{Symfs: dir, NoHost: true})
		at(r, nil, leaveAddr)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCloseSources checks that no file stays open.
func TestCloseSources(t *testing.T) {
	open := func() int {
		l, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc/self/fd")
		}
		return len(l)
	}
	dir := t.TempDir()
	put(t, dir, "opt/jobs", jobs(t, idA, "plain").build(t))
	before := open()
	r, err := New(Options{Symfs: dir, NoHost: true})
	if err != nil {
		t.Fatal(err)
	}
	at(r, idA, leaveAddr)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := open(); n != before {
		t.Errorf("%d files open, %d before", n, before)
	}
}

// FuzzUser changes a file with all that is read of it.
func FuzzUser(f *testing.F) {
	for _, p := range []string{"plain", "zlib", "zstd", "zdebug"} {
		f.Add(jobs(f, idA, p).build(f))
	}
	for _, name := range []string{"jobs-gcc-dwarf4", "jobs-clang-dwarf5"} {
		f.Add([]byte(readFile(f, fixtures+name)))
	}
	f.Add(minidebug(f).build(f))
	f.Add(goProgram(f, true))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		put(t, dir, "opt/jobs", b)
		lim := Limits{DebugBytes: 1 << 20, DebugWork: 1 << 22, SpoolBytes: 1 << 22, TableBytes: 1 << 22, NameBytes: 256}
		r, err := New(Options{Symfs: dir, NoHost: true, Limits: lim})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for a := uint64(0); a < 0x400; a += 13 {
			for _, off := range []uint64{0, jobsOff} {
				fr := r.User(Mapping{Start: off, End: off + 0x1000, PgOff: off, Path: "/opt/jobs"}, off+a)
				last := fr[len(fr)-1]
				if (last.Symbol == "") == (last.Why == "") || last.Inlined {
					t.Fatalf("%#x: %+v", a, fr)
				}
			}
		}
		if r.budget.Used() > lim.DebugBytes {
			t.Fatalf("%d bytes held", r.budget.Used())
		}
	})
}
