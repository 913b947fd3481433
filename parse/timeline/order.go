package timeline

import "errors"

// Decoder turns the records of a run into events. It is called from one
// goroutine, for one stretch after the other, of different runs in turn.
type Decoder interface {
	// Decode appends the events of the records from from on to dst, until dst
	// has no more room (it never grows) or to is reached, and returns where to
	// go on. A record without a time gets *last, which it keeps up to date.
	// An error ends the reading of the whole source.
	Decode(from, to int64, last *uint64, dst []Event) (events []Event, next int64, err error)
}

// OrderOptions tune an Order.
type OrderOptions struct {
	CPUs int // how many runs are expected to overlap; 0: a few
}

// Order merges runs into one stream ordered by time (events of equal time:
// by their place in the source) and hands it out in batches.
//
// It holds runs, of 64 bytes each, and for those that overlap at the moment
// two buffers of decoded events; what waits for its turn stays in the source
// and is read when it is due. Memory is thus bounded by the number of CPUs and
// not by how far apart in the source events of one time stand:
//
//	buffers of events   16 MiB; more, up to 80 MiB, for thousands of CPUs or a source in no order
//	runs                at most MaxRuns, 9 MiB
//
// Decoding and merging run in a goroutine each.
type Order struct {
	merge   chan round
	decode  chan *cursor
	done    chan struct{}
	stopped chan struct{} // closed when the merge has failed
	err     error         // set before stopped or done is closed

	m merger
}

// round is what Add hands to the merge: runs, and up to which time all is there.
type round struct {
	runs  []Run
	limit uint64
}

// MaxRuns is how many runs may wait. A source whose records are in no order at
// all comes to that; it is then merged as far as possible, and what comes too
// late is left out and counted.
const MaxRuns = 1 << 17

// orderEvents is how many events all buffers hold as long as that is enough,
// 16 MiB, and maxEvents how many they hold at most, 80 MiB. Runs that overlap
// with so many others that it is not enough are left out and counted.
const (
	orderEvents = 16 << 20 / 64
	maxEvents   = 80 << 20 / 64
)

// minRecord is the size of the smallest record that is an event, about.
const minRecord = 32

// batchEvents is how many events a batch has at most.
const batchEvents = 1024

// NewOrder starts an order. emit is called from another goroutine, with a batch
// that is reused; its first error ends everything. Close must be called.
func NewOrder(dec Decoder, emit func([]Event) error, opt OrderOptions) *Order {
	o := &Order{
		merge: make(chan round, 16), decode: make(chan *cursor, 1024),
		done: make(chan struct{}), stopped: make(chan struct{}),
	}
	size := min(max(orderEvents/(3*max(opt.CPUs, 1)+8), 2*OrderSlack), 1024)
	o.m = merger{request: o.decode, bufSize: size, spare: orderEvents, out: make([]Event, 0, batchEvents), emit: emit}
	go o.decodeLoop(dec)
	go o.mergeLoop()
	return o
}

// Add gives runs, and the time up to which every event is in the runs given so
// far (inclusive). It returns the error that ended the merge, if one did.
func (o *Order) Add(runs []Run, limit uint64) error {
	select {
	case o.merge <- round{runs, limit}:
		return nil
	case <-o.stopped:
		return o.err
	}
}

// Close merges what is left and waits for the end.
func (o *Order) Close() (OrderStats, error) {
	if o.Add(nil, ^uint64(0)) == nil {
		close(o.merge)
	}
	<-o.done
	return o.m.stats, o.err
}

// Abort ends the order without merging what is left.
func (o *Order) Abort() {
	close(o.merge)
	<-o.done
}

// OrderStats tells what an order had to leave out.
type OrderStats struct {
	Events  uint64 // handed out
	Late    uint64 // left out, as later ones had been handed out already
	LateOff int64  // where the last of them stands
	Runs    uint64 // runs left out because too many overlapped
}

func (o *Order) mergeLoop() {
	defer close(o.done)
	defer close(o.decode)
	for r := range o.merge {
		if err := o.m.round(r); err != nil {
			o.err = err
			close(o.stopped)
			break
		}
	}
	o.m.drain()
}

// decodeLoop fills the buffers that the merge asks for, in turn.
func (o *Order) decodeLoop(dec Decoder) {
	for c := range o.decode {
		c.fill(dec)
		c.ready <- struct{}{}
	}
}

// cursor reads one run, a buffer at a time: the merge takes events from cur
// while the decoder fills next.
type cursor struct {
	run  Run
	at   int64  // where decoding goes on
	last uint64 // for records without a time

	cur   []Event // what is left of the current buffer
	buf   []Event // all of it
	next  []Event // being filled, when asked
	carry []Event // the last events of buf, which a later record may precede

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
