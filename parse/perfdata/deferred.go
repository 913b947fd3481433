package perfdata

import (
	"cmp"
	"fmt"
	"slices"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
)

// deferred is the user parts of call chains that the kernel took only when
// their tasks were about to return to user space (perf record --call-graph
// fp,defer). A sample's own chain ends with a mark and a cookie there; a later
// CALLCHAIN_DEFERRED record has that cookie, of the same thread, and the frames.
// They are gathered before the samples are read: a task may sleep for long in
// between, and its samples must not wait for it.
//
// One costs 16 bytes, and its frames what a distinct chain costs.
//
// Layout: the comment on PERF_RECORD_CALLCHAIN_DEFERRED in the kernel's
// include/uapi/linux/perf_event.h; pairing: evlist__deliver_deferred_callchain
// in tools/perf/util/session.c.
type deferred struct {
	list   []deferredPart // sorted by cookie and thread
	chains *chains
	over   int // records beyond the limit
	drops  drops

	words  []uint64
	joined int // samples that got their user part
	alone  int // samples without one
}

type deferredPart struct {
	cookie uint64
	tid    int32
	chain  uint32 // of deferred.chains
}

// maxDeferred bounds the records that are kept: 32 MiB.
const maxDeferred = 1 << 21

// readDeferred gathers the records of a file; nil when it has none.
func (c *capture) readDeferred() (*deferred, error) {
	if !c.defers && !slices.ContainsFunc(c.attrs, func(a attrEntry) bool { return a.attr.Has(wire.FlagDeferCallchain) }) {
		return nil, nil
	}
	s := newSchema(c)
	swap := s.swapper(c.order, c.formats())
	d := &deferred{chains: newChains()}
	err := c.walkRecords(func(typ wire.Type, rec []byte, off int64) bool {
		if typ != wire.RecDeferred {
			return true
		}
		if swap != nil {
			swap.Record(rec)
		}
		d.take(s, rec, off)
		return true
	})
	slices.SortStableFunc(d.list, deferredPart.compare)
	return d, err
}

func (p deferredPart) compare(q deferredPart) int {
	return cmp.Or(cmp.Compare(p.cookie, q.cookie), cmp.Compare(p.tid, q.tid))
}

// take takes a record: cookie u64, number u64, that many addresses. The thread
// is that of the trailer; one without makes no pair.
func (d *deferred) take(s *schema, rec []byte, off int64) {
	t, e := s.trailerOf(rec)
	end := len(rec) - t.Size
	if end < wire.HeaderSize+16 {
		d.drops.add(off, errShortRec)
		return
	}
	n := le.Uint64(rec[wire.HeaderSize+8:])
	if n > uint64(end-wire.HeaderSize-16)/8 {
		d.drops.add(off, fmt.Errorf("deferred call chain: %w", errShortRec))
		return
	}
	if e == nil || t.TID == 0 {
		return
	}
	if len(d.list) >= maxDeferred {
		d.over++
		return
	}
	at := wire.HeaderSize + 16
	id := d.chains.id(rec[at : at+8*int(n)])
	d.list = append(d.list, deferredPart{le.Uint64(rec[wire.HeaderSize:]), int32(le.Uint32(rec[len(rec)+t.TID+4:])), id})
}

// of returns the frames of a thread's cookie, nil when there are none.
func (d *deferred) of(cookie uint64, tid int32) []uint64 {
	i, ok := slices.BinarySearchFunc(d.list, deferredPart{cookie: cookie, tid: tid}, deferredPart.compare)
	if !ok {
		return nil
	}
	return d.chains.chain(d.list[i].chain)
}

// of interns the call chain of a sample, which has nr entries from at on, with
// the user part that was deferred.
func (c *chains) of(e *event, rec []byte, at, nr int) uint32 {
	b := rec[at : at+8*nr]
	if e.deferred == nil || nr < 2 || le.Uint64(b[8*nr-16:]) != wire.ContextUserDeferred {
		return c.id(b)
	}
	d, tid := e.deferred, int32(-1)
	if e.layout.TID >= 0 {
		tid = int32(le.Uint32(rec[e.layout.TID+4:]))
	}
	user := d.of(le.Uint64(b[8*nr-8:]), tid)
	if len(user) == 0 {
		d.alone++
		return c.id(b)
	}
	d.joined++
	w := d.words[:0]
	for i := range nr - 2 {
		w = append(w, le.Uint64(b[8*i:]))
	}
	if user[0] < wire.ContextMax {
		w = append(w, wire.ContextUser)
	}
	d.words = append(w, user...)
	return c.intern(d.words)
}

// report says how many samples have no user part.
func (d *deferred) report(b *evidence.Builder) {
	if d == nil {
		return
	}
	for _, x := range d.drops.list {
		b.DropAt(x.off, x.err)
	}
	b.Source().DroppedTotal += d.drops.total - len(d.drops.list)
	if d.alone > 0 {
		b.Note(fmt.Sprintf("%d of %d call chains lack their user part: it was to be recorded when the task returns to user space, and no such record of that thread is in the file",
			d.alone, d.alone+d.joined))
	}
	if n := d.over + d.chains.over; n > 0 {
		b.Warn(fmt.Sprintf("%d user parts of call chains were left out, as the file holds too many", n))
	}
}
