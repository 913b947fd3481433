package symbol

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxDictionary bounds the memory that unpacking takes: the window of the
// highest level of xz and of ordinary levels of zstd.
const maxDictionary = 128 << 20

// packing names the compression of a file by how that begins, "" for none.
func packing(head []byte) string {
	for name, magic := range map[string]string{"gzip": "\x1f\x8b", "bzip2": "BZh", "xz": "\xfd7zXZ\x00", "zstd": "\x28\xb5\x2f\xfd", "zlib": "\x78\x9c"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return name
		}
	}
	return ""
}

// unpacked returns a reader of what is packed in r, nil when it is not packed.
func unpacked(r io.Reader) (io.ReadCloser, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(32)
	return unpacker(packing(head), br, head)
}

func unpacker(packing string, r io.Reader, head []byte) (io.ReadCloser, error) {
	switch packing {
	case "gzip":
		return gzip.NewReader(r)
	case "zlib":
		return zlib.NewReader(r)
	case "bzip2":
		return io.NopCloser(bzip2.NewReader(r)), nil
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxDictionary))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	case "xz":
		if n := xzDictionary(head); n > maxDictionary {
			return nil, fmt.Errorf("xz with a dictionary of %d bytes", n)
		}
		z, err := xz.NewReader(r)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(z), nil
	}
	return nil, nil
}

// xzDictionary returns the size of the dictionary that the first block asks
// for. The library takes that much memory, but touches only as much of it as
// comes out, which the callers bound.
//
// Layout: the .xz file format, sections 3.1 and 5.3.1.
func xzDictionary(head []byte) int64 {
	const streamHeader = 12
	if len(head) < streamHeader+2 {
		return 0
	}
	b := head[streamHeader+2:]
	for sizes := head[streamHeader+1] >> 6; sizes > 0; sizes &= sizes - 1 {
		for len(b) > 0 && b[0]&0x80 != 0 {
			b = b[1:]
		}
		b = b[min(1, len(b)):]
	}
	const lzma2 = 0x21
	if len(b) < 3 || b[0] != lzma2 || b[2] > 40 {
		return 0
	}
	if b[2] == 40 {
		return 1<<32 - 1
	}
	return int64(2|b[2]&1) << (b[2]/2 + 11)
}

// spooler keeps unpacked data in temporary files that have no name any more.
type spooler struct {
	left int64 // bytes that it may still take
}

// keep copies up to limit bytes of r into a file.
func (s *spooler) keep(r io.Reader, limit int64) (f *os.File, size int64, err error) {
	if f, err = os.CreateTemp("", "ctxan-symbols-*"); err != nil {
		return nil, 0, fmt.Errorf("unpacking: %w; set TMPDIR to a folder with room", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			f = nil
		}
	}()
	if err = os.Remove(f.Name()); err != nil {
		return f, 0, err
	}
	limit = min(limit, s.left)
	size, err = io.Copy(f, io.LimitReader(r, limit+1))
	switch {
	case size > limit:
		return f, 0, errLimit
	case err != nil:
		return f, 0, fmt.Errorf("unpacking: %w", err)
	}
	s.left -= size
	return f, size, nil
}

// inMemory unpacks r, which must not give more than limit bytes.
func inMemory(r io.Reader, limit int64) ([]byte, error) {
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, limit+1))
	if n > limit {
		return nil, errLimit
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return out.Bytes(), err
}
