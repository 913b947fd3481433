package pidstat

import (
	"fmt"
	"strings"

	"ctxan/parse/evidence"
)

// MaxRows is how many interval rows of one capture are kept one by one. Of a
// longer capture each task's mean over the intervals is kept instead. It also
// bounds the tasks, and the tool's own average rows.
const MaxRows = 50_000

// capture is one run of pidstat.
type capture struct {
	banner  banner
	command command

	rows      []row // interval and average rows in the order of the text
	intervals int   // interval rows among them
	averages  int
	folded    map[taskKey]*mean // instead of the interval rows, once there are too many
	foldedN   int
	names     map[string]string

	times     times
	process   int  // the PID of the last TGID row of this sample
	threads   bool // there are TID rows
	noThreads bool // there are rows of a table by PID
	tables    bool // a table with the rates was seen
	others    bool // a table of another activity was seen
	cut       bool // the text ends inside a row
}

type taskKey struct {
	pid, tid int
	process  bool
}

// mean sums a task's rates over its interval rows.
type mean struct {
	row   // the first one
	n     int
	v, iv float64
}

// add takes a row. It reports whether there was room for it.
func (c *capture) add(r row) bool {
	r.task.Comm = c.intern(r.task.Comm)
	c.tie(&r)
	if r.average {
		if c.averages++; c.averages > MaxRows {
			return false
		}
		c.rows = append(c.rows, r)
		return true
	}
	if c.folded == nil && c.intervals < MaxRows {
		c.intervals++
		c.rows = append(c.rows, r)
		return true
	}
	if c.folded == nil {
		c.startFolding()
	}
	return c.fold(r)
}

// tie gives a thread row the process whose row stands above it.
func (c *capture) tie(r *row) {
	switch {
	case r.process, r.thread && r.tied:
		c.process = r.task.PID
	case r.thread:
		r.task.PID = c.process
	}
	c.threads = c.threads || r.thread || r.process
	c.noThreads = c.noThreads || !(r.thread || r.process)
}

// intern copies a name once, so that the evidence does not keep the text alive.
func (c *capture) intern(s string) string {
	if have, ok := c.names[s]; ok {
		return have
	}
	s = strings.Clone(s)
	if c.names == nil {
		c.names = map[string]string{}
	}
	if len(c.names) < MaxRows {
		c.names[s] = s
	}
	return s
}

func (c *capture) startFolding() {
	c.folded = map[taskKey]*mean{}
	kept := c.rows[:0]
	for _, r := range c.rows {
		if r.average {
			kept = append(kept, r)
		} else {
			c.fold(r)
		}
	}
	c.rows = kept
}

func (c *capture) fold(r row) bool {
	k := taskKey{r.task.PID, r.task.TID, r.process}
	m := c.folded[k]
	if m == nil {
		if len(c.folded) >= MaxRows {
			return false
		}
		m = &mean{row: r}
		c.folded[k] = m
	}
	m.n++
	m.v += r.vol
	m.iv += r.invol
	c.foldedN++
	return true
}

// finish writes the capture into b.
func (c *capture) finish(b *evidence.Builder) {
	rows := c.allRows()
	c.resolve(rows)
	c.describe(b)
	b.GrowThreads(len(rows))
	for i := range rows {
		b.Thread(rows[i].stats())
	}
}

func (r *row) stats() evidence.TaskStats {
	return evidence.TaskStats{
		Pos:             evidence.Pos{Line: r.line},
		Task:            r.task,
		Process:         r.process,
		Average:         r.average,
		VoluntaryPerS:   evidence.Some(r.vol),
		InvoluntaryPerS: evidence.Some(r.invol),
	}
}

// allRows returns the rows, folded ones as the mean over all intervals: a task
// without a row in an interval did not switch in it.
func (c *capture) allRows() []row {
	if c.folded == nil {
		return c.rows
	}
	rows := make([]row, 0, len(c.rows)+len(c.folded))
	for _, m := range c.folded {
		n := float64(max(c.times.samples, m.n))
		m.row.vol, m.row.invol = m.v/n, m.iv/n
		rows = append(rows, m.row)
	}
	rows = append(rows, c.rows...)
	sortByLine(rows)
	return rows
}

// resolve settles which process the threads belong to. A thread belongs to the
// TGID row above it, as long as the rows stand in pidstat's own order: sorted
// or filtered rows have some other row above them. Then only rows that name
// their process, and main threads, are certain.
func (c *capture) resolve(rows []row) {
	processes, of := map[int]bool{}, map[int]int{}
	for _, r := range rows {
		if r.tied {
			processes[r.task.PID] = true
		}
	}
	ordered := !c.command.piped
	for _, r := range rows {
		if r.thread && !r.tied && processes[r.task.TID] && r.task.PID != 0 && r.task.PID != r.task.TID {
			ordered = false
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.thread && !r.tied && !ordered {
			r.task.PID = 0
			if processes[r.task.TID] {
				r.task.PID = r.task.TID
			}
		}
		if r.task.PID != 0 {
			of[r.task.TID] = r.task.PID
		}
	}
	for i := range rows {
		if r := &rows[i]; r.task.PID == 0 {
			r.task.PID = of[r.task.TID]
		}
	}
}

// describe fills in the source.
func (c *capture) describe(b *evidence.Builder) {
	src := b.Source()
	src.Host, src.Window.Date = c.banner.host, c.banner.date
	src.Command, src.Target = c.command.line, c.command.target
	src.Loss.Truncated = src.Loss.Truncated || c.cut
	src.Variant = c.variant()
	sinceBoot := c.command.sinceBoot || c.times.sinceBoot
	c.times.window(&src.Window, sinceBoot)
	switch {
	case sinceBoot && c.tables:
		b.Warn("the rates are means since boot (pidstat without an interval), not of the time of the problem; run pidstat -wt with an interval")
	case !c.tables:
		b.Warn("pidstat without -w: no switch rates in it; run pidstat -wt with an interval")
	case len(c.rows)+len(c.folded) == 0:
		b.Warn("pidstat table without rows: no task switched, or the process was gone")
	}
	if c.noThreads && !c.threads {
		b.Source().LeadersOnly = true
		b.Note("pidstat without -t shows each process's main thread only; its other threads' switches are not in it")
	}
	if c.folded != nil {
		b.Note(fmt.Sprintf("%d interval rows folded into one mean for each task (more than %d rows)", c.foldedN, MaxRows))
	}
}

func (c *capture) variant() string {
	parts := []string{"per process"}
	if c.threads {
		parts[0] = "per thread"
	}
	if c.times.samples > 0 {
		unit := "intervals"
		if c.times.samples == 1 {
			unit = "interval"
		}
		parts = append(parts, fmt.Sprintf("%d %s", c.times.samples, unit))
	}
	if c.averages > 0 {
		parts = append(parts, "averages")
	}
	return strings.Join(parts, ", ")
}
