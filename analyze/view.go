package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// QuantilesOf reads a distribution; each bucket stands for its middle, cut to
// what was really seen, so a quantile is right within half a bucket (6 %).
func QuantilesOf(h *evidence.Histogram) Quantiles {
	if h == nil || h.N == 0 {
		return Quantiles{}
	}
	buckets := h.Buckets()
	x, w := make([]float64, 0, len(buckets)), make([]float64, 0, len(buckets))
	for _, b := range buckets {
		mid := float64(b.Lo) + float64(b.Hi-1-b.Lo)/2
		x = append(x, min(max(mid, float64(h.Min)), float64(h.Max)))
		w = append(w, float64(b.Count))
	}
	at := func(p float64) evidence.Opt[float64] {
		return evidence.Some(stat.Quantile(p, stat.Empirical, x, w))
	}
	return Quantiles{N: h.N, P50: at(0.50), P90: at(0.90), P99: at(0.99), P999: at(0.999),
		Max: evidence.Some(float64(h.Max)), Mean: evidence.Some(float64(h.Sum) / float64(h.N))}
}

// threadRows lays out the thread table.
func threadRows(f *Facts) []ThreadRow {
	rows := make([]ThreadRow, 0, len(f.Threads))
	for i := range f.Threads {
		t := &f.Threads[i]
		r := ThreadRow{Name: t.Task.Comm, TID: t.Task.TID, PID: t.Task.PID, Hot: i < f.Hot,
			VoluntaryPerS: t.VoluntaryPerS, InvoluntaryPerS: t.InvoluntaryPerS, SwitchesPerS: t.SwitchesPerS,
			Voluntary: t.Voluntary, Involuntary: t.Involuntary, Switches: t.Switches, Migrations: t.Migrations,
			Run: QuantilesOf(t.Run), Delay: QuantilesOf(t.Delay), OffCPU: QuantilesOf(t.OffCPU),
			RunHist: t.Run, DelayHist: t.Delay, OffHist: t.OffCPU, Evidence: t.Evidence,
			RunNS: asFloat(t.RunNS), DelayNS: asFloat(t.DelayNS), OffNS: asFloat(t.WaitNS)}
		if t.SwitchesPerS.OK || t.Switches.OK {
			r.Share = evidence.Some(t.Share)
		}
		r.Trigger, r.TriggerShare = mainTrigger(t)
		rows = append(rows, r)
	}
	return rows
}

func asFloat(v evidence.Opt[uint64]) evidence.Opt[float64] {
	if !v.OK {
		return evidence.Opt[float64]{}
	}
	return evidence.Some(float64(v.V))
}

// mainTrigger is what most of a thread's switches wait for, or what takes the
// CPU from it.
func mainTrigger(t *ThreadFact) (string, evidence.Opt[float64]) {
	total, best, label := 0.0, 0.0, ""
	for _, b := range t.Blocking {
		total += b.Switches
		if b.Switches > best {
			best, label = b.Switches, b.Reason.Label
		}
	}
	for k, n := range t.Triggers {
		total += n
		if n > best && Trigger(k) != TriggerUnknown {
			best, label = n, Trigger(k).Label()
		}
	}
	if len(t.Blocking) == 0 && t.Voluntary.OK {
		total += float64(t.Voluntary.V) // without stacks the voluntary ones have no reason
	}
	if label == "" || best < total/2 {
		return "", evidence.Opt[float64]{}
	}
	return label, evidence.Some(best / total)
}

// concentration says how few threads make most of the switches.
func concentration(f *Facts) Text {
	l := &f.Layer2
	share, ok := l.TopShare.Get()
	if !ok || l.Of < 2 {
		return nil
	}
	return Textf("%d of %d threads make %s", l.Top, l.Of, quantity.Percent(share, 1))
}

// layer2Notes says what the thread table lacks, and what would give it.
func layer2Notes(c *caseBuild) []Text {
	f := &c.facts
	var out []Text
	if f.Has.Trace && !f.Has.Wakeups {
		out = append(out, Textf("no scheduling delay: the capture has no wakeup events of these threads; record %s with -a",
			Code("-e sched:sched_waking")))
	}
	if f.Has.Threads && !f.Has.States {
		out = append(out, Textf("voluntary and involuntary cannot be told apart in this capture; %s or a recording of %s tells",
			Code("pidstat -w -t"), Code("sched:sched_switch")))
	}
	if f.Has.Sampled {
		out = append(out, Textf("the switches are samples, taken by period or frequency: counts are shares of the whole, not the whole"))
	}
	return out
}

