package timeline

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"ctxan/parse/evidence"
)

// TestTaskSize holds the fields of a task in the cache lines that its comment
// promises.
func TestTaskSize(t *testing.T) {
	var x task
	for _, f := range []struct {
		name string
		at   uintptr
	}{
		{"wake", unsafe.Offsetof(x.wake)}, {"states", unsafe.Offsetof(x.states)}, {"run", unsafe.Offsetof(x.run)},
		{"preempt", unsafe.Offsetof(x.preempt)}, {"sleepNS", unsafe.Offsetof(x.sleepNS)}, {"samples", unsafe.Offsetof(x.samples)},
		{"the end", unsafe.Sizeof(x)},
	} {
		if f.at%64 != 0 {
			t.Errorf("%s is at byte %d of a task", f.name, f.at)
		}
	}
	if unsafe.Sizeof(Event{}) != 64 {
		t.Errorf("an event has %d bytes", unsafe.Sizeof(Event{}))
	}
}

// TestSampleTable counts random keys, with room for all of them and with less.
func TestSampleTable(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, room := range []int{100000, 2000, 500} {
		st := sampleTable{max: room}
		tasks := make([]task, 50)
		for i := range tasks {
			tasks[i].id = uint32(i + 2)
		}
		want := map[sampleKey]uint64{}
		for range 50000 {
			x := &tasks[r.IntN(len(tasks))]
			k := sampleKey{x.id, uint32(r.IntN(40)), uint16(r.IntN(2)), evidence.State(r.IntN(3)), evidence.WakeContext(r.IntN(2))}
			w := 1 + r.Uint64N(3)
			slot := st.add(x, k.event, k.stack, k.state, k.wake, w)
			if got := st.at(slot).key; got != k {
				if len(st.list) < room {
					t.Fatalf("the sums of %+v for %+v", got, k)
				}
				if k.task = othersID; got != k && k.stack != NoStack && len(st.list) >= room+room/4 {
					k.stack = OtherStacks
				}
				if got != k {
					t.Fatalf("the sums of %+v for %+v", got, k)
				}
			}
			want[k] += w
		}
		if len(st.list) != len(want) || st.full != (room <= 2000) || st.others != (room == 500) {
			t.Errorf("room for %d: %d keys, want %d; full is %v, others is %v", room, len(st.list), len(want), st.full, st.others)
		}
		for _, s := range st.list {
			if s.weight != want[s.key] {
				t.Errorf("%+v weighs %d, want %d", s.key, s.weight, want[s.key])
			}
		}
	}
}

// TestTaskTable finds tasks by tids that Linux gives out and by others.
func TestTaskTable(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var tt taskTable
	want := map[int32]*task{}
	for range 20000 {
		tid := int32(r.Uint32() >> r.UintN(32))
		if got := tt.find(tid); got != want[tid] {
			t.Fatalf("tid %d: %p, want %p", tid, got, want[tid])
		}
		x := tt.add(tid)
		tt.put(x)
		want[tid] = x
	}
	for tid, x := range want {
		if tt.find(tid) != x || x.tid != tid || tt.at(x.id) != x {
			t.Errorf("tid %d: %+v", tid, x)
		}
	}
	if len(tt.pages) > maxTID/pageSize {
		t.Errorf("%d pages", len(tt.pages))
	}
}
