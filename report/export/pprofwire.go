package export

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of the messages of a profile.
//
// Layout: proto/profile.proto of github.com/google/pprof.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileStrings     = 6
	profileDuration    = 10
	profilePeriodType  = 11
	profilePeriod      = 12
	profileComment     = 13
	profileDefaultType = 14

	valueTypeType, valueTypeUnit               = 1, 2
	sampleLocations, sampleValues, sampleLabel = 1, 2, 3
	labelKey, labelText                        = 1, 2
	mappingID, mappingStart, mappingLimit      = 1, 2, 3
	mappingFile, mappingBuildID, mappingHas    = 5, 6, 7 // has functions, file names, line numbers, inlined functions: 7 to 10
	locationID, locationMapping, locationAddr  = 1, 2, 3
	locationLine                               = 4
	lineFunction, lineNumber                   = 1, 2
	functionID, functionName, functionSystem   = 1, 2, 3
	functionFile                               = 4
)

// pprofWriter writes the messages of a profile, packed. It keeps the strings,
// which come last; the fields of a message may come in any order.
type pprofWriter struct {
	z       *gzip.Writer
	buf     []byte // not written yet
	msg     []byte // the message at work
	part    []byte // a message or a list in it
	strings map[string]uint64
	list    []string // by number; 0 is ""
	err     error
}

const pprofFlush = 64 << 10

func newPprofWriter(w io.Writer) *pprofWriter {
	return &pprofWriter{z: gzip.NewWriter(w), strings: map[string]uint64{"": 0}, list: []string{""}}
}

// text returns the number of a string.
func (w *pprofWriter) text(s string) uint64 {
	n, ok := w.strings[s]
	if !ok {
		n = uint64(len(w.list))
		w.strings[s] = n
		w.list = append(w.list, s)
	}
	return n
}

// field appends a number; 0 is what a field that is not there has.
func field(b []byte, at protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, at, protowire.VarintType), v)
}

// bytesField appends a message, a packed list or a string.
func bytesField[T string | []byte](b []byte, at protowire.Number, v T) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, at, protowire.BytesType), uint64(len(v)))
	return append(b, v...)
}

// number writes a field of the profile itself.
func (w *pprofWriter) number(at protowire.Number, v uint64) { w.buf = field(w.buf, at, v) }

// end writes the message at work as a field of the profile.
func (w *pprofWriter) end(at protowire.Number) {
	w.buf = bytesField(w.buf, at, w.msg)
	w.msg = w.msg[:0]
	if len(w.buf) >= pprofFlush {
		w.flush()
	}
}

func (w *pprofWriter) flush() {
	if w.err == nil {
		_, w.err = w.z.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

func (w *pprofWriter) valueType(at protowire.Number, name, unit string) {
	w.msg = field(field(w.msg, valueTypeType, w.text(name)), valueTypeUnit, w.text(unit))
	w.end(at)
}

// comment writes a line about the profile.
func (w *pprofWriter) comment(s string) {
	w.buf = protowire.AppendVarint(protowire.AppendTag(w.buf, profileComment, protowire.VarintType), w.text(s))
}

func (w *pprofWriter) sample(chain []uint64, values []int64, labels []pprofLabel) {
	w.part = w.part[:0]
	for _, id := range chain {
		w.part = protowire.AppendVarint(w.part, id)
	}
	w.msg = bytesField(w.msg, sampleLocations, w.part)
	w.part = w.part[:0]
	for _, v := range values {
		w.part = protowire.AppendVarint(w.part, uint64(v))
	}
	w.msg = bytesField(w.msg, sampleValues, w.part)
	for _, l := range labels {
		w.part = field(field(w.part[:0], labelKey, l.key), labelText, l.value)
		w.msg = bytesField(w.msg, sampleLabel, w.part)
	}
	w.end(profileSample)
}

func (w *pprofWriter) mapping(m *pprofMapping) {
	w.msg = field(field(field(w.msg, mappingID, m.id), mappingStart, m.start), mappingLimit, m.limit)
	w.msg = field(field(w.msg, mappingFile, w.text(m.file)), mappingBuildID, w.text(m.buildID))
	for has := range protowire.Number(4) {
		w.msg = field(w.msg, mappingHas+has, 1)
	}
	w.end(profileMapping)
}

func (w *pprofWriter) location(id uint64, l *pprofLocation) {
	w.msg = field(field(field(w.msg, locationID, id), locationMapping, l.mapping), locationAddr, l.addr)
	for _, x := range l.lines {
		w.part = field(field(w.part[:0], lineFunction, x.function), lineNumber, uint64(x.line))
		w.msg = bytesField(w.msg, locationLine, w.part)
	}
	w.end(profileLocation)
}

func (w *pprofWriter) function(id uint64, f *pprofFunction) {
	w.msg = field(field(w.msg, functionID, id), functionName, f.name)
	w.msg = field(field(w.msg, functionSystem, f.name), functionFile, f.file)
	w.end(profileFunction)
}

// texts writes the strings. No message may come after them that has new ones.
func (w *pprofWriter) texts() {
	for _, s := range w.list {
		w.msg = append(w.msg, s...)
		w.end(profileStrings)
	}
}

// close writes what is left. It returns the first error of all writes.
func (w *pprofWriter) close() error {
	w.flush()
	if w.err != nil {
		return w.err
	}
	return w.z.Close()
}
