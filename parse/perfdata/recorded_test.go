package perfdata

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

const recordings = "../../testdata/perfdata"

// TestRecorded reads the recordings of this project. The counts are perf's own.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]struct {
		variant string
		samples map[string]uint64
		records map[wire.Type]uint64
		target  evidence.Target
		tables  []string
	}{
		"perf-6.1-system": {
			variant: "file mode, 5 events",
			samples: map[string]uint64{"sched:sched_switch": 75, "sched:sched_wakeup": 41, "sched:sched_waking": 41, "sched:sched_migrate_task": 4},
			records: map[wire.Type]uint64{wire.RecComm: 129, wire.RecFork: 128, wire.RecMmap2: 4, wire.RecFinishedRound: 2},
			target:  evidence.Target{Kind: evidence.TargetSystem},
		},
		"perf-6.1-task-pipe": {
			variant: "pipe mode, 1 event",
			samples: map[string]uint64{"sched:sched_switch": 18},
			records: map[wire.Type]uint64{wire.RecComm: 4, wire.RecExit: 3, wire.RecMmap2: 12, wire.RecFeature: 19},
			target:  evidence.Target{Kind: evidence.TargetCommand, Name: "sh -c sleep 0.001; sleep 0.001"},
			tables:  []string{"sched:sched_switch"},
		},
		"perf-6.1-clock-zstd": {
			variant: "file mode, 1 event",
			samples: map[string]uint64{"cpu-clock": 111},
			records: map[wire.Type]uint64{wire.RecComm: 3, wire.RecSwitch: 63, wire.RecMmap2: 8},
			target:  evidence.Target{Kind: evidence.TargetCommand, Name: "sh -c i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; sleep 0.001"},
			tables:  []string{"cpu-clock"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fx := readFixture(t, filepath.Join(recordings, name+".data"), Options{})
			if fx.err != nil {
				t.Fatal(fx.err)
			}
			if fx.src.Variant != want.variant || !maps.Equal(fx.stats.Samples, want.samples) {
				t.Errorf("%s: %v", fx.src.Variant, fx.stats.Samples)
			}
			for typ, n := range want.records {
				if got := fx.stats.Records[typ]; got != n {
					t.Errorf("%d %s records, want %d", got, typ, n)
				}
			}
			if !reflect.DeepEqual(fx.src.Target, want.target) {
				t.Errorf("target %+v, want %+v", fx.src.Target, want.target)
			}
			var tables []string
			for _, st := range fx.set.Stacks {
				tables = append(tables, st.Event)
			}
			if !slices.Equal(tables, want.tables) {
				t.Errorf("call chains of %q, want %q", tables, want.tables)
			}
			if fx.src.Tool != "perf 6.1.187" || fx.src.Host.Arch != "x86_64" || fx.src.Host.CPUs.Or(0) != 2 || fx.src.Loss.Any() || fx.src.DroppedTotal > 0 {
				t.Errorf("source %+v", fx.src)
			}
		})
	}
}

// TestChainsAgainstPerf compares every call chain of every sample with what
// `perf script` prints of the same file: kernel addresses, and for user ones
// that lie in a mapping the offset in its file. (A file with clock samples taken
// inside execve is not among them: perf resolves these by the mappings of the
// program before, which are kept for no other sample.)
func TestChainsAgainstPerf(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("no perf here to compare with")
	}
	paths := []string{filepath.Join(recordings, "perf-6.1-task-pipe.data")}
	for _, name := range []string{"netio_task_fp", "attach_pid", "netio_task_cs_fp"} {
		if dir := os.Getenv("CTXAN_SHARED"); dir != "" {
			paths = append(paths, filepath.Join(dir, "fixtures", "local", name, "perf.data"))
		}
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			out, err := exec.Command("perf", "script", "--max-stack", "1024", "-F", "time,ip", "--ns", "-f", "-i", path).Output()
			if err != nil {
				t.Skipf("perf script: %v", err)
			}
			want := perfChains(string(out))
			got := chainsOf(t, path)
			if len(got) != len(want) {
				t.Fatalf("%d samples, perf has %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("sample %d:\n%s\nperf has\n%s", i, got[i], want[i])
				}
			}
			t.Logf("%d chains equal", len(want))
		})
	}
}

