package timeline_test

import (
	"runtime"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
)

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// churn makes the events of threads that live shortly, one after the other:
// each is made, runs, is preempted, sleeps, is woken and exits.
func churn(first, n int32, now uint64) []timeline.Event {
	var evs []timeline.Event
	put := func(e timeline.Event) {
		now += 1000
		e.Time = now
		evs = append(evs, e)
	}
	const parent = 50
	for tid := first; tid < first+n; tid++ {
		put(timeline.Event{Kind: timeline.KindFork, TID: parent, Other: tid, PID: tid, Flags: timeline.FlagHasPID})
		put(timeline.Event{Kind: timeline.KindWakeupNew, TID: parent, Other: tid})
		for _, state := range []evidence.State{evidence.StateR, evidence.StateS, evidence.StateD, evidence.StateX} {
			put(timeline.Event{Kind: timeline.KindSwitch, TID: parent, Other: tid, State: evidence.StateS})
			put(timeline.Event{Kind: timeline.KindSwitch, TID: tid, Other: parent, State: state})
			if state == evidence.StateX {
				break
			}
			put(timeline.Event{Kind: timeline.KindWaking, TID: parent, Other: tid})
			put(timeline.Event{Kind: timeline.KindWakeup, TID: parent, Other: tid})
		}
	}
	return evs
}

// TestTrackerMemory holds the memory of many short-lived threads, and of many
// events of few, against what the Tracker's comment says.
func TestTrackerMemory(t *testing.T) {
	const threads, batch = 30000, 1000
	before := heap()
	tr := timeline.NewTracker(&timeline.Names{}, timeline.TrackerOptions{SystemWide: true})
	now := uint64(1e9)
	for tid := int32(1000); tid < 1000+threads; tid += batch {
		evs := churn(tid, batch, now)
		now = evs[len(evs)-1].Time
		if err := tr.Events(evs); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / threads
	t.Logf("%d bytes a thread while counting", each)
	if each > 720 {
		t.Errorf("%d bytes a thread", each)
	}
	evs := load(8192, 500, 8, true, nil)
	shift(evs, now)
	for range 20 {
		if err := tr.Events(evs); err != nil {
			t.Fatal(err)
		}
		shift(evs, 1e9)
	}
	busy := heap()
	for range 100 {
		if err := tr.Events(evs); err != nil {
			t.Fatal(err)
		}
		shift(evs, 1e9)
	}
	grown := heap() - busy
	t.Logf("%d bytes for %d events of the same threads", grown, 100*len(evs))
	if grown > 1<<20 {
		t.Errorf("%d further events took %d bytes", 100*len(evs), grown)
	}
	var set evidence.Set
	if err := tr.Finish(set.NewBuilder("test", "test"), nil); err != nil {
		t.Fatal(err)
	}
	mb := (heap() - before) >> 20
	t.Logf("%d MB of evidence of %d threads", mb, len(set.Threads))
	if mb > 40 {
		t.Errorf("%d MB after Finish", mb)
	}
	runtime.KeepAlive(tr)
	runtime.KeepAlive(&set)
}
