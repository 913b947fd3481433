package timeline_test

import (
	"math/rand/v2"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
)

// eventsOf reads events of all kinds from bytes, six a piece. Times go
// backwards only in the kinds of piece that say so.
func eventsOf(data []byte) (evs []timeline.Event, ordered bool) {
	ordered = true
	now := uint64(1000)
	for ; len(data) >= 6; data = data[6:] {
		p := data[:6]
		now += uint64(p[1]) * uint64(p[1])
		e := timeline.Event{Time: now, Kind: timeline.Kind(p[0] % 14), TID: int32(p[2] % 8), Other: int32(p[3] % 8), CPU: int32(p[4]%5) - 1,
			State: evidence.State(p[5] % 12), Stack: uint32(p[4] / 5 % 4), Comm: uint32(p[3] / 64), PID: int32(p[2] / 64), Off: int64(len(data)),
			Flags: p[5] / 64, Arg: uint64(p[4] / 64), Event: uint16(p[0] / 128)}
		switch p[0] {
		case 250:
			ordered = false
			e.Time -= min(now, uint64(p[1])*500)
		case 251:
			e.TID, e.Other = -1-e.TID, 5_000_000+e.Other
		case 252:
			e.CPU = 1 << 20
		case 253:
			e.Time = 0
		case 254:
			ordered = false
			e.Time, e.Arg = 1<<63+now, 1<<63
		}
		evs = append(evs, e)
	}
	return evs, ordered
}

// FuzzTracker holds any sequence of events against what must be true of the
// evidence of all of them.
func FuzzTracker(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 40 {
		seed := make([]byte, 6*(n*n+1))
		for i := range seed {
			seed[i] = byte(r.Uint32())
			if i%6 == 0 && n%2 == 0 {
				seed[i] %= 3 // switches, and a few others
			}
		}
		f.Add(seed, n%3 != 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, wide bool) {
		evs, ordered := eventsOf(data)
		var set evidence.Set
		tr := timeline.NewTracker(&timeline.Names{}, timeline.TrackerOptions{SystemWide: wide, Wakeups: len(data)%2 == 0, MaxTasks: 12,
			Events: []timeline.EventInfo{{Name: "sched:sched_switch", Chains: true}, {Name: "cs", Switches: true}}})
		if err := tr.Events(evs); err != nil {
			t.Fatal(err)
		}
		if err := tr.Finish(set.NewBuilder("test", "test"), stacks{}); err != nil {
			t.Fatal(err)
		}
		window := ^uint64(0)
		if w := set.Sources[0].Window; ordered && w.StartNS.OK {
			window = w.EndNS.V - w.StartNS.V
		}
		lost := false // something, so that a delay may be known whose wait is not
		for _, e := range evs {
			lost = lost || e.Kind == timeline.KindLost || e.Time == 0
		}
		for i := range set.Threads {
			checkRow(t, &set.Threads[i], window, lost)
		}
		for _, c := range set.CPUs {
			if c.BusyNS+c.IdleNS > window {
				t.Errorf("CPU %d: busy %d + idle %d ns in %d", c.CPU, c.BusyNS, c.IdleNS, window)
			}
		}
		checkStacks(t, &set)
	})
}

func checkRow(t *testing.T, s *evidence.TaskStats, window uint64, lost bool) {
	t.Helper()
	n := func(h *evidence.Histogram) (uint64, uint64) {
		if h == nil {
			return 0, 0
		}
		if h.N == 0 {
			t.Errorf("%v: an empty histogram", s.Task)
		}
		return h.N, h.Sum
	}
	_, run := n(s.Run)
	offN, off := n(s.OffCPU)
	preN, pre := n(s.Preempt)
	delays, delay := n(s.Delay)
	if window != ^uint64(0) && (run+s.WaitNS.V > window || off+pre > s.WaitNS.V) {
		t.Errorf("%v: ran %d, waited %d (%d + %d) ns of %d", s.Task, run, s.WaitNS.V, off, pre, window)
	}
	if window != ^uint64(0) && (s.SleepNS.V > off+s.WaitNS.V || (!lost && s.SleepNS.V+delay > s.WaitNS.V)) {
		t.Errorf("%v: slept %d, delayed %d ns of %d", s.Task, s.SleepNS.V, delay, s.WaitNS.V)
	}
	if s.States != nil && s.Voluntary.OK {
		var outs uint64
		for _, c := range s.States {
			outs += c
		}
		if s.Voluntary.V+s.Involuntary.V != outs {
			t.Errorf("%v: %d + %d switch-outs, %d by state", s.Task, s.Voluntary.V, s.Involuntary.V, outs)
		}
		var kinds uint64
		for _, c := range s.Kinds {
			kinds += c
		}
		if kinds < outs {
			t.Errorf("%v: %d switch-outs, %d by kind", s.Task, outs, kinds)
		}
	}
	if m := s.MaxDelay; m.OK != (delays > 0) || (m.OK && m.V.NS != s.Delay.Max) {
		t.Errorf("%v: longest delay %+v of %d", s.Task, m, delays)
	}
	if len(s.Wakers) > evidence.MaxWakers || (!lost && offN+preN+delays > 0 && !s.WaitNS.OK) {
		t.Errorf("%v: %d wakers, %d waits", s.Task, len(s.Wakers), offN+preN)
	}
}

func checkStacks(t *testing.T, set *evidence.Set) {
	t.Helper()
	for _, tb := range set.Stacks {
		for _, s := range tb.Samples {
			if s.Count == 0 || int(s.Task) >= len(tb.Tasks) || int(s.Stack) >= len(tb.Stacks) || s.OffN > s.Count || s.DelayNS > s.OffNS+1<<62 {
				t.Errorf("%s: %+v", tb.Event, s)
			}
		}
		for _, chain := range tb.Stacks {
			for _, f := range chain {
				if int(f) >= len(tb.Frames) {
					t.Errorf("%s: frame %d of %d", tb.Event, f, len(tb.Frames))
				}
			}
		}
	}
}
