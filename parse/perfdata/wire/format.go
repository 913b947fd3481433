package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Field is a field of a tracepoint's raw data.
type Field struct {
	Name    string
	Offset  int
	Size    int
	Signed  bool
	Array   bool
	DataLoc bool // the field holds length<<16|offset of the data: __data_loc
}

// Format is the format of a tracepoint, from its file in tracefs.
type Format struct {
	System, Name string
	ID           int
	Fields       []Field
	PrintFmt     string
}

// Field returns a field by name.
func (f *Format) Field(name string) (Field, bool) {
	for _, fd := range f.Fields {
		if fd.Name == name {
			return fd, true
		}
	}
	return Field{}, false
}

// ErrFormat is for a tracepoint format that has no ID or no name.
var ErrFormat = errors.New("damaged tracepoint format")

// ParseFormat reads a tracepoint's format text. Fields that make no sense are
// left out.
//
// Layout: f_show in the kernel's kernel/trace/trace_events.c.
func ParseFormat(system, text string) (*Format, error) {
	f := &Format{System: system, ID: -1}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch key, rest, _ := strings.Cut(line, ":"); key {
		case "name":
			f.Name = strings.TrimSpace(rest)
		case "ID":
			if id, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
				f.ID = id
			}
		case "field":
			if fd, ok := parseField(rest); ok {
				f.Fields = append(f.Fields, fd)
			}
		case "print fmt":
			f.PrintFmt = strings.TrimSpace(rest)
		}
	}
	if f.ID < 0 || f.Name == "" {
		return nil, fmt.Errorf("%w of %s", ErrFormat, system)
	}
	return f, nil
}

// parseField reads `char prev_comm[16];	offset:8;	size:16;	signed:0;`.
func parseField(s string) (Field, bool) {
	parts := strings.Split(s, ";")
	if len(parts) < 3 {
		return Field{}, false
	}
	decl := parts[0]
	f := Field{DataLoc: strings.Contains(decl, "__data_loc")}
	if i := strings.IndexByte(decl, '['); i >= 0 && !f.DataLoc {
		decl, f.Array = decl[:i], true
	}
	words := strings.Fields(decl)
	if len(words) == 0 {
		return Field{}, false
	}
	f.Name = strings.TrimLeft(words[len(words)-1], "*")
	var err error
	for _, p := range parts[1:] {
		key, val, _ := strings.Cut(strings.TrimSpace(p), ":")
		n := 0
		if val != "" {
			if n, err = strconv.Atoi(val); err != nil || n < 0 || n > MaxRecord {
				return Field{}, false
			}
		}
		switch key {
		case "offset":
			f.Offset = n
		case "size":
			f.Size = n
		case "signed":
			f.Signed = n != 0
		}
	}
	return f, f.Name != ""
}

// StateFlag is a bit of prev_state and its letter.
type StateFlag struct {
	Bit    uint64
	Letter byte
}

// States are the bits of prev_state that a kernel has.
type States struct {
	Flags   []StateFlag
	Preempt uint64 // the bit that is printed as "+"; 0 when the kernel has none
}

var stateFlag = regexp.MustCompile(`\{\s*(0x[0-9a-fA-F]+|[0-9]+),\s*"(.)"\s*\}`)

// ParseStates takes the letters of prev_state from the print format of
// sched_switch. They moved from release to release; the preempt mark is always
// the bit above the highest one (TASK_STATE_MAX, later TASK_REPORT_MAX).
//
// Layout: TRACE_EVENT(sched_switch) in include/trace/events/sched.h.
func ParseStates(printFmt string) (States, bool) {
	var s States
	var top uint64
	for _, m := range stateFlag.FindAllStringSubmatch(printFmt, 64) {
		bit, err := strconv.ParseUint(m[1], 0, 63)
		if err != nil || bit == 0 || bit&(bit-1) != 0 {
			continue
		}
		s.Flags = append(s.Flags, StateFlag{bit, m[2][0]})
		top = max(top, bit)
	}
	if strings.Contains(printFmt, `"+"`) {
		s.Preempt = top << 1
	}
	return s, len(s.Flags) > 0
}

// StatesModern are those of kernels since 4.14 (TASK_REPORT and TASK_REPORT_MAX
// in include/linux/sched.h).
func StatesModern() States {
	return States{Preempt: 0x100, Flags: []StateFlag{{1, 'S'}, {2, 'D'}, {4, 'T'}, {8, 't'}, {16, 'X'}, {32, 'Z'}, {64, 'P'}, {128, 'I'}}}
}
