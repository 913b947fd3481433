package perfdata

import (
	"errors"
	"fmt"
	"math/bits"
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
	ix := &index{r: r, s: r.schema, swap: r.dec.swap, add: r.merge.Add}
	if err := ix.walk(); err != nil {
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
	opt := timeline.TrackerOptions{SystemWide: r.system, Wakeups: r.wakesEverywhere(), Select: r.opt.Select}
	for _, e := range r.schema.events {
		opt.Events = append(opt.Events, e.info)
	}
	return opt
}

// index walks over the record headers of a file and cuts it into runs.
type index struct {
	r    *reader
	s    *schema
	swap *wire.Swapper // nil on little-endian files
	add  func(runs []timeline.Run, safe uint64) error
	runs timeline.Runs
	top  uint64 // the largest time up to the last round
	sent int64  // where the runs begin that were not given to the order yet

	buf  []byte
	have int
	pos  int64 // of buf[0] in the file
	to   int64 // the end of the records
}

const (
	indexBlock = 256 << 10
	// giveBytes is how much of a file is given to the order at least at once,
	// so that files of many small rounds do not pay for each of them.
	giveBytes = 256 << 10
)

// walk reads the records from beginning to end. Of a recording in several
// parts nothing is safe to hand out before all of them were seen.
func (x *index) walk() error {
	x.buf = make([]byte, min(indexBlock, x.r.in.Size+2*wire.MaxRecord))
	for _, seg := range x.r.segments {
		x.pos, x.to, x.have, x.sent = seg.from, seg.to, 0, seg.from
		if err := x.segment(); err != nil {
			return err
		}
		x.runs.Cut()
		x.end()
	}
	x.r.strays, x.r.strayAt = x.runs.Strays, x.runs.StrayOff
	return x.give(^uint64(0))
}

// segment reads the records up to x.to, or to the first that is none.
func (x *index) segment() error {
	for {
		n := min(int64(len(x.buf)-x.have), x.to-x.pos-int64(x.have))
		if n > 0 {
			if err := readFull(x.r.in.R, x.buf[x.have:x.have+int(n)], x.pos+int64(x.have)); err != nil {
				return fmt.Errorf("reading at %d: %w", x.pos, err)
			}
			x.have += int(n)
		}
		used, err := x.block(x.buf[:x.have])
		if err != nil {
			return err
		}
		if x.r.badErr != nil || used == 0 && n <= 0 {
			return nil
		}
		if used > x.have { // a payload was skipped
			x.pos += int64(used)
			x.have = 0
			continue
		}
		x.have = copy(x.buf, x.buf[used:x.have])
		x.pos += int64(used)
	}
}

// end notes what is left when no further record can be read.
func (x *index) end() {
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

// block walks over the whole records of b, which stands at x.pos. It returns
// how many bytes it used; more than b has when data behind a record is skipped.
func (x *index) block(b []byte) (int, error) {
	at := 0
	timeAt := x.s.timeAt
	for len(b)-at >= wire.HeaderSize {
		size := int(le.Uint16(b[at+6:]))
		if x.swap != nil {
			size = int(bits.ReverseBytes16(uint16(size)))
		}
		if size < wire.HeaderSize {
			x.r.badAt, x.r.badErr = x.pos+int64(at), errRecordSize
			return at, nil
		}
		if size > len(b)-at {
			return at, nil
		}
		rec := b[at : at+size : at+size]
		at += size
		if x.swap != nil {
			x.swap.Record(rec)
		}
		typ := wire.Type(le.Uint32(rec))
		if typ == wire.RecSample {
			x.r.records[wire.RecSample]++
			var t uint64
			if timeAt >= 0 && timeAt+8 <= len(rec) {
				t = le.Uint64(rec[timeAt:])
			} else {
				t = x.sampleTime(rec)
			}
			if to := x.pos + int64(at); !x.runs.Add(to, t) {
				x.runs.AddSlow(to-int64(size), to, t, x.sampleCPU(rec))
			}
			continue
		}
		skip, err := x.other(typ, rec, x.pos+int64(at-size))
		if err != nil {
			return at, err
		}
		if skip > 0 {
			if at += skip; at >= len(b) {
				return at, nil
			}
		}
	}
	return at, nil
}

// sampleTime returns the time of a sample whose place depends on the event.
func (x *index) sampleTime(rec []byte) uint64 {
	e := x.s.eventOf(rec)
	if e == nil || e.layout.Time < 0 || len(rec) < e.layout.Fixed {
		return 0
	}
	return le.Uint64(rec[e.layout.Time:])
}

func (x *index) sampleCPU(rec []byte) int {
	e := x.s.eventOf(rec)
	if e == nil || e.layout.CPU < 0 || len(rec) < e.layout.Fixed || x.r.perThread {
		return -1
	}
	return int(int32(le.Uint32(rec[e.layout.CPU:])))
}

// other takes a record that is no sample. It returns how many bytes of data
// follow it.
func (x *index) other(typ wire.Type, rec []byte, off int64) (int, error) {
	x.count(typ)
	to := off + int64(len(rec))
	switch {
	case typ == wire.RecFinishedRound:
		x.runs.Cut()
		return 0, x.round(to)
	case typ == wire.RecAuxtrace, typ == wire.RecTracingData:
		x.runs.Cut()
		n := x.r.payload(typ, rec)
		return int(min(n, x.to-to+1)), nil
	case typ == wire.RecCompressed, typ == wire.RecCompressed2:
		x.runs.Cut()
		return 0, nil
	case typ == wire.RecBuildID:
		x.r.describing(typ, rec)
	case typ == wire.RecStat, typ == wire.RecStatRound:
		x.r.stat.record(typ, rec, x.s, x.r.capture, off)
	}
	if x.runs.Len() > maxRunsHeld { // no rounds in the file
		if err := x.give(0); err != nil {
			return 0, err
		}
	}
	t, cpu := x.trailer(typ, rec)
	if !x.runs.Add(to, t) {
		x.runs.AddSlow(off, to, t, cpu)
	}
	return 0, nil
}

// trailer returns time and CPU of a record that is no sample.
func (x *index) trailer(typ wire.Type, rec []byte) (t uint64, cpu int) {
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

func (x *index) count(typ wire.Type) {
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
func (x *index) round(to int64) error {
	x.r.rounds++
	safe := x.top
	x.top = x.runs.Top()
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
func (x *index) give(safe uint64) error {
	runs := x.runs.Take()
	x.r.runs += uint64(len(runs))
	return x.add(runs, safe)
}
