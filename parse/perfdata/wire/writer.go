package wire

import (
	"cmp"
	"encoding/binary"
	"io"
	"maps"
	"slices"
)

// Writer writes a perf.data file: header, attributes, records, features. It
// writes what it is given, as fast as it comes; Close writes the features and
// completes the header. Until then the header says that the size of the data is
// not known, as perf's does, so that a file whose writer was killed can be read.
//
// The records of a CPU must be written in order of time, and all that is older
// than the newest record of a round before the end of the next round (Round).
type Writer struct {
	w     io.WriterAt
	at    int64
	data  int64
	attrs int64
	nattr int
	entry int // bytes of an attribute with the section of its ids
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
	idSection = 16 // behind an attribute: where its ids are
	flushSize = 256 << 10
)

// attrSize returns the size of the attributes of a file, which is one for all.
func attrSize(events []AttrIDs) int {
	size := AttrSizeV0
	for i := range events {
		size = max(size, events[i].Attr.MinSize())
	}
	return size
}

// NewWriter begins a file.
func NewWriter(w io.WriterAt, events []AttrIDs) *Writer {
	x := &Writer{w: w, at: FileHeaderSize, nattr: len(events), entry: attrSize(events) + idSection, features: map[Feature][]byte{}}
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
		x.buf = e.Attr.AppendSized(x.buf, x.entry-idSection)
		x.buf = le.AppendUint64(le.AppendUint64(x.buf, uint64(ids[i])), uint64(8*len(e.IDs)))
	}
	x.data = x.at + int64(len(x.buf))
	x.buf = append(x.header(0, [4]uint64{}), x.buf...)
	x.at = 0
	x.flush()
	return x
}

// header returns the header for data of a size and a set of features.
func (x *Writer) header(size int64, features [4]uint64) []byte {
	h := []byte(Magic)
	for _, v := range []uint64{FileHeaderSize, uint64(x.entry), uint64(x.attrs), uint64(x.entry * x.nattr), uint64(x.data), uint64(size), 0, 0,
		features[0], features[1], features[2], features[3]} {
		h = binary.LittleEndian.AppendUint64(h, v)
	}
	return h
}

// Record writes one record with header. It is not kept.
func (x *Writer) Record(rec []byte) {
	x.buf = append(x.buf, rec...)
	if len(x.buf) >= flushSize {
		x.flush()
	}
}

// Raw writes one record given as a header's fields and what follows it.
func (x *Writer) Raw(t Type, misc uint16, body []byte) {
	x.buf = AppendHeader(x.buf, t, misc, HeaderSize+len(body))
	x.buf = append(x.buf, body...)
	if len(x.buf) >= flushSize {
		x.flush()
	}
}

// Flush writes what waits, so that a file whose writer is killed has it.
func (x *Writer) Flush() { x.flush() }

// Err returns the first error of all writes so far. What was written before it
// stays readable, and Close makes the most of it.
func (x *Writer) Err() error { return x.err }

// Size returns how many bytes the file has, those that wait to be written included.
func (x *Writer) Size() int64 { return x.at + int64(len(x.buf)) }

// Round writes a FINISHED_ROUND record.
func (x *Writer) Round() { x.Record(AppendHeader(nil, RecFinishedRound, 0, HeaderSize)) }

// Feature sets the content of a feature, to be written by Close.
func (x *Writer) Feature(f Feature, b []byte) { x.features[f] = b }

// flush writes what waits. After an error nothing more is written, and the file
// counts up to the last record that was written whole.
func (x *Writer) flush() {
	if x.err == nil && len(x.buf) > 0 {
		if _, x.err = x.w.WriteAt(x.buf, x.at); x.err == nil {
			x.at += int64(len(x.buf))
		}
	}
	x.buf = x.buf[:0]
}

// Close writes features and header. It returns the first error of all writes;
// after one, the header still tells of the records that were written, and of
// the features if there was room for them in the place of the others.
// It does not close the file.
func (x *Writer) Close() error {
	x.flush()
	err := x.err
	x.err = nil
	size := x.at - x.data
	if size < 0 { // not even the attributes
		return err
	}
	set, tail := x.tail()
	if _, e := x.w.WriteAt(tail, x.at); e != nil {
		set, err = [4]uint64{}, cmp.Or(err, e)
	}
	_, e := x.w.WriteAt(x.header(size, set), 0)
	return cmp.Or(err, e)
}

// tail returns the bits of the features, and the table and the features that
// stand behind the data.
func (x *Writer) tail() (set [4]uint64, tail []byte) {
	le := binary.LittleEndian
	var table, body []byte
	at := x.at + int64(16*len(x.features))
	for f := range Feature(256) {
		if b, ok := x.features[f]; ok {
			set[f/64] |= 1 << (f % 64)
			table = le.AppendUint64(le.AppendUint64(table, uint64(at)), uint64(len(b)))
			body = append(body, b...)
			at += int64(len(b))
		}
	}
	return set, append(table, body...)
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
	return AppendTracingOf(b, nil, nil, formats)
}

// AppendTracingOf is AppendTracing with the files header_page and header_event
// of tracefs, without which perf refuses a file.
func AppendTracingOf(b, page, event []byte, formats map[string][]string) []byte {
	le := binary.LittleEndian
	b = append(b, tracingMagic...)
	b = append(b, "0.6\x00\x00\x08"...) // version, little-endian, size of long
	b = le.AppendUint32(b, 4096)
	for i, text := range [][]byte{page, event} {
		b = append(append(b, [...]string{"header_page", "header_event"}[i]...), 0)
		b = append(le.AppendUint64(b, uint64(len(text))), text...)
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
