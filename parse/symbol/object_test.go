package symbol

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

var (
	idA = []byte("build-id-A-of-20-by.")
	idB = []byte("build-id-B-of-20-by.")
)

// app is a program whose code lies at another address than its offset.
func app(id []byte, name string) elfSpec {
	return elfSpec{off: 0x2000, vaddr: 0x403000, text: 0x800, id: id, symtab: []elfSym{fn(name, 0x403100, 0x100)}}
}

// appMap maps the code of app: its function is at 0x7f0000002100.
func appMap(path string, id []byte) Mapping {
	return Mapping{Start: 0x7f0000002000, End: 0x7f0000003000, PgOff: 0x2000, Path: path, BuildID: id, PID: 7}
}

const appAddr = 0x7f0000002180

// put writes a file below dir.
func put(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func hexID(id []byte) (dir, rest string) { h := hex.EncodeToString(id); return h[:2], h[2:] }

// user resolves one address and returns the symbol or the reason.
func user(r *Resolver, m Mapping, addr uint64) string {
	fs := r.User(m, addr)
	if len(fs) != 1 || (fs[0].Symbol == "") == (fs[0].Why == "") || fs[0].Addr != addr || fs[0].Module != m.Path {
		return fmt.Sprintf("inconsistent frames %+v", fs)
	}
	return fs[0].Symbol + fs[0].Why
}

func TestSymfs(t *testing.T) {
	a, rest := hexID(idA)
	good := app(idA, "good").build(t)
	small := app(idA, "small")
	small.text = 0x1200 // two pages of code
	cases := []struct {
		name  string
		files map[string][]byte
		m     Mapping
		want  string
	}{
		{"path", map[string][]byte{"opt/app/bin/srv": good}, appMap("/opt/app/bin/srv", idA), "good"},
		{"end of the path", map[string][]byte{"bin/srv": good}, appMap("/opt/app/bin/srv", idA), "good"},
		{"base name", map[string][]byte{"srv": good}, appMap("/opt/app/bin/srv", idA), "good"},
		{"base name without a build-id", map[string][]byte{"srv": good}, appMap("/opt/app/bin/srv", nil), "good"},
		{"another program of that name", map[string][]byte{"srv": small.build(t)}, appMap("/opt/app/bin/srv", nil), WhyMismatch},
		{"the whole path needs no fit", map[string][]byte{"opt/app/bin/srv": small.build(t)}, appMap("/opt/app/bin/srv", nil), "small"},
		{"deleted", map[string][]byte{"srv": good}, appMap("/opt/srv (deleted)", idA), "good"},
		{"by build-id only", map[string][]byte{".build-id/" + a + "/" + rest + "/elf": good}, appMap("/opt/other", idA), "good"},
		{"padded build-id", map[string][]byte{"srv": app(idA[:8], "short").build(t)}, appMap("/srv", append(bytes.Clone(idA[:8]), make([]byte, 12)...)), "short"},
		{"second choice has the build-id", map[string][]byte{"opt/srv": app(idB, "bad").build(t), "srv": good}, appMap("/opt/srv", idA), "good"},
		{"another build", map[string][]byte{"opt/srv": app(idB, "bad").build(t)}, appMap("/opt/srv", idA), WhyBuildID},
		{"no build-id in the file", map[string][]byte{"opt/srv": func() []byte { s := app(nil, "bad"); s.noID = true; return s.build(t) }()}, appMap("/opt/srv", idA), WhyBuildID},
		{"no file", nil, appMap("/opt/srv", idA), WhyMissing},
		{"a folder", map[string][]byte{"opt/srv/x": nil}, appMap("/opt/srv", nil), WhyNotFile},
		{"a text", map[string][]byte{"opt/srv": []byte("#!/bin/sh\n")}, appMap("/opt/srv", nil), WhyDamaged},
		{"out of the folder", nil, appMap("/../../../../../../../../etc/passwd", nil), WhyMissing},
		{"files that act when read", map[string][]byte{"proc/kmsg": good}, appMap("/proc/kmsg", idA), WhyMissing},
		{"run from memory, by build-id", map[string][]byte{".build-id/" + a + "/" + rest + "/elf": good}, appMap("/memfd:app (deleted)", idA), "good"},
		{"empty path", nil, appMap("", nil), WhyAnon},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range c.files {
				put(t, dir, name, data)
			}
			r := mustNew(t, Options{Symfs: dir})
			if got := user(r, c.m, appAddr); got != c.want {
				t.Errorf("got %q, want %q; %v", got, c.want, r.Report())
			}
		})
	}
}

