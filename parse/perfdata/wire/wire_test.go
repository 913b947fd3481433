package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memFile is an io.WriterAt in memory.
type memFile struct{ b []byte }

func (m *memFile) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}

func TestWriterHeader(t *testing.T) {
	attr := Attr{Type: TypeTracepoint, Config: 316, Period: 1, Flags: FlagSampleIDAll | FlagInherit,
		SampleType: SampleIdentifier | SampleTID | SampleTime | SampleCPU | SampleRaw, ReadFormat: ReadID, Config3: 7, ClockID: -1, StackUser: 9, MaxStack: 127}
	var f memFile
	w := NewWriter(&f, []AttrIDs{{attr, []uint64{7, 8}}, {Attr{Type: TypeSoftware, Config: SWDummy, SampleType: SampleTID}, nil}})
	w.Record(AppendSample(nil, &attr, &SampleValues{ID: 7, PID: 1, TID: 2, Time: 3, CPU: 4, Raw: []byte("abcdefgh")}))
	w.Round()
	w.Feature(FeatHostname, AppendString(nil, "box"))
	w.Feature(FeatArch, AppendString(nil, "x86_64"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := ParseHeader(f.b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Features, []Feature{FeatHostname, FeatArch}) || h.Pipe || h.Attrs.Size != 2*h.AttrSize {
		t.Errorf("header %+v", h)
	}
	got, err := ParseAttr(f.b[h.Attrs.Offset:h.Attrs.Offset+h.AttrSize-16], h.Order)
	if err != nil {
		t.Fatal(err)
	}
	want := attr
	want.Size = AttrSizeV8
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("attribute (-want +got):\n%s", d)
	}
	table := f.b[h.Data.End():]
	r := &Reader{B: f.b, At: int(binary.LittleEndian.Uint64(table[16:])), Order: h.Order}
	if s := r.String(); s != "x86_64" || r.Err != nil {
		t.Errorf("second feature %q, %v", s, r.Err)
	}
}

// failing is a file that has no room after some bytes, but for what is
// written over.
type failing struct {
	memFile
	room int
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if int(off)+len(p) > max(f.room, len(f.b)) {
		return 0, errFull
	}
	return f.memFile.WriteAt(p, off)
}

var errFull = errors.New("full")

// TestWriterUnfinished reads the header of files whose writer was killed or ran
// out of room: the first says that the size is not known, the other has that of
// the records that were written whole.
func TestWriterUnfinished(t *testing.T) {
	attr := Attr{Type: TypeTracepoint, Config: 316, Period: 1, SampleType: SampleTID}
	record := AppendSample(nil, &attr, &SampleValues{PID: 1, TID: 2})
	var killed memFile
	w := NewWriter(&killed, []AttrIDs{{attr, []uint64{7}}})
	w.Record(record)
	w.Flush()
	h, err := ParseHeader(killed.b)
	if err != nil || h.Data.Size != 0 || int(h.Data.Offset)+len(record) != len(killed.b) || len(h.Features) != 0 {
		t.Errorf("killed: header %+v of %d bytes, %v", h, len(killed.b), err)
	}
	full := &failing{room: 1 << 20}
	w = NewWriter(full, []AttrIDs{{attr, []uint64{7}}})
	n := 0
	for ; w.Err() == nil; n++ {
		w.Record(record)
	}
	w.Feature(FeatHostname, AppendString(nil, "box"))
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the file", err)
	}
	if h, err = ParseHeader(full.b); err != nil {
		t.Fatal(err)
	}
	if size := int(h.Data.Size); size == 0 || size%len(record) != 0 || size >= n*len(record) || size > full.room {
		t.Errorf("full: %d bytes of data, of %d records of %d bytes", size, n, len(record))
	}
}

// TestAttrSizes gives attributes the oldest size that holds them.
func TestAttrSizes(t *testing.T) {
	for _, c := range []struct {
		attr Attr
		want int
	}{{Attr{}, 64}, {Attr{Config2: 1}, 72}, {Attr{BranchType: 1}, 80}, {Attr{ClockID: 1}, 96}, {Attr{RegsIntr: 1}, 104}, {Attr{MaxStack: 1}, 112},
		{Attr{AuxSampleSize: 1}, 120}, {Attr{SigData: 1}, 128}, {Attr{Config3: 1}, 136}} {
		size := c.attr.MinSize()
		if size != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.attr, size, c.want)
		}
		got, err := ParseAttr(c.attr.AppendSized(nil, size), binary.LittleEndian)
		c.attr.Size = uint32(size)
		if err != nil || got != c.attr {
			t.Errorf("%+v, %v, want %+v", got, err, c.attr)
		}
	}
}

