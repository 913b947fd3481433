package perfdata

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// kindAsk is the reader's own kind of event: a task asks to wait. Its fields
// are used for other things than their names say; see askEvent.
const kindAsk = timeline.Kind(201)

// askPlan is how the samples of a tracepoint tell what a task asks for. Fields
// that the tracepoint lacks have offset None.
type askPlan struct {
	kind evidence.WaitKind

	addr, op, limit askField // futex: uaddr, op, utime; poll: the time limit
	call            string   // of futex calls that are one operation each
	millis          bool     // limit is in milliseconds, not a pointer to a time
	function        askField // timers
	expires, soft   askField
	mono            bool // the samples' times are those that timers run by
}

type askField struct{ off, size int }

// of reads the field, 0 where the tracepoint lacks it.
func (f askField) of(raw []byte) uint64 {
	switch f.size {
	case 0:
		return 0
	case 4:
		return uint64(le.Uint32(raw[f.off:]))
	}
	return le.Uint64(raw[f.off:])
}

// asks are the tracepoints that are read, with the field that holds the limit.
// Of the calls that took the place of futex in Linux 6.7, those that take a list
// of futexes have it in user memory, so that none of them is known.
//
// Source: the system calls' arguments in the kernel's include/linux/syscalls.h,
// and include/trace/events/timer.h.
var asks = map[string]struct {
	kind  evidence.WaitKind
	limit string
}{
	"syscalls:sys_enter_nanosleep":       {evidence.WaitSleep, ""},
	"syscalls:sys_enter_clock_nanosleep": {evidence.WaitSleep, ""},
	"syscalls:sys_enter_epoll_wait":      {evidence.WaitPoll, "timeout"},
	"syscalls:sys_enter_epoll_pwait":     {evidence.WaitPoll, "timeout"},
	"syscalls:sys_enter_epoll_pwait2":    {evidence.WaitPoll, "timeout"},
	"syscalls:sys_enter_poll":            {evidence.WaitPoll, "timeout_msecs"},
	"syscalls:sys_enter_ppoll":           {evidence.WaitPoll, "tsp"},
	"syscalls:sys_enter_select":          {evidence.WaitPoll, "tvp"},
	"syscalls:sys_enter_pselect6":        {evidence.WaitPoll, "tsp"},
	"syscalls:sys_enter_futex":           {evidence.WaitFutex, "utime"},
	"syscalls:sys_enter_futex_wait":      {evidence.WaitFutex, "timeout"},
	"syscalls:sys_enter_futex_waitv":     {evidence.WaitFutex, "timeout"},
	"syscalls:sys_enter_futex_wake":      {evidence.WakeFutex, ""},
	"syscalls:sys_enter_futex_requeue":   {evidence.WakeFutex, ""},
	"timer:hrtimer_start":                {evidence.WaitTimer, ""},
}

// planAsk prepares such a tracepoint. It reports false for others.
func (e *event) planAsk(f *wire.Format) bool {
	a, ok := asks[f.System+":"+f.Name]
	if !ok {
		return false
	}
	if !e.layout.Has(wire.SampleRaw) {
		e.skip = "recorded without raw data (perf record -R)"
		return true
	}
	p := planner{f: f}
	p.common(e)
	plan := &askPlan{kind: a.kind}
	if a.limit != "" {
		plan.limit = p.word(a.limit)
		plan.millis = a.kind == evidence.WaitPoll && (a.limit == "timeout_msecs" || f.Name != "sys_enter_epoll_pwait2" && a.limit == "timeout")
	}
	switch a.kind {
	case evidence.WaitFutex, evidence.WakeFutex:
		p.futex(plan)
	case evidence.WaitTimer:
		plan.function, plan.expires, plan.soft = p.word("function"), p.word("expires"), p.word("softexpires")
		const clockMonotonic = 1
		plan.mono = e.attr.Has(wire.FlagUseClockID) && e.attr.ClockID == clockMonotonic
	}
	if p.missing != "" {
		e.skip = fmt.Sprintf("its format has no usable field %s", p.missing)
		return true
	}
	e.kind, e.rawMin, e.ask = kindAsk, p.need, plan
	if size, fixed := e.layout.FixedRead(); fixed && !e.layout.Has(wire.SampleCallchain) {
		e.rawAt = e.layout.Fixed + size + 4
	}
	return true
}

// futex takes the fields of a futex call.
func (p *planner) futex(plan *askPlan) {
	switch call := strings.TrimPrefix(p.f.Name, "sys_enter_"); call {
	case "futex":
		plan.addr, plan.op = p.word("uaddr"), p.word("op")
	case "futex_wait", "futex_wake":
		plan.addr, plan.call = p.word("uaddr"), call
	default:
		plan.call = call
	}
}

// word returns a field of 4 or 8 bytes.
func (p *planner) word(name string) askField {
	for _, size := range []int{8, 4} {
		if off := p.optional(name, size); off >= 0 {
			return askField{off, size}
		}
	}
	if p.missing == "" {
		p.missing = name
	}
	return askField{}
}

