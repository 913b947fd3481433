package unwind

import (
	"debug/elf"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"ctxan/parse/symbol"
)

// words makes a stack of 8-byte words.
func words(w ...uint64) []byte {
	var b []byte
	for _, v := range w {
		b = le.AppendUint64(b, v)
	}
	return b
}

const stackAt = 0x7ffc00000000

// regsOf makes registers by DWARF number.
func regsOf(arch Arch, set map[uint8]uint64) *Regs {
	r := &Regs{arch: arch}
	r.set(specs[arch].sp, stackAt)
	for n, v := range set {
		r.set(n, v)
	}
	return r
}

const (
	a0 = mappedAt + codeAt // code that has CFI up to noCFI
	// noCFI is code without.
	noCFI = a0 + 0x800
)

// codeX86 is code of which every 16th byte is behind a call of 5 bytes.
func codeX86() []byte {
	code := make([]byte, 0x1000)
	for at := 16; at < len(code); at += 16 {
		code[at-5] = 0xe8
	}
	return code
}

// fileX86 has CFI for the first half of its code: plain calls, then from 0x400
// on code with a frame pointer.
func fileX86() built {
	cie := cieOf(true, 1, "", 16, x86CIE...)
	return built{machine: elf.EM_X86_64, code: codeX86(), eh: table(true, cie,
		func(at uint32) []byte { return fdeOf(true, false, at, 0, codeAt, 0x400, cfaNop) },
		func(at uint32) []byte {
			return fdeOf(true, false, at, 0, codeAt+0x400, 0x400, cfaDef, 6, 16, cfaOffset|6, 2)
		})}
}

func TestUnwindX86(t *testing.T) {
	full := make([]uint64, 400)
	for i := range full {
		full[i] = a0 + 0x10
	}
	signal := make([]uint64, 40)
	signal[5+16-1] = 0 // gregs begin at 40
	for i, v := range map[int]uint64{10: stackAt + 200, 15: stackAt + 0x100, 16: a0 + 0x20} {
		signal[5+i] = v
	}
	signal[32] = 0 // what rsp of the interrupted function points at
	withTrampoline := fileX86()
	copy(withTrampoline.code[0x900:], []byte{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05})
	entry := fileX86()
	entry.entry = codeAt + 0xa00
	for _, c := range []struct {
		name  string
		file  built
		pc    uint64
		fp    uint64
		stack []uint64
		want  []uint64
		stop  Stop
	}{
		{name: "calls", pc: a0 + 1, stack: []uint64{a0 + 0x20, a0 + 0x30, 0}, want: []uint64{a0 + 1, a0 + 0x1f, a0 + 0x2f}},
		{name: "frame pointers", pc: a0 + 0x401, fp: stackAt + 16, stack: []uint64{9, 9, stackAt + 40, a0 + 0x410, 9, 0, 0},
			want: []uint64{a0 + 0x401, a0 + 0x40f}},
		{name: "short copy", pc: a0, stack: []uint64{a0 + 0x20}, want: []uint64{a0, a0 + 0x1f}, stop: Stop{Reason: ShortStack}},
		{name: "no stack", pc: a0, want: []uint64{a0}, stop: Stop{Reason: ShortStack}},
		{name: "unmapped", pc: a0, stack: []uint64{0x1234}, want: []uint64{a0, 0x1233}, stop: Stop{Reason: Unmapped}},
		{name: "deep", pc: a0, stack: full, want: append([]uint64{a0}, slices.Repeat([]uint64{a0 + 0xf}, MaxFrames-1)...), stop: Stop{Reason: TooDeep}},
		{name: "backwards", pc: a0 + 0x401, fp: stackAt - 16, stack: []uint64{9, 9}, want: []uint64{a0 + 0x401}, stop: Stop{Reason: NoProgress}},
		{name: "another build", pc: a0, stack: []uint64{a0 + 0x21, a0 + 0x30, 0}, want: []uint64{a0}, stop: Stop{Reason: WrongFile, Path: "/bin/built"}},
		{name: "no CFI", pc: noCFI, stack: []uint64{a0 + 0x20, 0}, want: []uint64{noCFI}, stop: Stop{Reason: NoCFI, Path: "/bin/built"}},
		{name: "guessed", pc: noCFI, fp: stackAt + 8, stack: []uint64{9, stackAt + 24, a0 + 0x20, 0}, want: []uint64{noCFI, a0 + 0x1f}, stop: Stop{Guessed: 1}},
		{name: "no call before it", pc: noCFI, fp: stackAt + 8, stack: []uint64{9, stackAt + 24, a0 + 0x21, 0}, want: []uint64{noCFI},
			stop: Stop{Reason: NoCFI, Path: "/bin/built"}},
		{name: "not code", pc: noCFI, fp: stackAt + 8, stack: []uint64{9, stackAt + 24, 0x777, 0}, want: []uint64{noCFI},
			stop: Stop{Reason: NoCFI, Path: "/bin/built"}},
		{name: "frame pointer astray", pc: noCFI, fp: stackAt - 8, stack: []uint64{stackAt + 24, a0 + 0x20, 0}, want: []uint64{noCFI},
			stop: Stop{Reason: NoCFI, Path: "/bin/built"}},
		{name: "signal", file: withTrampoline, pc: a0, stack: append([]uint64{a0 + 0x900}, signal...),
			want: []uint64{a0, a0 + 0x8ff, a0 + 0x20}},
		{name: "entry point", file: entry, pc: a0, stack: []uint64{a0 + 0xa10}, want: []uint64{a0, a0 + 0xa0f}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.file
			if f.code == nil {
				f = fileX86()
			}
			u, space := f.unwinder(t, "/bin/built")
			set := map[uint8]uint64{16: c.pc}
			if c.fp != 0 {
				set[6] = c.fp
			}
			got, stop := u.Unwind(regsOf(X86_64, set), Stack{Base: stackAt, Data: words(c.stack...)}, space, nil)
			if !slices.Equal(got, c.want) || stop != c.stop {
				t.Errorf("got  %x %+v\nwant %x %+v", got, stop, c.want, c.stop)
			}
		})
	}
}

