package perfdata

import (
	"strings"
	"testing"

	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// at returns the path and the offset that a stack's space has at an address.
func (s *spaces) at(id uint32, addr uint64) (path uint32, off uint64) {
	m := find(s.kept[s.stacks[id].space].maps.list, addr)
	if m == nil {
		return 0, 0
	}
	return m.path, addr - m.start + m.pgoff
}

func mapAt(pid int32, start, size, pgoff uint64, path uint32) timeline.Event {
	var ev timeline.Event
	(&mapEvent{pid: pid, start: start, size: size, pgoff: pgoff, path: path}).put(&ev)
	return ev
}

func sampleOf(pid int32, chain uint32) timeline.Event {
	return timeline.Event{Kind: timeline.KindSwitch, TID: pid, PID: pid, Flags: timeline.FlagHasPID, Stack: chain}
}

// TestSpaces follows a process through fork, exec, new mappings and exit: the
// same chain is another stack wherever its addresses mean something else.
func TestSpaces(t *testing.T) {
	s := newSpaces()
	one := func(ev timeline.Event) uint32 {
		b := []timeline.Event{ev}
		s.apply(b)
		return b[0].Stack
	}
	fork := timeline.Event{Kind: timeline.KindFork, PID: 20, Other: 20, Arg: 10}
	exec := timeline.Event{Kind: timeline.KindComm, PID: 20, TID: 20, Arg: 1}
	one(mapAt(10, 0x1000, 0x1000, 0, 1))
	parent := one(sampleOf(10, 7))
	one(fork)
	child := one(sampleOf(20, 7))
	one(mapAt(20, 0x3000, 0x1000, 0x500, 2))
	if again := one(sampleOf(20, 7)); again != child {
		t.Errorf("a mapping that replaces nothing made another stack: %d, %d", again, child)
	}
	one(mapAt(20, 0x1800, 0x1000, 0, 3))
	replaced := one(sampleOf(20, 7))
	one(exec)
	one(mapAt(20, 0x1000, 0x1000, 0, 4))
	execed := one(sampleOf(20, 7))
	kernel, kernel2 := one(sampleOf(10, 9|kernelOnly)), one(sampleOf(20, 9|kernelOnly))
	for i, c := range []struct {
		stack uint32
		addr  uint64
		path  uint32
		off   uint64
	}{
		{parent, 0x1900, 1, 0x900}, {parent, 0x3000, 0, 0}, {child, 0x1900, 1, 0x900}, {child, 0x3010, 2, 0x510},
		{replaced, 0x1700, 1, 0x700}, {replaced, 0x1900, 3, 0x100}, {replaced, 0x3010, 2, 0x510}, {execed, 0x1900, 4, 0x900}, {execed, 0x3010, 0, 0},
	} {
		if path, off := s.at(c.stack, c.addr); path != c.path || off != c.off {
			t.Errorf("%d: %#x is file %d at %#x, want %d at %#x", i, c.addr, path, off, c.path, c.off)
		}
	}
	if kernel != kernel2 || kernel == 0 {
		t.Errorf("a chain of the kernel alone is %d and %d", kernel, kernel2)
	}
}

// TestSpacesForget frees what processes without stacks had mapped.
func TestSpacesForget(t *testing.T) {
	s := newSpaces()
	for pid := int32(100); pid < 200_000; pid++ {
		s.apply([]timeline.Event{
			{Kind: timeline.KindFork, PID: pid, Other: pid, Arg: 1},
			{Kind: timeline.KindComm, PID: pid, TID: pid, Arg: 1},
			mapAt(pid, 0x1000, 0x1000, 0, 1), mapAt(pid, 0x1000, 0x800, 0, 2), mapAt(pid, 0x5000, 0x1000, 0, 3),
			{Kind: timeline.KindFork, PID: pid, Other: pid + 1e6, Arg: uint64(pid)},
			{Kind: timeline.KindExit, PID: pid, TID: pid},
			{Kind: timeline.KindExit, PID: pid, TID: pid + 1e6},
		})
	}
	if len(s.byPID) > 1 || s.mappings != 0 || s.over != 0 {
		t.Errorf("%d spaces, %d mappings are left, %d were refused", len(s.byPID), s.mappings, s.over)
	}
}

// TestChains interns chains and finds them again, beyond the growth of the table.
func TestChains(t *testing.T) {
	c := newChains()
	ids := map[uint32]int{}
	for range 2 {
		for i := range 20_000 {
			var b []byte
			for _, w := range chainOf(i) {
				b = le.AppendUint64(b, w)
			}
			id := c.id(b)
			if have, ok := ids[id]; ok && have != i {
				t.Fatalf("chains %d and %d are both %d", have, i, id)
			}
			ids[id] = i
			if got := c.chain(id); !equal(got, chainOf(i)) {
				t.Fatalf("chain %d reads %#x", i, got)
			}
		}
	}
	if c.len() != 20_000 {
		t.Errorf("%d chains", c.len())
	}
	if c.id(nil) != 0 {
		t.Error("an empty chain has an id")
	}
}

// TestBuildIDsOfPaths gives no build-id where files of two containers, or of a
// guest, stand under one name.
func TestBuildIDsOfPaths(t *testing.T) {
	padded := append([]byte("12345678"), make([]byte, 12)...)
	f := newMapFiles(&capture{buildIDs: []wire.BuildID{
		{Path: "/a", ID: []byte("one"), Misc: wire.MiscUser}, {Path: "/a", ID: []byte("one"), Misc: wire.MiscUser},
		{Path: "/b", ID: []byte("one"), Misc: wire.MiscUser}, {Path: "/b", ID: []byte("two"), Misc: wire.MiscUser}, {Path: "/b", ID: []byte("one"), Misc: wire.MiscUser},
		{Path: "/c", ID: padded, Misc: wire.MiscUser}, {Path: "/c", ID: padded[:8], Misc: wire.MiscUser},
		{Path: "/d", ID: []byte("one"), Misc: wire.MiscUser}, {Path: "/d", ID: []byte("two"), Misc: wire.MiscGuestUser},
	}}, nil)
	for path, want := range map[string]string{"/a": "one", "/b": "", "/c": "12345678", "/d": "one"} {
		if got := strings.TrimRight(string(f.buildIDs[path]), "\x00"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
