package perfdata

import (
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// hotPlan is where the fields of a switch or a wakeup stand in every sample of
// the event, for events that have all of them at fixed places. Nearly all
// samples of a recording of the scheduler without call chains are of such.
type hotPlan struct {
	need           int // how long a sample must be
	rawSize        int
	rawMin         uint32 // how much raw data the fields need
	time, tid, cpu int
	flags          int // common_flags
	pid, comm      int // prev_pid, prev_comm; pid, comm
	other, otherC  int // next_pid, next_comm
	state          int
	current        int // common_pid
	target         int // target_cpu; None: not told
	index          uint16
	kind           timeline.Kind
	states         *states
	state64        bool
}

// planHot prepares the fast path of an event, if it is of that kind.
func (e *event) planHot() {
	l, f := &e.layout, &e.f
	isSwitch := e.kind == timeline.KindSwitch
	switch {
	case e.rawAt < 0 || e.info.Chains || l.Time < 0 || l.TID < 0 || l.CPU < 0 || f.flags < 0 || f.comm < 0:
		return
	case isSwitch && f.otherComm < 0:
		return
	case !isSwitch && (e.kind != timeline.KindWaking && e.kind != timeline.KindWakeup || f.current < 0 || f.success >= 0):
		return
	}
	at := func(off int) int {
		if off < 0 {
			return wire.None
		}
		return e.rawAt + off
	}
	e.hot = &hotPlan{
		need: e.rawAt + e.rawMin, rawSize: e.rawAt - 4, rawMin: uint32(e.rawMin),
		time: l.Time, tid: l.TID, cpu: l.CPU, flags: at(f.flags), pid: at(f.pid), comm: at(f.comm),
		other: at(f.otherPID), otherC: at(f.otherComm), state: at(f.state), current: at(f.current), target: at(f.cpu),
		index: e.index, kind: e.kind, states: e.states, state64: f.state64,
	}
}

// hot decodes a sample of a hot event, to the same as sample does, and returns
// its time. It returns 0 for one that is not quite as it should be: sample says
// what is wrong with it.
//
// Every field of the event is written and none is read: its memory is on its
// way into the cache, and a read would wait for it.
func (d *decoder) hot(h *hotPlan, rec []byte, off int64, ev *timeline.Event) uint64 {
	if len(rec) < h.need {
		return 0
	}
	t, cpu, raw := le.Uint64(rec[h.time:]), le.Uint32(rec[h.cpu:]), le.Uint32(rec[h.rawSize:])
	if t-1 >= timeline.MaxTime-1 || cpu >= maxCPU || raw < h.rawMin || uint64(raw) > uint64(len(rec)-h.rawSize-4) {
		return 0
	}
	ev.Time, ev.Off, ev.CPU, ev.Stack, ev.Event, ev.Kind = t, off, int32(cpu), timeline.NoStack, h.index, h.kind
	pid := int32(le.Uint32(rec[h.pid:]))
	comm := d.comms.id(pid, rec[h.comm:h.comm+commBytes])
	task := pid
	if h.kind == timeline.KindSwitch {
		next := int32(le.Uint32(rec[h.other:]))
		ev.Other, ev.Comm, ev.Arg = next, comm, 0
		ev.OtherComm = d.comms.id(next, rec[h.otherC:h.otherC+commBytes])
		if h.state64 {
			ev.State = h.states.of(le.Uint64(rec[h.state:]))
		} else {
			ev.State = h.states.of(uint64(le.Uint32(rec[h.state:])))
		}
	} else {
		task = int32(le.Uint32(rec[h.current:]))
		ev.Other, ev.Comm, ev.OtherComm, ev.State = pid, 0, comm, 0
		var target uint64
		if h.target >= 0 {
			target = uint64(le.Uint32(rec[h.target:]))
		}
		ev.Arg = target
	}
	var flags uint8
	if rec[h.flags]&(traceHardIRQ|traceSoftIRQ) != 0 {
		flags = timeline.FlagIRQ
	}
	var own int32
	if int32(le.Uint32(rec[h.tid+4:])) == task {
		if own = int32(le.Uint32(rec[h.tid:])); own >= 0 {
			flags |= timeline.FlagHasPID
		}
	}
	ev.TID, ev.PID, ev.Flags = task, own, flags
	return t
}

// join makes one event of a sched_waking and the sched_wakeup right behind it,
// in the place of the first, if they are of the same wakeup. It reports whether
// they are.
func join(waking, wakeup *timeline.Event) bool {
	if waking.Kind != timeline.KindWaking || waking.Other != wakeup.Other || waking.TID != wakeup.TID || waking.CPU != wakeup.CPU {
		return false
	}
	ago := wakeup.Time - waking.Time
	if ago >= 1<<32 {
		return false
	}
	*waking = *wakeup
	waking.Arg = wakeup.Arg&0xffffffff | ago<<32
	waking.Flags |= timeline.FlagWaking
	return true
}
