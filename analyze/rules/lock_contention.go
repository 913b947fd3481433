package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// LockContention: threads wait for a lock that another holds. A futex on the
// stack is no proof of it; the call that waits in the futex is.
var LockContention = &analyze.Rule{
	ID:    "lock-contention",
	Doc:   "threads wait for a lock that another thread holds",
	Run:   lockContention,
	Rival: lockRival,
}

// lockCase is what the facts show of a contended lock.
type lockCase struct {
	w     wait
	share float64 // with the switches on return from the release
	// sampled is the lock that CPU samples name where the switches do not.
	sampled *wait
	g       ground
}

func lockContention(f *analyze.Facts) []analyze.Finding {
	c := lockOf(f)
	if c == nil || c.share < partShare {
		return nil
	}
	fd := analyze.Finding{ID: "lock-contention", Severity: severity(f), Share: some(c.share)}
	c.g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	fd.Summary, fd.Claim = c.summary(f), c.claim(f)
	fd.Shown = c.shown(f)
	fd.Evidence = append(rateEvidence(heaviest(allWaiters(f))), reasonEvidence(c.w.reasons)...)
	fd.Advice = lockAdvice(&c.w)
	if c.sampled != nil {
		fd.Advice = lockAdvice(c.sampled)
	}
	fd.Next = settle(f, nil)
	return settled(f, fd)
}

func lockOf(f *analyze.Facts) *lockCase {
	c := &lockCase{w: waitsFor(f.Blocking, byOwner)}
	if switchWaits(f) && c.w.share >= partShare {
		c.byStacks(f)
		return c
	}
	if switchWaits(f) && waitsFor(f.Blocking, unnamedWait).share < partShare {
		return nil
	}
	if c.bySamples(f) || c.bySites(f) {
		return c
	}
	return c.byCrowd(f)
}

// bySamples: the switches wait in a futex whose caller has no name, and the CPU
// samples of the same path name it: it is a lock's. Each wait costs CPU on its
// way in and out, so that waits of another kind would be sampled as well.
func (c *lockCase) bySamples(f *analyze.Facts) bool {
	futex := waitsFor(f.Blocking, unnamedWait)
	locks, others := waitsFor(f.CPU, byOwner), waitsFor(f.CPU, otherFutex)
	if futex.share < mainShare || locks.share < leastSampled || locks.share < dominance*(locks.share+others.share) || timersWake(f) {
		return false
	}
	c.w, c.share, c.sampled = futex, futex.share, &locks
	what := fmt.Sprintf("%s of the switches wait in a futex, and of the CPU samples on a futex path that have a name %s are of a lock (%s)",
		percent(futex.share), percent(locks.share/(locks.share+others.share)), locks.top.Reason.Label)
	if unnamed := waitsFor(f.CPU, unnamedWait); locks.share >= cpuPathShare && locks.share >= dominance*(locks.share+others.share+unnamed.share) {
		c.g.decide(stacks, what)
		agreeVoluntary(f, &c.g)
	} else {
		c.g.fit(what)
		c.g.fit("no other call is named")
	}
	c.g.atMost(analyze.ConfidenceMedium, what)
	c.g.compare(f)
	return true
}

// leastSampled: CPU samples below this share name nothing. Practice: a few of a
// thousand samples.
const leastSampled = 0.005

// otherFutex are the other calls that may lie above a futex.
var otherFutex = ofClass(signature.ClassCond, signature.ClassTimed, signature.ClassSleep)

// timersWake reports whether the wakeups are known to come from timers.
func timersWake(f *analyze.Facts) bool {
	irq, ok := wokenByIRQ(f)
	return ok && irq >= mainShare
}

// bySites: no call has a name, but the places in the C library have addresses:
// the threads wait right beside where they wake.
func (c *lockCase) bySites(f *analyze.Facts) bool {
	if f.Futex.Near < partShare || f.Futex.Threads < 2 || timersWake(f) || partners(f).share >= partShare {
		return false
	}
	c.w = waitsFor(f.Blocking, unnamedWait)
	c.share = f.Futex.Near
	c.g.fit(fmt.Sprintf("%s of the switches wait in the C library a few bytes from where the same threads wake others, as the two halves of a lock lie", percent(c.share)))
	c.g.fit(fmt.Sprintf("%d threads do both", f.Futex.Threads))
	c.g.compare(f)
	c.g.atMost(analyze.ConfidenceLow, fmt.Sprintf("a fit: %s of the switches wait in the C library right beside where the same threads wake others, as the two halves of a lock lie; a barrier looks alike, and no call has a name", percent(c.share)))
	return true
}