// TestMissingFile checks what is done without the file of the code: only
// frame pointers that grow are followed.
func TestMissingFile(t *testing.T) {
	u := New(memory{})
	space := Areas{{mappedAt, mappedAt + 0x10000, 0, u.Object(symbol.Mapping{Path: "/lib/gone.so"})}}
	missing := Stop{Reason: NoFile, Path: "/lib/gone.so", Why: symbol.WhyMissing}
	for _, c := range []struct {
		fp    uint64
		stack []uint64
		want  []uint64
		guess int
	}{
		{1, []uint64{a0 + 0x20, 0}, []uint64{a0}, 0},
		{stackAt, []uint64{stackAt + 16, a0 + 5, stackAt, a0 + 7}, []uint64{a0, a0 + 4}, 1},
	} {
		got, stop := u.Unwind(regsOf(X86_64, map[uint8]uint64{16: a0, 6: c.fp}), Stack{Base: stackAt, Data: words(c.stack...)}, space, nil)
		want := missing
		want.Guessed = c.guess
		if !slices.Equal(got, c.want) || stop != want {
			t.Errorf("got %x %+v, want %x %+v", got, stop, c.want, want)
		}
	}
}

// arm64CIE is the program that CIEs of arm64 have: the CFA is sp.
var arm64CIE = []byte{cfaDef, 31, 0}

// fileARM64 has CFI for three functions: one without a frame, one with x29 and
// x30 at the CFA-16, signed, and one that has put x30 back.
func fileARM64() built {
	code := make([]byte, 0x1000)
	for at := 0; at < len(code); at += 16 {
		le.PutUint32(code[at:], 0x94000000) // bl
	}
	return built{machine: elf.EM_AARCH64, code: code, eh: table(true, cieARM64(),
		func(at uint32) []byte { return fdeOf(true, true, at, 0, codeAt, 0x100, cfaNop) },
		func(at uint32) []byte {
			return fdeOf(true, true, at, 0, codeAt+0x100, 0x100, cfaNegateRA, cfaDefOffset, 32, cfaOffset|29, 4, cfaOffset|30, 3)
		},
		func(at uint32) []byte {
			return fdeOf(true, true, at, 0, codeAt+0x200, 0x100, cfaDefOffset, 16, cfaOffset|30, 2, cfaAdvance|4, cfaRestore|30, cfaDefOffset, 0)
		})}
}

// cieARM64 is as gcc writes it for signed return addresses: zRB, addresses absolute.
func cieARM64() []byte {
	b := append([]byte{0, 0, 0, 0, 1}, "zRB\x00"...)
	b = append(b, 1, 0x78, 30, 1, 0)
	return entryOf(append(b, arm64CIE...))
}

