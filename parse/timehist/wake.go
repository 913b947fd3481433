package timehist

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// The bounds of what is kept of wakeups: pairs of tasks, and wakeups of one
// stint of a waker.
const (
	maxPairs   = 1 << 18
	maxPending = 32
)

// waking is what awakened: and migrated: rows say of a task.
type waking struct {
	wakeups  uint64
	migrated uint64
	wakers   []*wakerCount
	first    *wakerCount // of the first wakeup since its last switch-out
	pending  []pendingWake
}

// wakerCount counts the wakeups of a task by another.
type wakerCount struct {
	by                  int32
	count, delay, after uint64
}

// wakePairs finds the count of a waker and a task that it woke: a hash table
// with open addressing, which every awakened: row asks.
type wakePairs struct {
	slots []wakePair // a power of two; empty where count is nil
	used  int
}

type wakePair struct {
	key   uint64
	count *wakerCount
}

// slot returns where a pair is or belongs.
func (p *wakePairs) slot(key uint64) *wakePair {
	mask := uint64(len(p.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		s := &p.slots[i&mask]
		if s.count == nil || s.key == key {
			return s
		}
	}
}

// grow makes room for one more pair.
func (p *wakePairs) grow() {
	if 2*p.used < len(p.slots) {
		return
	}
	old := p.slots
	p.slots = make([]wakePair, max(2*len(old), 256))
	for _, s := range old {
		if s.count != nil {
			*p.slot(s.key) = s
		}
	}
}

// find returns the count of a pair, which it adds to w's wakers when it is new;
// nil past the bound.
func (p *wakePairs) find(w *waking, waker, wakee int32) *wakerCount {
	key := uint64(uint32(waker))<<32 | uint64(uint32(wakee))
	if len(p.slots) > 0 {
		if s := p.slot(key); s.count != nil {
			return s.count
		}
	}
	if p.used >= maxPairs {
		return nil
	}
	p.grow()
	k := &wakerCount{by: waker}
	*p.slot(key) = wakePair{key, k}
	p.used++
	w.wakers = append(w.wakers, k)
	return k
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
	k := c.pairs.find(w, waker, wakee)
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

// addMigration counts a move of a task to another CPU.
func (c *capture) addMigration(task int32) {
	c.migrates++
	c.tasks.list[task].waking().migrated++
}

// wakerList returns a task's wakers, the most frequent first.
func (c *capture) wakerList(w *waking) []evidence.Waker {
	list := slices.Clone(w.wakers)
	slices.SortFunc(list, func(a, b *wakerCount) int {
		return cmp.Or(-cmp.Compare(a.count, b.count), cmp.Compare(a.by, b.by))
	})
	var out []evidence.Waker
	for _, e := range list[:min(len(list), evidence.MaxWakers)] {
		out = append(out, evidence.Waker{
			Task: c.tasks.identity(e.by), IRQ: e.by == idleTask, NoState: true,
			Count: e.count, DelayNS: e.delay, AfterNS: e.after,
		})
	}
	return out
}
