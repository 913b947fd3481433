package symbol

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

// program is a file whose addresses are compared with what other tools say.
type program struct {
	name   string
	elf    *elf.File
	r      *Resolver
	starts map[string]map[uint64]bool // where functions of a name begin
}

func openProgram(t testing.TB, name string, opt Options) *program {
	t.Helper()
	e, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if opt.Symfs == "" {
		opt.Symfs = filepath.Dir(name)
	}
	p := &program{name: name, elf: e, r: mustNew(t, opt), starts: map[string]map[uint64]bool{}}
	syms, _ := e.Symbols()
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			name := pretty(s.Name, DefaultLimits.NameBytes)
			if p.starts[name] == nil {
				p.starts[name] = map[uint64]bool{}
			}
			p.starts[name][s.Value] = true
		}
	}
	return p
}

// frames resolves an address of the file's own.
func (p *program) frames(addr uint64) []evidence.Frame {
	for _, s := range p.elf.Progs {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr >= s.Vaddr && addr < s.Vaddr+s.Filesz {
			m := Mapping{Start: s.Off, End: s.Off + s.Filesz, PgOff: s.Off, Path: "/" + filepath.Base(p.name)}
			return p.r.User(m, addr-s.Vaddr+s.Off)
		}
	}
	return nil
}

// sample returns n addresses of .text.
func (p *program) sample(n int) (out []uint64) {
	s := p.elf.Section(".text")
	step := max(s.Size/uint64(n), 1) | 1
	for a := s.Addr; a < s.Addr+s.Size; a += step {
		out = append(out, a)
	}
	return out
}

// sameName reports whether a peer means the function that was found: that name,
// or another one of a symbol at the same address.
func (p *program) sameName(got, want string) bool {
	if want = pretty(want, DefaultLimits.NameBytes); got == want {
		return true
	}
	for addr := range p.starts[got] {
		if p.starts[want][addr] {
			return true
		}
	}
	return false
}

// tool runs a symbolizer over addresses.
func tool(t testing.TB, addrs []uint64, name string, args ...string) string {
	t.Helper()
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

// llvmSymbolizer returns what llvm-symbolizer says, mangled.
func llvmSymbolizer(t testing.TB, file string, addrs []uint64) (all [][]evidence.Frame) {
	out := tool(t, addrs, "llvm-symbolizer", "-e", file, "--no-demangle", "--functions=linkage")
	for _, part := range strings.Split(strings.TrimSuffix(out, "\n\n"), "\n\n") {
		var fr []evidence.Frame
		lines := strings.Split(part, "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			fr = append(fr, peerFrame(lines[i], lines[i+1]))
		}
		all = append(all, fr)
	}
	return all
}

// addr2line returns what addr2line says, mangled.
func addr2line(t testing.TB, file string, addrs []uint64) (all [][]evidence.Frame) {
	lines := strings.Split(tool(t, addrs, "addr2line", "-a", "-i", "-f", "-e", file), "\n")
	for i := 0; i+1 < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			all = append(all, nil)
			i++
			continue
		}
		all[len(all)-1] = append(all[len(all)-1], peerFrame(lines[i], lines[i+1]))
		i += 2
	}
	return all
}

var placePattern = regexp.MustCompile(`^(.*?):([0-9?]+)(?::[0-9]+)?(?: \(discriminator [0-9]+\))?$`)

// peerFrame reads a function and "file:line:column".
func peerFrame(fn, place string) evidence.Frame {
	f := evidence.Frame{Symbol: fn}
	if m := placePattern.FindStringSubmatch(place); m != nil && m[1] != "??" {
		f.File = path.Clean(m[1])
		f.Line, _ = strconv.Atoi(m[2])
	}
	if f.Symbol == "??" {
		f.Symbol = ""
	}
	return f
}

// tally counts a comparison.
type tally struct{ same, bare, differ int }