func TestParseHeaderErrors(t *testing.T) {
	for name, c := range map[string]struct {
		b    string
		want error
	}{
		"empty": {"", ErrMagic}, "other": {"PERFILEX", ErrMagic}, "magic only": {Magic, ErrHeader},
		"first version": {"PERFFILE", ErrOldV1}, "size 0": {Magic + "\x00\x00\x00\x00\x00\x00\x00\x00", ErrHeader},
		"cut": {Magic + "\x68\x00\x00\x00\x00\x00\x00\x00....", ErrHeader},
	} {
		if _, err := ParseHeader([]byte(c.b)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if h, err := ParseHeader([]byte(MagicSwapped + "\x00\x00\x00\x00\x00\x00\x00\x10")); err != nil || !h.Pipe || h.Order != binary.ByteOrder(binary.BigEndian) {
		t.Errorf("big-endian pipe: %+v, %v", h, err)
	}
}

// TestLayout puts all fixed fields into a sample and finds them again, for
// sample types with one field left out at a time.
func TestLayout(t *testing.T) {
	all := []uint64{SampleIdentifier, SampleIP, SampleTID, SampleTime, SampleAddr, SampleID, SampleStreamID, SampleCPU, SamplePeriod, SampleCallchain, SampleRaw}
	v := SampleValues{ID: 0x1111, IP: 0x2222, PID: 33, TID: 44, Time: 0x5555, Addr: 0x6666, StreamID: 0x7777, CPU: 88, Period: 0x9999,
		Chain: []uint64{ContextKernel, 1, 2}, Raw: []byte("raw data")}
	for _, without := range append(all, 0) {
		a := Attr{Flags: FlagSampleIDAll}
		for _, bit := range all {
			if bit != without {
				a.SampleType |= bit
			}
		}
		rec := AppendSample(nil, &a, &v)
		l := NewLayout(&a)
		le := binary.LittleEndian
		check := func(name string, bit uint64, at int, want uint64) {
			t.Helper()
			if a.SampleType&bit == 0 {
				if at != None && name != "id" {
					t.Errorf("without %#x: %s at %d", without, name, at)
				}
				return
			}
			if got := le.Uint64(rec[at:]); got != want {
				t.Errorf("without %#x: %s is %#x, want %#x", without, name, got, want)
			}
		}
		check("id", SampleID, l.ID, v.ID)
		check("ip", SampleIP, l.IP, v.IP)
		check("tid", SampleTID, l.TID, 33|44<<32)
		check("time", SampleTime, l.Time, v.Time)
		check("addr", SampleAddr, l.Addr, v.Addr)
		check("cpu", SampleCPU, l.CPU, 88)
		check("period", SamplePeriod, l.Period, v.Period)
		if a.SampleType&SampleCallchain != 0 {
			if off, nr, err := l.Chain(rec); err != nil || nr != 3 || le.Uint64(rec[off+8:]) != ContextKernel {
				t.Errorf("without %#x: chain of %d at %d, %v", without, nr, off, err)
			}
		}
		if a.SampleType&SampleRaw != 0 {
			if off, n, err := l.Raw(rec); err != nil || !bytes.HasPrefix(rec[off:off+n], v.Raw) {
				t.Errorf("without %#x: raw data of %d at %d, %v", without, n, off, err)
			}
		}
		if tail, err := l.Tail(rec); err != nil || tail.End != len(rec) {
			t.Errorf("without %#x: fields end at %d of %d, %v", without, tail.End, len(rec), err)
		}
		tr := AppendTrailer(AppendHeader(nil, RecComm, 0, 0), 0, &a, &v)
		if got := len(tr) - HeaderSize; got != l.Trailer.Size {
			t.Errorf("without %#x: trailer of %d, layout says %d", without, got, l.Trailer.Size)
		}
		if l.Trailer.Time != 0 && le.Uint64(tr[len(tr)+l.Trailer.Time:]) != v.Time {
			t.Errorf("without %#x: time of the trailer", without)
		}
		if l.Trailer.CPU != 0 && le.Uint32(tr[len(tr)+l.Trailer.CPU:]) != v.CPU {
			t.Errorf("without %#x: CPU of the trailer", without)
		}
	}
}

// TestTail walks the fields behind the raw data, in a record written by hand.
func TestTail(t *testing.T) {
	a := Attr{SampleType: SampleRead | SampleBranch | SampleRegsUser | SampleStackUser | SampleWeight | SampleDataSrc | SampleTxn |
		SampleRegsIntr | SamplePhysAddr | SampleCgroup | SampleDataPage | SampleCodePage | SampleAux,
		ReadFormat: ReadGroup | ReadID | ReadEnabled, RegsUser: 0b1011, RegsIntr: 1, BranchType: branchHWIndex}
	rec := AppendHeader(nil, RecSample, 0, 0)
	u64 := func(vs ...uint64) {
		for _, v := range vs {
			rec = binary.LittleEndian.AppendUint64(rec, v)
		}
	}
	u64(2, 100, 5, 50, 6, 51) // READ: two counters, enabled, value and id of each
	u64(1, 77, 1, 2, 3)       // BRANCH: one, hardware index, from, to, flags
	u64(2, 10, 11, 12)        // REGS_USER: abi, three registers
	u64(16, 0, 0, 8)          // STACK_USER: 16 bytes, 8 of them used
	u64(21, 22, 23)           // WEIGHT, DATA_SRC, TXN
	u64(0)                    // REGS_INTR: none
	u64(31, 32, 33, 34)       // PHYS_ADDR, CGROUP, DATA_PAGE, CODE_PAGE
	u64(8, 0xa)               // AUX
	l := NewLayout(&a)
	tail, err := l.Tail(rec)
	if err != nil || tail.End != len(rec) {
		t.Fatalf("%+v, %v; %d bytes", tail, err, len(rec))
	}
	for name, c := range map[string]struct{ at, want int }{
		"weight": {tail.Weight, 21}, "data source": {tail.DataSrc, 22}, "transaction": {tail.Txn, 23}, "physical address": {tail.PhysAddr, 31},
		"cgroup": {tail.Cgroup, 32}, "data page": {tail.DataPage, 33}, "code page": {tail.CodePage, 34}, "aux": {tail.Aux, 10},
		"used stack": {tail.StackDyn, 8}, "abi": {tail.RegsUser, 2},
	} {
		if got := binary.LittleEndian.Uint64(rec[c.at:]); got != uint64(c.want) {
			t.Errorf("%s is %d, want %d", name, got, c.want)
		}
	}
	for n := range rec {
		if n >= HeaderSize && n < len(rec) {
			if _, err := l.Tail(rec[:n]); err == nil {
				t.Errorf("cut at %d: no error", n)
			}
		}
	}
}

const switchFormat = `name: sched_switch
ID: 316
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:__data_loc char[] note;	offset:40;	size:4;	signed:0;
	field:broken;	offset:x;	size:4;

print fmt: "prev_state=%s%s", REC->prev_state & (0x100-1) ? __print_flags(REC->prev_state & (0x100-1), "|", { 0x01, "S" }, { 0x02, "D" }, { 0x80, "I" }) : "R", REC->prev_state & 0x100 ? "+" : ""
`

func TestTracing(t *testing.T) {
	b := AppendTracing(nil, map[string][]string{"sched": {switchFormat, "no format at all"}, "irq": {"name: irq_entry\nID: 3\n"}})
	tr, err := ParseTracing(b)
	if err != nil || len(tr.Formats) != 2 || tr.LongSize != 8 {
		t.Fatalf("%+v, %v", tr, err)
	}
	f := tr.Formats[1]
	if f.System != "sched" || f.Name != "sched_switch" || f.ID != 316 {
		t.Errorf("format %+v", f)
	}
	for _, want := range []Field{{Name: "prev_comm", Offset: 8, Size: 16, Array: true}, {Name: "prev_pid", Offset: 24, Size: 4, Signed: true},
		{Name: "prev_state", Offset: 32, Size: 8, Signed: true}, {Name: "note", Offset: 40, Size: 4, DataLoc: true}} {
		if got, ok := f.Field(want.Name); !ok || got != want {
			t.Errorf("field %+v, want %+v", got, want)
		}
	}
	if _, ok := f.Field("broken"); ok {
		t.Error("a field without an offset was taken")
	}
	for n := range len(b) - 24 { // the end holds nothing that is read
		if _, err := ParseTracing(b[:n]); !errors.Is(err, ErrTracing) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

// TestStates takes the letters of kernels of several ages.
func TestStates(t *testing.T) {
	for name, c := range map[string]struct {
		fmt     string
		preempt uint64
		letters string
	}{
		"3.10":            {`REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K"}, { 256, "W" }) : "R", REC->prev_state & 512 ? "+" : ""`, 512, "SDTtZXxKW"},
		"4.4":             {`{ 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "X" }, { 32, "Z" }, { 64, "P" }, { 128, "x" }, { 256, "K"}, { 512, "W" }, { 1024, "N" }) : "R", REC->prev_state & 2048 ? "+" : ""`, 2048, "SDTtXZPxKWN"},
		"6.1":             {`__print_flags(x, "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", x ? "+" : ""`, 256, "SDTtXZPI"},
		"2.6.32, no mark": {`{ 1, "S"} , { 2, "D" }`, 0, "SD"},
	} {
		s, ok := ParseStates(c.fmt)
		var letters []byte
		for _, f := range s.Flags {
			letters = append(letters, f.Letter)
		}
		if !ok || s.Preempt != c.preempt || string(letters) != c.letters {
			t.Errorf("%s: preempt %d, letters %s", name, s.Preempt, letters)
		}
	}
	if _, ok := ParseStates(`"pid=%d", REC->pid`); ok {
		t.Error("states found where there are none")
	}
}

func TestEventDesc(t *testing.T) {
	a := Attr{Type: TypeHardware, SampleType: SampleTID}
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint32(nil, 1), AttrSizeV8)
	b = le.AppendUint32(a.Append(b), 2)
	b = AppendString(b, "cycles")
	b = le.AppendUint64(le.AppendUint64(b, 5), 6)
	d, err := ParseEventDesc(b, le)
	if err != nil || len(d) != 1 || d[0].Name != "cycles" || !slices.Equal(d[0].IDs, []uint64{5, 6}) {
		t.Errorf("%+v, %v", d, err)
	}
	le.PutUint32(b, 1<<32-1)
	if _, err := ParseEventDesc(b, le); !errors.Is(err, ErrFeature) {
		t.Errorf("4294967295 events: %v", err)
	}
}

// TestSwapper turns big-endian records and compares with the same written
// little-endian.
func TestSwapper(t *testing.T) {
	a := Attr{SampleType: SampleIdentifier | SampleIP | SampleTID | SampleTime | SampleCPU | SamplePeriod | SampleCallchain | SampleRaw, Flags: FlagSampleIDAll}
	raw := append([]byte{1, 0, 0, 0, 42, 0, 0, 0}, "comm\x00\x00\x00\x00........"...)
	v := SampleValues{ID: 7, IP: 0xffffffff81000000, PID: 1, TID: 2, Time: 1 << 40, CPU: 3, Period: 1, Chain: []uint64{ContextUser, 0x400000}, Raw: raw}
	want := AppendSample(nil, &a, &v)
	l := NewLayout(&a)
	fields := []Field{{Name: "common_type", Size: 2}, {Name: "common_pid", Offset: 4, Size: 4}, {Name: "comm", Offset: 8, Size: 8, Array: true}}
	sw := &Swapper{IDAt: l.ID, LayoutOf: func([]byte) *Layout { return &l }, Trailer: func([]byte) Trailer { return l.Trailer },
		Fields: func(*Layout) []Field { return fields }}

	be := slices.Clone(want)
	swap4(be)
	swap2(be[4:])
	swap2(be[6:])
	for at := HeaderSize; at < l.Fixed+8+16; at += 8 {
		if at == l.TID || at == l.CPU {
			swap4(be[at:])
			swap4(be[at+4:])
		} else {
			swap8(be[at:])
		}
	}
	off, _, _ := l.Raw(want)
	swap4(be[off-4:])
	swap2(be[off:])
	swap4(be[off+4:])
	if bytes.Equal(be, want) {
		t.Fatal("nothing was turned")
	}
	sw.Record(be)
	if d := cmp.Diff(want, be); d != "" {
		t.Errorf("sample (-want +got):\n%s", d)
	}

	fork := AppendHeader(nil, RecFork, 0, 0)
	for _, pid := range []uint32{10, 1, 11, 1} {
		fork = binary.LittleEndian.AppendUint32(fork, pid)
	}
	fork = AppendTrailer(binary.LittleEndian.AppendUint64(fork, 99), 0, &a, &v)
	be = slices.Clone(fork)
	swap4(be)
	swap2(be[4:])
	swap2(be[6:])
	for at := 8; at < 24; at += 4 {
		swap4(be[at:])
	}
	swap8(be[24:])
	for at := 32; at < len(be); at += 8 {
		if p := at - len(be); p == l.Trailer.TID || p == l.Trailer.CPU {
			swap4(be[at:])
			swap4(be[at+4:])
		} else {
			swap8(be[at:])
		}
	}
	sw.Record(be)
	if d := cmp.Diff(fork, be); d != "" {
		t.Errorf("fork (-want +got):\n%s", d)
	}

	def := AppendHeader(nil, RecDeferred, MiscUser, 0)
	for _, word := range []uint64{1<<32 | 5, 2, ContextUser, 0x401000} {
		def = binary.LittleEndian.AppendUint64(def, word)
	}
	def = AppendTrailer(def, 0, &a, &v)
	be = slices.Clone(def)
	swap4(be)
	swap2(be[4:])
	swap2(be[6:])
	for at := HeaderSize; at < len(be); at += 8 {
		if p := at - len(be); p == l.Trailer.TID || p == l.Trailer.CPU {
			swap4(be[at:])
			swap4(be[at+4:])
		} else {
			swap8(be[at:])
		}
	}
	sw.Record(be)
	if d := cmp.Diff(def, be); d != "" {
		t.Errorf("deferred call chain (-want +got):\n%s", d)
	}
}

// FuzzParsers gives bytes to everything that takes them.
func FuzzParsers(f *testing.F) {
	f.Add([]byte(Magic), byte(0))
	f.Add(AppendTracing(nil, map[string][]string{"sched": {switchFormat}}), byte(1))
	a := Attr{SampleType: 1<<25 - 1}
	f.Add(a.Append(nil), byte(2))
	f.Fuzz(func(t *testing.T, b []byte, flags byte) {
		o := binary.ByteOrder(binary.LittleEndian)
		if flags&1 != 0 {
			o = binary.BigEndian
		}
		_, _ = ParseHeader(b)
		_, _ = ParseTracing(b)
		_, _ = ParseEventDesc(b, o)
		_, _ = ParseBuildIDs(b, o)
		_, _ = ParseFormat("sched", string(b))
		_, _ = ParseStates(string(b))
		(&Reader{B: b, Order: o}).Strings()
		attr, err := ParseAttr(b, o)
		if err != nil {
			return
		}
		l := NewLayout(&attr)
		rec := AppendHeader(nil, RecSample, 0, 0)
		rec = append(rec, b...)
		_, _ = l.Tail(rec)
		sw := &Swapper{IDAt: l.ID, LayoutOf: func([]byte) *Layout { return &l }, Trailer: func([]byte) Trailer { return l.Trailer },
			Fields: func(*Layout) []Field { return []Field{{Size: 4, Offset: 100}, {Size: 8}} }}
		for typ := range Type(30) {
			binary.BigEndian.PutUint32(rec, uint32(typ))
			sw.Record(rec)
		}
	})
}

// TestMmapBuildID takes build-ids of all usual sizes, and no device and inode
// that stand where the bit promises one.
func TestMmapBuildID(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	record := func(misc uint16, union []byte) []byte {
		rec := append(AppendHeader(nil, RecMmap2, misc, 80), make([]byte, 72)...)
		copy(rec[40:64], union)
		return rec
	}
	id := []byte("\x9f\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13")
	withID := func(n int) []byte { return append([]byte{byte(n), 0, 0, 0}, id[:n]...) }
	device := func(o binary.AppendByteOrder, maj, min uint32, ino, gen uint64) []byte {
		return o.AppendUint64(o.AppendUint64(o.AppendUint32(o.AppendUint32(nil, maj), min), ino), gen)
	}
	for _, c := range []struct {
		name  string
		misc  uint16
		union []byte
		want  []byte
	}{
		{"SHA-1", MiscMmapBuildID, withID(20), id},
		{"MD5", MiscMmapBuildID, withID(16), id[:16]},
		{"lld's fast one", MiscMmapBuildID, withID(8), id[:8]},
		{"without the bit", 0, withID(20), nil},
		{"virtio disk", MiscMmapBuildID, device(le, 254, 0, 325835, 0), nil},
		{"SCSI disk, as long as a fast id", MiscMmapBuildID, device(le, 8, 1, 325835, 0), nil},
		{"SCSI disk with a generation", MiscMmapBuildID, device(le, 8, 1, 325835, 3_000_000_000), nil},
		{"NVMe", MiscMmapBuildID, device(le, 259, 1, 325835, 0), nil},
		{"overlay", MiscMmapBuildID, device(le, 0, 45, 325835, 0), nil},
		{"big-endian, not turned", MiscMmapBuildID, device(be, 8, 1, 325835, 0), nil},
	} {
		if got := MmapBuildID(record(c.misc, c.union)); !bytes.Equal(got, c.want) {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
	}
}
