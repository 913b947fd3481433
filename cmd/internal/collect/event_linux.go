package collect

import (
	"unsafe"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"

	"ctxan/parse/perfdata/wire"
)

// Bits of the attribute that golang.org/x/sys/unix does not name.
// Source: struct perf_event_attr in the kernel's include/uapi/linux/perf_event.h.
const (
	bitKsymbol  uint64 = 1 << 29
	bitBPFEvent uint64 = 1 << 30
)

// tracking are the records beside samples that say which task and which code
// an address belongs to.
const tracking = unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
	bitKsymbol | bitBPFEvent

// event is one event of the measurement. It is opened once for each CPU, or
// each thread on each CPU.
type event struct {
	name    string
	attr    unix.PerfEventAttr
	handles []handle
}

// ids are what the records of the event are told apart by.
func (e *event) ids() []uint64 {
	out := make([]uint64, len(e.handles))
	for i, h := range e.handles {
		out[i] = h.id
	}
	return out
}

// handle is one opened descriptor: of go-perf's where it can express the
// attribute, else a plain one.
type handle struct {
	fd       int
	ev       *perf.Event // nil for a plain one
	id       uint64
	cpu, tid int // -1: all
}

func (h *handle) close() error {
	if h.ev != nil {
		return h.ev.Close()
	}
	return unix.Close(h.fd)
}

// baseFields are the fields of every record, so that all of them can be told
// apart and put in order.
const baseFields = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
	unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD

// newAttr is an attribute with what all events here have in common.
func newAttr(typ uint32, config uint64) unix.PerfEventAttr {
	return unix.PerfEventAttr{Type: typ, Config: config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitDisabled | unix.PerfBitSampleIDAll | unix.PerfBitExcludeGuest}
}

// recorded makes an attribute one whose every event is a record.
func recorded(a unix.PerfEventAttr, more uint64) unix.PerfEventAttr {
	a.Sample, a.Sample_type = 1, baseFields|more
	a.Read_format = unix.PERF_FORMAT_ID
	return a
}

// toWire is the attribute as a file has it.
func toWire(a *unix.PerfEventAttr) wire.Attr {
	return wire.Attr{Type: a.Type, Size: a.Size, Config: a.Config, Period: a.Sample, SampleType: a.Sample_type,
		ReadFormat: a.Read_format, Flags: a.Bits, Wakeup: a.Wakeup, BPType: a.Bp_type, Config1: a.Ext1, Config2: a.Ext2,
		BranchType: a.Branch_sample_type, RegsUser: a.Sample_regs_user, StackUser: a.Sample_stack_user, ClockID: a.Clockid,
		RegsIntr: a.Sample_regs_intr, AuxWatermark: a.Aux_watermark, MaxStack: a.Sample_max_stack,
		AuxSampleSize: a.Aux_sample_size, SigData: a.Sig_data}
}

// Bits that toPerf can express.
const (
	perfFlags   = 1<<30 - 1 - unix.PerfBitPreciseIPBit1 - unix.PerfBitPreciseIPBit2 - unix.PerfBitWriteBackward
	perfSamples = unix.PERF_SAMPLE_PHYS_ADDR<<1 - 1
	perfReads   = unix.PERF_FORMAT_LOST - 1
)

