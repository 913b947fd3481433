package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// IOWait: reads or writes that the page cache does not serve.
var IOWait = ioWait.rule()

var ioWait = &waiting{
	id:  "io-wait",
	doc: "threads wait for reads or writes of a block device",
	pass: func(r signature.Reason) bool {
		return r.Class == signature.ClassDisk
	},
	many: "wait for the disk", one: "waits for the disk", noun: "waits for the disk", look: "io_schedule, folio_wait_bit, __iomap_dio_rw in state D",
	common: true, weigh: offInD, advise: diskAdvice, fit: mostlyIdle(0.35), blind: inDisk(0.70),
}

func diskAdvice(f *analyze.Facts, w *wait) []analyze.Advice {
	out := []analyze.Advice{{Do: text("Keep more requests in flight per thread (io_uring, libaio with O_DIRECT, read-ahead) or read larger pieces: one switch then serves many."),
		Effects: []analyze.Effect{{Label: "switches", Value: text("one per request → one per batch")}},
		Price:   text("more memory for buffers, and requests complete out of order")}}
	if w.has("fault-in") {
		out = append(out, analyze.Advice{Do: text("Prefault or advise the mapped file (MAP_POPULATE, madvise WILLNEED) instead of faulting it in page by page."),
			Effects: []analyze.Effect{{Label: "switches", Value: text("one per page → one per read-ahead window")}}})
	}
	if off, ok := w.meanOffNS(); ok {
		out = append(out, analyze.Advice{Do: text("Compare the %s that a wait takes with what the device should need, before blaming the program.", quantity.Time(off))})
	}
	return out
}