// TestUserReport checks what is told about the files.
func TestUserReport(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "srv", app(idA, "good").build(t))
	put(t, dir, "lib.so", app(idB, "bad").build(t))
	r := mustNew(t, Options{Symfs: dir})
	user(r, appMap("/opt/srv", nil), appAddr)
	user(r, appMap("/opt/srv", nil), appAddr+1)
	user(r, appMap("/opt/srv", nil), appAddr+0x200) // no symbol
	user(r, appMap("/opt/lib.so", idA), appAddr)
	user(r, appMap("/opt/none", idA), appAddr)
	got := r.Report()
	want := []Use{
		{Path: "/opt/none", For: "/opt/none", Why: WhyMissing},
		{Path: filepath.Join(dir, "lib.so"), For: "/opt/lib.so", Why: WhyBuildID, Detail: fmt.Sprintf("the capture has %x, the file %x", idA, idB)},
		{Path: filepath.Join(dir, "srv"), For: "/opt/srv", Used: true, Why: DoubtNoBuildID, Frames: 2},
	}
	if len(got) != len(want) {
		t.Fatalf("%d uses, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("use %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if s := got[2].String(); s != filepath.Join(dir, "srv")+" for /opt/srv: named 2 addresses, "+DoubtNoBuildID {
		t.Errorf("text: %s", s)
	}
}

func TestUserUnresolved(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "srv", app(idA, "good").build(t))
	stripped := app(idA, "")
	stripped.symtab = nil
	stripped.dynsym = []elfSym{fn("exported", 0x403100, 0x10)}
	put(t, dir, "stripped", stripped.build(t))
	r := mustNew(t, Options{Symfs: dir})
	for _, c := range []struct {
		m    Mapping
		addr uint64
		want string
	}{
		{appMap("/srv", idA), 0x7f0000002100, "good"},
		{appMap("/srv", idA), 0x7f00000021ff, "good"},
		{appMap("/srv", idA), 0x7f0000002200, WhyNoSymbol},
		{appMap("/srv", idA), 0x7f0000003000, WhyUnmapped},
		{Mapping{}, 0x7f0000002100, WhyUnmapped},
		{appMap("/stripped", nil), 0x7f0000002108, "exported"},
		{appMap("/stripped", nil), 0x7f0000002110, WhyStripped},
		{appMap("//anon", nil), appAddr, WhyAnon},
		{appMap("[stack]", nil), appAddr, WhyAnon},
		{appMap("/memfd:jit (deleted)", nil), appAddr, WhyAnon},
		{Mapping{Start: 0x7f0000002000, End: 0x7f0000003000, PgOff: 0x9000, Path: "/srv", BuildID: idA}, appAddr, WhyMismatch},
	} {
		if got := user(r, c.m, c.addr); got != c.want {
			t.Errorf("%s %#x: %q, want %q", c.m.Path, c.addr, got, c.want)
		}
		if Hint(c.want) == "" && c.want != "good" && c.want != "exported" && c.want != WhyNoSymbol {
			t.Errorf("no hint for %q", c.want)
		}
	}
}

