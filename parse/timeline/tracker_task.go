package timeline

import (
	"math"

	"ctxan/parse/evidence"
)

// place is where a task is, as far as the events show.
type place uint8

const (
	unknown place = iota // not seen yet, or events about it are missing
	on                   // on task.cpu since task.at
	off                  // off the CPU since task.at
)

// Flags of a task.
const (
	flagExited uint8 = 1 << iota // its exit was seen; one more switch-out may follow
	flagDead                     // it left the CPU for good: its tid may come again as another task
	flagGone                     // another task has the tid now
	flagKernel                   // a kernel thread
	flagDupOut                   // without CPU numbers, what cpuState.told is with them
	flagDupIn
	flagWaking // a sched_waking came whose sched_wakeup has not
	flagEarly  // wakeAt is the time of that sched_waking
)

// task is one generation of a thread id. A switch takes its time for the cache
// misses of two tasks more than for anything else, so the fields stand in the
// order of use, each group in one line of 64 bytes.
type task struct {
	// Where it is.
	tid, pid int32
	comm     uint32
	id       uint32 // number in order of appearance
	place    place
	outState evidence.State // of the last switch-out
	flags    uint8
	waker    uint8  // index+1 into wakers of who woke it last
	cpu      int32  // of the last switch-in or -out; -1: not known
	gen      uint32 // lossGen at the last switch, and at the first wakeup since
	wakeGen  uint32
	at       uint64 // since when it is on or off; 0: not known
	wakeAt   uint64 // first wakeup since the last switch; 0: none
	slot     uint32 // index+1 into the samples, of the last switch-out
	lastKey  uint32 // index+1 into the samples, of any sample: the next is often the same
	ins      uint32
	wakeups  uint32

	wake  wakeContext
	kinds [evidence.NumKinds]uint32
	ctx   [evidence.NumWakeContexts]uint32
	_     [10 - int(evidence.NumKinds) - int(evidence.NumWakeContexts)]uint32

	states [evidence.NumStates]uint32
	rec    [2]uint32 // switch-outs by PERF_RECORD_SWITCH: voluntary, preempted
	_      [14 - evidence.NumStates]uint32

	run     durations
	offCPU  durations
	preempt durations
	delay   durations

	sleepNS uint64
	worstAt uint64 // when the longest delay ended
	worstNS uint64
	instead uint32 // task.id of who ran meanwhile; othersID: not known
	sleeps  uint32
	wakers  []waker
	index   *wakerIndex

	samples    uint64 // switches by a software event
	seenAt     int64  // Event.Off of the first event about it
	migrations uint32
	breaks     uint32    // switch-outs whose switch-in was missed
	missed     uint32    // switch-outs that were missed
	waits      uint32    // for a CPU
	waited     uint64    // in all of them, ns
	owed       uint64    // of it, not charged yet
	more       *taskMore // nil until there is something in it
	_          uint64
}

// taskMore is what few switches have to do with.
type taskMore struct {
	gap         *durations // from a voluntary switch-out to the next switch-out
	preemptors  []preemptor
	bursts      uint32
	least       uint32 // index+1 into blame of who held up least; 0: to be looked for
	burstSize   uint64
	blame       []blamed
	unknown     uint64 // ns that it is not known who held it up for, or one of many did
	idleNS      uint64 // of the waits for a CPU, while another was idle
	otherWaitNS uint64 // waits after a switch-out of unknown state
	firstWaitNS uint64 // waits before which no switch-out was seen
	otherWaits  uint32
	firstWaits  uint32
}

// extra returns the further evidence of a task, making it if need be.
func (x *task) extra() *taskMore {
	if x.more == nil {
		x.more = new(taskMore)
	}
	return x.more
}

// durations collects the values of a histogram. The last few wait here, so that
// the histogram is fetched into the cache once for all of them, and is not made
// at all while a task lives shortly.
type durations struct {
	hist *evidence.Histogram
	n    uint32
	few  [5]uint32
}

// add counts one value.
func (d *durations) add(v uint64) {
	if !d.keep(v) {
		d.addFull(v)
	}
}

// keep lets a value wait, if there is room for it. It is apart from add for
// the compiler to put it into its callers.
func (d *durations) keep(v uint64) bool {
	n := d.n
	if v > math.MaxUint32 || n >= uint32(len(d.few)) {
		return false
	}
	d.few[n] = uint32(v)
	d.n = n + 1
	return true
}

// addFull is add when there is no room, or the value needs more than others.
func (d *durations) addFull(v uint64) {
	d.flush()
	if v > math.MaxUint32 {
		d.hist.Add(v)
		return
	}
	d.few[0], d.n = uint32(v), 1
}

// flush moves the waiting values into the histogram, making it if need be.
func (d *durations) flush() {
	if d.hist == nil {
		d.hist = new(evidence.Histogram)
	}
	d.hist.AddAll(d.few[:d.n])
	d.n = 0
}

// all returns the histogram of all values, nil for none.
func (d *durations) all() *evidence.Histogram {
	if d.n > 0 {
		d.flush()
	}
	return d.hist
}

// wakeContext is by whom a task was last woken before it came on.
type wakeContext struct {
	at     uint64 // 0: not woken
	by     uint32 // task.id
	from   int32  // the waker's CPU; -1: not known
	target int32  // the CPU it was put on; -1: not told
	irq    bool
}

// outs is the number of switch-outs by sched_switch.
func (x *task) outs() uint64 {
	var n uint64
	for _, c := range x.states {
		n += uint64(c)
	}
	return n
}

