package analyze

import (
	"cmp"
	"maps"
	"slices"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// countedSet is a set whose readings (totals at a moment) have become what
// happened between them: rows of threads with counts and a window, and facts
// about the machine and its control groups.
type countedSet struct {
	set     *evidence.Set // a copy, where there are readings
	machine MachineFact
	quota   []QuotaFact
	checks  []readingCheck
	used    map[int]bool // sources whose readings were used, for whichever case
	copied  map[int]bool // sources that the set has a copy of, to change it
	context []int        // sources that tell of the machine and its groups
	names   map[int]string
}

// countReadings takes the differences of a set's readings. The set itself
// stays as it is.
func countReadings(set *evidence.Set) *countedSet {
	c := &countedSet{set: set, used: map[int]bool{}, copied: map[int]bool{}}
	if len(set.Readings)+len(set.System) == 0 {
		return c
	}
	d := *set
	d.Readings, d.Sources, d.Threads, d.System = nil, slices.Clone(set.Sources), slices.Clone(set.Threads), slices.Clone(set.System)
	c.set, c.names = &d, labels(set)
	for _, p := range processesOf(set) {
		c.process(p)
	}
	c.machineFacts(set)
	c.sampledFacts(set)
	c.quotaFacts(set)
	c.onlyMachine()
	return c
}

// view is what one reading says of one process.
type view struct {
	r       *evidence.Reading
	index   int
	threads map[int]*evidence.ThreadCount // by TID
	unnamed []*evidence.ThreadCount
}

// process collects the readings of one process, or of a thread whose process
// is not known, or of the unnamed threads of one source.
type process struct {
	pid   int
	views []*view
}

type processKey struct{ pid, tid, source int }

// processesOf sorts the threads of all readings by process, in order of their
// first appearance.
func processesOf(set *evidence.Set) []*process {
	pidOf := map[int]int{}
	for i := range set.Readings {
		for _, t := range set.Readings[i].Threads {
			if t.Task.TID != 0 && t.Task.PID != 0 {
				pidOf[t.Task.TID] = t.Task.PID
			}
		}
	}
	by := map[processKey]*process{}
	var list []*process
	for i := range set.Readings {
		r := &set.Readings[i]
		for j := range r.Threads {
			t := &r.Threads[j]
			k := keyOf(t, pidOf[t.Task.TID])
			p := by[k]
			if p == nil {
				p = &process{pid: k.pid}
				by[k] = p
				list = append(list, p)
			}
			p.view(r, i).add(t)
		}
	}
	return list
}

func keyOf(t *evidence.ThreadCount, pid int) processKey {
	switch {
	case t.Task.PID != 0:
		return processKey{pid: t.Task.PID}
	case t.Task.TID == 0:
		return processKey{source: t.Pos.Source + 1}
	case pid != 0:
		return processKey{pid: pid}
	}
	return processKey{tid: t.Task.TID}
}

func (p *process) view(r *evidence.Reading, index int) *view {
	if n := len(p.views); n > 0 && p.views[n-1].index == index {
		return p.views[n-1]
	}
	v := &view{r: r, index: index, threads: map[int]*evidence.ThreadCount{}}
	p.views = append(p.views, v)
	return v
}

func (v *view) add(t *evidence.ThreadCount) {
	if t.Task.TID == 0 {
		v.unnamed = append(v.unnamed, t)
		return
	}
	v.threads[t.Task.TID] = t
}

// order sorts views by time: by a clock that both have, by their order in one
// text, and between texts without a clock by their counts, which only grow.
func order(views []*view) {
	slices.SortStableFunc(views, func(a, b *view) int {
		if a.r.At.SinceNS(&b.r.At).OK {
			return 1
		}
		if b.r.At.SinceNS(&a.r.At).OK {
			return -1
		}
		if a.r.Pos.Source == b.r.Pos.Source {
			return cmp.Compare(a.index, b.index)
		}
		return cmp.Compare(a.common(b), b.common(a))
	})
}

// common sums the counts of the threads that the other view has too.
func (v *view) common(o *view) uint64 {
	var n uint64
	for tid, t := range v.threads {
		if o.threads[tid] != nil {
			n += t.Voluntary.V + t.Involuntary.V + t.Slices.V
		}
	}
	return n
}

// process adds the rows of one process: of its first and last reading, or, of
// a single one, the totals.
func (c *countedSet) process(p *process) {
	order(p.views)
	first, last := p.views[0], p.views[len(p.views)-1]
	if len(p.views) == 1 {
		c.totals(p, last)
		return
	}
	c.used[first.r.Pos.Source], c.used[last.r.Pos.Source] = true, true
	if why := first.notSame(last); why != nil {
		c.check(last.r.Pos.Source, Check{ID: "readings-differ", Status: CheckDiffer, Lowers: true,
			Text: Textf("%s and %s are not of the same run of process %d and were not subtracted: %s", c.name(first), c.name(last), p.pid, why)})
		c.totals(p, last)
		return
	}
	c.between(p, first, last)
}

func (c *countedSet) name(v *view) Text { return Textf("%s", Code(c.names[v.r.Pos.Source])) }

// readingCheck is a check on the readings of a source; it bears on the cases
// that use the source.
type readingCheck struct {
	Check
	source int
}

func (c *countedSet) check(source int, k Check) {
	if !slices.ContainsFunc(c.checks, func(x readingCheck) bool { return x.ID == k.ID && x.Text.String() == k.Text.String() }) {
		c.checks = append(c.checks, readingCheck{k, source})
	}
}

// about returns the checks that bear on a case.
func (c *countedSet) about(sel *selection) []Check {
	var out []Check
	for _, k := range c.checks {
		if slices.Contains(sel.sources, k.source) || slices.Contains(c.context, k.source) || k.ID == checkOnce {
			out = append(out, k.Check)
		}
	}
	return out
}

// checkOnce is the check on counts that were read once.
const checkOnce = "readings-once"

// notSame says why two readings cannot be of one run of a process: nil when
// they can.
func (v *view) notSame(later *view) Text {
	shared := len(v.unnamed) > 0 && len(v.unnamed) == len(later.unnamed)
	for _, tid := range slices.Sorted(maps.Keys(v.threads)) {
		a, b := v.threads[tid], later.threads[tid]
		if b == nil {
			continue
		}
		shared = true
		if a.StartNS.OK && b.StartNS.OK && a.StartNS.V != b.StartNS.V {
			return Textf("thread %d started at another time", tid)
		}
		if backwards(a, b) {
			return Textf("counters of thread %d went backwards", tid)
		}
	}
	for i := range v.unnamed {
		if shared && len(v.threads) == 0 && backwards(v.unnamed[i], later.unnamed[i]) {
			return Textf("counters went backwards")
		}
	}
	if !shared {
		return Textf("they have no thread in common")
	}
	return nil
}

func backwards(a, b *evidence.ThreadCount) bool {
	less := func(x, y evidence.Opt[uint64]) bool { return x.OK && y.OK && y.V < x.V }
	return less(a.Voluntary, b.Voluntary) || less(a.Involuntary, b.Involuntary) || less(a.Switches, b.Switches) ||
		less(a.RunNS, b.RunNS) || less(a.RunDelayNS, b.RunDelayNS) || less(a.Slices, b.Slices)
}

// elapsed is the time between two readings in seconds: by their clocks, or by
// the ticks of all CPUs that /proc/stat counted meanwhile.
func elapsed(a, b *evidence.Reading) evidence.Opt[float64] {
	if ns, ok := b.At.SinceNS(&a.At).Get(); ok {
		return evidence.Some(float64(ns) / 1e9)
	}
	ta, okA := a.Machine.V.Ticks.Get()
	tb, okB := b.Machine.V.Ticks.Get()
	cpus := b.Machine.V.CPUs.V
	if !okA || !okB || cpus == 0 || tb.Total() <= ta.Total() {
		return evidence.Opt[float64]{}
	}
	return evidence.Some(float64(tb.Total()-ta.Total()) / ticksPerS / float64(cpus))
}

// ticksPerS is USER_HZ, the unit of the times in /proc/stat.
const ticksPerS = 100

// between adds what each thread did from one reading to another. A thread that
// the first reading lacks started meanwhile: its totals are of that time.
func (c *countedSet) between(p *process, first, last *view) {
	el := elapsed(first.r, last.r)
	src := c.source(last.r.Pos.Source)
	if !src.Window.DurationS.OK {
		src.Window.DurationS = el
		src.Variant = "what happened since " + c.names[first.r.Pos.Source]
		if first.r.Pos.Source == src.ID {
			src.Variant = "from its first reading to its last"
		}
	}
	came, gone := 0, 0
	for tid, t := range last.threads {
		row := last.row(t, p.pid)
		if a := first.threads[tid]; a != nil {
			subtract(&row, a)
		} else {
			came++
		}
		c.add(row, src, el)
	}
	for tid := range first.threads {
		if last.threads[tid] == nil {
			gone++
		}
	}
	if n := len(last.unnamed); n > 0 && n == len(first.unnamed) {
		row, a := sumOf(last.unnamed, p.pid), sumCounts(first.unnamed)
		subtract(&row, &a)
		c.add(row, src, el)
	}
	c.sortRows()
	c.sayBetween(first, last, el)
	if came+gone > 0 {
		c.check(last.r.Pos.Source, Check{ID: "readings-threads", Status: CheckMissing,
			Text: Textf("between %s and %s %d threads of process %d came and %d went: what those that went did last is not counted", c.name(first), c.name(last), came, p.pid, gone)})
	}
}

func (c *countedSet) sayBetween(first, last *view, el evidence.Opt[float64]) {
	s, ok := el.Get()
	switch {
	case !ok:
		c.check(last.r.Pos.Source, Check{ID: "readings-time", Status: CheckMissing,
			Text: Textf("the time between %s and %s is not in them: counts, and no rates", c.name(first), c.name(last))})
	case float64(max(first.r.At.ResolutionNS, last.r.At.ResolutionNS)) > coarseClock*s*1e9:
		c.check(last.r.Pos.Source, Check{ID: "readings-time", Status: CheckDiffer, Lowers: true,
			Text: Textf("the clocks of %s and %s are fine to %s only, for %s between them: the rates are rough", c.name(first), c.name(last),
				quantity.Time(float64(max(first.r.At.ResolutionNS, last.r.At.ResolutionNS))), quantity.Time(s*1e9))})
	}
}

// source is the source's copy in the counted set.
func (c *countedSet) source(id int) *evidence.Source {
	if !c.copied[id] {
		s := *c.set.Sources[id]
		c.set.Sources[id], c.copied[id] = &s, true
	}
	return c.set.Sources[id]
}

// add adds a row; one whose time is not its source's window brings its rates.
func (c *countedSet) add(row evidence.TaskStats, src *evidence.Source, el evidence.Opt[float64]) {
	s, ok := el.Get()
	if w := src.Window.DurationS; ok && w.V != s {
		row.VoluntaryPerS, row.InvoluntaryPerS = rateOf(row.Voluntary, s), rateOf(row.Involuntary, s)
	}
	c.set.Threads = append(c.set.Threads, row)
}

func rateOf(n evidence.Opt[uint64], s float64) evidence.Opt[float64] {
	return evidence.Opt[float64]{V: float64(n.V) / s, OK: n.OK && s > 0}
}

func (c *countedSet) sortRows() {
	slices.SortStableFunc(c.set.Threads, func(a, b evidence.TaskStats) int {
		if a.Pos.Source != b.Pos.Source {
			return cmp.Compare(a.Pos.Source, b.Pos.Source)
		}
		if c.copied[a.Pos.Source] {
			return cmp.Compare(a.Pos.Line, b.Pos.Line)
		}
		return 0
	})
}

// row is a count as a row of threads.
func (v *view) row(t *evidence.ThreadCount, pid int) evidence.TaskStats {
	task := t.Task
	if task.PID == 0 {
		task.PID = pid
	}
	r := evidence.TaskStats{Pos: t.Pos, Task: task, Kernel: t.Kernel, Voluntary: t.Voluntary, Involuntary: t.Involuntary,
		RunNS: t.RunNS, RunDelayNS: t.RunDelayNS, Migrations: t.Migrations}
	switch {
	case !t.Voluntary.OK && t.Switches.OK:
		r.Switches = t.Switches
	case !t.Voluntary.OK:
		r.Switches = t.Slices // each time that it was given a CPU it was switched to
	}
	return r
}

// subtract takes the counts of an earlier moment off; what that one lacks is
// not known of the time between.
func subtract(r *evidence.TaskStats, a *evidence.ThreadCount) {
	sw := a.Switches
	if !sw.OK && !a.Voluntary.OK {
		sw = a.Slices
	}
	for _, f := range []struct {
		now  *evidence.Opt[uint64]
		then evidence.Opt[uint64]
	}{{&r.Voluntary, a.Voluntary}, {&r.Involuntary, a.Involuntary}, {&r.Switches, sw}, {&r.RunNS, a.RunNS},
		{&r.RunDelayNS, a.RunDelayNS}, {&r.Migrations, a.Migrations}} {
		if !f.now.OK || !f.then.OK || f.now.V < f.then.V {
			*f.now = evidence.Opt[uint64]{}
			continue
		}
		f.now.V -= f.then.V
	}
}

// sumCounts adds up threads that the text does not name.
func sumCounts(ts []*evidence.ThreadCount) evidence.ThreadCount {
	sum := *ts[0]
	for _, t := range ts[1:] {
		addOpt(&sum.Voluntary, t.Voluntary)
		addOpt(&sum.Involuntary, t.Involuntary)
		addOpt(&sum.Switches, t.Switches)
		addOpt(&sum.Slices, t.Slices)
		addOpt(&sum.RunNS, t.RunNS)
		addOpt(&sum.RunDelayNS, t.RunDelayNS)
	}
	return sum
}

// sumOf is the row of the threads that the text does not name: of their
// process, where they are several.
func sumOf(ts []*evidence.ThreadCount, pid int) evidence.TaskStats {
	sum := sumCounts(ts)
	r := (&view{}).row(&sum, pid)
	r.Process = len(ts) > 1
	return r
}

// totals adds the rows of a process that was read once: counts since its
// threads started, and rates only where the text tells how long that is. Other
// captures of its threads are better, and then stand alone.
func (c *countedSet) totals(p *process, v *view) {
	id := v.r.Pos.Source
	c.used[id] = true
	if c.measured(p, v) {
		c.check(id, Check{ID: checkOnce, Status: CheckMissing,
			Text: Textf("%s has counts since the threads started: not used beside captures of the time of the problem", c.name(v))})
		return
	}
	src, mean := c.source(id), false
	for _, t := range v.threads {
		row := v.row(t, p.pid)
		if life, ok := lifeS(v.r, t); ok {
			row.VoluntaryPerS, row.InvoluntaryPerS, mean = rateOf(row.Voluntary, life), rateOf(row.Involuntary, life), true
		}
		c.set.Threads = append(c.set.Threads, row)
	}
	if len(v.unnamed) > 0 {
		c.set.Threads = append(c.set.Threads, sumOf(v.unnamed, p.pid))
	}
	c.sortRows()
	what := "counts since each thread started, over a time that is not in it"
	if mean {
		what = "means over each thread's whole life"
	}
	c.check(id, Check{ID: checkOnce, Status: CheckDiffer, Lowers: true,
		Text: Textf("%s has %s, not of the time of the problem: read it twice, some seconds apart", Code(c.names[src.ID]), what)})
}

// lifeS is how long a thread had lived when it was read.
func lifeS(r *evidence.Reading, t *evidence.ThreadCount) (float64, bool) {
	start, ok1 := t.StartNS.Get()
	now, ok2 := r.At.BootNS.Get()
	if !ok1 || !ok2 || now <= start {
		return 0, false
	}
	return float64(now-start) / 1e9, true
}

// measured reports whether another capture has rows of the process's threads.
func (c *countedSet) measured(p *process, v *view) bool {
	return slices.ContainsFunc(c.set.Threads, func(t evidence.TaskStats) bool {
		return t.Pos.Source != v.r.Pos.Source && !c.copied[t.Pos.Source] && (p.pid != 0 && t.Task.PID == p.pid || v.threads[t.Task.TID] != nil)
	})
}

// has reports whether the readings of a source served any case.
func (c *countedSet) has(source int) bool { return c.used[source] }
