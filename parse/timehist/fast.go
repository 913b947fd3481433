package timehist

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync/atomic"
)

// scanner finds the lines of a block, and reads those in perf's own columns
// without looking for words:
//
//	      time    cpu  task name (width)   wait time  sch delay   run time
//	296.340436 [0000]  perf[2469]              0.000      0.000      0.000
//	296.340437 [0000]  perf[2469]                                           awakened: a[7]
//
// It takes nothing that the tolerant reader would read differently, and leaves
// every line that is not exactly so. It knows nothing of what came before, so
// it can run ahead of the reader.
type scanner struct {
	columns
	sec   uint64 // the eight bytes before the point of the latest time
	secNS uint64 // ... and what they tell
	hint  *atomic.Uint32
}

// columns is where a row's parts stand.
type columns struct {
	width uint8 // of the task column
	cpus  uint8 // of the bitmap of -V; 0: none
	prio  bool  // --prio
}

// record is a line of a block, with what it tells when it is in columns.
type record struct {
	at               uint64 // ns
	name             nameWords
	hash             uint32 // of name
	wait, delay, run uint32 // us
	off, end         uint32 // the line
	tail             uint32 // what is behind the run time, or the task that was awakened
	cpu              uint16
	kind             rowKind // rowNone: a line for the tolerant reader
	columns
}

// Columns of a row without -V and --prio.
const (
	colPoint = 8 // of the time
	colCPU   = 16
	colTask  = 24
	lenTimes = 33 // " %6lu.%03lu %6lu.%03lu %6lu.%03lu"
	lenPrio  = 10 // "  %-8s"
	lenEvent = 35 // the blanks between a task and its event

	usualWidth = 30 // of the task column, which perf widens for longer names
	usualLine  = colTask + usualWidth + lenTimes + 2
	maxBitmap  = 200
)

func (c columns) pack() uint32 {
	v := uint32(c.width) | uint32(c.cpus)<<8
	if c.prio {
		v |= 1 << 16
	}
	return v
}

func unpackColumns(v uint32) columns {
	return columns{uint8(v), uint8(v >> 8), v>>16 != 0}
}

// task is where the task column begins.
func (c columns) task() int {
	if c.cpus == 0 {
		return colTask
	}
	return colTask + int(c.cpus) + 2
}

// times is where the durations begin.
func (c columns) times() int {
	n := c.task() + int(c.width)
	if c.prio {
		n += lenPrio
	}
	return n
}

func newScanner() *scanner {
	return &scanner{columns: columns{width: usualWidth}, hint: new(atomic.Uint32)}
}

// ahead returns a scanner for another goroutine, which learns from s.
func (s *scanner) ahead() *scanner { return &scanner{columns: s.columns, hint: s.hint} }

// learn passes the columns of a row that the tolerant reader read on to the
// scanner.
func (s *scanner) learn(row *row, l *layout) {
	c := columns{prio: l.prio}
	if l.bitmap {
		if l.cpus == 0 || l.cpus > maxBitmap {
			return
		}
		c.cpus = uint8(l.cpus)
	}
	if w := row.runEnd - lenTimes - c.times(); w >= minNameWidth && w <= maxNameWidth {
		c.width = uint8(w)
		s.hint.Store(c.pack())
	}
}

// fits reports whether a row in columns c is one of this layout.
func (l *layout) fits(c columns) bool {
	return l.prio == c.prio && l.bitmap == (c.cpus > 0) && (!l.bitmap || l.cpus == int(c.cpus))
}

// scan appends a record for every whole line of p[from:] to recs and returns
// where the line begins that p cuts.
func (s *scanner) scan(p []byte, from int, recs []record) ([]record, int) {
	for from < len(p) {
		if len(recs) == cap(recs) {
			recs = slices.Grow(recs, len(p)/usualLine+1)
		}
		rec := &recs[:len(recs)+1][len(recs)]
		if !s.row(p, from, rec) && !s.again(p, from, rec) {
			n := bytes.IndexByte(p[from:], '\n')
			if n < 0 {
				break
			}
			rec.off, rec.end, rec.kind = uint32(from), uint32(from+n), rowNone
		}
		recs = recs[:len(recs)+1]
		from = int(rec.end) + 1
	}
	return recs, from
}

// again tries a row with the columns that the tolerant reader saw last.
func (s *scanner) again(p []byte, from int, rec *record) bool {
	c := unpackColumns(s.hint.Load())
	if c.width == 0 || c == s.columns {
		return false
	}
	s.columns = c
	return s.row(p, from, rec)
}

