package timehist

import (
	"math"

	"ctxan/parse/evidence"
)

// durations collects the durations of one kind of one task. The latest are kept
// in one cache line and go into the histogram together: the buckets of all
// tasks of a large capture do not fit into the near caches, one line each does.
type durations struct {
	n      uint32
	latest [15]uint32 // ns
}

// add counts a duration, in h when there is no room.
func (d *durations) add(h *evidence.Histogram, ns uint64) {
	if ns > math.MaxUint32 {
		h.Add(ns)
		return
	}
	d.latest[d.n] = uint32(ns)
	if d.n++; d.n == uint32(len(d.latest)) {
		d.flush(h)
	}
}

// flush moves what was collected into h.
func (d *durations) flush(h *evidence.Histogram) {
	h.AddAll(d.latest[:d.n])
	d.n = 0
}

// flush completes the histograms of a task.
func (t *task) flush() {
	t.run.flush(&t.runs)
	t.wait.flush(&t.waits)
	t.delay.flush(&t.delays)
}
