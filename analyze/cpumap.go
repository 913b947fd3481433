package analyze

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// Bounds of the map of CPUs and time.
const (
	maxMapCPUs  = 64
	maxMapSteps = 128
)

// CPUMap is the number of switches of each CPU in equal steps of the capture.
// It is of all tasks, whoever the subject is: a capture keeps no more.
type CPUMap struct {
	Source  int      `json:"source"`
	StartS  float64  `json:"start_s"` // of the first step, from the start of the capture, within which it may begin earlier
	StepS   float64  `json:"step_s"`
	Rows    []CPURow `json:"rows"`    // by CPU; of more than 64 those that switched most
	Of      int      `json:"of"`      // CPUs that switched
	Missing Text     `json:"missing"` // why there are no rows
}

// CPURow is one CPU. The busy share is of the time that the capture accounts for.
type CPURow struct {
	CPU       int                   `json:"cpu"`
	Switches  uint64                `json:"switches"`
	BusyShare evidence.Opt[float64] `json:"busy_share"`
	Steps     []uint64              `json:"steps"`
}

// cpuMap lays out the per-CPU series of the source that layer 2 is of.
func (c *caseBuild) cpuMap() CPUMap {
	var m CPUMap
	var list []*evidence.Series
	for i := range c.sel.set.Series {
		s := &c.sel.set.Series[i]
		if s.CPU.OK && s.StepNS > 0 && slices.Contains(c.sel.sources, s.Source) && (len(list) == 0 || s.Source == list[0].Source) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		m.Missing = c.whyNoMap()
		return m
	}
	src := c.sel.set.Source(list[0].Source)
	start, step := list[0].StartNS, list[0].StepNS
	from := src.Window.StartNS.Or(start)
	skip := 0 // steps before the capture's window
	if from > start {
		skip = int((from - start) / step)
	}
	merge := (stepsOf(list) - skip + maxMapSteps - 1) / maxMapSteps
	if merge < 1 {
		m.Missing = c.whyNoMap()
		return m
	}
	m.Source, m.Of = src.ID, len(list)
	m.StartS = (float64(start) + float64(skip)*float64(step) - float64(from)) / 1e9
	m.StepS = float64(step) * float64(merge) / 1e9
	for _, s := range list {
		m.Rows = append(m.Rows, c.cpuRow(s, skip, merge))
	}
	slices.SortStableFunc(m.Rows, func(a, b CPURow) int { return -cmp.Compare(a.Switches, b.Switches) })
	m.Rows = m.Rows[:min(len(m.Rows), maxMapCPUs)]
	slices.SortFunc(m.Rows, func(a, b CPURow) int { return cmp.Compare(a.CPU, b.CPU) })
	return m
}

func stepsOf(list []*evidence.Series) int {
	n := 0
	for _, s := range list {
		n = max(n, len(s.Switches))
	}
	return n
}

func (c *caseBuild) cpuRow(s *evidence.Series, skip, merge int) CPURow {
	r := CPURow{CPU: s.CPU.V}
	for i, n := range s.Switches[min(skip, len(s.Switches)):] {
		if i%merge == 0 {
			r.Steps = append(r.Steps, 0)
		}
		r.Steps[len(r.Steps)-1] += uint64(n)
		r.Switches += uint64(n)
	}
	for i := range c.sel.set.CPUs {
		cpu := &c.sel.set.CPUs[i]
		if known := cpu.BusyNS + cpu.IdleNS; cpu.Pos.Source == s.Source && cpu.CPU == r.CPU && known > 0 {
			r.BusyShare = evidence.Some(float64(cpu.BusyNS) / float64(known))
		}
	}
	return r
}

func (c *caseBuild) whyNoMap() Text {
	if !c.facts.Has.Trace {
		return Textf("no trace of the switches is in the input")
	}
	return Textf("the trace does not count by CPU; a recording of all tasks does: %s", Code("perf record -a -e sched:sched_switch"))
}

// whyNoRates is why the course of the rate is not known.
func (c *caseBuild) whyNoRates() Text {
	switch {
	case len(c.out.Rates) > 1:
		return nil
	case c.facts.Has.SystemWide && c.sel.subject.Kind != SubjectMachine:
		return Textf("the trace is of all tasks, and keeps the course of all their switches, not of one process")
	case c.facts.Has.Trace:
		return Textf("the trace does not tell when its switches were")
	}
	return Textf("the input holds totals only; %s or a trace tells", Code("perf stat -I 1000"))
}