// compare compares frame by frame. places compares the source lines only.
func (p *program) compare(t testing.TB, addrs []uint64, want [][]evidence.Frame, places bool) (n tally) {
	t.Helper()
	if len(want) != len(addrs) {
		t.Fatalf("%s: %d answers to %d addresses", p.name, len(want), len(addrs))
	}
	for i, a := range addrs {
		got := p.frames(a)
		switch {
		case len(want[i]) == 1 && (want[i][0].File == "" || want[i][0].Line == 0) && len(got) == 1 && got[0].Line == 0:
			n.bare++ // code without debug information
			if !places && want[i][0].Symbol != "" && !p.sameName(got[0].Symbol, want[i][0].Symbol) {
				t.Errorf("%s %#x: named %q, want %q", p.name, a, got[0].Symbol, want[i][0].Symbol)
			}
		case p.sameFrames(got, want[i], places):
			n.same++
		default:
			if n.differ++; n.differ <= 3 {
				t.Errorf("%s %#x:\n got  %+v\n want %+v", p.name, a, got, want[i])
			}
		}
	}
	return n
}

func (p *program) sameFrames(got, want []evidence.Frame, places bool) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i].File != want[i].File || got[i].Line != want[i].Line || got[i].Inlined != (i < len(got)-1) {
			return false
		}
		// Names without a linkage name have their namespaces here.
		if !places && !p.sameName(got[i].Symbol, want[i].Symbol) && !strings.HasSuffix(got[i].Symbol, "::"+want[i].Symbol) {
			return false
		}
	}
	return true
}

func needTools(t testing.TB, names ...string) {
	t.Helper()
	for _, n := range names {
		if _, err := exec.LookPath(n); err != nil {
			t.Skipf("no %s on this machine", n)
		}
	}
}

// builds are ways to build the programs of the fixtures. With addr2line, its
// source lines are compared as well. Not its names: it puts the symbol's name in
// the place of an inlined function's; nor what it says by DWARF 5, where it
// takes lines of headers for those of the main file (both as of binutils 2.40).
var builds = []struct {
	name, src string
	addr2line bool
	command   []string
}{
	{"gcc-dwarf4", "queue.cc", true, []string{"g++", "-O2", "-g", "-gdwarf-4"}},
	{"gcc-dwarf5", "queue.cc", false, []string{"g++", "-O2", "-g", "-gdwarf-5"}},
	{"gcc-O0", "queue.cc", false, []string{"g++", "-g"}},
	{"gcc-gz", "queue.cc", false, []string{"g++", "-O2", "-g", "-gz=zlib"}},
	{"gcc-dwarf64", "queue.cc", false, []string{"g++", "-O2", "-g", "-gdwarf64"}},
	{"gcc-types", "queue.cc", true, []string{"g++", "-O2", "-g", "-gdwarf-4", "-fdebug-types-section"}},
	{"gcc-lto", "queue.cc", false, []string{"g++", "-O3", "-g", "-flto"}},
	{"gcc-sections", "queue.cc", false, []string{"g++", "-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"}},
	{"clang-dwarf4", "queue.cc", true, []string{"clang++-14", "-O2", "-g", "-gdwarf-4"}},
	{"clang-dwarf5", "queue.cc", false, []string{"clang++-14", "-O2", "-g", "-gdwarf-5"}},
	{"lld-thinlto", "queue.cc", false, []string{"clang++-14", "-O2", "-g", "-flto=thin", "-fuse-ld=lld-14"}},
	{"rust", "work.rs", true, []string{"rustc", "-g", "-O"}},
	{"rust-lto", "work.rs", true, []string{"rustc", "-g", "-C", "opt-level=3", "-C", "lto=fat"}},
	{"go", "work.go", false, []string{"go", "build"}},
}

// quick are the builds that are always compared; CTXAN_PEERS=all in the
// environment compares all of them, which takes a minute.
const quick = " gcc-dwarf4 clang-dwarf5 go "

// TestSourcePeers compares the frames of programs of several compilers with
// what llvm-symbolizer and addr2line say.
func TestSourcePeers(t *testing.T) {
	needTools(t, "llvm-symbolizer")
	dir := t.TempDir()
	src, err := filepath.Abs(fixtures + "src")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			needTools(t, b.command[0])
			if os.Getenv("CTXAN_PEERS") != "all" && !strings.Contains(quick, " "+b.name+" ") {
				t.Skip("only with CTXAN_PEERS=all")
			}
			out := filepath.Join(dir, b.name)
			cmd := exec.Command(b.command[0], append(b.command[1:], "-o", out, filepath.Join(src, b.src))...)
			cmd.Dir = dir
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("%v: %v: %s", cmd.Args, err, text)
			}
			compareSource(t, out, 1000, b.addr2line)
		})
	}
}

