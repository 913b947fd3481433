package perfdata

import (
	"cmp"
	"slices"

	"ctxan/parse/timeline"
)

// spaces follows the address spaces of processes through the ordered events,
// and gives every call chain the space it was taken in: an address means
// something else after an exec or in another process.
//
// A space lives as long as its process, and as long as stacks refer to it. A
// mapping takes 40 bytes, and a child shares the list of its parent until one
// of them changes it. A distinct (chain, space) costs about 40 bytes.
type spaces struct {
	kernel   []mapping // sorted by start
	byPID    map[int32]*space
	kept     []*space // by id; those without stacks are nil
	stacks   []stack  // by stack id, from 1
	table    map[uint64]uint32
	recent   [recentStacks]recentStack
	mappings int
	over     int    // mappings beyond the limit
	others   int    // samples whose stack is not told apart
	crowd    *space // of the processes beyond maxSpaces; without mappings

	unwind *unwinding // nil: no user stacks to unwind
}

// stack is what a stack id of the events given to the sinks stands for.
type stack struct{ chain, space uint32 }

// mapping is a piece of an address space.
type mapping struct {
	start, end, pgoff uint64
	path, buildID     uint32
	symbol            bool
}

// space is the address space of a process between exec and exec.
type space struct {
	id      uint32 // 0: no stack refers to it
	pid     int32
	threads int  // that live, when born is set
	born    bool // its first task was seen to begin
	ended   bool // its first task has ended
	execed  bool // the next mapping is that of a new program
	maps    *mapList
}

// mapList is a list of mappings that several spaces may share.
type mapList struct {
	refs int
	list []mapping // sorted by start
}

// Bounds of what a hostile file can cost.
const (
	maxMappings = 1 << 19
	maxStacks   = 1 << 18
	maxSpaces   = 1 << 17
)

const recentStacks = 1 << 10

type recentStack struct {
	key uint64
	id  uint32
}

func newSpaces() *spaces {
	return &spaces{byPID: map[int32]*space{}, kept: []*space{nil}, stacks: []stack{{}}, table: map[uint64]uint32{}, crowd: &space{pid: -1, maps: &mapList{refs: 1}}}
}

// apply takes the events that change address spaces, and replaces the chain
// ids of others by stack ids.
func (s *spaces) apply(batch []timeline.Event) {
	for i := range batch {
		ev := &batch[i]
		if s.unwind != nil {
			s.unwound(ev)
		}
		if ev.Stack != 0 && ev.Kind < kindMap {
			ev.Stack = s.stack(ev)
		}
		switch ev.Kind {
		case kindMap:
			s.mapped(getMap(ev))
			*ev = timeline.Event{Time: ev.Time, Off: ev.Off, CPU: -1}
		case timeline.KindComm:
			if ev.Arg == 1 {
				s.exec(ev.PID)
			}
			ev.Arg = 0
		case timeline.KindFork:
			s.fork(int32(ev.Arg), ev.PID, ev.Other)
			ev.Arg = 0
		case timeline.KindExit:
			s.exit(ev.PID, ev.TID)
		}
	}
}

// stack returns the id of an event's chain in its process.
func (s *spaces) stack(ev *timeline.Event) uint32 {
	key := uint64(ev.Stack)
	if ev.Stack == timeline.OtherStacks {
		return ev.Stack // counted where it was left out
	}
	var sp *space
	if ev.Stack&kernelOnly == 0 && ev.Flags&timeline.FlagHasPID != 0 {
		sp = s.space(ev.PID)
		if sp.id == 0 {
			if len(s.kept) > maxStacks {
				s.others++
				return timeline.OtherStacks
			}
			sp.id = uint32(len(s.kept))
			s.kept = append(s.kept, sp)
		}
		key |= uint64(sp.id) << 32
	}
	r := &s.recent[(key^key>>32)%recentStacks]
	if r.key == key {
		return r.id
	}
	id, ok := s.table[key]
	if !ok {
		if len(s.stacks) > maxStacks {
			s.others++
			return timeline.OtherStacks
		}
		id = uint32(len(s.stacks))
		s.stacks = append(s.stacks, stack{uint32(key), uint32(key >> 32)})
		s.table[key] = id
	}
	*r = recentStack{key, id}
	return id
}

// space returns the present space of a process.
func (s *spaces) space(pid int32) *space {
	sp := s.byPID[pid]
	if sp == nil && len(s.byPID) >= maxSpaces {
		return s.crowd
	}
	if sp == nil {
		sp = &space{pid: pid, maps: &mapList{refs: 1}}
		s.byPID[pid] = sp
	}
	return sp
}

