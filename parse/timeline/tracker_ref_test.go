package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"

	"github.com/google/go-cmp/cmp"
)

// reference works the figures out from the whole list of events, looking back
// from each end of a duration to its start. It knows sched_switch, wakeups,
// migrations and losses of a system-wide capture without reuse of tids.
type reference struct {
	evs  []timeline.Event
	rows map[int32]*refRow
}

type refRow struct {
	vol, invol, wakeups, moved, breaks, missed uint64
	run, delay, off, preempt, first            refSum
	sleep                                      refSum
	ctx                                        [evidence.NumWakeContexts]uint64
	max                                        uint64
	wakers                                     map[refWaker]*evidence.Waker
}

type refSum struct{ n, sum uint64 }

func (s *refSum) add(v uint64) { s.n++; s.sum += v }

type refWaker struct {
	tid int32
	irq bool
}

func (r *reference) row(tid int32) *refRow {
	if r.rows[tid] == nil {
		r.rows[tid] = &refRow{wakers: map[refWaker]*evidence.Waker{}}
	}
	return r.rows[tid]
}

// prevSwitch is the index of the last switch on a CPU before i; -1: none.
func (r *reference) prevSwitch(i int, cpu int32) int {
	for j := i - 1; j >= 0; j-- {
		if e := &r.evs[j]; e.Kind == timeline.KindSwitch && e.CPU == cpu {
			return j
		}
	}
	return -1
}

// lost reports whether something was lost on one of the CPUs from i to j.
func (r *reference) lost(i, j int, cpus ...int32) bool {
	for k := i + 1; k < j; k++ {
		if e := &r.evs[k]; e.Kind == timeline.KindLost {
			for _, c := range cpus {
				if e.CPU < 0 || e.CPU == c {
					return true
				}
			}
		}
	}
	return false
}

// lastMove is the index of the last switch before i in which the task left or
// came; out tells which. -1: none.
func (r *reference) lastMove(i int, tid int32) (j int, out bool) {
	for j := i - 1; j >= 0; j-- {
		if e := &r.evs[j]; e.Kind == timeline.KindSwitch && (e.TID == tid || e.Other == tid) {
			return j, e.Other != tid // a task that leaves and comes in one event has come
		}
	}
	return -1, false
}

// vanished reports whether a task that came in event j is known, before event
// i, to have left its CPU unseen.
func (r *reference) vanished(j, i int) bool {
	for k := j + 1; k < i; k++ {
		if e := &r.evs[k]; e.Kind == timeline.KindSwitch && e.CPU == r.evs[j].CPU {
			return e.TID != r.evs[j].Other
		}
	}
	return false
}

// woken is what is known of the last wakeup of a task before event i, since it
// last came: the event of the waker (-1: none) and the CPU that it was put on
// (-1: not told). A sched_waking is the waker's event of the sched_wakeup that
// follows, and it stays so when the task leaves between the two.
func (r *reference) woken(i int, tid int32) (by int, target int32) {
	start := 0
	for k := i - 1; k >= 0 && start == 0; k-- {
		if e := &r.evs[k]; e.Kind == timeline.KindSwitch && e.Other == tid {
			start = k + 1
		}
	}
	by, target = -1, -1
	waking := false
	for k := start; k < i; k++ {
		e := &r.evs[k]
		switch {
		case e.Kind == timeline.KindSwitch && e.TID == tid && !waking:
			by, target = -1, -1
		case e.Kind == timeline.KindSwitch || e.Other != tid:
		case e.Kind == timeline.KindWaking:
			by, target, waking = k, -1, true
		case e.Kind == timeline.KindWakeup:
			if !waking {
				by = k
			}
			target, waking = int32(e.Arg), false
		case e.Kind == timeline.KindMigrate && by >= 0:
			target = int32(e.Arg & 0xffffffff)
		}
	}
	return by, target
}

// first reports whether the wakeup in event i has not been told by a
// sched_waking before.
func (r *reference) first(i int) bool {
	for k := i - 1; k >= 0; k-- {
		e := &r.evs[k]
		if e.Other == r.evs[i].Other && e.Kind != timeline.KindMigrate {
			return e.Kind != timeline.KindWaking
		}
	}
	return true
}

// wakeup is the index of the first wakeup of a task from j to i; -1: none.
func (r *reference) wakeup(j, i int, tid int32) int {
	for k := j + 1; k < i; k++ {
		if e := &r.evs[k]; e.Kind == timeline.KindWakeup && e.Other == tid {
			return k
		}
	}
	return -1
}

func (r *reference) run() {
	r.rows = map[int32]*refRow{}
	for i := range r.evs {
		e := &r.evs[i]
		switch e.Kind {
		case timeline.KindSwitch:
			r.leave(i)
			r.come(i)
		case timeline.KindWakeup:
			if e.Other != 0 {
				r.row(e.Other).wakeups++
				if r.first(i) {
					r.wake(i)
				}
			}
		case timeline.KindWaking:
			if e.Other != 0 {
				r.wake(i)
			}
		case timeline.KindMigrate:
			if e.Other != 0 {
				r.row(e.Other).moved++
			}
		}
	}
}

