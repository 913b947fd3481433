package shared

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Gunzip returns the content of a packed file.
func Gunzip(tb testing.TB, path string) []byte {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// FoldedUser returns the user addresses of a folded stack that perf script
// printed, and how often it was seen. Functions inlined at an address repeat it.
func FoldedUser(tb testing.TB, line string) (n int, addrs string) {
	tb.Helper()
	head, rest, ok := strings.Cut(strings.TrimSpace(line), ";")
	n, err := strconv.Atoi(strings.Fields(head)[0])
	if !ok || err != nil {
		tb.Fatalf("not a folded stack: %q", line)
	}
	var user []uint64
	for frame := range strings.SplitSeq(rest, ";") {
		v, err := strconv.ParseUint(strings.Fields(frame)[0], 16, 64)
		if err != nil {
			tb.Fatalf("not an address: %q", frame)
		}
		if v < 1<<63 {
			user = append(user, v)
		}
	}
	return n, fmt.Sprintf("%x", slices.Compact(user))
}
