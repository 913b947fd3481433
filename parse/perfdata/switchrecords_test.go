package perfdata

import (
	"testing"

	"ctxan/parse/perfdata/wire"
)

// tracedProcess writes what a recording of one process has with records of
// switches beside the tracepoint, and with wakeups of tasks of the thread
// wakers (-1: all).
func tracedProcess(t *testing.T, wakers int) []byte {
	t.Helper()
	events := gen{cpus: 1}.attrs()
	events[0].Attr.Flags |= wire.FlagContextSwitch
	sw, wk := &events[0].Attr, &events[1].Attr
	var f memFile
	w := wire.NewWriter(&f, events)
	w.Record(threadMap(1000))
	index := le.AppendUint64(wire.AppendHeader(nil, wire.RecIDIndex, 0, 16+2*32), 2)
	for _, v := range []int{100, 0, 0, 1000, 101, 0, 0, wakers} {
		index = le.AppendUint64(index, uint64(int64(v)))
	}
	w.Record(index)
	record := func(at uint64, misc uint16) {
		b := wire.AppendHeader(nil, wire.RecSwitch, misc, 0)
		w.Record(wire.AppendTrailer(b, 0, sw, &wire.SampleValues{ID: 100, PID: 1000, TID: 1000, Time: at}))
	}
	out := func(at, state uint64) {
		v := wire.SampleValues{ID: 100, PID: 1000, TID: 1000, Time: at, Period: 1, Raw: rawSwitch(1000, 7, state)}
		w.Record(wire.AppendSample(nil, sw, &v))
		record(at+1, wire.MiscSwitchOut)
	}
	record(1_000, 0)
	out(2_000, 1)
	w.Record(wire.AppendSample(nil, wk, &wire.SampleValues{ID: 101, PID: 7, TID: 7, Time: 5_000, Period: 1, Raw: rawWakeup(7, 1000, 0)}))
	record(5_600, 0)
	out(7_000, 0)
	record(7_700, 0)
	w.Round()
	w.Feature(wire.FeatTracingData, wire.AppendTracing(nil, map[string][]string{"sched": {formatSwitch, formatWakeup}}))
	w.Feature(wire.FeatNrCPUs, le.AppendUint32(le.AppendUint32(nil, 1), 1))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// TestSwitchInsOfTracedProcess takes the switch-ins of a traced process from the records
// of switches, and counts no switch-out twice. Delays are there when all tasks'
// wakeups are.
func TestSwitchInsOfTracedProcess(t *testing.T) {
	for _, c := range []struct {
		wakers int
		delays uint64
	}{{-1, 1}, {1000, 0}} {
		fx := readBytes(tracedProcess(t, c.wakers), Options{})
		if fx.err != nil || len(fx.set.Threads) != 1 {
			t.Fatalf("%d rows, %v", len(fx.set.Threads), fx.err)
		}
		x := &fx.set.Threads[0]
		if x.Voluntary.V != 1 || x.Involuntary.V != 1 || x.ChainBreaks != 0 || fx.set.Sources[0].Loss.Any() {
			t.Errorf("%d voluntary, %d involuntary, loss %+v", x.Voluntary.V, x.Involuntary.V, fx.set.Sources[0].Loss)
		}
		if x.RunNS.V != 1_000+1_400 || x.OffCPU == nil || x.OffCPU.Sum != 3_600 || x.PreemptNS.V != 700 {
			t.Errorf("run %d, off-CPU %+v, preempted %d", x.RunNS.V, x.OffCPU, x.PreemptNS.V)
		}
		if x.Delay == nil && c.delays > 0 || x.Delay != nil && (x.Delay.N != c.delays || x.Delay.Sum != 600) {
			t.Errorf("wakers %d: delays %+v, want %d", c.wakers, x.Delay, c.delays)
		}
	}
}
