package symbol

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

const testKallsyms = "../../testdata/symbol/kallsyms.txt"

// kernelMap is the kernel's mapping of testdata's kernel as perf before 6.6
// records it, moved by delta.
func kernelMap(delta uint64) Mapping {
	const text, etext = 0xffffffff81000000, 0xffffffff81002a00
	return Mapping{Start: text + delta, End: etext + delta, PgOff: text + delta, Path: "[kernel.kallsyms]_text", Kernel: true, PID: -1}
}

func mustNew(t testing.TB, opt Options) *Resolver {
	t.Helper()
	r, err := newResolver(opt, newMachine(t.TempDir(), ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestKernelSymbols(t *testing.T) {
	want := map[uint64]string{
		0xffffffff81000000: "startup_64", 0xffffffff810000ff: "startup_64",
		0xffffffff81000110: "memset",
		0xffffffff81001010: "__x64_sys_sched_yield",
		0xffffffff81001085: "__pfx_do_nanosleep", 0xffffffff810010a0: "do_nanosleep",
		0xffffffff81001208: "sys_nanosleep",
		0xffffffff81002004: "__schedule", 0xffffffff81002801: "schedule",
		0xffffffff81002910: "", // behind the end of a section
		0xffffffff81002950: "<kernel::task::Task>::wake",
		0xffffffff81002a10: "", 0xffffffff81005008: "", // data
		0xffffffff81008010: "early_setup", 0xffffffff81008810: "",
		0xffffffff80ffffff: "", 0xffffffffc0003020: "",
	}
	for _, delta := range []uint64{0, 0x1e00000, ^uint64(0x1000000) + 1} {
		r := mustNew(t, Options{Kallsyms: testKallsyms})
		for addr, name := range want {
			f := r.Kernel(kernelMap(delta), addr+delta, evidence.Host{})
			if f.Symbol != name || (f.Why == "") != (name != "") || !f.Kernel || f.Addr != addr+delta || f.Module != kernelName {
				t.Errorf("delta %#x: %#x is %+v, want %q", delta, addr, f, name)
			}
		}
	}
}

func TestKernelRelocation(t *testing.T) {
	const at = 0xffffffff810010a0 // do_nanosleep
	cases := []struct {
		name   string
		change func(*Mapping)
		addr   uint64
		why    string // or "" for resolved
		doubt  string
	}{
		{"end is _edata, as perf since 6.6 has it", func(m *Mapping) { m.End = 0xffffffff81006a00 }, at, "", ""},
		{"end is the first module", func(m *Mapping) { m.End = 0xffffffffc0003000 }, at, "", DoubtNoEnd},
		{"end is the end of everything", func(m *Mapping) { m.End = 1<<64 - 1 }, at, "", DoubtNoEnd},
		{"another text size", func(m *Mapping) { m.End += 0x140 }, at, WhyOtherKernel, ""},
		{"another text size, shorter", func(m *Mapping) { m.End -= 0x140 }, at, WhyOtherKernel, ""},
		{"moved by less than a page", func(m *Mapping) { m.PgOff += 0x40; m.End += 0x40 }, at, WhyOtherKernel, ""},
		{"placed by _stext", func(m *Mapping) { m.Path = "[kernel.kallsyms]_stext" }, at, "", ""},
		{"the old form of the name", func(m *Mapping) { m.Path = "[kernel.kallsyms._text]" }, at, "", ""},
		{"no name of the symbol", func(m *Mapping) { m.Path = "[kernel.kallsyms]" }, at, "", ""},
		{"not placed", func(m *Mapping) { m.PgOff = 0 }, at, "", DoubtNotMoved},
		{"no mapping", func(m *Mapping) { *m = Mapping{} }, at, "", DoubtNotMoved},
		{"a guest", func(m *Mapping) { m.Path = "[guest.kernel.kallsyms]_text" }, at, WhyGuest, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := mustNew(t, Options{Kallsyms: testKallsyms})
			m := kernelMap(0)
			c.change(&m)
			f := r.Kernel(m, c.addr, evidence.Host{})
			if f.Why != c.why || (f.Symbol == "do_nanosleep") != (c.why == "") {
				t.Fatalf("got %+v, want why %q", f, c.why)
			}
			for _, u := range r.Report() {
				if c.why == "" && (!u.Used || u.Why != c.doubt || u.Frames != 1) || c.why == WhyOtherKernel && (u.Used || u.Detail == "") {
					t.Errorf("report: %+v", u)
				}
			}
		})
	}
}

func TestKernelModules(t *testing.T) {
	r := mustNew(t, Options{Kallsyms: testKallsyms})
	own := kernelMap(0)
	moved := kernelMap(0x1e00000)
	cases := []struct {
		m    Mapping
		addr uint64
		want string
	}{
		// Where the symbol file has it.
		{Mapping{Start: 0xffffffffc0003000, End: 0xffffffffc0004000, Path: "[nf_tables]", KernelMap: &own}, 0xffffffffc0003110, "nf_hook"},
		{Mapping{Start: 0xffffffffc0003000, End: 0xffffffffc0004000, Path: "[nf_tables]", KernelMap: &own}, 0xffffffffc0003024, "nf_init"},
		// The same boot, and a page without symbols in front.
		{Mapping{Start: 0xffffffffc0002000, End: 0xffffffffc0004000, Path: "[nf_tables]", KernelMap: &own}, 0xffffffffc0003110, "nf_hook"},
		// Another boot.
		{Mapping{Start: 0xffffffffc0777000, End: 0xffffffffc0778000, Path: "/lib/modules/6.1.0/kernel/net/nf_tables.ko.xz", KernelMap: &moved}, 0xffffffffc0777902, "nft_do_chain"},
		{Mapping{Start: 0xffffffffc0a00000, End: 0xffffffffc0a01000, Path: "/lib/modules/6.1.0/extra/my-ext.ko", KernelMap: &moved}, 0xffffffffc0a00044, "ext_read"},
		// Too small for what the file says is in it.
		{Mapping{Start: 0xffffffffc0777000, End: 0xffffffffc0777800, Path: "[nf_tables]", KernelMap: &moved}, 0xffffffffc0777110, WhyOtherKernel},
		{Mapping{Start: 0xffffffffc0b00000, End: 0xffffffffc0b01000, Path: "[loop]", KernelMap: &own}, 0xffffffffc0b00044, WhyNoModule},
		{Mapping{Start: 0xffffffffc0020000, End: 0xffffffffc0020040, Path: "bpf_prog_1", Symbol: "bpf_prog_1"}, 0xffffffffc0020004, "bpf_prog_1"},
	}
	for _, c := range cases {
		f := r.Kernel(c.m, c.addr, evidence.Host{})
		if f.Symbol+f.Why != c.want {
			t.Errorf("%s %#x: %+v, want %q", c.m.Path, c.addr, f, c.want)
		}
	}
	if f := r.Kernel(cases[4].m, cases[4].addr, evidence.Host{}); f.Module != "[my_ext]" {
		t.Errorf("module %q", f.Module)
	}
}

func TestBadKallsyms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	hidden := regexp.MustCompile(`(?m)^[0-9a-f]{16}`).ReplaceAllString(readFile(t, testKallsyms), "0000000000000000")
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	zw.Write([]byte(readFile(t, testKallsyms)))
	zw.Close()
	elfNoKernel := elfSpec{off: 0x1000, vaddr: 0x1000, text: 0x1000, symtab: []elfSym{fn("main", 0x1000, 16)}}.build(t)
	cases := []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "none"), "no such file"},
		{"folder", dir, "is a directory"},
		{"empty", write("empty", ""), "no line has the form"},
		{"other text", write("text", "Performance counter stats for 'true':\n\n 1 task-clock\n"), "Performance counter stats"},
		{"hidden", write("hidden", hidden), "every address is 0"},
		{"cut gzip", write("cut.gz", zipped.String()[:zipped.Len()/2]), "unexpected EOF"},
		{"a program", write("prog", string(elfNoKernel)), "without the symbols of a kernel"},
		{"cut ELF", write("cut", string(elfNoKernel[:100])), "beyond the end of the file"},
	}
	for _, c := range cases {
		_, err := New(Options{Kallsyms: c.path, NoHost: true})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	r := mustNew(t, Options{Kallsyms: write("good.gz", zipped.String())})
	if f := r.Kernel(kernelMap(0), 0xffffffff81002004, evidence.Host{}); f.Symbol != "__schedule" {
		t.Errorf("gzip: %+v", f)
	}
}

