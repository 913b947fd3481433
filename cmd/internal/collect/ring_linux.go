package collect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"

	"ctxan/parse/perfdata/wire"
)

// ring is the buffer of one CPU. It belongs to an event of this process that
// never counts, so that it outlives every target; all others send their
// records into it, as the kernel lets events of one CPU do.
type ring struct {
	cpu  int
	h    handle
	size int
	raw  perf.RawRecord
}

// Pages of a ring: as many as are allowed, from the first to the last.
var ringPages = []int{2048, 1024, 512, 256, 128, 64, 32, 16, 8}

// bigRing is how many bytes the rings of all CPUs may have together.
const bigRing = 64 << 20

// ringPages lists the sizes of a ring that are worth trying.
func (s *measurement) ringPages() []int {
	most := max(bigRing/os.Getpagesize()/len(s.cpus), 64)
	return slices.DeleteFunc(slices.Clone(ringPages), func(n int) bool { return n > most })
}

// openRings makes a ring for each CPU, as large as all of them may be.
func openRings(o *opener, cpus []int, clock func(*unix.PerfEventAttr), pages []int) ([]*ring, error) {
	var rings []*ring
	var last error
	for _, n := range pages {
		if rings, last = openRingsOf(o, cpus, clock, n); last == nil {
			return rings, nil
		}
		if !errors.Is(last, unix.EPERM) && !errors.Is(last, unix.ENOMEM) {
			return nil, last
		}
	}
	return nil, fmt.Errorf("ring buffers: %w", last)
}

func openRingsOf(o *opener, cpus []int, clock func(*unix.PerfEventAttr), pages int) (rings []*ring, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeRings(rings))
			rings = nil
		}
	}()
	for _, cpu := range cpus {
		a := recorded(newAttr(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_DUMMY), 0)
		a.Bits |= unix.PerfBitWatermark | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
		a.Wakeup = uint32(pages * os.Getpagesize() / 4)
		clock(&a)
		h, err := o.open(&a, os.Getpid(), cpu, 0)
		if err != nil {
			return rings, err
		}
		r := &ring{cpu: cpu, h: h, size: pages * os.Getpagesize()}
		rings = append(rings, r)
		if h.ev == nil {
			return rings, errors.New("the attribute of a ring is not one of go-perf's")
		}
		if err := h.ev.MapRingNumPages(pages); err != nil {
			return rings, err
		}
	}
	return rings, nil
}

func closeRings(rings []*ring) error {
	var errs []error
	for _, r := range rings {
		errs = append(errs, r.h.close())
	}
	return errors.Join(errs...)
}

// drain hands the records that are there to f, which must not keep them. It
// stops after as many bytes as the ring holds, so that a ring that fills as
// fast as it is read does not keep the others waiting; all that was in it at
// the beginning is read then.
func (r *ring) drain(f func(t wire.Type, misc uint16, body []byte)) (int, error) {
	n := 0
	for n < r.size && r.h.ev.HasRecord() {
		if err := r.h.ev.ReadRawRecord(context.Background(), &r.raw); err != nil {
			return n, err
		}
		f(wire.Type(r.raw.Header.Type), r.raw.Header.Misc, r.raw.Data)
		n += int(r.raw.Header.Size)
	}
	return n, nil
}

// waiter sleeps until a ring is worth reading or a process ends.
type waiter struct {
	fds   []unix.PollFd
	rings int // of fds, how many come first
}

// newWaiter waits for rings, and for the end of processes where the kernel can
// tell of it (since Linux 5.3).
func newWaiter(rings []*ring, pids []int) *waiter {
	w := &waiter{rings: len(rings)}
	for _, r := range rings {
		w.fds = append(w.fds, unix.PollFd{Fd: int32(r.h.fd), Events: unix.POLLIN})
	}
	for _, pid := range pids[:min(len(pids), 64)] {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			w.fds = append(w.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	return w
}

// wait returns when a ring is a quarter full, when a process ended, or after
// some milliseconds.
func (w *waiter) wait(ms int) error {
	_, err := unix.Poll(w.fds, ms)
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	for i := w.rings; i < len(w.fds); i++ {
		if f := &w.fds[i]; f.Revents != 0 && f.Fd >= 0 { // it would be ready for ever
			err = errors.Join(err, unix.Close(int(f.Fd)))
			f.Fd = -1
		}
	}
	return err
}

func (w *waiter) close() error {
	var errs []error
	for i := w.rings; i < len(w.fds); i++ {
		if fd := w.fds[i].Fd; fd >= 0 {
			errs = append(errs, unix.Close(int(fd)))
		}
	}
	return errors.Join(errs...)
}

// lostIn returns how many records a LOST or LOST_SAMPLES record says were lost.
func lostIn(t wire.Type, body []byte) uint64 {
	switch {
	case t == wire.RecLost && len(body) >= 16:
		return binary.LittleEndian.Uint64(body[8:])
	case t == wire.RecLostSamples && len(body) >= 8:
		return binary.LittleEndian.Uint64(body)
	}
	return 0
}
