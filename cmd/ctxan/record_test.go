package main

import (
	"errors"
	"io"
	"slices"
	"testing"
)

// TestByteSize takes sizes as they are written, and refuses the rest.
func TestByteSize(t *testing.T) {
	for in, want := range map[string]int64{"": 0, "1": 1, "500M": 500 << 20, "2g": 2 << 30, "3kb": 3 << 10, "7B": 7} {
		if got, err := byteSize(in); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"B", "b", "K", "MB", " ", "-5", "0", "1e3", "9999999999999T", "5X", "\xff"} {
		if got, err := byteSize(in); err == nil {
			t.Errorf("%q: %d, want an error", in, got)
		}
	}
}

// TestProblems says each of several errors, in a line of its own and once.
func TestProblems(t *testing.T) {
	a, b := errors.New("a"), io.ErrShortWrite
	got := problems(errors.Join(errors.Join(a, b), a, nil, errors.Join(b)))
	if want := []string{"a", "short write"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := problems(a); !slices.Equal(got, []string{"a"}) {
		t.Errorf("one error: %q", got)
	}
}
