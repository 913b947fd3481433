package perfdata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// record is one of a file that is changed field by field.
type record struct {
	name string
	body []byte // what stands between header and trailer
	typ  wire.Type
	misc uint16
	at   int // where it was written
}

// values packs integers: uint8, uint16, uint32, uint64 and strings of fixed size.
func values(list ...any) (b []byte) {
	for _, v := range list {
		switch v := v.(type) {
		case byte:
			b = append(b, v)
		case uint16:
			b = le.AppendUint16(b, v)
		case int:
			b = le.AppendUint32(b, uint32(v))
		case uint64:
			b = le.AppendUint64(b, v)
		case string:
			b = append(b, v...)
		}
	}
	return b
}

// described makes a file with a record of each kind that says something of
// tasks, memory, losses or counts, and the features that say something of the
// machine.
func described(t *testing.T) (file []byte, records []*record, features map[wire.Feature][]byte) {
	t.Helper()
	a := gen{chains: 1}.attrs()[0]
	a.Attr.ClockID, a.Attr.Flags = 1, a.Attr.Flags|wire.FlagUseClockID
	var f memFile
	w := wire.NewWriter(&f, []wire.AttrIDs{a})
	records = []*record{
		{name: "THREAD_MAP", typ: wire.RecThreadMap, body: values(uint64(2), uint64(10), string(make([]byte, 16)), uint64(11), string(make([]byte, 16)))},
		{name: "ID_INDEX", typ: wire.RecIDIndex, body: values(uint64(1), uint64(100), uint64(0), uint64(6), uint64(0))},
		{name: "MMAP", typ: wire.RecMmap, misc: wire.MiscKernel, body: values(-1, 0, uint64(0xffffffff81000000), uint64(0x1000000), uint64(0xffffffff81000000), "[kernel.kallsyms]_text\x00\x00")},
		{name: "COMM", typ: wire.RecComm, body: values(10, 11, "worker\x00\x00")},
		{name: "FORK", typ: wire.RecFork, body: values(10, 1, 12, 1, uint64(999))},
		{name: "MMAP2", typ: wire.RecMmap2, misc: wire.MiscUser | wire.MiscMmapBuildID, body: values(10, 11, uint64(0x400000), uint64(0x10000), uint64(0x1000),
			byte(20), byte(0), uint16(0), "01234567890123456789", 5, 2, "/bin/program\x00\x00\x00\x00")},
		{name: "KSYMBOL", typ: wire.RecKsymbol, body: values(uint64(0xffffffffc0000100), 0x40, uint16(1), uint16(0), "bpf_prog\x00\x00\x00\x00\x00\x00\x00\x00")},
		{name: "LOST", typ: wire.RecLost, body: values(uint64(100), uint64(7))},
		{name: "LOST_SAMPLES", typ: wire.RecLostSamples, body: values(uint64(5))},
		{name: "EXIT", typ: wire.RecExit, body: values(10, 10, 12, 10, uint64(999))},
		{name: "STAT", typ: wire.RecStat, body: values(uint64(100), 0, 0, uint64(1000), uint64(2000), uint64(1500))},
		{name: "STAT_ROUND", typ: wire.RecStatRound, body: values(uint64(1), uint64(3e9))},
		{name: "EVENT_UPDATE", typ: wire.RecEventUpdate, body: values(uint64(2), uint64(100), "sched:sched_switch\x00\x00\x00\x00\x00\x00")},
	}
	now := uint64(1e9)
	offset := int(w.Size())
	put := func(b []byte) {
		w.Record(b)
		offset += len(b)
	}
	for _, r := range records {
		r.at = offset
		b := append(wire.AppendHeader(nil, r.typ, r.misc, 0), r.body...)
		v := wire.SampleValues{ID: 100, PID: 10, TID: 11, Time: now}
		if now += 100; r.typ.Kernel() {
			b = wire.AppendTrailer(b, 0, &a.Attr, &v)
		}
		le.PutUint16(b[6:], uint16(len(b)))
		put(b)
		for i, chain := range [][]uint64{{wire.ContextKernel, 0xffffffff81000200}, {wire.ContextKernel, 0xffffffffc0000120, wire.ContextUser, 0x400010}} {
			v := wire.SampleValues{ID: 100, PID: 10, TID: int32(11 + i), Time: now, CPU: uint32(i), Period: 1, Chain: chain, Raw: rawSwitch(int32(11+i), int32(12-i), 1)}
			now += 100
			put(wire.AppendSample(nil, &a.Attr, &v))
		}
	}
	features = map[wire.Feature][]byte{
		wire.FeatHostname: wire.AppendString(nil, "machine"), wire.FeatOSRelease: wire.AppendString(nil, "6.18.0"),
		wire.FeatVersion: wire.AppendString(nil, "6.1"), wire.FeatArch: wire.AppendString(nil, "x86_64"), wire.FeatCPUDesc: wire.AppendString(nil, "a CPU"),
		wire.FeatNrCPUs: values(4, 4), wire.FeatCmdline: wire.AppendString(wire.AppendString(values(2), "perf"), "record"),
		wire.FeatClockData:   values(1, 1, uint64(1.7e18), uint64(5e8)),
		wire.FeatTracingData: wire.AppendTracing(nil, map[string][]string{"sched": {formatSwitch}}),
	}
	for n, b := range features {
		w.Feature(n, b)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b, records, features
}

// said is all that is read of a file: the evidence, the events, and what the
// reader keeps of the recording and its address spaces to name frames by.
func said(t *testing.T, b []byte) string {
	t.Helper()
	var sink tape
	c, err := open(Input{R: bytes.NewReader(b), Size: int64(len(b))})
	if err != nil {
		return err.Error()
	}
	set := &evidence.Set{}
	r := &reader{capture: c, names: &timeline.Names{}, opt: Options{Sinks: []timeline.Sink{&sink}, Stats: &Stats{}}}
	builder := set.NewBuilder("test", Format)
	r.describe(builder.Source())
	if err := errors.Join(r.stream(), r.finish(builder)); err != nil {
		return err.Error()
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%s %+v %d %v %v", text, *r.opt.Stats, c.cpus, c.perThread, c.threads)
	for _, a := range c.attrs {
		out += " " + a.name
	}
	for _, e := range sink.events {
		out += fmt.Sprintf("\n%+v %q %q", e, r.names.Name(e.Comm), r.names.Name(e.OtherComm))
	}
	maps := slices.Clone(r.spaces.kernel)
	for _, sp := range r.spaces.kept[1:] {
		maps = append(maps, sp.maps.list...)
	}
	for _, m := range maps {
		out += fmt.Sprintf("\n%+v %q %x", m, r.dec.paths.name(m.path), r.dec.paths.name(m.buildID))
	}
	return out
}

// TestEveryField changes one field of one record or feature at a time, and wants
// to see it in what is said.
func TestEveryField(t *testing.T) {
	file, records, features := described(t)
	base := said(t, file)
	changed := func(at int, xor byte) bool {
		b := slices.Clone(file)
		b[at] ^= xor
		return said(t, b) != base
	}
	fields := map[string][]int{ // offsets in the body of what is read
		"THREAD_MAP": {0, 8, 32}, "ID_INDEX": {0, 24}, "MMAP": {8, 16, 24, 32}, "COMM": {0, 4, 8}, "FORK": {0, 8}, "EXIT": {8},
		"MMAP2": {0, 8, 16, 24, 36, 56, 64}, "KSYMBOL": {0, 8, 16}, "LOST": {8}, "LOST_SAMPLES": {0},
		"STAT": {16, 24, 32}, "STAT_ROUND": {8}, "EVENT_UPDATE": {0, 8, 16},
	}
	n := 0
	for _, r := range records {
		if string(file[r.at+8:r.at+8+len(r.body)]) != string(r.body) {
			t.Fatalf("%s does not stand at %d", r.name, r.at)
		}
		for _, off := range fields[r.name] {
			if n++; !changed(r.at+8+off, 0x05) {
				t.Errorf("%s: a change at %d is not seen", r.name, off)
			}
		}
	}
	for name, at := range map[wire.Feature]int{wire.FeatHostname: 4, wire.FeatOSRelease: 4, wire.FeatVersion: 4, wire.FeatArch: 4, wire.FeatCPUDesc: 4,
		wire.FeatNrCPUs: 4, wire.FeatCmdline: 8, wire.FeatClockData: 8} {
		i := indexOf(file, features[name])
		if n++; i < 0 || !changed(i+at, 0x05) {
			t.Errorf("feature %d: a change at %d is not seen", name, at)
		}
	}
	t.Logf("%d fields", n)
}

func indexOf(b, part []byte) int {
	for i := len(b) - len(part); i >= 0; i-- {
		if string(b[i:i+len(part)]) == string(part) {
			return i
		}
	}
	return -1
}
