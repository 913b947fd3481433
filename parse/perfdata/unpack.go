package perfdata

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"ctxan/parse/perfdata/wire"
)

// Bounds of what compressed records may unpack to.
const (
	unpackBase   = 256 << 20 // and
	unpackFactor = 64        // times the size of the file, but
	unpackMost   = 16 << 30  // no more than this
	maxWindow    = 128 << 20 // of zstd: that of its highest level
)

// unpack writes the records of a file made by perf record -z, with the
// compressed ones unpacked, to an unlinked temporary file, and goes on reading
// there.
//
// The payloads of all compressed records are one zstd stream that is flushed at
// the end of each and never ends; records may begin in one and end in the next
// (perf_session__process_compressed_event in tools/perf/util/session.c). Type 83
// has a u64 size of its payload, which is padded.
func (c *capture) unpack() error {
	spool, err := os.CreateTemp("", "ctxan-perf-data-")
	if err != nil {
		return fmt.Errorf("a place to unpack it: %w", err)
	}
	if err := os.Remove(spool.Name()); err != nil {
		return errors.Join(fmt.Errorf("a place to unpack it: %w", err), spool.Close())
	}
	c.packed = map[wire.Type]uint64{}
	u := &unpacker{c: c, out: bufio.NewWriterSize(spool, 256<<10),
		limit: min(unpackBase+unpackFactor*c.in.Size, unpackMost)}
	err = u.run()
	if flush := u.out.Flush(); err == nil {
		err = flush
	}
	if err != nil {
		return errors.Join(err, spool.Close())
	}
	c.spool = spool
	c.in.R, c.in.Size = spool, u.size
	c.dataFrom, c.dataTo = 0, u.size
	c.notes = append(c.notes, "compressed records were unpacked: offsets count in what came out")
	return nil
}

// unpacker copies records.
type unpacker struct {
	c     *capture
	out   *bufio.Writer
	size  int64
	limit int64
	part  partial
	held  [][]byte // plain records that came while one of the stream was incomplete
}

var errUnpackLimit = errors.New("compressed records unpack to more than they may")

func (u *unpacker) run() error {
	r := bufio.NewReaderSize(io.NewSectionReader(u.c.in.R, u.c.dataFrom, u.c.dataTo-u.c.dataFrom), 256<<10)
	z := newZstdFeed(u)
	defer z.close()
	rec := make([]byte, wire.MaxRecord+1)
	for off := u.c.dataFrom; ; {
		size, err := readRecord(r, rec, u.c)
		if size == 0 {
			switch {
			case errors.Is(err, io.EOF):
			case errors.Is(err, errCutRecord), errors.Is(err, errRecordSize):
				u.c.cut(fmt.Sprintf("unpacking stopped at byte %d: %v", off, err))
			default:
				return err
			}
			return nil
		}
		typ := wire.Type(u.c.order.Uint32(rec))
		if err := u.record(typ, rec[:size], r, z); err != nil {
			if errors.Is(err, errWrite) {
				return err
			}
			u.c.cut(fmt.Sprintf("unpacking stopped at byte %d: %v", off, err))
			return nil
		}
		off += int64(size)
	}
}

var errCutRecord = errors.New("the last record is cut")

// readRecord reads one record, with its size in its header. A size of 0 comes
// with an error, io.EOF at the end.
func readRecord(r *bufio.Reader, rec []byte, c *capture) (int, error) {
	if n, err := io.ReadFull(r, rec[:wire.HeaderSize]); err != nil {
		return 0, cutOr(err, n == 0)
	}
	size := int(c.order.Uint16(rec[6:]))
	if size < wire.HeaderSize {
		return 0, errRecordSize
	}
	if _, err := io.ReadFull(r, rec[wire.HeaderSize:size]); err != nil {
		return 0, cutOr(err, false)
	}
	return size, nil
}

// cutOr tells the end of a file from an error of reading it.
func cutOr(err error, clean bool) error {
	switch {
	case errors.Is(err, io.EOF) && clean:
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errCutRecord
	}
	return err
}

