package timeline

import (
	"cmp"
	"fmt"
	"slices"
)

// head is a cursor in the heap, with the key of its next event.
type head struct {
	time uint64
	off  int64
	c    *cursor
}

func (h *head) before(o *head) bool {
	return h.time < o.time || h.time == o.time && h.off < o.off
}

// waitingRun is a run whose turn has not come. Its cursor is nil unless a
// buffer is being filled ahead.
type waitingRun struct {
	stretch
	late uint64
	c    *cursor
}

func (w *waitingRun) cursor() *cursor {
	if w.c == nil {
		w.c = &cursor{pieces: w.pieces, run: w.Run, at: w.rest, last: w.last, late: w.late}
		if w.rest < w.To {
			w.c.ready = make(chan struct{}, 1)
		}
	}
	return w.c
}

// merger is the state of the merge.
type merger struct {
	order   *Order
	heap    []head       // by key, the smallest first
	waiting []waitingRun // by Run.First, descending: the next one is the last
	free    [][]Event
	bufSize int
	spare   int // how many more events the buffers may hold; below 0: beyond bufferEvents
	limit   uint64
	lastOut uint64
	out     []Event
	emit    func([]Event) error
	stats   OrderStats
}

// round adds runs and hands out all events up to the limit.
func (m *merger) round(r round) error {
	m.add(r.runs)
	limit := r.limit
	if len(m.waiting) > MaxRuns {
		limit = max(limit, m.waiting[len(m.waiting)/2].First)
	}
	if limit < m.limit {
		return nil
	}
	m.limit = limit
	if err := m.upTo(limit); err != nil {
		return err
	}
	return m.flush()
}

// add puts runs among those that wait, and has the first buffers of the next
// ones filled ahead.
func (m *merger) add(runs []stretch) {
	if len(runs) == 0 {
		return
	}
	for _, r := range runs {
		m.waiting = append(m.waiting, waitingRun{stretch: r, late: m.lastOut})
	}
	slices.SortFunc(m.waiting, func(a, b waitingRun) int {
		return cmp.Or(cmp.Compare(b.First, a.First), cmp.Compare(b.From, a.From))
	})
	for i := len(m.waiting) - 1; i >= 0 && m.ahead(); i-- {
		if w := &m.waiting[i]; len(w.pieces) == 0 {
			m.ask(w.cursor())
		}
	}
}

// ahead reports whether there is a buffer to spare.
func (m *merger) ahead() bool { return len(m.free) > 0 || m.spare >= m.bufSize }

// ask has the next buffer of a cursor filled.
func (m *merger) ask(c *cursor) {
	if c.asked || c.at >= c.run.To || c.err != nil {
		return
	}
	if n := len(m.free); n > 0 {
		c.next, m.free = m.free[n-1], m.free[:n-1]
	} else {
		size := m.bufSize
		if m.spare < size { // beyond the room for all: no more than the run needs
			size = min(size, max(int((c.run.To-c.at)/minRecord)+1, 2*OrderSlack))
		}
		c.next = make([]Event, 0, size)
		m.spare -= size
	}
	c.asked = true
	m.order.ask(c)
}

// turn makes the next piece, or the buffer that was asked for, the current one,
// and reports whether the cursor has events. A cursor that has none is at its end.
func (m *merger) turn(c *cursor) (bool, error) {
	for {
		if len(c.pieces) > 0 {
			m.nextPiece(c)
		} else if more, err := m.nextBuffer(c); !more {
			return false, err
		}
		m.skipLate(c)
		if len(c.cur) == 0 {
			continue
		}
		if len(c.pieces) == 0 && m.ahead() {
			m.ask(c)
		}
		return true, nil
	}
}

// nextPiece makes the next piece the current one.
func (m *merger) nextPiece(c *cursor) {
	m.order.drop(c.hold)
	c.cur, c.hold = c.pieces[0].evs, c.pieces[0].chunk
	c.pieces = c.pieces[1:]
	if len(c.pieces) > 0 {
		return
	}
	if m.keepBack(c); len(c.carry) > 0 {
		c.carry = slices.Clone(c.carry) // the chunk will be used again
	}
}

// keepBack leaves the last events for the next buffer, when a record that is
// still to be read may precede them.
func (m *merger) keepBack(c *cursor) {
	c.carry = nil
	if c.run.Inverted && c.at < c.run.To {
		keep := max(len(c.cur)-OrderSlack, 0)
		c.cur, c.carry = c.cur[:keep], c.cur[keep:]
	}
}

// nextBuffer makes the buffer that was asked for the current one. It reports
// false at the end of the run.
func (m *merger) nextBuffer(c *cursor) (bool, error) {
	m.ask(c)
	if !c.asked {
		m.release(c)
		return false, c.err
	}
	<-c.ready
	c.asked = false
	if c.err != nil {
		return false, c.err
	}
	m.stats.Reread += uint64(len(c.next) - len(c.carry))
	m.order.drop(c.hold)
	m.recycle(c.buf)
	c.buf, c.next, c.hold = c.next, nil, nil
	c.cur = c.buf
	m.keepBack(c)
	return true, nil
}

