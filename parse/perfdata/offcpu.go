package perfdata

import (
	"encoding/binary"
	"errors"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// kindOffCPU is the reader's own kind of event: how long a task was off the
// CPU, measured by perf's BPF program (perf record --off-cpu). Its events become
// samples whose weight is that time.
const kindOffCPU = timeline.Kind(202)

// offCPUEvent is how perf names the event (OFFCPU_EVENT in tools/perf/util/off_cpu.h).
const offCPUEvent = "offcpu-time"

// planOffCPU prepares the event. Since perf 6.16 its samples carry all in their
// raw data (evsel__is_offcpu_event in tools/perf/util/evsel.c), before that in
// the fields that other samples have.
func (e *event) planOffCPU() {
	raw := e.layout.Has(wire.SampleRaw)
	if !raw && (e.layout.Period < 0 || e.layout.TID < 0) {
		e.skip = "its samples have no time or no thread"
		return
	}
	e.kind, e.info.Kind, e.info.Sampled = kindOffCPU, evidence.StackOffCPU, false
	e.info.Chains = e.info.Chains || raw
}

// atEnd reports whether a sample is one of those that perf writes when it stops:
// sums over the recording, with a time that no clock has.
//
// Source: OFF_CPU_TIMESTAMP in tools/perf/util/bpf_off_cpu.c.
func (e *event) atEnd(rec []byte) bool {
	return e.kind == kindOffCPU && e.layout.Time >= 0 && le.Uint64(rec[e.layout.Time:]) >= timeline.MaxTime
}

var errOffCPU = errors.New("off-CPU time: raw data shorter than its fields")

// offCPU takes such a sample. It reports false for one that is dropped.
func (d *decoder) offCPU(e *event, rec []byte, ev *timeline.Event) bool {
	ev.Kind = timeline.KindSample
	ev.Flags |= timeline.FlagHasPID
	end := e.atEnd(rec)
	if end {
		ev.CPU = -1
	}
	if e.layout.Has(wire.SampleRaw) {
		return d.offCPURaw(e, rec, end, ev)
	}
	l := &e.layout
	ev.PID, ev.TID = int32(le.Uint32(rec[l.TID:])), int32(le.Uint32(rec[l.TID+4:]))
	ev.Arg = le.Uint64(rec[l.Period:])
	if e.info.Chains {
		ev.Stack = d.chain(e, rec, ev.Off)
	}
	return true
}

// offCPURaw takes the raw data: the ids of the task, the time in ns, the number
// of entries of the call chain and these, then the cgroup. The process comes
// first where perf wrote the sample at the end (off_cpu_write), the thread where
// its program did when the task came back (off_cpu_dump in
// tools/perf/util/bpf_skel/off_cpu.bpf.c).
func (d *decoder) offCPURaw(e *event, rec []byte, end bool, ev *timeline.Event) bool {
	off, n, err := e.layout.Raw(rec)
	if err != nil || n < 24 {
		d.drops.add(ev.Off, errOffCPU)
		return false
	}
	order := binary.ByteOrder(le)
	if d.swap != nil {
		order = binary.BigEndian
	}
	w := words(rec[off:off+n], order)
	if w[2] > uint64(len(w)-3) {
		d.drops.add(ev.Off, errOffCPU)
		return false
	}
	first, second := int32(order.Uint32(rec[off:])), int32(order.Uint32(rec[off+4:]))
	ev.TID, ev.PID = first, second
	if end {
		ev.PID, ev.TID = first, second
	}
	ev.Arg = w[1]
	ev.Stack = d.chains.intern(w[3 : 3+w[2]])
	return true
}
