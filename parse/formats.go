package parse

import (
	"bytes"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
	"ctxan/parse/perfdata"
	"ctxan/parse/perfreport"
	"ctxan/parse/perfstat"
	"ctxan/parse/pidstat"
	"ctxan/parse/procfs"
	"ctxan/parse/sar"
	"ctxan/parse/timehist"
	"ctxan/parse/vmstat"
)

// textFormat is a format that a pasted text may hold, beside others.
type textFormat struct {
	name   string
	looks  string // what it is recognised by, for the message when nothing is
	detect func(*paste.Text) bool
	read   func(*paste.Text, *evidence.Builder) error
}

// textFormats is the ordered table of text formats. Each reads its own blocks
// out of the text and leaves the rest alone.
var textFormats = []textFormat{
	{perfstat.Format, `perf stat ("Performance counter stats for", or its CSV or JSON)`, perfstat.Detect, perfstat.Read},
	{pidstat.Format, `pidstat -w ("cswch/s nvcswch/s")`, pidstat.Detect, pidstat.Read},
	{timehist.Format, `perf sched timehist ("wait time  sch delay  run time")`, timehist.Detect, timehist.Read},
	{procfs.Format, `/proc counters ("voluntary_ctxt_switches:")`, procfs.Detect, procfs.Read},
	{vmstat.Format, `vmstat ("r b swpd free ... in cs us sy id wa")`, vmstat.Detect, vmstat.Read},
	{sar.Format, `sar -w ("proc/s cswch/s")`, sar.Detect, sar.Read},
	{perfreport.Format, `perf report --stdio ("# Overhead  Command  Shared Object  Symbol")`, perfreport.Detect, perfreport.Read},
}

// binaryLooks names the binary format for the same message.
const binaryLooks = "perf.data (PERFILE2)"

// lookalikes are files that people hand over by mistake, or that another tool
// must turn into one of the formats first.
var lookalikes = []struct {
	magic, what, hint string
}{
	{"\x1f\x8b", "gzip data", "unpack it first: gunzip FILE"},
	{"\x28\xb5\x2f\xfd", "zstd data", "unpack it first: unzstd FILE"},
	{"\xfd7zXZ\x00", "xz data", "unpack it first: unxz FILE"},
	{"BZh", "bzip2 data", "unpack it first: bunzip2 FILE"},
	{"PK\x03\x04", "a zip archive", "unpack it first and give the folder"},
	{"\x7fELF", "an ELF program", "give the capture, and the program's folder by --symfs"},
	{"SIMPLEPERF", "a simpleperf recording", "it is another format than perf.data; simpleperf report-sample can convert it"},
	{"\x17\x08\x44tracing", "a trace-cmd recording (trace.dat)", "perf record -e sched:sched_switch -a gives a perf.data"},
	{"2ELIFREP", "a perf.data of a big-endian machine", "run ctxan's input through perf script on that machine"},
}

// lookalike names what the head of an unrecognised file is.
func lookalike(head []byte) (what, hint string, ok bool) {
	for _, l := range lookalikes {
		if bytes.HasPrefix(head, []byte(l.magic)) {
			return l.what, l.hint, true
		}
	}
	return "", "", false
}

// lookedFor lists what every format is recognised by.
func lookedFor() string {
	var parts []string
	for _, f := range textFormats {
		parts = append(parts, f.looks)
	}
	return strings.Join(append(parts, binaryLooks), ", ")
}

// isPerfData reports whether a file begins as a perf.data does.
func isPerfData(head []byte) bool { return perfdata.Detect(head) }