// TestHostFiles checks that this machine's files serve only a capture with
// their build-id.
func TestHostFiles(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	put(t, root, "opt/srv", app(idA, "good").build(t))
	a, rest := hexID(idB)
	put(t, home, ".debug/.build-id/"+a+"/"+rest+"/elf", app(idB, "cached").build(t))
	host := newMachine(root, home)
	for _, c := range []struct {
		name   string
		noHost bool
		id     []byte
		want   string
	}{
		{"same build", false, idA, "good"},
		{"another build, in perf's cache", false, idB, "cached"},
		{"another build", false, []byte("build-id-C-of-20-by."), WhyBuildID},
		{"no build-id", false, nil, WhyNoBuildID},
		{"not wanted", true, idA, WhyMissing},
	} {
		r, err := newResolver(Options{NoHost: c.noHost}, host)
		if err != nil {
			t.Fatal(err)
		}
		if got := user(r, appMap("/opt/srv", c.id), appAddr); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestHostKernel checks that this machine's kallsyms serves only a capture of
// its own kernel.
func TestHostKernel(t *testing.T) {
	root := t.TempDir()
	put(t, root, "sys/kernel/notes", elfSpec{id: idA}.note())
	put(t, root, "proc/kallsyms", []byte(readFile(t, testKallsyms)))
	put(t, root, "proc/sys/kernel/hostname", []byte("web7\n"))
	put(t, root, "proc/sys/kernel/osrelease", []byte("6.1.0\n"))
	cases := []struct {
		id     []byte
		noHost bool
		want   string
	}{{idA, false, "do_nanosleep"}, {idB, false, WhyNoKernelSymbols}, {nil, false, WhyNoKernelSymbols}, {idA, true, WhyNoKernelSymbols}}
	for _, c := range cases {
		r, err := newResolver(Options{NoHost: c.noHost}, newMachine(root, ""))
		if err != nil {
			t.Fatal(err)
		}
		m := kernelMap(0)
		m.BuildID = c.id
		if f := r.Kernel(m, 0xffffffff810010a0, evidence.Host{}); f.Symbol+f.Why != c.want {
			t.Errorf("id %q, noHost %t: %+v, want %s", c.id, c.noHost, f, c.want)
		}
	}
	r, _ := newResolver(Options{}, newMachine(root, ""))
	for _, c := range []struct {
		h    evidence.Host
		id   []byte
		want bool
	}{
		{evidence.Host{Name: "web7", Release: "6.1.0"}, idA, true},
		{evidence.Host{Name: "web8", Release: "6.1.0"}, idA, false},
		{evidence.Host{Name: "web7", Release: "6.1.1"}, idA, false},
		{evidence.Host{Name: "web7", Release: "6.1.0"}, idB, false},
		{evidence.Host{Name: "web7", Release: "6.1.0"}, nil, false},
		{evidence.Host{}, idA, false},
	} {
		if got := r.IsThisHost(c.h, c.id); got != c.want {
			t.Errorf("%+v %q: %t", c.h, c.id, got)
		}
	}
}

func TestHiddenHostKernel(t *testing.T) {
	root := t.TempDir()
	put(t, root, "sys/kernel/notes", elfSpec{id: idA}.note())
	put(t, root, "proc/kallsyms", []byte("0000000000000000 T _stext\n0000000000000000 T do_nanosleep\n"))
	r, err := newResolver(Options{}, newMachine(root, ""))
	if err != nil {
		t.Fatal(err)
	}
	m := kernelMap(0)
	m.BuildID = idA
	if f := r.Kernel(m, 0xffffffff810010a0, evidence.Host{}); f.Why != WhyKernelHidden || Hint(f.Why) == "" {
		t.Errorf("got %+v", f)
	}
}

func TestDebugFiles(t *testing.T) {
	full := elfSpec{off: 0x2000, vaddr: 0x403000, text: 0x800, id: idA, symtab: []elfSym{fn("from_debug", 0x403100, 0x100)}, noPhdrs: true}
	plain := full
	plain.noID = true
	debug, noID := full.build(t), plain.build(t)
	stripped := func(id []byte, link string, data []byte) []byte {
		s := elfSpec{off: 0x2000, vaddr: 0x403000, text: 0x800, id: id, noID: id == nil, link: link, crc: crc32.ChecksumIEEE(data)}
		return s.build(t)
	}
	a, rest := hexID(idA)
	cases := []struct {
		name  string
		files map[string][]byte
		id    []byte
		want  string
	}{
		{"by build-id", map[string][]byte{"opt/srv": stripped(idA, "", nil), "usr/lib/debug/.build-id/" + a + "/" + rest + ".debug": debug}, idA, "from_debug"},
		{"beside it", map[string][]byte{"opt/srv": stripped(idA, "srv.dbg", debug), "opt/srv.dbg": debug}, idA, "from_debug"},
		{"in .debug", map[string][]byte{"opt/srv": stripped(idA, "srv.dbg", debug), "opt/.debug/srv.dbg": debug}, nil, "from_debug"},
		{"below /usr/lib/debug", map[string][]byte{"opt/srv": stripped(idA, "srv.dbg", debug), "usr/lib/debug/opt/srv.dbg": debug}, nil, "from_debug"},
		{"by checksum", map[string][]byte{"opt/srv": stripped(nil, "srv.dbg", noID), "opt/srv.dbg": noID}, nil, "from_debug"},
		{"another checksum", map[string][]byte{"opt/srv": stripped(nil, "srv.dbg", debug), "opt/srv.dbg": noID}, nil, WhyStripped},
		{"another build", map[string][]byte{"opt/srv": stripped(idB, "srv.dbg", debug), "opt/srv.dbg": debug}, nil, WhyStripped},
		{"a name that leads out", map[string][]byte{"opt/srv": stripped(idA, "../srv.dbg", debug), "srv.dbg": debug}, nil, WhyStripped},
		{"none", map[string][]byte{"opt/srv": stripped(idA, "", nil)}, idA, WhyStripped},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range c.files {
				put(t, dir, name, data)
			}
			r := mustNew(t, Options{Symfs: dir})
			if got := user(r, appMap("/opt/srv", c.id), appAddr); got != c.want {
				t.Errorf("got %q, want %q; %v", got, c.want, r.Report())
			}
		})
	}
}

