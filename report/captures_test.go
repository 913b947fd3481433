package report

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"ctxan/analyze"
	"ctxan/analyze/rules"
	"ctxan/parse"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// captures are results of captures as users have them: the reference case, a
// recording of all tasks, one with a thousand threads, and what the shared
// material adds where it is there.
func captures(t *testing.T) map[string]*analyze.Result {
	t.Helper()
	crowd, kallsyms := crowdFile(t)
	out := map[string]*analyze.Result{
		"reference": analyzed(t, symbol.Options{}, "../testdata/reference"),
		"system":    analyzed(t, symbol.Options{}, "../testdata/perfdata/perf-6.1-system.data"),
		"thousand":  analyzed(t, symbol.Options{Kallsyms: kallsyms}, crowd),
	}
	t.Run("shared", func(t *testing.T) {
		root := shared.Dir(t)
		opt := symbol.Options{Kallsyms: filepath.Join(root, "fixtures", "kallsyms-6.18.gz"), Symfs: filepath.Join(root, "fixtures", "bin")}
		out["netio"] = analyzed(t, opt, filepath.Join(root, "fixtures", "local", "netio_task_fp", "perf.data"))
		for _, w := range []string{"w01-feedhub", "w09-ledgerd", "w29-make16", "w30-transcode"} {
			out[w] = analyzed(t, opt, filepath.Join(root, "lab", w))
		}
	})
	return out
}

func analyzed(t testing.TB, symbols symbol.Options, paths ...string) *analyze.Result {
	t.Helper()
	set, problems, err := parse.Open(paths, parse.Options{Hash: true, Symbols: symbols})
	if err != nil || len(set.Sources) == 0 {
		t.Fatalf("%v: %v %v", paths, problems, err)
	}
	r, err := analyze.Run(set, rules.All(), analyze.Options{Drawings: true})
	if err != nil {
		t.Fatalf("%v: %v", paths, err)
	}
	return r
}

const (
	crowdThreads = 1000
	crowdCPUs    = 8
	crowdFormat  = "name: sched_%s\nID: %d\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" +
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	switchFields = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n" +
		"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n" +
		"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\nprint fmt: \"%s\", { 0x01, \"S\" }, { 0x02, \"D\" }, { 0x80, \"I\" }) : \"R\", x ? \"+\" : \"\"\n"
	wakeFields = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
)

// crowdKernel is the kernel of the recording: what its threads block in.
var crowdKernel = []string{"schedule", "do_nanosleep", "futex_wait_queue", "ep_poll", "pipe_read", "exit_to_user_mode_loop"}

// crowdFile records all tasks of a machine on which a thousand threads of four
// processes take turns, and writes its kernel's symbols.
func crowdFile(tb testing.TB) (data, kallsyms string) {
	tb.Helper()
	dir := tb.TempDir()
	data, kallsyms = filepath.Join(dir, "thousand.data"), filepath.Join(dir, "kallsyms")
	symbols := ""
	for i, s := range crowdKernel {
		symbols += fmt.Sprintf("%x T %s\n", crowdAddr(i), s)
	}
	if err := os.WriteFile(kallsyms, []byte(symbols+"ffffffff82000000 T _end\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	f, err := os.Create(data)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if err := writeCrowd(f); err != nil {
		tb.Fatal(err)
	}
	return data, kallsyms
}

func crowdAddr(i int) uint64 { return 0xffffffff81000000 + uint64(i)*0x1000 }

func writeCrowd(f *os.File) error {
	attr := wire.Attr{Type: wire.TypeTracepoint, Period: 1, Flags: wire.FlagSampleIDAll, Config: 320,
		SampleType: wire.SampleIdentifier | wire.SampleTID | wire.SampleTime | wire.SampleCPU | wire.SamplePeriod | wire.SampleRaw | wire.SampleCallchain}
	wake := attr
	wake.Config, wake.SampleType = 322, attr.SampleType&^wire.SampleCallchain
	w := wire.NewWriter(f, []wire.AttrIDs{{Attr: attr, IDs: []uint64{100}}, {Attr: wake, IDs: []uint64{101}}})
	w.Record(allTasks())
	rnd := rand.New(rand.NewPCG(3, 4))
	now := [crowdCPUs]uint64{}
	running := [crowdCPUs]int{}
	for round := range 40 {
		for cpu := range crowdCPUs {
			at := max(now[cpu], uint64(1e9)+uint64(round)*10e6)
			for range 200 {
				prev := running[cpu]
				next := cpu + crowdCPUs*rnd.IntN(crowdThreads/crowdCPUs)
				if rnd.IntN(5) == 0 { // some are busier than others
					next = cpu
				}
				at += 2000 + rnd.Uint64N(20_000)
				v := wire.SampleValues{ID: 101, PID: crowdPID(prev), TID: crowdTID(prev), CPU: uint32(cpu), Period: 1, Time: at, Raw: crowdWake(prev, next, cpu)}
				w.Record(wire.AppendSample(nil, &wake, &v))
				at += 500 + rnd.Uint64N(3000)
				state, chain := uint64(1), uint64(1+next%4)
				if rnd.IntN(9) == 0 {
					state, chain = 0, 5
				}
				v.ID, v.Time, v.Raw = 100, at, crowdSwitch(prev, next, state)
				v.Chain = []uint64{wire.ContextKernel, crowdAddr(0) + 8, crowdAddr(int(chain)) + 16, wire.ContextUser, 0x400000 + uint64(next%16)*64, 0x400800}
				w.Record(wire.AppendSample(nil, &attr, &v))
				running[cpu] = next
			}
			now[cpu] = at
		}
		w.Round()
	}
	w.Feature(wire.FeatHostname, wire.AppendString(nil, "synthetic"))
	w.Feature(wire.FeatTracingData, wire.AppendTracing(nil, map[string][]string{"sched": {
		fmt.Sprintf(crowdFormat, "switch", 320) + switchFields, fmt.Sprintf(crowdFormat, "wakeup", 322) + wakeFields}}))
	return w.Close()
}

// allTasks is the record by which perf says that it was told to watch all tasks.
func allTasks() []byte {
	b := wire.AppendHeader(nil, wire.RecThreadMap, 0, 16+24)
	b = binary.LittleEndian.AppendUint64(b, 1)
	return append(binary.LittleEndian.AppendUint64(b, ^uint64(0)), make([]byte, 16)...)
}

func crowdTID(i int) int32    { return int32(2000 + i) }
func crowdPID(i int) int32    { return int32(1900 + i%4) }
func crowdComm(i int) string  { return fmt.Sprintf("pool%d-%d", i%4, i) }
func put32(b []byte, v int32) { binary.LittleEndian.PutUint32(b, uint32(v)) }

func crowdSwitch(prev, next int, state uint64) []byte {
	b := make([]byte, 64)
	put32(b[4:], crowdTID(prev))
	copy(b[8:24], crowdComm(prev))
	put32(b[24:], crowdTID(prev))
	binary.LittleEndian.PutUint64(b[32:], state)
	copy(b[40:56], crowdComm(next))
	put32(b[56:], crowdTID(next))
	return b
}

func crowdWake(by, pid, cpu int) []byte {
	b := make([]byte, 36)
	put32(b[4:], crowdTID(by))
	copy(b[8:24], crowdComm(pid))
	put32(b[24:], crowdTID(pid))
	put32(b[32:], int32(cpu))
	return b
}

func analyzedReference(t *testing.T) *analyze.Result {
	return analyzed(t, symbol.Options{}, "../testdata/reference")
}
