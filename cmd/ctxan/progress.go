package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Reading that takes less is over before a bar is of use.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// progress shows on a terminal how far reading is. It is a parse.Meter: a read
// costs an addition, and the bar is drawn by a goroutine of its own.
type progress struct {
	total, done atomic.Int64
	quit        chan struct{}
	drawn       sync.WaitGroup
}

// startProgress draws on w, a terminal, until stop.
func startProgress(w io.Writer, after, every time.Duration) *progress {
	p := &progress{quit: make(chan struct{})}
	p.drawn.Go(func() {
		select {
		case <-p.quit:
		case <-time.After(after):
			p.draw(w, every)
		}
	})
	return p
}

func (p *progress) draw(w io.Writer, every time.Duration) {
	bar := progressbar.NewOptions64(max(p.total.Load(), 1), progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowBytes(true), progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish(), progressbar.OptionUseANSICodes(true))
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		total := max(p.total.Load(), 1)
		bar.ChangeMax64(total)
		bar.Set64(min(p.done.Load(), total-1)) // it is done when it is gone
		select {
		case <-p.quit:
			bar.Clear()
			return
		case <-tick.C:
		}
	}
}

// Expect implements parse.Meter.
func (p *progress) Expect(n int64) { p.total.Add(n) }

// Read implements parse.Meter.
func (p *progress) Read(n int) { p.done.Add(int64(n)) }

// stop clears the bar.
func (p *progress) stop() {
	close(p.quit)
	p.drawn.Wait()
}
