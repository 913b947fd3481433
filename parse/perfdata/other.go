package perfdata

import (
	"bytes"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// other appends the event of a record that is no sample, if it is one.
//
// Layouts: the comments on enum perf_event_type in include/uapi/linux/perf_event.h.
func (d *decoder) other(rec []byte, off int64, last *uint64, dst []timeline.Event) []timeline.Event {
	typ := wire.Type(le.Uint32(rec))
	need, ok := bodySize[typ]
	if !ok {
		return dst
	}
	t, e := d.schema.trailerOf(rec)
	end := len(rec) - t.Size
	if end < wire.HeaderSize+need {
		d.drops.add(off, errShortRec)
		return dst
	}
	ev := timeline.Event{Off: off, CPU: -1}
	if e != nil {
		d.identify(rec, t, e, last, &ev)
	}
	ev.Time = *last
	if !d.fill(typ, rec, end, t, &ev) {
		return dst
	}
	return append(dst, ev)
}

// bodySize is what the fixed fields of the records that become events need,
// without header and trailer.
var bodySize = map[wire.Type]int{
	wire.RecMmap: 32, wire.RecMmap2: 64, wire.RecComm: 8, wire.RecFork: 24, wire.RecExit: 24,
	wire.RecLost: 16, wire.RecLostSamples: 8, wire.RecSwitch: 0, wire.RecSwitchCPUWide: 8, wire.RecKsymbol: 16,
}

// identify takes time and CPU from the trailer.
func (d *decoder) identify(rec []byte, t wire.Trailer, e *event, last *uint64, ev *timeline.Event) {
	ev.Event = e.index
	if t.Time != 0 {
		if at := le.Uint64(rec[len(rec)+t.Time:]); at != 0 && at < timeline.MaxTime {
			*last = at
		}
	}
	if t.CPU != 0 {
		if cpu := le.Uint32(rec[len(rec)+t.CPU:]); cpu < maxCPU {
			ev.CPU = int32(cpu)
		}
	}
}

// fill takes the fields of a record that ends, without trailer, at end. It
// reports false for one that makes no event.
func (d *decoder) fill(typ wire.Type, rec []byte, end int, t wire.Trailer, ev *timeline.Event) bool {
	misc := le.Uint16(rec[4:])
	s32 := func(at int) int32 { return int32(le.Uint32(rec[at:])) }
	switch typ {
	case wire.RecMmap, wire.RecMmap2:
		return d.mapped(typ, rec[:end], ev)
	case wire.RecKsymbol:
		return d.ksymbol(rec[:end], ev)
	case wire.RecComm:
		ev.Kind, ev.PID, ev.TID = timeline.KindComm, s32(8), s32(12)
		ev.Comm = d.comms.intern(untilNUL(rec[16:end]))
		if misc&wire.MiscCommExec != 0 {
			ev.Arg = 1
		}
	case wire.RecFork, wire.RecExit:
		ev.Kind, ev.PID = timeline.KindExit, s32(8)
		ev.TID = s32(16)
		if typ == wire.RecFork {
			ev.Kind, ev.Other, ev.TID, ev.Arg = timeline.KindFork, s32(16), s32(20), uint64(le.Uint32(rec[12:]))
		}
	case wire.RecLost:
		ev.Kind, ev.Arg = timeline.KindLost, le.Uint64(rec[16:])
		d.lost += ev.Arg
	case wire.RecLostSamples:
		// Of the same loss as LOST records, when those are there: not added to
		// them. perf itself writes one an event at the end of a file, without a
		// time: that tells nothing about when.
		d.lostSamp += le.Uint64(rec[8:])
		return false
	case wire.RecSwitch, wire.RecSwitchCPUWide:
		return d.switchRecord(typ, misc, rec, t, ev)
	}
	if ev.PID >= 0 && ev.Kind != timeline.KindLost {
		ev.Flags |= timeline.FlagHasPID
	}
	return true
}

// switchRecord takes a PERF_RECORD_SWITCH: who it is about is in the trailer.
func (d *decoder) switchRecord(typ wire.Type, misc uint16, rec []byte, t wire.Trailer, ev *timeline.Event) bool {
	if d.noSwitchRecords || t.TID == 0 {
		return false
	}
	id := rec[len(rec)+t.TID:]
	ev.PID, ev.TID = int32(le.Uint32(id)), int32(le.Uint32(id[4:]))
	if ev.PID >= 0 {
		ev.Flags |= timeline.FlagHasPID
	}
	ev.Other = -1
	if typ == wire.RecSwitchCPUWide {
		ev.Other = int32(le.Uint32(rec[12:]))
	}
	ev.Kind = timeline.KindSwitchIn
	if misc&wire.MiscSwitchOut != 0 {
		ev.Kind, ev.State = timeline.KindSwitchOut, evidence.StateS
		if misc&wire.MiscSwitchPreempt != 0 {
			ev.State = evidence.StateR
		}
	}
	return true
}

// mapped takes an executable mapping.
func (d *decoder) mapped(typ wire.Type, rec []byte, ev *timeline.Event) bool {
	misc := le.Uint16(rec[4:])
	name, m := 40, mapEvent{}
	if typ == wire.RecMmap2 {
		const protExec = 4
		if name = 72; le.Uint32(rec[64:])&protExec == 0 {
			return false
		}
		if id := wire.MmapBuildID(rec); id != nil {
			m.buildID = d.paths.id(id)
		}
	} else if misc&wire.MiscMmapData != 0 {
		return false
	}
	if misc&wire.MiscCPUModeMask == wire.MiscGuestKernel {
		return false
	}
	m.pid = int32(le.Uint32(rec[8:]))
	m.start, m.size, m.pgoff = le.Uint64(rec[16:]), le.Uint64(rec[24:]), le.Uint64(rec[32:])
	m.path = d.paths.id(untilNUL(rec[name:]))
	m.put(ev)
	return true
}

// ksymbol takes a name that the kernel gave to a piece of code made at run
// time: u64 addr, u32 len, u16 type, u16 flags, name.
func (d *decoder) ksymbol(rec []byte, ev *timeline.Event) bool {
	const unregister = 1
	if le.Uint16(rec[22:])&unregister != 0 {
		return false
	}
	m := mapEvent{pid: -1, start: le.Uint64(rec[8:]), size: uint64(le.Uint32(rec[16:])), symbol: true}
	m.path = d.paths.id(untilNUL(rec[24:]))
	m.put(ev)
	return true
}

func untilNUL(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// mapEvent is a mapping on its way through the order. It travels in the fields
// of a timeline.Event, as those of a kindMap event mean nothing to others.
type mapEvent struct {
	pid                int32 // -1: the kernel
	start, size, pgoff uint64
	path, buildID      uint32 // ids of paths
	symbol             bool   // path is the name of what is there
}

func (m *mapEvent) put(ev *timeline.Event) {
	ev.Kind, ev.TID, ev.Arg = kindMap, m.pid, m.start
	ev.Other, ev.CPU = int32(m.size>>32), int32(m.size)
	ev.Stack, ev.OtherComm = uint32(m.pgoff>>32), uint32(m.pgoff)
	ev.Comm, ev.PID = m.path, int32(m.buildID)
	if m.symbol {
		ev.Flags = 1
	}
}

func getMap(ev *timeline.Event) mapEvent {
	return mapEvent{pid: ev.TID, start: ev.Arg, size: uint64(uint32(ev.Other))<<32 | uint64(uint32(ev.CPU)),
		pgoff: uint64(ev.Stack)<<32 | uint64(ev.OtherComm), path: ev.Comm, buildID: uint32(ev.PID), symbol: ev.Flags == 1}
}