// askEvent is what a task asks for on its way through the order, in the fields
// of a timeline.Event.
type askEvent struct {
	addr  uint64 // futex, or a timer's function
	op    int32  // of a futex
	asked int64  // ns; askForever and askUnknown besides
	slack uint64 // of timers
}

const (
	askForever = -1
	askUnknown = -2 // a limit behind a pointer, or a timer by another clock
)

func (a *askEvent) put(ev *timeline.Event) {
	ev.Arg, ev.State = a.addr, 0
	ev.Comm, ev.OtherComm = uint32(uint64(a.asked)>>32), uint32(a.asked)
	ev.Stack, ev.Other = uint32(a.slack), a.op
}

func getAsk(ev *timeline.Event) askEvent {
	return askEvent{addr: ev.Arg, op: ev.Other, slack: uint64(ev.Stack), asked: int64(uint64(ev.Comm)<<32 | uint64(ev.OtherComm))}
}

// ask takes such a sample. It reports false for one that is dropped.
func (d *decoder) ask(e *event, rec []byte, ev *timeline.Event) bool {
	raw, ok := e.raw(rec)
	if !ok {
		d.drops.add(ev.Off, errRaw)
		return false
	}
	if e.f.flags >= 0 && raw[e.f.flags]&(traceHardIRQ|traceSoftIRQ) != 0 {
		ev.Flags = timeline.FlagIRQ
	}
	ev.TID = -1
	if l := &e.layout; l.TID >= 0 {
		ev.PID, ev.TID = int32(le.Uint32(rec[l.TID:])), int32(le.Uint32(rec[l.TID+4:]))
		if ev.PID >= 0 {
			ev.Flags |= timeline.FlagHasPID
		}
	} else if e.f.current >= 0 {
		ev.TID = int32(le.Uint32(raw[e.f.current:]))
	}
	a := e.ask.read(raw, ev.Time)
	a.put(ev)
	return true
}

func (p *askPlan) read(raw []byte, now uint64) askEvent {
	a := askEvent{asked: askUnknown}
	switch {
	case p.kind == evidence.WaitTimer:
		a.addr = p.function.of(raw)
		soft, hard := p.soft.of(raw), p.expires.of(raw)
		if hard >= soft {
			a.slack = min(hard-soft, 1<<32-1)
		}
		if p.mono && now > 0 && soft >= now && soft-now < maxAsked {
			a.asked = int64(soft - now)
		}
	case p.millis:
		switch ms := int32(p.limit.of(raw)); {
		case ms < 0:
			a.asked = askForever
		default:
			a.asked = int64(ms) * 1e6
		}
	case p.limit.size > 0 && p.limit.of(raw) == 0:
		a.asked = askForever
	}
	if p.kind == evidence.WaitFutex || p.kind == evidence.WakeFutex {
		a.addr, a.op = p.addr.of(raw), int32(p.op.of(raw))
	}
	return a
}

// maxAsked is more than a timer of the same clock is set ahead: the time of day
// is ahead of the time since boot by decades.
const maxAsked = 10 * 365 * 24 * 3600 * 1e9

// askCounts collects what tasks ask for.
type askCounts struct {
	events []*event
	comms  map[int32]uint32
	rows   map[askKey]*evidence.WaitCall
	over   int
}

type askKey struct {
	event    uint16
	tid, pid int32
	op       int32
	addr     uint64
}

// Bounds of what a hostile file can cost: about 2 KB a row.
const (
	maxAskRows  = 1 << 13
	maxAskComms = 1 << 17
	maxAskAddrs = 8 // reported of a task and operation
)

// newAskCounts returns nil for a file without such events.
func newAskCounts(s *schema) *askCounts {
	if !s.has(kindAsk) {
		return nil
	}
	return &askCounts{events: s.events, comms: map[int32]uint32{}, rows: map[askKey]*evidence.WaitCall{}}
}

// take counts the events of a batch, and makes those that are the reader's own
// ones without meaning.
func (c *askCounts) take(batch []timeline.Event) {
	for i := range batch {
		switch ev := &batch[i]; ev.Kind {
		case timeline.KindComm:
			if len(c.comms) < maxAskComms {
				c.comms[ev.TID] = ev.Comm
			}
		case timeline.KindFork:
			if name, ok := c.comms[ev.TID]; ok && len(c.comms) < maxAskComms {
				c.comms[ev.Other] = name
			}
		case kindAsk:
			if ev.TID > 0 && ev.Flags&timeline.FlagIRQ == 0 {
				c.count(ev)
			}
			*ev = timeline.Event{Time: ev.Time, Off: ev.Off, CPU: ev.CPU}
		}
	}
}

func (c *askCounts) count(ev *timeline.Event) {
	a, e := getAsk(ev), c.events[ev.Event]
	key := askKey{ev.Event, ev.TID, ev.PID, a.op & futexCommand, a.addr}
	w := c.rows[key]
	if w == nil {
		if len(c.rows) >= maxAskRows {
			c.over++
			return
		}
		w = &evidence.WaitCall{Event: e.info.Name, Kind: e.ask.kind, Addr: a.addr, Task: evidence.Task{PID: int(ev.PID), TID: int(ev.TID)}}
		w.Pos.Offset = ev.Off
		if w.Op = e.ask.call; w.Op == "" && w.Kind == evidence.WaitFutex {
			w.Op, w.Kind = futexOp(a.op)
		}
		c.rows[key] = w
	}
	w.Count++
	c.limits(w, e.ask, a)
}

