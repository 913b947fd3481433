package wire

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// None is the offset of a slot that a layout does not have.
const None = -1

// Layout tells where the fields of an event's samples are, and those of the
// trailer that its other records carry. Offsets count from the start of the
// record, header included; those of the trailer are negative, from its end.
type Layout struct {
	Type     uint64
	IP       int
	TID      int // pid u32, tid u32
	Time     int
	Addr     int
	ID       int // IDENTIFIER or ID
	CPU      int // cpu u32
	Period   int
	Fixed    int // where the slots of varying size begin
	Trailer  Trailer
	read     uint64
	branch   uint64
	regsUser int
	regsIntr int
}

// Trailer tells where a record that is no sample carries its event's identity
// (sample_id_all). Offsets are negative, from the end; 0 means that it has none.
type Trailer struct {
	TID, Time, ID, CPU int
	Size               int
}

// NewLayout returns the layout of an attribute's records.
//
// Layout: perf_output_sample and perf_event__output_id_sample in the kernel's
// kernel/events/core.c.
func NewLayout(a *Attr) Layout {
	l := Layout{Type: a.SampleType, read: a.ReadFormat, branch: a.BranchType,
		regsUser: bits.OnesCount64(a.RegsUser), regsIntr: bits.OnesCount64(a.RegsIntr)}
	at := HeaderSize
	slot := func(bit uint64) int {
		if a.SampleType&bit == 0 {
			return None
		}
		at += 8
		return at - 8
	}
	l.ID = slot(SampleIdentifier)
	l.IP = slot(SampleIP)
	l.TID = slot(SampleTID)
	l.Time = slot(SampleTime)
	l.Addr = slot(SampleAddr)
	if id := slot(SampleID); l.ID == None {
		l.ID = id
	}
	slot(SampleStreamID)
	l.CPU = slot(SampleCPU)
	l.Period = slot(SamplePeriod)
	l.Fixed = at
	if a.Has(FlagSampleIDAll) {
		l.Trailer = newTrailer(a.SampleType)
	}
	return l
}

func newTrailer(sampleType uint64) Trailer {
	var t Trailer
	at := 0
	slot := func(bit uint64) int { // from the last to the first
		if sampleType&bit == 0 {
			return 0
		}
		at -= 8
		return at
	}
	t.ID = slot(SampleIdentifier)
	t.CPU = slot(SampleCPU)
	slot(SampleStreamID)
	if id := slot(SampleID); t.ID == 0 {
		t.ID = id
	}
	t.Time = slot(SampleTime)
	t.TID = slot(SampleTID)
	t.Size = -at
	return t
}

// Has reports whether samples hold a field.
func (l *Layout) Has(bit uint64) bool { return l.Type&bit != 0 }

// ErrShort is for a record that ends before what its layout says it holds.
var ErrShort = errors.New("record shorter than its fields")

// FixedRead returns the size of the READ field when it is the same in all
// samples, and whether it is.
func (l *Layout) FixedRead() (int, bool) {
	if !l.Has(SampleRead) {
		return 0, true
	}
	if l.read&ReadGroup != 0 {
		return 0, false
	}
	return 8 * (1 + bits.OnesCount64(l.read&(ReadEnabled|ReadRunning|ReadID|ReadLost))), true
}

// Chain returns where the call chain of a sample begins (at its number of
// entries, u64), and that number. The layout must have one.
func (l *Layout) Chain(rec []byte) (off, nr int, err error) {
	off, err = l.afterRead(rec)
	if err != nil {
		return 0, 0, err
	}
	if len(rec) < off+8 {
		return 0, 0, ErrShort
	}
	n := binary.LittleEndian.Uint64(rec[off:])
	if n > uint64(len(rec)-off-8)/8 {
		return 0, 0, ErrShort
	}
	return off, int(n), nil
}

// afterRead returns where the READ field ends.
func (l *Layout) afterRead(rec []byte) (int, error) {
	size, fixed := l.FixedRead()
	if fixed {
		return l.Fixed + size, nil
	}
	if len(rec) < l.Fixed+8 {
		return 0, ErrShort
	}
	nr := binary.LittleEndian.Uint64(rec[l.Fixed:])
	head := 8 * (1 + bits.OnesCount64(l.read&(ReadEnabled|ReadRunning)))
	each := 8 * (1 + bits.OnesCount64(l.read&(ReadID|ReadLost)))
	if nr > MaxRecord/uint64(each) {
		return 0, ErrShort
	}
	return l.Fixed + head + int(nr)*each, nil
}

