package analyze

import (
	"fmt"
	"slices"
	"strings"

	"ctxan/parse/evidence"
)

// keep reports whether a task belongs to the case.
func (s *selection) keep(t evidence.Task) bool { return s.subject.has(t) }

// has reports whether a task belongs to the subject.
func (s *Subject) has(t evidence.Task) bool {
	switch s.Kind {
	case SubjectMachine, SubjectUnknown, SubjectCommand: // of its captures
		return true
	case SubjectThreads:
		return slices.Contains(s.TIDs, t.TID)
	}
	if pid, ok := s.PID.Get(); ok {
		return t.PID == pid || (t.PID == 0 && t.TID == pid)
	}
	return slices.Contains(s.TIDs, t.PID) || slices.Contains(s.TIDs, t.TID)
}

// key tells subjects apart on one host.
func (s *Subject) key() string {
	if pid, ok := s.PID.Get(); ok {
		return fmt.Sprint("process ", pid)
	}
	return fmt.Sprint(s.Kind, s.TIDs, s.Command)
}

// Name is the subject in words: "netio [58931]", "process 58931", "the machine".
func (s *Subject) Name() Text {
	pid, hasPID := s.PID.Get()
	switch {
	case s.Comm != "" && hasPID:
		return Textf("%s [%d]", Code(s.Comm), pid)
	case hasPID:
		return Textf("process %d", pid)
	case s.Kind == SubjectMachine:
		return Textf("the machine")
	case s.Kind == SubjectThreads && len(s.TIDs) == 1:
		return Textf("thread %d", s.TIDs[0])
	case s.Kind == SubjectThreads:
		return manyIDs("%d threads", "threads %s", s.TIDs)
	case len(s.TIDs) > 0:
		return manyIDs("%d processes", "processes %s", s.TIDs)
	case s.Comm != "":
		return Textf("%s", Code(s.Comm))
	case s.Command != "":
		return Textf("%s", Code(s.Command))
	}
	return Textf("the subject of the capture")
}

// manyIDs names a few ids, and counts many.
func manyIDs(count, names string, ids []int) Text {
	if len(ids) > 4 {
		return Textf(count, len(ids))
	}
	return Textf(names, strings.ReplaceAll(joinInts(ids), ",", ", "))
}

func joinInts(ns []int) string {
	s := make([]string, len(ns))
	for i, n := range ns {
		s[i] = fmt.Sprint(n)
	}
	return strings.Join(s, ",")
}

func subjectOf(t evidence.Target) Subject {
	switch t.Kind {
	case evidence.TargetSystem, evidence.TargetCPU:
		return Subject{Kind: SubjectMachine}
	case evidence.TargetProcess:
		if len(t.IDs) == 1 {
			return Subject{Kind: SubjectProcess, PID: evidence.Some(t.IDs[0])}
		}
		if len(t.IDs) > 1 {
			return Subject{Kind: SubjectProcess, TIDs: t.IDs}
		}
	case evidence.TargetThread:
		if len(t.IDs) > 0 {
			return Subject{Kind: SubjectThreads, TIDs: t.IDs}
		}
	case evidence.TargetCommand, evidence.TargetCgroup:
		return Subject{Kind: SubjectCommand, Command: t.Name}
	}
	return Subject{Kind: SubjectUnknown}
}
