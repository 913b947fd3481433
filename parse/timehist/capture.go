package timehist

import "ctxan/parse/evidence"

// capture gathers the rows of one run of perf sched timehist. Its memory grows
// with threads, CPUs and distinct call chains, not with rows.
type capture struct {
	tasks  *tasks
	chains *chains
	series series
	cpus   []cpu
	sum    summary
	tails  map[string]*tailInfo
	pairs  wakePairs

	tailBytes  int
	line       int    // of its first line
	first      uint64 // time of the first row of any kind
	last       uint64 // latest time
	resolution uint64 // of the times, in ns; 0 before the first row
	firstRow   firstRow
	firstTask  evidence.Task // of firstRow

	rows, idleRows    uint64
	runSum            uint64 // printed run times without the idle task's
	wakeups, migrates uint64
	lost              uint64

	known      uint64 // rows of threads with a known run time
	zeroKnown  uint64 // of those, all three times 0.000
	waits      uint64 // rows of threads with a wait
	delays     uint64 // ... with a delay
	delayWaits uint64 // of those, the delay is the wait
	idleWaits  uint64 // rows of the idle task with a wait
	idleEqual  uint64 // of those, the delay is the wait

	breaks     uint64 // rows that follow no switch to their task
	brokenRun  uint64 // the printed run times of those
	nextRight  uint64 // -n: rows of the task that was told to follow
	nextWrong  uint64
	gaps       uint64 // rows whose switch-in is not the row before on their CPU
	impossible uint64 // times that contradict the clock
	backwards  uint64 // rows earlier than the one before
}

// firstRow is the first switch row, as printed.
type firstRow struct {
	time, wait, delay, run uint64
	cpu                    int
}

// cpu is a CPU while its rows are read.
type cpu struct {
	last   uint64 // time of its last switch row
	rows   uint64
	busy   uint64 // known run times of threads
	idle   uint64 // printed run times of its idle task
	breaks uint64
	task   int32 // of its last switch row
	next   int32 // -n: the thread id that was told to follow; unknownID: not told
	seen   bool  // it had a switch row
}

func newCapture(line int) *capture {
	return &capture{tasks: newTasks(), chains: newChains(), line: line}
}

func (c *capture) empty() bool {
	return c.rows == 0 && c.wakeups == 0 && c.migrates == 0 && c.lost == 0 && c.sum.empty()
}

// cpuAt returns the state of a CPU, which is valid until the next call.
func (c *capture) cpuAt(n int) *cpu {
	for n >= len(c.cpus) {
		c.cpus = append(c.cpus, cpu{next: unknownID})
	}
	return &c.cpus[n]
}

// tick takes a row's time into the window.
func (c *capture) tick(at, resolution uint64) {
	if c.resolution == 0 {
		c.first, c.last = at, at
		c.series.begin(at)
	}
	c.resolution = max(c.resolution, resolution)
	if at < c.last {
		c.backwards++
		return
	}
	c.last = at
}

// stint is the end of a task's time on a CPU: one switch row, in ns.
type stint struct {
	at, wait, delay, run uint64
}

// addSwitch counts a switch row. What perf does not know it prints as 0.000:
// the run time of a CPU's first row, the wait before a task's first row, the
// delay of a task that was not awakened. None of those is a measured zero: a
// task cannot be back on a CPU without at least two switches in between, nor
// within a microsecond of its wakeup.
//
// This is the hot path of long captures: one call a row, no allocation.
func (c *capture) addSwitch(at int32, t *task, p *cpu, s stint) {
	c.rows++
	c.series.add(s.at)
	before := *p
	p.last, p.task, p.next, p.seen = s.at, at, unknownID, true
	p.rows++
	tol := 2 * c.resolution
	if s.run > s.at || before.seen && s.at-s.run+tol < before.last {
		c.impossible++
		before.seen, s.run, s.wait, s.delay = false, 0, 0, 0
	}
	in := s.at - s.run
	adjacent := before.seen && in <= before.last+tol
	if before.seen && !adjacent {
		c.gaps++
	}
	known := before.seen || s.run > 0
	if before.next != unknownID || adjacent && before.task == at && s.wait == 0 {
		if !c.follows(t, &before, s.run) {
			known = false
			p.breaks++
		}
	}
	if at == idleTask {
		c.addIdle(p, s)
		return
	}
	t.rows++
	t.runSum += s.run
	c.runSum += s.run
	if known {
		c.known++
		t.run.add(&t.runs, s.run)
		p.busy += s.run
		if s.run|s.wait|s.delay == 0 {
			c.zeroKnown++
		}
	}
	if s.wait|s.delay != 0 && t.tid != unknownID {
		if !adjacent {
			before.task = -1
		}
		c.addWait(t, in, before.task, s)
	}
	if t.waked != nil {
		t.waked.switchOut(s)
	}
	t.last = s.at
}

// follows reports whether a row continues what its CPU did before, and counts
// when it does not. It does not when another task was told to follow (-n), or
// when the task leaves the CPU a second time without a wait in between: then
// switches of another task are missing in the recording, and perf took all the
// time since its last switch for run time.
func (c *capture) follows(t *task, before *cpu, run uint64) bool {
	if before.next != unknownID && t.tid != unknownID {
		if int(before.next) == t.tid {
			c.nextRight++
			return true
		}
		c.nextWrong++
		return false
	}
	if before.next != unknownID {
		return true
	}
	c.breaks++
	if t.tid != 0 {
		c.brokenRun += run
	}
	return false
}

// addIdle counts a row of the idle task.
func (c *capture) addIdle(p *cpu, s stint) {
	c.idleRows++
	p.idle += s.run
	if s.wait > 0 {
		c.idleWaits++
		if s.delay == s.wait {
			c.idleEqual++
		}
	}
}

// addWait counts the wait and the delay that ended with the switch-in. The wait
// begins with the switch-out, so it holds the delay. Times that contradict this
// come from lost events and are left out.
//
// Layout: timehist_update_runtime_stats in tools/perf/builtin-sched.c.
func (c *capture) addWait(t *task, in uint64, instead int32, s stint) {
	tol := 2 * c.resolution
	if s.wait > in || in-s.wait+tol < t.last || s.delay > in || s.wait > 0 && s.delay > s.wait+tol {
		c.impossible++
		return
	}
	if s.wait > 0 {
		c.waits++
		t.wait.add(&t.waits, s.wait)
		if t.sample >= 0 {
			c.chains.offCPU(t.sample, s.wait, s.delay)
		}
	}
	if s.delay == 0 {
		return
	}
	c.delays++
	if s.delay == s.wait {
		c.delayWaits++
	}
	t.delay.add(&t.delays, s.delay)
	if s.delay > t.longest {
		t.longest, t.delayed.AtNS, t.instead = s.delay, in, instead
	}
}