// namedHists lays out the case's distributions, each named by its meaning.
func namedHists(f *Facts) []NamedHist {
	var out []NamedHist
	for _, h := range []struct {
		id, title string
		h         *evidence.Histogram
	}{
		{"run", "run time between switches", f.Run},
		{"delay", "scheduling delay: woken until running", f.Delay},
		{"off_cpu", "off-CPU time: gave up the CPU until running again", f.OffCPU},
		{"preempt", "preempted: still runnable until running again", f.Preempt},
	} {
		if h.h != nil && h.h.N > 0 {
			out = append(out, NamedHist{ID: h.id, Title: h.title, Unit: "ns", Total: h.h.N, Q: QuantilesOf(h.h), Buckets: h.h.Buckets()})
		}
	}
	return out
}

// rateIntervals is the switch rate over the capture: perf stat's intervals, or
// the steps of a trace that holds this subject only.
func rateIntervals(c *caseBuild) []Interval {
	if b := c.mainBlock(); b != nil && len(b.Intervals) > 0 {
		return blockIntervals(b)
	}
	for _, i := range c.sel.series {
		s := &c.sel.set.Series[i]
		if s.CPU.OK || s.StepNS == 0 || (c.sel.subject.Kind != SubjectMachine && c.wide(s.Source)) {
			continue
		}
		return seriesIntervals(s, c.sel.set.Source(s.Source).Window)
	}
	return nil
}

func blockIntervals(b *evidence.CounterBlock) []Interval {
	var out []Interval
	last := 0.0
	for _, p := range b.Intervals {
		n, ok := evidence.FindCounter(p.Counters, "context-switches")
		end, okE := p.EndS.Get()
		if okE && ok && n.Status == evidence.StatusCounted && end > last {
			out = append(out, Interval{StartS: last, EndS: end, Switches: n.Value, PerS: n.Value / (end - last)})
		}
		if okE {
			last = end
		}
	}
	return out
}

// seriesIntervals cuts the steps of a series to the capture's window, and
// counts seconds from its start.
func seriesIntervals(s *evidence.Series, w evidence.Window) []Interval {
	from := w.StartNS.Or(s.StartNS)
	to := w.EndNS.Or(s.StartNS + uint64(len(s.Switches))*s.StepNS)
	var out []Interval
	for i, v := range s.Switches {
		lo := max(s.StartNS+uint64(i)*s.StepNS, from)
		hi := min(s.StartNS+uint64(i+1)*s.StepNS, to)
		if hi <= lo {
			continue
		}
		iv := Interval{StartS: float64(lo-from) / 1e9, EndS: float64(hi-from) / 1e9, Switches: float64(v)}
		out = append(out, iv)
	}
	out = joinEnds(out, float64(s.StepNS)/1e9/2)
	for i := range out {
		out[i].PerS = out[i].Switches / (out[i].EndS - out[i].StartS)
	}
	return out
}

// joinEnds adds a first and a last step that the window cut to less than least
// seconds to their neighbours: a switch in a sliver of time is no rate.
func joinEnds(ivs []Interval, least float64) []Interval {
	if n := len(ivs); n > 1 && ivs[n-1].EndS-ivs[n-1].StartS < least {
		ivs[n-2].EndS, ivs[n-2].Switches = ivs[n-1].EndS, ivs[n-2].Switches+ivs[n-1].Switches
		ivs = ivs[:n-1]
	}
	if len(ivs) > 1 && ivs[0].EndS-ivs[0].StartS < least {
		ivs[1].StartS, ivs[1].Switches = ivs[0].StartS, ivs[1].Switches+ivs[0].Switches
		ivs = ivs[1:]
	}
	return ivs
}

func (c *caseBuild) wide(source int) bool {
	k := c.sel.set.Source(source).Target.Kind
	return k == evidence.TargetSystem || k == evidence.TargetCPU || k == evidence.TargetUnknown
}

// maxWakeRows bounds the table of who wakes whom.
const maxWakeRows = 8

// wakeRows counts wakeups by waker and wakee name: threads of one pool, whose
// The wakers that are no tasks.
const (
	wakerIdle = "interrupt, CPU idle"
	wakerBusy = "interrupt, CPU busy"
)

func wakerText(name string) Text {
	if name == wakerIdle || name == wakerBusy {
		return Textf("%s", ownName(name))
	}
	return Textf("%s", Code(name))
}

