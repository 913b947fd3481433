package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Sizes of struct perf_event_attr by version. Later ones only add fields.
const (
	AttrSizeV0   = 64
	AttrSizeV8   = 136
	AttrSizeLast = 144
)

// Event types (attr.type).
const (
	TypeHardware   = 0
	TypeSoftware   = 1
	TypeTracepoint = 2
	TypeHWCache    = 3
	TypeRaw        = 4
	TypeBreakpoint = 5
)

// Software events (attr.config of TypeSoftware).
const (
	SWCPUClock        = 0
	SWTaskClock       = 1
	SWPageFaults      = 2
	SWContextSwitches = 3
	SWMigrations      = 4
	SWDummy           = 9
	SWBPFOutput       = 10
	SWCgroupSwitches  = 11
)

// Hardware events (the lower 32 bits of attr.config of TypeHardware).
const (
	HWCycles       = 0
	HWInstructions = 1
	HWBusCycles    = 6
	HWRefCycles    = 9
)

// Bits of attr.sample_type, in the order of their values.
const (
	SampleIP         uint64 = 1 << 0
	SampleTID        uint64 = 1 << 1
	SampleTime       uint64 = 1 << 2
	SampleAddr       uint64 = 1 << 3
	SampleRead       uint64 = 1 << 4
	SampleCallchain  uint64 = 1 << 5
	SampleID         uint64 = 1 << 6
	SampleCPU        uint64 = 1 << 7
	SamplePeriod     uint64 = 1 << 8
	SampleStreamID   uint64 = 1 << 9
	SampleRaw        uint64 = 1 << 10
	SampleBranch     uint64 = 1 << 11
	SampleRegsUser   uint64 = 1 << 12
	SampleStackUser  uint64 = 1 << 13
	SampleWeight     uint64 = 1 << 14
	SampleDataSrc    uint64 = 1 << 15
	SampleIdentifier uint64 = 1 << 16
	SampleTxn        uint64 = 1 << 17
	SampleRegsIntr   uint64 = 1 << 18
	SamplePhysAddr   uint64 = 1 << 19
	SampleAux        uint64 = 1 << 20
	SampleCgroup     uint64 = 1 << 21
	SampleDataPage   uint64 = 1 << 22
	SampleCodePage   uint64 = 1 << 23
	SampleWeights    uint64 = 1 << 24 // three values in the place of WEIGHT
)

// Bits of attr.read_format.
const (
	ReadEnabled uint64 = 1 << 0
	ReadRunning uint64 = 1 << 1
	ReadID      uint64 = 1 << 2
	ReadGroup   uint64 = 1 << 3
	ReadLost    uint64 = 1 << 4
)

// Bits of the attribute's flags, least significant first (on a big-endian
// machine they are stored most significant first; ParseAttr undoes that).
const (
	FlagDisabled      uint64 = 1 << 0
	FlagInherit       uint64 = 1 << 1
	FlagExcludeUser   uint64 = 1 << 4
	FlagExcludeKernel uint64 = 1 << 5
	FlagMmap          uint64 = 1 << 8
	FlagComm          uint64 = 1 << 9
	FlagFreq          uint64 = 1 << 10
	FlagEnableOnExec  uint64 = 1 << 12
	FlagTask          uint64 = 1 << 13
	FlagSampleIDAll   uint64 = 1 << 18
	FlagExcludeGuest  uint64 = 1 << 20
	FlagMmap2         uint64 = 1 << 23
	FlagCommExec      uint64 = 1 << 24
	FlagUseClockID    uint64 = 1 << 25
	FlagContextSwitch uint64 = 1 << 26

	FlagDeferCallchain uint64 = 1 << 38 // the user part of call chains comes in a record of its own
)

// Bits of attr.branch_sample_type that change the layout of a sample.
const (
	branchHWIndex  uint64 = 1 << 17
	branchCounters uint64 = 1 << 19
)

// Attr is struct perf_event_attr. Fields that the recorded size does not hold are 0.
type Attr struct {
	Type          uint32
	Size          uint32 // as recorded
	Config        uint64
	Period        uint64 // sample_period, or sample_freq with FlagFreq
	SampleType    uint64
	ReadFormat    uint64
	Flags         uint64
	Wakeup        uint32
	BPType        uint32
	Config1       uint64
	Config2       uint64
	BranchType    uint64
	RegsUser      uint64
	StackUser     uint32
	ClockID       int32
	RegsIntr      uint64
	AuxWatermark  uint32
	MaxStack      uint16
	AuxSampleSize uint32
	SigData       uint64
	Config3       uint64
	Config4       uint64
}

