package perfdata

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

var le = binary.LittleEndian

// maxCPU is more than any kernel has (NR_CPUS is at most 8192).
const maxCPU = 1 << 16

// event is one event of the file, prepared for decoding: what its samples
// become and where in them the fields are.
type event struct {
	index  uint16
	attr   wire.Attr
	layout wire.Layout
	info   timeline.EventInfo
	kind   timeline.Kind // KindNone: its samples are counted and nothing else
	skip   string        // why, when it is a scheduler event that can't be decoded

	rawAt  int // where the raw data begins in every sample; None when that varies
	rawMin int // how much of it the fields need
	f      fields
	states *states
	hot    *hotPlan // nil: its samples take the long way
	ask    *askPlan // of kindAsk

	deferred *deferred // the user parts of call chains; nil: they are in the samples

	samples uint64
}

// fields are offsets in the raw data of a scheduler tracepoint; None: not there.
type fields struct {
	flags      int // common_flags u8
	current    int // common_pid s32
	pid        int // prev_pid, or pid
	comm       int // prev_comm, or comm: 16 bytes
	otherPID   int // next_pid
	otherComm  int // next_comm
	state      int // prev_state
	state64    bool
	cpu, toCPU int // target_cpu; orig_cpu and dest_cpu
	success    int // of wakeups before 4.14: 0 means that nobody was woken
}

// isSwitch reports whether the event is sched_switch.
func (e *event) isSwitch() bool { return e.kind == timeline.KindSwitch }

// schema finds the event of a record and the places that all events share.
type schema struct {
	events []*event
	only   *event // when there is just one

	idAt    int // where samples have their id; None: they have none
	base    uint64
	dense   []*event // by id-base
	sparse  map[uint64]*event
	byType  map[uint16]*event // tracepoints by their common_type, for files without ids
	timeAt  int               // where all samples have their time; None: it varies, or none has
	cpuAt   int
	trailer wire.Trailer // of all records; see trailerOf
	mixed   bool         // trailers vary by event
}

// newSchema prepares the events.
func newSchema(c *capture) *schema {
	s := &schema{idAt: wire.None, timeAt: wire.None, cpuAt: wire.None, sparse: map[uint64]*event{}, byType: map[uint16]*event{}}
	formats := map[uint64]*wire.Format{}
	for _, f := range c.formats() {
		if _, have := formats[uint64(f.ID)]; !have || f.System == "sched" {
			formats[uint64(f.ID)] = f
		}
	}
	for i := range c.attrs {
		e := newEvent(i, &c.attrs[i], formats)
		if e.states != nil && c.highStates {
			e.states = e.states.high()
			e.planHot()
		}
		e.deferred = c.deferred
		s.events = append(s.events, e)
	}
	if len(s.events) == 0 {
		return s
	}
	first := s.events[0]
	s.idAt, s.timeAt, s.cpuAt, s.trailer = first.layout.ID, first.layout.Time, first.layout.CPU, first.layout.Trailer
	if len(s.events) == 1 {
		s.only = first
	}
	for _, e := range s.events {
		if e.layout.Time != s.timeAt || e.layout.CPU != s.cpuAt {
			s.timeAt, s.cpuAt = wire.None, wire.None
		}
		if e.layout.Trailer != s.trailer {
			s.mixed = true
		}
		if e.attr.Type == wire.TypeTracepoint && e.layout.Has(wire.SampleRaw) {
			s.byType[uint16(e.attr.Config)] = e
		}
	}
	s.indexIDs(c)
	return s
}

// maxDense bounds the table of ids; the kernel gives them in sequence.
const maxDense = 1 << 16

