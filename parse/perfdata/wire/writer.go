package wire

import (
	"encoding/binary"
	"io"
	"maps"
	"slices"
)

// Writer writes a perf.data file: header, attributes, records, features. It
// writes what it is given, as fast as it comes; Close writes the features and
// the header.
//
// The records of a CPU must be written in order of time, and all that is older
// than the newest record of a round before the end of the next round (Round).
type Writer struct {
	w     io.WriterAt
	at    int64
	data  int64
	attrs int64
	nattr int
	err   error
	buf   []byte

	features map[Feature][]byte
}

// AttrIDs is an event and the ids that its samples carry.
type AttrIDs struct {
	Attr Attr
	IDs  []uint64
}

const (
	attrEntry = AttrSizeV8 + 16 // an attribute and the section of its ids
	flushSize = 64 << 10
)

// NewWriter begins a file.
func NewWriter(w io.WriterAt, events []AttrIDs) *Writer {
	x := &Writer{w: w, at: FileHeaderSize, nattr: len(events), features: map[Feature][]byte{}}
	le := binary.LittleEndian
	ids := make([]int64, len(events))
	for i, e := range events {
		ids[i] = x.at + int64(len(x.buf))
		for _, id := range e.IDs {
			x.buf = le.AppendUint64(x.buf, id)
		}
	}
	x.attrs = x.at + int64(len(x.buf))
	for i, e := range events {
		x.buf = e.Attr.Append(x.buf)
		x.buf = le.AppendUint64(le.AppendUint64(x.buf, uint64(ids[i])), uint64(8*len(e.IDs)))
	}
	x.flush()
	x.data = x.at
	return x
}

// Record writes one record with header. It is not kept.
func (x *Writer) Record(rec []byte) {
	x.buf = append(x.buf, rec...)
	if len(x.buf) >= flushSize {
		x.flush()
	}
}

// Round writes a FINISHED_ROUND record.
func (x *Writer) Round() { x.Record(AppendHeader(nil, RecFinishedRound, 0, HeaderSize)) }

// Feature sets the content of a feature, to be written by Close.
func (x *Writer) Feature(f Feature, b []byte) { x.features[f] = b }

func (x *Writer) flush() {
	if x.err == nil && len(x.buf) > 0 {
		_, x.err = x.w.WriteAt(x.buf, x.at)
	}
	x.at += int64(len(x.buf))
	x.buf = x.buf[:0]
}

// Close writes features and header. It returns the first error of all writes.
// It does not close the file.
func (x *Writer) Close() error {
	x.flush()
	end, le := x.at, binary.LittleEndian
	var set [4]uint64
	var table, body []byte
	at := end + int64(16*len(x.features))
	for f := range Feature(256) {
		if b, ok := x.features[f]; ok {
			set[f/64] |= 1 << (f % 64)
			table = le.AppendUint64(le.AppendUint64(table, uint64(at)), uint64(len(b)))
			body = append(body, b...)
			at += int64(len(b))
		}
	}
	x.buf = append(append(x.buf, table...), body...)
	x.flush()
	h := []byte(Magic)
	for _, v := range []uint64{FileHeaderSize, attrEntry, uint64(x.attrs), uint64(attrEntry * x.nattr), uint64(x.data), uint64(end - x.data), 0, 0,
		set[0], set[1], set[2], set[3]} {
		h = le.AppendUint64(h, v)
	}
	if x.err == nil {
		_, x.err = x.w.WriteAt(h, 0)
	}
	return x.err
}

// AppendHeader appends the header of a record of size bytes, header included.
func AppendHeader(b []byte, t Type, misc uint16, size int) []byte {
	le := binary.LittleEndian
	return le.AppendUint16(le.AppendUint16(le.AppendUint32(b, uint32(t)), misc), uint16(size))
}

