package timeline

import (
	"sort"
	"sync/atomic"
)

// chunkEvents is how many events a chunk holds: 64 KiB. stageEvents is how many
// are decoded before they are moved there: 2 KiB. The memory of a chunk was last
// in another core's cache, and moving takes 2 writes an event in it, not 14.
const (
	chunkEvents = 1024
	stageEvents = 32
)

// chunk holds decoded events that wait for their turn. Those of one chunk may
// belong to several runs; it is used again when all of them were handed out.
type chunk struct {
	refs atomic.Int32
	evs  [chunkEvents]Event
}

// piece is a part of a chunk.
type piece struct {
	chunk *chunk
	evs   []Event
}

// gap is a part of the source that was not decoded when it was read.
type gap struct {
	from, to int64
	last     uint64 // the time of the record before
}

// stretch is a run with what of it was decoded already: all, or what stands
// before rest.
type stretch struct {
	Run
	pieces []piece
	rest   int64 // To when nothing is left
	last   uint64
}

// Intake is the reader's end of an [Order]. For every record, the reader calls
// Add, or AddSlow where Add refuses, and then decodes it into the buffer that
// Buffer returned, if it has one:
//
//	dst := in.Buffer()
//	for each record {
//		switch {
//		case !in.Add(to, t):
//			dst = in.Slow(record, ..., &last, dst, decode)
//		case dst != nil:
//			if dst = decode(record, off, &last, dst); len(dst) == cap(dst) {
//				dst = in.Next(dst, to, last)
//			}
//		}
//	}
//	in.Keep(dst)
//
// Its methods belong to one goroutine.
type Intake struct {
	Runs
	o *Order

	stage  [stageEvents]Event // what Buffer is of
	k      int                // how many events are in stage
	filled []piece            // since the last Give
	open   *chunk             // where stage goes
	from   int                // where what belongs to no piece yet begins in open
	n      int                // how many events open has
	gaps   []gap
	shut   bool // the last gap is open: nothing is decoded

	held     []byte // the first records of a run that may turn out to begin with a stray one
	sizes    []int  // of each of them
	heldFrom int64
	tooMuch  bool
}

// maxHeld bounds held.
const maxHeld = 64 << 10

// Buffer returns where to decode to, with room for at least one event, or nil
// while nothing is to be decoded.
func (in *Intake) Buffer() []Event {
	if in.shut || in.open == nil {
		return nil
	}
	return in.stage[:in.k:min(stageEvents, chunkEvents-in.n)]
}

// Serve fills the buffers that the merge waits for. The reader calls it every
// few hundred records.
func (in *Intake) Serve() {
	o := in.o
	o.mu.Lock()
	for len(o.asked) > 0 {
		o.serveOrWait()
	}
	o.mu.Unlock()
}

// Keep takes the buffer back.
func (in *Intake) Keep(dst []Event) {
	if dst != nil {
		in.k = len(dst)
	}
}

// Next takes a full buffer, whose last record ended at to, and returns the next
// one, nil when there is none: what follows in this run is read again later.
func (in *Intake) Next(dst []Event, to int64, last uint64) []Event {
	in.k = len(dst)
	in.flush()
	if in.n == chunkEvents {
		in.cutPiece()
		in.o.drop(in.open)
		in.n, in.from = 0, 0
		if in.open = in.o.chunk(); in.open == nil {
			in.shutAt(to, last)
		}
	}
	return in.Buffer()
}

// flush moves what is in stage to the chunk, which has room for it.
func (in *Intake) flush() {
	in.n += copy(in.open.evs[in.n:], in.stage[:in.k])
	in.k = 0
}

// cutPiece makes a piece of what the open chunk has since the last one.
func (in *Intake) cutPiece() {
	if in.open != nil && in.k > 0 {
		in.flush()
	}
	if in.open != nil && in.n > in.from {
		in.open.refs.Add(1)
		in.filled = append(in.filled, piece{in.open, in.open.evs[in.from:in.n]})
		in.from = in.n
	}
}

func (in *Intake) shutAt(off int64, last uint64) {
	in.gaps = append(in.gaps, gap{off, 1<<63 - 1, last})
	in.shut = true
}

// resume goes on decoding with the record at off, if there is a chunk.
func (in *Intake) resume(off int64) {
	if !in.shut {
		return
	}
	if in.open == nil {
		if in.open = in.o.chunk(); in.open == nil {
			return
		}
		in.n, in.from = 0, 0
	}
	in.gaps[len(in.gaps)-1].to = off
	in.shut = false
}

// A Recorder decodes one record into dst, which has room for an event. A record
// without a time gets *last, which it keeps up to date.
type Recorder func(rec []byte, off int64, last *uint64, dst []Event) []Event

// Slow takes a record that Add refused; t and cpu as for AddSlow. It keeps what
// Buffer returned, decodes the record, if that is to be done now, and returns the
// buffer to go on with.
func (in *Intake) Slow(rec []byte, off int64, t uint64, cpu int, last *uint64, dst []Event, decode Recorder) []Event {
	in.Keep(dst)
	to := off + int64(len(rec))
	began := in.AddSlow(off, to, t, cpu)
	if began {
		in.begin(off, last)
	}
	if in.unsure() {
		in.holdBack(rec, off, began)
		return nil
	}
	if len(in.held) > 0 {
		in.release(last, decode)
	}
	in.decode(rec, off, last, decode)
	return in.Buffer()
}