// names differ in their number, are one line.
func wakeRows(f *Facts) []WakeRow {
	if f.Wake.Total == 0 {
		return nil
	}
	type key struct{ waker, wakee string }
	by := map[key]uint64{}
	for i := range f.Threads {
		t := &f.Threads[i]
		for _, k := range t.Wakers {
			waker := poolName(k.Task.Comm)
			switch {
			case k.IRQ && k.Task.TID == 0:
				waker = wakerIdle
			case k.IRQ:
				waker = wakerBusy
			}
			by[key{waker, poolName(t.Task.Comm)}] += k.Count
		}
	}
	rows := make([]WakeRow, 0, len(by))
	for k, n := range by {
		rows = append(rows, WakeRow{Waker: wakerText(k.waker), Wakee: Textf("%s", Code(k.wakee)), Count: n,
			Share: float64(n) / float64(f.Wake.Total)})
	}
	sort.Slice(rows, func(i, j int) bool {
		if rows[i].Count != rows[j].Count {
			return rows[i].Count > rows[j].Count
		}
		return rows[i].Waker.String()+rows[i].Wakee.String() < rows[j].Waker.String()+rows[j].Wakee.String()
	})
	return rows[:min(len(rows), maxWakeRows)]
}

// poolName is a comm with its trailing number replaced: worker-12 -> worker-*.
func poolName(comm string) string {
	end := len(comm)
	for end > 0 && comm[end-1] >= '0' && comm[end-1] <= '9' {
		end--
	}
	if end == len(comm) || end == 0 {
		return comm
	}
	return comm[:end] + "*"
}

func triggerRows(f *Facts) []TriggerRow {
	var out []TriggerRow
	for t, x := range f.Triggers {
		if x.Switches > 0 {
			out = append(out, TriggerRow{ID: Trigger(t).String(), Label: Trigger(t).Label(), Count: x.Switches, Share: x.Share})
		}
	}
	slices.SortStableFunc(out, func(a, b TriggerRow) int {
		if a.Count > b.Count {
			return -1
		}
		return 1
	})
	return out
}

// NameList names a few threads in prose: a pool whose numbers follow each other
// as a span ("io_mgr_0 to io_mgr_3"), another pool by its size ("57 threads
// render-*"), others one by one, at most four.
func NameList(ts []ThreadFact) Text {
	if len(ts) == 0 {
		return nil
	}
	if len(ts) == 1 && ts[0].Task.Comm == "" && ts[0].Task.TID == 0 {
		return Textf("a thread that the text does not name")
	}
	names := make([]string, 0, len(ts))
	pools, known := map[string]bool{}, map[string]bool{}
	for i := range ts {
		n := ts[i].Task.Comm
		if n == "" {
			n = fmt.Sprint(ts[i].Task.TID)
		}
		pools[poolName(n)] = true
		if !known[n] {
			known[n] = true
			names = append(names, n)
		}
	}
	slices.SortFunc(names, compareNumbered)
	switch {
	case len(names) == 1 && len(ts) > 1:
		return Textf("%d threads %s", len(ts), Code(names[0]))
	case len(names) == 1:
		return Textf("%s", Code(names[0]))
	case len(pools) == 1 && len(names) == len(ts) && consecutive(names):
		return Textf("%s to %s", Code(names[0]), Code(names[len(names)-1]))
	case len(pools) == 1:
		return Textf("%d threads %s", len(ts), Code(poolName(names[0])))
	}
	return enumerate(names)
}

// enumerate lists at most four names.
func enumerate(names []string) Text {
	t := Textf("%s", Code(names[0]))
	shown := min(len(names), 4)
	for i, n := range names[1:shown] {
		sep := ", "
		if i+2 == len(names) {
			sep = " and "
		}
		t = Textf("%s%s%s", t, sep, Code(n))
	}
	if len(names) > shown {
		t = Textf("%s and %d more", t, len(names)-shown)
	}
	return t
}

// number is the number that ends a name, -1 for none.
func number(name string) int {
	head := strings.TrimSuffix(poolName(name), "*")
	if n, err := strconv.Atoi(name[len(head):]); err == nil && len(head) < len(name) {
		return n
	}
	return -1
}

// compareNumbered orders names by their text, and their numbers as numbers.
func compareNumbered(a, b string) int {
	return cmp.Or(cmp.Compare(poolName(a), poolName(b)), cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

// consecutive reports whether sorted names of one pool are numbered without a gap.
func consecutive(names []string) bool {
	first := number(names[0])
	return first >= 0 && number(names[len(names)-1]) == first+len(names)-1
}