// skipLate leaves out events that should have been handed out before.
func (m *merger) skipLate(c *cursor) {
	for len(c.cur) > 0 && c.cur[0].Time < c.late {
		m.stats.Late++
		m.stats.LateOff = c.cur[0].Off
		c.cur = c.cur[1:]
	}
}

func (m *merger) recycle(buf []Event) {
	switch {
	case buf == nil:
	case cap(buf) < m.bufSize || m.spare < 0:
		m.spare += cap(buf)
	default:
		m.free = append(m.free, buf[:0])
	}
}

func (m *merger) release(c *cursor) {
	m.recycle(c.buf)
	m.order.drop(c.hold)
	for _, p := range c.pieces {
		m.order.drop(p.chunk)
	}
	c.buf, c.cur, c.carry, c.hold, c.pieces = nil, nil, nil, nil, nil
}

// upTo hands out all events up to limit. It is the hot loop of everything that
// reads events: it copies from the cursor with the earliest one as long as no
// other cursor and no waiting run comes before.
func (m *merger) upTo(limit uint64) error {
	for {
		for n := len(m.waiting); n > 0 && m.waiting[n-1].First <= limit; n = len(m.waiting) {
			if len(m.heap) > 0 && m.heap[0].time < m.waiting[n-1].First {
				break
			}
			if err := m.activate(); err != nil {
				return err
			}
		}
		if len(m.heap) == 0 || m.heap[0].time > limit {
			return nil
		}
		stop := m.stopAt(limit)
		c := m.heap[0].c
		for {
			e := c.cur
			out := m.out[len(m.out):cap(m.out)]
			n, room := 0, len(out)
			for n < len(e) && n < room && (e[n].Time < stop.time || e[n].Time == stop.time && e[n].Off <= stop.off) {
				out[n] = e[n] // stretches are short: not worth a memmove
				n++
			}
			m.out = m.out[:len(m.out)+n]
			c.cur = e[n:]
			if len(m.out) == cap(m.out) {
				if err := m.flush(); err != nil {
					return err
				}
			}
			if len(c.cur) == 0 {
				more, err := m.turn(c)
				if err != nil {
					return err
				}
				if !more {
					m.pop()
					break
				}
			} else if n < room {
				m.heap[0].time, m.heap[0].off = c.cur[0].Time, c.cur[0].Off
				m.down()
				break
			}
		}
	}
}

// stopAt returns the key before which the first cursor may go on by itself.
func (m *merger) stopAt(limit uint64) head {
	stop := head{time: limit, off: 1<<63 - 1}
	for i := 1; i < min(3, len(m.heap)); i++ {
		if m.heap[i].before(&stop) {
			stop = m.heap[i]
		}
	}
	if n := len(m.waiting); n > 0 {
		if w := (head{time: m.waiting[n-1].First}); w.before(&stop) {
			stop = w
		}
	}
	return stop
}

// activate puts the next waiting run into the heap.
func (m *merger) activate() error {
	n := len(m.waiting) - 1
	c := m.waiting[n].cursor()
	m.waiting[n] = waitingRun{}
	m.waiting = m.waiting[:n]
	if len(c.pieces) == 0 && !c.asked && m.spare < bufferEvents-maxEvents {
		m.stats.Runs++
		return nil
	}
	more, err := m.turn(c)
	if more {
		m.heap = append(m.heap, head{c.cur[0].Time, c.cur[0].Off, c})
		m.up()
	}
	return err
}

func (m *merger) flush() error {
	if len(m.out) == 0 {
		return nil
	}
	m.stats.Events += uint64(len(m.out))
	m.lastOut = max(m.lastOut, m.out[len(m.out)-1].Time)
	err := m.emit(m.out)
	m.out = m.out[:0]
	if err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	return nil
}

// pop takes the first cursor off the heap.
func (m *merger) pop() {
	n := len(m.heap) - 1
	m.heap[0] = m.heap[n]
	m.heap[n] = head{}
	m.heap = m.heap[:n]
	if n > 0 {
		m.down()
	}
}

// up moves the last cursor to its place.
func (m *merger) up() {
	i := len(m.heap) - 1
	h := m.heap[i]
	for i > 0 && h.before(&m.heap[(i-1)/2]) {
		m.heap[i] = m.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	m.heap[i] = h
}

// down moves the first cursor to its place.
func (m *merger) down() {
	i, n := 0, len(m.heap)
	h := m.heap[0]
	for {
		k := 2*i + 1
		if k >= n {
			break
		}
		if k+1 < n && m.heap[k+1].before(&m.heap[k]) {
			k++
		}
		if !m.heap[k].before(&h) {
			break
		}
		m.heap[i] = m.heap[k]
		i = k
	}
	m.heap[i] = h
}
