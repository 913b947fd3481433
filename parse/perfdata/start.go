package perfdata

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"ctxan/parse/perfdata/wire"
)

// How far the records at the beginning are looked at before reading: up to
// this many samples, or bytes.
const (
	startSamples = 2048
	startBytes   = 4 << 20
)

// readStart looks at the first records, for those that describe the recording
// and for what the samples show. All of them are read again later.
func (c *capture) readStart() error {
	var samples [][]byte
	err := c.scanStart(func(typ wire.Type, rec, payload []byte) bool {
		switch typ {
		case wire.RecSample:
			samples = append(samples, bytes.Clone(rec))
		case wire.RecTracingData:
			c.feature(wire.FeatTracingData, payload)
		default:
			c.describing(typ, rec)
		}
		return len(samples) < startSamples
	})
	if err == nil {
		c.trySamples(samples)
	}
	return err
}

// seesCompressed reports whether there are compressed records at the
// beginning: a file whose recorder was killed does not say so elsewhere.
func (c *capture) seesCompressed() bool {
	seen := false
	err := c.scanStart(func(typ wire.Type, _, _ []byte) bool {
		seen = typ == wire.RecCompressed || typ == wire.RecCompressed2
		return !seen && typ != wire.RecSample
	})
	return seen && err == nil
}

// scanStart calls f for the first records, as they are in the file, with the
// tracing data that follows one, until it returns false. f must not keep them.
func (c *capture) scanStart(f func(typ wire.Type, rec, payload []byte) bool) error {
	left := min(startBytes, max(c.dataTo-c.dataFrom, 0))
	in := io.NewSectionReader(c.in.R, c.dataFrom, max(c.dataTo-c.dataFrom, 0))
	r := bufio.NewReaderSize(in, int(min(left, 64<<10)))
	rec := make([]byte, wire.MaxRecord+1)
	for left > 0 {
		size, err := readRecord(r, rec, c)
		if size == 0 {
			if errors.Is(err, io.EOF) || errors.Is(err, errRecordSize) || errors.Is(err, errCutRecord) {
				return nil
			}
			return err
		}
		left -= int64(size)
		typ := wire.Type(c.order.Uint32(rec))
		var payload []byte
		switch n := c.payload(typ, rec[:size]); {
		case n > left:
			return nil
		case typ == wire.RecTracingData:
			payload = make([]byte, n)
			if _, err := io.ReadFull(r, payload); err != nil {
				return nil
			}
			left -= n
		case n > 0:
			if _, err := r.Discard(int(n)); err != nil {
				return nil
			}
			left -= n
		}
		if !f(typ, rec[:size], payload) {
			return nil
		}
	}
	return nil
}

// payload returns how many bytes follow a record that is followed by data.
func (c *capture) payload(typ wire.Type, rec []byte) int64 {
	switch typ {
	case wire.RecTracingData:
		if len(rec) >= 12 {
			return int64(c.order.Uint32(rec[8:]))
		}
	case wire.RecAuxtrace:
		if len(rec) >= 16 {
			return int64(c.order.Uint64(rec[8:]) &^ (1 << 63))
		}
	}
	return 0
}

// describing takes what a record of perf's own says of the recording.
func (c *capture) describing(typ wire.Type, rec []byte) {
	r := &wire.Reader{B: rec, At: wire.HeaderSize, Order: c.order}
	switch typ {
	case wire.RecAttr:
		if c.pipe {
			c.attrRecord(rec)
		}
	case wire.RecEventType:
		if len(rec) >= wire.HeaderSize+72 {
			c.nameType(rec[wire.HeaderSize:])
		}
	case wire.RecEventUpdate:
		c.eventUpdate(r)
	case wire.RecFeature:
		if f := r.U64(); r.Err == nil && f < 256 && wanted(wire.Feature(f)) {
			c.feature(wire.Feature(f), rec[r.At:])
		}
	case wire.RecBuildID:
		if ids, err := wire.ParseBuildIDs(rec, c.order); err == nil {
			c.buildIDs = append(c.buildIDs, ids...)
		}
	case wire.RecThreadMap:
		c.threadMap(r)
	case wire.RecIDIndex:
		c.idIndex(r)
	case wire.RecDeferred:
		c.defers = true
	}
}