// mapped adds a mapping.
func (s *spaces) mapped(m mapEvent) {
	if m.size == 0 || m.start+m.size < m.start {
		return
	}
	if s.mappings >= maxMappings {
		s.over++
		return
	}
	one := mapping{m.start, m.start + m.size, m.pgoff, m.path, m.buildID, m.symbol}
	if m.pid == -1 {
		s.mappings -= len(s.kernel)
		s.kernel = insert(s.kernel, one)
		s.mappings += len(s.kernel)
		return
	}
	sp := s.space(m.pid)
	if sp == s.crowd {
		s.over++
		return
	}
	if sp.execed {
		s.drop(sp)
		sp = &space{pid: m.pid, threads: 1, born: sp.born, maps: &mapList{refs: 1}}
		s.byPID[m.pid] = sp
	}
	if sp.id != 0 && conflicts(sp.maps.list, one) {
		sp = s.renew(sp)
	}
	if l := sp.maps; l.refs > 1 {
		l.refs--
		sp.maps = &mapList{refs: 1, list: slices.Clone(l.list)}
		s.mappings += len(l.list)
	}
	s.mappings -= len(sp.maps.list)
	sp.maps.list = insert(sp.maps.list, one)
	s.mappings += len(sp.maps.list)
}

// renew gives a process a new space with the same mappings, because some of
// them are about to be replaced and stacks refer to the old ones.
func (s *spaces) renew(old *space) *space {
	sp := &space{pid: old.pid, threads: old.threads, born: old.born, ended: old.ended, maps: old.maps}
	old.maps.refs++
	s.byPID[old.pid] = sp
	return sp
}

// insert puts a mapping into a list sorted by start. What it covers of others
// is taken from them.
func insert(list []mapping, m mapping) []mapping {
	i, _ := slices.BinarySearchFunc(list, m.start, byStart)
	lo := i
	if i > 0 && list[i-1].end > m.start {
		lo = i - 1
	}
	hi := i
	for hi < len(list) && list[hi].start < m.end {
		hi++
	}
	var keep []mapping
	if lo < i {
		left := list[lo]
		left.end = m.start
		keep = append(keep, left)
	}
	keep = append(keep, m)
	if hi > lo {
		if right := list[hi-1]; right.end > m.end {
			right.pgoff += m.end - right.start
			right.start = m.end
			keep = append(keep, right)
		}
	}
	return slices.Replace(list, lo, hi, keep...)
}

func byStart(m mapping, at uint64) int { return cmp.Compare(m.start, at) }

// conflicts reports whether a mapping replaces part of another file's.
func conflicts(list []mapping, m mapping) bool {
	for at := m.start; ; {
		old := find(list, at)
		if old == nil {
			i, _ := slices.BinarySearchFunc(list, at, byStart)
			if i >= len(list) || list[i].start >= m.end {
				return false
			}
			old = &list[i]
		}
		if old.path != m.path || old.start-old.pgoff != m.start-m.pgoff {
			return true
		}
		if at = old.end; at >= m.end {
			return false
		}
	}
}

// find returns the mapping that holds an address, or nil.
func find(list []mapping, addr uint64) *mapping {
	i, found := slices.BinarySearchFunc(list, addr, byStart)
	if !found {
		i--
	}
	if i < 0 || addr >= list[i].end {
		return nil
	}
	return &list[i]
}

// exec has the next mapping start a new address space. Until then the task is
// still in the system call, and its user frames are those of the old program.
func (s *spaces) exec(pid int32) {
	if sp := s.byPID[pid]; sp != nil {
		sp.execed = true
	}
}

// fork follows a new task: a thread shares its process's space, a process
// begins with a copy.
func (s *spaces) fork(parent, pid, tid int32) {
	if pid == parent || pid != tid {
		s.space(pid).threads++
		return
	}
	if old := s.byPID[pid]; old != nil {
		s.drop(old)
	} else if len(s.byPID) >= maxSpaces {
		if p := s.byPID[parent]; p != nil {
			s.over += len(p.maps.list)
		}
		return
	}
	sp := &space{pid: pid, threads: 1, born: true}
	if p := s.byPID[parent]; p != nil {
		p.maps.refs++
		sp.maps = p.maps
	} else {
		sp.maps = &mapList{refs: 1}
	}
	s.byPID[pid] = sp
}

// exit follows the end of a task. The first task of a process may end before
// the others.
func (s *spaces) exit(pid, tid int32) {
	sp := s.byPID[pid]
	if sp == nil {
		return
	}
	sp.threads--
	sp.ended = sp.ended || tid == pid
	if sp.born && sp.ended && sp.threads <= 0 {
		s.drop(sp)
		delete(s.byPID, pid)
	}
}

// drop forgets a space, unless stacks refer to it.
func (s *spaces) drop(sp *space) {
	if sp.id != 0 {
		return
	}
	if sp.maps.refs--; sp.maps.refs == 0 {
		s.mappings -= len(sp.maps.list)
	}
}
