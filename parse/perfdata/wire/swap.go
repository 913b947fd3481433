package wire

import (
	"encoding/binary"
	"math/bits"
)

// Swapper turns records of a big-endian machine into little-endian ones, in
// place: header, fields, identity, and the integers of tracepoints. Records of
// perf's own only get their header turned; read their bodies with the order of
// the file.
//
// Pairs of u32 (pid and tid, CPU and its padding) are turned each for
// themselves, as the kernel wrote them (perf_evsel__parse_sample in
// tools/perf/util/evsel.c undoes a u64 swap there).
type Swapper struct {
	LayoutOf func(rec []byte) *Layout // by the turned id of a sample; nil: not known
	Trailer  func(rec []byte) Trailer // of another record, whose trailer is turned as u64
	Fields   func(l *Layout) []Field  // of the raw data
	IDAt     int                      // where samples have their id; None
}

// Shapes of the records' fixed fields: sizes in order; the rest is bytes.
var swapShapes = map[Type]string{
	RecMmap: "44888", RecMmap2: "44888", RecComm: "44", RecFork: "44448", RecExit: "44448", RecLost: "88",
	RecThrottle: "888", RecUnthrottle: "888", RecAux: "888", RecItraceStart: "44", RecLostSamples: "8", RecSwitch: "",
	RecSwitchCPUWide: "44", RecKsymbol: "8422", RecBPFEvent: "224", RecCgroup: "8", RecNamespaces: "44", RecAuxOutputHWID: "8",
	RecRead: "44", RecDeferred: "88",
}

// Record turns one record.
func (s *Swapper) Record(rec []byte) {
	swap4(rec)
	swap2(rec[4:])
	swap2(rec[6:])
	typ := Type(binary.LittleEndian.Uint32(rec))
	switch {
	case typ == RecSample:
		s.sample(rec)
	case typ.Kernel():
		s.other(typ, rec)
	}
}

func (s *Swapper) sample(rec []byte) {
	if s.IDAt >= 0 && len(rec) >= s.IDAt+8 {
		swap8(rec[s.IDAt:])
	}
	l := s.LayoutOf(rec)
	if l == nil || len(rec) < l.Fixed {
		return
	}
	for at := HeaderSize; at < l.Fixed; at += 8 {
		switch at {
		case s.IDAt:
		case l.TID, l.CPU:
			swap4(rec[at:])
			swap4(rec[at+4:])
		default:
			swap8(rec[at:])
		}
	}
	end := l.Fixed
	for ; end+8 <= len(rec) && s.before(l, rec, end); end += 8 {
		swap8(rec[end:])
	}
	if l.Has(SampleRaw) {
		s.raw(l, rec)
	}
}

// before reports whether the word at end belongs to READ or to the call chain.
// What tells is itself among those words, and turned before it is looked at.
func (s *Swapper) before(l *Layout, rec []byte, end int) bool {
	if end < l.Fixed+8 && l.Has(SampleRead) {
		return true
	}
	at, err := l.afterRead(rec)
	if err != nil {
		return false
	}
	if end < at || end == at && l.Has(SampleCallchain) {
		return true
	}
	if !l.Has(SampleCallchain) {
		return false
	}
	_, nr, err := l.Chain(rec)
	return err == nil && end < at+8+8*nr
}

// raw turns the size of the raw data and the integers in it.
func (s *Swapper) raw(l *Layout, rec []byte) {
	at, err := l.afterRead(rec)
	if l.Has(SampleCallchain) {
		var nr int
		at, nr, err = l.Chain(rec)
		at += 8 + 8*nr
	}
	if err != nil || at+4 > len(rec) {
		return
	}
	swap4(rec[at:])
	off, n, err := l.Raw(rec)
	if err != nil {
		return
	}
	raw := rec[off : off+n]
	for _, f := range s.Fields(l) {
		if f.Array || f.Offset+f.Size > len(raw) {
			continue
		}
		switch f.Size {
		case 2:
			swap2(raw[f.Offset:])
		case 4:
			swap4(raw[f.Offset:])
		case 8:
			swap8(raw[f.Offset:])
		}
	}
}

func (s *Swapper) other(typ Type, rec []byte) {
	at := HeaderSize
	for _, size := range swapShapes[typ] {
		if at+int(size-'0') > len(rec) {
			return
		}
		switch size {
		case '2':
			swap2(rec[at:])
		case '4':
			swap4(rec[at:])
		case '8':
			swap8(rec[at:])
		}
		at += int(size - '0')
	}
	if typ == RecMmap2 && len(rec) >= 72 {
		if MmapBuildID(rec) == nil {
			swap4(rec[40:])
			swap4(rec[44:])
			swap8(rec[48:])
			swap8(rec[56:])
		}
		swap4(rec[64:])
		swap4(rec[68:])
	}
	if typ == RecDeferred {
		for end := len(rec) - s.Trailer(rec).Size; at+8 <= end; at += 8 {
			swap8(rec[at:])
		}
	}
	s.trailer(rec)
}

// trailer turns the identity at the end of a record. The id is turned first,
// as where the pairs are may depend on it.
func (s *Swapper) trailer(rec []byte) {
	t := s.Trailer(rec)
	if t.Size == 0 || t.Size > len(rec)-HeaderSize {
		return
	}
	for at := -t.Size; at < 0; at += 8 {
		p := rec[len(rec)+at:]
		if at == t.TID || at == t.CPU {
			swap4(p)
			swap4(p[4:])
		} else {
			swap8(p)
		}
	}
}

func swap2(b []byte) {
	binary.LittleEndian.PutUint16(b, bits.ReverseBytes16(binary.LittleEndian.Uint16(b)))
}
func swap4(b []byte) {
	binary.LittleEndian.PutUint32(b, bits.ReverseBytes32(binary.LittleEndian.Uint32(b)))
}
func swap8(b []byte) {
	binary.LittleEndian.PutUint64(b, bits.ReverseBytes64(binary.LittleEndian.Uint64(b)))
}
