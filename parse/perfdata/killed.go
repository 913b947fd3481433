package perfdata

import (
	"bytes"
	"slices"

	"ctxan/parse/perfdata/wire"
)

// partSamples returns the first samples of the parts of a recording, where its
// file of records has none of its own.
func (c *capture) partSamples() [][]byte {
	var samples [][]byte
	_ = c.walkRecords(func(typ wire.Type, rec []byte, _ int64) bool {
		if typ == wire.RecSample {
			samples = append(samples, bytes.Clone(rec))
		}
		return len(samples) < startSamples
	}) // an error comes again when the records are read
	return samples
}

// fitNames changes built-in layouts to those of kernels that keep the name of a
// task at the end of the raw data, as far as the samples show it:
// sched_migrate_task of Linux 6.18 does.
//
// Layout: include/trace/events/sched.h, and __string in
// include/trace/stages/stage1_struct_define.h.
func (c *capture) fitNames(samples [][]byte) {
	for e, raw := range newSchema(c).rawData(samples) {
		i := slices.IndexFunc(c.tracing.Formats, func(f *wire.Format) bool { return uint64(f.ID) == e.attr.Config })
		if i >= 0 {
			movedName(c.tracing.Formats[i], raw)
		}
	}
}

// movedName changes a format that begins with a task's name, when the raw data
// has in its place where the name is: behind the other fields, ended by NUL.
func movedName(f *wire.Format, raw []byte) {
	const at, loc = 8, 4 // where the name is, and the size of what tells of it
	i := slices.IndexFunc(f.Fields, func(x wire.Field) bool { return x.Name == "comm" && x.Size == commBytes })
	if i < 0 || len(raw) < at+loc {
		return
	}
	last := f.Fields[len(f.Fields)-1]
	end := last.Offset + last.Size - (commBytes - loc)
	from, size := int(le.Uint16(raw[at:])), int(le.Uint16(raw[at+2:]))
	if from != end || size < 1 || size > commBytes || from+size > len(raw) || raw[from+size-1] != 0 {
		return
	}
	f.Fields = slices.Clone(f.Fields)
	f.Fields[i] = wire.Field{Name: "comm", Offset: at, Size: loc, DataLoc: true}
	for k := i + 1; k < len(f.Fields); k++ {
		f.Fields[k].Offset -= commBytes - loc
	}
}