// record takes a record: its payload into the stream, or itself into the output.
func (u *unpacker) record(typ wire.Type, rec []byte, r *bufio.Reader, z *zstdFeed) error {
	if typ == wire.RecCompressed || typ == wire.RecCompressed2 {
		u.c.packed[typ]++
	}
	switch typ {
	case wire.RecCompressed:
		return z.feed(rec[wire.HeaderSize:])
	case wire.RecCompressed2:
		if len(rec) < wire.HeaderSize+8 {
			return errShortRec
		}
		n := u.c.order.Uint64(rec[wire.HeaderSize:])
		body := rec[wire.HeaderSize+8:]
		if n > uint64(len(body)) {
			return errShortRec
		}
		return z.feed(body[:n])
	}
	if u.part.open() {
		u.held = append(u.held, append([]byte(nil), rec...))
		if len(u.held) > 1<<12 {
			return errors.New("a record of the compressed stream does not end")
		}
		return nil
	}
	if err := u.write(rec); err != nil {
		return err
	}
	if n := u.c.payload(typ, rec); n > 0 {
		got, err := io.CopyN(u.out, r, min(n, u.limit-u.size))
		u.size += got
		return err
	}
	return nil
}

var errWrite = errors.New("writing the unpacked records")

func (u *unpacker) write(b []byte) error {
	if u.size += int64(len(b)); u.size > u.limit {
		u.size -= int64(len(b))
		return errUnpackLimit
	}
	if _, err := u.out.Write(b); err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	return nil
}

// Write takes unpacked bytes. Records that were held back follow as soon as
// the one at hand is complete.
func (u *unpacker) Write(b []byte) (int, error) {
	if err := u.write(b); err != nil {
		return 0, err
	}
	if err := u.part.take(b, u.c); err != nil {
		return 0, err
	}
	if !u.part.open() {
		for _, h := range u.held {
			if err := u.write(h); err != nil {
				return 0, err
			}
		}
		u.held = u.held[:0]
	}
	return len(b), nil
}

// partial follows where in a record a stream of bytes is.
type partial struct {
	head [wire.HeaderSize]byte
	have int // bytes of head
	left int // bytes of the record behind its header
}

func (p *partial) open() bool { return p.have > 0 }

func (p *partial) take(b []byte, c *capture) error {
	for len(b) > 0 {
		if p.have < len(p.head) {
			n := copy(p.head[p.have:], b)
			p.have += n
			b = b[n:]
			if p.have < len(p.head) {
				return nil
			}
			if p.left = int(c.order.Uint16(p.head[6:])) - len(p.head); p.left < 0 {
				return errRecordSize
			}
		}
		n := min(p.left, len(b))
		p.left -= n
		b = b[n:]
		if p.left > 0 {
			return nil
		}
		p.have = 0
	}
	return nil
}

// zstdFeed turns the decoder, which pulls its input, into one that is given it
// piece by piece: feed returns when all that a piece unpacks to is written.
type zstdFeed struct {
	in   chan []byte
	idle chan error // the decoder wants more, or has ended
	cur  []byte
	busy bool
	end  error
}

func newZstdFeed(out io.Writer) *zstdFeed {
	z := &zstdFeed{in: make(chan []byte), idle: make(chan error, 1)}
	go z.decode(out)
	return z
}

func (z *zstdFeed) decode(out io.Writer) {
	d, err := zstd.NewReader(z, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err == nil {
		_, err = io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{d})
		d.Close()
	}
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	z.idle <- err
}

// Read gives the decoder its input. It waits for the next piece.
func (z *zstdFeed) Read(p []byte) (int, error) {
	for len(z.cur) == 0 {
		if z.busy {
			z.busy = false
			z.idle <- nil
		}
		b, ok := <-z.in
		if !ok {
			return 0, io.EOF
		}
		z.cur, z.busy = b, true
	}
	n := copy(p, z.cur)
	z.cur = z.cur[n:]
	return n, nil
}

// feed unpacks a piece. b is not kept.
func (z *zstdFeed) feed(b []byte) error {
	if z.end != nil {
		return z.end
	}
	if len(b) == 0 {
		return nil
	}
	select {
	case z.in <- b:
		z.end = <-z.idle
	case z.end = <-z.idle:
	}
	if z.end != nil {
		z.end = fmt.Errorf("zstd: %w", z.end)
	}
	return z.end
}

func (z *zstdFeed) close() {
	close(z.in)
	if z.end == nil {
		<-z.idle
	}
}