// attrRecord takes an event of a pipe: its attribute, then its ids.
func (c *capture) attrRecord(rec []byte) {
	body := rec[wire.HeaderSize:]
	if len(body) < wire.AttrSizeV0 || len(c.attrs) >= maxAttrs {
		return
	}
	size := int(c.order.Uint32(body[4:]))
	if size == 0 {
		size = wire.AttrSizeV0
	}
	if size < wire.AttrSizeV0 || size > len(body) {
		return
	}
	attr, err := wire.ParseAttr(body[:size], c.order)
	if err == nil {
		c.attrs = append(c.attrs, attrEntry{attr: attr, ids: words(body[size:], c.order)})
	}
}

// eventUpdate takes the name of an event: type u64, id u64, then the name.
func (c *capture) eventUpdate(r *wire.Reader) {
	const typeName = 2
	if typ, id := r.U64(), r.U64(); r.Err == nil && typ == typeName {
		name := wire.CString(r.Bytes(r.Left()))
		for i := range c.attrs {
			for _, have := range c.attrs[i].ids {
				if have == id {
					c.attrs[i].name = name
				}
			}
		}
	}
}

// threadMap takes which threads were asked for: u64 number, then pid u64 and
// comm char[16] of each. A system-wide recording has one, -1.
func (c *capture) threadMap(r *wire.Reader) {
	n := r.U64()
	if n > uint64(r.Left())/24 {
		return
	}
	c.threads = []int{}
	for range n {
		c.threads = append(c.threads, int(int32(r.U64())))
		r.Bytes(16)
	}
}

// idIndex takes which CPUs the events were opened on: u64 number, then id, idx,
// cpu, tid of each, u64. A buffer of a thread has cpu -1.
func (c *capture) idIndex(r *wire.Reader) {
	n := r.U64()
	if n > uint64(r.Left())/32 {
		return
	}
	bound := false
	for range n {
		id := r.U64()
		r.U64()
		cpu := int32(r.U64())
		if tid := int32(r.U64()); tid == -1 && cpu >= 0 && len(c.everyTask) < maxIDs {
			if c.everyTask == nil {
				c.everyTask = map[uint64]bool{}
			}
			c.everyTask[id] = true
		}
		if cpu >= 0 && cpu < maxCPU {
			bound = true
			c.cpus = max(c.cpus, int(cpu)+1)
		}
	}
	c.perThread = n > 0 && !bound
}

// trySamples decodes the first samples for what they show: that the idle task
// is traced and, where the file has no tracepoint formats, which event is what.
func (c *capture) trySamples(samples [][]byte) {
	s := newSchema(c)
	if sw := s.swapper(c.order, c.formats()); sw != nil {
		for _, rec := range samples {
			sw.Record(rec)
		}
	}
	if len(c.formats()) == 0 {
		c.guessFormats(samples)
		s = newSchema(c)
	}
	c.stateBits(s, samples)
}

// stateBits looks at the states of the first switches. Whether the idle task is
// among those that leave tells whether all tasks are traced.
//
// Kernels from 4.14.4 to 4.19 stored prev_state one bit too high, R as 1, S as
// 2, and so on (1 << task_state_index() in __trace_sched_switch_state, put right
// in 4.20 and in later stable releases). The idle task is always R, so that a 1
// of it gives them away; without it, the release and that no state is 0.
func (c *capture) stateBits(s *schema, samples [][]byte) {
	var seen, zero int
	for _, rec := range samples {
		e := s.eventOf(rec)
		if e == nil || !e.isSwitch() {
			continue
		}
		raw, ok := e.raw(rec)
		if !ok {
			continue
		}
		seen++
		state := e.prevState(raw)
		if state == 0 {
			zero++
		}
		if le.Uint32(raw[e.f.pid:]) == 0 {
			c.idleOut = true
			c.highStates = c.highStates || state == 1
		}
	}
	if !c.idleOut && seen >= 32 && zero == 0 && betweenReleases(c.host.Release, 14, 19) {
		c.highStates = true
	}
	if c.highStates {
		c.notes = append(c.notes, "this kernel stores prev_state one bit too high: read accordingly; R+ and the idle state of kernel threads look alike")
	}
}

// betweenReleases reports whether a release is 4.lo to 4.hi.
func betweenReleases(release string, lo, hi int) bool {
	var minor int
	n, err := fmt.Sscanf(release, "4.%d", &minor)
	return n == 1 && err == nil && minor >= lo && minor <= hi
}

// formats returns the tracepoint formats of the file.
func (c *capture) formats() []*wire.Format {
	if c.tracing == nil {
		return nil
	}
	return c.tracing.Formats
}

