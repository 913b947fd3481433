package perfdata

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/symbol"
	"ctxan/parse/timeline"
	"ctxan/testdata/shared"
)

// stackCounts counts the events of each stack.
type stackCounts map[uint32]int

func (s stackCounts) Events(batch []timeline.Event) error {
	for i := range batch {
		if k := batch[i].Kind; k == timeline.KindSwitch || k == timeline.KindSample {
			s[batch[i].Stack]++
		}
	}
	return nil
}

// stacksOf reads a file and returns its stacks as perf script prints the
// addresses of user frames, as offsets in their files, outermost first.
func stacksOf(t *testing.T, data []byte, opt Options) (map[string]int, *evidence.Set) {
	t.Helper()
	c, err := open(Input{R: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	counts, set := stackCounts{}, &evidence.Set{}
	opt.Sinks = append(opt.Sinks, counts)
	b := set.NewBuilder("test", Format)
	r := &reader{capture: c, names: &timeline.Names{}, opt: opt}
	r.describe(b.Source())
	if err := r.stream(); err != nil {
		t.Fatal(err)
	}
	defer r.spaces.unwind.close()
	r.finish(b)
	f := newFrames(r, r.spaces, r.dec)
	got := map[string]int{}
	for id, n := range counts {
		st := r.spaces.stacks[id]
		var list []uint64
		first := true
		for _, v := range f.words(st.chain) {
			switch {
			case v >= wire.ContextMax:
				first = true
				continue
			case v >= 1<<63:
				continue
			case !first:
				v--
			}
			first = false
			if m := find(r.spaces.kept[st.space].maps.list, v); m != nil {
				v += m.pgoff - m.start
			}
			list = append(list, v)
		}
		slices.Reverse(list)
		got[fmt.Sprintf("%x", list)] += n
	}
	return got, set
}

// dwarfSymfs is a folder with the program of the shared recording, and of its
// libraries what unwinding needs.
func dwarfSymfs(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, b []byte) {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	put("opt/demo/app/bin/netio_nofp", b)
	const lib = "usr/lib/x86_64-linux-gnu/"
	for from, to := range map[string]string{"libc.so.6": lib + "libc.so.6", "libstdc++.so.6": lib + "libstdc++.so.6.0.30",
		"ld-linux-x86-64.so.2": lib + "ld-linux-x86-64.so.2"} {
		put(to, withCalls(t, shared.Gunzip(t, filepath.Join("../../testdata/unwind/bin", from+".gz"))))
	}
	return dir
}

// withCalls makes every address of a library without code one behind a call, as
// return addresses in files of unknown build are checked for that.
func withCalls(t *testing.T, b []byte) []byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			for i := range p.Filesz {
				b[p.Off+i] = 0xe8
			}
		}
	}
	return b
}

func newResolver(t *testing.T, opt symbol.Options) *symbol.Resolver {
	t.Helper()
	s, err := symbol.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// perfStacks reads folded stacks as perf script printed them: user addresses
// with how often each chain was seen.
func perfStacks(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		n, addrs := shared.FoldedUser(t, line)
		out[addrs] += n
	}
	return out
}

// TestUnwound compares the stacks of a recording with --call-graph dwarf with
// those that perf printed, and what is said of the worker's own frames.
func TestUnwound(t *testing.T) {
	dir := filepath.Join(local(t), "netio_task_dwarf")
	data, err := os.ReadFile(filepath.Join(dir, "perf.data"))
	if err != nil {
		t.Fatal(err)
	}
	s := newResolver(t, symbol.Options{NoHost: true, Symfs: dwarfSymfs(t, filepath.Join(local(t), "../bin/netio_nofp"))})
	got, set := stacksOf(t, data, Options{Symbols: s})
	want := perfStacks(t, filepath.Join(dir, "stacks.perf61.txt"))
	equal := 0
	for chain, n := range want {
		if got[chain] != n {
			t.Errorf("%d stacks %s, want %d", got[chain], chain, n)
			continue
		}
		equal += n
	}
	if equal != 38 || len(got) != len(want) {
		t.Errorf("%d of 38 stacks equal, %d distinct, want %d", equal, len(got), len(want))
	}
	checkWorker(t, &set.Stacks[0])
	wantNote(t, set.Sources[0], "of 38 user stacks are cut short: ")
}