// row reads the row at p[from:], if it is one in columns and its end is in p.
//
// This function, reader.takeRecord and capture.addSwitch decide the speed of
// the package (see BenchmarkReadStream): hardly a call, and one branch for all
// checks of the numbers.
func (s *scanner) row(p []byte, from int, rec *record) bool {
	task, times := s.task(), s.times()
	end := times + lenTimes
	q := p[from:]
	if len(q) < end+2 {
		return false
	}
	head := (*[colTask]byte)(q)
	if sec := binary.LittleEndian.Uint64(head[:]); sec != s.sec && !s.seconds(sec) {
		return false
	}
	x := binary.LittleEndian.Uint64(head[colPoint+1:])<<16 | 0x3030
	bad := noDigits(x) | uint64(head[colPoint]^'.') | uint64(head[colCPU-1]^' ')
	usec := eight(x)

	x = binary.LittleEndian.Uint64(head[colCPU:])
	bad |= (x & 0xffffff00000000ff) ^ ('[' | ']'<<40 | ' '<<48 | ' '<<56)
	x = x<<24&0xffffffff00000000 | zeros&0xffffffff
	bad |= noDigits(x)
	if bad != 0 {
		return false
	}
	rec.at, rec.cpu = s.secNS+usec*1e3, uint16(eight(x))
	rec.off, rec.columns = uint32(from), s.columns
	rec.name = loadName(q[task : task+int(s.width)])
	rec.hash = rec.name.hash()

	num := (*[lenTimes]byte)(q[times:end])
	wait := binary.LittleEndian.Uint64(num[3:])
	delay := binary.LittleEndian.Uint64(num[14:])
	run := binary.LittleEndian.Uint64(num[25:])
	const blanks = ' ' | ' '<<8 | ' '<<16
	bad = uint64(((binary.LittleEndian.Uint32(num[0:]) ^ blanks) | (binary.LittleEndian.Uint32(num[11:]) ^ blanks) |
		(binary.LittleEndian.Uint32(num[22:]) ^ blanks)) & 0xffffff)
	bad |= ((wait ^ point) | (delay ^ point) | (run ^ point)) & (0xff << 32)
	wait, delay, run = squeeze(wait), squeeze(delay), squeeze(run)
	bad |= faults(wait) | faults(delay) | faults(run) | ^(wait&delay&run)&(bit4&0xffffffff00000000)
	if bad != 0 {
		return s.wakeup(q, from, rec)
	}
	rec.wait, rec.delay, rec.run = uint32(eight(wait)), uint32(eight(delay)), uint32(eight(run))
	rec.kind = rowSwitch
	if (s.cpus != 0 || s.prio) && !s.extras(q, int(rec.cpu)) {
		return false
	}
	return rec.lineEnd(q, from, end)
}

// extras checks the bitmap and the priority of a switch row.
func (s *scanner) extras(q []byte, cpu int) bool {
	if s.cpus != 0 {
		bitmap := q[colTask:s.task()]
		if cpu >= int(s.cpus) || bitmap[cpu] != 's' && bitmap[cpu] != 'i' || !isBlank(bitmap[:cpu]) || !isBlank(bitmap[cpu+1:]) {
			return false
		}
	}
	if s.prio {
		at := s.task() + int(s.width)
		return isBlank(q[at:at+2]) && q[at+2] != ' ' && isPrio(trimRight(q[at+2:at+lenPrio]))
	}
	return true
}

// isBlank reports whether p is blanks alone.
func isBlank(p []byte) bool {
	for ; len(p) >= 8; p = p[8:] {
		if binary.LittleEndian.Uint64(p) != ' '*ones {
			return false
		}
	}
	for _, c := range p {
		if c != ' ' {
			return false
		}
	}
	return true
}

// wakeup reads an awakened: row. Its bitmap is blank and it has no priority.
func (s *scanner) wakeup(q []byte, from int, rec *record) bool {
	task := s.task()
	at := task + int(s.width) + lenEvent
	if len(q) < at+len(awakenedMark) || string(q[at:at+len(awakenedMark)]) != string(awakenedMark) {
		return false
	}
	if !isBlank(q[colTask:task]) || !isBlank(q[at-lenEvent:at]) {
		return false
	}
	n := bytes.IndexByte(q[at:], '\n')
	if n < 0 {
		return false
	}
	rec.kind = rowWakeup
	rec.tail, rec.end = uint32(from+at+len(awakenedMark)), uint32(from+at+n)
	return true
}

// lineEnd finds the end of the line and what stands between the run time and
// it. It reports whether the end is in q and the rest stands apart.
func (rec *record) lineEnd(q []byte, from, end int) bool {
	n := end
	switch {
	case q[end] == '\n':
	case q[end] == ' ' && q[end+1] == '\n':
		n = end + 1
	case q[end] != ' ' && q[end] != '\r' && q[end] != '\t':
		return false
	default:
		i := bytes.IndexByte(q[end:], '\n')
		if i < 0 {
			return false
		}
		n = end + i
		if q[end] == '\r' && i != 1 {
			return false
		}
	}
	rec.tail, rec.end = uint32(from+end), uint32(from+n)
	return true
}

// seconds reads the first eight bytes of a row.
func (s *scanner) seconds(x uint64) bool {
	if faults(x) != 0 || x>>56 == ' ' {
		return false
	}
	s.sec, s.secNS = x, eight(x)*1e9
	return true
}

// Eight bytes at once, the first in the lowest byte. In digits (0x30-0x39) bit 4
// of each byte is set, in blanks (0x20) it is not.
const (
	ones  = 0x0101010101010101
	bit4  = 0x1010101010101010
	lows  = 0x0f0f0f0f0f0f0f0f
	highs = 0xf0f0f0f0f0f0f0f0
	zeros = 0x3030303030303030
	sixes = 0x0606060606060606
	point = '.' << 32
)

// squeeze takes the point out of "dddd.ddd" and puts a blank in front.
func squeeze(x uint64) uint64 {
	return x<<8&0x000000ffffffff00 | x&0xffffff0000000000 | ' '
}

// faults is 0 when x is digits with nothing but blanks before them.
func faults(x uint64) uint64 {
	blank := ^x & bit4 >> 4 // 1 in each byte that is no digit
	lead := blank * 0xff
	d := x | bit4
	return (d^zeros)&highs | (d&lows+sixes)&bit4 | // digits once the blanks are zeros
		x&(blank*0x0f) | // a blank has no low bits
		lead&(lead+1) // the blanks are the lowest bytes
}

// noDigits is 0 when x is eight digits.
func noDigits(x uint64) uint64 {
	return (x^zeros)&highs | (x&lows+sixes)&bit4
}

// eight is the number that eight digits make; blanks count as zeros. Pairs,
// then fours, then all eight are joined.
func eight(x uint64) uint64 {
	x = (x & lows) * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	x = x * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return x * (10000<<32 + 1) >> 32
}
