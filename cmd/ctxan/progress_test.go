package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is a terminal that several goroutines may look at.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// waitFor waits until a screen shows something.
func waitFor(t *testing.T, s *screen, what string) {
	t.Helper()
	for range 1000 {
		if strings.Contains(s.String(), what) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%q is not shown: %q", what, s.String())
}

func TestProgress(t *testing.T) {
	s := &screen{}
	p := startProgress(s, time.Millisecond, time.Millisecond)
	p.Expect(1000)
	p.Read(250)
	waitFor(t, s, "25%")
	p.Expect(1000)
	p.Read(750)
	waitFor(t, s, "50%")
	p.Read(5000) // more than was expected
	waitFor(t, s, "99%")
	p.stop()
	if out := s.String(); !strings.HasSuffix(out, "\r") && !strings.HasSuffix(out, "\x1b[2K\r") {
		t.Errorf("the bar is left on the screen: %q", out[max(len(out)-40, 0):])
	}
	if strings.Contains(s.String(), "100%") {
		t.Error("done before it was")
	}
}

// TestNoProgress: what is over soon shows nothing.
func TestNoProgress(t *testing.T) {
	s := &screen{}
	p := startProgress(s, time.Hour, time.Millisecond)
	p.Expect(10)
	p.Read(10)
	p.stop()
	if s.String() != "" {
		t.Errorf("shown: %q", s.String())
	}
}
