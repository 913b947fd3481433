package timehist

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// The bounds of what is kept of wakeups: wakers of one task, and wakeups of one
// stint of a waker.
const (
	maxWakersKept = 256
	maxPending    = 32
)

// waking is what awakened: and migrated: rows say of a task.
type waking struct {
	wakeups  uint64
	migrated uint64
	wakers   map[int32]*wakerCount
	latest   *wakerCount // of the latest wakeup, by
	by       int32
	first    *wakerCount // of the first wakeup since its last switch-out
	pending  []pendingWake
}

type wakerCount struct {
	count, delay, after uint64
}

// pendingWake is a wakeup by a task that has not yet left the CPU since.
type pendingWake struct {
	count *wakerCount
	at    uint64
}

func (t *task) waking() *waking {
	if t.waked == nil {
		t.waked = &waking{}
	}
	return t.waked
}

// switchOut settles what waited for the task to leave the CPU. The delay that
// its row shows began with its first wakeup (timehist_sched_wakeup_event).
func (w *waking) switchOut(s stint) {
	if w.first != nil {
		w.first.delay += s.delay
		w.first = nil
	}
	for _, p := range w.pending {
		if s.at >= p.at {
			p.count.after += s.at - p.at
		}
	}
	w.pending = w.pending[:0]
}

// addWakeup counts a wakeup of a task by another.
func (c *capture) addWakeup(waker, wakee int32, at uint64) {
	c.wakeups++
	w := c.tasks.list[wakee].waking()
	w.wakeups++
	k := w.waker(waker)
	if k == nil {
		return
	}
	k.count++
	if w.first == nil {
		w.first = k
	}
	if by := c.tasks.list[waker].waking(); waker != idleTask && len(by.pending) < maxPending {
		by.pending = append(by.pending, pendingWake{k, at})
	}
}

// waker returns the count of a waker, nil past the bound.
func (w *waking) waker(by int32) *wakerCount {
	if w.latest != nil && w.by == by {
		return w.latest
	}
	k := w.wakers[by]
	if k == nil {
		if len(w.wakers) >= maxWakersKept {
			return nil
		}
		if w.wakers == nil {
			w.wakers = map[int32]*wakerCount{}
		}
		k = &wakerCount{}
		w.wakers[by] = k
	}
	w.latest, w.by = k, by
	return k
}

// addMigration counts a move of a task to another CPU.
func (c *capture) addMigration(task int32) {
	c.migrates++
	c.tasks.list[task].waking().migrated++
}

// wakerList returns a task's wakers, the most frequent first.
func (c *capture) wakerList(w *waking) []evidence.Waker {
	type entry struct {
		at int32
		*wakerCount
	}
	list := make([]entry, 0, len(w.wakers))
	for at, k := range w.wakers {
		list = append(list, entry{at, k})
	}
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(-cmp.Compare(a.count, b.count), cmp.Compare(a.at, b.at))
	})
	var out []evidence.Waker
	for _, e := range list[:min(len(list), evidence.MaxWakers)] {
		out = append(out, evidence.Waker{
			Task: c.tasks.identity(e.at), IRQ: e.at == idleTask, NoState: true,
			Count: e.count, DelayNS: e.delay, AfterNS: e.after,
		})
	}
	return out
}
