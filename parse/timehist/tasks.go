package timehist

import (
	"encoding/binary"

	"ctxan/parse/evidence"
)

// The places of tasks in tasks.list that are not threads.
const (
	idleTask  = 0 // the idle tasks of all CPUs
	otherTask = 1 // threads beyond maxTasks
	firstTask = 2
)

// maxTasks bounds the threads of one capture; the rows of further ones count in
// the totals only.
const maxTasks = 1 << 17

// task is a thread while its rows are read. Durations are in ns. What every row
// touches stands first.
type task struct {
	run, wait, delay durations

	last     uint64 // when it last left a CPU
	rows     uint64
	runSum   uint64 // printed run times
	longest  uint64 // delay
	sample   int32  // of its last row in chains.samples; -1: none
	comm     int32  // id of the comm it was last printed with
	tid, pid int
	waked    *waking

	runs, waits, delays evidence.Histogram // those that are known

	line    int // of its first row
	delayed evidence.Extreme
	instead int32 // the task that ran before the end of the longest delay; -1: not known
	kernel  bool
}

// taskKey tells threads apart. The process is part of it: a thread id is used
// again after its thread ended.
type taskKey struct{ tid, pid int }

// tasks finds the thread of a printed name.
type tasks struct {
	list  []*task
	byKey map[taskKey]int32
	byTID map[int]int32    // the latest thread of an id
	named map[string]int32 // those without any id
	comms map[string]int32
	names []string // comms by id
	full  bool

	cache nameCache
}

func newTasks() *tasks {
	t := &tasks{
		byKey: map[taskKey]int32{},
		byTID: map[int]int32{},
		named: map[string]int32{},
		comms: map[string]int32{},
		cache: nameCache{slots: make([]cachedName, minCache)},
	}
	idle, none := t.comm(idleBytes), t.comm(nil)
	t.list = []*task{
		idleTask:  {comm: idle, instead: -1, sample: -1},
		otherTask: {tid: unknownID, comm: none, instead: -1, sample: -1},
	}
	return t
}

// noComm is the id of the empty comm.
const noComm = 1

// comm interns a comm. Past the bound new ones get lost: a thread has few.
func (t *tasks) comm(name []byte) int32 {
	if id, ok := t.comms[string(name)]; ok {
		return id
	}
	if len(t.names) >= 2*maxTasks {
		return noComm
	}
	id := int32(len(t.names))
	s := string(name[:min(len(name), maxComm)])
	t.names = append(t.names, s)
	t.comms[s] = id
	return id
}

// maxComm bounds what is kept of a comm. perf prints at most 31 bytes.
const maxComm = 64

// find returns the place of a task in list and the id of its comm, making one
// when the name is new.
func (t *tasks) find(name []byte, line int) (at, comm int32) {
	n := parseName(name)
	if n.idle {
		return idleTask, 0
	}
	n.comm = n.comm[:min(len(n.comm), maxComm)]
	comm = t.comm(n.comm)
	switch {
	case n.plain:
		return t.findNamed(n, comm, line), comm
	case n.pid == 0 && n.tid != unknownID:
		if at, ok := t.byTID[n.tid]; ok {
			return at, comm
		}
	}
	return t.findKey(taskKey{n.tid, n.pid}, comm, line), comm
}

// findKey finds a thread by its ids. One whose process was not told before now
// learns it.
func (t *tasks) findKey(k taskKey, comm int32, line int) int32 {
	if at, ok := t.byKey[k]; ok {
		return at
	}
	if at, ok := t.byTID[k.tid]; ok && k.tid != unknownID && t.list[at].pid == 0 {
		delete(t.byKey, taskKey{k.tid, 0})
		t.list[at].pid = k.pid
		t.byKey[k] = at
		return at
	}
	at := t.add(k, comm, line)
	if at != otherTask {
		t.byKey[k], t.byTID[k.tid] = at, at
	}
	return at
}

func (t *tasks) findNamed(n taskName, comm int32, line int) int32 {
	if at, ok := t.named[string(n.comm)]; ok {
		return at
	}
	at := t.add(taskKey{unknownID, 0}, comm, line)
	if at != otherTask {
		t.named[string(n.comm)] = at
	}
	return at
}

func (t *tasks) add(k taskKey, comm int32, line int) int32 {
	if len(t.list) >= maxTasks {
		t.full = true
		return otherTask
	}
	t.list = append(t.list, &task{tid: k.tid, pid: k.pid, comm: comm, line: line, instead: -1, sample: -1})
	return int32(len(t.list) - 1)
}

// nameOnce names a task that had no row of its own so far.
func (t *tasks) nameOnce(at, comm int32) {
	if k := t.list[at]; k.rows == 0 {
		k.comm = comm
	}
}

// identity is the task as evidence names it.
func (t *tasks) identity(at int32) evidence.Task {
	k := t.list[at]
	return evidence.Task{PID: k.pid, TID: k.tid, Comm: t.names[k.comm]}
}

// nameWords are the bytes of a task column: its first two words of eight bytes
// and its last two, which overlap the others in columns below 32.
type nameWords [4]uint64

const (
	minNameWidth = 16
	maxNameWidth = 32
)

func loadName(p []byte) nameWords {
	n := len(p)
	return nameWords{
		binary.LittleEndian.Uint64(p),
		binary.LittleEndian.Uint64(p[8:]),
		binary.LittleEndian.Uint64(p[n-16:]),
		binary.LittleEndian.Uint64(p[n-8:]),
	}
}

func (w *nameWords) hash() uint32 {
	h := w[0]*0x9e3779b97f4a7c15 ^ w[1]*0xc2b2ae3d27d4eb4f ^ w[2]*0x165667b19e3779f9 ^ w[3]*0xd6e8feb86659fd93
	return uint32(h >> 32)
}

// nameCache maps the text of a task column to the task, so that the fast path
// reads no ids. It only saves work: it can be cleared at any time.
type nameCache struct {
	slots []cachedName // a power of two; empty where task is nil
	used  int
}

// cachedName fills a cache line.
type cachedName struct {
	words nameWords
	task  *task
	at    int32
	comm  int32
	hash  uint32
	width uint8 // of the column: the words mean another text in another width
	_     [11]byte
}

const (
	minCache = 1 << 8
	maxCache = 1 << 15
)

// slot returns where the name is or belongs.
func (c *nameCache) slot(width uint8, w *nameWords, hash uint32) *cachedName {
	mask := uint32(len(c.slots) - 1)
	for i := hash; ; i++ {
		s := &c.slots[i&mask]
		if s.task == nil || s.words == *w && s.width == width {
			return s
		}
	}
}

// add remembers a name that is not in the cache, and returns where.
func (c *nameCache) add(n cachedName) *cachedName {
	if 2*c.used >= len(c.slots) {
		c.grow()
	}
	s := c.slot(n.width, &n.words, n.hash)
	*s = n
	c.used++
	return s
}

// grow doubles the cache, or empties it at its bound.
func (c *nameCache) grow() {
	if len(c.slots) >= maxCache {
		c.clear()
		return
	}
	old := c.slots
	c.slots = make([]cachedName, 2*len(old))
	for i := range old {
		if old[i].task != nil {
			*c.slot(old[i].width, &old[i].words, old[i].hash) = old[i]
		}
	}
}

func (c *nameCache) clear() {
	clear(c.slots)
	c.used = 0
}
