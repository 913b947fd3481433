package symbol

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPLT compares the names of all PLT entries with objdump's.
func TestPLT(t *testing.T) {
	needTools(t, "gcc", "g++", "objdump")
	dir := t.TempDir()
	src := filepath.Join(dir, "plt.c")
	text := `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { puts("x"); usleep(1); void *p = malloc(3); free(p); atexit((void (*)(void))abort); return getpid(); }
`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, c := range []struct {
		cc   string
		args []string
	}{
		{"gcc", nil}, {"gcc", []string{"-no-pie"}}, {"gcc", []string{"-Wl,-z,now"}}, {"gcc", []string{"-fcf-protection", "-Wl,-z,ibtplt"}},
		{"gcc", []string{"-fno-plt"}}, {"aarch64-linux-gnu-gcc", nil}, {"aarch64-linux-gnu-gcc", []string{"-mbranch-protection=standard", "-Wl,-z,force-bti"}},
	} {
		if _, err := exec.LookPath(c.cc); err != nil {
			continue
		}
		out := filepath.Join(dir, "prog")
		if b, err := exec.Command(c.cc, append([]string{"-O2", "-s", "-o", out, src}, c.args...)...).CombinedOutput(); err != nil {
			t.Logf("%s %v: %v: %s", c.cc, c.args, err, b)
			continue
		}
		n := comparePLT(t, out, strings.TrimSuffix(c.cc, "gcc")+"objdump")
		t.Logf("%s %v: %d entries", c.cc, c.args, n)
		total += n
	}
	if total < 15 {
		t.Errorf("only %d entries", total)
	}
}

func comparePLT(t *testing.T, file, objdump string) (n int) {
	t.Helper()
	out, err := exec.Command(objdump, "-d", file).Output()
	if err != nil {
		t.Skipf("%s: %v", objdump, err)
	}
	p := openProgram(t, file, Options{NoHost: true})
	for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]+) <([^>]+)@plt>:$`).FindAllStringSubmatch(string(out), -1) {
		addr, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		n++
		for _, a := range []uint64{addr, addr + 4, addr + 6} {
			if fr := p.frames(a); len(fr) != 1 || fr[0].Symbol != m[2]+"@plt" {
				t.Errorf("%s %#x: %+v, want %s@plt", file, a, fr, m[2])
			}
		}
	}
	return n
}

func TestPLTNames(t *testing.T) {
	for sym, want := range map[string]string{"usleep@plt": "usleep@plt", "_ZNSt6thread4joinEv@plt": "std::thread::join@plt", "@plt": "@plt"} {
		if got := pretty(sym, 4096); got != want {
			t.Errorf("%s: %s, want %s", sym, got, want)
		}
	}
}

// TestPLTNeedsDynsym checks a relocation section that leads nowhere.
func TestPLTNeedsDynsym(t *testing.T) {
	s := app(idA, "f")
	s.dynsym = []elfSym{fn("g", 0x403100, 4)}
	s.extra = []builtSection{{".rela.plt", elf.Section64{Type: uint32(elf.SHT_RELA), Link: 99}, make([]byte, 48)}}
	f := memFile(s.build(t))
	e, err := readELF(f, f.size)
	if err != nil {
		t.Fatal(err)
	}
	if tab := e.pltTable(DefaultLimits); tab != nil {
		t.Errorf("got %d entries", len(tab.syms))
	}
}
