package collect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxan/parse/perfdata/wire"
)

// passes evaluates a filter that tidFilter made.
func passes(t *testing.T, filter string, tid int) bool {
	t.Helper()
	for part := range strings.SplitSeq(filter, "||") {
		var a, b int
		switch {
		case strings.Contains(part, "&&"):
			if _, err := fmt.Sscanf(part, "(pid>=%d&&pid<=%d)", &a, &b); err != nil {
				t.Fatalf("%q: %v", part, err)
			}
			if a <= tid && tid <= b {
				return true
			}
		case strings.Contains(part, "=="):
			if _, err := fmt.Sscanf(part, "pid==%d", &a); err != nil {
				t.Fatalf("%q: %v", part, err)
			}
			if a == tid {
				return true
			}
		default:
			if _, err := fmt.Sscanf(part, "pid>%d", &a); err != nil {
				t.Fatalf("%q: %v", part, err)
			}
			if tid > a {
				return true
			}
		}
	}
	return false
}

func TestTidFilter(t *testing.T) {
	if got, want := tidFilter("pid", []int{7, 5, 6, 9}, 100), "(pid>=5&&pid<=7)||pid==9||pid>100"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := tidFilter("pid", []int{4711}, 0), "pid==4711"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, step := range map[string]func(int) int{"every second": func(i int) int { return 2 * i }, "growing gaps": func(i int) int { return i * i }, "blocks": func(i int) int { return 1000*(i/50) + i%50 }} {
		var tids []int
		for i := range 2000 {
			tids = append(tids, 1000+step(i))
		}
		f := tidFilter("pid", tids, 1<<22)
		if len(f) > maxFilter {
			t.Errorf("%s: a filter of %d bytes", name, len(f))
		}
		for _, tid := range tids {
			if !passes(t, f, tid) {
				t.Fatalf("%s: thread %d does not pass %s", name, tid, f)
			}
		}
		if passes(t, f, 1) || passes(t, f, 1<<22) {
			t.Errorf("%s: threads below and above pass", name)
		}
	}
}

// TestToPerf sees that each bit of an attribute sets one field of go-perf's, no
// two the same, and that the others are refused.
func TestToPerf(t *testing.T) {
	seen := map[string]int{}
	for bit := range 64 {
		a := newAttr(unix.PERF_TYPE_SOFTWARE, 0)
		a.Bits = 1 << bit
		p, ok := toPerf(&a)
		if want := perfFlags&(1<<bit) != 0; ok != want {
			t.Errorf("flag %d: expressed %v, want %v", bit, ok, want)
		}
		if ok {
			seen[fmt.Sprintf("%+v", p.Options)]++
		}
		a.Bits, a.Sample_type = 0, 1<<bit
		if p, ok := toPerf(&a); ok {
			seen[fmt.Sprintf("%+v", p.SampleFormat)]++
			if n := trueFields(reflect.ValueOf(p.SampleFormat)); n != 1 {
				t.Errorf("sample bit %d sets %d fields", bit, n)
			}
		} else if bit < 20 {
			t.Errorf("sample bit %d is refused", bit)
		}
	}
	for s, n := range seen {
		if n != 1 {
			t.Errorf("%d bits give %s", n, s)
		}
	}
	a := newAttr(0, 0)
	a.Read_format = unix.PERF_FORMAT_LOST
	if _, ok := toPerf(&a); ok {
		t.Error("read_format LOST is taken")
	}
}

func trueFields(v reflect.Value) int {
	n := 0
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Bool && v.Field(i).Bool() {
			n++
		}
	}
	return n
}