func TestPlace(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := put(t, outside, "secret", []byte("x"))
	put(t, dir, "in/file", []byte("inside"))
	if err := os.Symlink(secret, filepath.Join(dir, "out")); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	if err := os.Symlink("in/file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := openSymfs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/in/file": "", "in/file": "", "/link": "", "/a/../in/file": "", "/out": WhyMissing, "/in": WhyNotFile,
		"/pipe": WhyNotFile, "/none": WhyMissing, "/../" + secret: WhyMissing, "/": WhyMissing} {
		f, why := p.open(name)
		if why != want {
			t.Errorf("%s: %q, want %q", name, why, want)
		}
		if f != nil {
			f.close()
		}
	}
	if _, err := New(Options{Symfs: filepath.Join(dir, "none")}); err == nil || !strings.Contains(err.Error(), "symfs") {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestJIT(t *testing.T) {
	text := []byte(readFile(t, "../../testdata/symbol/perf-4242.map"))
	dir, root := t.TempDir(), t.TempDir()
	put(t, dir, "tmp/perf-4242.map", text)
	put(t, root, "tmp/perf-4242.map", text)
	m := Mapping{Start: 0x7f0000000000, End: 0x7f0000010000, Path: "//anon", PID: 4242}
	r := mustNew(t, Options{Symfs: dir})
	for addr, want := range map[uint64]string{
		0x7f0000001050: "Interpreter", 0x7f0000001100: WhyAnon,
		0x7f0000002010: "Lcom/acme/Ledger;::post (again)", 0x7f0000002070: "Lcom/acme/Ledger;::post (again)",
		0x7f0000003000: WhyAnon, 0x7f0000004000: WhyAnon,
		0x7f0000005001: "LazyCompile:*on data /srv/app.js:12",
	} {
		if got := user(r, m, addr); got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
	m.PID = 4243
	if got := user(r, m, 0x7f0000001050); got != WhyAnon {
		t.Errorf("another process: %q", got)
	}
	m.PID = 4242
	for _, this := range []bool{false, true} {
		r, _ := newResolver(Options{}, newMachine(root, ""))
		m.ThisHost = this
		want := WhyAnon
		if this {
			want = "Interpreter"
		}
		if got := user(r, m, 0x7f0000001050); got != want {
			t.Errorf("on this machine, ThisHost %t: %q, want %q", this, got, want)
		}
	}
}

// TestOwnVDSO names an address in the vdso of this process, by its build-id.
func TestOwnVDSO(t *testing.T) {
	f, err := ownVDSO()
	if err != nil {
		t.Skipf("no vdso to read: %v", err)
	}
	e, err := readELF(f, f.size)
	if err != nil {
		t.Fatal(err)
	}
	tab, _, err := e.symbols(DefaultLimits, nil)
	if err != nil || tab == nil || len(e.loads) == 0 {
		t.Fatalf("no symbols: %v", err)
	}
	first := tab.syms[0].addr
	m := Mapping{Start: 0x7fff00000000, End: 0x7fff00002000, Path: "[vdso]", BuildID: e.buildID()}
	addr := m.Start + first - e.loads[0].vaddr + e.loads[0].off
	want, _ := tab.lookup(first)
	r := mustNew(t, Options{})
	if got := user(r, m, addr); got != pretty(want, 4096) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.BuildID = idA
	if got := user(r, m, addr); got != WhyBuildID {
		t.Errorf("another vdso: %q", got)
	}
	r = mustNew(t, Options{NoHost: true})
	if got := user(r, m, addr); got != WhyMissing {
		t.Errorf("without the host: %q", got)
	}
}

func FuzzJIT(f *testing.F) {
	f.Add([]byte(readFile(f, "../../testdata/symbol/perf-4242.map")))
	lim := Limits{NameBytes: 64}.orDefault()
	f.Fuzz(func(t *testing.T, b []byte) {
		tab, err := readJIT(bytes.NewReader(b), lim)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range tab.syms {
			if name, ok := tab.lookup(e.addr); !ok || len(name) > lim.NameBytes {
				t.Errorf("%#x: %q, %t", e.addr, name, ok)
			}
		}
	})
}

func TestPretty(t *testing.T) {
	for sym, want := range map[string]string{
		"main":                                      "main",
		"nanosleep@@GLIBC_2.2.5":                    "nanosleep",
		"@odd":                                      "@odd",
		"_ZNSt6thread4joinEv":                       "std::thread::join",
		"_ZN3FooIiSaIiEE3getEPKc":                   "Foo<int, std::allocator<int> >::get",
		"_ZN4core3fmt5write17h0123456789abcdefE":    "core::fmt::write",
		"_RNvCs15kBYyAo9fc_7mycrate3foo":            "mycrate::foo",
		"_ZN3bad":                                   "_ZN3bad",
		"go.shape.func() (struct { F uintptr })":    "go.shape.func() (struct { F uintptr })",
		strings.Repeat("x", 5000):                   strings.Repeat("x", 4093) + "…",
		"_Z" + strings.Repeat("N1a", 1300) + "1bEv": "",
	} {
		got := pretty(sym, 4096)
		if want != "" && got != want || len(got) > 4096 {
			t.Errorf("%.40q is %.60q (%d bytes), want %.60q", sym, got, len(got), want)
		}
	}
}

// TestUserAsPerf compares with perf's own resolution of the traced program.
func TestUserAsPerf(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures")
	checked := 0
	for _, symfs := range []string{filepath.Join(dir, "bin"), dir} {
		r := mustNew(t, Options{Symfs: symfs})
		for _, name := range perfResolved {
			prog := "netio"
			if strings.HasSuffix(name, "dwarf") {
				prog = "netio_nofp"
			}
			m := Mapping{Start: 0x2000, End: 0x3000, PgOff: 0x2000, Path: "/opt/demo/app/bin/" + prog}
			for _, want := range perfStacks(t, filepath.Join(dir, "local", name, "stacks.perf61.txt")) {
				if want.addr < m.Start || want.addr >= m.End || want.name == "[unknown]" {
					continue
				}
				checked++
				if got := user(r, m, want.addr); got != want.name {
					t.Errorf("%s in %s: %#x is %q, perf says %s", prog, symfs, want.addr, got, want.name)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d user frames", checked)
	}
	t.Logf("%d user frames named as perf names them", checked)
}

func TestStrippedShared(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "bin")
	r := mustNew(t, Options{Symfs: dir})
	m := Mapping{Start: 0x2000, End: 0x3000, PgOff: 0x2000, Path: "/opt/demo/app/bin/netio_stripped"}
	if got := user(r, m, 0x281c); got != WhyStripped {
		t.Errorf("got %q", got)
	}
}

func BenchmarkELF(b *testing.B) {
	data := []byte(readFile(b, filepath.Join(shared.Dir(b), "fixtures", "bin", "netio")))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if read(data) == 0 {
			b.Fatal("no symbols")
		}
	}
}
