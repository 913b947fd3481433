package timeline_test

import (
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
)

// watched adds up what a Watcher is told.
type watched struct {
	n, ns map[int]uint64 // stints by tid
	wakes int
}

func (w *watched) Stint(s timeline.Stint) {
	w.n[s.Task.TID]++
	w.ns[s.Task.TID] += s.End - s.Start
}

func (w *watched) Wake(timeline.Wake) { w.wakes++ }

// TestWatchIsWhatIsCounted: what a watcher is told is what the evidence sums,
// over every time line that the tracker is tested with.
func TestWatchIsWhatIsCounted(t *testing.T) {
	stints := 0
	for _, c := range lines {
		var names timeline.Names
		w := &watched{n: map[int]uint64{}, ns: map[int]uint64{}}
		set := track(t, sheet(t, c.events, &names), &names, timeline.TrackerOptions{SystemWide: !c.task, Wakeups: c.wakeups, Watch: w})
		n, ns := map[int]uint64{}, map[int]uint64{}
		for i := range set.Threads {
			if s := &set.Threads[i]; s.Run != nil {
				n[s.Task.TID] += s.Run.N // a tid may have had several owners
				ns[s.Task.TID] += s.Run.Sum
			}
		}
		for tid := range w.n {
			if n[tid] != w.n[tid] || ns[tid] != w.ns[tid] {
				t.Errorf("%s: %s has %d stints of %d ns, told were %d of %d", c.name, letter(tid), n[tid], ns[tid], w.n[tid], w.ns[tid])
			}
			stints += int(w.n[tid])
			delete(n, tid)
		}
		if len(n) > 0 {
			t.Errorf("%s: not told: %v", c.name, n)
		}
	}
	if stints < 20 {
		t.Errorf("%d stints in all: the time lines hold more", stints)
	}
}

// TestWatchSelected: only what is selected is told, and a wakeup once.
func TestWatchSelected(t *testing.T) {
	const events = `
		10 0 comm A hot
		10 0 switch . R A
		20 0 waking A B 1
		21 1 wake A B 1
		22 1 switch . R B
		30 0 switch A S .
		40 1 switch B S .
		41 1 irq . A 0
		42 0 switch . R A
		50 0 switch A D .`
	var names timeline.Names
	w := &watched{n: map[int]uint64{}, ns: map[int]uint64{}}
	track(t, sheet(t, events, &names), &names, timeline.TrackerOptions{SystemWide: true, Watch: w, Select: &timeline.Select{Comms: []string{"hot"}}})
	if w.n[101] != 2 || w.ns[101] != 28 || len(w.n) != 1 || w.wakes != 1 {
		t.Errorf("told %v, %v and %d wakeups", w.n, w.ns, w.wakes)
	}
	all := &recorder{}
	track(t, sheet(t, events, &names), &names, timeline.TrackerOptions{SystemWide: true, Watch: all})
	want := []timeline.Stint{
		{Task: evidence.Task{TID: 101, Comm: "hot"}, CPU: 0, Start: 10, End: 30, State: evidence.StateS},
		{Task: evidence.Task{TID: 102}, CPU: 1, Start: 22, End: 40, State: evidence.StateS},
		{Task: evidence.Task{TID: 101, Comm: "hot"}, CPU: 0, Start: 42, End: 50, State: evidence.StateD}}
	if len(all.stints) != len(want) || all.stints[0] != want[0] || all.stints[1] != want[1] || all.stints[2] != want[2] {
		t.Errorf("stints %+v", all.stints)
	}
	if len(all.wakes) != 2 || all.wakes[0].At != 20 || all.wakes[0].By.TID != 101 || !all.wakes[1].IRQ || all.wakes[1].Task.TID != 101 {
		t.Errorf("wakeups %+v", all.wakes)
	}
}

type recorder struct {
	stints []timeline.Stint
	wakes  []timeline.Wake
}

func (r *recorder) Stint(s timeline.Stint) { r.stints = append(r.stints, s) }
func (r *recorder) Wake(w timeline.Wake)   { r.wakes = append(r.wakes, w) }