func (r *reference) leave(i int) {
	e := &r.evs[i]
	j := r.prevSwitch(i, e.CPU)
	broken := j >= 0 && r.evs[j].Other != e.TID
	whole := !broken && !r.lost(j, i, e.CPU)
	if broken {
		r.row(e.TID).breaks++
		if k, out := r.lastMove(i, r.evs[j].Other); k == j && !out {
			r.row(r.evs[j].Other).missed++
		}
	}
	if e.TID == 0 {
		return
	}
	x := r.row(e.TID)
	k, out := r.lastMove(i, e.TID)
	if j >= 0 && whole && k == j && !out && e.Time >= r.evs[j].Time {
		x.run.add(e.Time - r.evs[j].Time)
	}
	if e.State.Voluntary() {
		x.vol++
		return
	}
	x.invol++
	since := uint64(0)
	if k >= 0 && !(k >= 0 && !out && r.vanished(k, i)) {
		since = r.evs[k].Time
	}
	x.ctx[r.context(i, since, whole)]++
}

// context tells how next came to be woken.
func (r *reference) context(i int, since uint64, whole bool) evidence.WakeContext {
	e := &r.evs[i]
	if !whole {
		return evidence.WakeUnknown
	}
	w, target := r.woken(i, e.Other)
	if w < 0 || e.Other == 0 || r.evs[w].Time < since {
		return evidence.WakeNone
	}
	by := &r.evs[w]
	irq := by.Flags&timeline.FlagIRQ != 0
	switch {
	case target >= 0 && target != e.CPU:
		return evidence.WakeNone
	case by.TID == e.TID && !irq:
		return evidence.WakeBySelf
	case by.CPU != e.CPU:
		return evidence.WakeByRemote
	case irq:
		return evidence.WakeByIRQ
	}
	return evidence.WakeUnknown
}

func (r *reference) come(i int) {
	e := &r.evs[i]
	if e.Other == 0 {
		return
	}
	x := r.row(e.Other)
	k, out := r.lastMove(i, e.Other)
	if e.TID == e.Other {
		k, out = i, true
	}
	if k >= 0 && !out && !r.vanished(k, i+1) {
		x.missed++
	}
	w := r.wakeup(k, i, e.Other)
	_, to := r.woken(i, e.Other)
	delay := w >= 0 && e.Time >= r.evs[w].Time && !r.lost(w, i, to, e.CPU)
	if !out {
		if delay {
			x.first.add(e.Time - r.evs[w].Time)
		}
		return
	}
	o := &r.evs[k]
	whole := e.Time >= o.Time && !r.lost(k, i, o.CPU, to, e.CPU)
	if !o.State.Voluntary() {
		if whole {
			x.preempt.add(e.Time - o.Time)
		}
		return
	}
	if whole {
		x.off.add(e.Time - o.Time)
		if w >= 0 && r.evs[w].Time >= o.Time {
			x.sleep.add(r.evs[w].Time - o.Time)
		}
	}
	if delay {
		d := e.Time - r.evs[w].Time
		x.delay.add(d)
		x.max = max(x.max, d)
	}
}

// wake counts a waker, and looks ahead for its next switch-out.
func (r *reference) wake(i int) {
	e := &r.evs[i]
	key := refWaker{e.TID, e.Flags&timeline.FlagIRQ != 0}
	x := r.row(e.Other)
	if x.wakers[key] == nil {
		x.wakers[key] = &evidence.Waker{IRQ: key.irq}
	}
	w := x.wakers[key]
	w.Count++
	j := r.prevSwitch(i, e.CPU)
	if key.irq || (j >= 0 && r.evs[j].Other != e.TID) {
		return
	}
	for k := i + 1; k < len(r.evs); k++ {
		s := &r.evs[k]
		if s.Kind == timeline.KindLost && (s.CPU < 0 || s.CPU == e.CPU) {
			return
		}
		if s.Kind == timeline.KindSwitch && s.CPU == e.CPU {
			if s.TID == e.TID && s.Time >= e.Time {
				w.AfterNS += s.Time - e.Time
				if s.State.Voluntary() {
					w.Blocked++
				}
			}
			return
		}
	}
}

// lines writes the rows as summary does, as far as the reference goes.
func (r *reference) lines() []string {
	var out []string
	for tid, x := range r.rows {
		if tid != 0 {
			out = append(out, fmt.Sprint(tid, " ", x.vol, x.invol, x.wakeups, x.moved, x.breaks, x.missed,
				x.run, x.delay, x.off, x.preempt, x.first, x.sleep, x.ctx, x.max, wakerLine(x.wakers)))
		}
	}
	sort.Strings(out)
	return out
}

func wakerLine(m map[refWaker]*evidence.Waker) string {
	var out []string
	for k, w := range m {
		out = append(out, fmt.Sprint(k, w.Count, w.AfterNS, w.Blocked))
	}
	sort.Strings(out)
	return fmt.Sprint(out)
}