func TestKallsymsLimits(t *testing.T) {
	text := readFile(t, testKallsyms)
	for _, lim := range []Limits{{FileBytes: 100}, {Symbols: 5}} {
		if _, err := readKallsyms(strings.NewReader(text), 0, lim.orDefault()); !errors.Is(err, errLimit) {
			t.Errorf("%+v: %v", lim, err)
		}
	}
	long := "ffffffff81000000 T " + strings.Repeat("n", 1<<20) + "\nffffffff81000010 T next\nffffffff81000000 T " + strings.Repeat("m", 9000) + "\n"
	k, err := readKallsyms(strings.NewReader(long), 0, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := k.text.lookup(0xffffffff81000000); len(name) != DefaultLimits.NameBytes || name[0] != 'm' {
		t.Errorf("a name of %d bytes", len(name))
	}
	_, err = newResolver(Options{Kallsyms: testKallsyms, Limits: Limits{TableBytes: 64}}, newMachine(t.TempDir(), ""))
	if !errors.Is(err, errLimit) {
		t.Errorf("table limit: %v", err)
	}
}

// TestVmlinux uses an ELF kernel in the place of kallsyms.
func TestVmlinux(t *testing.T) {
	id := []byte("kernel-build-id-0001")
	spec := elfSpec{off: 0x1000, vaddr: 0xffffffff81000000, text: 0x3000, id: id, symtab: []elfSym{
		{name: "_text", value: 0xffffffff81000000, bind: elfGlobal, sec: ".text"},
		{name: "_etext", value: 0xffffffff81002a00, bind: elfGlobal, sec: ".text"},
		fn("do_nanosleep", 0xffffffff81001090, 0x100),
	}}
	dir := t.TempDir()
	name := filepath.Join(dir, "vmlinux")
	if err := os.WriteFile(name, spec.build(t), 0o600); err != nil {
		t.Fatal(err)
	}
	const delta = 0x3a00000
	m := kernelMap(delta)
	m.BuildID = id
	r := mustNew(t, Options{Kallsyms: name})
	if f := r.Kernel(m, 0xffffffff810010a0+delta, evidence.Host{}); f.Symbol != "do_nanosleep" {
		t.Errorf("got %+v", f)
	}
	m.BuildID = []byte("kernel-build-id-0002")
	if f := r.Kernel(m, 0xffffffff810010a0+delta, evidence.Host{}); f.Why != WhyOtherKernel {
		t.Errorf("another build: %+v", f)
	}
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// perfFrame is a frame that perf resolved.
type perfFrame struct {
	addr uint64 // of the kernel; the file offset for a user frame
	name string
}

// perfStacks reads the frames of a stacks.perf61.txt: a count, the comm, and
// the frames as address and name, separated by semicolons.
func perfStacks(t *testing.T, name string) (out []perfFrame) {
	for line := range strings.Lines(readFile(t, name)) {
		frames := strings.Split(strings.TrimSpace(line), ";")
		for _, f := range frames[1:] {
			addr, sym, ok := strings.Cut(strings.TrimSpace(f), " ")
			v, err := strconv.ParseUint(addr, 16, 64)
			if !ok || err != nil {
				t.Fatalf("%s: frame %q", name, f)
			}
			out = append(out, perfFrame{v, sym})
		}
	}
	return out
}

var perfResolved = []string{"netio_task_fp", "netio_task_cs_fp", "netio_task_dwarf"}

// recordedKernel is the kernel's mapping in the shared recordings.
var recordedKernel = Mapping{Start: 0xffffffff81000000, End: 0xffffffff82209988, PgOff: 0xffffffff81000000, Path: "[kernel.kallsyms]_text", Kernel: true, PID: -1}

// TestKernelAsPerf compares with perf's own resolution, also when the kernel
// lay elsewhere than where the symbol file has it.
func TestKernelAsPerf(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures")
	plain := filepath.Join(dir, "kallsyms-6.18.gz")
	const delta = 0x1e00000
	for _, c := range []struct {
		kallsyms string
		moved    uint64 // the symbol file
	}{{plain, 0}, {shiftKallsyms(t, plain, delta), delta}} {
		r := mustNew(t, Options{Kallsyms: c.kallsyms})
		checked := 0
		for _, name := range perfResolved {
			for _, want := range perfStacks(t, filepath.Join(dir, "local", name, "stacks.perf61.txt")) {
				if want.addr>>63 == 0 {
					continue
				}
				checked++
				if f := r.Kernel(recordedKernel, want.addr, evidence.Host{}); f.Symbol != want.name {
					t.Errorf("file moved by %#x: %#x is %+v, perf says %s", c.moved, want.addr, f, want.name)
				}
			}
		}
		if checked < 200 {
			t.Errorf("only %d kernel frames", checked)
		}
		t.Logf("%d kernel frames named as perf names them", checked)
	}
}

// shiftKallsyms writes a copy with delta added to every address.
func shiftKallsyms(t testing.TB, name string, delta uint64) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(string(shared.Gunzip(t, name))) {
		v, err := strconv.ParseUint(line[:16], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%016x%s", v+delta, line[16:])
	}
	moved := filepath.Join(t.TempDir(), "kallsyms")
	if err := os.WriteFile(moved, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return moved
}

func FuzzKallsyms(f *testing.F) {
	f.Add([]byte(readFile(f, testKallsyms)))
	f.Add([]byte("0000000000000000 T _text\n0000000000000000 T a\n"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	lim := Limits{FileBytes: 1 << 20, Symbols: 1 << 16, NameBytes: 64}.orDefault()
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := readKallsyms(bytes.NewReader(b), int64(len(b)), lim)
		if err != nil {
			return
		}
		m := kernelMap(0)
		k.relocate(&m)
		for _, e := range k.text.syms {
			if name, ok := k.text.lookup(e.addr); ok && name == "" || len(name) > lim.NameBytes {
				t.Errorf("%#x is %q, %t", e.addr, name, ok)
			}
		}
		for _, mod := range k.modules {
			mod.move(&m, true)
			mod.table.lookup(mod.lo)
		}
	})
}

// sharedKallsyms returns the recorded kallsyms, plain and as it is.
func sharedKallsyms(b *testing.B) (plain, zipped []byte) {
	name := filepath.Join(shared.Dir(b), "fixtures", "kallsyms-6.18.gz")
	return shared.Gunzip(b, name), []byte(readFile(b, name))
}

func BenchmarkKallsyms(b *testing.B) {
	plain, zipped := sharedKallsyms(b)
	for _, c := range []struct {
		name string
		data []byte
	}{{"plain", plain}, {"gzip", zipped}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readKallsyms(bytes.NewReader(c.data), int64(len(c.data)), DefaultLimits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkKernelLookup(b *testing.B) {
	r := mustNew(b, Options{Kallsyms: filepath.Join(shared.Dir(b), "fixtures", "kallsyms-6.18.gz")})
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		r.Kernel(recordedKernel, 0xffffffff81000000+i*4099%0x1209988, evidence.Host{})
	}
}
