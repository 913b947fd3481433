package timeline

import (
	"errors"
	"runtime"
	"sync"
)

// Decoder turns the records of a run into events, when they have to be read
// again. Decode is called from the goroutine that fills the [Intake], for one
// stretch after the other, of different runs in turn.
type Decoder interface {
	// Decode appends the events of the records from from on to dst, until dst
	// has no more room (it never grows) or to is reached, and returns where to
	// go on. A record without a time gets *last, which it keeps up to date.
	// An error ends the reading of the whole source.
	Decode(from, to int64, last *uint64, dst []Event) (events []Event, next int64, err error)
}

// OrderOptions tune an Order.
type OrderOptions struct {
	CPUs   int // how many runs are expected to overlap; 0: a few
	Events int // how many events may wait in memory for their turn; 0: 16 MiB of them
}

// Order merges runs into one stream ordered by time (events of equal time:
// by their place in the source) and hands it out in batches.
//
// The reader walks over the records once, in the order of the source, and
// decodes them on the way into the [Intake]. They wait in memory until their
// time has come, which for perf is two rounds of draining its buffers. When
// that is more than OrderOptions.Events, the rest of the run stays in the
// source, and is read again, a buffer at a time, when it is due. Memory is thus
// bounded by the number of CPUs and not by how far apart in the source events
// of one time stand:
//
//	events that wait    16 MiB
//	buffers             4 MiB; more, up to 80 MiB, for thousands of CPUs or a source in no order
//	runs                at most MaxRuns, 9 MiB
//
// The merge and all that consumes the events run in a goroutine of their own.
type Order struct {
	dec  Decoder
	in   Intake
	m    merger
	done chan struct{}

	mu     sync.Mutex
	reader sync.Cond // a chunk is free, a buffer is wanted, a round is done, or the merge has failed
	merge  sync.Cond // a round is there, or the end
	rounds []round
	undone int // rounds given and not merged yet
	asked  []*cursor
	free   []*chunk
	made   int     // chunks in existence
	arena  []chunk // those beyond fewChunks
	most   int
	closed bool
	err    error
}

// round is what Give hands to the merge: runs, and up to which time all is there.
type round struct {
	runs  []stretch
	limit uint64
}

// MaxRuns is how many runs may wait. A source whose records are in no order at
// all comes to that; it is then merged as far as possible, and what comes too
// late is left out and counted.
const MaxRuns = 1 << 17

// waitEvents is how many events wait in memory, 16 MiB. bufferEvents is how many
// the buffers for those that are read again hold as long as that is enough, 4 MiB,
// and maxEvents how many they hold at most, 80 MiB. Runs that overlap with so
// many others that it is not enough are left out and counted.
const (
	waitEvents   = 16 << 20 / 64
	bufferEvents = 4 << 20 / 64
	maxEvents    = 80 << 20 / 64
)

// minRecord is the size of the smallest record that is an event, about.
const minRecord = 32

// batchEvents is how many events a batch has at most.
const batchEvents = 1024

// maxUndone is how many rounds the reader may be ahead of the merge: further
// on, it would only find the memory taken and leave more to be read again.
const maxUndone = 4

// NewOrder starts an order. emit is called from another goroutine, with a batch
// that is reused; its first error ends everything. Close or Abort must be called.
func NewOrder(dec Decoder, emit func([]Event) error, opt OrderOptions) *Order {
	if opt.Events <= 0 {
		opt.Events = waitEvents
	}
	o := &Order{dec: dec, done: make(chan struct{}), most: opt.Events / chunkEvents}
	o.reader.L, o.merge.L = &o.mu, &o.mu
	o.in.o = o
	size := min(max(bufferEvents/(3*max(opt.CPUs, 1)+8), 2*OrderSlack), 1024)
	o.m = merger{order: o, bufSize: size, spare: bufferEvents, out: make([]Event, 0, batchEvents), emit: emit}
	go o.mergeLoop()
	return o
}

// Intake is where the reader puts what it reads.
func (o *Order) Intake() *Intake { return &o.in }

// give hands runs to the merge. It returns the error that ended the merge, if
// one did.
func (o *Order) give(runs []stretch, limit uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.undone >= maxUndone {
		o.serveOrWait()
	}
	if o.err != nil {
		return o.err
	}
	o.rounds = append(o.rounds, round{runs, limit})
	o.undone++
	o.merge.Signal()
	return nil
}

// serveOrWait fills a buffer that the merge wants, or waits until something
// changes. It is called with the lock held.
func (o *Order) serveOrWait() {
	if len(o.asked) == 0 {
		o.reader.Wait()
		return
	}
	c := o.asked[0]
	o.asked = o.asked[1:]
	o.mu.Unlock()
	c.fill(o.dec)
	c.ready <- struct{}{}
	o.mu.Lock()
}

