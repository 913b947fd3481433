package analyze

import (
	"path"
	"strings"

	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// FutexFacts tell of futex waits whose calls have no names what the addresses
// tell: where in the C library threads wait, and where they wake.
//
// glibc keeps the slow paths of its locks together, in one object file
// (nptl/lowlevellock.c: the two waits, then the two wakes, some 40 to 90 bytes
// each), while condition variables and semaphores wait in another
// (nptl/futex-internal.c) than they wake. A barrier waits and wakes in one
// function. So a wait a few bytes from a wake is at a lock or at a barrier.
type FutexFacts struct {
	// Near is the share of the switches that wait in a futex at an address of the
	// C library close to one from which the same threads come back preempted.
	Near    float64
	Threads int // that do both
}

// nearBytes: a wait and a wake of a lock lie within this of each other, and the
// wait of a condition farther from both. Measured on glibc 2.36 for x86-64: 104
// and 158 bytes for the two locks, 606 from the wait of a condition.
const nearBytes = 256

// site is a place in an object.
type site struct {
	module string
	addr   uint64
}

// futexSites collects by thread where it waits and where it was preempted on
// the way back from a system call.
type futexSites struct {
	waits, returns map[site]map[int]float64
}

func newFutexSites() futexSites {
	return futexSites{map[site]map[int]float64{}, map[site]map[int]float64{}}
}

func addSite(to map[site]map[int]float64, s site, tid int, weight float64) {
	if to[s] == nil {
		to[s] = map[int]float64{}
	}
	to[s][tid] += weight
}

// userSite is the first user frame of a chain, when it is of the C library and
// has an address and no name.
func userSite(fr []evidence.Frame) (site, bool) {
	for i := range fr {
		if fr[i].Kernel {
			continue
		}
		if fr[i].Symbol != "" || fr[i].Addr == 0 || !isCLibrary(fr[i].Module) {
			return site{}, false
		}
		return site{fr[i].Module, fr[i].Addr}, true
	}
	return site{}, false
}

// isCLibrary: libc.so.6, libc-2.31.so and, before glibc 2.34, libpthread.
func isCLibrary(module string) bool {
	base := path.Base(module)
	return strings.HasPrefix(base, "libc.so") || strings.HasPrefix(base, "libc-2.") || strings.HasPrefix(base, "libpthread")
}

// wait notes a futex wait; back a preemption on the way back to user mode.
func (x *futexSites) wait(m signature.Match, tid int, fr []evidence.Frame, weight float64) {
	if m.Reason.ID != "futex" {
		return
	}
	if s, ok := userSite(fr); ok {
		addSite(x.waits, s, tid, weight)
	}
}

func (x *futexSites) back(t Trigger, tid int, fr []evidence.Frame, weight float64) {
	if t != TriggerReturn && t != TriggerHandOff {
		return
	}
	if s, ok := userSite(fr); ok {
		addSite(x.returns, s, tid, weight)
	}
}

// facts sums the waits that have a wake beside them.
func (x *futexSites) facts(total float64) FutexFacts {
	var out FutexFacts
	if total == 0 {
		return out
	}
	both := map[int]bool{}
	for w, by := range x.waits {
		if !x.wakeBeside(w, by, both) {
			continue
		}
		for _, n := range by {
			out.Near += n / total
		}
	}
	out.Threads = len(both)
	return out
}

// wakeBeside reports whether the threads that wait at a place were preempted
// at another close to it, and adds them to both.
func (x *futexSites) wakeBeside(w site, by map[int]float64, both map[int]bool) bool {
	found := false
	for r, of := range x.returns {
		apart := max(r.addr, w.addr) - min(r.addr, w.addr)
		if r.module != w.module || apart == 0 || apart > nearBytes {
			continue
		}
		mine, all := 0.0, 0.0
		for tid, n := range of {
			all += n
			if by[tid] > 0 {
				mine += n
			}
		}
		if mine < fewReturns || mine < all/2 {
			continue
		}
		found = true
		for tid := range of {
			if by[tid] > 0 {
				both[tid] = true
			}
		}
	}
	return found
}

// fewReturns: less is an accident. Practice.
const fewReturns = 3