func (s *schema) indexIDs(c *capture) {
	lo, hi := ^uint64(0), uint64(0)
	for i := range c.attrs {
		for _, id := range c.attrs[i].ids {
			lo, hi = min(lo, id), max(hi, id)
		}
	}
	if hi >= lo && hi-lo < maxDense {
		s.base, s.dense = lo, make([]*event, hi-lo+1)
	}
	for i := range c.attrs {
		for _, id := range c.attrs[i].ids {
			if s.dense != nil {
				s.dense[id-s.base] = s.events[i]
			} else {
				s.sparse[id] = s.events[i]
			}
		}
	}
}

// eventOf returns the event of a sample; nil when it can't be told.
func (s *schema) eventOf(rec []byte) *event {
	if s.only != nil {
		return s.only
	}
	if s.idAt < 0 {
		return s.eventByType(rec)
	}
	if len(rec) < s.idAt+8 {
		return nil
	}
	return s.eventByID(le.Uint64(rec[s.idAt:]))
}

func (s *schema) eventByID(id uint64) *event {
	if i := id - s.base; i < uint64(len(s.dense)) {
		return s.dense[i]
	}
	return s.sparse[id]
}

// eventByType serves files of several events without ids (perf before 2.6.36):
// their samples are all laid out alike, and tracepoints name themselves.
func (s *schema) eventByType(rec []byte) *event {
	if len(s.events) == 0 {
		return nil
	}
	first := s.events[0]
	if !first.layout.Has(wire.SampleRaw) {
		return first
	}
	off, n, err := first.layout.Raw(rec)
	if err != nil || n < 2 {
		return nil
	}
	return s.byType[le.Uint16(rec[off:])]
}

// trailerOf returns the trailer of a record that is no sample, and the event
// it belongs to, nil for records that perf made up.
func (s *schema) trailerOf(rec []byte) (wire.Trailer, *event) {
	if s.only != nil {
		return s.trailer, s.only
	}
	if s.trailer.ID == 0 || len(rec) < wire.HeaderSize-s.trailer.ID {
		return s.trailer, nil
	}
	e := s.eventByID(le.Uint64(rec[len(rec)+s.trailer.ID:]))
	if s.mixed && e != nil {
		return e.layout.Trailer, e
	}
	return s.trailer, e
}

// newEvent prepares one event.
func newEvent(i int, a *attrEntry, formats map[uint64]*wire.Format) *event {
	e := &event{index: uint16(i), attr: a.attr, layout: wire.NewLayout(&a.attr), rawAt: wire.None}
	e.info = timeline.EventInfo{Name: a.name, Kind: evidence.StackOther, Sampled: a.attr.Sampled(), Chains: e.layout.Has(wire.SampleCallchain)}
	switch a.attr.Type {
	case wire.TypeTracepoint:
		e.planTracepoint(formats[a.attr.Config])
	case wire.TypeSoftware:
		e.planSoftware()
	case wire.TypeHardware:
		e.planHardware()
	default:
		if isCycles(a.name) {
			e.kind, e.info.Kind = timeline.KindSample, evidence.StackCPU
		}
	}
	return e
}

func (e *event) planSoftware() {
	switch e.attr.Config {
	case wire.SWCPUClock, wire.SWTaskClock:
		e.kind, e.info.Kind = timeline.KindSample, evidence.StackCPU
		e.info.Sampled = true
	case wire.SWContextSwitches:
		e.kind, e.info.Kind = timeline.KindSample, evidence.StackSwitch
		e.info.Switches = true
	case wire.SWBPFOutput:
		if e.info.Name == offCPUEvent {
			e.planOffCPU()
		}
	}
}

func (e *event) planHardware() {
	switch uint32(e.attr.Config) { // the upper half names the PMU on hybrid machines
	case wire.HWCycles, wire.HWInstructions, wire.HWRefCycles, wire.HWBusCycles:
		e.kind, e.info.Kind = timeline.KindSample, evidence.StackCPU
		e.info.Sampled = true
	}
}

