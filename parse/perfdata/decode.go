package perfdata

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// kindMap is the reader's own kind of event: memory was mapped. Its fields are
// used for other things than their names say; see mapEvent.
const kindMap = timeline.Kind(200)

// Bits of common_flags. Source: enum trace_flag_type in the kernel's
// include/linux/trace_events.h.
const (
	traceHardIRQ = 0x08
	traceSoftIRQ = 0x10
)

// of returns the state that a value of prev_state stands for. A value of 0 is
// R; with the preempt bit the task was still runnable whatever else is set.
func (t *states) of(v uint64) evidence.State {
	if v == 0 {
		return evidence.StateR
	}
	if v&t.preempt != 0 {
		return evidence.StateRPlus
	}
	v &= t.mask
	if v == 0 {
		return evidence.StateUnknown
	}
	s := t.byBit[bits.TrailingZeros64(v)]
	if v&t.noload != 0 && s == evidence.StateD {
		return evidence.StateI
	}
	return s
}

// decoder turns records into events. It is the timeline.Decoder of a file, and
// belongs to the goroutine of the order.
type decoder struct {
	in     io.ReaderAt
	schema *schema
	comms  comms
	chains *chains
	paths  *paths
	drops  drops
	swap   *wire.Swapper // nil on little-endian files

	noSwitchRecords bool // sched_switch tells the same, of both tasks of a switch

	buf      []byte
	perEvent int // bytes a file needs for an event, about
	lost     uint64
	first    uint64
	last     uint64
	lostSamp uint64
}

func newDecoder(c *capture, s *schema, names *timeline.Names) *decoder {
	return &decoder{in: c.in.R, schema: s, comms: comms{names: names}, chains: newChains(), paths: &paths{},
		swap: s.swapper(c.order, c.formats()), perEvent: 96}
}

// Sizes of the block that Decode reads.
const (
	minBlock = 4 << 10
	maxBlock = 64 << 10
)

// Decode implements timeline.Decoder.
func (d *decoder) Decode(from, to int64, last *uint64, dst []timeline.Event) ([]timeline.Event, int64, error) {
	room := cap(dst) - len(dst)
	want := min(max(room*d.perEvent, minBlock), maxBlock)
	block, err := d.read(from, to, want)
	if err != nil {
		return dst, from, err
	}
	had := len(dst)
	at := 0
	for len(block)-at >= wire.HeaderSize && len(dst) < cap(dst) {
		size := int(d.u16(block[at+6:]))
		if size > len(block)-at {
			if at > 0 {
				break
			}
			if block, err = d.read(from, to, size); err != nil {
				return dst, from, err
			}
			if size > len(block) {
				return dst, to, nil
			}
		}
		if size < wire.HeaderSize {
			return dst, to, nil
		}
		rec := block[at : at+size : at+size]
		if d.swap != nil {
			d.swap.Record(rec)
		}
		dst = d.record(rec, from+int64(at), last, dst)
		at += size
	}
	if len(block)-at < wire.HeaderSize && from+int64(len(block)) >= to {
		return dst, to, nil
	}
	if n := len(dst) - had; n > 0 && at > minBlock {
		d.perEvent = (7*d.perEvent + at/n + 8) / 8
	}
	return dst, from + int64(at), nil
}

// u16 reads the size of a record that has not been turned round yet.
func (d *decoder) u16(b []byte) uint16 {
	if d.swap != nil {
		return bits.ReverseBytes16(le.Uint16(b))
	}
	return le.Uint16(b)
}

// read returns up to want bytes from from on, none beyond to.
func (d *decoder) read(from, to int64, want int) ([]byte, error) {
	n := int(min(int64(want), to-from))
	if n > len(d.buf) {
		d.buf = make([]byte, n+n/4)
	}
	b := d.buf[:n]
	if err := readFull(d.in, b, from); err != nil {
		return nil, err
	}
	return b, nil
}

