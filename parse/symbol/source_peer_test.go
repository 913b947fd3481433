package symbol

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
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
			fr = append(fr, peerFrame(lines[i], lines[i+1][:strings.LastIndexByte(lines[i+1], ':')]))
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

// peerFrame reads a function and "file:line".
func peerFrame(fn, place string) evidence.Frame {
	place, _, _ = strings.Cut(place, " (discriminator")
	i := strings.LastIndexByte(place, ':')
	f := evidence.Frame{Symbol: fn, File: place[:i]}
	f.Line, _ = strconv.Atoi(place[i+1:])
	if f.Symbol == "??" {
		f.Symbol = ""
	}
	if f.File == "??" {
		f.File = ""
	} else {
		f.File = path.Clean(f.File)
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
		if !places && !p.sameName(got[i].Symbol, want[i].Symbol) {
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

func TestDevPeer(t *testing.T) {
	shared.Dir(t)
	for _, name := range strings.Fields(os.Getenv("BINS")) {
		p := openProgram(t, name, Options{NoHost: true})
		addrs := p.sample(4000)
		a := p.compare(t, addrs, llvmSymbolizer(t, name, addrs), false)
		var b tally
		if os.Getenv("A2L") != "" {
			b = p.compare(t, addrs, addr2line(t, name, addrs), true)
		}
		t.Logf("%s llvm %+v addr2line %+v held %d", name, a, b, p.r.budget.Used())
	}
}

func BenchmarkDev(b *testing.B) {
	for _, name := range strings.Fields(os.Getenv("BINS")) {
		b.Run(filepath.Base(name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := openProgram(b, name, Options{NoHost: true})
				n := 0
				for _, a := range p.sample(10000) {
					n += len(p.frames(a))
				}
				b.ReportMetric(float64(n), "frames")
				b.ReportMetric(float64(p.r.budget.Used()), "held-B")
			}
		})
	}
}