// Has reports whether flag bits are set.
func (a *Attr) Has(flag uint64) bool { return a.Flags&flag != 0 }

// Sampled reports whether one sample stands for more than one event.
func (a *Attr) Sampled() bool { return a.Has(FlagFreq) || a.Period != 1 }

// ErrAttrSize is for an attribute of less than AttrSizeV0 bytes.
var ErrAttrSize = errors.New("event attribute smaller than 64 bytes")

// ParseAttr reads an attribute; b is as long as it was recorded, which may be
// longer than what is known.
func ParseAttr(b []byte, o binary.ByteOrder) (Attr, error) {
	if len(b) < AttrSizeV0 {
		return Attr{}, ErrAttrSize
	}
	p := make([]byte, max(len(b), AttrSizeLast))
	copy(p, b)
	a := Attr{
		Type: o.Uint32(p), Size: o.Uint32(p[4:]), Config: o.Uint64(p[8:]), Period: o.Uint64(p[16:]),
		SampleType: o.Uint64(p[24:]), ReadFormat: o.Uint64(p[32:]), Flags: attrFlags(p[40:48], o),
		Wakeup: o.Uint32(p[48:]), BPType: o.Uint32(p[52:]), Config1: o.Uint64(p[56:]), Config2: o.Uint64(p[64:]),
		BranchType: o.Uint64(p[72:]), RegsUser: o.Uint64(p[80:]), StackUser: o.Uint32(p[88:]),
		ClockID: int32(o.Uint32(p[92:])), RegsIntr: o.Uint64(p[96:]), AuxWatermark: o.Uint32(p[104:]),
		MaxStack: o.Uint16(p[108:]), AuxSampleSize: o.Uint32(p[112:]), SigData: o.Uint64(p[120:]),
		Config3: o.Uint64(p[128:]), Config4: o.Uint64(p[136:]),
	}
	return a, nil
}

// attrFlags reads the bit field. A big-endian compiler fills each byte from
// its top, so its bytes are mirrored, not swapped.
func attrFlags(p []byte, o binary.ByteOrder) uint64 {
	if o != binary.ByteOrder(binary.BigEndian) {
		return binary.LittleEndian.Uint64(p)
	}
	var v uint64
	for i, b := range p {
		v |= uint64(bits.Reverse8(b)) << (8 * i)
	}
	return v
}

// attrSizes are the sizes of the attribute by version.
var attrSizes = [...]int{AttrSizeV0, 72, 80, 96, 104, 112, 120, 128, AttrSizeV8}

// MinSize returns the size of the oldest version that has all fields which are
// not 0. A reader refuses attributes of a version later than its own.
func (a *Attr) MinSize() int {
	b := a.Append(nil)
	used := len(bytes.TrimRight(b, "\x00"))
	for _, size := range attrSizes {
		if used <= size {
			return size
		}
	}
	return AttrSizeV8
}

// AppendSized encodes the attribute in size bytes, one of its versions, little-endian.
func (a *Attr) AppendSized(b []byte, size int) []byte {
	from := len(b)
	b = a.Append(b)[:from+size]
	binary.LittleEndian.PutUint32(b[from+4:], uint32(size))
	return b
}

// Append encodes the attribute in AttrSizeV8 bytes, little-endian.
func (a *Attr) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(le.AppendUint32(b, a.Type), AttrSizeV8)
	for _, v := range []uint64{a.Config, a.Period, a.SampleType, a.ReadFormat, a.Flags} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(le.AppendUint32(b, a.Wakeup), a.BPType)
	for _, v := range []uint64{a.Config1, a.Config2, a.BranchType, a.RegsUser} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(le.AppendUint32(b, a.StackUser), uint32(a.ClockID))
	b = le.AppendUint64(b, a.RegsIntr)
	b = le.AppendUint32(b, a.AuxWatermark)
	b = le.AppendUint16(le.AppendUint16(b, a.MaxStack), 0)
	b = le.AppendUint32(le.AppendUint32(b, a.AuxSampleSize), 0)
	return le.AppendUint64(le.AppendUint64(b, a.SigData), a.Config3)
}

var hardwareNames = [...]string{"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
	"bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"}

var softwareNames = [...]string{"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
	"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches"}

// EventName returns perf's name for an event that has one by type and config,
// and otherwise both numbers.
func EventName(a *Attr) string {
	switch {
	case a.Type == TypeHardware && a.Config < uint64(len(hardwareNames)):
		return hardwareNames[a.Config]
	case a.Type == TypeSoftware && a.Config < uint64(len(softwareNames)):
		return softwareNames[a.Config]
	}
	return fmt.Sprintf("type %d config %#x", a.Type, a.Config)
}
