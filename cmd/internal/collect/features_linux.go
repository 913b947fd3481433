package collect

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ctxan/parse/perfdata/wire"
)

// features describes the machine and the measurement in a file.
//
// Layouts: tools/perf/Documentation/perf.data-file-format.txt.
func (s *measurement) features(w *wire.Writer) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err == nil {
		w.Feature(wire.FeatHostname, wire.AppendString(nil, unix.ByteSliceToString(uts.Nodename[:])))
		w.Feature(wire.FeatOSRelease, wire.AppendString(nil, unix.ByteSliceToString(uts.Release[:])))
		w.Feature(wire.FeatArch, wire.AppendString(nil, unix.ByteSliceToString(uts.Machine[:])))
	}
	w.Feature(wire.FeatVersion, wire.AppendString(nil, strings.TrimSpace("ctxan "+s.opt.Version)))
	n := uint32(len(s.cpus))
	w.Feature(wire.FeatNrCPUs, le.AppendUint32(le.AppendUint32(nil, max(n, uint32(possibleCPUs()))), n))
	if d := cpuDescription(); d != "" {
		w.Feature(wire.FeatCPUDesc, wire.AppendString(nil, d))
	}
	if kb := memTotal(s.proc); kb > 0 {
		w.Feature(wire.FeatTotalMem, le.AppendUint64(nil, kb))
	}
	w.Feature(wire.FeatCmdline, appendStrings(s.cmdline()))
	w.Feature(wire.FeatEventDesc, eventDesc(s.events))
	w.Feature(wire.FeatBuildID, s.buildIDTable())
	if len(s.formats) > 0 {
		w.Feature(wire.FeatTracingData, wire.AppendTracingOf(nil, s.fs.header("header_page"), s.fs.header("header_event"), s.formats))
	}
	s.clockFeatures(w)
}

// clockFeatures tells which clock the times are of, and when it was what by
// the time of day.
func (s *measurement) clockFeatures(w *wire.Writer) {
	if !s.monotonic {
		return
	}
	var res unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC, &res); err == nil {
		w.Feature(wire.FeatClockID, le.AppendUint64(nil, uint64(res.Nano())))
	}
	real, mono := clocks()
	b := le.AppendUint32(le.AppendUint32(nil, 1), unix.CLOCK_MONOTONIC)
	w.Feature(wire.FeatClockData, le.AppendUint64(le.AppendUint64(b, uint64(real)), uint64(mono)))
}

func appendStrings(list []string) []byte {
	b := le.AppendUint32(nil, uint32(len(list)))
	for _, s := range list {
		b = wire.AppendString(b, s)
	}
	return b
}

func eventDesc(events []*event) []byte {
	size := wire.AttrSizeV0
	for _, e := range events {
		a := toWire(&e.attr)
		size = max(size, a.MinSize())
	}
	b := le.AppendUint32(le.AppendUint32(nil, uint32(len(events))), uint32(size))
	for _, e := range events {
		a := toWire(&e.attr)
		b = a.AppendSized(b, size)
		b = le.AppendUint32(b, uint32(len(e.handles)))
		b = wire.AppendString(b, e.name)
		for _, id := range e.ids() {
			b = le.AppendUint64(b, id)
		}
	}
	return b
}

// buildIDTable has what mappings do not tell of themselves: the kernel, its
// modules, the vdso, and files that were mapped while it was measured.
func (s *measurement) buildIDTable() []byte {
	b := appendBuildID(nil, wire.MiscKernel, kernelBuildID(), "[kernel.kallsyms]")
	mods, err := os.ReadFile(s.proc.path("modules"))
	if err == nil {
		for line := range bytes.Lines(mods) {
			name, _, _ := strings.Cut(string(line), " ")
			b = appendBuildID(b, wire.MiscKernel, moduleBuildID(name), "["+name+"]")
		}
	}
	b = appendBuildID(b, wire.MiscUser, vdsoBuildID(s.proc), "[vdso]")
	s.ids = s.files.table()
	for _, path := range slices.Sorted(maps.Keys(s.ids)) {
		b = appendBuildID(b, wire.MiscUser, s.ids[path], path)
	}
	return b
}

func appendBuildID(b []byte, misc uint16, id []byte, path string) []byte {
	if len(id) == 0 {
		return b
	}
	rec := wire.AppendHeader(nil, 0, misc|wire.MiscBuildIDSize, 0)
	rec = le.AppendUint32(rec, ^uint32(0))
	var field [24]byte
	field[20] = byte(copy(field[:20], id))
	rec = append(rec, field[:]...)
	n := (len(path) + 1 + 63) &^ 63
	rec = append(append(rec, path...), make([]byte, n-len(path))...)
	le.PutUint16(rec[6:], uint16(len(rec)))
	return append(b, rec...)
}

func possibleCPUs() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return 0
	}
	l, err := parseCPUs(strings.TrimSpace(string(b)))
	if err != nil || len(l) == 0 {
		return 0
	}
	return l[len(l)-1] + 1
}

// cpuDescription is what the machine calls its processor.
func cpuDescription() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(b) {
		name, v, ok := strings.Cut(string(line), ":")
		if n := strings.TrimSpace(name); ok && (n == "model name" || n == "Processor" || n == "cpu model") {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

func memTotal(p procfs) (kb uint64) {
	b, err := os.ReadFile(p.path("meminfo"))
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscanf(fieldOf(b, "MemTotal"), "%d", &kb); err != nil {
		return 0
	}
	return kb
}