// rawData yields the raw data of those samples that are of tracepoints.
func (s *schema) rawData(samples [][]byte) iter.Seq2[*event, []byte] {
	return func(yield func(*event, []byte) bool) {
		for _, rec := range samples {
			e := s.eventOf(rec)
			if e == nil || e.attr.Type != wire.TypeTracepoint || !e.layout.Has(wire.SampleRaw) {
				continue
			}
			off, n, err := e.layout.Raw(rec)
			if err == nil && !yield(e, rec[off:off+n]) {
				return
			}
		}
	}
}

// guessFormats serves files without tracepoint formats. It finds sched_switch
// by its contents: the task that leaves is the current one, so prev_pid equals
// common_pid, and both names are printable. If they fit the built-in layout,
// the other events of the scheduler are taken by that, too: by name, where the
// file names its events, else by the distance of their ids from sched_switch.
func (c *capture) guessFormats(samples [][]byte) {
	s := newSchema(c)
	score := map[*event]int{}
	for e, raw := range s.rawData(samples) {
		if looksLikeSwitch(raw) {
			score[e]++
		} else {
			score[e] -= 100
		}
	}
	for e, n := range score {
		if n > 0 {
			c.tracing = builtinFormats(int(e.attr.Config), c.attrs)
			c.fitNames(samples)
			c.notes = append(c.notes, "the file has no tracepoint formats: built-in layouts of current 64-bit kernels are used")
			return
		}
	}
}

// looksLikeSwitch checks raw data against the layout of sched_switch on 64-bit
// kernels: prev_comm at 8, prev_pid 24, prev_prio 28, prev_state 32, next_comm
// 40, next_pid 56, next_prio 60.
func looksLikeSwitch(raw []byte) bool {
	if len(raw) < 64 || len(raw) > 72 {
		return false
	}
	prio := func(at int) bool { p := int32(le.Uint32(raw[at:])); return p >= -1 && p < 140 }
	return le.Uint32(raw[24:]) == le.Uint32(raw[4:]) && prio(28) && prio(60) &&
		le.Uint64(raw[32:]) < 1<<12 && isComm(raw[8:24]) && isComm(raw[40:56])
}

// isComm reports whether a field holds a task's name: not empty and ended by NUL.
func isComm(b []byte) bool {
	i := bytes.IndexByte(b, 0)
	if i <= 0 {
		return false
	}
	for _, ch := range b[:i] {
		if ch < ' ' || ch == 0x7f {
			return false
		}
	}
	return true
}

// builtinFormats returns the scheduler's formats of a 64-bit kernel since 4.14
// whose sched_switch has this id. Ids are given in the order of the events in
// the kernel image.
//
// Order and layout: include/trace/events/sched.h.
func builtinFormats(switchID int, attrs []attrEntry) *wire.Tracing {
	t := &wire.Tracing{Order: le, LongSize: 8}
	s32 := func(name string, at int) wire.Field { return wire.Field{Name: name, Offset: at, Size: 4, Signed: true} }
	comm := func(name string, at int) wire.Field {
		return wire.Field{Name: name, Offset: at, Size: commBytes, Array: true}
	}
	common := []wire.Field{{Name: "common_type", Size: 2}, {Name: "common_flags", Offset: 2, Size: 1},
		{Name: "common_preempt_count", Offset: 3, Size: 1}, s32("common_pid", 4)}
	add := func(name string, id int, fields ...wire.Field) {
		for i := range attrs {
			if attrs[i].attr.Type == wire.TypeTracepoint && attrs[i].name == "sched:"+name {
				id = int(attrs[i].attr.Config)
			}
		}
		t.Formats = append(t.Formats, &wire.Format{System: "sched", Name: name, ID: id, Fields: append(common[:4:4], fields...)})
	}
	wake := []wire.Field{comm("comm", 8), s32("pid", 24), s32("prio", 28), s32("target_cpu", 32)}
	add("sched_migrate_task", switchID-1, comm("comm", 8), s32("pid", 24), s32("prio", 28), s32("orig_cpu", 32), s32("dest_cpu", 36))
	add("sched_switch", switchID, comm("prev_comm", 8), s32("prev_pid", 24), s32("prev_prio", 28),
		wire.Field{Name: "prev_state", Offset: 32, Size: 8, Signed: true}, comm("next_comm", 40), s32("next_pid", 56), s32("next_prio", 60))
	add("sched_wakeup_new", switchID+1, wake...)
	add("sched_wakeup", switchID+2, wake...)
	add("sched_waking", switchID+3, wake...)
	return t
}
