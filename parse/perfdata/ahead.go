package perfdata

import (
	"fmt"
	"io"

	"ctxan/parse/perfdata/wire"
)

// ahead reads a part of a file from front to back, one block ahead of whoever
// takes the blocks, in a goroutine of its own.
type ahead struct {
	r      io.ReaderAt
	full   chan aheadBlock
	free   chan []byte
	stop   chan struct{}
	closed bool
}

// aheadBlock is a block with room for the rest of a record in front of it.
type aheadBlock struct {
	buf []byte // headroom, then what was read
	pos int64  // where what was read stands
	err error
}

const (
	// headroom is in front of a block: what the block before has of a record
	// that ends in this one.
	headroom = wire.MaxRecord + 1
	// aheadBlocks is how many blocks there are: one at work, one ready, one
	// being read.
	aheadBlocks = 3
)

// readAhead begins to read [from, to) in blocks of a size.
func readAhead(r io.ReaderAt, from, to, size int64) *ahead {
	a := &ahead{r: r, full: make(chan aheadBlock, aheadBlocks), free: make(chan []byte, aheadBlocks), stop: make(chan struct{})}
	go a.read(from, to, size)
	return a
}

func (a *ahead) read(from, to, size int64) {
	defer close(a.full)
	for made := 0; from < to; {
		var buf []byte
		n := min(size, to-from)
		select {
		case <-a.stop:
			return
		case buf = <-a.free:
		default:
			if made < aheadBlocks {
				buf = make([]byte, headroom+n)
				made++
				break
			}
			select {
			case <-a.stop:
				return
			case buf = <-a.free:
			}
		}
		b := aheadBlock{buf: buf[:headroom+n], pos: from}
		if err := readFull(a.r, b.buf[headroom:], from); err != nil {
			b.err = fmt.Errorf("reading at %d: %w", from, err)
		}
		a.full <- b // never waits: there are as many places as blocks
		if b.err != nil {
			return
		}
		from += n
	}
}

// next returns the next block, with what is left of the one before, which
// goes back to the reader, in front of it. ok is false at the end.
func (a *ahead) next(before aheadBlock, left []byte) (b aheadBlock, data []byte, ok bool) {
	b, ok = <-a.full
	if !ok {
		return before, left, false
	}
	data = b.buf[headroom-len(left):]
	copy(data, left)
	if before.buf != nil {
		a.free <- before.buf
	}
	return b, data, true
}

// close ends the reading.
func (a *ahead) close() {
	if !a.closed {
		a.closed = true
		close(a.stop)
	}
}
