// Package wire knows the bytes of perf.data: file header, records, attributes,
// sample layouts, features and tracepoint formats. It decodes and encodes, and
// decides nothing: what the records mean is the business of package perfdata.
//
// All offsets are in bytes. Records are handled in little-endian order; those
// of a big-endian machine are turned round first ([Swapper]), so that nothing
// on the usual path pays for it.
//
// Layouts: the kernel's include/uapi/linux/perf_event.h (attr, records,
// samples), tools/perf/Documentation/perf.data-file-format.txt and
// tools/perf/util/header.c (header, features), tools/lib/perf/include/perf/event.h
// (records that perf itself writes), tools/perf/util/trace-event-info.c
// (tracing data).
package wire
