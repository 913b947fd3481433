package collect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"ctxan/parse/perfdata/wire"
)

var le = binary.LittleEndian

// synth writes the records that tell what was there before the events: who is
// called what, what is mapped where. They have the time 0.
//
// Layouts: the comments on enum perf_event_type in the kernel's
// include/uapi/linux/perf_event.h; those of perf's own records in
// tools/lib/perf/include/perf/event.h.
type synth struct {
	proc procfs
	w    *wire.Writer
	attr *wire.Attr // of the trailers
	ids  buildIDs
}

func (s *synth) put(typ wire.Type, misc uint16, body []byte) {
	b := append(wire.AppendHeader(nil, typ, misc, 0), body...)
	if typ.Kernel() {
		b = wire.AppendTrailer(b, 0, s.attr, &wire.SampleValues{})
	}
	le.PutUint16(b[6:], uint16(len(b)))
	s.w.Record(b)
}

// padded appends a string with its NUL, padded to 8 bytes.
func padded(b []byte, s string) []byte {
	b = append(append(b, s...), 0)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// idIndex tells on which CPU and of which thread each event was opened.
func (s *synth) idIndex(events []*event) {
	const most = 1024 // a record is at most 64 KB
	var all []handle
	for _, e := range events {
		all = append(all, e.handles...)
	}
	for len(all) > 0 {
		part := all[:min(len(all), most)]
		all = all[len(part):]
		b := le.AppendUint64(nil, uint64(len(part)))
		for i, h := range part {
			for _, v := range []uint64{h.id, uint64(i), uint64(int64(h.cpu)), uint64(int64(h.tid))} {
				b = le.AppendUint64(b, v)
			}
		}
		s.put(wire.RecIDIndex, 0, b)
	}
}

// threadMap tells whose events they are: -1 stands for all tasks. One record
// has room for so many; more threads are not listed.
func (s *synth) threadMap(tids []int) {
	const most = 2500
	tids = tids[:min(len(tids), most)]
	b := le.AppendUint64(nil, uint64(len(tids)))
	for _, tid := range tids {
		var comm [16]byte
		if tid >= 0 {
			copy(comm[:15], s.proc.comm(tid))
		}
		b = append(le.AppendUint64(b, uint64(int64(tid))), comm[:]...)
	}
	s.put(wire.RecThreadMap, 0, b)
}

func (s *synth) cpuMap(cpus []int) {
	b := le.AppendUint16(le.AppendUint16(nil, 0), uint16(len(cpus)))
	for _, c := range cpus {
		b = le.AppendUint16(b, uint16(c))
	}
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	s.put(wire.RecCPUMap, 0, b)
}

// kernel tells where the kernel and its modules lie.
func (s *synth) kernel(k *kallsyms) {
	if k == nil || k.text == 0 {
		return
	}
	s.kernelMap(k.text, k.end-k.text, k.text, "[kernel.kallsyms]_text")
	b, err := os.ReadFile(s.proc.path("modules"))
	if err != nil {
		return
	}
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 6 {
			continue
		}
		size, e1 := strconv.ParseUint(f[1], 10, 64)
		addr, e2 := strconv.ParseUint(strings.TrimPrefix(f[5], "0x"), 16, 64)
		if e1 == nil && e2 == nil && addr != 0 {
			s.kernelMap(addr, size, 0, "["+f[0]+"]")
		}
	}
}

func (s *synth) kernelMap(start, size, pgoff uint64, name string) {
	b := le.AppendUint32(le.AppendUint32(nil, ^uint32(0)), 0)
	b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, start), size), pgoff)
	s.put(wire.RecMmap, wire.MiscKernel, padded(b, name))
}

// process tells of a process: its threads' names and its executable mappings.
func (s *synth) process(pid int) {
	tids, err := s.proc.threads(pid)
	if err != nil {
		return
	}
	s.comm(pid, pid)
	maps, err := s.proc.maps(pid)
	if err == nil { // what was read before an error tells of a process that ends
		for i := range maps {
			s.mmap2(pid, &maps[i])
		}
	}
	for _, tid := range tids {
		if tid != pid {
			s.comm(pid, tid)
		}
	}
}

func (s *synth) comm(pid, tid int) {
	name := s.proc.comm(tid)
	if name == "" {
		return
	}
	b := le.AppendUint32(le.AppendUint32(nil, uint32(pid)), uint32(tid))
	s.put(wire.RecComm, 0, padded(b, name[:min(len(name), 15)]))
}

func (s *synth) mmap2(pid int, m *mapping) {
	misc := uint16(wire.MiscUser)
	b := le.AppendUint32(le.AppendUint32(nil, uint32(pid)), uint32(pid))
	b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, m.start), m.end-m.start), m.off)
	if id := s.ids.of(pid, m); len(id) > 0 {
		misc |= wire.MiscMmapBuildID
		var field [24]byte
		field[0] = byte(copy(field[4:], id))
		b = append(b, field[:]...)
	} else {
		b = le.AppendUint32(le.AppendUint32(b, m.maj), m.min)
		b = le.AppendUint64(le.AppendUint64(b, m.inode), 0)
	}
	b = le.AppendUint32(le.AppendUint32(b, m.prot), 2) // MAP_PRIVATE
	s.put(wire.RecMmap2, misc, padded(b, m.path[:min(len(m.path), 4000)]))
}

func hexRange(m *mapping) string { return fmt.Sprintf("%x-%x", m.start, m.end) }