// rowLine writes a row of the Tracker in the same way.
func rowLine(s *evidence.TaskStats) string {
	hist := func(h *evidence.Histogram) refSum {
		if h == nil {
			return refSum{}
		}
		return refSum{h.N, h.Sum}
	}
	var ctx [evidence.NumWakeContexts]uint64
	if s.WakeCtx != nil {
		ctx = *s.WakeCtx
	}
	m := map[refWaker]*evidence.Waker{}
	for i := range s.Wakers {
		m[refWaker{int32(s.Wakers[i].Task.TID), s.Wakers[i].IRQ}] = &s.Wakers[i]
	}
	off := hist(s.OffCPU)
	sleep := refSum{0, s.SleepNS.V}
	return fmt.Sprint(s.Task.TID, " ", s.Voluntary.V, s.Involuntary.V, s.Wakeups.V, s.Migrations.V, s.ChainBreaks, s.MissedOuts,
		hist(s.Run), hist(s.Delay), off, hist(s.Preempt), refSum{s.FirstWaits, s.FirstWaitNS.V}, sleep, ctx, s.MaxDelay.V.NS, wakerLine(m))
}

// machine makes events of a few tasks on a few CPUs, and then spoils them:
// drops some, tells of losses, moves times.
func machine(r *rand.Rand, n int) []timeline.Event {
	const tasks, cpus = 6, 3
	var cur [cpus]int32
	on := map[int32]bool{}
	var evs []timeline.Event
	now := uint64(1000)
	waking := r.IntN(2) == 0 // each sched_wakeup comes some events after its sched_waking
	var late []timeline.Event
	for len(evs) < n {
		now += r.Uint64N(50)
		if len(late) > 0 && r.IntN(2) == 0 {
			e := late[0]
			e.Time, e.TID = now, cur[e.CPU]
			evs, late = append(evs, e), late[1:]
			continue
		}
		c := int32(r.IntN(cpus))
		other := int32(r.IntN(tasks)) + 1
		e := timeline.Event{Time: now, CPU: c, TID: cur[c], Other: other}
		switch r.IntN(8) {
		case 0, 1:
			e.Kind, e.Arg = timeline.KindWakeup, uint64(r.IntN(cpus))
			if r.IntN(2) == 0 {
				e.Arg = uint64(c)
			}
			if r.IntN(3) == 0 {
				e.Flags = timeline.FlagIRQ
			}
			if waking {
				w := e
				w.Kind, w.CPU = timeline.KindWaking, int32(r.IntN(cpus))
				w.TID = cur[w.CPU]
				late = append(late, e)
				e = w
			}
		case 2:
			e.Kind, e.Arg = timeline.KindMigrate, uint64(r.IntN(cpus))
		default:
			if on[other] {
				other = 0
			}
			if other == cur[c] {
				continue
			}
			e.Kind, e.Other = timeline.KindSwitch, other
			e.State = []evidence.State{evidence.StateS, evidence.StateD, evidence.StateR, evidence.StateRPlus}[r.IntN(4)]
			on[cur[c]], on[other] = false, other != 0
			cur[c] = other
		}
		evs = append(evs, e)
	}
	return spoil(r, evs)
}

func spoil(r *rand.Rand, evs []timeline.Event) []timeline.Event {
	every := 10 + r.IntN(200)
	var out []timeline.Event
	for _, e := range evs {
		switch r.IntN(every) {
		case 0:
			continue
		case 1:
			out = append(out, timeline.Event{Time: e.Time, Kind: timeline.KindLost, CPU: int32(r.IntN(4)) - 1})
		case 2:
			e.Time -= r.Uint64N(200)
		}
		out = append(out, e)
	}
	return out
}

// TestTrackerReference compares the Tracker with the reference over random
// captures, whole and damaged.
func TestTrackerReference(t *testing.T) {
	rows := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		evs := machine(r, 20+r.IntN(150))
		ref := reference{evs: evs}
		ref.run()
		set := track(t, evs, &timeline.Names{}, timeline.TrackerOptions{SystemWide: true,
			Events: []timeline.EventInfo{{Name: "sched:sched_switch"}, {Name: "sched:sched_wakeup"}, {Name: "sched:sched_waking"}, {Name: "sched:sched_migrate_task"}}})
		var got []string
		for i := range set.Threads {
			got = append(got, rowLine(&set.Threads[i]))
		}
		rows += len(got)
		sort.Strings(got)
		for _, x := range ref.rows {
			x.sleep.n = 0
		}
		if d := cmp.Diff(ref.lines(), got); d != "" {
			for i, e := range evs[:min(len(evs), 60)] {
				t.Logf("%3d %d cpu %d kind %d: %d %v %d, %d", i, e.Time, e.CPU, e.Kind, e.TID, e.State, e.Other, e.Arg)
			}
			t.Fatalf("seed %d:\n%s", seed, d)
		}
	}
	t.Logf("%d rows equal", rows)
}
