package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
)

// capture is what a file says outside its samples: header, events, features
// and the records at the beginning that describe the recording.
type capture struct {
	in    Input
	order binary.ByteOrder
	pipe  bool

	attrs    []attrEntry
	tracing  *wire.Tracing
	buildIDs []wire.BuildID
	host     evidence.Host
	clock    clockPair

	sampleTime [2]uint64 // of the first and the last sample; 0: the file does not say

	version string
	cmdline []string

	dataFrom, dataTo int64     // where the records are
	segments         []segment // all of the records: those, and the parts
	compressed       bool      // some of them, or so the file says
	spool            *os.File  // the unpacked records; nil when none were compressed
	packed           map[wire.Type]uint64

	deferred *deferred // user parts of call chains; nil: they are in the samples
	defers   bool      // a record with one was seen at the beginning

	threads    []int           // of THREAD_MAP; nil when the file has none
	everyTask  map[uint64]bool // ids of events that are open for all tasks of a CPU, by the ID_INDEX
	perThread  bool            // ring buffers belong to threads, not to CPUs
	idleOut    bool            // a switch away from the idle task was seen
	highStates bool            // prev_state is one bit too high
	cpus       int             // CPUs that the file names, at least

	truncated []string // why the file is not whole
	warnings  []string
	notes     []string
}

// attrEntry is one event of the file.
type attrEntry struct {
	attr wire.Attr
	ids  []uint64
	name string
}

// Bounds of what a header may claim.
const (
	maxAttrs = 1 << 14
	maxIDs   = 1 << 20
)

// open reads all that stands outside the samples.
func open(in Input) (*capture, error) {
	head := make([]byte, min(in.Size, wire.FileHeaderSize))
	if err := readFull(in.R, head, 0); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte(simpleperfMagic)) {
		return nil, ErrSimpleperf
	}
	h, err := wire.ParseHeader(head)
	if err != nil {
		return nil, err
	}
	c := &capture{in: in, order: h.Order, pipe: h.Pipe}
	if h.Pipe {
		c.dataFrom, c.dataTo = wire.PipeHeaderSize, in.Size
	} else if err := c.readSections(h); err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// start reads the records at the beginning, of the unpacked file if need be.
func (c *capture) start() error {
	if c.compressed || c.seesCompressed() {
		if err := c.unpack(); err != nil {
			return err
		}
	}
	if err := c.readStart(); err != nil {
		return err
	}
	if len(c.attrs) == 0 {
		return ErrNoAttrs
	}
	c.nameEvents()
	c.join()
	if len(c.segments) > 1 {
		c.trySamples(c.partSamples())
	}
	var err error
	c.deferred, err = c.readDeferred()
	return err
}

// close gives back the room of the unpacked records.
func (c *capture) close() error {
	if c.spool == nil {
		return nil
	}
	return c.spool.Close()
}

// readFull reads all of p at off; the range is known to lie in the file.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// section reads a section, or as much of it as lies in the file and below limit.
func (c *capture) section(s wire.Section, limit int) ([]byte, bool, error) {
	size := uint64(c.in.Size)
	if s.Offset >= size {
		return nil, s.Size == 0, nil
	}
	n := min(s.Size, size-s.Offset)
	whole := n == s.Size
	if n > uint64(limit) {
		n, whole = uint64(limit), false
	}
	b := make([]byte, n)
	return b, whole, readFull(c.in.R, b, int64(s.Offset))
}

// readSections reads the attributes and the features of a file.
func (c *capture) readSections(h *wire.Header) error {
	if err := c.readAttrs(h); err != nil {
		return err
	}
	size := uint64(c.in.Size)
	switch {
	case h.Data.Offset > size:
		return fmt.Errorf("%w: the data should begin at %d, the file ends at %d", wire.ErrHeader, h.Data.Offset, size)
	case h.Data.Size == 0:
		c.dataFrom, c.dataTo = int64(h.Data.Offset), c.in.Size
		c.cut("the recorder was killed before it wrote the size of the data and its notes on the machine; read to the end of the file")
		return nil
	case h.Data.Size > size-h.Data.Offset:
		c.dataFrom, c.dataTo = int64(h.Data.Offset), c.in.Size
		c.cut(fmt.Sprintf("the file ends at %d, %d bytes before the end of its data; its notes on the machine are missing", size, h.Data.End()-size))
		return nil
	}
	c.dataFrom, c.dataTo = int64(h.Data.Offset), int64(h.Data.End())
	return c.readFeatures(h)
}

func (c *capture) cut(why string) { c.truncated = append(c.truncated, why) }
func (c *capture) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// readAttrs reads the attributes section: entries of h.AttrSize bytes, each
// ending in the section of its ids.
func (c *capture) readAttrs(h *wire.Header) error {
	const idSection = 16
	if h.AttrSize < wire.AttrSizeV0+idSection || h.AttrSize > 1<<16 {
		return fmt.Errorf("%w: attribute entries of %d bytes", wire.ErrHeader, h.AttrSize)
	}
	if h.Attrs.Size/h.AttrSize > maxAttrs {
		return fmt.Errorf("%w: %d bytes of attributes", wire.ErrHeader, h.Attrs.Size)
	}
	b, whole, err := c.section(h.Attrs, maxAttrs<<8)
	if err != nil {
		return err
	}
	if !whole {
		c.cut("the table of events is cut")
	}
	ids := 0
	for step := int(h.AttrSize); len(b) >= step; b = b[step:] {
		attr, err := wire.ParseAttr(b[:step-idSection], c.order)
		if err != nil {
			return err
		}
		at := b[step-idSection:]
		sec := wire.Section{Offset: c.order.Uint64(at), Size: c.order.Uint64(at[8:])}
		raw, whole, err := c.section(sec, 8*(maxIDs-ids))
		if err != nil {
			return err
		}
		if !whole {
			c.warn("event %d: the list of its ids is cut", len(c.attrs))
		}
		e := attrEntry{attr: attr, ids: words(raw, c.order)}
		ids += len(e.ids)
		c.attrs = append(c.attrs, e)
	}
	return c.readTypes(h)
}

