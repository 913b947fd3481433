package perfdata

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// memFile is a file in memory.
type memFile struct{ b []byte }

func (m *memFile) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.b) {
		m.b = slices.Grow(m.b, need-len(m.b))[:need]
	}
	return copy(m.b[off:], p), nil
}

// Formats of a kernel of today.
const (
	commonFields = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" +
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	formatSwitch = "name: sched_switch\nID: 320\nformat:\n" + commonFields +
		"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n" +
		"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n" +
		"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\nprint fmt: \"%s\", { 0x01, \"S\" }, { 0x02, \"D\" }, { 0x80, \"I\" }) : \"R\", x ? \"+\" : \"\"\n"
	formatWakeup = "name: sched_wakeup\nID: 322\nformat:\n" + commonFields +
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
)

// gen writes a recording of ping-pong pairs on some CPUs: on each, task a wakes
// task b and sleeps, then b wakes a and sleeps.
type gen struct {
	cpus, rounds, perRound int
	chains                 int // distinct call chains; 0: none are recorded
}

func (g gen) attrs() []wire.AttrIDs {
	base := wire.Attr{Type: wire.TypeTracepoint, Period: 1, Flags: wire.FlagSampleIDAll | wire.FlagInherit,
		SampleType: wire.SampleIdentifier | wire.SampleIP | wire.SampleTID | wire.SampleTime | wire.SampleCPU | wire.SamplePeriod | wire.SampleRaw}
	sw, wk := base, base
	sw.Config, wk.Config = 320, 322
	if g.chains > 0 {
		sw.SampleType |= wire.SampleCallchain
	}
	return []wire.AttrIDs{{Attr: sw, IDs: []uint64{100}}, {Attr: wk, IDs: []uint64{101}}}
}

