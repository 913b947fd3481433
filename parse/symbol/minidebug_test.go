package symbol

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/ulikunitz/xz"
)

func packXZ(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// minidebug is a stripped program with one exported function and two others
// that only .gnu_debugdata has.
func minidebug(t testing.TB) elfSpec {
	t.Helper()
	s := app(idA, "")
	s.symtab = nil
	s.dynsym = []elfSym{fn("exported", 0x403100, 0)}
	mini := app(idA, "")
	mini.symtab = []elfSym{fn("hidden", 0x403180, 0x40), fn("last", 0x4031c0, 0x40)}
	s.extra = []builtSection{{".gnu_debugdata", elf.Section64{Type: uint32(elf.SHT_PROGBITS)}, packXZ(t, mini.build(t))}}
	return s
}

func TestMiniDebugInfo(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "opt/srv", minidebug(t).build(t))
	r := mustNew(t, Options{Symfs: dir, NoHost: true})
	for addr, want := range map[uint64]string{
		0x7f0000002100: "exported", 0x7f000000217f: "exported", // up to the next one, which is hidden
		0x7f0000002180: "hidden", 0x7f00000021c0: "last", 0x7f0000002200: WhyNoSymbol,
	} {
		if got := user(r, appMap("/opt/srv", idA), addr); got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
}

func TestBadMiniDebugInfo(t *testing.T) {
	good := minidebug(t).extra[0].data
	for name, data := range map[string][]byte{"not packed": []byte("\x7fELF"), "cut": good[:len(good)/2], "not ELF": packXZ(t, []byte("text")), "empty": {0}} {
		dir := t.TempDir()
		s := minidebug(t)
		s.extra[0].data = data
		put(t, dir, "opt/srv", s.build(t))
		r := mustNew(t, Options{Symfs: dir, NoHost: true})
		if got := user(r, appMap("/opt/srv", idA), 0x7f0000002100); got != "exported" {
			t.Errorf("%s: %q", name, got)
		}
		if u := r.Report(); len(u) != 2 {
			t.Errorf("%s: not told: %v", name, u)
		}
	}
}

func TestXZDictionary(t *testing.T) {
	head := packXZ(t, []byte("x"))
	if n := xzDictionary(head); n != 8<<20 {
		t.Errorf("%d bytes", n)
	}
	if head[14] != 0x21 {
		t.Fatalf("no LZMA2 filter at 14: % x", head[:20])
	}
	head[16] = 40
	if n := xzDictionary(head); n != 1<<32-1 {
		t.Errorf("%d bytes", n)
	}
	if _, err := unpacked(bytes.NewReader(head)); err == nil {
		t.Error("a dictionary of 4 GiB is taken")
	}
}