// toPerf is the attribute as go-perf has it; false when it cannot express it.
func toPerf(a *unix.PerfEventAttr) (*perf.Attr, bool) {
	if a.Bits&^perfFlags != 0 || a.Sample_type&^perfSamples != 0 || a.Read_format&^perfReads != 0 ||
		a.Aux_sample_size != 0 || a.Sig_data != 0 || a.Branch_sample_type != 0 {
		return nil, false
	}
	s, f, r := a.Sample_type, a.Bits, a.Read_format
	return &perf.Attr{
		Type: perf.EventType(a.Type), Config: a.Config, Sample: a.Sample, Wakeup: a.Wakeup,
		BreakpointType: a.Bp_type, Config1: a.Ext1, Config2: a.Ext2, SampleRegistersUser: a.Sample_regs_user,
		SampleStackUser: a.Sample_stack_user, ClockID: a.Clockid, SampleRegistersIntr: a.Sample_regs_intr,
		AuxWatermark: a.Aux_watermark, SampleMaxStack: a.Sample_max_stack,
		SampleFormat: perf.SampleFormat{
			IP: s&unix.PERF_SAMPLE_IP != 0, Tid: s&unix.PERF_SAMPLE_TID != 0, Time: s&unix.PERF_SAMPLE_TIME != 0,
			Addr: s&unix.PERF_SAMPLE_ADDR != 0, Count: s&unix.PERF_SAMPLE_READ != 0, Callchain: s&unix.PERF_SAMPLE_CALLCHAIN != 0,
			ID: s&unix.PERF_SAMPLE_ID != 0, CPU: s&unix.PERF_SAMPLE_CPU != 0, Period: s&unix.PERF_SAMPLE_PERIOD != 0,
			StreamID: s&unix.PERF_SAMPLE_STREAM_ID != 0, Raw: s&unix.PERF_SAMPLE_RAW != 0,
			BranchStack: s&unix.PERF_SAMPLE_BRANCH_STACK != 0, UserRegisters: s&unix.PERF_SAMPLE_REGS_USER != 0,
			UserStack: s&unix.PERF_SAMPLE_STACK_USER != 0, Weight: s&unix.PERF_SAMPLE_WEIGHT != 0,
			DataSource: s&unix.PERF_SAMPLE_DATA_SRC != 0, Identifier: s&unix.PERF_SAMPLE_IDENTIFIER != 0,
			Transaction: s&unix.PERF_SAMPLE_TRANSACTION != 0, IntrRegisters: s&unix.PERF_SAMPLE_REGS_INTR != 0,
			PhysicalAddress: s&unix.PERF_SAMPLE_PHYS_ADDR != 0,
		},
		CountFormat: perf.CountFormat{Enabled: r&unix.PERF_FORMAT_TOTAL_TIME_ENABLED != 0,
			Running: r&unix.PERF_FORMAT_TOTAL_TIME_RUNNING != 0, ID: r&unix.PERF_FORMAT_ID != 0, Group: r&unix.PERF_FORMAT_GROUP != 0},
		Options: perfOptions(f),
	}, true
}

func perfOptions(f uint64) perf.Options {
	has := func(bit uint64) bool { return f&bit != 0 }
	return perf.Options{
		Disabled: has(unix.PerfBitDisabled), Inherit: has(unix.PerfBitInherit), Pinned: has(unix.PerfBitPinned),
		Exclusive: has(unix.PerfBitExclusive), ExcludeUser: has(unix.PerfBitExcludeUser), ExcludeKernel: has(unix.PerfBitExcludeKernel),
		ExcludeHypervisor: has(unix.PerfBitExcludeHv), ExcludeIdle: has(unix.PerfBitExcludeIdle), Mmap: has(unix.PerfBitMmap),
		Comm: has(unix.PerfBitComm), Freq: has(unix.PerfBitFreq), InheritStat: has(unix.PerfBitInheritStat),
		EnableOnExec: has(unix.PerfBitEnableOnExec), Task: has(unix.PerfBitTask), Watermark: has(unix.PerfBitWatermark),
		MmapData: has(unix.PerfBitMmapData), SampleIDAll: has(unix.PerfBitSampleIDAll), ExcludeHost: has(unix.PerfBitExcludeHost),
		ExcludeGuest: has(unix.PerfBitExcludeGuest), ExcludeKernelCallchain: has(unix.PerfBitExcludeCallchainKernel),
		ExcludeUserCallchain: has(unix.PerfBitExcludeCallchainUser), Mmap2: has(unix.PerfBitMmap2), CommExec: has(unix.PerfBitCommExec),
		UseClockID: has(unix.PerfBitUseClockID), ContextSwitch: has(unix.PerfBitContextSwitch), KSymbol: has(bitKsymbol),
		Namespaces: has(1 << 28),
	}
}
