package symbol

import (
	"bytes"
	"debug/elf"
	"fmt"
	"testing"
)

// layouts are the four kinds of ELF file.
var layouts = []struct{ narrow, big bool }{{false, false}, {false, true}, {true, false}, {true, true}}

func TestELFSymbols(t *testing.T) {
	syms := []elfSym{
		fn("first", 0x11000, 0x20),
		fn("_ZN3app5Queue4pushIiEEvT_", 0x11020, 0x30),
		fn("outer", 0x11100, 0x100),
		fn("inner", 0x11140, 0x10),
		{name: "label_in_outer", value: 0x11180, sec: ".text"},
		{name: "asm_entry", value: 0x11300, bind: elf.STB_GLOBAL, sec: ".text"},
		{name: "$x", value: 0x11310, sec: ".text"},
		{name: "weak_name", value: 0x11400, size: 0x10, typ: elf.STT_FUNC, bind: elf.STB_WEAK, sec: ".text"},
		{name: "__strong_name", value: 0x11400, size: 0x10, typ: elf.STT_FUNC, bind: elf.STB_GLOBAL, sec: ".text"},
		{name: "local_longer_name", value: 0x11400, size: 0x10, typ: elf.STT_FUNC, sec: ".text"},
		{name: "picks_cpu", value: 0x11500, size: 0x10, typ: elf.STT_GNU_IFUNC, bind: elf.STB_GLOBAL, sec: ".text"},
		fn("nanosleep@@GLIBC_2.2.5", 0x11520, 0x10),
		fn("no_size_at_the_end", 0x11f00, 0),
		{name: "imported", typ: elf.STT_FUNC, bind: elf.STB_GLOBAL, size: 8},
		{name: "a_table", value: 0x111000, size: 0x40, typ: elf.STT_OBJECT, bind: elf.STB_GLOBAL, sec: ".data"},
	}
	want := map[uint64]string{
		0x11000: "first", 0x1101f: "first", 0x11020: "app::Queue::push<int>", 0x1104f: "app::Queue::push<int>", 0x11050: "",
		0x11100: "outer", 0x1113f: "outer", 0x11140: "inner", 0x1114f: "inner", 0x11150: "outer", 0x11190: "outer", 0x11200: "",
		0x11300: "asm_entry", 0x11350: "asm_entry", 0x11400: "__strong_name", 0x11410: "", 0x11505: "picks_cpu",
		0x11525: "nanosleep", 0x11f20: "no_size_at_the_end",
		0x11fd0: "", // .plt
	}
	for _, l := range layouts {
		t.Run(fmt.Sprintf("narrow=%t big=%t", l.narrow, l.big), func(t *testing.T) {
			spec := elfSpec{narrow: l.narrow, big: l.big, off: 0x1000, vaddr: 0x11000, text: 0x1000, id: []byte{0xab, 1, 2, 3, 4}, symtab: syms}
			f := memFile(spec.build(t))
			e, err := readELF(f, f.size)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.buildID(); !bytes.Equal(got, spec.id) {
				t.Errorf("build-id %x, want %x", got, spec.id)
			}
			tab, full, err := e.symbols(DefaultLimits, nil)
			if err != nil || !full {
				t.Fatal(full, err)
			}
			for addr, name := range want {
				got, ok := tab.lookup(addr)
				if got = pretty(got, 4096); got != name || ok != (name != "") {
					t.Errorf("%#x is %q, want %q", addr, got, name)
				}
			}
		})
	}
}

func TestELFDynsymOnly(t *testing.T) {
	spec := elfSpec{off: 0x1000, vaddr: 0x1000, text: 0x1000, dynsym: []elfSym{fn("exported", 0x1010, 0x10)}}
	f := memFile(spec.build(t))
	e, err := readELF(f, f.size)
	if err != nil {
		t.Fatal(err)
	}
	tab, full, err := e.symbols(DefaultLimits, nil)
	if err != nil || full {
		t.Fatal(full, err)
	}
	if name, _ := tab.lookup(0x1018); name != "exported" {
		t.Errorf("got %q", name)
	}
}

func TestELFThumbBit(t *testing.T) {
	spec := elfSpec{narrow: true, machine: elf.EM_ARM, off: 0x1000, vaddr: 0x1000, text: 0x1000, symtab: []elfSym{fn("thumb", 0x1011, 0x10)}}
	f := memFile(spec.build(t))
	e, _ := readELF(f, f.size)
	tab, _, err := e.symbols(DefaultLimits, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := tab.lookup(0x1010); name != "thumb" {
		t.Errorf("got %q", name)
	}
}

// TestNamesOnDisk reads the names of a table whose strings stay in the file.
func TestNamesOnDisk(t *testing.T) {
	n := &names{r: bytes.NewReader([]byte("\x00first\x00second"))}
	for off, want := range map[uint32]string{1: "first", 7: "second", 9: "cond", 100: ""} {
		if got := n.at(off, 64); got != want {
			t.Errorf("at %d: %q, want %q", off, got, want)
		}
	}
	if got := n.at(1, 3); got != "fir" {
		t.Errorf("limit: %q", got)
	}
}

func TestSameID(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"abcdefgh", "abcdefgh", true},
		{"abcdefgh", "abcdefgh\x00\x00\x00\x00", true}, // as perf pads it
		{"abcdefgh", "abcdefghi", false},
		{"", "", false},
		{"", "\x00\x00", false},
	} {
		if got := sameID([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q, %q: %t", c.a, c.b, got)
		}
	}
}

// TestHostileELF checks that damage is an error or an empty answer, quickly.
func TestHostileELF(t *testing.T) {
	good := elfSpec{off: 0x1000, vaddr: 0x1000, text: 0x1000, id: []byte("0123456789"), symtab: []elfSym{fn("f", 0x1000, 16)}}.build(t)
	for n := 0; n < len(good); n += 7 {
		read(good[:n])
	}
	for i := range good {
		if good[i] == 0 && i > 64 && i < 0x200 {
			continue
		}
		bad := bytes.Clone(good)
		for _, v := range []byte{0, 0x7f, 0xff} {
			bad[i] = v
			read(bad)
		}
	}
	many := bytes.Clone(good)
	many[0x3c], many[0x3d] = 0xff, 0xfe // sections
	if _, err := readELF(bytes.NewReader(many), int64(len(many))); err == nil {
		t.Error("more sections than the file holds: no error")
	}
}

// read does with a file all that a resolver does.
func read(b []byte) int {
	e, err := readELF(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return 0
	}
	e.buildID()
	e.debugLink()
	t, _, err := e.symbols(DefaultLimits, map[string]uint64{})
	if err != nil || t == nil {
		return 0
	}
	for i := range t.syms {
		name, _ := t.lookup(t.syms[i].addr)
		pretty(name, DefaultLimits.NameBytes)
	}
	return len(t.syms)
}

func FuzzELF(f *testing.F) {
	for _, l := range layouts {
		f.Add(elfSpec{narrow: l.narrow, big: l.big, off: 0x200, vaddr: 0x400000, text: 0x80, id: []byte("0123456789"), link: "x.debug",
			symtab: []elfSym{fn("main", 0x400000, 16), fn("_ZN1a1bEv", 0x400010, 0)}, dynsym: []elfSym{fn("e", 0x400000, 16)}}.build(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := read(b); n > len(b)/sym32Bytes {
			t.Errorf("%d symbols out of %d bytes", n, len(b))
		}
	})
}