// begin starts a run.
func (in *Intake) begin(off int64, last *uint64) {
	*last = in.cur.Base
	in.held, in.sizes, in.tooMuch = in.held[:0], in.sizes[:0], false
	if in.open == nil && !in.shut { // the very first record
		in.shutAt(off, *last)
	}
	in.resume(off)
}

// holdBack keeps a record that may be a stray one, or comes behind one, until
// the next one tells. As long as it does not, they count as left in the source.
func (in *Intake) holdBack(rec []byte, off int64, began bool) {
	if began {
		in.heldFrom = off
		if !in.shut {
			in.shutAt(off, in.cur.Base)
		}
	}
	if len(in.held)+len(rec) > maxHeld {
		in.tooMuch = true
	}
	if !in.tooMuch {
		in.held, in.sizes = append(in.held, rec...), append(in.sizes, len(rec))
	}
}

// release decodes the records that were held back.
func (in *Intake) release(last *uint64, decode Recorder) {
	held, off := in.held, in.heldFrom
	in.held = in.held[:0]
	if in.tooMuch {
		return
	}
	if g := len(in.gaps) - 1; in.gaps[g].from < off || in.open == nil {
		return // it was not for them that nothing is decoded
	}
	in.gaps = in.gaps[:len(in.gaps)-1]
	in.shut = false
	for _, size := range in.sizes {
		in.decode(held[:size:size], off, last, decode)
		held, off = held[size:], off+int64(size)
	}
}

// decode decodes a record into the open chunk and puts its event in its place.
func (in *Intake) decode(rec []byte, off int64, last *uint64, decode Recorder) {
	if in.shut {
		return
	}
	dst := in.Buffer()
	had := len(dst)
	if dst = decode(rec, off, last, dst); len(dst) == had {
		return
	}
	in.k = len(dst)
	if in.cur.Inverted {
		in.settle()
	}
	if len(dst) == cap(dst) {
		in.Next(dst, off+int64(len(rec)), *last)
	}
}

// settle puts the last event in its place among those of its run.
func (in *Intake) settle() {
	e := *in.back(0)
	k := 0
	for {
		p := in.back(k + 1)
		if p == nil || p.Off < in.cur.From || p.Time <= e.Time {
			break
		}
		*in.back(k) = *p
		k++
	}
	*in.back(k) = e
}

// back returns the event k before the last one; nil: none that was not given.
func (in *Intake) back(k int) *Event {
	if k < in.k {
		return &in.stage[in.k-1-k]
	}
	k -= in.k
	if k < in.n-in.from {
		return &in.open.evs[in.n-1-k]
	}
	k -= in.n - in.from
	for i := len(in.filled) - 1; i >= 0; i-- {
		evs := in.filled[i].evs
		if k < len(evs) {
			return &evs[len(evs)-1-k]
		}
		k -= len(evs)
	}
	return nil
}

// Give ends the run and hands all runs since the last Give to the merge, with
// the time up to which every event is in the runs given so far (inclusive). It
// returns the error that ended the merge, if one did, and keeps the buffer.
func (in *Intake) Give(limit uint64) error {
	in.cutPiece()
	runs := in.Take()
	out := make([]stretch, len(runs))
	pieces, gaps := in.filled, in.gaps
	for i, r := range runs {
		out[i] = stretch{Run: r, rest: r.To, last: r.Base}
		out[i].leave(&gaps)
		pieces = in.share(&out[i], pieces)
	}
	for _, p := range in.filled { // each run has its own hold on what it needs
		in.o.drop(p.chunk)
	}
	in.filled = nil
	in.gaps = in.gaps[:0]
	if in.shut { // with nothing behind it yet
		in.shutAt(0, 0)
	}
	return in.o.give(out, limit)
}

// leave notes what of a run was not decoded, and moves on in the gaps.
func (s *stretch) leave(gaps *[]gap) {
	for len(*gaps) > 0 {
		g := (*gaps)[0]
		if g.from >= s.To {
			return
		}
		if g.to > s.From {
			if s.rest = s.From; g.from > s.From {
				s.rest, s.last = g.from, g.last
			}
			return
		}
		*gaps = (*gaps)[1:]
	}
}

// share gives a run the events that stand in it, and returns what is left.
func (in *Intake) share(s *stretch, pieces []piece) []piece {
	for len(pieces) > 0 {
		evs := pieces[0].evs
		lo := sort.Search(len(evs), func(i int) bool { return evs[i].Off >= s.From })
		hi := lo + sort.Search(len(evs)-lo, func(i int) bool { return evs[lo+i].Off >= s.rest })
		if hi > lo {
			pieces[0].chunk.refs.Add(1)
			s.pieces = append(s.pieces, piece{pieces[0].chunk, evs[lo:hi]})
		}
		if hi < len(evs) {
			return pieces
		}
		pieces = pieces[1:]
	}
	return nil
}
