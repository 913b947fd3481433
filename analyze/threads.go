package analyze

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// rowSource is one source's rows about the subject's threads.
type rowSource struct {
	src       *evidence.Source
	rows      []*evidence.TaskStats
	intervals float64 // how many intervals the rows of one thread spread over; 1 for averages and counts
	trace     bool    // made of switch events
	states    bool
	threads   bool // has rows of threads, not only of processes
}

// rowSources sorts a case's rows by source, the best for rates first: a tool
// that counts without tracing before one that traces every switch, threads
// before whole processes, both kinds of switch before their sum.
func rowSources(sel *selection) []*rowSource {
	by := map[int]*rowSource{}
	var list []*rowSource
	for _, i := range sel.threads {
		t := &sel.set.Threads[i]
		rs := by[t.Pos.Source]
		if rs == nil {
			rs = &rowSource{src: sel.set.Source(t.Pos.Source)}
			by[t.Pos.Source] = rs
			list = append(list, rs)
		}
		rs.rows = append(rs.rows, t)
	}
	for _, rs := range list {
		rs.prepare(sel.set)
	}
	slices.SortStableFunc(list, func(a, b *rowSource) int {
		return cmp.Or(-cmp.Compare(a.rank(), b.rank()), -cmp.Compare(a.src.Window.DurationS.V, b.src.Window.DurationS.V))
	})
	return list
}

// prepare keeps the rows that do not say the same thing twice: a tool's own
// averages instead of its intervals, threads instead of their process.
func (rs *rowSource) prepare(set *evidence.Set) {
	if avg := filterRows(rs.rows, func(t *evidence.TaskStats) bool { return t.Average }); len(avg) > 0 {
		rs.rows = avg
	}
	withThreads := map[int]bool{}
	for _, t := range rs.rows {
		if !t.Process {
			withThreads[t.Task.PID] = true
		}
	}
	rs.rows = filterRows(rs.rows, func(t *evidence.TaskStats) bool { return !t.Process || !withThreads[t.Task.PID] })
	for _, t := range rs.rows {
		rs.threads = rs.threads || !t.Process
		rs.states = rs.states || t.Voluntary.OK || t.VoluntaryPerS.OK
		rs.trace = rs.trace || t.States != nil || t.Run != nil
	}
	rs.intervals = rs.countIntervals(set)
}

func filterRows(rows []*evidence.TaskStats, keep func(*evidence.TaskStats) bool) []*evidence.TaskStats {
	var out []*evidence.TaskStats
	for _, t := range rows {
		if keep(t) {
			out = append(out, t)
		}
	}
	return out
}

// countIntervals is how many intervals a tool printed: as many as the row that
// appears most often. A thread without a row in an interval did not switch.
func (rs *rowSource) countIntervals(set *evidence.Set) float64 {
	type id struct {
		tid     int
		process bool
	}
	n, most := map[id]float64{}, 1.0
	for i := range set.Threads {
		t := &set.Threads[i]
		if t.Pos.Source != rs.src.ID || t.Average || !t.VoluntaryPerS.OK {
			continue
		}
		k := id{t.Task.TID, t.Process}
		n[k]++
		most = max(most, n[k])
	}
	if len(rs.rows) > 0 && rs.rows[0].Average {
		return 1
	}
	return most
}

func (rs *rowSource) rank() int {
	r := 0
	if !rs.src.LeadersOnly {
		r += 8
	}
	if rs.threads {
		r += 4
	}
	if rs.states {
		r += 2
	}
	if !rs.trace {
		r++
	}
	return r
}

// sum adds a count over the source's rows.
func (rs *rowSource) sum(of func(*evidence.TaskStats) evidence.Opt[uint64]) evidence.Opt[uint64] {
	var n evidence.Opt[uint64]
	for _, t := range rs.rows {
		addOpt(&n, of(t))
	}
	return n
}

// window is the time that the source's counts cover, in seconds.
func (rs *rowSource) window() (float64, bool) {
	w, ok := rs.src.Window.DurationS.Get()
	return w, ok && w > 0
}

// gatherThreads merges what the sources say of each thread. Rates come from
// one source, so that their sum means something; the others add what it lacks.
func gatherThreads(sel *selection, sources []*rowSource) []ThreadFact {
	byTID := map[int]*ThreadFact{}
	var order []int
	for n, rs := range sources {
		for _, t := range rs.rows {
			if t.Process && n > 0 {
				continue
			}
			f := byTID[t.Task.TID]
			if f == nil {
				f = &ThreadFact{Task: t.Task, Kernel: t.Kernel}
				byTID[t.Task.TID] = f
				order = append(order, t.Task.TID)
			}
			if n == 0 {
				f.addRates(rs, t)
			}
			f.note(rs, t)
		}
	}
	addDetails(byTID, sources)
	out := make([]ThreadFact, 0, len(order))
	for _, tid := range order {
		out = append(out, *byTID[tid])
	}
	finishShares(out)
	return out
}

