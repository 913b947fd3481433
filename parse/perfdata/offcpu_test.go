package perfdata

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
)

// offCPU is a time off the CPU as perf's BPF program measures it.
type offCPU struct {
	pid, tid int32
	ns       uint64
	chain    []uint64
	end      bool // summed up, and written when perf stops
}

var offCPUs = []offCPU{
	{10, 11, 700_000_000, []uint64{wire.ContextUser, 0x401010, 0x402020}, false},
	{10, 10, 5_000_000, []uint64{wire.ContextUser, 0x401030}, true},
	{10, 11, 9_000_000, []uint64{wire.ContextUser, 0x401010, 0x402020}, true},
	{20, 20, 1, []uint64{wire.ContextUser}, true},
}

// offCPUFile writes what `perf record --off-cpu` does, in the layout that
// off_cpu_write in the kernel's tools/perf/util/bpf_off_cpu.c and off_cpu_dump in
// bpf_skel/off_cpu.bpf.c give the samples since perf 6.16, or before it.
func offCPUFile(tb testing.TB, raw bool) []byte {
	tb.Helper()
	var f memFile
	off := wire.Attr{Type: wire.TypeSoftware, Config: wire.SWBPFOutput, Period: 1, Flags: wire.FlagSampleIDAll | wire.FlagFreq,
		SampleType: wire.SampleIdentifier | wire.SampleIP | wire.SampleTID | wire.SampleTime | wire.SampleCPU | wire.SamplePeriod}
	clock := off
	clock.Config = wire.SWCPUClock
	off.SampleType |= wire.SampleCallchain
	if raw {
		off.SampleType ^= wire.SampleCallchain | wire.SampleRaw
	}
	w := wire.NewWriter(&f, []wire.AttrIDs{{Attr: clock, IDs: []uint64{1}}, {Attr: off, IDs: []uint64{2}}})
	w.Record(threadMap(-1))
	w.Record(wire.AppendSample(nil, &clock, &wire.SampleValues{ID: 1, Time: 1e9, PID: 10, TID: 10, IP: 0x401000, Period: 1}))
	stamp := uint64(0xffffffff << 32)
	for i, o := range offCPUs {
		if o.end && i > 0 && !offCPUs[i-1].end {
			w.Round()
		}
		v := wire.SampleValues{ID: 2, Time: 1_500_000_000, Period: 1, CPU: 1}
		if o.end {
			v.Time, v.CPU = stamp, 0
			stamp++
		}
		if raw {
			v.Raw = o.raw()
		} else {
			v.PID, v.TID, v.Period, v.Chain = o.pid, o.tid, o.ns, o.chain
		}
		w.Record(wire.AppendSample(nil, &off, &v))
	}
	w.Feature(wire.FeatHostname, wire.AppendString(nil, "written"))
	w.Feature(wire.FeatEventDesc, eventDescOf(map[string]*wire.Attr{offCPUEvent: &off, "cpu-clock": &clock}, map[string]uint64{offCPUEvent: 2, "cpu-clock": 1}))
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

func (o *offCPU) raw() []byte {
	ids := []uint32{uint32(o.tid), uint32(o.pid)}
	if o.end {
		slices.Reverse(ids)
	}
	b := le.AppendUint32(le.AppendUint32(nil, ids[0]), ids[1])
	b = le.AppendUint64(le.AppendUint64(b, o.ns), uint64(len(o.chain)))
	for _, ip := range o.chain {
		b = le.AppendUint64(b, ip)
	}
	return le.AppendUint64(b, 0) // the cgroup
}

// eventDescOf makes the feature that names events.
func eventDescOf(attrs map[string]*wire.Attr, ids map[string]uint64) []byte {
	b := le.AppendUint32(le.AppendUint32(nil, uint32(len(attrs))), wire.AttrSizeV8)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		b = le.AppendUint32(attrs[name].Append(b), 1)
		b = le.AppendUint64(wire.AppendString(b, name), ids[name])
	}
	return b
}

// offCPUOf sums the times of a file by task and stack.
func offCPUOf(t *testing.T, data []byte) (map[string]uint64, *fixture) {
	t.Helper()
	fx := readBytes(data, Options{})
	if fx.err != nil {
		t.Fatal(fx.err)
	}
	got := map[string]uint64{}
	for _, st := range fx.set.Stacks {
		if st.Kind != evidence.StackOffCPU {
			continue
		}
		if st.Event != offCPUEvent || st.Sampled {
			t.Errorf("table %s, sampled %v", st.Event, st.Sampled)
		}
		for _, s := range st.Samples {
			key := fmt.Sprintf("%d/%d", st.Tasks[s.Task].PID, st.Tasks[s.Task].TID)
			if s.Stack >= 0 {
				for _, i := range st.Stacks[s.Stack] {
					key += fmt.Sprintf(" %x", st.Frames[i].Addr)
				}
			}
			got[key] += uint64(s.Weight)
		}
	}
	return got, fx
}

func TestOffCPU(t *testing.T) {
	want := map[string]uint64{"10/11 401010 402020": 709_000_000, "10/10 401030": 5_000_000, "20/20": 1}
	for _, raw := range []bool{false, true} {
		got, fx := offCPUOf(t, offCPUFile(t, raw))
		if !maps.Equal(got, want) {
			t.Errorf("raw %v: %v, want %v", raw, got, want)
		}
		if fx.src.DroppedTotal > 0 || fx.src.Loss.Any() || fx.stats.Samples[offCPUEvent] != 4 {
			t.Errorf("raw %v: %+v; %v", raw, fx.src, fx.stats.Samples)
		}
		if d := fx.src.Window.DurationS.Or(0); d != 0.5 {
			t.Errorf("raw %v: the window is %v s long", raw, d)
		}
	}
}

// TestOffCPUFields changes one field at a time.
func TestOffCPUFields(t *testing.T) {
	file := offCPUFile(t, true)
	raw, last := bytes.Index(file, offCPUs[0].raw()), bytes.Index(file, offCPUs[3].raw())
	for name, m := range map[string]struct {
		off  int
		put  string
		want string
		ns   uint64
		drop int
	}{
		"thread":         {raw, "\x0c", "10/12 401010 402020", 700_000_000, 0},
		"process at end": {last, "\x0d", "13/20", 1, 0},
		"thread at end":  {last + 4, "\x15", "20/21", 1, 0},
		"time":           {raw + 8, "\x01\x00\x00\x00", "10/11 401010 402020", 9_000_001, 0},
		"frames":         {raw + 16, "\x02", "10/11 401010", 700_000_000, 0},
		"too many":       {raw + 16, "\xff", "10/11 401010 402020", 9_000_000, 1},
		"address":        {raw + 32, "\x18", "10/11 401018 402020", 700_000_000, 0},
		"raw size":       {raw - 4, "\x10\x00", "10/11 401010 402020", 9_000_000, 1},
		"another's time": {bytes.Index(file, le.AppendUint32(nil, 1_500_000_000)) + 7, "\x80", "10/11 401010 402020", 9_000_000, 0},
	} {
		b := slices.Clone(file)
		copy(b[m.off:], m.put)
		got, fx := offCPUOf(t, b)
		if got[m.want] != m.ns || fx.src.DroppedTotal != m.drop {
			t.Errorf("%s: %v, want %d of %s; %d dropped", name, got, m.ns, m.want, fx.src.DroppedTotal)
		}
	}
}