// checkWorker looks for the loop of the recorded program: which function waits,
// where that is called, and where in the source.
func checkWorker(t *testing.T, st *evidence.StackTable) {
	t.Helper()
	found := 0
	for _, chain := range st.Stacks {
		for i, n := range chain[:len(chain)-1] {
			f, up := st.Frames[n], st.Frames[chain[i+1]]
			if f.Symbol != "uv_runtime_sw::MultiHostNetworkIOMgr::idle_wait()" && f.Symbol != "uv_runtime_sw::MultiHostNetworkIOMgr::idle_wait" {
				continue
			}
			found++
			// The lines are those that addr2line has for the addresses before the calls return.
			if filepath.Base(f.File) != "netio.cpp" || f.Line != 34 || filepath.Base(up.File) != "netio.cpp" || up.Line != 37 ||
				!strings.HasPrefix(up.Symbol, "uv_runtime_sw::MultiHostNetworkIOMgr::task") {
				t.Errorf("%s at %s:%d, called by %s at %s:%d", f.Symbol, f.File, f.Line, up.Symbol, up.File, up.Line)
			}
		}
	}
	if found == 0 {
		t.Error("no frame of the function that waits")
	}
}

func wantNote(t *testing.T, src *evidence.Source, part string) {
	t.Helper()
	if !slices.ContainsFunc(src.Notes, func(s string) bool { return strings.Contains(s, part) }) {
		t.Errorf("no note with %q in %q", part, src.Notes)
	}
}

// TestInlined looks for functions that were inlined: the frames at one address
// name each of them, the innermost first, as perf script does.
func TestInlined(t *testing.T) {
	name := filepath.Join(local(t), "notime/perf.data")
	s := newResolver(t, symbol.Options{NoHost: true, Symfs: filepath.Join(local(t), "../bin")})
	fx := readFixture(t, name, Options{Symbols: s})
	if fx.err != nil {
		t.Fatal(fx.err)
	}
	inlined := 0
	for i := range fx.set.Stacks {
		st := &fx.set.Stacks[i]
		for _, chain := range st.Stacks {
			for k, n := range chain {
				if f := st.Frames[n]; f.Inlined {
					inlined++
					if outer := st.Frames[chain[k+1]]; outer.Addr != f.Addr || f.Symbol == "" || f.File == "" {
						t.Errorf("%+v is inlined in %+v", f, outer)
					}
				}
			}
		}
	}
	if inlined == 0 {
		t.Error("no inlined frame")
	}
}

// TestUnwoundValues changes what unwinding reads in each sample: a stack must
// change with it.
func TestUnwoundValues(t *testing.T) {
	dir := filepath.Join(local(t), "netio_task_dwarf")
	data, err := os.ReadFile(filepath.Join(dir, "perf.data"))
	if err != nil {
		t.Fatal(err)
	}
	symfs := dwarfSymfs(t, filepath.Join(local(t), "../bin/netio_nofp"))
	read := func(data []byte) map[string]int {
		got, _ := stacksOf(t, data, Options{Symbols: newResolver(t, symbol.Options{NoHost: true, Symfs: symfs})})
		return got
	}
	want := read(data)
	for name, change := range map[string]func(rec []byte, l *wire.Tail){
		"abi":        func(rec []byte, l *wire.Tail) { le.PutUint64(rec[l.RegsUser:], 1) },
		"ip":         func(rec []byte, l *wire.Tail) { rec[l.RegsUser+8*(1+8)] ^= 0x80 },
		"stack":      func(rec []byte, l *wire.Tail) { clear(rec[l.Stack:][:l.StackSize]) },
		"stack used": func(rec []byte, l *wire.Tail) { le.PutUint64(rec[l.StackDyn:], 8) },
	} {
		changed := bytes.Clone(data)
		eachSample(t, changed, change)
		if got := read(changed); fmt.Sprint(got) == fmt.Sprint(want) {
			t.Errorf("%s: the stacks did not change", name)
		}
	}
}

// eachSample changes the samples of a file of one event.
func eachSample(t *testing.T, data []byte, change func(rec []byte, l *wire.Tail)) {
	t.Helper()
	h, err := wire.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	a, err := wire.ParseAttr(data[h.Attrs.Offset:][:h.AttrSize-16], h.Order)
	if err != nil {
		t.Fatal(err)
	}
	l := wire.NewLayout(&a)
	for at := h.Data.Offset; at < h.Data.End(); at += uint64(le.Uint16(data[at+6:])) {
		if wire.Type(le.Uint32(data[at:])) != wire.RecSample {
			continue
		}
		rec := data[at : at+uint64(le.Uint16(data[at+6:]))]
		tail, err := l.Tail(rec)
		if err != nil {
			t.Fatal(err)
		}
		if tail.RegsUser >= 0 && tail.Stack >= 0 && le.Uint64(rec[tail.RegsUser:]) != 0 {
			change(rec, &tail)
		}
	}
}
