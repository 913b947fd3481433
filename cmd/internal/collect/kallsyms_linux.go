package collect

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strconv"
)

// kallsyms is a copy of the kernel's symbols, and where its code lies.
type kallsyms struct {
	all       []byte
	text, end uint64 // _text and _etext
}

// readKallsyms reads the kernel's symbols. Where the kernel hides the addresses
// there is an error that says so.
func readKallsyms(p procfs) (*kallsyms, error) {
	b, err := os.ReadFile(p.path("kallsyms"))
	if err != nil {
		return nil, err
	}
	k := &kallsyms{all: b, text: symbolIn(b, "_text"), end: symbolIn(b, "_etext")}
	if k.text == 0 {
		k.text = symbolIn(b, "_stext")
	}
	if k.text == 0 || k.end <= k.text {
		return nil, errHidden
	}
	return k, nil
}

var errHidden = errors.New("the kernel hides the addresses of its symbols")

// symbolIn returns the address of a symbol, 0 when there is none.
func symbolIn(all []byte, name string) uint64 {
	i := bytes.Index(all, []byte(" T "+name+"\n"))
	if i < 0 {
		i = bytes.Index(all, []byte(" t "+name+"\n"))
	}
	if i < 16 {
		return 0
	}
	v, err := strconv.ParseUint(string(all[i-16:i]), 16, 64)
	if err != nil {
		return 0
	}
	return v
}

// write writes the copy, compressed.
func (k *kallsyms) write(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err = z.Write(k.all); err != nil {
		return err
	}
	return z.Close()
}