func (g gen) write(tb testing.TB) []byte {
	tb.Helper()
	var f memFile
	events := g.attrs()
	w := wire.NewWriter(&f, events)
	w.Record(threadMap(-1))
	rnd := rand.New(rand.NewPCG(1, 1))
	now := make([]uint64, g.cpus)
	for i := range now {
		now[i] = 1e9 + uint64(i)*17
	}
	var rec []byte
	for range g.rounds {
		for cpu := range g.cpus {
			for k := range g.perRound {
				prev, next := int32(1000+2*cpu+k%2), int32(1000+2*cpu+1-k%2)
				v := wire.SampleValues{PID: prev, TID: prev, CPU: uint32(cpu), Period: 1, IP: 0xffffffff81000000}
				now[cpu] += 500 + rnd.Uint64N(1000)
				v.ID, v.Time, v.Raw = 101, now[cpu], rawWakeup(prev, next, cpu)
				rec = wire.AppendSample(rec[:0], &events[1].Attr, &v)
				w.Record(rec)
				now[cpu] += 500 + rnd.Uint64N(1000)
				v.ID, v.Time, v.Raw = 100, now[cpu], rawSwitch(prev, next, 1)
				if g.chains > 0 {
					v.Chain = chainOf(rnd.IntN(g.chains))
				}
				rec = wire.AppendSample(rec[:0], &events[0].Attr, &v)
				w.Record(rec)
			}
		}
		for cpu := range now { // the next round begins later on all CPUs
			now[cpu] = max(now[cpu], slices.Max(now)-1000)
		}
		w.Round()
	}
	w.Feature(wire.FeatHostname, wire.AppendString(nil, "synthetic"))
	w.Feature(wire.FeatTracingData, wire.AppendTracing(nil, map[string][]string{"sched": {formatSwitch, formatWakeup}}))
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

func threadMap(pids ...int) []byte {
	b := wire.AppendHeader(nil, wire.RecThreadMap, 0, 16+24*len(pids))
	b = le.AppendUint64(b, uint64(len(pids)))
	for _, p := range pids {
		b = append(le.AppendUint64(b, uint64(p)), make([]byte, 16)...)
	}
	return b
}

func chainOf(i int) []uint64 {
	c := []uint64{wire.ContextKernel, 0xffffffff81000100, 0xffffffff81000000 + uint64(i)*16, 0xffffffff81002000, wire.ContextUser}
	for k := range 12 {
		c = append(c, 0x400000+uint64(i*64+k*8))
	}
	return c
}

func raw(pid int32, size int) []byte {
	b := make([]byte, size)
	le.PutUint32(b[4:], uint32(pid))
	return b
}

func rawSwitch(prev, next int32, state uint64) []byte {
	b := raw(prev, 64)
	copy(b[8:24], fmt.Sprintf("task-%d", prev))
	le.PutUint32(b[24:], uint32(prev))
	le.PutUint64(b[32:], state)
	copy(b[40:56], fmt.Sprintf("task-%d", next))
	le.PutUint32(b[56:], uint32(next))
	return b
}

func rawWakeup(by, pid int32, cpu int) []byte {
	b := raw(by, 36)
	copy(b[8:24], fmt.Sprintf("task-%d", pid))
	le.PutUint32(b[24:], uint32(pid))
	le.PutUint32(b[32:], uint32(cpu))
	return b
}

// readBytes reads a file in memory.
func readBytes(b []byte, opt Options) *fixture {
	fx := &fixture{}
	builder := fx.set.NewBuilder("memory", Format)
	fx.src = builder.Source()
	opt.Stats = &fx.stats
	fx.err = Read(Input{R: bytes.NewReader(b), Size: int64(len(b)), Name: "memory"}, builder, opt)
	return fx
}

func TestGenerated(t *testing.T) {
	g := gen{cpus: 3, rounds: 5, perRound: 100}
	fx := readBytes(g.write(t), Options{})
	if fx.err != nil {
		t.Fatal(fx.err)
	}
	if n := fx.stats.Samples["sched:sched_switch"]; n != 1500 || len(fx.set.Threads) != 6 {
		t.Errorf("%d switches, %d threads", n, len(fx.set.Threads))
	}
	for _, th := range fx.set.Threads {
		if th.Voluntary.Or(0) != 250 || th.Involuntary.Or(0) != 0 || !th.DelayNS.OK {
			t.Errorf("%v: %+v", th.Task, th)
		}
	}
	if fx.src.Host.Name != "synthetic" || fx.src.Target.Kind != evidence.TargetSystem || fx.src.Loss.Any() {
		t.Errorf("source %+v", fx.src)
	}
}

// TestMutations changes one field of one sample at a time and wants to see it
// in the event.
func TestMutations(t *testing.T) {
	file := gen{cpus: 1, rounds: 1, perRound: 4}.write(t)
	at := bytes.Index(file, rawSwitch(1000, 1001, 1)) // the raw data of the first switch
	rec := at - 4 - 48 - wire.HeaderSize              // its record: header, id, ip, tid, time, cpu, period
	first := func(b []byte, kind timeline.Kind) timeline.Event {
		var sink tape
		names := &timeline.Names{}
		if fx := readBytes(b, Options{Sinks: []timeline.Sink{&sink}, Names: names}); fx.err != nil {
			t.Fatal(fx.err)
		}
		for _, e := range sink.events {
			if e.Kind == kind && e.Off == int64(rec) {
				if e.Comm != 0 { // ids may differ, names count
					e.Comm = uint32(len(names.Name(e.Comm)))
				}
				e.OtherComm = uint32(len(names.Name(e.OtherComm)))
				return e
			}
		}
		return timeline.Event{}
	}
	base := first(file, timeline.KindSwitch)
	if base.TID != 1000 || base.Other != 1001 || base.State != evidence.StateS || base.PID != 1000 || base.CPU != 0 {
		t.Fatalf("%+v", base)
	}
	for name, m := range map[string]struct {
		off  int
		put  string
		want func(*timeline.Event)
	}{
		"time":       {rec + 32, "\x01", func(e *timeline.Event) { e.Time = e.Time&^0xff | 1 }},
		"cpu":        {rec + 40, "\x05", func(e *timeline.Event) { e.CPU = 5 }},
		"prev_state": {at + 32, "\x02", func(e *timeline.Event) { e.State = evidence.StateD }},
		"preempted":  {at + 33, "\x01", func(e *timeline.Event) { e.State = evidence.StateRPlus }},
		"next_pid":   {at + 56, "\x07\x00", func(e *timeline.Event) { e.Other = 7 }},
		"prev_comm":  {at + 8, "ab\x00", func(e *timeline.Event) { e.Comm = 2 }},
		"next_comm":  {at + 40, "abc\x00", func(e *timeline.Event) { e.OtherComm = 3 }},
		"hardirq":    {at + 2, "\x08", func(e *timeline.Event) { e.Flags |= timeline.FlagIRQ }},
		"softirq":    {at + 2, "\x10", func(e *timeline.Event) { e.Flags |= timeline.FlagIRQ }},
		"irqs off":   {at + 2, "\x01", func(*timeline.Event) {}},
		"sample pid": {rec + 24, "\x09\x00", func(e *timeline.Event) { e.PID = 9 }},
		"sample tid": {rec + 28, "\x09\x00", func(e *timeline.Event) { e.PID, e.Flags = 0, 0 }},
		"prev_pid":   {at + 24, "\x06\x00", func(e *timeline.Event) { e.TID, e.PID, e.Flags = 6, 0, 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			b := slices.Clone(file)
			copy(b[m.off:], m.put)
			want := base
			m.want(&want)
			if got := first(b, timeline.KindSwitch); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestHighStates reads what kernels from 4.14 to 4.19 wrote: the state of the
// idle task gives them away.
func TestHighStates(t *testing.T) {
	var f memFile
	events := gen{}.attrs()
	w := wire.NewWriter(&f, events)
	for i, s := range []struct {
		prev  int32
		state uint64
	}{{0, 1}, {7, 2}, {0, 1}, {7, 4}, {0, 1}, {7, 1}, {0, 1}, {7, 0x100}, {0, 1}, {7, 0x40}} {
		w.Record(wire.AppendSample(nil, &events[0].Attr, &wire.SampleValues{ID: 100, Time: uint64(i + 1), PID: s.prev, TID: s.prev, Raw: rawSwitch(s.prev, 7-s.prev, s.state)}))
	}
	format := strings.Replace(formatSwitch, "{ 0x80,", "{ 0x20, \"Z\" }, { 0x80,", 1)
	w.Feature(wire.FeatTracingData, wire.AppendTracing(nil, map[string][]string{"sched": {format}}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var sink tape
	if fx := readBytes(f.b, Options{Sinks: []timeline.Sink{&sink}}); fx.err != nil || len(fx.src.Notes) == 0 {
		t.Fatalf("%v, %q", fx.err, fx.src.Notes)
	}
	var got []evidence.State
	for _, e := range sink.events {
		if e.TID == 7 {
			got = append(got, e.State)
		}
	}
	want := []evidence.State{evidence.StateS, evidence.StateD, evidence.StateR, evidence.StateUnknown, evidence.StateZ}
	if !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
}

// TestHostile gives sizes and numbers that no recorder writes.
func TestHostile(t *testing.T) {
	file := gen{cpus: 2, rounds: 2, perRound: 50, chains: 3}.write(t)
	at := bytes.Index(file, rawWakeup(1000, 1001, 0)) // raw data of the first wakeup
	rec := at - 4 - 48 - wire.HeaderSize
	max32, max64 := "\xff\xff\xff\xff", strings.Repeat("\xff", 8)
	for name, m := range map[string]struct {
		off int
		put string
	}{
		"record size 0": {rec + 6, "\x00\x00"}, "record size 7": {rec + 6, "\x07\x00"}, "record size 65535": {rec + 6, "\xff\xff"},
		"raw size": {at - 4, max32}, "raw size 0": {at - 4, "\x00\x00\x00\x00"}, "cpu": {rec + 40, max32}, "tid": {rec + 28, max32},
		"id": {rec + 8, max64}, "time": {rec + 32, max64}, "time 0": {rec + 32, strings.Repeat("\x00", 8)}, "type": {rec, "\x77\x00\x00\x00"},
		"attr size": {16, max64}, "attr size 0": {16, strings.Repeat("\x00", 8)}, "attrs offset": {24, max64}, "attrs size": {32, max64},
		"data offset": {40, max64}, "data size": {48, max64}, "features": {72, strings.Repeat("\xff", 32)}, "header size": {8, max64},
	} {
		t.Run(name, func(t *testing.T) {
			b := slices.Clone(file)
			copy(b[m.off:], m.put)
			before := memory()
			fx := readBytes(b, Options{})
			if fx.err == nil && fx.src.DroppedTotal == 0 && !fx.src.Loss.Truncated && len(fx.src.Warnings) == 0 {
				switch name {
				case "tid", "time 0": // may be so
				case "header size": // not used for anything
				default:
					t.Errorf("nothing was said; %+v", fx.src)
				}
			}
			if used := memory() - before; used > 64<<20 {
				t.Errorf("%d MiB allocated", used>>20)
			}
		})
	}
	// A call chain longer than its record.
	chain := bytes.Index(file, le.AppendUint64(nil, wire.ContextKernel)) - 8
	b := slices.Clone(file)
	copy(b[chain:], max64)
	if fx := readBytes(b, Options{}); fx.err != nil || fx.src.DroppedTotal != 1 {
		t.Errorf("chain: %v, %d dropped", fx.err, fx.src.DroppedTotal)
	}
}

func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// TestTruncatedAnywhere cuts a file at every byte of its head and at many
// others: evidence or an error, and never more samples than whole records.
func TestTruncatedAnywhere(t *testing.T) {
	file := gen{cpus: 2, rounds: 3, perRound: 20}.write(t)
	for n := 0; n < len(file); n += 1 + n/300 {
		fx := readBytes(file[:n], Options{})
		if fx.err != nil {
			continue
		}
		if !fx.src.Loss.Truncated {
			t.Errorf("cut at %d of %d: not noticed", n, len(file))
		}
		if got := fx.stats.Samples["sched:sched_switch"]; got > 120 {
			t.Errorf("cut at %d: %d switches", n, got)
		}
	}
}

// FuzzRead reads damaged files. Memory must stay bounded, and what is read must
// be possible.
func FuzzRead(f *testing.F) {
	f.Add(gen{cpus: 2, rounds: 2, perRound: 3, chains: 2}.write(f))
	list, _ := filepath.Glob(filepath.Join(recordings, "*.data"))
	if dir := os.Getenv("CTXAN_SHARED"); dir != "" {
		more, _ := filepath.Glob(filepath.Join(dir, "fixtures", "local", "*", "*.data"))
		list = append(list, more...)
	}
	for _, path := range list {
		if b, err := os.ReadFile(path); err == nil && len(b) < 200_000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fx := readBytes(b, Options{})
		if fx.err != nil {
			return
		}
		var samples uint64
		for _, n := range fx.stats.Samples {
			samples += n
		}
		if fx.src.Loss.Truncated != (len(fx.src.Warnings) > 0) && fx.src.Loss.Truncated {
			t.Error("cut and not said")
		}
		if packed := fx.stats.Records[wire.RecCompressed] + fx.stats.Records[wire.RecCompressed2]; packed == 0 && samples > uint64(len(b))/wire.HeaderSize {
			t.Errorf("%d samples in %d bytes", samples, len(b))
		}
	})
}

// BenchmarkRead reads a recording of switches and wakeups on two CPUs.
func BenchmarkRead(b *testing.B) { benchmarkGen(b, gen{cpus: 2, rounds: 40, perRound: 2500}) }

// BenchmarkReadChains reads one with call chains.
func BenchmarkReadChains(b *testing.B) {
	benchmarkGen(b, gen{cpus: 2, rounds: 40, perRound: 2500, chains: 500})
}

// BenchmarkReadManyCPUs reads one of 64 CPUs.
func BenchmarkReadManyCPUs(b *testing.B) {
	benchmarkGen(b, gen{cpus: 64, rounds: 40, perRound: 80})
}

func benchmarkGen(b *testing.B, g gen) {
	file := g.write(b)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if fx := readBytes(file, Options{}); fx.err != nil {
			b.Fatal(fx.err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*g.cpus*g.rounds*g.perRound), "ns/sample")
}
