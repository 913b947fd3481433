// Package procfs reads what people copy out of /proc and of control groups:
// status, sched, schedstat and stat of tasks, the machine's stat and
// interrupts, cpu.stat and cpu.max, also as `ctxan record` keeps them.
//
// It reads the layouts of cat, of head and tail over several files
// ("==> file <=="), of grep over several files ("file:line"), and of shell
// loops that print a name before each file. What was read at one moment is one
// [evidence.Reading]; another clock, or a thread that comes again, starts the
// next.
package procfs

import (
	"errors"
	"fmt"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// Format is the name of this format in the table of formats. A source is named
// more closely by what it holds: one of the Format constants below.
const Format = "proc"

// What a source of this package is named.
const (
	FormatStatus      = "proc-status"
	FormatSched       = "proc-sched"
	FormatSchedstat   = "proc-schedstat"
	FormatMachine     = "proc-stat"
	FormatCgroup      = "cgroup"
	FormatEnvironment = "environment"
)

// Bounds of what one text may hold.
const (
	MaxThreads  = 100_000 // over all readings
	MaxReadings = 10_000
	maxSettings = 500
	maxLines    = 32     // of one file among the settings
	maxRows     = 20_000 // interrupts and groups, over all readings
	maxGroups   = 256    // of one reading
)

var errTooMany = errors.New("more of these than are kept")

// Detect reports whether t holds counters of /proc or of a control group.
func Detect(t *paste.Text) bool {
	r := newReader(t)
	r.read()
	return r.any()
}

// Read adds what t holds to b: one Reading a moment, and the settings and host
// facts of an environment file. Counts are totals as printed; times of sched
// are milliseconds in the text and nanoseconds in evidence. A field that is
// known and cannot be read is dropped and counted; other lines of those files,
// and text around them, are passed over. Read returns no error.
//
// Layout: proc_pid_status and proc_pid_schedstat in the kernel's fs/proc,
// proc_sched_show_task in kernel/sched/debug.c, show_stat in fs/proc/stat.c,
// cpu_cfs_stat_show and cpu_extra_stat_show in kernel/sched/core.c.
func Read(t *paste.Text, b *evidence.Builder) error {
	r := newReader(t)
	r.read()
	for _, d := range r.dropped {
		b.Drop(d.line, d.err)
	}
	if n := r.droppedTotal - len(r.dropped); n > 0 {
		b.Source().DroppedTotal += n
	}
	r.describe(b)
	for i := range r.readings {
		b.Reading(r.readings[i].Reading)
	}
	for _, s := range r.settings {
		b.Setting(s)
	}
	return nil
}

type drop struct {
	line int
	err  error
}

// reader walks the lines of a text.
type reader struct {
	text     *paste.Text
	readings []reading
	cur      int // index of the reading that lines belong to; -1 before the first
	place    place
	block    block
	settings []evidence.Setting
	host     evidence.Host
	threads  int // over all readings
	rows     int
	bare     bool // every line is a row of schedstat: nothing else says so
	has      map[fileKind]bool
	byLabel  map[string]int // readings, by "before" and "after"

	dropped      []drop
	droppedTotal int
}

// reading is one being collected, with where each of its threads is.
type reading struct {
	evidence.Reading
	at map[threadKey]int
}

type threadKey struct {
	tid    int
	leader bool
}

func newReader(t *paste.Text) *reader {
	return &reader{text: t, cur: -1, bare: onlySchedstat(t), has: map[fileKind]bool{}, byLabel: map[string]int{}}
}

func (r *reader) drop(line int, err error) {
	r.droppedTotal++
	if len(r.dropped) < evidence.MaxDropped {
		r.dropped = append(r.dropped, drop{line, err})
	}
}

// any reports whether a figure was read.
func (r *reader) any() bool {
	for i := range r.readings {
		x := &r.readings[i]
		if len(x.Threads) > 0 || len(x.Groups) > 0 || x.Machine.OK {
			return true
		}
	}
	return false
}

func (r *reader) read() {
	for i := range r.text.Lines {
		l := &r.text.Lines[i]
		next := ""
		if i+1 < len(r.text.Lines) {
			next = r.text.Lines[i+1].Text
		}
		r.line(trim(l.Text), trim(next), l.No)
	}
	r.flush()
	r.settle()
}

// reading returns the reading that lines belong to now.
func (r *reader) reading(line int) *reading {
	if r.cur < 0 {
		r.begin("", line)
	}
	return &r.readings[r.cur]
}

// begin starts a reading.
func (r *reader) begin(label string, line int) {
	if len(r.readings) >= MaxReadings {
		r.drop(line, fmt.Errorf("readings: %w", errTooMany))
		r.cur = len(r.readings) - 1
		return
	}
	r.readings = append(r.readings, reading{Reading: evidence.Reading{Pos: evidence.Pos{Line: line}, Label: label}, at: map[threadKey]int{}})
	r.cur = len(r.readings) - 1
}

// labelled makes the reading of a label the present one.
func (r *reader) labelled(label string, line int) {
	if i, ok := r.byLabel[label]; ok {
		r.cur = i
		return
	}
	r.begin(label, line)
	r.byLabel[label] = r.cur
}

func (x *reading) empty() bool {
	return len(x.Threads) == 0 && len(x.Groups) == 0 && !x.Machine.OK
}