func TestParseMap(t *testing.T) {
	for line, want := range map[string]mapping{
		"7f00-7f01 r-xp 00002000 fe:01 12345                      /opt/a b/lib.so (deleted)\n": {start: 0x7f00, end: 0x7f01, off: 0x2000, prot: 5, maj: 0xfe, min: 1, inode: 12345, path: "/opt/a b/lib.so (deleted)"},
		"7f00-7f01 rwxp 00000000 00:00 0 \n":                                                   {start: 0x7f00, end: 0x7f01, prot: 7, path: "//anon"},
		"ff00-ff01 r-xp 00000000 00:00 0  [vdso]\n":                                            {start: 0xff00, end: 0xff01, prot: 5, path: "[vdso]"},
	} {
		if got, ok := parseMap(line); !ok || got != want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "x", "7f00-7f01 r--p 0 0:0 0", "7f00 r-xp 00000000 00:00 0", "zz-7f01 r-xp 00000000 00:00 0", "1-2 r-xp 0 0:0", "1-2 r-xp q 0:0 0"} {
		if m, ok := parseMap(line); ok {
			t.Errorf("%q: %+v", line, m)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	if got, err := parseCPUs("0,2-4"); err != nil || !slices.Equal(got, []int{0, 2, 3, 4}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "a", "3-1", "-1", "0-99999999"} {
		if got, err := parseCPUs(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

// TestStatFile has the layout of perf stat, with a counter that shared its
// hardware, one that is not there, and one that the kernel's part is missing of.
func TestStatFile(t *testing.T) {
	list := newCounters()
	for i, v := range []uint64{4_808_300_000, 225_908, 344, 2, 13_470_172_084, 45_927_687_496, 6_325_618_743, 9_926_666} {
		list[i].value, list[i].enabled, list[i].running = v, 1e9, 1e9
	}
	list[3].attr.Bits |= unix.PerfBitExcludeKernel
	list[6].running = 250e6
	list[7].err = unix.ENOENT
	at := time.Date(2026, 11, 30, 16, 47, 35, 0, time.UTC)
	got := string(statFile(list, "process id '58931'", at, 3_004_342_766))
	want := `# started on Mon Nov 30 16:47:35 2026


 Performance counter stats for process id '58931':

          4,808.30 msec task-clock                #    1.600 CPUs utilized
           225,908      context-switches          #   46.983 K/sec
               344      cpu-migrations            #   71.543 /sec
                 2      page-faults:u             #    0.416 /sec
    13,470,172,084      cycles                    #    2.801 GHz
    45,927,687,496      instructions              #    3.41  insn per cycle
     6,325,618,743      branches                  #    1.316 G/sec                      (25.00%)
   <not supported>      branch-misses            

       3.004342766 seconds time elapsed

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEvery(t *testing.T) {
	for _, c := range []struct {
		perS, cpus, cost, limit float64
		want                    uint64
	}{{0, 1, 3e-6, 5, 1}, {1000, 1, 3e-6, 5, 1}, {100_000, 1, 3e-6, 5, 6}, {100_000, 0.5, 3e-6, 1, 60}, {1, 0, 3e-6, 1, 1}} {
		if got := every(c.perS, c.cpus, c.cost, c.limit); got != c.want {
			t.Errorf("%+v: 1 in %d", c, got)
		}
	}
}

func TestNoteBuildID(t *testing.T) {
	note := func(typ uint32, name string, desc []byte) []byte {
		b := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, uint32(len(name))), uint32(len(desc))), typ)
		b = append(b, name...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		b = append(b, desc...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		return b
	}
	id := []byte{1, 2, 3, 4, 5, 6, 7}
	both := append(note(1, "Xen\x00", []byte("abc")), note(3, "GNU\x00", id)...)
	if got := noteBuildID(both, le); !bytes.Equal(got, id) {
		t.Errorf("%x", got)
	}
	for i := range len(both) - 1 {
		if got := noteBuildID(both[:i], le); got != nil && !bytes.Equal(got, id) {
			t.Errorf("cut at %d: %x", i, got)
		}
	}
	if got := noteBuildID(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, ^uint32(0)), ^uint32(0)), 3), le); got != nil {
		t.Errorf("a note of impossible size gives %x", got)
	}
}

// TestWatch keeps what is about the target, follows its children, and never
// reads past a record.
func TestWatch(t *testing.T) {
	a := toWire(&unix.PerfEventAttr{Sample_type: baseFields | unix.PERF_SAMPLE_RAW, Bits: unix.PerfBitSampleIDAll})
	l := wire.NewLayout(&a)
	x := &watch{pids: map[int32]bool{100: true}, tids: map[int32]bool{100: true, 101: true}, self: &rawField{l, 24}, trailer: l.Trailer,
		others: map[uint64]*rawField{9: {l, 24}}}
	raw := func(tid uint32) []byte { return le.AppendUint32(make([]byte, 24), tid) }
	sample := func(id uint64, pid, tid int32, of uint32) []byte {
		return wire.AppendSample(nil, &a, &wire.SampleValues{ID: id, PID: pid, TID: tid, Raw: raw(of)})[wire.HeaderSize:]
	}
	fork := func(pid, ppid, tid, ptid uint32) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, pid), ppid), tid), ptid)
	}
	for _, c := range []struct {
		name string
		typ  wire.Type
		body []byte
		want bool
	}{
		{"its switch", wire.RecSample, sample(1, 100, 101, 101), true},
		{"another's switch", wire.RecSample, sample(1, 200, 201, 201), false},
		{"its last switch", wire.RecSample, sample(1, -1, -1, 101), true},
		{"its wakeup by another", wire.RecSample, sample(9, 200, 201, 101), true},
		{"another's wakeup by it", wire.RecSample, sample(9, 100, 101, 201), false},
		{"another's child", wire.RecFork, fork(300, 200, 300, 200), false},
		{"its child", wire.RecFork, fork(400, 100, 400, 101), true},
		{"its child's thread", wire.RecFork, fork(400, 400, 401, 400), true},
		{"its child's switch", wire.RecSample, sample(1, 400, 401, 401), true},
		{"its name", wire.RecComm, fork(100, 101, 0, 0), true},
		{"another's name", wire.RecComm, fork(200, 201, 0, 0), false},
		{"the kernel's code", wire.RecMmap, fork(^uint32(0), 0, 0, 0), true},
		{"a loss", wire.RecLost, make([]byte, 48), true},
	} {
		if got := x.keep(c.typ, c.body); got != c.want {
			t.Errorf("%s: kept %v, want %v", c.name, got, c.want)
		}
		for n := range len(c.body) {
			(&watch{pids: map[int32]bool{}, tids: map[int32]bool{}, self: x.self, trailer: x.trailer, others: x.others}).keep(c.typ, c.body[:n])
		}
	}
	if !x.grew {
		t.Error("it does not say that there are new threads")
	}
}

// TestSnapshotText has the layout of head and tail with several files.
func TestSnapshotText(t *testing.T) {
	s := &snapshot{real: 5, mono: 7, tasks: []taskFiles{{1, 2, []byte("Name:\tx\n"), []byte("1 2 3\n")}}}
	s.keep(&snapshot{tasks: []taskFiles{{1, 2, []byte("old"), nil}, {1, 1, []byte("gone"), nil}}})
	var b bytes.Buffer
	if err := s.write(&b); err != nil {
		t.Fatal(err)
	}
	want := "==> clock <==\nrealtime_ns: 5\nmonotonic_ns: 7\n\n==> /proc/1/task/1/status <==\ngone\n\n" +
		"==> /proc/1/task/2/status <==\nName:\tx\n\n==> /proc/1/task/2/schedstat <==\n1 2 3\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestPlainName(t *testing.T) {
	for in, want := range map[string]string{"nginx": "nginx", "a b/c": "a_b_c", "..": "target", "": "target", "été": "_t_", "-x": "x"} {
		if got := plainName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestFixes has a command for what can be granted.
func TestFixes(t *testing.T) {
	s := &measurement{proc: "/proc"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&tracefsError{unix.ENOENT}, "mount -t tracefs"}, {&tracefsError{unix.EACCES}, "mode=755"}, {errNamespace, "--pid=host"}, {unix.EMFILE, "ulimit -n"}, {unix.ENOMEM, "mlock"},
	} {
		if got := s.fix(c.err); !strings.Contains(got, c.want) {
			t.Errorf("%v: %q does not say %q", c.err, got, c.want)
		}
	}
	if got := explain("/proc", errors.New("x")); got != "x" {
		t.Errorf("%q", got)
	}
}

// TestOpenMapped does not take a file that came to a path after the mapping.
func TestOpenMapped(t *testing.T) {
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	gone := 1 << 30 // no process has this id
	m := mapping{path: name, inode: st.Ino, maj: unix.Major(st.Dev), min: unix.Minor(st.Dev)}
	for _, c := range []struct {
		name   string
		pid    int
		change func(m *mapping)
		want   bool
	}{
		{"its process is gone", gone, func(*mapping) {}, true},
		{"by the root of its process", os.Getpid(), func(m *mapping) { m.maj = 77 }, true}, // overlayfs and btrfs show another device
		{"another file at the path", os.Getpid(), func(m *mapping) { m.inode++ }, false},
		{"deleted, and another file at the path", os.Getpid(), func(m *mapping) { m.inode++; m.path += " (deleted)" }, false},
		{"of another file system", gone, func(m *mapping) { m.maj = 77 }, false},
	} {
		m := m
		c.change(&m)
		f := openMapped("/proc", c.pid, &m)
		if (f != nil) != c.want {
			t.Errorf("%s: opened %v, want %v", c.name, f != nil, c.want)
		}
		if f != nil {
			f.Close()
		}
	}
}

// TestFIFO does not wait for who writes into a FIFO that came to the place of a
// mapped file, and does not take it for one.
func TestFIFO(t *testing.T) {
	name := filepath.Join(t.TempDir(), "library")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	s := &measurement{proc: "/proc"}
	m := mapping{path: name, inode: st.Ino, maj: unix.Major(st.Dev), min: unix.Minor(st.Dev)}
	for what, by := range map[string]mappedBy{"no process has it": {}, "its process is gone": {1 << 30, m}, "a process has it": {os.Getpid(), m}} {
		k := &keeper{dir: t.TempDir(), left: 1}
		if _, ok := within(time.Minute/6, func() error { return k.keep(s, name, by) }, nil); !ok {
			t.Fatalf("%s: waits", what)
		}
		if l, _ := os.ReadDir(k.dir); len(l) > 0 {
			t.Errorf("%s: kept %v", what, l)
		}
	}
}

// TestNoCgroup refuses what is no folder, without waiting for it.
func TestNoCgroup(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() error { _, err := newTarget(&Options{Cgroup: name}, "/proc"); return err }
	if err, ok := within(time.Minute/6, open, nil); !ok || err == nil {
		t.Errorf("it returned: %v, error %v", ok, err)
	}
}

// TestKeepChecksBuildID does not keep the newer build that stands at the path
// of one whose process is gone.
func TestKeepChecksBuildID(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	id := elfBuildID(f)
	if id == nil {
		t.Skip("/bin/sh has no build-id")
	}
	for _, c := range []struct {
		path string
		id   []byte
		want int
	}{{"/bin/sh", id, 1}, {"/bin/sh", nil, 1}, {self, id, 0}, {"/bin/sh", []byte{1, 2, 3, 4}, 0}} {
		k := &keeper{dir: t.TempDir(), left: maxSymbols}
		if err := k.keep(&measurement{proc: "/proc", ids: map[string][]byte{c.path: c.id}}, c.path, mappedBy{}); err != nil {
			t.Fatal(err)
		}
		if l, _ := os.ReadDir(k.dir); len(l) != c.want {
			t.Errorf("%s with %x: kept %v", c.path, c.id, l)
		}
	}
}

// TestWithin gives up what takes too long, and closes it when it comes.
func TestWithin(t *testing.T) {
	if v, ok := within(time.Minute, func() int { return 3 }, nil); v != 3 || !ok {
		t.Errorf("%d, %v", v, ok)
	}
	release, late := make(chan struct{}), make(chan int)
	v, ok := within(time.Millisecond, func() int { <-release; return 4 }, func(n int) { late <- n })
	if v != 0 || ok {
		t.Errorf("%d, %v for what takes too long", v, ok)
	}
	close(release)
	if n := <-late; n != 4 {
		t.Errorf("late %d", n)
	}
}
