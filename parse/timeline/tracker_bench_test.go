package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
)

// load makes n events of a busy machine: per CPU, tasks wake others, run and
// leave; every task comes back to the CPU it ran on.
func load(n, tasks, cpus int, wakes bool, stack func(tid int32) uint32) []timeline.Event {
	r := rand.New(rand.NewPCG(1, 1))
	cur := make([]int32, cpus)
	evs := make([]timeline.Event, 0, n)
	now := uint64(1e9)
	for len(evs) < n {
		c := r.IntN(cpus)
		now += 300 + r.Uint64N(4000)
		next := int32(1000 + c + cpus*r.IntN(tasks/cpus))
		if next == cur[c] {
			next = 0
		}
		if wakes && next != 0 {
			evs = append(evs, timeline.Event{Time: now, Kind: timeline.KindWaking, TID: cur[c], Other: next, CPU: int32(c), Arg: uint64(c), Comm: 1, OtherComm: 1},
				timeline.Event{Time: now + 100, Kind: timeline.KindWakeup, TID: cur[c], Other: next, CPU: int32(c), Arg: uint64(c), Comm: 1, OtherComm: 1})
		}
		e := timeline.Event{Time: now + 200, Kind: timeline.KindSwitch, TID: cur[c], Other: next, CPU: int32(c), State: evidence.StateS, Comm: 1, OtherComm: 1,
			PID: 1000, Flags: timeline.FlagHasPID}
		if r.IntN(4) == 0 {
			e.State = evidence.StateR
		}
		if cur[c] == 0 {
			e.State, e.PID = evidence.StateR, 0
		}
		if stack != nil {
			e.Stack = stack(cur[c])
		}
		evs = append(evs, e)
		cur[c] = next
	}
	return evs[:n]
}

// shift moves a batch to later times, so that it can be fed again.
func shift(evs []timeline.Event, by uint64) {
	for i := range evs {
		evs[i].Time += by
	}
}

func BenchmarkTracker(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 2))
	few := func(tid int32) uint32 { return 1 + uint32(r.IntN(8)) }
	for _, c := range []struct {
		name  string
		tasks int
		wakes bool
		stack func(int32) uint32
	}{
		{"switches/16tasks", 16, false, nil},
		{"switches/500tasks", 500, false, nil},
		{"switches/30000tasks", 30000, false, nil},
		{"wakeups/500tasks", 500, true, nil},
		{"stacks/500tasks", 500, false, few},
		{"pingpong/16tasks", 16, true, nil},
	} {
		b.Run(fmt.Sprint(c.name), func(b *testing.B) {
			const n = 1 << 13
			evs := load(n, c.tasks, 8, c.wakes, c.stack)
			span := evs[n-1].Time - evs[0].Time
			var names timeline.Names
			names.ID([]byte("task"))
			tr := timeline.NewTracker(&names, timeline.TrackerOptions{SystemWide: true})
			for range 100 {
				_ = tr.Events(evs)
				shift(evs, span)
			}
			b.SetBytes(64 * n)
			b.ReportAllocs()
			for b.Loop() {
				_ = tr.Events(evs)
				shift(evs, span)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		})
	}
}
