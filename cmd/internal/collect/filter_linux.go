package collect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ctxan/parse/perfdata/wire"
)

// maxFilter is how long a tracepoint filter may be: a page, with room to spare.
const maxFilter = 4000

// span is a range of thread ids.
type span struct{ lo, hi int }

// tidFilter returns a tracepoint filter that lets the events of threads pass,
// and of all that are made after the thread last. Where the ids are too many
// for a filter, the nearest are joined: more passes then, and user space drops it.
func tidFilter(field string, tids []int, last int) string {
	var spans []span
	for _, tid := range slices.Sorted(slices.Values(tids)) {
		if n := len(spans); n > 0 && tid <= spans[n-1].hi+1 {
			spans[n-1].hi = max(spans[n-1].hi, tid)
			continue
		}
		spans = append(spans, span{tid, tid})
	}
	more := ""
	if last > 0 {
		more = fmt.Sprintf("%s>%d", field, last)
	}
	for {
		if s := filterText(field, spans, more); len(s) <= maxFilter || len(spans) < 2 {
			return s
		}
		spans = joinNearest(spans, max(1, len(spans)/16))
	}
}

func filterText(field string, spans []span, more string) string {
	var parts []string
	for _, s := range spans {
		if s.lo == s.hi {
			parts = append(parts, fmt.Sprintf("%s==%d", field, s.lo))
		} else {
			parts = append(parts, fmt.Sprintf("(%s>=%d&&%s<=%d)", field, s.lo, field, s.hi))
		}
	}
	if more != "" {
		parts = append(parts, more)
	}
	return strings.Join(parts, "||")
}

// joinNearest joins the n pairs of neighbours with the smallest gaps.
func joinNearest(spans []span, n int) []span {
	order := make([]int, len(spans)-1)
	for i := range order {
		order[i] = i
	}
	gap := func(i int) int { return spans[i+1].lo - spans[i].hi }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gap(a), gap(b)) })
	join := map[int]bool{}
	for _, i := range order[:min(n, len(order))] {
		join[i] = true
	}
	out := spans[:1:1]
	for i, s := range spans[1:] {
		if join[i] {
			out[len(out)-1].hi = s.hi
		} else {
			out = append(out, s)
		}
	}
	return out
}

// watch drops, in user space, the records that are not about the target: where
// events of CPUs stand in for those of too many threads, and where a filter of
// wakeups let more pass than was wanted. It follows the target's new threads.
type watch struct {
	all     bool // every record was let through by the kernel but those of others
	pids    map[int32]bool
	tids    map[int32]bool
	others  map[uint64]*rawField // by the id of an event that tells of another task than the current: where it names it
	self    *rawField            // prev_pid of sched_switch
	trailer wire.Trailer
	grew    bool // a thread was added

	// A new thread's records may stand in a ring that is read before the one
	// with its fork. Records of tasks that are not known yet are held back until
	// all rings were read; from then on these are foreign.
	held    []heldRecord
	foreign map[int32]bool
}

// heldRecord is a record that waits for the end of the round.
type heldRecord struct {
	t    wire.Type
	misc uint16
	body []byte
	tid  int32
}

// maxForeign bounds the tasks that are remembered as none of the target's.
const maxForeign = 1 << 17

// hold keeps a record that is not of the target as far as is known, if a fork
// that is still to be read may make it one.
func (x *watch) hold(t wire.Type, misc uint16, body []byte) bool {
	tid, ok := x.subject(t, body)
	if !ok || x.foreign[tid] {
		return false
	}
	x.held = append(x.held, heldRecord{t, misc, bytes.Clone(body), tid})
	return true
}

