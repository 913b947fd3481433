package analyze

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"ctxan/parse/evidence"
)

// maxCommandTIDs is how many thread ids a printed command lists.
const maxCommandTIDs = 16

// captureMacro is the command that counts layer 1.
func captureMacro(f *Facts) string {
	switch s := &f.Subject; {
	case s.PID.OK:
		return fmt.Sprintf("perf stat -p %d -o perf-stat.txt -- sleep 3", s.PID.V)
	case s.Kind == SubjectThreads:
		return fmt.Sprintf("perf stat -t %s -o perf-stat.txt -- sleep 3", joinInts(s.TIDs))
	case s.Kind == SubjectProcess && len(s.TIDs) > 0:
		return fmt.Sprintf("perf stat -p %s -o perf-stat.txt -- sleep 3", joinInts(s.TIDs))
	case s.Kind == SubjectMachine:
		return "perf stat -a -o perf-stat.txt -- sleep 3"
	case s.Kind == SubjectCommand && s.Command != "":
		return "perf stat -o perf-stat.txt -- " + commandLine(s.Command)
	}
	return "perf stat -p PID -o perf-stat.txt -- sleep 3"
}

// CaptureMacro is the command that counts layer 1 of a case's subject.
func CaptureMacro(f *Facts) string { return captureMacro(f) }

// captureThreads is the command that counts layer 2.
func captureThreads(f *Facts) string {
	switch s := &f.Subject; {
	case s.PID.OK:
		return fmt.Sprintf("LC_ALL=C pidstat -w -t -p %d 1 3 > pidstat.txt", s.PID.V)
	case s.Kind == SubjectProcess && len(s.TIDs) > 0:
		return fmt.Sprintf("LC_ALL=C pidstat -w -t -p %s 1 3 > pidstat.txt", joinInts(s.TIDs))
	case s.Kind == SubjectThreads:
		// pidstat takes processes only; a trace counts the threads themselves.
		return fmt.Sprintf(RecordSwitches+"-t %s -o sched.data -- sleep 0.5", joinInts(s.TIDs))
	case s.Kind == SubjectMachine:
		return "LC_ALL=C pidstat -w -t 1 3 > pidstat.txt"
	case s.Kind == SubjectCommand && s.Command != "":
		return RecordSwitches + "-o sched.data -- " + commandLine(s.Command)
	}
	return "LC_ALL=C pidstat -w -t -p PID 1 3 > pidstat.txt"
}

// captureStacks is the command that records layer 3: of the hot threads when
// they are known, otherwise of the whole subject.
func captureStacks(f *Facts) string {
	const record = RecordSwitches
	switch s := &f.Subject; {
	case s.Kind == SubjectMachine:
		return record + "-a -o sched.data -- sleep 0.5"
	case s.Kind == SubjectThreads:
		return record + "-t " + joinInts(s.TIDs) + " -o sched.data -- sleep 0.5"
	case f.Hot > 0 && f.Hot <= maxCommandTIDs && (s.PID.OK || len(s.TIDs) > 0) && f.Threads[0].Task.TID != 0:
		var tids []string
		for _, t := range f.Threads[:f.Hot] {
			tids = append(tids, fmt.Sprint(t.Task.TID))
		}
		return record + "-t " + strings.Join(tids, ",") + " -o sched.data -- sleep 0.5"
	case s.PID.OK:
		return fmt.Sprintf("%s-p %d -o sched.data -- sleep 0.5", record, s.PID.V)
	case s.Kind == SubjectProcess && len(s.TIDs) > 0:
		return record + "-p " + joinInts(s.TIDs) + " -o sched.data -- sleep 0.5"
	case s.Kind == SubjectCommand && s.Command != "":
		return record + "-o sched.data -- " + commandLine(s.Command)
	}
	return record + "-p PID -o sched.data -- sleep 0.5"
}

// CopyKallsyms is the command that saves the kernel's symbols where a capture
// was made; they move at each boot.
const CopyKallsyms = "sudo cat /proc/kallsyms > kallsyms.txt"

// RecordSwitches begins a command that records switches with stacks. Without
// --buildid-all perf notes no build-id of the programs on the stacks.
const RecordSwitches = "perf record -g --buildid-all -e sched:sched_switch "

// CaptureLarger is CaptureBoth with buffers that lose less.
func CaptureLarger() string {
	return strings.Replace(CaptureBoth(), "-a -g", "-a -g -m 64M", 1)
}

// CaptureBoth answers both missing layers at once, with wakeups.
func CaptureBoth() string {
	return "perf record -a -g --buildid-all -e sched:sched_switch -e sched:sched_waking -o sched.data -- sleep 0.5"
}

// commandLine is a command that perf printed, ready to be run again. perf drops
// the quoting of arguments, so one that holds anything a shell would act on is
// left for the reader to fill in.
func commandLine(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "'")
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" _./=:,+-%@", r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) >= 0 || s == "" {
		return "COMMAND"
	}
	return s
}

// outputFile finds the file that a printed command writes.
var outputFile = regexp.MustCompile(`( -o | > )([^ ]+)`)

// fresh renames the output of a command that would write over an input: perf
// moves a file of that name aside, and a shell empties it.
func (c *caseBuild) fresh(line string) string {
	return outputFile.ReplaceAllStringFunc(line, func(m string) string {
		p := outputFile.FindStringSubmatch(m)
		for _, src := range c.sel.set.Sources {
			if path.Base(src.Name) == p[2] {
				ext := path.Ext(p[2])
				return p[1] + strings.TrimSuffix(p[2], ext) + "-2" + ext
			}
		}
		return m
	})
}

// freshCommands makes every command of a case safe for its inputs.
func (c *caseBuild) freshCommands() {
	each := func(cs []Command) {
		for i := range cs {
			cs[i].Line = c.fresh(cs[i].Line)
		}
	}
	each(c.out.Verdict.Settle)
	each(c.out.Next)
	for i := range c.out.Findings {
		each(c.out.Findings[i].Next)
	}
	for _, a := range c.out.Advice {
		copy(a.Do, a.Do.mapNames(c.fresh)) // in place: findings share it
	}
	for i := range c.out.Chain {
		if l := &c.out.Chain[i]; l.Capture.OK {
			l.Capture.V = c.fresh(l.Capture.V)
		}
	}
}

// Place names where evidence stands: "perf-stat.txt:4".
func Place(names map[int]string, source int, line evidence.Opt[int]) string {
	if n, ok := line.Get(); ok && n > 0 {
		return fmt.Sprintf("%s:%d", names[source], n)
	}
	return names[source]
}

// QuotaCounts prints how often the control group of a process used up its CPU
// quota, with either version of the control group file system.
func QuotaCounts(pid string) string {
	return `awk -F: '$2=="" {print "/sys/fs/cgroup" $3} $2~/(^|,)cpu(,|$)/ {print "/sys/fs/cgroup/cpu" $3}' /proc/` + pid +
		`/cgroup | while read d; do grep -H . $d/cpu.stat; done`
}