// perfChains joins the times and addresses that perf script prints of a sample
// to one line. Symbols may stand behind addresses.
func perfChains(out string) []string {
	var all []string
	for block := range strings.SplitSeq(strings.TrimSpace(out), "\n\n") {
		var line []string
		for row := range strings.Lines(block) {
			if f := strings.Fields(row); len(f) > 0 {
				line = append(line, f[0])
			}
		}
		line[0] = strings.TrimLeft(strings.ReplaceAll(strings.TrimSuffix(line[0], ":"), ".", ""), "0")
		all = append(all, strings.Join(line, " "))
	}
	return all
}

func chainsOf(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	c, err := open(Input{R: f, Size: st.Size(), Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var sink tape
	r := &reader{capture: c, names: &timeline.Names{}, opt: Options{Sinks: []timeline.Sink{&sink}}}
	var src evidence.Source
	r.describe(&src)
	if err := r.stream(); err != nil {
		t.Fatal(err)
	}
	fr := newFrames(r, r.spaces, r.dec)
	var all []string
	for _, e := range sink.events {
		if e.Kind != timeline.KindSwitch && e.Kind != timeline.KindSample {
			continue
		}
		line := strconv.FormatUint(e.Time, 10)
		for _, f := range fr.Frames(e.Stack) {
			line += " " + strconv.FormatUint(r.spaces.inFile(e.Stack, f.Addr), 16)
		}
		all = append(all, line)
	}
	return all
}

// inFile turns a user address into an offset in the file that is mapped there.
func (s *spaces) inFile(id uint32, addr uint64) uint64 {
	sp := s.kept[s.stacks[id].space]
	if sp == nil || addr >= 1<<63 {
		return addr
	}
	if m := find(sp.maps.list, addr); m != nil {
		return addr - m.start + m.pgoff
	}
	return addr
}

func TestTarget(t *testing.T) {
	for line, want := range map[string]evidence.Target{
		"perf record -a sleep 1":                       {Kind: evidence.TargetSystem},
		"perf record -ag -F 99 -- sleep 1":             {Kind: evidence.TargetSystem},
		"perf record -g -p 12,13 -- sleep 3":           {Kind: evidence.TargetProcess, IDs: []int{12, 13}},
		"perf record --pid=12 sleep 3":                 {Kind: evidence.TargetProcess, IDs: []int{12}},
		"perf record -p12":                             {Kind: evidence.TargetProcess, IDs: []int{12}},
		"perf record -t 5,6":                           {Kind: evidence.TargetThread, IDs: []int{5, 6}},
		"perf record -C 0-2 -e cycles":                 {Kind: evidence.TargetCPU, IDs: []int{0, 1, 2}},
		"perf record -e cycles -o x.data ./a.out -p 3": {Kind: evidence.TargetCommand, Name: "./a.out -p 3"},
		"perf record --call-graph dwarf -- ./a.out -a": {Kind: evidence.TargetCommand, Name: "./a.out -a"},
		"perf sched record -- sleep 1":                 {Kind: evidence.TargetSystem},
		"perf record -G app -e cycles -a":              {Kind: evidence.TargetCgroup, Name: "app"},
		"perf record":                                  {},
		"perf stat record -o x.data -I 20 -e a,b sh w": {Kind: evidence.TargetCommand, Name: "sh w"},
		"perf stat -r 3 -x, -p 7 -e a record":          {Kind: evidence.TargetProcess, IDs: []int{7}},
		"perf stat record -a -I 100 sleep 1":           {Kind: evidence.TargetSystem},
		"":                                             {},
	} {
		if got := targetOf(strings.Fields(line), nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
	}
	if got := targetOf(nil, []int{-1}); got.Kind != evidence.TargetSystem {
		t.Errorf("thread map of -1: %+v", got)
	}
	if got := targetOf(nil, []int{7}); got.Kind != evidence.TargetThread || !slices.Equal(got.IDs, []int{7}) {
		t.Errorf("thread map of 7: %+v", got)
	}
}