// Raw returns where the raw data of a sample begins, and its size. The layout
// must have it.
func (l *Layout) Raw(rec []byte) (off, size int, err error) {
	if l.Has(SampleCallchain) {
		c, nr, err := l.Chain(rec)
		if err != nil {
			return 0, 0, err
		}
		off = c + 8 + 8*nr
	} else if off, err = l.afterRead(rec); err != nil {
		return 0, 0, err
	}
	if len(rec) < off+4 {
		return 0, 0, ErrShort
	}
	n := binary.LittleEndian.Uint32(rec[off:])
	if uint64(n) > uint64(len(rec)-off-4) {
		return 0, 0, ErrShort
	}
	return off + 4, int(n), nil
}

// Tail tells where the fields behind the raw data are; None for those that
// the layout lacks.
type Tail struct {
	Branch, BranchNr   int
	RegsUser, RegsIntr int // at the ABI word
	Stack, StackSize   int // the copy of the user stack
	StackDyn           int // where its used size stands
	Weight, DataSrc    int
	Txn, PhysAddr      int
	Cgroup             int
	DataPage, CodePage int
	Aux, AuxSize       int
	End                int
}

// Tail walks the fields behind the raw data.
func (l *Layout) Tail(rec []byte) (Tail, error) {
	t := Tail{Branch: None, RegsUser: None, RegsIntr: None, Stack: None, StackDyn: None, Weight: None, DataSrc: None,
		Txn: None, PhysAddr: None, Cgroup: None, DataPage: None, CodePage: None, Aux: None}
	at, err := l.afterRaw(rec)
	if err != nil {
		return t, err
	}
	w := walker{rec: rec, at: at}
	if l.Has(SampleBranch) {
		t.Branch, t.BranchNr = w.at, w.count()
		if l.branch&branchHWIndex != 0 {
			w.skip(8)
		}
		w.skip(24 * t.BranchNr)
		if l.branch&branchCounters != 0 {
			w.skip(8 * t.BranchNr)
		}
	}
	t.RegsUser = w.regs(l.Has(SampleRegsUser), l.regsUser)
	if l.Has(SampleStackUser) {
		if t.StackSize = w.count(); t.StackSize > 0 {
			t.Stack = w.at
			w.skip(t.StackSize)
			t.StackDyn = w.at
			w.skip(8)
		}
	}
	t.Weight = w.word(l.Has(SampleWeight | SampleWeights))
	t.DataSrc = w.word(l.Has(SampleDataSrc))
	t.Txn = w.word(l.Has(SampleTxn))
	t.RegsIntr = w.regs(l.Has(SampleRegsIntr), l.regsIntr)
	t.PhysAddr = w.word(l.Has(SamplePhysAddr))
	t.Cgroup = w.word(l.Has(SampleCgroup))
	t.DataPage = w.word(l.Has(SampleDataPage))
	t.CodePage = w.word(l.Has(SampleCodePage))
	if l.Has(SampleAux) {
		t.AuxSize = w.count()
		t.Aux = w.at
		w.skip(t.AuxSize)
	}
	t.End = w.at
	if w.bad {
		return t, ErrShort
	}
	return t, nil
}

// afterRaw returns where the raw data, or what stands before it, ends. Raw
// data is padded so that the next field is aligned to 8.
func (l *Layout) afterRaw(rec []byte) (int, error) {
	switch {
	case l.Has(SampleRaw):
		off, n, err := l.Raw(rec)
		return (off + n + 7) &^ 7, err
	case l.Has(SampleCallchain):
		off, nr, err := l.Chain(rec)
		return off + 8 + 8*nr, err
	}
	return l.afterRead(rec)
}

// walker steps through words, and remembers when it ran over the end.
type walker struct {
	rec []byte
	at  int
	bad bool
}

func (w *walker) skip(n int) {
	if n < 0 || n > len(w.rec)-w.at {
		w.bad = true
		return
	}
	w.at += n
}

// count reads a number of bytes or entries that follow; none fits more than a record.
func (w *walker) count() int {
	at := w.at
	w.skip(8)
	if w.bad {
		return 0
	}
	n := binary.LittleEndian.Uint64(w.rec[at:])
	if n > MaxRecord {
		w.bad = true
		return 0
	}
	return int(n)
}

func (w *walker) word(has bool) int {
	if !has {
		return None
	}
	at := w.at
	w.skip(8)
	return at
}

func (w *walker) regs(has bool, n int) int {
	if !has {
		return None
	}
	at := w.at
	if abi := w.count(); abi != 0 {
		w.skip(8 * n)
	}
	return at
}
