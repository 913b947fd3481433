package procfs

import (
	"regexp"
	"strconv"
	"strings"
)

// fileKind is what file a line is of.
type fileKind uint8

const (
	fileUnknown fileKind = iota
	fileTask             // a task's folder: which of its files, the fields tell
	fileStatus
	fileSched
	fileSchedstat
	fileTaskStat // /proc/PID/stat
	fileStat     // /proc/stat
	fileInterrupts
	fileUptime
	fileClock
	fileUname
	fileCPUInfo
	fileCPUStat
	fileCPUMax
	fileCFSQuota
	fileCFSPeriod
	fileOther // of the kernel or of ctxan record, and of none of these kinds
	fileSkip  // figures that are not read
)

// place is the file that a line is of, as far as the text says.
type place struct {
	kind     fileKind
	pid, tid int // 0: not said
	leader   bool
	name     string // the path or the label
	when     string // "before", "after"
	grep     bool   // the name stands before each line
}

// group is the folder of a control group's file.
func (p *place) group() string {
	i := strings.LastIndexByte(p.name, '/')
	if i <= 0 {
		return ""
	}
	return p.name[:i]
}

var (
	taskPath = regexp.MustCompile(`/proc/(\d+|self|thread-self)(?:/task/([^/\s:;"']+))?(?:/(status|schedstat|sched|stat)\b)?`)
	whenPart = regexp.MustCompile(`\s*\((before|after)\)$`)

	// grepLine is a line of grep over several files: the file, ":" or, for the
	// lines around a match, "-", perhaps the line's number, and the line.
	grepLine = regexp.MustCompile(`^(?:\./)?((?:(?:/proc/)?(\d+|self|thread-self)/)?(?:task/)?(?:(\d+)/)?(status|schedstat|sched|stat))[:-](?:\d+[:-])?(.*)$`)
	sysLine  = regexp.MustCompile(`^(/sys/fs/cgroup/[^\s:]+|/proc/(?:stat|uptime|interrupts)):\s*(.*)$`)
)

var fileKinds = map[string]fileKind{
	"status": fileStatus, "sched": fileSched, "schedstat": fileSchedstat, "stat": fileTaskStat, "": fileTask,
	"/proc/stat": fileStat, "/proc/interrupts": fileInterrupts, "/proc/uptime": fileUptime,
	"/proc/cpuinfo": fileCPUInfo, "/proc/schedstat": fileSkip,
	"clock": fileClock, "uname": fileUname, "uname -a": fileUname,
}

// groupFiles are the files of the CPU controller, of either version.
var groupFiles = map[string]fileKind{"cpu.stat": fileCPUStat, "cpu.max": fileCPUMax, "cpu.cfs_quota_us": fileCFSQuota, "cpu.cfs_period_us": fileCFSPeriod}

// placeOf reads a label: a path, or a name that ctxan record gives.
func placeOf(label string) place {
	p := place{name: trim(label)}
	if m := whenPart.FindStringSubmatch(p.name); m != nil {
		p.when, p.name = m[1], trim(strings.TrimSuffix(p.name, m[0]))
	}
	if k, ok := fileKinds[p.name]; ok && p.name != "" && !isTaskFile(p.name) {
		p.kind = k
		return p
	}
	if k, ok := groupFiles[p.name[strings.LastIndexByte(p.name, '/')+1:]]; ok {
		p.kind = k
		return p
	}
	if m := taskPath.FindStringSubmatch(p.name); m != nil && m[0] == p.name {
		p.task(m[1], m[2], m[3])
		return p
	}
	if strings.HasPrefix(p.name, "/proc/") || strings.HasPrefix(p.name, "/sys/") || strings.HasPrefix(p.name, "ctxan ") || p.name == "threads" {
		p.kind = fileOther
	}
	return p
}

func isTaskFile(s string) bool {
	return s == "status" || s == "sched" || s == "schedstat" || s == "stat"
}

// task fills in the ids of a task's path; "self" and patterns name nobody.
func (p *place) task(pid, tid, file string) {
	p.kind = fileKinds[file]
	p.pid, _ = strconv.Atoi(pid)
	if p.tid, _ = strconv.Atoi(tid); tid == "" {
		p.tid, p.leader = p.pid, p.pid != 0
	}
}

// grepPlace splits a line of grep over several files.
func grepPlace(s string) (p place, rest string, ok bool) {
	if i := strings.IndexAny(s, ":-"); i <= 0 || !strings.HasSuffix(s[:i], "stat") && !strings.HasSuffix(s[:i], "status") && !strings.HasSuffix(s[:i], "sched") && s[0] != '/' {
		return place{}, s, false // the common case
	}
	if m := grepLine.FindStringSubmatch(s); m != nil {
		p.name = m[1]
		p.task(m[2], m[3], m[4])
		if m[3] == "" && !strings.HasPrefix(m[1], "/proc/") { // perhaps printed in a process's task folder
			p.pid, p.leader = 0, false
		}
		p.grep = true
		return p, trim(m[5]), true
	}
	if s[0] != '/' {
		return place{}, s, false
	}
	if m := sysLine.FindStringSubmatch(s); m != nil {
		p = placeOf(m[1])
		p.grep = true
		return p, trim(m[2]), true
	}
	return place{}, s, false
}

// headerPlace reads a line that names the file below it: of head and tail, of
// a loop that prints a path, or the command of a prompt.
func headerPlace(s string) (place, bool) {
	if rest, ok := strings.CutPrefix(s, "==>"); ok {
		if label, ok := strings.CutSuffix(rest, "<=="); ok {
			return placeOf(label), true
		}
	}
	all := taskPath.FindAllStringSubmatch(s, 8)
	if len(all) == 0 {
		return place{}, false
	}
	p := place{name: all[0][0]}
	p.task(all[0][1], all[0][2], all[0][3])
	for _, m := range all[1:] {
		if m[1] != all[0][1] || m[2] != all[0][2] {
			p.pid, p.tid, p.leader = 0, 0, false
		}
	}
	return p, true
}

var taskName = regexp.MustCompile(`(?i)^\W*(tid|thread|pid|process|task)\s*[:=#]?\s*(\d+)\W*$`)

// namedTask reads "TID 4712:" and its kin.
func namedTask(s string) (place, bool) {
	m := taskName.FindStringSubmatch(s)
	if m == nil {
		return place{}, false
	}
	p := place{kind: fileTask, name: s}
	p.tid, _ = strconv.Atoi(m[2])
	if kind := strings.ToLower(m[1]); kind == "pid" || kind == "process" {
		p.pid, p.leader = p.tid, true
	}
	return p, true
}