// isCycles reports whether the name of a PMU's own event is one that counts
// time on the CPU: cpu_core/cycles/, ibs_op//, cycles:P.
func isCycles(name string) bool {
	return strings.Contains(name, "cycles") || strings.HasPrefix(name, "ibs_op")
}

// planTracepoint prepares a tracepoint. Only those of the scheduler become
// events.
func (e *event) planTracepoint(f *wire.Format) {
	if f == nil {
		return
	}
	name := f.System + ":" + f.Name
	if e.info.Name == "" || f.System == "sched" {
		e.info.Name = name
	}
	kind, ok := schedKinds[name]
	if !ok {
		if !e.planAsk(f) {
			return
		}
		e.info.Name = name
		return
	}
	if !e.layout.Has(wire.SampleRaw) {
		e.skip = "recorded without raw data (perf record -R)"
		return
	}
	p := planner{f: f}
	p.common(e)
	switch kind {
	case timeline.KindSwitch:
		e.info.Kind = evidence.StackSwitch
		p.switches(e)
	case timeline.KindMigrate:
		p.task(e)
		e.f.cpu, e.f.toCPU = p.int32("orig_cpu"), p.int32("dest_cpu")
	default:
		p.task(e)
		e.f.cpu = p.optional("target_cpu", 4)
		e.f.success = p.optional("success", 4)
	}
	if p.missing != "" {
		e.skip = fmt.Sprintf("its format has no usable field %s", p.missing)
		return
	}
	e.kind, e.rawMin = kind, p.need
	if size, fixed := e.layout.FixedRead(); fixed && !e.layout.Has(wire.SampleCallchain) {
		e.rawAt = e.layout.Fixed + size + 4
	}
	e.planHot()
}

var schedKinds = map[string]timeline.Kind{
	"sched:sched_switch":       timeline.KindSwitch,
	"sched:sched_waking":       timeline.KindWaking,
	"sched:sched_wakeup":       timeline.KindWakeup,
	"sched:sched_wakeup_new":   timeline.KindWakeupNew,
	"sched:sched_migrate_task": timeline.KindMigrate,
}

// planner takes fields from a format, and notes which it wanted and how much
// raw data they need.
type planner struct {
	f       *wire.Format
	missing string
	need    int
}

// optional returns the offset of a field of a certain size, or None.
func (p *planner) optional(name string, size int) int {
	f, ok := p.f.Field(name)
	if !ok || f.Size != size || f.DataLoc {
		return wire.None
	}
	p.need = max(p.need, f.Offset+f.Size)
	return f.Offset
}

func (p *planner) wanted(name string, size int) int {
	off := p.optional(name, size)
	if off < 0 && p.missing == "" {
		p.missing = name
	}
	return off
}

func (p *planner) int32(name string) int { return p.wanted(name, 4) }

// commBytes is TASK_COMM_LEN; a comm of another size is not read.
const commBytes = 16

func (p *planner) common(e *event) {
	e.f = fields{state: wire.None, otherPID: wire.None, otherComm: wire.None, cpu: wire.None, toCPU: wire.None, success: wire.None}
	e.f.flags = p.optional("common_flags", 1)
	e.f.current = p.optional("common_pid", 4)
}

func (p *planner) task(e *event) {
	e.f.pid = p.int32("pid")
	e.f.comm = p.optional("comm", commBytes)
}

func (p *planner) switches(e *event) {
	e.f.pid, e.f.otherPID = p.int32("prev_pid"), p.int32("next_pid")
	e.f.comm, e.f.otherComm = p.optional("prev_comm", commBytes), p.optional("next_comm", commBytes)
	if e.f.state = p.optional("prev_state", 8); e.f.state >= 0 {
		e.f.state64 = true
	} else {
		e.f.state = p.int32("prev_state")
	}
	flags, ok := wire.ParseStates(p.f.PrintFmt)
	if !ok {
		flags = wire.StatesModern()
	}
	e.states = newStates(flags)
}