// record appends the event of a record, if it is one. It is in the order of
// bytes of this program's files: little-endian.
func (d *decoder) record(rec []byte, off int64, last *uint64, dst []timeline.Event) []timeline.Event {
	if wire.Type(le.Uint32(rec)) == wire.RecSample {
		return d.sample(d.schema.eventOf(rec), rec, off, last, dst)
	}
	return d.other(rec, off, last, dst)
}

var (
	errNoEvent  = errors.New("sample of an event that the file does not describe")
	errShortRec = errors.New("record shorter than its fields")
	errRaw      = errors.New("raw data shorter than its fields, or longer than the sample")
	errTime     = errors.New("time beyond all sense")
	errCPU      = fmt.Errorf("CPU number above %d", maxCPU)
)

// sample decodes a sample of an event: nil when the file does not describe it.
// Every field is at an offset that was computed beforehand.
func (d *decoder) sample(e *event, rec []byte, off int64, last *uint64, dst []timeline.Event) []timeline.Event {
	if e == nil {
		d.drops.add(off, errNoEvent)
		return dst
	}
	if e.hot == nil {
		return d.anySample(e, rec, off, last, dst)
	}
	n := len(dst)
	dst = dst[:n+1]
	t := d.hot(e.hot, rec, off, &dst[n])
	if t == 0 {
		return d.anySample(e, rec, off, last, dst[:n])
	}
	d.count(e, t)
	*last = t
	if e.kind == timeline.KindWakeup && n > 0 && join(&dst[n-1], &dst[n]) {
		return dst[:n]
	}
	return dst
}

// anySample decodes a sample of any event.
func (d *decoder) anySample(e *event, rec []byte, off int64, last *uint64, dst []timeline.Event) []timeline.Event {
	l := &e.layout
	if len(rec) < l.Fixed {
		d.drops.add(off, errShortRec)
		return dst
	}
	e.samples++
	if !d.timeOf(e, rec, off, last) || e.kind == timeline.KindNone {
		return dst
	}
	cpu := int32(-1)
	if l.CPU >= 0 {
		if cpu = int32(le.Uint32(rec[l.CPU:])); uint32(cpu) >= maxCPU {
			d.drops.add(off, errCPU)
			return dst
		}
	}
	n := len(dst)
	dst = dst[:n+1]
	ev := &dst[n]
	*ev = timeline.Event{} // a literal with the fields would be built elsewhere and copied
	ev.Time, ev.Off, ev.CPU, ev.Event, ev.Kind = *last, off, cpu, e.index, e.kind
	switch e.kind {
	case timeline.KindSample:
		d.clockSample(e, rec, ev)
	case kindAsk:
		if !d.ask(e, rec, ev) {
			return dst[:n]
		}
		return dst
	case kindOffCPU:
		if !d.offCPU(e, rec, ev) {
			return dst[:n]
		}
		return dst
	default:
		if !d.tracepoint(e, rec, off, ev) {
			return dst[:n]
		}
	}
	if e.info.Chains {
		ev.Stack = d.chain(e, rec, off)
	}
	return dst
}

// timeOf takes the time of a sample, if it has one. It reports false for one
// that is dropped, as its time makes no sense.
func (d *decoder) timeOf(e *event, rec []byte, off int64, last *uint64) bool {
	if e.layout.Time < 0 {
		return true
	}
	t := le.Uint64(rec[e.layout.Time:])
	if t >= timeline.MaxTime {
		if !e.atEnd(rec) {
			d.drops.add(off, errTime)
			return false
		}
		t = 0
	}
	if t != 0 {
		*last = t
	}
	d.seen(t)
	return true
}

// count counts a sample with a time.
func (d *decoder) count(e *event, t uint64) {
	e.samples++
	d.seen(t)
}

// seen widens the span of the recording, when a time is outside of it.
func (d *decoder) seen(t uint64) {
	if t-d.first > d.last-d.first {
		d.widen(t)
	}
}

