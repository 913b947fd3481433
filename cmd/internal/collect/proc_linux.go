package collect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// procfs is a proc file system.
type procfs string

func (p procfs) path(parts ...any) string {
	b := []byte(p)
	for _, x := range parts {
		b = fmt.Append(append(b, '/'), x)
	}
	return string(b)
}

// line reads a file of one line; "" when it can't be read.
func (p procfs) line(parts ...any) string {
	b, err := os.ReadFile(p.path(parts...))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// numbers lists the entries of a folder that are numbers, ascending.
func numbers(dir string) ([]int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	var out []int
	for _, n := range names {
		if v, e := strconv.Atoi(n); e == nil {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out, err
}

// threads lists the threads of a process.
func (p procfs) threads(pid int) ([]int, error) { return numbers(p.path(pid, "task")) }

// processes lists all processes.
func (p procfs) processes() ([]int, error) { return numbers(string(p)) }

// statusField returns a field of /proc/PID/status; "" when there is none.
func (p procfs) statusField(pid int, name string) string {
	b, err := os.ReadFile(p.path(pid, "status"))
	if err != nil {
		return ""
	}
	return fieldOf(b, name)
}

func fieldOf(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}

// processOf returns the process of a thread, 0 when it is not there.
func (p procfs) processOf(tid int) int {
	n, err := strconv.Atoi(p.statusField(tid, "Tgid"))
	if err != nil {
		return 0
	}
	return n
}

// alive reports whether a task is there and has not ended.
func (p procfs) alive(tid int) bool {
	b, err := os.ReadFile(p.path(tid, "stat"))
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(b, ')') // the name before it may hold anything
	return i >= 0 && len(b) > i+2 && b[i+2] != 'Z' && b[i+2] != 'X'
}

// running reports whether a process has a thread that has not ended. Its
// leader may have: it then stays as a zombie until the others end.
func (p procfs) running(pid int) bool {
	if p.alive(pid) {
		return true
	}
	tids, err := p.threads(pid)
	return err == nil && slices.ContainsFunc(tids, p.alive)
}

// comm returns the name of a task.
func (p procfs) comm(tid int) string { return p.line(tid, "comm") }

// mapping is an executable mapping of a process.
type mapping struct {
	start, end, off uint64
	prot            uint32
	maj, min        uint32
	inode           uint64
	path            string
}

// maps lists the executable mappings of a process. Those of one whose leader
// has ended are told by its other threads.
//
// Layout: show_map_vma in the kernel's fs/proc/task_mmu.c.
func (p procfs) maps(pid int) ([]mapping, error) {
	b, err := os.ReadFile(p.path(pid, "maps"))
	if err == nil && len(b) == 0 {
		tids, _ := p.threads(pid) // those of a process that has ended are none
		for i := 0; i < len(tids) && len(b) == 0; i++ {
			b, _ = os.ReadFile(p.path(pid, "task", tids[i], "maps"))
		}
	}
	var out []mapping
	for line := range strings.Lines(string(b)) {
		if m, ok := parseMap(line); ok {
			out = append(out, m)
		}
	}
	return out, err
}

func parseMap(line string) (mapping, bool) {
	var m mapping
	f := strings.Fields(line)
	if len(f) < 5 || len(f[1]) < 4 || f[1][2] != 'x' {
		return m, false
	}
	lo, hi, _ := strings.Cut(f[0], "-")
	maj, min, _ := strings.Cut(f[3], ":")
	var errs [6]error
	m.start, errs[0] = strconv.ParseUint(lo, 16, 64)
	m.end, errs[1] = strconv.ParseUint(hi, 16, 64)
	m.off, errs[2] = strconv.ParseUint(f[2], 16, 64)
	ma, e3 := strconv.ParseUint(maj, 16, 32)
	mi, e4 := strconv.ParseUint(min, 16, 32)
	m.inode, errs[5] = strconv.ParseUint(f[4], 10, 64)
	if errors.Join(append(errs[:], e3, e4)...) != nil {
		return m, false
	}
	m.maj, m.min = uint32(ma), uint32(mi)
	for i, bit := range []uint32{1, 2, 4} {
		if f[1][i] != '-' {
			m.prot |= bit
		}
	}
	if m.path = "//anon"; len(f) > 5 { // the name begins after blanks and may hold some
		at := 0
		for range 5 {
			at += strings.IndexByte(line[at:], ' ')
			at += len(line[at:]) - len(strings.TrimLeft(line[at:], " "))
		}
		m.path = strings.TrimSuffix(line[at:], "\n")
	}
	return m, true
}

// cgroupOf returns the folder of the cgroup of a process in one hierarchy: ""
// is the unified one, else the name of a version 1 controller.
func (p procfs) cgroupOf(pid int, controller string) string {
	name, found := "", false
	for line := range strings.Lines(p.line(pid, "cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (controller == "" && f[1] == "" || controller != "" && slices.Contains(strings.Split(f[1], ","), controller)) {
			name, found = f[2], true
		}
	}
	if !found {
		return ""
	}
	if root := p.cgroupMount(controller); root != "" {
		return filepath.Join(root, name)
	}
	return ""
}

// cgroupMount finds where a hierarchy is mounted.
//
// Layout: show_mountinfo in the kernel's fs/proc_namespace.c.
func (p procfs) cgroupMount(controller string) string {
	for line := range strings.Lines(p.line("self", "mountinfo")) {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		if controller == "" && g[0] == "cgroup2" || controller != "" && g[0] == "cgroup" && slices.Contains(strings.Split(g[2], ","), controller) {
			return f[4]
		}
	}
	return ""
}

// onlineCPUs lists the CPUs that are online.
func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return parseCPUs(strings.TrimSpace(string(b)))
}

// parseCPUs reads "0,2-3".
func parseCPUs(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, span := strings.Cut(part, "-")
		if !span {
			hi = lo
		}
		a, e1 := strconv.Atoi(lo)
		b, e2 := strconv.Atoi(hi)
		if err := errors.Join(e1, e2); err != nil || a < 0 || b < a || b > 1<<16 {
			return nil, fmt.Errorf("%q is no list of CPUs", s)
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out, nil
}