const (
	pageBits = 10
	pageSize = 1 << pageBits
	maxTID   = 1 << 22 // PID_MAX_LIMIT of a 64-bit kernel
	slabSize = 64
)

type page [pageSize]*task

// taskTable finds the present task of a tid: by a two-level table over the
// tids that Linux gives out, by a map for those that only a damaged capture
// has. Tasks live in slabs and stay where they are.
type taskTable struct {
	pages []*page
	odd   map[int32]*task
	slabs [][]task
	n     int
	over  uint64 // switch-outs of tasks beyond max
}

// find returns the present task of a tid, or nil.
func (tt *taskTable) find(tid int32) *task {
	if i := uint32(tid) >> pageBits; i < uint32(len(tt.pages)) {
		if p := tt.pages[i]; p != nil {
			return p[uint32(tid)%pageSize]
		}
		return nil
	}
	return tt.odd[tid]
}

// put makes x the present task of its tid.
func (tt *taskTable) put(x *task) {
	tid := uint32(x.tid)
	if tid >= maxTID {
		if tt.odd == nil {
			tt.odd = map[int32]*task{}
		}
		tt.odd[x.tid] = x
		return
	}
	i := int(tid >> pageBits)
	if i >= len(tt.pages) {
		tt.pages = append(tt.pages, make([]*page, i+1-len(tt.pages))...)
	}
	if tt.pages[i] == nil {
		tt.pages[i] = new(page)
	}
	tt.pages[i][tid%pageSize] = x
}

// add makes a task that is in no table yet.
func (tt *taskTable) add(tid int32) *task {
	if tt.n%slabSize == 0 {
		tt.slabs = append(tt.slabs, make([]task, slabSize))
	}
	x := tt.at(uint32(tt.n))
	x.tid, x.cpu, x.id = tid, -1, uint32(tt.n)
	x.wake.from, x.wake.target = -1, -1
	tt.n++
	return x
}

func (tt *taskTable) at(id uint32) *task { return &tt.slabs[id/slabSize][id%slabSize] }

// get returns the task of a tid, making one when it is new. Where a task that
// has died shows up again, a new one has its tid and its start was missed.
func (t *Tracker) get(tid int32, offset int64) *task {
	x := t.tasks.find(tid)
	if x == nil || x.flags&flagDead != 0 {
		x = t.newTask(tid, offset)
	}
	return x
}

// The ids of Tracker.idle, and of Tracker.others, which is also that of no task.
const (
	idleID   = 0
	othersID = 1
)

// newTask makes a new generation of a tid. A tid below 0 is none: perf writes
// -1 for a task that has given its id back.
func (t *Tracker) newTask(tid int32, offset int64) *task {
	switch {
	case tid == 0:
		return t.idle
	case tid < 0 || t.tasks.n >= t.opt.MaxTasks:
		return t.others
	}
	if old := t.tasks.find(tid); old != nil {
		old.flags |= flagGone | flagDead
	}
	x := t.tasks.add(tid)
	x.seenAt = offset
	t.tasks.put(x)
	return x
}

// tell keeps the name and the process that an event tells of its own task. The
// last name wins: exec gives new ones.
func (t *Tracker) tell(x *task, e *Event) {
	if e.Comm != 0 {
		x.comm = e.Comm
	}
	if e.Flags&FlagHasPID != 0 && e.PID > 0 {
		x.pid = e.PID
	}
}

// onFork is told twice where the tracepoint and the record are both in the
// capture, and once for every running task at time 0, when perf lists them.
func (t *Tracker) onFork(e *Event) {
	parent := t.get(e.TID, e.Off)
	if parent != t.idle && e.Comm != 0 {
		parent.comm = e.Comm
	}
	x := t.tasks.find(e.Other)
	if x == nil || x.past(e) {
		x = t.newTask(e.Other, e.Off)
	}
	if x == t.idle || x == t.others {
		return
	}
	if e.Flags&FlagHasPID != 0 && e.PID > 0 {
		x.pid = e.PID
	}
	if x.comm == 0 {
		x.comm = parent.comm
	}
	if e.OtherComm != 0 {
		x.comm = e.OtherComm
	}
	if e.TID == kthreadd && t.names.Name(parent.comm) == "kthreadd" {
		x.flags |= flagKernel
	}
}

// kthreadd is the parent of all kernel threads.
const kthreadd = 2

// past reports whether an event that tells of a new task with this tid means
// another one: this one has ended, or has lived, so that its end was missed. An
// event without a time may only be late.
func (x *task) past(e *Event) bool {
	if x.flags&(flagExited|flagDead) != 0 {
		return true
	}
	return e.Time != 0 && (x.ins > 0 || x.outs() > 0 || x.rec[0]+x.rec[1] > 0)
}

func (t *Tracker) onComm(e *Event) {
	if x := t.get(e.TID, e.Off); x != t.idle && x != t.others {
		t.tell(x, e)
	}
}

func (t *Tracker) onExit(e *Event) {
	x := t.tasks.find(e.TID)
	if x == nil || x == t.idle {
		return
	}
	t.tell(x, e)
	x.flags |= flagExited
}

func (t *Tracker) onMigrate(e *Event) {
	t.hasMigrate = true
	x := t.wakee(e)
	if x == t.idle {
		return
	}
	x.migrations++
	if x.wake.at != 0 {
		x.wake.target = int32(e.Arg & 0xffffffff)
	}
}
