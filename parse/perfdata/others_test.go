package perfdata

import (
	"runtime"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// distinct writes a recording of n switches of eight tasks, each with a call
// chain of its own.
func distinct(tb testing.TB, n int) []byte {
	tb.Helper()
	f := memFile{b: make([]byte, 0, 200*n)}
	events := gen{chains: 1}.attrs()
	w := wire.NewWriter(&f, events)
	w.Record(threadMap(-1))
	var rec []byte
	for i := range n {
		prev, next := int32(1000+i%8), int32(1000+(i+1)%8)
		rec = wire.AppendSample(rec[:0], &events[0].Attr, &wire.SampleValues{ID: 100, PID: 1000, TID: prev, Time: 1e9 + uint64(i)*1000, Period: 1,
			Raw: rawSwitch(prev, next, 1), Chain: []uint64{wire.ContextKernel, 0xffffffff81000000 + uint64(i)*16}})
		w.Record(rec)
	}
	w.Feature(wire.FeatTracingData, wire.AppendTracing(nil, map[string][]string{"sched": {formatSwitch, formatWakeup}}))
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

// TestOtherStacks reads a file with more distinct stacks than are told apart:
// every switch counts, those beyond in one stack that says so, and so does the
// source.
func TestOtherStacks(t *testing.T) {
	const beyond = 20_000
	file := distinct(t, maxStacks+beyond)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fx := readBytes(file, Options{})
	if fx.err != nil {
		t.Fatal(fx.err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(file)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 300*maxStacks {
		t.Errorf("%d bytes are kept for a stack", kept/maxStacks)
	}
	var all, others float64
	tab := &fx.set.Stacks[0]
	for i := range tab.Samples {
		sm := &tab.Samples[i]
		all += sm.Weight
		if sm.Stack >= 0 && tab.Frames[tab.Stacks[sm.Stack][0]].Module == evidence.OtherStacks {
			others += sm.Weight
		}
	}
	if all != maxStacks+beyond || others != beyond {
		t.Errorf("%v switches, %v of other stacks; want %d and %d", all, others, maxStacks+beyond, beyond)
	}
	var voluntary uint64
	for _, th := range fx.set.Threads {
		voluntary += th.Voluntary.Or(0)
	}
	if voluntary != maxStacks+beyond {
		t.Errorf("%d switches of the threads", voluntary)
	}
	if said := strings.Join(fx.src.Warnings, "\n"); !strings.Contains(said, "20000 samples have call chains that are not told apart") {
		t.Errorf("warnings: %s", said)
	}
}

// TestChainsLimit fills a small table of chains: beyond it there are others, and
// what it has is still found.
func TestChainsLimit(t *testing.T) {
	c := newChains()
	c.max = 5000
	var ids []uint32
	for i := range uint64(300) {
		ids = append(ids, c.intern([]uint64{wire.ContextUser, 0x400000 + i}))
	}
	for i, id := range ids {
		switch got := c.intern([]uint64{wire.ContextUser, 0x400000 + uint64(i)}); {
		case got != id:
			t.Errorf("chain %d is %d and then %d", i, id, got)
		case id == timeline.OtherStacks && c.chain(id) != nil:
			t.Errorf("the others are %x", c.chain(id))
		case id != timeline.OtherStacks && c.chain(id)[1] != 0x400000+uint64(i):
			t.Errorf("chain %d is %x", i, c.chain(id))
		}
	}
	if known := c.len(); known != 5000/(2*8+chainCost) || c.over != 2*(300-known) || c.bytes > c.max {
		t.Errorf("%d chains in %d bytes, %d over", known, c.bytes, c.over)
	}
}

// TestManyProcesses makes more processes than address spaces are kept for.
func TestManyProcesses(t *testing.T) {
	s := newSpaces()
	for pid := range int32(maxSpaces + 100) {
		s.fork(0, pid+1, pid+1)
		s.mapped(mapEvent{pid: pid + 1, start: 0x1000, size: 0x1000, path: 1})
	}
	if len(s.byPID) > maxSpaces || s.over == 0 || len(s.crowd.maps.list) > 0 {
		t.Errorf("%d spaces, %d mappings left out, %d mappings of the others", len(s.byPID), s.over, len(s.crowd.maps.list))
	}
	before := s.over
	if s.fork(1, maxSpaces+1000, maxSpaces+1000); s.over != before+1 { // the one mapping of process 1
		t.Errorf("%d mappings left out with a child's, %d before", s.over, before)
	}
}
