package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// WritebackThrottling: writers over the limit of dirty pages are made to sleep.
var WritebackThrottling = (&waiting{
	id: "writeback-throttling", doc: "writers sleep because dirty pages or an I/O limit are exceeded",
	pass: ofClass(signature.ClassThrottle), weigh: offInD,
	many: "are held back by write-back", one: "is held back by write-back", noun: "waits for write-back", look: "balance_dirty_pages, rq_qos_wait",
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Write less, or in larger pieces; start write-back earlier (lower vm.dirty_background_bytes) so that writers are not stopped."), Price: text("more, smaller disk writes")},
			{Do: text("Raise vm.dirty_bytes if the disk keeps up on average."), Price: text("longer flushes, more to lose in a crash")},
			{Do: text("Do not tune the scheduler: the disk is what the writers wait for.")},
		}
	},
}).rule()
