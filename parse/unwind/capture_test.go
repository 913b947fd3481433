package unwind

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/perfdata/wire"
	"ctxan/parse/symbol"
)

// sample is what a recorded sample has for unwinding.
type sample struct {
	pid, tid int
	time     uint64
	mask     uint64
	abi      uint64
	words    []uint64
	stack    []byte
	maps     int // how many of the process's mappings came before it
}

// recording is a perf.data file, read as far as unwinding needs it.
type recording struct {
	samples []sample
	maps    map[int][]symbol.Mapping // by process, in the order of the file
}

var le = binary.LittleEndian

// readRecording reads a perf.data file of one event, in file mode.
func readRecording(tb testing.TB, data []byte) *recording {
	tb.Helper()
	h, err := wire.ParseHeader(data)
	if err != nil {
		tb.Fatal(err)
	}
	layouts := map[uint64]*eventLayout{}
	var first *eventLayout
	for at := h.Attrs.Offset; at < h.Attrs.End(); at += h.AttrSize {
		a, err := wire.ParseAttr(data[at:at+h.AttrSize-16], h.Order)
		if err != nil {
			tb.Fatal(err)
		}
		l := &eventLayout{wire.NewLayout(&a), a}
		ids := wire.Section{Offset: le.Uint64(data[at+h.AttrSize-16:]), Size: le.Uint64(data[at+h.AttrSize-8:])}
		for i := ids.Offset; i < ids.End(); i += 8 {
			layouts[le.Uint64(data[i:])] = l
		}
		if first == nil {
			first = l
		}
	}
	r := &recording{maps: map[int][]symbol.Mapping{}}
	for at := h.Data.Offset; at < h.Data.End(); {
		size := uint64(le.Uint16(data[at+6:]))
		rec := data[at : at+size]
		l := first
		if l.ID >= 0 && len(layouts) > 1 && wire.Type(le.Uint32(rec)) == wire.RecSample {
			l = layouts[le.Uint64(rec[l.ID:])]
		}
		r.record(tb, rec, l)
		at += size
	}
	return r
}

type eventLayout struct {
	wire.Layout
	attr wire.Attr
}

func (r *recording) record(tb testing.TB, rec []byte, l *eventLayout) {
	misc := le.Uint16(rec[4:])
	switch wire.Type(le.Uint32(rec)) {
	case wire.RecMmap2:
		pid := int(int32(le.Uint32(rec[8:])))
		m := symbol.Mapping{Start: le.Uint64(rec[16:]), PgOff: le.Uint64(rec[32:]), PID: pid}
		m.End = m.Start + le.Uint64(rec[24:])
		if misc&wire.MiscMmapBuildID != 0 {
			m.BuildID = bytes.Clone(rec[44 : 44+rec[40]])
		}
		m.Path, _, _ = strings.Cut(string(rec[72:]), "\x00")
		if le.Uint32(rec[64:])&4 != 0 { // PROT_EXEC
			r.maps[pid] = append(r.maps[pid], m)
		}
	case wire.RecSample:
		tail, err := l.Tail(rec)
		if err != nil {
			tb.Fatal(err)
		}
		s := sample{mask: l.attr.RegsUser, pid: int(le.Uint32(rec[l.TID:])), tid: int(le.Uint32(rec[l.TID+4:])), time: le.Uint64(rec[l.Time:])}
		s.maps = len(r.maps[s.pid])
		if tail.RegsUser >= 0 {
			s.abi = le.Uint64(rec[tail.RegsUser:])
		}
		if s.abi != 0 {
			for at := tail.RegsUser + 8; len(s.words) < popcount(s.mask); at += 8 {
				s.words = append(s.words, le.Uint64(rec[at:]))
			}
		}
		if tail.StackDyn >= 0 {
			s.stack = rec[tail.Stack : tail.Stack+int(min(le.Uint64(rec[tail.StackDyn:]), uint64(tail.StackSize)))]
		}
		r.samples = append(r.samples, s)
	}
}

// identify gives a build-id to mappings that have none in their record. The
// libraries in testdata have no code, by which files without one are checked.
func (r *recording) identify() {
	for _, maps := range r.maps {
		for i := range maps {
			if len(maps[i].BuildID) == 0 {
				maps[i].BuildID = []byte{1}
			}
		}
	}
}

func popcount(v uint64) (n int) {
	for ; v != 0; v &= v - 1 {
		n++
	}
	return n
}

// space returns the mappings that a sample was taken in.
func (r *recording) space(u *Unwinder, s *sample) Areas {
	var out Areas
	for _, m := range r.maps[s.pid][:s.maps] {
		out = slices.DeleteFunc(out, func(a Area) bool { return a.Start < m.End && m.Start < a.End })
		out = append(out, Area{m.Start, m.End, m.PgOff, u.Object(m)})
	}
	slices.SortFunc(out, func(a, b Area) int {
		return strings.Compare(fmt.Sprintf("%020d", a.Start), fmt.Sprintf("%020d", b.Start))
	})
	return out
}

// unwind unwinds a sample.
func (s *sample) unwind(u *Unwinder, space Space, buf []uint64) ([]uint64, Stop) {
	var regs Regs
	if why := regs.SetSample(X86_64, s.mask, s.abi, s.words); why != Complete {
		return nil, Stop{Reason: why}
	}
	return u.Unwind(&regs, Stack{Base: regs.SP(), Data: s.stack}, space, buf)
}

// relative writes addresses as perf script does: as offsets in the file that
// is mapped there.
func relative(space Areas, addrs []uint64) []uint64 {
	out := slices.Clone(addrs)
	for i, v := range out {
		if a, ok := space.Find(v); ok {
			out[i] = v - a.Start + a.PgOff
		}
	}
	return out
}

// scripted is a stack that perf script printed.
type scripted struct {
	tid   int
	time  string
	addrs []uint64 // of user frames
}

// readScript reads the output of perf script -F tid,time,ip.
func readScript(tb testing.TB, text string) []scripted {
	tb.Helper()
	var out []scripted
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(block, "\n")
		head := strings.Fields(lines[0])
		if len(head) < 2 {
			tb.Fatalf("not a sample: %q", lines[0])
		}
		tid, err := strconv.Atoi(head[0])
		if err != nil {
			tb.Fatal(err)
		}
		s := scripted{tid: tid, time: strings.TrimSuffix(head[1], ":")}
		for _, l := range lines[1:] {
			v, err := strconv.ParseUint(strings.Fields(l)[0], 16, 64)
			if err != nil {
				tb.Fatalf("not an address: %q", l)
			}
			if v < 1<<63 {
				s.addrs = append(s.addrs, v)
			}
		}
		out = append(out, s)
	}
	return out
}

// seconds writes a time as perf script --ns does.
func seconds(ns uint64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }
