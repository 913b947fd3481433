package timehist

import (
	"bytes"
	"io"
)

// The input is read in blocks, a few of them ahead, by another goroutine, into
// buffers that go round. Before a block is room for the cut
// line at the end of the block before it, which bounds the length of a line.
const (
	blockSize = 128 << 10
	maxLine   = 64 << 10
	buffers   = 4
)

// block is a piece of the input.
type block struct {
	buf     []byte
	lines   []byte   // its whole lines, in buf
	scanned bool     // recs are those of lines
	recs    []record // room for them
	last    []byte   // behind the last line, at the end of the input
	long    bool     // a line that is too long stands behind these
	err     error    // of the source; io.EOF at its end
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
		r.block(b)
		if b.err != nil && b.err != io.EOF && b.err != io.ErrUnexpectedEOF {
			err = b.err
		}
		free <- b
	}
	return err
}

// block takes the lines of a block.
func (r *reader) block(b *block) {
	if !b.scanned {
		b.recs, _ = r.scan.scan(b.lines, 0, b.recs[:0])
	}
	r.consume(b.lines, b.recs)
	if b.long {
		r.no++
		r.drop(errLong)
	}
	if len(b.last) > 0 {
		r.open = true
		r.line(b.last, r.no+1)
	}
}

// filler reads blocks and cuts them into lines.
type filler struct {
	src     io.Reader
	scan    *scanner
	started bool
	skip    bool   // within a line that is too long
	carry   []byte // the beginning of the line that the next block continues
}

// run fills blocks until the source ends. It scans them as well while the
// reader has enough to do, so that both are busy all the time.
func (f *filler) run(free <-chan *block, full chan<- *block) {
	defer close(full)
	for b := range free {
		f.fill(b)
		if b.scanned = len(full) > 0; b.scanned {
			b.recs, _ = f.scan.scan(b.lines, 0, b.recs[:0])
		}
		full <- b
		if b.err != nil {
			return
		}
	}
}

// fill reads a block and finds its whole lines.
func (f *filler) fill(b *block) {
	if b.buf == nil {
		b.buf = make([]byte, maxLine+blockSize)
	}
	var n int
	n, b.err = io.ReadFull(f.src, b.buf[maxLine:])
	b.last, b.long = nil, false
	text := f.begin(b.buf, maxLine+n)
	end := bytes.LastIndexByte(text, '\n') + 1
	b.lines = text[:end]
	rest := text[end:]
	switch {
	case b.err != nil:
		b.last = rest
	case len(rest) > maxLine:
		f.skip, b.long = true, true
		rest = nil
	}
	f.carry = append(f.carry[:0], rest...)
}

// begin returns the text of a block: from the line on that the block before it
// cut, or behind one that is too long.
func (f *filler) begin(buf []byte, end int) []byte {
	if f.skip {
		i := bytes.IndexByte(buf[maxLine:end], '\n')
		if i < 0 {
			return nil
		}
		f.skip = false
		return buf[maxLine+i+1 : end]
	}
	from := maxLine - len(f.carry)
	copy(buf[from:], f.carry)
	if !f.started {
		f.started = true
		return bytes.TrimPrefix(buf[from:end], []byte("\xef\xbb\xbf"))
	}
	return buf[from:end]
}