// compareSource compares n addresses of a file, and returns how many have
// source lines that are the same.
func compareSource(t *testing.T, file string, n int, lines bool) (same int) {
	t.Helper()
	p := openProgram(t, file, Options{NoHost: true})
	addrs := p.sample(n)
	l := p.compare(t, addrs, llvmSymbolizer(t, file, addrs), false)
	if l.same < len(addrs)/4 {
		t.Errorf("%s: only %d of %d addresses have source lines", file, l.same, len(addrs))
	}
	t.Logf("%s: %d addresses as llvm-symbolizer has them, %d without source, %d differ", filepath.Base(file), l.same, l.bare, l.differ)
	if _, err := exec.LookPath("addr2line"); lines && err == nil {
		a := p.compare(t, addrs, addr2line(t, file, addrs), true)
		t.Logf("%s: %d addresses as addr2line has them, %d without source, %d differ", filepath.Base(file), a.same, a.bare, a.differ)
	}
	return l.same
}

// TestSourceShared compares all addresses of the recorded programs.
func TestSourceShared(t *testing.T) {
	dir := shared.Dir(t)
	needTools(t, "llvm-symbolizer")
	files, err := filepath.Glob(filepath.Join(dir, "lab", "*", "bin", "*"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, name := range []string{"netio", "netio_nofp", "work"} {
		files = append(files, filepath.Join(dir, "fixtures", "bin", name))
	}
	same := 0
	for _, f := range files {
		same += compareSource(t, f, 1<<20, false)
	}
	t.Logf("%d addresses of %d programs as llvm-symbolizer has them", same, len(files))
}

// TestSharedDebug compares files before and after dwz moved to a third one what
// two of them share.
func TestSharedDebug(t *testing.T) {
	needTools(t, "g++", "dwz")
	dir := t.TempDir()
	src, err := filepath.Abs(fixtures + "src/queue.cc")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, level := range []string{"1", "2"} {
		f := filepath.Join(dir, "before", "O"+level)
		put(t, dir, "before/O"+level, nil)
		if out, err := exec.Command("g++", "-gdwarf-4", "-Wl,--build-id", "-O"+level, "-o", f, src).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
		files = append(files, put(t, dir, "O"+level, []byte(readFile(t, f))))
	}
	cmd := exec.Command("dwz", append([]string{"-m", "common"}, files...)...)
	if cmd.Dir = dir; cmd.Run() != nil {
		t.Skip("dwz shares nothing")
	}
	for _, f := range files {
		before, after := openProgram(t, filepath.Join(dir, "before", filepath.Base(f)), Options{NoHost: true}), openProgram(t, f, Options{NoHost: true})
		inlined := 0
		for _, a := range before.sample(1000) {
			want, got := text(before.frames(a)), text(after.frames(a))
			if inlined += strings.Count(want, ";"); got != want {
				t.Errorf("%s %#x: %s, want %s", f, a, got, want)
			}
		}
		if inlined < 500 {
			t.Errorf("only %d inlined frames", inlined)
		}
	}
}

// BenchmarkSource opens a program and looks up 10000 addresses.
func BenchmarkSource(b *testing.B) {
	for _, c := range []struct {
		name, src string
		command   []string
	}{
		{"cplusplus", "queue.cc", []string{"g++", "-O2", "-g"}},
		{"rust", "work.rs", []string{"rustc", "-g", "-O"}},
		{"go", "work.go", []string{"go", "build"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			needTools(b, c.command[0])
			src, err := filepath.Abs(fixtures + "src/" + c.src)
			if err != nil {
				b.Fatal(err)
			}
			file := filepath.Join(b.TempDir(), c.name)
			if out, err := exec.Command(c.command[0], append(c.command[1:], "-o", file, src)...).CombinedOutput(); err != nil {
				b.Skipf("%v: %s", err, out)
			}
			info, err := os.Stat(file)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			var frames, held float64
			for b.Loop() {
				p := openProgram(b, file, Options{NoHost: true})
				frames = 0
				for _, a := range p.sample(10000) {
					frames += float64(len(p.frames(a)))
				}
				held = float64(p.r.budget.Used())
			}
			b.ReportMetric(frames, "frames/op")
			b.ReportMetric(held, "held-B")
		})
	}
}