func (c *lockCase) byStacks(f *analyze.Facts) {
	c.share = min(c.w.share+triggerShare(f, analyze.TriggerHandOff), 1)
	what := fmt.Sprintf("%s of the switches wait for a lock (%s)", percent(c.w.share), c.w.top.Reason.Label)
	switch {
	case c.w.share >= mainShare:
		c.g.decide(stacks, what)
	case c.w.ofWaits >= mainShare:
		c.g.decide(stacks, what)
		c.g.atMost(analyze.ConfidenceMedium, what+", the most of those that wait")
	case waitsFor(f.Blocking, ofClass(signature.ClassFutex, signature.ClassCond)).share >= partShare:
		c.share = 0 // whoever waits for a condition takes its mutex too
		return
	default:
		c.g.fit(what)
		c.g.fit("that is a part of them")
		c.g.atMost(analyze.ConfidenceLow, what+", a cause beside others")
	}
	if v, ok := f.Layer2.VoluntaryShare.Get(); ok && independent(f) && v >= mainShare {
		c.g.agree(threads, percent(v)+" of them are voluntary")
	}
	if inside, ok := insideShare(f); ok && inside >= mainShare {
		c.g.agree(threads, percent(inside)+" of the wakeups come from its own threads")
	}
	c.g.compare(f)
}

// byCrowd: no call has a name, but several threads wake each other, each many
// others. A barrier looks alike.
func (c *lockCase) byCrowd(f *analyze.Facts) *lockCase {
	share, n := crowd(f)
	if share < mainShare || n < 3 || partners(f).share >= partShare {
		return nil
	}
	if switchWaits(f) {
		c.w = waitsFor(f.Blocking, unnamedWait)
		c.share = c.w.share
		c.g.fit(fmt.Sprintf("%s of the switches wait in a futex or semaphore", percent(c.w.share)))
	} else {
		c.share = share
		if v, ok := f.Layer2.VoluntaryShare.Get(); ok { // each wakeup ends a wait: an involuntary switch needs none
			c.share *= v
		}
	}
	c.g.fit(fmt.Sprintf("%d threads wake each other, each several", n))
	c.g.fit("nobody has one partner")
	c.g.atMost(analyze.ConfidenceLow, fmt.Sprintf("a fit: %d threads wake each other at random, as the waiters of one lock do; a barrier looks alike, and no call has a name", n))
	return c
}

// insideShare is the share of the subject's wakeups by its own threads.
func insideShare(f *analyze.Facts) (float64, bool) {
	if f.Wake.Total < fewGaps {
		return 0, false
	}
	return float64(f.Wake.Inside) / float64(f.Wake.Total), true
}

func (c *lockCase) summary(f *analyze.Facts) analyze.Text {
	ws := heaviest(waiters(f, byOwner, 0))
	if c.sampled != nil {
		ws = heaviest(allWaiters(f))
		return text("%s wait%s for %s, %s: %s.", threadsOf(f, ws), s(len(ws)), lockName(c.sampled.top.Reason), rateSpan(ws), partOf(f, c.share))
	}
	if c.g.confidence() == analyze.ConfidenceLow && c.w.top == nil || c.w.top != nil && unnamedWait(c.w.top.Reason) {
		ws = heaviest(allWaiters(f))
		return text("%s wake each other, as at a lock, a condition or a barrier: %s.", threadsOf(f, ws), partOf(f, c.share))
	}
	what := lockName(c.w.top.Reason)
	if len(ws) == 0 {
		return text("%s wait%s for %s: %s.", subjectName(f), verbS(f), what, partOf(f, c.share))
	}
	return text("%s wait%s for %s, %s: %s.", threadsOf(f, ws), s(len(ws)), what, rateSpan(ws), partOf(f, c.share))
}

// lockName is what is contended.
func lockName(r signature.Reason) string {
	switch r.ID {
	case "file-lock":
		return "a file lock"
	case "alloc-lock":
		return "a lock of the memory allocator"
	case "libc-lock":
		return "a lock inside libc (malloc or stdio)"
	case "rwlock":
		return "a reader-writer lock"
	case "gil":
		return "the interpreter's lock"
	case "db-lock":
		return "locks of the database"
	case "lock-backoff":
		return "a spin lock that sleeps between tries"
	}
	return "a lock"
}

func (c *lockCase) claim(f *analyze.Facts) analyze.Text {
	if c.w.top == nil {
		return nil
	}
	if c.sampled != nil {
		t := text("%s of the switches block%s; the CPU samples on that path lie in %s (%s of the samples)", percent(c.w.share), frameOf(c.w.top),
			code(c.sampled.top.Frame), percent(c.sampled.share))
		return text("%s%s.", t, under(f, c.sampled.share, c.sampled.top.Reason.ID))
	}
	if unnamedWait(c.w.top.Reason) {
		return text("%s of the switches block%s, and the call that waits has no name.", percent(c.w.share), frameOf(c.w.top))
	}
	if api := c.w.top.API; api != "" && len(c.w.reasons) == 1 {
		return text("%s of the switches wait for a lock (%s), most often in %s%s.", percent(c.w.share), c.w.top.Reason.Label, code(api),
			under(f, c.w.share, c.w.top.Reason.ID))
	}
	return blocks(f, &c.w)
}