// raw returns the raw data of a sample when it holds all that the event needs.
func (e *event) raw(rec []byte) ([]byte, bool) {
	if e.rawAt >= 0 {
		if len(rec) < e.rawAt+e.rawMin {
			return nil, false
		}
		n := int(le.Uint32(rec[e.rawAt-4:]))
		if uint(n) > uint(len(rec)-e.rawAt) || n < e.rawMin {
			return nil, false
		}
		return rec[e.rawAt : e.rawAt+n], true
	}
	off, n, err := e.layout.Raw(rec)
	if err != nil || n < e.rawMin {
		return nil, false
	}
	return rec[off : off+n], true
}

// states turns values of prev_state into states.
type states struct {
	preempt uint64
	mask    uint64
	byBit   [64]evidence.State
	noload  uint64 // N of 4.2-4.13: with D it marks an idle kernel thread
}

func newStates(s wire.States) *states {
	t := &states{preempt: s.Preempt}
	for _, f := range s.Flags {
		t.mask |= f.Bit
		t.byBit[bits.TrailingZeros64(f.Bit)] = stateOf(f.Letter)
		if f.Letter == 'N' {
			t.noload = f.Bit
		}
	}
	return t
}

// high returns the states of a kernel that stores all of them one bit too
// high. Its mark of preempted tasks is the one that idle kernel threads have
// there: neither is known.
func (t *states) high() *states {
	h := &states{mask: t.mask<<1 | 1}
	h.byBit[0] = evidence.StateR
	copy(h.byBit[1:], t.byBit[:])
	if i := bits.TrailingZeros64(t.preempt); i < len(h.byBit) {
		h.byBit[i] = evidence.StateUnknown
	}
	return h
}

// prevState returns the value of prev_state.
func (e *event) prevState(raw []byte) uint64 {
	if e.f.state64 {
		return le.Uint64(raw[e.f.state:])
	}
	return uint64(le.Uint32(raw[e.f.state:]))
}

// stateOf maps a letter of the kernel's to a state. Those of older kernels
// that have no state here (W waking, K wakekill, N noload) mean blocked, too.
func stateOf(letter byte) evidence.State {
	switch letter {
	case 'S':
		return evidence.StateS
	case 'D':
		return evidence.StateD
	case 'T':
		return evidence.StateT
	case 't':
		return evidence.StateTraced
	case 'X', 'x':
		return evidence.StateX
	case 'Z':
		return evidence.StateZ
	case 'P':
		return evidence.StateP
	case 'I':
		return evidence.StateI
	case 'W', 'K', 'N':
		return evidence.StateOther
	}
	return evidence.StateUnknown
}

// swapper returns what turns the records of a big-endian file round; nil for
// the others.
func (s *schema) swapper(o binary.ByteOrder, formats []*wire.Format) *wire.Swapper {
	if o != binary.ByteOrder(binary.BigEndian) || len(s.events) == 0 {
		return nil
	}
	fields := map[*wire.Layout][]wire.Field{}
	for _, e := range s.events {
		for _, f := range formats {
			if e.attr.Type == wire.TypeTracepoint && e.attr.Config == uint64(f.ID) {
				fields[&e.layout] = f.Fields
			}
		}
	}
	return &wire.Swapper{
		IDAt: s.idAt,
		LayoutOf: func(rec []byte) *wire.Layout {
			if e := s.eventOf(rec); e != nil {
				return &e.layout
			}
			return nil
		},
		Trailer: func(rec []byte) wire.Trailer {
			if s.mixed && s.trailer.ID != 0 && len(rec) >= wire.HeaderSize-s.trailer.ID {
				if e := s.eventByID(bits.ReverseBytes64(le.Uint64(rec[len(rec)+s.trailer.ID:]))); e != nil {
					return e.layout.Trailer
				}
			}
			return s.trailer
		},
		Fields: func(l *wire.Layout) []wire.Field { return fields[l] },
	}
}
