package symbol

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goProgram is a program with the table of two Go functions, main.main at
// jobsText and main.work 0x40 after it.
func goProgram(t testing.TB, placed bool) []byte {
	t.Helper()
	le := binary.LittleEndian
	words := func(v ...uint32) (b []byte) {
		for _, x := range v {
			b = le.AppendUint32(b, x)
		}
		return b
	}
	names, units, files := "\x00main.main\x00main.work\x00", words(0, 13), "/src/main.go\x00/src/lib.go\x00"
	pcs := []byte{0,
		2, 0x40, 0, // 1: file 0 all over
		22, 0x10, 4, 0x30, 0, // 4: line 10, then 12
		2, 0x10, 2, 0x10, 1, 0x20, 0, // 9: file 0, 1, 0
		42, 0x40, 0, // 16: line 20
	}
	const list = 2*goEntry + 4
	funcs := words(0, list, 0x40, list+44, 0x80)
	funcs = append(funcs, words(0, 1, 0, 0, 0, 1, 4, 0, 0, 9, 0)...)
	funcs = append(funcs, words(0x40, 11, 0, 0, 0, 9, 16, 0, 0, 19, 0)...)
	head, body := words(goMagic120), []byte{}
	head = append(head, 0, 0, 1, 8)
	offset := []uint64{2, 2, 0}
	if placed {
		offset[2] = jobsText
	}
	for _, part := range [][]byte{[]byte(names), units, []byte(files), pcs, funcs} {
		offset = append(offset, 8+8*8+uint64(len(body)))
		body = append(append(body, part...), make([]byte, -len(part)&7)...)
	}
	for _, v := range offset {
		head = le.AppendUint64(head, v)
	}
	s := jobs(t, idA, "")
	s.extra = []builtSection{{".gopclntab", elf.Section64{Type: uint32(elf.SHT_PROGBITS), Addr: 0x500000}, append(head, body...)}}
	return s.build(t)
}

func TestGoTable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "opt/jobs", goProgram(t, true))
	r := mustNew(t, Options{Symfs: dir, NoHost: true})
	for addr, want := range map[uint64]string{
		jobsText:        "main.main /src/main.go:10",
		jobsText + 0x0f: "main.main /src/main.go:10",
		jobsText + 0x10: "main.main /src/main.go:12",
		jobsText + 0x40: "main.work /src/main.go:20",
		jobsText + 0x50: "main.work :0", // of another file: something inlined
		jobsText + 0x60: "main.work /src/main.go:20",
		jobsText + 0x80: WhyStripped + " :0",
	} {
		if got := at(r, idA, addr); got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
	put(t, dir, "opt/jobs", goProgram(t, false))
	r = mustNew(t, Options{Symfs: dir, NoHost: true})
	if got := at(r, idA, jobsText); got != WhyStripped+" :0" {
		t.Errorf("a table that is not placed: %s", got)
	}
}

// goBuild builds the Go program of the fixtures.
func goBuild(t testing.TB, name string, args ...string) string {
	t.Helper()
	needTools(t, "go")
	src, err := filepath.Abs(fixtures + "src/work.go")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, args...), src)...)
	cmd.Dir = filepath.Dir(out)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("go build %v: %v: %s", args, err, b)
	}
	return out
}

// TestGoStripped compares all functions of stripped programs with the symbol
// table of the same program before, and lines with debug/gosym.
func TestGoStripped(t *testing.T) {
	for name, args := range map[string][]string{"exe": nil, "pie": {"-buildmode=pie"}, "external": {"-ldflags=-linkmode=external"}} {
		t.Run(name, func(t *testing.T) {
			if name == "external" {
				needTools(t, "gcc", "strip")
			}
			whole := goBuild(t, "whole", args...)
			bare := filepath.Join(filepath.Dir(whole), "bare")
			needTools(t, "strip")
			if out, err := exec.Command("strip", "-o", bare, whole).CombinedOutput(); err != nil {
				t.Fatalf("strip: %v: %s", err, out)
			}
			compareGo(t, whole, bare)
		})
	}
}

func compareGo(t *testing.T, whole, bare string) {
	t.Helper()
	truth, err := elf.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer truth.Close()
	syms, err := truth.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	lines := goLines(t, truth, syms)
	p := openProgram(t, bare, Options{NoHost: true})
	functions, withLine := 0, 0
	for _, s := range syms {
		fn := lines.PCToFunc(s.Value)
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || fn == nil || fn.Entry != s.Value || fn.Name != s.Name {
			continue // not of Go, or another name for its code
		}
		functions++
		for a := s.Value; a < s.Value+s.Size; a += 1 + s.Size/7 {
			fr := p.frames(a)
			if len(fr) != 1 || fr[0].Symbol != s.Name {
				t.Errorf("%#x: %s, want %s", a, text(fr), s.Name)
				continue
			}
			file, line, _ := lines.PCToLine(a)
			own, _, _ := lines.PCToLine(s.Value)
			if fr[0].File == "" && (file != own || line <= 0) {
				continue
			}
			withLine++
			if fr[0].File != filepath.Clean(file) || fr[0].Line != line {
				t.Errorf("%#x: %s, want %s:%d", a, text(fr), file, line)
			}
		}
	}
	if functions < 1000 || withLine < 4000 {
		t.Errorf("only %d functions, %d lines", functions, withLine)
	}
	t.Logf("%d functions and %d lines as debug/gosym has them", functions, withLine)
}

func goLines(t *testing.T, e *elf.File, syms []elf.Symbol) *gosym.Table {
	t.Helper()
	var start uint64
	for _, s := range syms {
		if s.Name == "runtime.text" {
			start = s.Value
		}
	}
	for _, s := range e.Sections {
		if strings.HasSuffix(s.Name, ".gopclntab") {
			b, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			tab, err := gosym.NewTable(nil, gosym.NewLineTable(b, start))
			if err != nil {
				t.Fatal(err)
			}
			return tab
		}
	}
	t.Fatal("no .gopclntab")
	return nil
}

// TestGoWithoutDWARF takes the lines of a program that has a symbol table only.
func TestGoWithoutDWARF(t *testing.T) {
	before, _, _ := strings.Cut(readFile(t, fixtures+"src/work.go"), "\nfunc main() {")
	line := strings.Count(before, "\n") + 2
	p := openProgram(t, goBuild(t, "symbols", "-ldflags=-w"), Options{NoHost: true})
	for addr := range p.starts["main.main"] {
		fr := p.frames(addr)
		if len(fr) != 1 || fr[0].Symbol != "main.main" || filepath.Base(fr[0].File) != "work.go" || fr[0].Line != line {
			t.Errorf("%#x: %s", addr, text(fr))
		}
	}
}