func (c *lockCase) shown(f *analyze.Facts) []analyze.Text {
	var out []analyze.Text
	if t := c.claim(f); t != nil {
		out = append(out, t)
	}
	if extra := c.share - c.w.share; extra >= traceShare && c.w.top != nil {
		out = append(out, text("%s more are on return from a call that woke the next task, as a release is.", percent(extra)))
	}
	if off, ok := c.w.meanOffNS(); ok {
		out = append(out, text("A wait lasts %s on average: %s off CPU in %s waits.", quantity.Time(off), quantity.Time(c.w.offNS), quantity.Whole(c.w.offN)))
	}
	if inside, ok := insideShare(f); ok {
		out = append(out, text("%s of the wakeups come from the subject's own threads.", percent(inside)))
	}
	return out
}

// unnamedWait are waits that may be for a lock, and for something else.
var unnamedWait = ofID("futex", "sysv-sem")

func lockAdvice(w *wait) []analyze.Advice {
	if w.top == nil || unnamedWait(w.top.Reason) {
		return nil // a lock, a condition or a barrier: each wants another remedy
	}
	switch w.top.Reason.ID {
	case "alloc-lock", "libc-lock":
		return []analyze.Advice{
			{Do: text("Give the threads more of the allocator each: more arenas (MALLOC_ARENA_MAX), larger thread caches, or jemalloc or tcmalloc."),
				Effects: []analyze.Effect{{Label: "waits", Value: text("one per contended call → few")}}, Price: text("more memory in caches")},
			{Do: text("Allocate less in the hot path: reuse buffers, free in the thread that allocated.")},
		}
	case "lock-backoff":
		return []analyze.Advice{{Do: text("Take the allocator's or library's central lock less often: larger thread caches, larger transfer batches, a newer version with per-CPU caches."),
			Price: text("more memory in caches")}}
	case "file-lock":
		return []analyze.Advice{
			{Do: text("Lock one file per worker and merge later, or hold the lock for a batch of records."),
				Effects: []analyze.Effect{{Label: "waits", Value: text("one per record → one per batch")}}},
		}
	case "gil":
		return []analyze.Advice{{Do: text("Use processes instead of threads for work in the interpreter, or move the work out of it (native code that releases the lock)."),
			Price: text("memory per process, and data must be passed")}}
	case "db-lock":
		return []analyze.Advice{{Do: text("Shorten the transactions that hold the rows, and touch hot rows last; spread a hot row over several."), Price: text("reads must sum them")}}
	}
	return []analyze.Advice{
		{Do: text("Do less inside the lock: compute outside, and only publish the result under it."),
			Effects: []analyze.Effect{{Label: "waits", Value: text("fall with the share of time that the lock is held")}}},
		{Do: text("Split the lock: one per shard, per thread or per object."), Effects: []analyze.Effect{{Label: "waits", Value: text("fall by up to the number of shards")}},
			Price: text("operations over all shards must take them in order")},
		{Do: text("Use fewer threads: of those that share one lock only one runs.")},
	}
}

func lockRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(lockContention(f)) > 0 {
		return analyze.Rival{}, false
	}
	w := waitsFor(f.Blocking, byOwner)
	futex := waitsFor(f.Blocking, ofClass(signature.ClassFutex, signature.ClassLock, signature.ClassCond, signature.ClassTimed))
	switch {
	case switchWaits(f) && futexHidden(f):
		return open("pthread_mutex_lock or its kin above the futex", "%s of the switches wait in a futex, and the call has no name", percent(futex.share))
	case switchWaits(f) && w.share < traceShare:
		return ruledOut(f, w.share, partShare, "the lock's caller", "futex waits are %s of the switches, waits for a lock %s", percent(futex.share), percent(w.share))
	case switchWaits(f):
		return open("the lock's caller", "%s of the switches wait for a lock: a part, not the most", percent(w.share))
	case involuntaryCase(f):
		return rejectedInvoluntary(f)
	}
	return candidate(f, "futex_wait below pthread_mutex_lock", func() (float64, string) {
		cpus, txt, ok := figure(f, analyze.FigCPUs)
		switch {
		case !ok:
			return fitWaits(f, 0.40)
		case cpus <= 1:
			return fitWaits(f, 0.25, "at most one CPU used")
		}
		return fitWaits(f, 0.50, txt+" CPUs used: more than one thread at a time")
	})
}