func TestUnwindARM64(t *testing.T) {
	const signed = 0x002a << 48
	mcontext := make([]uint64, 80)
	at := (128 + 176 + 8) / 8
	mcontext[at+29], mcontext[at+30] = stackAt+0x100, a0+0x104
	mcontext[at+31], mcontext[at+32] = stackAt+8*74, a0+0x0c // sp, pc: in the function without a frame
	for _, c := range []struct {
		name  string
		path  string
		regs  map[uint8]uint64
		stack []uint64
		want  []uint64
		stop  Stop
	}{
		{name: "leaf", regs: map[uint8]uint64{32: a0 + 8, 30: a0 + 0x114}, stack: []uint64{0, 0, 0, 0}, want: []uint64{a0 + 8, a0 + 0x113}},
		{name: "leaf in a loop", regs: map[uint8]uint64{32: a0 + 8, 30: a0 + 0x14}, want: []uint64{a0 + 8, a0 + 0x13}, stop: Stop{Reason: NoProgress}},
		{name: "signed", regs: map[uint8]uint64{32: a0 + 0x110}, stack: []uint64{0, signed | (a0 + 0x114), 0, 0, 0, 0, 0, 0},
			want: []uint64{a0 + 0x110, a0 + 0x113}},
		{name: "put back", regs: map[uint8]uint64{32: a0 + 0x204, 30: a0 + 0x114}, stack: []uint64{0, 0, 0, 0}, want: []uint64{a0 + 0x204, a0 + 0x113}},
		{name: "no link register", regs: map[uint8]uint64{32: a0 + 8}, want: []uint64{a0 + 8}, stop: Stop{Reason: NoRegister}},
		{name: "guessed", regs: map[uint8]uint64{32: noCFI, 29: stackAt}, stack: []uint64{stackAt + 16, a0 + 0x114, 0, 0, 0, 0},
			want: []uint64{noCFI, a0 + 0x113}, stop: Stop{Guessed: 1}},
		{name: "no call before it", regs: map[uint8]uint64{32: noCFI, 29: stackAt}, stack: []uint64{stackAt + 16, a0 + 0x118, 0, 0},
			want: []uint64{noCFI}, stop: Stop{Reason: NoCFI, Path: "/bin/built"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, space := fileARM64().unwinder(t, "/bin/built")
			got, stop := u.Unwind(regsOf(ARM64, c.regs), Stack{Base: stackAt, Data: words(c.stack...)}, space, nil)
			if !slices.Equal(got, c.want) || stop != c.stop {
				t.Errorf("got  %x %+v\nwant %x %+v", got, stop, c.want, c.stop)
			}
		})
	}
	t.Run("signal", func(t *testing.T) {
		u, space := fileARM64().unwinder(t, "/bin/built")
		const vdso = mappedAt + 0x100000
		space = append(space, Area{vdso, vdso + 0x1000, 0, New(memory{}).Object(symbol.Mapping{Path: "[vdso]"})})
		regs := regsOf(ARM64, map[uint8]uint64{32: a0 + 4, 30: vdso + 0x30})
		got, stop := u.Unwind(regs, Stack{Base: stackAt, Data: words(mcontext...)}, space, nil)
		want := []uint64{a0 + 4, vdso + 0x2f, a0 + 0x0c, a0 + 0x103}
		if !slices.Equal(got, want) || stop.Reason != Complete {
			t.Errorf("got %x %+v, want %x", got, stop, want)
		}
	})
}

// TestTables finds functions by each kind of table.
func TestTables(t *testing.T) {
	eh := fileX86().eh
	second := uint32(len(cieOf(true, 1, "", 16, x86CIE...))) + uint32(len(fdeOf(true, false, 0, 0, 0, 0, cfaNop)))
	rel := func(at uint32) uint32 { return at - hdrAt }
	hdr := []byte{1, encOmit, 0x03, encTable}
	for _, v := range []uint32{2, rel(codeAt), rel(ehAt + second/2), rel(codeAt + 0x400), rel(ehAt + second)} {
		hdr = le.AppendUint32(hdr, v)
	}
	le.PutUint32(hdr[12:], rel(ehAt+uint32(len(cieOf(true, 1, "", 16, x86CIE...)))))
	debug := func(version byte) []byte {
		return table(false, cieOf(false, version, "", 16, x86CIE...),
			func(at uint32) []byte { return fdeOf(false, false, at, 0, codeAt, 0x400, cfaNop) },
			func(at uint32) []byte {
				return fdeOf(false, false, at, 0, codeAt+0x400, 0x400, cfaDef, 6, 16, cfaOffset|6, 2)
			})
	}
	wrong := slices.Clone(hdr)
	le.PutUint32(wrong[20:], 0x7fffffff)
	for _, c := range []struct {
		name string
		file built
		why  Reason // of the second function
	}{
		{"search table", built{eh: eh, hdr: hdr}, Complete},
		{"no search table", built{eh: eh}, Complete},
		{"search table of another form", built{eh: eh, hdr: []byte{1, encOmit, encOmit, encOmit}}, Complete},
		{"search table cut", built{eh: eh, hdr: hdr[:20]}, Complete},
		{"search table that lies", built{eh: eh, hdr: wrong}, BadCFI},
		{"debug_frame", built{debug: debug(3)}, Complete},
		{"debug_frame of DWARF 4", built{debug: debug(4)}, Complete},
		{"debug_frame beside a lying table", built{eh: eh, hdr: wrong, debug: debug(1)}, Complete},
		{"none", built{}, NoCFI},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.file.machine, c.file.code = elf.EM_X86_64, codeX86()
			u, space := c.file.unwinder(t, "/bin/built")
			r, why := space[0].Object.row(codeAt+0x410, X86_64)
			if why != c.why || why == Complete && r.text(X86_64) != "cfa=rbp+16 rbp=c-16 rip=c-8" {
				t.Errorf("got %v %+v, want %v", why, r, c.why)
			}
			if r, why = space[0].Object.row(codeAt+0x900, X86_64); r != nil {
				t.Errorf("beyond all functions: %v %+v", why, r)
			}
			if u.open != 1 {
				t.Errorf("%d files open", u.open)
			}
		})
	}
}