// chunk returns a chunk to decode into. It waits for one as long as the merge
// is at work, and returns nil when all are taken by what must wait.
func (o *Order) chunk() *chunk {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if n := len(o.free); n > 0 {
			c := o.free[n-1]
			o.free = o.free[:n-1]
			c.refs.Store(1)
			return c
		}
		if o.made < o.most {
			c := o.newChunk()
			c.refs.Store(1)
			return c
		}
		if o.undone == 0 || o.err != nil {
			return nil
		}
		o.serveOrWait()
	}
}

// fewChunks are made one by one: 2 MiB, enough for most files. What is beyond
// is made at once.
const fewChunks = 32

func (o *Order) newChunk() *chunk {
	o.made++
	if o.made <= fewChunks {
		return &chunk{}
	}
	if o.arena == nil {
		o.arena = make([]chunk, o.most-fewChunks)
		adviseHuge(o.arena)
	}
	return &o.arena[o.made-fewChunks-1]
}

// drop lets go of a chunk.
func (o *Order) drop(c *chunk) {
	if c != nil && c.refs.Add(-1) == 0 {
		o.mu.Lock()
		o.free = append(o.free, c)
		o.mu.Unlock()
		o.reader.Signal()
	}
}

// ask has the reader fill the next buffer of a cursor.
func (o *Order) ask(c *cursor) {
	o.mu.Lock()
	o.asked = append(o.asked, c)
	o.mu.Unlock()
	o.reader.Signal()
}

// Close merges what is left and waits for the end.
func (o *Order) Close() (OrderStats, error) {
	_ = o.in.Give(^uint64(0))
	o.finish()
	o.letGo()
	return o.m.stats, o.err
}

// Abort ends the order without merging what is left.
func (o *Order) Abort() { o.finish() }

// finish lets the merge end, and serves it until it has.
func (o *Order) finish() {
	o.mu.Lock()
	o.closed = true
	o.merge.Signal()
	for o.undone > 0 && o.err == nil || len(o.asked) > 0 {
		o.serveOrWait()
	}
	o.mu.Unlock()
	<-o.done
}

// letGo makes the memory of the events free for what comes next: the collector
// would let as much again be allocated before it looked.
func (o *Order) letGo() {
	many := o.made >= o.most/2
	o.free, o.arena, o.rounds, o.asked, o.in.open, o.m = nil, nil, nil, nil, nil, merger{stats: o.m.stats}
	if many {
		runtime.GC()
	}
}

// OrderStats tells what an order had to leave out.
type OrderStats struct {
	Events  uint64 // handed out
	Late    uint64 // left out, as later ones had been handed out already
	LateOff int64  // where the last of them stands
	Runs    uint64 // runs left out because too many overlapped
	Reread  uint64 // events that had to be read again
}

func (o *Order) mergeLoop() {
	defer close(o.done)
	for {
		r, ok := o.next()
		if !ok {
			return
		}
		err := o.m.round(r)
		o.mu.Lock()
		o.undone--
		o.err = err
		o.mu.Unlock()
		o.reader.Signal()
		if err != nil {
			return
		}
	}
}

// next waits for a round.
func (o *Order) next() (round, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.rounds) == 0 {
		if o.closed {
			return round{}, false
		}
		o.merge.Wait()
	}
	r := o.rounds[0]
	o.rounds = o.rounds[1:]
	return r, true
}

// cursor reads one run: first the pieces that wait in memory, then, a buffer at
// a time, what was left in the source: the merge takes events from cur while the
// decoder fills next.
type cursor struct {
	pieces []piece
	run    Run    // what was left in the source: empty when nothing was
	at     int64  // where decoding goes on
	last   uint64 // for records without a time

	cur   []Event // what is left of the current buffer or piece
	hold  *chunk  // of the current piece
	buf   []Event // all of the current buffer
	next  []Event // being filled, when asked
	carry []Event // the last events before next, which a later record may precede

	asked bool
	ready chan struct{}
	err   error
	late  uint64 // events before this time are left out
}

// fill decodes into next. With inversions in the run the last events of the
// buffer stay back until those behind them are known.
func (c *cursor) fill(dec Decoder) {
	kept := copy(c.next[:cap(c.next)], c.carry)
	c.next = c.next[:kept]
	for len(c.next) < cap(c.next) && c.at < c.run.To && c.err == nil {
		from := c.at
		c.next, c.at, c.err = dec.Decode(c.at, c.run.To, &c.last, c.next)
		if c.err == nil && c.at <= from {
			c.err = errNoProgress
		}
	}
	if c.run.Inverted {
		settle(c.next, kept)
	}
}

var errNoProgress = errors.New("timeline: the decoder made no progress")

// settle sorts events that are in order but for records that come a few places
// too late; those before from are in order.
func settle(evs []Event, from int) {
	for i := max(from, 1); i < len(evs); i++ {
		if evs[i].Time >= evs[i-1].Time {
			continue
		}
		e, k := evs[i], i
		for k > 0 && evs[k-1].Time > e.Time {
			evs[k] = evs[k-1]
			k--
		}
		evs[k] = e
	}
}