// AppendString appends a string as features have it: u32 length, then the
// string padded with NUL to 64 bytes.
func AppendString(b []byte, s string) []byte {
	n := (len(s) + 1 + 63) &^ 63
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	return append(append(b, s...), make([]byte, n-len(s))...)
}

// SampleValues are the fields of a sample, in the types they have in a record.
// Only those that the sample type has are written.
type SampleValues struct {
	ID, IP, Time, Addr, StreamID, Period uint64
	PID, TID                             int32
	CPU                                  uint32
	Chain                                []uint64
	Raw                                  []byte
}

// AppendSample appends a sample of an event whose sample type has no fields
// but those of SampleValues.
func AppendSample(b []byte, a *Attr, v *SampleValues) []byte {
	le, from := binary.LittleEndian, len(b)
	b = AppendHeader(b, RecSample, MiscKernel, 0)
	word := func(bit, val uint64) {
		if a.SampleType&bit != 0 {
			b = le.AppendUint64(b, val)
		}
	}
	word(SampleIdentifier, v.ID)
	word(SampleIP, v.IP)
	word(SampleTID, uint64(uint32(v.PID))|uint64(uint32(v.TID))<<32)
	word(SampleTime, v.Time)
	word(SampleAddr, v.Addr)
	word(SampleID, v.ID)
	word(SampleStreamID, v.StreamID)
	word(SampleCPU, uint64(v.CPU))
	word(SamplePeriod, v.Period)
	if a.SampleType&SampleCallchain != 0 {
		b = le.AppendUint64(b, uint64(len(v.Chain)))
		for _, ip := range v.Chain {
			b = le.AppendUint64(b, ip)
		}
	}
	if a.SampleType&SampleRaw != 0 {
		pad := -(len(v.Raw) + 4) & 7
		b = le.AppendUint32(b, uint32(len(v.Raw)+pad))
		b = append(append(b, v.Raw...), make([]byte, pad)...)
	}
	le.PutUint16(b[from+6:], uint16(len(b)-from))
	return b
}

// AppendTrailer appends the identity that ends a record which is no sample,
// and sets the size in its header, which stands at from.
func AppendTrailer(b []byte, from int, a *Attr, v *SampleValues) []byte {
	le := binary.LittleEndian
	if a.Has(FlagSampleIDAll) {
		for _, f := range []struct{ bit, val uint64 }{
			{SampleTID, uint64(uint32(v.PID)) | uint64(uint32(v.TID))<<32}, {SampleTime, v.Time}, {SampleID, v.ID},
			{SampleStreamID, v.StreamID}, {SampleCPU, uint64(v.CPU)}, {SampleIdentifier, v.ID},
		} {
			if a.SampleType&f.bit != 0 {
				b = le.AppendUint64(b, f.val)
			}
		}
	}
	le.PutUint16(b[from+6:], uint16(len(b)-from))
	return b
}

// AppendTracing appends tracing data with the formats of tracepoints: texts
// from tracefs by system, as in "sched".
func AppendTracing(b []byte, formats map[string][]string) []byte {
	le := binary.LittleEndian
	b = append(b, tracingMagic...)
	b = append(b, "0.6\x00\x00\x08"...) // version, little-endian, size of long
	b = le.AppendUint32(b, 4096)
	for _, name := range []string{"header_page", "header_event"} {
		b = append(append(b, name...), 0)
		b = le.AppendUint64(b, 0)
	}
	b = le.AppendUint32(b, 0) // formats of ftrace itself
	b = le.AppendUint32(b, uint32(len(formats)))
	for _, system := range slices.Sorted(maps.Keys(formats)) {
		texts := formats[system]
		b = append(append(b, system...), 0)
		b = le.AppendUint32(b, uint32(len(texts)))
		for _, t := range texts {
			b = append(le.AppendUint64(b, uint64(len(t))), t...)
		}
	}
	b = le.AppendUint32(le.AppendUint32(b, 0), 0) // symbols, printk formats
	return le.AppendUint64(b, 0)                  // command lines
}