// addDetails adds counts and times, those of traces first, so that the counts
// of a thread are of the same window as its stacks and distributions.
func addDetails(byTID map[int]*ThreadFact, sources []*rowSource) {
	for _, trace := range []bool{true, false} {
		for n, rs := range sources {
			for _, t := range rs.rows {
				if rs.trace == trace && (!t.Process || n == 0) {
					byTID[t.Task.TID].addDetail(t)
				}
			}
		}
	}
}

func (f *ThreadFact) note(rs *rowSource, t *evidence.TaskStats) {
	if f.Task.Comm == "" {
		f.Task.Comm = t.Task.Comm
	}
	if f.Task.PID == 0 {
		f.Task.PID = t.Task.PID
	}
	if !slices.Contains(f.Sources, rs.src.ID) {
		f.Sources = append(f.Sources, rs.src.ID)
	}
}

// addRates adds a row of the rate source: its rates, or its counts over the window.
func (f *ThreadFact) addRates(rs *rowSource, t *evidence.TaskStats) {
	w, okW := rs.window()
	rate := func(dst *evidence.Opt[float64], perS evidence.Opt[float64], n evidence.Opt[uint64], name string) {
		v, ok := perS.Get()
		if ok {
			v /= rs.intervals
		} else if n.OK && okW {
			v, ok = float64(n.V)/w, true
		}
		if !ok {
			return
		}
		*dst = evidence.Some(dst.V + v)
		f.Evidence = append(f.Evidence, rowEvidence(t, name, v))
	}
	rate(&f.VoluntaryPerS, t.VoluntaryPerS, t.Voluntary, "voluntary switches")
	rate(&f.InvoluntaryPerS, t.InvoluntaryPerS, t.Involuntary, "involuntary switches")
	if f.VoluntaryPerS.OK || f.InvoluntaryPerS.OK {
		f.SwitchesPerS = evidence.Some(f.VoluntaryPerS.V + f.InvoluntaryPerS.V)
	} else {
		rate(&f.SwitchesPerS, evidence.Opt[float64]{}, t.Switches, "switches")
	}
}

func rowEvidence(t *evidence.TaskStats, name string, v float64) Evidence {
	e := Evidence{Source: t.Pos.Source, Figure: name + " of " + t.Task.Comm, Value: v, Unit: "/s"}
	if t.Pos.Line > 0 {
		e.Line = evidence.Some(t.Pos.Line)
	} else {
		e.Offset = evidence.Some(t.Pos.Offset)
	}
	return e
}

// addDetail adds counts, times and distributions that no source before it had.
func (f *ThreadFact) addDetail(t *evidence.TaskStats) {
	addCount := func(dst *evidence.Opt[uint64], v evidence.Opt[uint64]) {
		if v.OK && !dst.OK {
			*dst = v
		}
	}
	addCount(&f.Voluntary, t.Voluntary)
	addCount(&f.Involuntary, t.Involuntary)
	addCount(&f.Switches, t.Switches)
	if !f.Switches.OK && t.Voluntary.OK && t.Involuntary.OK {
		f.Switches = evidence.Some(t.Voluntary.V + t.Involuntary.V)
	}
	addCount(&f.RunNS, t.RunNS)
	addCount(&f.DelayNS, t.DelayNS)
	addCount(&f.WaitNS, t.WaitNS)
	addCount(&f.SleepNS, t.SleepNS)
	addCount(&f.PreemptNS, t.PreemptNS)
	addCount(&f.RunDelayNS, t.RunDelayNS)
	addCount(&f.Migrations, t.Migrations)
	addCount(&f.Wakeups, t.Wakeups)
	for _, h := range []struct{ dst, src **evidence.Histogram }{
		{&f.Run, &t.Run}, {&f.Delay, &t.Delay}, {&f.OffCPU, &t.OffCPU}, {&f.Preempt, &t.Preempt}, {&f.Gap, &t.Gap},
	} {
		if *h.dst == nil {
			*h.dst = *h.src
		}
	}
	f.Ended = f.Ended || t.Ended
	if f.Blame == nil {
		f.Blame, f.IdleElsewhereNS = t.Blame, t.IdleElsewhereNS
	}
	if f.Bursts == 0 {
		f.Bursts, f.BurstSize = float64(t.Bursts), float64(t.BurstSize)
	}
	if f.WakeCtx == nil {
		f.WakeCtx = t.WakeCtx
	}
	if f.States == nil {
		f.States = t.States
	}
	if f.Preemptors == nil {
		f.Preemptors = t.Preemptors
	}
	if f.Wakers == nil {
		f.Wakers = t.Wakers
	}
}

