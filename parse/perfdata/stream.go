package perfdata

import (
	"errors"
	"fmt"
	"slices"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// reader reads one file.
type reader struct {
	*capture
	names *timeline.Names
	opt   Options

	schema  *schema
	spaces  *spaces
	dec     *decoder
	merge   *timeline.Order
	tracker *timeline.Tracker
	told    int        // events of the selected time and CPUs
	asks    *askCounts // nil: no calls that ask to wait were recorded
	target  evidence.Target
	system  bool // all tasks are traced
	stat    stat

	records [128]uint64 // by type
	odd     map[wire.Type]uint64
	rounds  uint64
	runs    uint64
	ostats  timeline.OrderStats
	strays  int
	strayAt int64
	badAt   int64 // where reading stopped at a record that is none; 0: nowhere
	badErr  error
}

// stream reads all records and runs the events through the sinks.
func (r *reader) stream() error {
	r.schema = newSchema(r.capture)
	r.spaces = newSpaces()
	r.tracker = timeline.NewTracker(r.names, r.trackerOptions())
	r.dec = newDecoder(r.capture, r.schema, r.names)
	r.dec.noSwitchRecords = r.schema.has(timeline.KindSwitch) && (r.system || r.switchesSampled())
	r.spaces.unwind = newUnwinding(r)
	r.asks = newAskCounts(r.schema)
	r.merge = timeline.NewOrder(r.dec, r.emit, timeline.OrderOptions{CPUs: r.cpus})
	w := &walker{r: r, s: r.schema, dec: r.dec, swap: r.dec.swap, in: r.merge.Intake()}
	if err := w.walk(); err != nil {
		r.merge.Abort()
		return err
	}
	var err error
	r.ostats, err = r.merge.Close()
	return err
}

// has reports whether an event of a kind is in the file.
func (s *schema) has(kind timeline.Kind) bool {
	for _, e := range s.events {
		if e.kind == kind {
			return true
		}
	}
	return false
}

// emit takes an ordered batch.
func (r *reader) emit(batch []timeline.Event) error {
	r.spaces.apply(batch)
	if r.opt.Select.ByEvent() {
		told := 0
		batch, told = r.opt.Select.Keep(batch)
		r.told += told
	}
	if r.asks != nil {
		r.asks.take(batch)
	}
	if err := r.tracker.Events(batch); err != nil {
		return err
	}
	for _, s := range r.opt.Sinks {
		if err := s.Events(batch); err != nil {
			return err
		}
	}
	return nil
}

// switchesSampled reports whether a sched_switch stands for several.
func (r *reader) switchesSampled() bool {
	return slices.ContainsFunc(r.schema.events, func(e *event) bool { return e.isSwitch() && e.info.Sampled })
}

// wakesEverywhere reports whether the wakeups of the targets are in the capture
// although other tasks are not: a target is woken by others, so that the event
// has to be open for all tasks on every CPU.
func (r *reader) wakesEverywhere() bool {
	cpus := r.host.CPUs.V
	return slices.ContainsFunc(r.schema.events, func(e *event) bool {
		ids := r.attrs[e.index].ids
		if e.kind != timeline.KindWaking && e.kind != timeline.KindWakeup || len(ids) == 0 || len(ids) < cpus {
			return false
		}
		return !slices.ContainsFunc(ids, func(id uint64) bool { return !r.everyTask[id] })
	})
}

func (r *reader) trackerOptions() timeline.TrackerOptions {
	opt := timeline.TrackerOptions{SystemWide: r.system, Wakeups: r.wakesEverywhere(), Select: r.opt.Select, Watch: r.opt.Watch}
	for _, e := range r.schema.events {
		opt.Events = append(opt.Events, e.info)
	}
	return opt
}

// walker goes over the records of a file, from the first to the last. It cuts
// them into runs and decodes them into the order's memory.
type walker struct {
	r    *reader
	s    *schema
	dec  *decoder
	swap *wire.Swapper // nil on little-endian files
	in   *timeline.Intake
	dst  []timeline.Event // where to decode to; nil: nothing is decoded now
	last uint64           // the time of the record before
	top  uint64           // the largest time up to the last round
	sent int64            // where the runs begin that were not given to the order yet

	pos int64 // of the bytes at work in the file
	to  int64 // the end of the records
}

const (
	walkBlock = 256 << 10
	// giveBytes is how much of a file is given to the order at least at once,
	// so that files of many small rounds do not pay for each of them.
	giveBytes = 256 << 10
)

// walk reads the records from beginning to end. Of a recording in several
// parts nothing is safe to hand out before all of them were seen.
func (x *walker) walk() error {
	for _, seg := range x.r.segments {
		x.pos, x.to, x.sent = seg.from, seg.to, seg.from
		if err := x.segment(); err != nil {
			return err
		}
		x.in.Cut()
		x.end()
	}
	err := x.give(^uint64(0))
	x.r.strays, x.r.strayAt = x.in.Strays, x.in.StrayOff
	return err
}

// segment reads the records up to x.to, or to the first that is none.
func (x *walker) segment() error {
	for x.pos < x.to {
		skipped, err := x.stretch()
		if !skipped || err != nil {
			return err
		}
	}
	return nil
}

// stretch reads the records from x.pos on, up to the end, or to a payload that
// reaches beyond what has been read.
func (x *walker) stretch() (skipped bool, err error) {
	in := readAhead(x.r.in.R, x.pos, x.to, walkBlock)
	defer in.close()
	var b aheadBlock
	var data []byte
	for {
		var ok bool
		if b, data, ok = in.next(b, data); !ok || b.err != nil {
			return false, b.err
		}
		x.in.Serve()
		used, err := x.block(data)
		if err != nil || x.r.badErr != nil {
			return false, err
		}
		x.pos += int64(used)
		if used > len(data) {
			return true, nil
		}
		data = data[used:]
	}
}

// end notes what is left when no further record can be read.
func (x *walker) end() {
	left := x.to - x.pos
	switch {
	case x.r.badErr != nil:
		x.r.cut(fmt.Sprintf("reading stopped at byte %d of %d: %v", x.r.badAt, x.r.in.Size, x.r.badErr))
	case left > 0:
		x.r.cut(fmt.Sprintf("the last record, at byte %d, is cut", x.pos))
	case left < 0:
		x.r.cut("the file ends within data that follows a record")
	}
	x.r.badErr = nil
}

var errRecordSize = errors.New("a record smaller than its own header")

// block goes over the whole records of b, which stands at x.pos. It returns
// how many bytes it used; more than b has when data behind a record is skipped.
func (x *walker) block(b []byte) (int, error) {
	at := 0
	for {
		if x.swap == nil {
			at = x.samples(b, at)
		}
		if len(b)-at < wire.HeaderSize {
			return at, nil
		}
		size := int(x.dec.u16(b[at+6:]))
		if size < wire.HeaderSize {
			x.r.badAt, x.r.badErr = x.pos+int64(at), errRecordSize
			return at, nil
		}
		if size > len(b)-at {
			return at, nil
		}
		skip, err := x.record(b[at:at+size:at+size], x.pos+int64(at))
		if at += size + skip; err != nil || at >= len(b) {
			return at, err
		}
	}
}

// samples goes over the samples of b from at on, as long as they are as nearly
// all of them are: of a known event, a little later than the one before. It
// returns where another record stands, and is the hot loop of the reader.
func (x *walker) samples(b []byte, at int) int {
	s, d, in, pos := x.s, x.dec, x.in, x.pos
	only, idAt, timeAt := s.only, s.idAt, s.timeAt
	if timeAt < 0 || only == nil && idAt < 0 {
		return at
	}
	need := max(wire.HeaderSize, idAt+8, timeAt+8)
	dst, n := x.dst, uint64(0)
	for len(b)-at >= wire.HeaderSize {
		head := le.Uint64(b[at:]) // type u32, misc u16, size u16
		size := int(head >> 48)
		if wire.Type(head) != wire.RecSample || size < need || size > len(b)-at {
			break
		}
		rec := b[at : at+size : at+size]
		e := only
		if e == nil {
			i := le.Uint64(rec[idAt:]) - s.base
			if i >= uint64(len(s.dense)) {
				break
			}
			if e = s.dense[i]; e == nil {
				break
			}
		}
		t, off := le.Uint64(rec[timeAt:]), pos+int64(at)
		if !in.Add(off+int64(size), t) {
			break
		}
		n++
		at += size
		switch {
		case dst == nil:
			continue
		case e.kind == timeline.KindNone && size >= e.layout.Fixed:
			d.count(e, t)
			x.last = t
			continue
		}
		if dst = d.sample(e, rec, off, &x.last, dst); len(dst) == cap(dst) {
			dst = in.Next(dst, off+int64(size), x.last)
		}
	}
	x.dst = dst
	x.r.records[wire.RecSample] += n
	return at
}

// record takes any record. It returns how many bytes of data follow it.
func (x *walker) record(rec []byte, off int64) (skip int, err error) {
	if x.swap != nil {
		x.swap.Record(rec)
	}
	if typ := wire.Type(le.Uint32(rec)); typ != wire.RecSample {
		return x.other(typ, rec, off)
	}
	x.r.records[wire.RecSample]++
	e := x.s.eventOf(rec)
	x.add(rec, off, sampleTime(e, rec), x.sampleCPU(e, rec))
	return 0, nil
}

// add takes a record with its time and CPU.
func (x *walker) add(rec []byte, off int64, t uint64, cpu int) {
	to := off + int64(len(rec))
	switch {
	case !x.in.Add(to, t):
		x.dst = x.in.Slow(rec, off, t, cpu, &x.last, x.dst, x.dec.record)
	case x.dst != nil:
		if x.dst = x.dec.record(rec, off, &x.last, x.dst); len(x.dst) == cap(x.dst) {
			x.dst = x.in.Next(x.dst, to, x.last)
		}
	}
}

// sampleTime returns the time of a sample whose place depends on the event.
func sampleTime(e *event, rec []byte) uint64 {
	if e == nil || e.layout.Time < 0 || len(rec) < e.layout.Fixed {
		return 0
	}
	return le.Uint64(rec[e.layout.Time:])
}

func (x *walker) sampleCPU(e *event, rec []byte) int {
	if e == nil || e.layout.CPU < 0 || len(rec) < e.layout.Fixed || x.r.perThread {
		return -1
	}
	return int(int32(le.Uint32(rec[e.layout.CPU:])))
}

// other takes a record that is no sample. It returns how many bytes of data
// follow it.
func (x *walker) other(typ wire.Type, rec []byte, off int64) (int, error) {
	x.count(typ)
	to := off + int64(len(rec))
	switch {
	case typ == wire.RecFinishedRound:
		x.in.Cut()
		return 0, x.round(to)
	case typ == wire.RecAuxtrace, typ == wire.RecTracingData:
		x.in.Cut()
		n := x.r.payload(typ, rec)
		return int(min(n, x.to-to+1)), nil
	case typ == wire.RecCompressed, typ == wire.RecCompressed2:
		x.in.Cut()
		return 0, nil
	case typ == wire.RecBuildID:
		x.r.describing(typ, rec)
	case typ == wire.RecStat, typ == wire.RecStatRound:
		x.r.stat.record(typ, rec, x.s, x.r.capture, off)
	}
	if x.in.Len() > maxRunsHeld { // no rounds in the file
		if err := x.give(0); err != nil {
			return 0, err
		}
	}
	t, cpu := x.trailer(typ, rec)
	x.add(rec, off, t, cpu)
	return 0, nil
}

// trailer returns time and CPU of a record that is no sample.
func (x *walker) trailer(typ wire.Type, rec []byte) (t uint64, cpu int) {
	if !typ.Kernel() {
		return 0, -1
	}
	tr, e := x.s.trailerOf(rec)
	if e == nil || len(rec) < wire.HeaderSize+tr.Size {
		return 0, -1
	}
	if tr.Time != 0 {
		t = le.Uint64(rec[len(rec)+tr.Time:])
	}
	if cpu = -1; tr.CPU != 0 && !x.r.perThread {
		cpu = int(int32(le.Uint32(rec[len(rec)+tr.CPU:])))
	}
	return t, cpu
}

func (x *walker) count(typ wire.Type) {
	if int(typ) < len(x.r.records) {
		x.r.records[typ]++
		return
	}
	if x.r.odd == nil {
		x.r.odd = map[wire.Type]uint64{}
	}
	if len(x.r.odd) < 256 {
		x.r.odd[typ]++
	}
}

// round ends a round: all events up to the end of the one before are there.
//
// perf drains one buffer after the other, so that a round may hold events that
// are older than the newest of the round before, but none older than the newest
// of the one before that (perf_event__process_finished_round and the comment on
// it in tools/perf/util/session.c).
func (x *walker) round(to int64) error {
	x.r.rounds++
	safe := x.top
	x.top = x.in.Top()
	if to-x.sent < giveBytes {
		return nil
	}
	x.sent = to
	if len(x.r.segments) > 1 {
		safe = 0
	}
	return x.give(safe)
}

// maxRunsHeld is how many runs are collected without a round.
const maxRunsHeld = 1 << 14

// give hands the runs over.
func (x *walker) give(safe uint64) error {
	x.in.Keep(x.dst)
	x.in.Cut()
	x.r.runs += uint64(x.in.Len())
	err := x.in.Give(safe)
	x.dst = x.in.Buffer()
	return err
}
