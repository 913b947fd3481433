package procfs

import (
	"fmt"
	"slices"
	"strings"

	"ctxan/parse/evidence"
)

// flush adds the collected task to the reading. A thread whose counters are
// there already was read a second time: that is the next reading.
func (r *reader) flush() {
	b := r.block
	r.block = block{place: r.place}
	if !b.any {
		return
	}
	c := b.identified()
	if c.Task.TID == 0 {
		r.keep(c, threadKey{}, b.line)
		return
	}
	key := threadKey{c.Task.TID, c.Leader}
	x := r.reading(b.line)
	i, seen := x.at[key]
	if seen && overlaps(&x.Threads[i], &c) {
		r.begin("", b.line)
		seen = false
	}
	if seen {
		merge(&r.readings[r.cur].Threads[i], &c)
		return
	}
	r.keep(c, key, b.line)
}

// keep appends a thread to the present reading.
func (r *reader) keep(c evidence.ThreadCount, key threadKey, line int) {
	if r.threads++; r.threads > MaxThreads {
		r.drop(line, fmt.Errorf("threads: %w", errTooMany))
		return
	}
	x := r.reading(line)
	c.Task.Comm = strings.Clone(c.Task.Comm) // not to keep the text alive
	x.Threads = append(x.Threads, c)
	if key.tid != 0 {
		x.at[key] = len(x.Threads) - 1
	}
}

// identified is the count with the ids that the file's name or its fields give.
func (b *block) identified() evidence.ThreadCount {
	c, p := b.count, b.place
	if c.Task.TID == 0 {
		c.Task.TID = p.tid
	}
	if c.Task.PID == 0 {
		c.Task.PID = p.pid
	}
	if c.Task.PID == 0 && c.Threads.Or(0) == 1 { // the only thread of its process
		c.Task.PID = c.Task.TID
	}
	c.Leader = p.leader && (c.Task.PID == 0 || c.Task.PID == c.Task.TID)
	return c
}

// overlaps reports whether two counts of one thread say the same thing twice.
func overlaps(a, b *evidence.ThreadCount) bool {
	both := func(x, y evidence.Opt[uint64]) bool { return x.OK && y.OK }
	return both(a.Voluntary, b.Voluntary) || both(a.Involuntary, b.Involuntary) || both(a.Switches, b.Switches) ||
		both(a.Slices, b.Slices) || both(a.StartNS, b.StartNS)
}

// merge adds what b says of the same thread at the same moment.
func merge(a, b *evidence.ThreadCount) {
	for _, f := range []struct{ dst, src *evidence.Opt[uint64] }{
		{&a.Voluntary, &b.Voluntary}, {&a.Involuntary, &b.Involuntary}, {&a.Switches, &b.Switches}, {&a.RunNS, &b.RunNS},
		{&a.RunDelayNS, &b.RunDelayNS}, {&a.Slices, &b.Slices}, {&a.Migrations, &b.Migrations}, {&a.StartNS, &b.StartNS},
	} {
		if f.src.OK {
			*f.dst = *f.src
		}
	}
	if a.Task.Comm == "" {
		a.Task.Comm = b.Task.Comm
	}
	if a.Task.PID == 0 {
		a.Task.PID = b.Task.PID
	}
	if !a.Threads.OK {
		a.Threads = b.Threads
	}
	a.Kernel = a.Kernel || b.Kernel
}

// settle finishes the readings: empty ones go, and clocks that stand below
// what they time are given to it.
func (r *reader) settle() {
	r.trailingClocks()
	r.sharedLimits()
	kept := r.readings[:0]
	for i := range r.readings {
		if x := &r.readings[i]; !x.empty() {
			x.oneEach()
			kept = append(kept, *x)
		}
	}
	r.readings = kept
}

// trailingClocks moves every clock one reading up when the first reading has
// none and the last has nothing but one: they were printed afterwards.
func (r *reader) trailingClocks() {
	n := len(r.readings)
	if n < 2 {
		return
	}
	first, last := &r.readings[0], &r.readings[n-1]
	if first.At.Pos.Line != 0 || first.Label != "" || !last.empty() {
		return
	}
	for i := range n - 1 {
		r.readings[i].At = r.readings[i+1].At
	}
	r.readings = r.readings[:n-1]
}

// sharedLimits gives the limits that were read once to the readings before and
// after, which name the group's counters only: "cpu.stat (before)".
func (r *reader) sharedLimits() {
	var of *reading
	for i := range r.readings {
		if x := &r.readings[i]; x.Label == "" && len(x.Groups) == 1 && !x.Groups[0].Periods.OK && !x.Groups[0].UsageNS.OK {
			of = x
		}
	}
	if of == nil {
		return
	}
	g, given := of.Groups[0], false
	for i := range r.readings {
		x := &r.readings[i]
		if x.Label == "" || len(x.Groups) != 1 || x.Groups[0].Group != "" && x.Groups[0].Group != g.Group {
			continue
		}
		to := &x.Groups[0]
		to.Group, to.QuotaUS, to.PeriodUS, to.Unlimited = g.Group, g.QuotaUS, g.PeriodUS, g.Unlimited
		given = true
	}
	if given {
		of.Groups = nil
	}
}

// oneEach leaves one row of a thread that was read both as the process and as
// one of its threads.
func (x *reading) oneEach() {
	twin := func(c *evidence.ThreadCount) (int, bool) {
		i, ok := x.at[threadKey{c.Task.TID, false}]
		return i, ok && c.Leader && c.Task.TID != 0
	}
	for i := range x.Threads {
		c := &x.Threads[i]
		if j, ok := twin(c); ok {
			merge(&x.Threads[j], &evidence.ThreadCount{Task: c.Task, Threads: c.Threads, StartNS: c.StartNS})
		}
	}
	x.Threads = slices.DeleteFunc(x.Threads, func(c evidence.ThreadCount) bool { _, ok := twin(&c); return ok })
}