// sleepTimer is the function of a timer that ends a sleep.
const sleepTimer = "hrtimer_wakeup"

// addAsked adds the sleeps that threads asked for, as traced timers tell.
func addAsked(sel *selection, ts []ThreadFact) {
	for _, i := range sel.waits {
		w := &sel.set.Waits[i]
		k := slices.IndexFunc(ts, func(t ThreadFact) bool { return t.Task.TID == w.Task.TID })
		if k < 0 || w.Kind != evidence.WaitTimer || w.Op != sleepTimer {
			continue
		}
		ts[k].Asked, ts[k].Slack = merged(ts[k].Asked, w.AskedNS), merged(ts[k].Slack, w.SlackNS)
	}
}

// weight is what a thread is ranked by: its rate, or its count where there is
// no window to make a rate of.
func (f *ThreadFact) weight() float64 {
	if v, ok := f.SwitchesPerS.Get(); ok {
		return v
	}
	return 0
}

func finishShares(ts []ThreadFact) {
	total := 0.0
	rated := slices.ContainsFunc(ts, func(t ThreadFact) bool { return t.SwitchesPerS.OK })
	w := func(t *ThreadFact) float64 {
		if rated {
			return t.weight()
		}
		return float64(t.Switches.V)
	}
	for i := range ts {
		total += w(&ts[i])
	}
	slices.SortStableFunc(ts, func(a, b ThreadFact) int {
		return cmp.Or(-cmp.Compare(w(&a), w(&b)), cmp.Compare(a.Task.TID, b.Task.TID))
	})
	for i := range ts {
		if total > 0 {
			ts[i].Share = w(&ts[i]) / total
		}
	}
}

// hotCount is how few threads make HotShare of the switches.
func hotCount(ts []ThreadFact) (n int, share float64) {
	for i := range ts {
		if share >= HotShare || ts[i].Share == 0 {
			return i, share
		}
		share += ts[i].Share
	}
	return len(ts), share
}

// layer2Of sums the threads.
func layer2Of(sources []*rowSource, ts []ThreadFact) Layer2 {
	var l Layer2
	if len(sources) == 0 {
		return l
	}
	if sources[0].src.LeadersOnly {
		return Layer2{Sources: []int{sources[0].src.ID}, Of: len(ts)}
	}
	for _, rs := range sources {
		l.Sources = append(l.Sources, rs.src.ID)
	}
	l.WindowS = sources[0].src.Window.DurationS
	for i := range ts {
		t := &ts[i]
		addOpt(&l.VoluntaryPerS, t.VoluntaryPerS)
		addOpt(&l.InvolPerS, t.InvoluntaryPerS)
		addOpt(&l.SwitchesPerS, t.SwitchesPerS)
		addOpt(&l.Voluntary, t.Voluntary)
		addOpt(&l.Involuntary, t.Involuntary)
		addOpt(&l.Switches, t.Switches)
	}
	l.shares(ts)
	return l
}

func (l *Layer2) shares(ts []ThreadFact) {
	switch {
	case l.VoluntaryPerS.OK && l.SwitchesPerS.V > 0:
		l.VoluntaryShare = evidence.Some(l.VoluntaryPerS.V / l.SwitchesPerS.V)
	case l.Voluntary.OK && l.Switches.V > 0:
		l.VoluntaryShare = evidence.Some(float64(l.Voluntary.V) / float64(l.Switches.V))
	}
	top, share := hotCount(ts)
	l.Top, l.Of = top, len(ts)
	if share > 0 {
		l.TopShare = evidence.Some(share)
	}
}

// addOpt adds v to dst; the sum of nothing stays absent.
func addOpt[T uint64 | float64](dst *evidence.Opt[T], v evidence.Opt[T]) {
	if v.OK {
		*dst = evidence.Some(dst.V + v.V)
	}
}

// sumHist merges a distribution over threads; nil when none has it.
func sumHist(ts []ThreadFact, of func(*ThreadFact) *evidence.Histogram) *evidence.Histogram {
	var sum *evidence.Histogram
	for i := range ts {
		sum = merged(sum, of(&ts[i]))
	}
	return sum
}