func (d *decoder) widen(t uint64) {
	if t == 0 {
		return
	}
	if d.first == 0 || t < d.first {
		d.first = t
	}
	d.last = max(d.last, t)
}

// clockSample takes who ran when a clock, a counter or a software event fired.
func (d *decoder) clockSample(e *event, rec []byte, ev *timeline.Event) {
	l := &e.layout
	ev.TID = -1
	if l.TID >= 0 {
		ev.PID, ev.TID = int32(le.Uint32(rec[l.TID:])), int32(le.Uint32(rec[l.TID+4:]))
		if ev.PID >= 0 {
			ev.Flags |= timeline.FlagHasPID
		}
	}
	switch {
	case l.Period >= 0:
		ev.Arg = le.Uint64(rec[l.Period:])
	case e.attr.Has(wire.FlagFreq):
		ev.Arg = 1
	default:
		ev.Arg = e.attr.Period
	}
}

// tracepoint takes the fields of a scheduler tracepoint. It reports false for
// a sample that is dropped.
//
// Here and in what it calls, nothing is read of the event that is being made:
// its memory is on its way into the cache, and a read would wait for it.
func (d *decoder) tracepoint(e *event, rec []byte, off int64, ev *timeline.Event) bool {
	raw, ok := e.raw(rec)
	if !ok {
		d.drops.add(off, errRaw)
		return false
	}
	f := &e.f
	var flags uint8
	if f.flags >= 0 && raw[f.flags]&(traceHardIRQ|traceSoftIRQ) != 0 {
		flags = timeline.FlagIRQ
	}
	pid := int32(le.Uint32(raw[f.pid:]))
	tid := int32(-1) // whom the sample's own ids are about
	if e.layout.TID >= 0 {
		tid = int32(le.Uint32(rec[e.layout.TID+4:]))
	}
	task := pid
	if e.kind == timeline.KindSwitch {
		d.switched(e, raw, pid, ev)
	} else {
		if f.success >= 0 && le.Uint32(raw[f.success:]) == 0 {
			return false
		}
		if task = tid; f.current >= 0 {
			task = int32(le.Uint32(raw[f.current:]))
		}
		d.woken(e, raw, pid, ev)
	}
	ev.TID = task
	if tid == task && e.layout.TID >= 0 { // in a PID namespace of the recorder the sample's ids are others
		own := int32(le.Uint32(rec[e.layout.TID:]))
		ev.PID = own
		if own >= 0 {
			flags |= timeline.FlagHasPID
		}
	}
	ev.Flags = flags
	return true
}

func (d *decoder) switched(e *event, raw []byte, pid int32, ev *timeline.Event) {
	f := &e.f
	next := int32(le.Uint32(raw[f.otherPID:]))
	ev.Other = next
	ev.State = e.states.of(e.prevState(raw))
	if f.comm >= 0 && f.otherComm >= 0 {
		ev.Comm = d.comms.id(pid, raw[f.comm:f.comm+commBytes])
		ev.OtherComm = d.comms.id(next, raw[f.otherComm:f.otherComm+commBytes])
	}
}

// woken takes a wakeup or a migration: of whom, to where.
func (d *decoder) woken(e *event, raw []byte, pid int32, ev *timeline.Event) {
	f := &e.f
	ev.Other = pid
	if f.comm >= 0 {
		ev.OtherComm = d.comms.id(pid, raw[f.comm:f.comm+commBytes])
	}
	var arg uint64
	if f.cpu >= 0 {
		arg = uint64(le.Uint32(raw[f.cpu:]))
	}
	if f.toCPU >= 0 {
		arg = arg<<32 | uint64(le.Uint32(raw[f.toCPU:]))
	}
	ev.Arg = arg
}

// chain interns the call chain of a sample.
func (d *decoder) chain(e *event, rec []byte, off int64) uint32 {
	at, nr, err := e.layout.Chain(rec)
	if err != nil {
		d.drops.add(off, fmt.Errorf("call chain: %w", err))
		return 0
	}
	return d.chains.of(e, rec, at+8, nr)
}
