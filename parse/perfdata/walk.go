package perfdata

import (
	"bufio"
	"errors"
	"io"

	"ctxan/parse/perfdata/wire"
)

// walkRecords calls f for all records of the file and its parts, in the order
// of the file, up to what is none, or until it returns false. rec is valid
// during the call, and f may change it.
func (c *capture) walkRecords(f func(typ wire.Type, rec []byte, off int64) bool) error {
	rec := make([]byte, wire.MaxRecord+1)
	r := bufio.NewReaderSize(nil, 256<<10)
	for _, seg := range c.segments {
		r.Reset(io.NewSectionReader(c.in.R, seg.from, seg.to-seg.from))
		if more, err := c.walkSegment(r, rec, seg, f); err != nil || !more {
			return err
		}
	}
	return nil
}

func (c *capture) walkSegment(r *bufio.Reader, rec []byte, seg segment, f func(wire.Type, []byte, int64) bool) (more bool, err error) {
	for off := seg.from; ; {
		size, err := readRecord(r, rec, c)
		switch {
		case size == 0 && (errors.Is(err, io.EOF) || errors.Is(err, errRecordSize) || errors.Is(err, errCutRecord)):
			return true, nil // the index says it
		case size == 0:
			return false, err
		}
		typ := wire.Type(c.order.Uint32(rec))
		n := c.payload(typ, rec[:size])
		if !f(typ, rec[:size], off) {
			return false, nil
		}
		off += int64(size)
		if n == 0 {
			continue
		}
		if n > seg.to-off {
			return true, nil
		}
		off += n
		r.Reset(io.NewSectionReader(c.in.R, off, seg.to-off))
	}
}
