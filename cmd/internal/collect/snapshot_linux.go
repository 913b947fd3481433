package collect

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// snapshot is what /proc says of threads at one time.
type snapshot struct {
	real, mono int64 // ns of CLOCK_REALTIME and CLOCK_MONOTONIC
	tasks      []taskFiles
}

// taskFiles are the files of a thread as they were read.
type taskFiles struct {
	pid, tid          int
	status, schedstat []byte
}

// maxSnapshot bounds the threads of one snapshot.
const maxSnapshot = 100_000

func clocks() (real, mono int64) {
	var r, m unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &m) // these clocks are always there
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &r)
	return r.Nano(), m.Nano()
}

// takeSnapshot reads the threads of the target; one that ends in between is
// left out.
func (t *target) takeSnapshot() *snapshot {
	s := &snapshot{}
	s.real, s.mono = clocks()
	only := map[int]bool{}
	if t.kind == ofThread {
		for _, tid := range t.ids {
			only[tid] = true
		}
	}
	for _, pid := range t.processes() {
		tids, err := t.proc.threads(pid)
		if err != nil {
			continue
		}
		for _, tid := range tids {
			if len(s.tasks) == maxSnapshot || len(only) > 0 && !only[tid] {
				continue
			}
			if f, ok := t.taskFiles(pid, tid); ok {
				s.tasks = append(s.tasks, f)
			}
		}
	}
	return s
}

func (t *target) taskFiles(pid, tid int) (taskFiles, bool) {
	f := taskFiles{pid: pid, tid: tid}
	var err error
	if f.status, err = os.ReadFile(t.proc.path(pid, "task", tid, "status")); err != nil || len(f.status) == 0 {
		return f, false
	}
	f.schedstat, err = os.ReadFile(t.proc.path(pid, "task", tid, "schedstat"))
	if err != nil { // a kernel without CONFIG_SCHED_INFO
		f.schedstat = nil
	}
	return f, true
}

// keep adds the threads of an earlier snapshot that are in s no more, as they
// were seen last.
func (s *snapshot) keep(earlier *snapshot) {
	have := map[int]bool{}
	for _, f := range s.tasks {
		have[f.tid] = true
	}
	for _, f := range earlier.tasks {
		if !have[f.tid] {
			s.tasks = append(s.tasks, f)
		}
	}
	slices.SortFunc(s.tasks, func(a, b taskFiles) int { return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid)) })
}

// write writes the snapshot in the layout of head and tail with several files:
// a line with the file's name before its content.
func (s *snapshot) write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "==> clock <==\nrealtime_ns: %d\nmonotonic_ns: %d\n", s.real, s.mono)
	for _, f := range s.tasks {
		name := fmt.Sprintf("/proc/%d/task/%d/", f.pid, f.tid)
		block(&b, name+"status", f.status)
		if f.schedstat != nil {
			block(&b, name+"schedstat", f.schedstat)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// block writes a file below its name.
func block(b *bytes.Buffer, name string, content []byte) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "==> %s <==\n", name)
	b.Write(content)
	if n := len(content); n > 0 && content[n-1] != '\n' {
		b.WriteByte('\n')
	}
}
