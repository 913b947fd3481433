package timeline

// cpuState is what the switches of one CPU tell.
type cpuState struct {
	id            int32
	clean         bool   // nothing is known to be missing since the last switch
	cur           *task  // put on by the last switch; nil: not known
	since         uint64 // time of the last switch; 0: not known
	left          leaver
	victim, vslot uint32                   // task.id+1 of whom cur took the CPU from, and where that is counted; 0: nobody
	told          struct{ out, in uint32 } // task.id+1 of the last sched_switch, while its PERF_RECORD_SWITCH are to come

	lossGen    uint32
	switches   uint64
	idleNS     uint64
	busyNS     uint64
	breaks     uint64
	series     series
	stints     [numStints]stint // the last ones; the present one is at pos-1
	pos        uint32
	burst      []uint32    // task.ids woken here since the last switch, each once
	after      []afterWake // wakeups made by cur since it came on
	afterStore [8]afterWake
}

// leaver is a task whose switch-out was told by a record that does not name
// the next task.
type leaver struct {
	task  *task
	since uint64 // when it came on; 0: not known
	invol bool
	whole bool // nothing is missing since then
}

// stint says what a CPU ran from a time on.
type stint struct {
	task uint32 // task.id; othersID: not known
	at   uint64
}

const numStints = 16

// maxCPU is NR_CPUS of the largest kernels that are built.
const maxCPU = 8192

// cpu returns the state of a CPU, nil when it is not known.
func (t *Tracker) cpu(id int32) *cpuState {
	c := t.seenCPU(id)
	if c == nil {
		c = t.newCPU(id)
	}
	return c
}

// seenCPU returns the state of a CPU that there has been an event of.
func (t *Tracker) seenCPU(id int32) *cpuState {
	if uint32(id) < uint32(len(t.cpus)) {
		return t.cpus[id]
	}
	return nil
}

func (t *Tracker) newCPU(id int32) *cpuState {
	if id < 0 || id >= maxCPU {
		return nil
	}
	if int(id) >= len(t.cpus) {
		t.cpus = append(t.cpus, make([]*cpuState, int(id)+1-len(t.cpus))...)
	}
	c := &cpuState{id: id, clean: true}
	c.after = c.afterStore[:0]
	if t.lossAll != 0 {
		c.lose()
	}
	t.cpus[id] = c
	return c
}

// arrive records that x is on the CPU from a time on.
func (c *cpuState) arrive(x *task, at uint64) {
	c.cur, c.since, c.clean = x, at, true
	c.told.out, c.told.in = 0, 0
	c.stints[c.pos%numStints] = stint{x.id, at}
	c.pos++
}

// vacate records that nobody knows what the CPU runs from a time on.
func (c *cpuState) vacate(at uint64) {
	c.cur, c.clean = nil, true
	c.told.out, c.told.in = 0, 0
	c.stints[c.pos%numStints] = stint{othersID, at}
	c.pos++
}

// leave ends the stint of the task on the CPU. It reports whether prev is that
// task, and accounts its run. Otherwise the chain is broken: the task that was
// expected left unseen, and prev came unseen.
//
//	CPU 0   A→B            C→D      B left and C came in between: neither
//	        ────┤B ? ? ? C ├D──     has a stint of known length
func (t *Tracker) leave(c *cpuState, prev *task, e *Event) bool {
	if c.cur != prev {
		t.gone(c)
		if c.cur != nil {
			prev.breaks++
			t.chainBreak(c)
		}
		return false
	}
	ran, ok := t.span(c.since, e.Time)
	switch {
	case !ok || !c.clean:
	case prev == t.idle:
		c.idleNS += ran
	case prev == t.others:
		c.busyNS += ran
	case prev.place == on && prev.cpu == c.id:
		c.busyNS += ran
		prev.run.add(ran)
		if t.opt.Watch != nil {
			t.tellStint(prev, c.id, c.since, e)
		}
	}
	return true
}

// gone gives up a task that has ended on the CPU, where its last switch-out is
// not to be seen: the kernel takes a task's own events off it before it leaves
// for good.
func (t *Tracker) gone(c *cpuState) {
	x := c.cur
	if t.opt.SystemWide || x == nil || x.flags&flagExited == 0 {
		return
	}
	if x.place == on && x.cpu == c.id {
		x.place, x.at = unknown, 0
	}
	c.cur = nil
}

// chainBreak counts a switch that was missed on a CPU.
func (t *Tracker) chainBreak(c *cpuState) {
	t.breaks++
	c.breaks++
	if x := c.cur; x != nil && x.place == on && x.cpu == c.id {
		x.place, x.at = unknown, 0
		x.missed++
	}
	c.lose()
}

// lose drops what is open on the CPU, because something was not recorded. The
// task that the last switch put on is kept, to be held against the next one.
func (c *cpuState) lose() {
	c.clean = false
	c.after = c.after[:0]
	c.left = leaver{}
	c.stints[c.pos%numStints] = stint{task: othersID}
	c.pos++
}

// onLost invalidates what is open on a CPU, or on all of them. Waits are
// checked against the loss when they end.
func (t *Tracker) onLost(e *Event) {
	t.lossGen++
	if c := t.cpu(e.CPU); c != nil {
		c.lossGen = t.lossGen
		c.lose()
		return
	}
	t.lossAll = t.lossGen
	for _, c := range t.cpus {
		if c != nil {
			c.lose()
		}
	}
}

// intact reports whether nothing was lost since gen on any of the CPUs.
func (t *Tracker) intact(gen uint32, cpus ...int32) bool {
	if t.lossGen == gen {
		return true
	}
	if t.lossAll > gen {
		return false
	}
	for _, id := range cpus {
		if uint32(id) < uint32(len(t.cpus)) && t.cpus[id] != nil && t.cpus[id].lossGen > gen {
			return false
		}
	}
	return true
}

// instead returns which task had the longest stint on the CPU between two
// times, before the one that is about to come on; othersID: not known.
func (c *cpuState) instead(from, to uint64) uint32 {
	best := uint32(othersID)
	var most uint64
	end := to
	for i := uint32(1); i <= numStints && i <= c.pos && end > from; i++ {
		s := c.stints[(c.pos-i)%numStints]
		start := max(s.at, from)
		if s.task != othersID && end > start && end-start > most {
			best, most = s.task, end-start
		}
		if s.at == 0 {
			break
		}
		end = min(end, s.at)
	}
	return best
}
