package wire

import "fmt"

// Type is the type of a record.
type Type uint32

// Record types. Those below 64 come from the kernel, the others from perf.
const (
	RecMmap            Type = 1
	RecLost            Type = 2
	RecComm            Type = 3
	RecExit            Type = 4
	RecThrottle        Type = 5
	RecUnthrottle      Type = 6
	RecFork            Type = 7
	RecRead            Type = 8
	RecSample          Type = 9
	RecMmap2           Type = 10
	RecAux             Type = 11
	RecItraceStart     Type = 12
	RecLostSamples     Type = 13
	RecSwitch          Type = 14
	RecSwitchCPUWide   Type = 15
	RecNamespaces      Type = 16
	RecKsymbol         Type = 17
	RecBPFEvent        Type = 18
	RecCgroup          Type = 19
	RecTextPoke        Type = 20
	RecAuxOutputHWID   Type = 21
	RecDeferred        Type = 22
	RecUser            Type = 64 // the first type of perf's own records
	RecAttr            Type = 64
	RecEventType       Type = 65
	RecTracingData     Type = 66
	RecBuildID         Type = 67
	RecFinishedRound   Type = 68
	RecIDIndex         Type = 69
	RecAuxtraceInfo    Type = 70
	RecAuxtrace        Type = 71
	RecAuxtraceError   Type = 72
	RecThreadMap       Type = 73
	RecCPUMap          Type = 74
	RecStatConfig      Type = 75
	RecStat            Type = 76
	RecStatRound       Type = 77
	RecEventUpdate     Type = 78
	RecTimeConv        Type = 79
	RecFeature         Type = 80
	RecCompressed      Type = 81
	RecFinishedInit    Type = 82
	RecCompressed2     Type = 83
	RecBPFMetadata     Type = 84
	RecSchedstatCPU    Type = 85
	RecSchedstatDomain Type = 86
	RecSimpleperfTypes Type = 32768 // simpleperf's own records begin here
	recordTypesNamed        = 87
	kernelTypesNamed        = 23
	recordTypesUnnamed      = "record type %d"
)

var recordNames = [...]string{
	1: "MMAP", 2: "LOST", 3: "COMM", 4: "EXIT", 5: "THROTTLE", 6: "UNTHROTTLE", 7: "FORK", 8: "READ", 9: "SAMPLE",
	10: "MMAP2", 11: "AUX", 12: "ITRACE_START", 13: "LOST_SAMPLES", 14: "SWITCH", 15: "SWITCH_CPU_WIDE",
	16: "NAMESPACES", 17: "KSYMBOL", 18: "BPF_EVENT", 19: "CGROUP", 20: "TEXT_POKE", 21: "AUX_OUTPUT_HW_ID",
	22: "CALLCHAIN_DEFERRED",
	64: "ATTR", 65: "EVENT_TYPE", 66: "TRACING_DATA", 67: "BUILD_ID", 68: "FINISHED_ROUND", 69: "ID_INDEX",
	70: "AUXTRACE_INFO", 71: "AUXTRACE", 72: "AUXTRACE_ERROR", 73: "THREAD_MAP", 74: "CPU_MAP", 75: "STAT_CONFIG",
	76: "STAT", 77: "STAT_ROUND", 78: "EVENT_UPDATE", 79: "TIME_CONV", 80: "FEATURE", 81: "COMPRESSED",
	82: "FINISHED_INIT", 83: "COMPRESSED2", 84: "BPF_METADATA", 85: "SCHEDSTAT_CPU", 86: "SCHEDSTAT_DOMAIN",
}

// Known reports whether the type is one that this package has a name for.
func (t Type) Known() bool { return int(t) < len(recordNames) && recordNames[t] != "" }

// Kernel reports whether the kernel writes the type, so that it ends in the
// identity of its event where the attribute has sample_id_all.
func (t Type) Kernel() bool { return t < RecUser }

func (t Type) String() string {
	if t.Known() {
		return recordNames[t]
	}
	return fmt.Sprintf("record type %d", uint32(t))
}

// HeaderSize is the size of a record's header: type u32, misc u16, size u16.
const HeaderSize = 8

// MaxRecord is the largest record: size is 16 bits wide.
const MaxRecord = 1<<16 - 1

// Bits of a record's misc field. Several share a bit; the type decides.
const (
	MiscCPUModeMask = 7
	MiscKernel      = 1
	MiscUser        = 2
	MiscGuestKernel = 4
	MiscGuestUser   = 5

	MiscMmapData      = 1 << 13 // MMAP, MMAP2: not executable
	MiscCommExec      = 1 << 13 // COMM: by exec
	MiscForkExec      = 1 << 13 // FORK, synthesised
	MiscSwitchOut     = 1 << 13 // SWITCH, SWITCH_CPU_WIDE
	MiscSwitchPreempt = 1 << 14 // SWITCH: out while still runnable
	MiscMmapBuildID   = 1 << 14 // MMAP2: a build-id instead of device and inode
	MiscBuildIDSize   = 1 << 15 // BUILD_ID: the size of the id is given
)

// Context marks in a call chain. Addresses from ContextMax on are marks.
const (
	ContextHV           = ^uint64(32 - 1)
	ContextKernel       = ^uint64(128 - 1)
	ContextUser         = ^uint64(512 - 1)
	ContextUserDeferred = ^uint64(640 - 1)
	ContextGuest        = ^uint64(2048 - 1)
	ContextGuestKernel  = ^uint64(2176 - 1)
	ContextGuestUser    = ^uint64(2560 - 1)
	ContextMax          = ^uint64(4095 - 1)
)

// MmapBuildID returns the build-id in a MMAP2 record, nil when it has device
// and inode there, or nothing. The bit in misc alone does not tell: the kernel
// leaves it set in what it writes for an event without build-ids when it wrote
// the same mapping for one with them before (perf_event_mmap_output, seen up to
// 6.18). A device number fits neither the size nor the zeros around it, or has
// a minor number below 256, three zeros at the begin of the id.
func MmapBuildID(rec []byte) []byte {
	if len(rec) < 64 || rec[5]&(MiscMmapBuildID>>8) == 0 {
		return nil
	}
	size, id := int(rec[40]), rec[44:64]
	if size == 0 || size > len(id) || !zeros(rec[41:44]) || !zeros(id[size:]) || zeros(id[1:4]) {
		return nil
	}
	return id[:size]
}

func zeros(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
