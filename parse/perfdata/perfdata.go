// Package perfdata reads perf.data files.
//
// A file is read in three strands. The index walks over the record headers,
// once, and cuts the file into runs, the stretches in which one ring buffer was
// drained. timeline.Order merges the runs into one ordered stream; its decoder,
// on a goroutine of its own, reads each run again when its turn comes. The
// third applies mappings to call chains and hands the events to the sinks, of
// which timeline.Tracker is the one that builds the evidence.
//
// So a file may hold gigabytes between two events that happened at the same
// time, and still only the blocks at hand are in memory.
//
//	file ──index──▶ runs ──Order: decode ▶ merge──▶ spaces ──▶ Tracker, sinks
//
// Layouts are in package wire.
package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/symbol"
	"ctxan/parse/timeline"
)

// Format is the format's name.
const Format = "perf.data"

// simpleperfMagic begins files of Android's simpleperf in its own format.
const simpleperfMagic = "SIMPLEPERF"

// Detect reports whether a file that begins with head is a perf.data file, or
// one that is taken for it: Read has an error that names those.
func Detect(head []byte) bool {
	return wire.IsMagic(head) || bytes.HasPrefix(head, []byte("PERFFILE")) || bytes.HasPrefix(head, []byte(simpleperfMagic))
}

// Input is a file. A recording made with --threads is a folder: its file
// "data" is the input, and the files "data.N", which hold records without a
// header, are its parts.
type Input struct {
	R     io.ReaderAt
	Size  int64
	Name  string
	Parts []Part
}

// Part is a file of records.
type Part struct {
	R    io.ReaderAt
	Size int64
}

// Options tune Read.
type Options struct {
	Symbols *symbol.Resolver // nil: addresses stay addresses
	Sinks   []timeline.Sink  // further sinks of the ordered events
	Names   *timeline.Names  // of the events' comms, for Sinks; nil: made by Read
	Stats   *Stats           // filled when not nil
	Select  *timeline.Select // the part to read; nil: all
	Watch   timeline.Watcher // is told of every stint and wakeup; nil: nobody is
}

// Stats count what a file holds.
type Stats struct {
	Records map[wire.Type]uint64 // by type, in the file
	Samples map[string]uint64    // by event
	Events  uint64               // handed to the sinks
	FirstNS uint64               // of the samples
	LastNS  uint64
	Rounds  uint64
	Runs    uint64
	Stacks  int // distinct ones
}

// Errors of Read, for files that are none of this format.
var (
	ErrSimpleperf = errors.New("a file of Android's simpleperf in its own format; convert it with `simpleperf report-sample` or record with perf")
	ErrSelection  = errors.New("nothing of the selection is in the recording")
	ErrNoAttrs    = errors.New("perf.data without events: the recorder did not get to write its attributes")
)

// Read adds the evidence of a perf.data file to b: per-task statistics, call
// chains, and what the file says of itself, its host and its losses.
//
// A record that makes no sense is dropped and counted. A file that is cut, or
// whose recorder was killed, gives what it holds (Loss.Truncated and a warning).
// The error is for files of another kind, and for those that can't be read.
// Times are nanoseconds of the clock that the file was recorded with.
func Read(in Input, b *evidence.Builder, opt Options) (err error) {
	c, err := open(in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	names := opt.Names
	if names == nil {
		names = &timeline.Names{}
	}
	r := &reader{capture: c, names: names, opt: opt}
	if err := r.resolveShare(); err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	r.describe(b.Source())
	err = r.stream()
	if r.spaces != nil {
		err = errors.Join(err, r.spaces.unwind.close())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	return r.finish(b)
}