// subject is whom a record is about.
func (x *watch) subject(t wire.Type, body []byte) (int32, bool) {
	switch t {
	case wire.RecSample:
		if len(body) < bodyFixed {
			return 0, false
		}
		if f := x.others[le.Uint64(body[bodyID:])]; f != nil {
			return f.of(body)
		}
		return int32(le.Uint32(body[bodyTID:])), true
	case wire.RecSwitchCPUWide:
		id := body[len(body)+max(x.trailer.TID, -len(body)):]
		return int32(le.Uint32(id[4:])), true
	case wire.RecFork, wire.RecExit:
		return int32(le.Uint32(body[8:])), len(body) >= 12
	case wire.RecComm, wire.RecMmap, wire.RecMmap2:
		return int32(le.Uint32(body[4:])), true
	}
	return 0, false
}

// settle returns the held records that turned out to be of the target.
func (x *watch) settle() []heldRecord {
	held := x.held
	x.held = x.held[:0]
	if len(x.foreign) > maxForeign {
		clear(x.foreign)
	}
	for grew := true; grew; { // a thread's child may have come before the thread
		grew = false
		for _, h := range held {
			grew = grew || h.t == wire.RecFork && !x.tids[h.tid] && x.fork(h.body)
		}
	}
	return slices.DeleteFunc(held, func(h heldRecord) bool {
		if x.keep(h.t, h.body) {
			return false
		}
		x.foreign[h.tid] = true
		return true
	})
}

// rawField is where a sample has a field of a tracepoint.
type rawField struct {
	layout wire.Layout
	offset int
}

func (f *rawField) of(body []byte) (int32, bool) {
	at := f.layout.Fixed - wire.HeaderSize
	if f.layout.Has(wire.SampleCallchain) {
		if len(body) < at+8 {
			return 0, false
		}
		at += 8 + 8*int(min(le.Uint64(body[at:]), wire.MaxRecord))
	}
	if at += 4 + f.offset; len(body) < at+4 {
		return 0, false
	}
	return int32(le.Uint32(body[at:])), true
}

// Where a sample's body has its fields: baseFields in the order of the layout.
const (
	bodyID, bodyPID, bodyTID, bodyPeriod = 0, 16, 20, 40
	bodyFixed                            = 48
)

// keep reports whether a record is about the target.
func (x *watch) keep(t wire.Type, body []byte) bool {
	if len(body) < 16 {
		return true
	}
	pid := int32(le.Uint32(body))
	switch t {
	case wire.RecFork:
		return x.fork(body) || x.all
	case wire.RecSample:
		return x.sample(body)
	case wire.RecSwitchCPUWide:
		if x.all {
			return true
		}
		id := body[len(body)+max(x.trailer.TID, -len(body)):]
		return x.has(int32(le.Uint32(id)), int32(le.Uint32(id[4:])))
	case wire.RecComm, wire.RecMmap, wire.RecMmap2:
		return x.all || pid == -1 || x.has(pid, int32(le.Uint32(body[4:])))
	case wire.RecExit:
		return x.all || x.has(pid, int32(le.Uint32(body[8:])))
	}
	return true
}

func (x *watch) has(pid, tid int32) bool { return x.pids[pid] || x.tids[tid] }

// fork adds a new thread of the target, and reports whether it is one.
func (x *watch) fork(body []byte) bool {
	pid, ppid := int32(le.Uint32(body)), int32(le.Uint32(body[4:]))
	tid, ptid := int32(le.Uint32(body[8:])), int32(le.Uint32(body[12:]))
	if !x.pids[ppid] && !x.tids[ptid] {
		return false
	}
	if len(x.pids) > 0 {
		x.pids[pid] = true
	}
	x.tids[tid] = true
	delete(x.foreign, tid)
	x.grew = true
	return true
}

func (x *watch) sample(body []byte) bool {
	if len(body) < bodyFixed {
		return false
	}
	if f := x.others[le.Uint64(body[bodyID:])]; f != nil {
		tid, ok := f.of(body)
		return ok && x.tids[tid]
	}
	if x.all || x.has(int32(le.Uint32(body[bodyPID:])), int32(le.Uint32(body[bodyTID:]))) {
		return true
	}
	if x.self == nil {
		return false
	}
	tid, ok := x.self.of(body) // a task that ends has no ids any more but here
	return ok && x.tids[tid]
}
