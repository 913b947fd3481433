package timehist

import (
	"bytes"
	"io"
)

// The input is read and scanned in blocks, a few of them ahead, by another
// goroutine, into buffers that go round. Before a block is room for the cut
// line at the end of the block before it, which bounds the length of a line.
const (
	blockSize = 256 << 10
	maxLine   = 64 << 10
	buffers   = 4
)

// block is a piece of the input and its lines.
type block struct {
	buf  []byte
	recs []record
	last []byte // behind the last line, at the end of the input
	long bool   // a line that is too long stands behind these
	err  error  // of the source; io.EOF at its end
}

// readBlocks feeds the lines of src to the reader. It returns the error of src,
// after all that was read before it.
func readBlocks(src io.Reader, r *reader) error {
	free := make(chan *block, buffers)
	full := make(chan *block, buffers)
	for range buffers {
		free <- &block{}
	}
	f := &filler{src: src, scan: r.scan.ahead()}
	go f.run(free, full)

	var err error
	for b := range full {
		r.consume(b.buf, b.recs)
		if b.long {
			r.no++
			r.drop(errLong)
		}
		if len(b.last) > 0 {
			r.open = true
			r.line(b.last, r.no+1)
		}
		if b.err != nil && b.err != io.EOF && b.err != io.ErrUnexpectedEOF {
			err = b.err
		}
		free <- b
	}
	return err
}

// filler reads blocks and cuts them into lines.
type filler struct {
	src     io.Reader
	scan    *scanner
	started bool
	skip    bool   // within a line that is too long
	carry   []byte // the beginning of the line that the next block continues
}

// run fills blocks until the source ends.
func (f *filler) run(free <-chan *block, full chan<- *block) {
	defer close(full)
	for b := range free {
		f.fill(b)
		full <- b
		if b.err != nil {
			return
		}
	}
}

func (f *filler) fill(b *block) {
	if b.buf == nil {
		b.buf = make([]byte, maxLine+blockSize)
	}
	var n int
	n, b.err = io.ReadFull(f.src, b.buf[maxLine:])
	b.recs, b.last, b.long = b.recs[:0], nil, false
	from, end := f.begin(b.buf, maxLine+n)
	b.recs, from = f.scan.scan(b.buf[:end], from, b.recs)
	rest := b.buf[from:end]
	switch {
	case b.err != nil:
		b.last = rest
	case len(rest) > maxLine:
		f.skip, b.long = true, true
		rest = nil
	}
	f.carry = append(f.carry[:0], rest...)
}

// begin returns where the lines of a block begin: with the line that the block
// before it cut, or behind one that is too long.
func (f *filler) begin(buf []byte, end int) (from, to int) {
	from = maxLine
	if f.skip {
		i := bytes.IndexByte(buf[from:end], '\n')
		if i < 0 {
			return end, end
		}
		f.skip = false
		return from + i + 1, end
	}
	from -= copy(buf[maxLine-len(f.carry):], f.carry)
	if !f.started {
		f.started = true
		if bytes.HasPrefix(buf[from:end], []byte("\xef\xbb\xbf")) {
			from += 3
		}
	}
	return from, end
}
