package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// MemoryReclaim: allocations wait until memory is freed. Much of it is work of
// the allocating thread, which may be preempted in it: those switches are no
// waits, and told apart.
var MemoryReclaim = (&waiting{
	id: "memory-reclaim", doc: "allocations wait for memory to be reclaimed, or a memory limit holds them back",
	pass: ofID("reclaim", "memcg-high"),
	many: "wait for memory to be freed", one: "waits for memory to be freed", noun: "waits for memory reclaim", look: "reclaim_throttle, try_to_free_mem_cgroup_pages",
	also:   func(f *analyze.Facts) float64 { return triggerShare(f, analyze.TriggerKernel) },
	alsoIs: "preemptions inside the kernel",
	weigh: func(f *analyze.Facts, _ *wait, g *ground) {
		if p := triggerShare(f, analyze.TriggerKernel); p >= traceShare {
			own := waitsFor(f.Work, ofClass(signature.ClassMemory)).share
			g.note(text("%s of the switches are preemptions inside the kernel, %s of all while it reclaims memory: a thread that frees memory itself is preempted in it", percent(p), percent(own)))
		}
	},
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Raise the limit (memory.high, memory.max) or use less page cache: O_DIRECT, posix_fadvise DONTNEED after writing."),
				Effects: []analyze.Effect{{Label: "waits", Value: text("none while the working set fits")}}, Price: text("memory that others lose")},
			{Do: text("Look at memory.events (high, max) and at PSI memory to see which limit it is.")},
		}
	},
}).rule()
