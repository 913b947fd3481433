package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Feature is the number of a feature of the header.
type Feature int

// Features.
const (
	FeatTracingData Feature = 1
	FeatBuildID     Feature = 2
	FeatHostname    Feature = 3
	FeatOSRelease   Feature = 4
	FeatVersion     Feature = 5
	FeatArch        Feature = 6
	FeatNrCPUs      Feature = 7
	FeatCPUDesc     Feature = 8
	FeatCPUID       Feature = 9
	FeatTotalMem    Feature = 10
	FeatCmdline     Feature = 11
	FeatEventDesc   Feature = 12
	FeatSampleTime  Feature = 21
	FeatClockID     Feature = 23
	FeatCompressed  Feature = 27
	FeatClockData   Feature = 29
	FeatSimpleperf  Feature = 128 // simpleperf's own begin here
)

// ErrFeature is for a feature whose content does not hold what it should.
var ErrFeature = errors.New("damaged feature")

// MaxFeature bounds what is read of a feature: tracing data and BPF programs
// are the largest, some megabytes.
const MaxFeature = 64 << 20

// Reader steps through the bytes of a feature or of a record. After the first
// read over the end it returns zero values, and Err says so.
type Reader struct {
	B     []byte
	At    int
	Order binary.ByteOrder
	Err   error
}

// Bytes returns the next n bytes, not copied.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.B)-r.At {
		if r.Err == nil {
			r.Err = fmt.Errorf("%w: %d bytes wanted at %d of %d", ErrFeature, n, r.At, len(r.B))
		}
		r.At = len(r.B)
		return nil
	}
	r.At += n
	return r.B[r.At-n : r.At]
}

// Left returns how many bytes are left.
func (r *Reader) Left() int { return len(r.B) - r.At }

// Byte returns the next byte.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 returns the next u16.
func (r *Reader) U16() uint16 {
	if b := r.Bytes(2); b != nil {
		return r.Order.Uint16(b)
	}
	return 0
}

// U32 returns the next u32.
func (r *Reader) U32() uint32 {
	if b := r.Bytes(4); b != nil {
		return r.Order.Uint32(b)
	}
	return 0
}

// U64 returns the next u64.
func (r *Reader) U64() uint64 {
	if b := r.Bytes(8); b != nil {
		return r.Order.Uint64(b)
	}
	return 0
}

// String returns a string of a feature: u32 length, then that many bytes with
// the string ended by NUL in them (do_write_string in tools/perf/util/header.c).
func (r *Reader) String() string {
	n := r.U32()
	if uint64(n) > uint64(r.Left()) {
		r.Bytes(r.Left() + 1)
		return ""
	}
	return CString(r.Bytes(int(n)))
}

// CString returns the bytes before the first NUL.
func CString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// Strings returns a list of strings: u32 number, then each (CMDLINE).
func (r *Reader) Strings() []string {
	n := r.U32()
	if uint64(n) > uint64(r.Left())/4 {
		r.Bytes(r.Left() + 1)
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		out = append(out, r.String())
	}
	return out
}

// EventDesc is an entry of the EVENT_DESC feature.
type EventDesc struct {
	Attr Attr
	Name string
	IDs  []uint64
}

// ParseEventDesc reads EVENT_DESC. It returns what it read before an error.
func ParseEventDesc(b []byte, o binary.ByteOrder) ([]EventDesc, error) {
	r := &Reader{B: b, Order: o}
	n, size := r.U32(), r.U32()
	if size < AttrSizeV0 || uint64(n) > uint64(len(b))/uint64(size) {
		return nil, fmt.Errorf("%w: EVENT_DESC says it has %d events with attributes of %d bytes", ErrFeature, n, size)
	}
	var out []EventDesc
	for range n {
		raw, ids := r.Bytes(int(size)), uint64(r.U32())
		d := EventDesc{Name: r.String()}
		if ids > uint64(r.Left())/8 {
			return out, fmt.Errorf("%w: EVENT_DESC names %d ids for an event", ErrFeature, ids)
		}
		for range ids {
			d.IDs = append(d.IDs, r.U64())
		}
		if r.Err != nil {
			return out, r.Err
		}
		var err error
		if d.Attr, err = ParseAttr(raw, o); err != nil {
			return out, err
		}
		out = append(out, d)
	}
	return out, nil
}

// BuildID is an entry of the BUILD_ID feature.
type BuildID struct {
	PID  int32
	Misc uint16
	ID   []byte
	Path string
}

const buildIDBytes = 20

// ParseBuildIDs reads BUILD_ID: records with pid s32, 20 bytes of id (padded
// to 24, the first pad byte its size with MiscBuildIDSize) and the path.
func ParseBuildIDs(b []byte, o binary.ByteOrder) ([]BuildID, error) {
	var out []BuildID
	r := &Reader{B: b, Order: o}
	for r.Left() >= HeaderSize {
		r.U32()
		misc, size := r.U16(), int(r.U16())
		body := r.Bytes(size - HeaderSize)
		if len(body) < 4+24 {
			return out, fmt.Errorf("%w: entry of %d bytes in BUILD_ID", ErrFeature, size)
		}
		n := buildIDBytes
		if misc&MiscBuildIDSize != 0 {
			n = min(int(body[4+buildIDBytes]), buildIDBytes)
		}
		out = append(out, BuildID{PID: int32(o.Uint32(body)), Misc: misc,
			ID: bytes.Clone(body[4 : 4+n]), Path: CString(body[28:])})
	}
	return out, nil
}