// limits counts what a call says of how long it may wait.
func (c *askCounts) limits(w *evidence.WaitCall, p *askPlan, a askEvent) {
	if p.limit.size > 0 && w.Kind != evidence.WakeFutex {
		w.Timed.OK, w.NoWait.OK = true, p.millis
		switch {
		case a.asked == 0:
			w.NoWait.V++
		case a.asked != askForever:
			w.Timed.V++
		}
	}
	if a.asked > 0 || a.asked == 0 && w.Kind == evidence.WaitTimer {
		w.AskedNS = addTo(w.AskedNS, uint64(a.asked))
	}
	if w.Kind != evidence.WaitTimer {
		return
	}
	w.SlackNS = addTo(w.SlackNS, a.slack)
	if a.asked == askUnknown && p.mono {
		w.OtherClock++
	}
}

func addTo(h *evidence.Histogram, v uint64) *evidence.Histogram {
	if h == nil {
		h = new(evidence.Histogram)
	}
	h.Add(v)
	return h
}

// futexCommand leaves the flags (private, by the time of day) out of a futex
// operation. Source: include/uapi/linux/futex.h.
const futexCommand = 0x7f

var futexOps = [...]string{"FUTEX_WAIT", "FUTEX_WAKE", "FUTEX_FD", "FUTEX_REQUEUE", "FUTEX_CMP_REQUEUE", "FUTEX_WAKE_OP", "FUTEX_LOCK_PI",
	"FUTEX_UNLOCK_PI", "FUTEX_TRYLOCK_PI", "FUTEX_WAIT_BITSET", "FUTEX_WAKE_BITSET", "FUTEX_WAIT_REQUEUE_PI", "FUTEX_CMP_REQUEUE_PI", "FUTEX_LOCK_PI2"}

func futexOp(op int32) (name string, kind evidence.WaitKind) {
	op &= futexCommand
	if int(op) >= len(futexOps) {
		return fmt.Sprintf("FUTEX_%d", op), evidence.WakeFutex
	}
	const waits = 1<<0 | 1<<6 | 1<<9 | 1<<11 | 1<<13
	if waits>>op&1 != 0 {
		return futexOps[op], evidence.WaitFutex
	}
	return futexOps[op], evidence.WakeFutex
}

// report hands the rows over, those of most calls first.
func (c *askCounts) report(b *evidence.Builder, names *timeline.Names, f *frames, sel *timeline.Select) {
	if c == nil {
		return
	}
	rows := make([]*evidence.WaitCall, 0, len(c.rows))
	for _, w := range c.rows {
		w.Task.Comm = names.Name(c.comms[int32(w.Task.TID)])
		if sel.ByTask() && !sel.Task(w.Task.PID, w.Task.TID, w.Task.Comm) {
			continue
		}
		if w.Kind == evidence.WaitTimer {
			w.Op = f.resolve(frameKey{addr: w.Addr}, true)[0].Symbol
		}
		rows = append(rows, w)
	}
	slices.SortFunc(rows, func(a, b *evidence.WaitCall) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Pos.Offset, b.Pos.Offset), cmp.Compare(a.Addr, b.Addr))
	})
	for _, w := range fewAddrs(rows) {
		b.Wait(*w)
	}
	if c.over > 0 {
		b.Warn(fmt.Sprintf("%d calls that ask to wait were left out, as the file holds too many different ones", c.over))
	}
	c.clocks(b)
}

// clocks says what to record when the times that timers were set to can't be told.
func (c *askCounts) clocks(b *evidence.Builder) {
	for _, e := range c.events {
		if e.kind == kindAsk && e.ask.kind == evidence.WaitTimer && !e.ask.mono && e.samples > 0 {
			b.Note("timers were recorded by another clock than theirs, so that how long they were set for is not known; record with -k CLOCK_MONOTONIC")
			return
		}
	}
}

// fewAddrs sums the futexes of a task and operation beyond the first few.
func fewAddrs(rows []*evidence.WaitCall) []*evidence.WaitCall {
	type group struct {
		event, op string
		task      evidence.Task
	}
	seen := map[group]int{}
	rest := map[group]*evidence.WaitCall{}
	var out []*evidence.WaitCall
	for _, w := range rows {
		g := group{w.Event, w.Op, w.Task}
		if seen[g]++; seen[g] <= maxAskAddrs || w.Kind == evidence.WaitTimer {
			out = append(out, w)
			continue
		}
		r := rest[g]
		if r == nil {
			r = &evidence.WaitCall{Pos: w.Pos, Event: w.Event, Task: w.Task, Kind: w.Kind, Op: w.Op, Timed: evidence.Opt[uint64]{OK: w.Timed.OK}}
			rest[g] = r
			out = append(out, r)
		}
		r.Others++
		r.Count += w.Count
		r.Timed.V += w.Timed.V
	}
	return out
}