func TestSetSample(t *testing.T) {
	seq := func(n int) (w []uint64) {
		for i := range n {
			w = append(w, uint64(100+i))
		}
		return w
	}
	const perfX86 = 0xff0fff // what perf record asks for
	var r Regs
	if why := r.SetSample(X86_64, perfX86, abi64, seq(bits.OnesCount64(perfX86))); why != Complete {
		t.Fatal(why)
	}
	// ax bx cx dx si di bp sp ip flags cs ss r8-r15
	want := []uint64{100, 103, 102, 101, 104, 105, 106, 107, 112, 113, 114, 115, 116, 117, 118, 119, 108}
	if !slices.Equal(r.val[:17], want) || r.SP() != 107 || r.PC() != 108 {
		t.Errorf("x86-64: got %v, want %v", r.val[:17], want)
	}
	if why := r.SetSample(ARM64, 1<<33-1, abi64, seq(33)); why != Complete {
		t.Fatal(why)
	}
	if !slices.Equal(r.val[:], seq(33)) || r.SP() != 131 || r.PC() != 132 {
		t.Errorf("arm64: got %v", r.val)
	}
	for _, c := range []struct {
		arch      Arch
		mask, abi uint64
		n         int
		want      Reason
	}{
		{X86_64, 1<<7 | 1<<8, abi64, 2, Complete},
		{X86_64, perfX86, abiNone, 0, NoRegs},
		{X86_64, perfX86, 1, 20, BadArch},
		{NoArch, perfX86, abi64, 20, BadArch},
		{X86_64, 0xff, abi64, 8, NoRegister},
		{X86_64, perfX86, abi64, 3, NoRegister},
		{ARM64, 1<<31 | 1<<32, abi64, 2, Complete},
	} {
		if got := r.SetSample(c.arch, c.mask, c.abi, seq(c.n)); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestCalls(t *testing.T) {
	for inst, want := range map[string]bool{
		"\x00\x00\xe8\x01\x02\x03\x04": true,
		"\x00\x00\x00\x00\x00\xff\xd0": true,  // call *%rax
		"\x00\x00\x00\x00\x41\xff\xd4": true,  // call *%r12
		"\x00\x00\x00\x00\xff\x50\x10": true,  // call *16(%rax)
		"\x00\xff\x15\x01\x02\x03\x00": true,  // call *x(%rip)
		"\xff\x14\xc5\x00\x00\x60\x00": true,  // call *x(,%rax,8)
		"\x00\x00\x00\xff\x54\x24\x08": true,  // call *8(%rsp)
		"\x00\x00\x00\x00\x00\xff\xe0": false, // jmp *%rax
		"\x90\x90\x90\x90\x90\x90\x90": false,
	} {
		if got := endsInCallX86([7]byte([]byte(inst))); got != want {
			t.Errorf("% x: got %v", inst, got)
		}
	}
	for inst, want := range map[uint32]bool{0x97ffffdf: true, 0xd63f0060: true, 0xd63f081f: true, 0xd73f0841: true,
		0xd61f0200: false, 0xd65f03c0: false, 0x14000000: false} {
		if got := isCallARM64(inst); got != want {
			t.Errorf("%#x: got %v", inst, got)
		}
	}
}

func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for r := range NumReasons {
		if s := r.String(); s == "" || seen[s] {
			t.Errorf("reason %d is %q", r, s)
		} else {
			seen[s] = true
		}
	}
	if fmt.Sprint(NumReasons) != "unknown" {
		t.Error("no name for a reason that is none")
	}
}
