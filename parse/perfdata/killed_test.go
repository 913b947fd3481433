package perfdata

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// killed makes a file what it is when its recorder is killed: without the size
// of the data and without features.
func killed(file []byte) []byte {
	b := slices.Clone(file)
	clear(b[48:56])
	clear(b[72:104])
	return b
}

// movedRaw is a sched_migrate_task of a kernel that has the name at the end.
func movedRaw(pid int32, from, to uint32) []byte {
	name := fmt.Sprintf("task-%d\x00", pid)
	b := raw(pid, 28)
	le.PutUint32(b[8:], uint32(len(name))<<16|28)
	le.PutUint32(b[12:], uint32(pid))
	le.PutUint32(b[20:], from)
	le.PutUint32(b[24:], to)
	return append(b, name...)
}

// TestKilledNames: without the formats, where the name of a task stands is seen
// from the samples, for every event on its own.
func TestKilledNames(t *testing.T) {
	events := gen{}.attrs()
	events[1].Attr.Config = 319 // sched_migrate_task, one before sched_switch
	var f memFile
	w := wire.NewWriter(&f, events)
	w.Record(threadMap(-1))
	for i := range 8 {
		v := wire.SampleValues{ID: 101, Time: 1e9 + uint64(2*i), PID: 7, TID: 7, Raw: movedRaw(7, 2, 3)}
		w.Record(wire.AppendSample(nil, &events[1].Attr, &v))
		v.ID, v.Time, v.Raw = 100, v.Time+1, rawSwitch(7, 0, 1)
		w.Record(wire.AppendSample(nil, &events[0].Attr, &v))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file []byte
		want uint64
	}{
		"as it is":         {killed(f.b), 2<<32 | 3},
		"the CPUs changed": {bytes.ReplaceAll(killed(f.b), movedRaw(7, 2, 3), movedRaw(7, 1, 5)), 1<<32 | 5},
	} {
		var sink tape
		fx := readBytes(c.file, Options{Sinks: []timeline.Sink{&sink}})
		if fx.err != nil || fx.src.DroppedTotal > 0 || !fx.src.Loss.Truncated {
			t.Fatalf("%s: %v, %+v", name, fx.err, fx.src)
		}
		n := 0
		for _, e := range sink.events {
			if e.Kind == timeline.KindMigrate {
				if n++; e.Other != 7 || e.Arg != c.want {
					t.Errorf("%s: %+v", name, e)
				}
			}
		}
		if n != 8 || fx.stats.Samples["sched:sched_switch"] != 8 {
			t.Errorf("%s: %d migrations, %v", name, n, fx.stats.Samples)
		}
	}
}

// TestKilledParts: of a recording in several files, whose recorder was killed,
// the layouts are seen from the samples in the parts.
func TestKilledParts(t *testing.T) {
	file := killed(gen{cpus: 2, rounds: 2, perRound: 10}.write(t))
	at := bytes.Index(file, wire.AppendHeader(nil, wire.RecSample, wire.MiscKernel, 8+6*8+40)) // the first sample: a wakeup
	if at < 0 {
		t.Fatal("no sample")
	}
	fx := &fixture{}
	b := fx.set.NewBuilder("folder", Format)
	fx.src = b.Source()
	head, part := file[:at], file[at:]
	in := Input{R: bytes.NewReader(head), Size: int64(len(head)), Name: "data", Parts: []Part{{bytes.NewReader(part), int64(len(part))}}}
	if err := Read(in, b, Options{Stats: &fx.stats}); err != nil {
		t.Fatal(err)
	}
	var sum uint64
	for _, th := range fx.set.Threads {
		sum += th.Voluntary.Or(0)
	}
	if sum != 40 || fx.stats.Samples["sched:sched_switch"] != 40 || fx.src.Target.Kind != evidence.TargetSystem {
		t.Errorf("%d switches of %v; %+v", sum, fx.stats.Samples, fx.src)
	}
}
