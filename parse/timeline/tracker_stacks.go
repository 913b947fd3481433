package timeline

import (
	"hash/maphash"

	"ctxan/parse/evidence"
)

// sample is what the samples of one key add up to.
type sample struct {
	key     sampleKey
	count   uint32
	offN    uint32
	weight  uint64
	offNS   uint64
	delayNS uint64
}

// sampleKey tells samples apart.
type sampleKey struct {
	task, stack uint32 // task.id, stack id
	event       uint16
	state       evidence.State
	wake        evidence.WakeContext
}

func (k sampleKey) hash() uint32 {
	h := uint64(k.task)<<32 | uint64(k.stack)
	h ^= (uint64(k.event)<<16 | uint64(k.state)<<8 | uint64(k.wake)) * 0x9e3779b97f4a7c15
	h *= 0xff51afd7ed558ccd
	h ^= h >> 32
	return uint32(h * 0xc4ceb9fe1a85ec53 >> 32)
}

// maxSamples bounds the keys that are told apart. Beyond it, stacks are summed
// without their task, and a quarter beyond that, tasks and stacks as others.
const maxSamples = 1 << 19

// sampleTable finds the sums of a key: an open-addressing table of indices into
// a list that only grows.
type sampleTable struct {
	list  []sample
	index []uint32 // position+1 in list; 0: free
	max   int      // keys that are told apart
	full  bool     // there were more
	// others: there were more even without their tasks
	others bool
}

// at returns the sums at a position+1, nil for 0.
func (st *sampleTable) at(slot uint32) *sample {
	if slot == 0 {
		return nil
	}
	return &st.list[slot-1]
}

// add counts a sample of a task and returns its position+1.
func (st *sampleTable) add(x *task, event uint16, stack uint32, state evidence.State, wake evidence.WakeContext, weight uint64) uint32 {
	k := sampleKey{x.id, stack, event, state, wake}
	if s := st.at(x.lastKey); s != nil && s.key == k {
		s.count++
		s.weight += weight
		return x.lastKey
	}
	slot := st.slot(k)
	x.lastKey = slot
	s := st.at(slot)
	s.count++
	s.weight += weight
	return slot
}

// slot finds the position+1 of a key, making one if it is new.
func (st *sampleTable) slot(k sampleKey) uint32 {
	if 2*(len(st.list)+1) > len(st.index) {
		st.grow()
	}
	mask := uint32(len(st.index) - 1)
	for i := k.hash() & mask; ; i = (i + 1) & mask {
		n := st.index[i]
		if n != 0 && st.list[n-1].key == k {
			return n
		}
		if n != 0 {
			continue
		}
		if len(st.list) >= st.max && k.task != othersID {
			st.full = true
			k.task = othersID
			return st.slot(k)
		}
		if len(st.list) >= st.max+st.max/4 && k.stack != OtherStacks && k.stack != NoStack {
			st.others = true
			k.stack = OtherStacks
			return st.slot(k)
		}
		st.list = append(st.list, sample{key: k})
		st.index[i] = uint32(len(st.list))
		return st.index[i]
	}
}

// grow doubles the index.
func (st *sampleTable) grow() {
	st.index = make([]uint32, max(256, 2*len(st.index)))
	mask := uint32(len(st.index) - 1)
	for n := range st.list {
		i := st.list[n].key.hash() & mask
		for st.index[i] != 0 {
			i = (i + 1) & mask
		}
		st.index[i] = uint32(n + 1)
	}
}

// emitStacks hands over a table for each event that had samples.
func (t *Tracker) emitStacks(b *evidence.Builder, frames StackFrames) {
	if frames == nil {
		return
	}
	tables := map[uint16]*tableBuilder{}
	var order []*tableBuilder
	size := map[uint16]int{}
	for i := range t.samples.list {
		size[t.samples.list[i].key.event]++
	}
	for i := range t.samples.list {
		s := &t.samples.list[i]
		if !t.selected(s.key.task) {
			continue
		}
		tb := tables[s.key.event]
		if tb == nil {
			tb = t.newTable(s.key.event, frames)
			tb.table.Samples = make([]evidence.StackSample, 0, size[s.key.event])
			tables[s.key.event] = tb
			order = append(order, tb)
		}
		tb.add(s)
	}
	t.samples.list, t.samples.index = nil, nil
	for _, tb := range order {
		b.Stacks(tb.table)
	}
}

// tableBuilder makes the StackTable of one event.
type tableBuilder struct {
	t      *Tracker
	frames StackFrames
	table  evidence.StackTable
	tasks  map[uint32]int32
	stacks map[uint32]int32
	ids    map[uint64]int32 // frames by hash; one whose place is taken has the next
	seed   maphash.Seed
	room   []int32 // for chains
}

// chainRoom is how many frames of chains get memory at a time.
const chainRoom = 1 << 12

func (t *Tracker) newTable(event uint16, frames StackFrames) *tableBuilder {
	info := t.info(&Event{Event: event})
	return &tableBuilder{t: t, frames: frames,
		table:  evidence.StackTable{Event: info.Name, Kind: info.Kind, Sampled: info.Sampled},
		tasks:  map[uint32]int32{othersID: -1},
		stacks: map[uint32]int32{NoStack: -1},
		ids:    map[uint64]int32{}, seed: maphash.MakeSeed()}
}

func (tb *tableBuilder) add(s *sample) {
	wake := s.key.wake
	if !tb.t.sawWakeups() {
		wake = evidence.WakeUnknown
	}
	tb.table.Samples = append(tb.table.Samples, evidence.StackSample{
		Task: tb.task(s.key.task), Stack: tb.stack(s.key.stack), State: s.key.state, Wake: wake,
		Count: uint64(s.count), Weight: float64(s.weight), OffNS: s.offNS, OffN: uint64(s.offN), DelayNS: s.delayNS})
}

func (tb *tableBuilder) task(id uint32) int32 {
	i, ok := tb.tasks[id]
	if !ok {
		i = int32(len(tb.table.Tasks))
		tb.table.Tasks = append(tb.table.Tasks, tb.t.taskOf(id))
		tb.tasks[id] = i
	}
	return i
}

func (tb *tableBuilder) stack(id uint32) int32 {
	i, ok := tb.stacks[id]
	if ok {
		return i
	}
	frames := otherStacks
	if id != OtherStacks {
		frames = tb.frames.Frames(id)
	}
	if len(frames) > len(tb.room) {
		tb.room = make([]int32, max(chainRoom, len(frames)))
	}
	chain := tb.room[:len(frames):len(frames)]
	tb.room = tb.room[len(frames):]
	for n := range frames {
		chain[n] = tb.frame(&frames[n])
	}
	i = int32(len(tb.table.Stacks))
	tb.table.Stacks = append(tb.table.Stacks, chain)
	tb.stacks[id] = i
	return i
}

// otherStacks are the frames of OtherStacks.
var otherStacks = []evidence.Frame{{Module: evidence.OtherStacks, Why: "one of too many different stacks"}}

// frame returns the place of a frame among those of the table.
func (tb *tableBuilder) frame(f *evidence.Frame) int32 {
	for h := maphash.Comparable(tb.seed, *f); ; h++ {
		i, ok := tb.ids[h]
		if !ok {
			i = int32(len(tb.table.Frames))
			tb.table.Frames = append(tb.table.Frames, *f)
			tb.ids[h] = i
			return i
		}
		if tb.table.Frames[i] == *f {
			return i
		}
	}
}