func words(b []byte, o binary.ByteOrder) []uint64 {
	out := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		out = append(out, o.Uint64(b))
	}
	return out
}

// readTypes takes names from the section of event names that files before
// 3.12 have: config u64, name char[64].
func (c *capture) readTypes(h *wire.Header) error {
	b, _, err := c.section(h.Types, 72*maxAttrs)
	for ; len(b) >= 72; b = b[72:] {
		c.nameType(b)
	}
	return err
}

func (c *capture) nameType(b []byte) {
	config := c.order.Uint64(b)
	for i := range c.attrs {
		if e := &c.attrs[i]; e.name == "" && e.attr.Config == config {
			e.name = wire.CString(b[8:72])
		}
	}
}

// readFeatures reads the table behind the data and the features it lists.
func (c *capture) readFeatures(h *wire.Header) error {
	table, whole, err := c.section(wire.Section{Offset: h.Data.End(), Size: 16 * uint64(len(h.Features))}, 16*256)
	if err != nil {
		return err
	}
	for i, f := range h.Features {
		if len(table) < 16*(i+1) {
			break
		}
		at := table[16*i:]
		sec := wire.Section{Offset: c.order.Uint64(at), Size: c.order.Uint64(at[8:])}
		if sec.Offset > uint64(c.in.Size) || sec.Size > uint64(c.in.Size)-sec.Offset {
			whole = false
		}
		if !wanted(f) {
			continue
		}
		b, _, err := c.section(sec, wire.MaxFeature)
		if err != nil {
			return err
		}
		c.feature(f, b)
	}
	if !whole {
		c.cut("the file ends in its notes on the machine")
	}
	return nil
}

// wanted reports whether feature makes use of a feature.
func wanted(f wire.Feature) bool {
	return f <= wire.FeatEventDesc || f == wire.FeatClockData || f == wire.FeatSampleTime || f == wire.FeatCompressed
}

// feature takes what a feature says; b may be cut.
func (c *capture) feature(f wire.Feature, b []byte) {
	r := &wire.Reader{B: b, Order: c.order}
	var err error
	switch f {
	case wire.FeatTracingData:
		c.tracing, err = wire.ParseTracing(b)
	case wire.FeatBuildID:
		c.buildIDs, err = wire.ParseBuildIDs(b, c.order)
	case wire.FeatHostname:
		c.host.Name = r.String()
	case wire.FeatOSRelease:
		c.host.Release = r.String()
	case wire.FeatVersion:
		c.version = r.String()
	case wire.FeatArch:
		c.host.Arch = r.String()
	case wire.FeatCPUDesc:
		c.host.CPUDesc = r.String()
	case wire.FeatNrCPUs:
		avail, online := r.U32(), r.U32()
		if r.Err == nil && online > 0 && online <= maxCPU && avail <= maxCPU {
			c.host.CPUs = evidence.Some(int(online))
			c.cpus = max(c.cpus, int(avail))
		}
	case wire.FeatCmdline:
		c.cmdline = r.Strings()
	case wire.FeatEventDesc:
		err = c.eventDesc(b)
	case wire.FeatCompressed:
		// perf stat record has all features, also this one, of kind none.
		_, kind := r.U32(), r.U32()
		c.compressed = kind != 0
	case wire.FeatSampleTime:
		c.sampleTime = [2]uint64{r.U64(), r.U64()}
	case wire.FeatClockData:
		c.clock = clockPair{ok: r.U32() > 0, id: int32(r.U32()), wall: r.U64(), at: r.U64()}
	}
	if err == nil {
		err = r.Err
	}
	if err != nil {
		c.warn("feature %d: %v", f, err)
	}
}

// eventDesc takes the names of the events: by place where there are as many as
// attributes, else by id.
func (c *capture) eventDesc(b []byte) error {
	descs, err := wire.ParseEventDesc(b, c.order)
	byID := map[uint64]string{}
	for i, d := range descs {
		if i < len(c.attrs) && c.attrs[i].attr.Config == d.Attr.Config && c.attrs[i].attr.Type == d.Attr.Type {
			c.attrs[i].name = d.Name
		}
		for _, id := range d.IDs {
			byID[id] = d.Name
		}
	}
	for i := range c.attrs {
		for _, id := range c.attrs[i].ids {
			if name, ok := byID[id]; ok {
				c.attrs[i].name = name
			}
		}
	}
	return err
}

// nameEvents names the events that neither the notes nor the records of the
// file name.
func (c *capture) nameEvents() {
	for i := range c.attrs {
		if e := &c.attrs[i]; e.name == "" {
			e.name = wire.EventName(&e.attr)
		}
	}
}
