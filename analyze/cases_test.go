package analyze

import (
	"strings"
	"testing"

	"ctxan/parse/evidence"
)

// capture adds a source with thread rows: pid, tid, comm and switches each.
func capture(set *evidence.Set, name string, target evidence.Target, rows ...evidence.TaskStats) *evidence.Source {
	b := set.NewBuilder(name, "test")
	b.Source().Target = target
	b.Source().Window.DurationS = evidence.Some(1.0)
	for _, r := range rows {
		b.Thread(r)
	}
	return b.Source()
}

func row(pid, tid int, comm string, vol, invol uint64) evidence.TaskStats {
	return evidence.TaskStats{Task: evidence.Task{PID: pid, TID: tid, Comm: comm}, Voluntary: evidence.Some(vol), Involuntary: evidence.Some(invol),
		States: &[evidence.NumStates]uint64{}}
}

func counters(set *evidence.Set, name string, target evidence.Target) {
	b := set.NewBuilder(name, "perf-stat")
	blk := *counted(1, map[string]float64{"task-clock": 100, "context-switches": 1000})
	blk.Target = target
	b.Counters(blk)
}

func pid(ids ...int) evidence.Target {
	return evidence.Target{Kind: evidence.TargetProcess, IDs: ids}
}

var command = evidence.Target{Kind: evidence.TargetCommand, Name: "make -j8"}

var system = evidence.Target{Kind: evidence.TargetSystem}

func subjects(sels []*selection) string {
	var out []string
	for _, s := range sels {
		out = append(out, s.subject.Name().String())
	}
	return strings.Join(out, "; ")
}

func TestCases(t *testing.T) {
	for _, c := range []struct {
		name   string
		build  func(*evidence.Set)
		want   string
		checks string // ids
	}{
		{"one process in three captures", func(s *evidence.Set) {
			counters(s, "perf-stat.txt", pid(7))
			capture(s, "pidstat.txt", evidence.Target{}, row(7, 7, "app", 1, 0), row(7, 8, "worker", 5, 0))
			capture(s, "sched.data", system, row(7, 8, "worker", 5, 0), row(9, 9, "other", 90, 0))
		}, "process 7; the machine", ""},
		{"two processes are not merged", func(s *evidence.Set) {
			counters(s, "a.txt", pid(7))
			counters(s, "b.txt", pid(9))
		}, "process 7; process 9", "subjects"},
		{"a capture without a subject joins the only one", func(s *evidence.Set) {
			counters(s, "a.txt", pid(7))
			b := s.NewBuilder("report.txt", "perf-report")
			b.Profile(evidence.Profile{Event: "cycles", Kind: evidence.StackCPU})
		}, "process 7", ""},
		{"a system-wide trace alone is about its busiest process", func(s *evidence.Set) {
			capture(s, "sched.data", system, row(7, 7, "app", 80, 0), row(9, 9, "other", 5, 0), row(2, 2, "perf", 500, 0))
		}, "process 7; the machine", ""},
		{"no process stands out", func(s *evidence.Set) {
			capture(s, "sched.data", system, row(7, 7, "a", 30, 0), row(8, 8, "b", 30, 0), row(9, 9, "c", 30, 0))
		}, "the machine; process 7; process 8; process 9", ""},
		{"system-wide counters", func(s *evidence.Set) { counters(s, "a.txt", system) }, "the machine", ""},
		{"two machines", func(s *evidence.Set) {
			capture(s, "a.data", pid(7), row(7, 7, "app", 1, 0)).Host.Name = "web-1"
			capture(s, "b.data", pid(7), row(7, 7, "app", 1, 0)).Host.Name = "web-2"
		}, "process 7", "hosts"},
		{"a list of processes", func(s *evidence.Set) { counters(s, "a.txt", pid(7, 8)) }, "processes 7, 8", ""},
		{"a command, of whose processes one does most", func(s *evidence.Set) {
			counters(s, "perf-stat.txt", command)
			capture(s, "perf.data", command, row(7, 7, "sh", 5, 0), row(8, 8, "app", 90, 0))
		}, "process 8", ""},
		{"a command, of whose processes none does most", func(s *evidence.Set) {
			counters(s, "perf-stat.txt", command)
			capture(s, "perf.data", command, row(7, 7, "make", 30, 0), row(8, 8, "cc", 40, 0), row(9, 9, "cc", 40, 0))
			capture(s, "threads-after.txt", pid(7), row(7, 7, "make", 30, 0))
		}, "make -j8; process 7", ""},
		{"the recorder in its own system-wide trace", func(s *evidence.Set) {
			capture(s, "sched.data", system, row(7, 7, "app", 80, 0), row(3, 3, "ctxan", 500, 0))
		}, "process 7; the machine", ""},
		{"threads", func(s *evidence.Set) {
			counters(s, "a.txt", evidence.Target{Kind: evidence.TargetThread, IDs: []int{5}})
		}, "thread 5", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := &evidence.Set{}
			c.build(set)
			sels, checks := selectCases(set)
			if got := subjects(sels); got != c.want {
				t.Errorf("cases %q, want %q", got, c.want)
			}
			var ids []string
			for _, k := range checks {
				ids = append(ids, k.ID)
			}
			if got := strings.Join(ids, " "); got != c.checks {
				t.Errorf("checks %q, want %q", got, c.checks)
			}
		})
	}
}

// Only the process's own threads are in its case.
func TestCaseKeepsItsThreads(t *testing.T) {
	set := &evidence.Set{}
	counters(set, "perf-stat.txt", pid(7))
	capture(set, "sched.data", system, row(7, 7, "app", 3, 1), row(7, 8, "w", 2, 0), row(9, 9, "other", 90, 0))
	r, err := Run(set, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Primary()
	if len(c.Threads) != 2 || c.Layer2.Switches.V != 6 || c.Layer2.SwitchesPerS.V != 6 {
		t.Errorf("threads %d, switches %v, rate %v", len(c.Threads), c.Layer2.Switches, c.Layer2.SwitchesPerS)
	}
}

// A command is all that it started.
func TestCommandKeepsItsProcesses(t *testing.T) {
	set := &evidence.Set{}
	counters(set, "perf-stat.txt", command)
	capture(set, "perf.data", command, row(7, 7, "make", 300, 0), row(8, 8, "cc", 400, 0), row(9, 9, "cc", 300, 0))
	r, err := Run(set, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Primary()
	if len(r.Cases) != 1 || len(c.Threads) != 3 || c.Layer2.Switches.V != 1000 {
		t.Errorf("%d cases; threads %d, switches %v; want what the counters count: 1,000", len(r.Cases), len(c.Threads), c.Layer2.Switches)
	}
}

// A tool's averages replace its intervals, and thread rows their process.
func TestRatesAreNotCountedTwice(t *testing.T) {
	set := &evidence.Set{}
	b := set.NewBuilder("pidstat.txt", "pidstat")
	rate := func(pid, tid int, process, average bool, v float64) {
		b.Thread(evidence.TaskStats{Task: evidence.Task{PID: pid, TID: tid, Comm: "app"}, Process: process, Average: average,
			VoluntaryPerS: evidence.Some(v), InvoluntaryPerS: evidence.Some(0.0)})
	}
	for range 3 {
		rate(7, 7, true, false, 900)
		rate(7, 7, false, false, 10)
		rate(7, 8, false, false, 20)
	}
	rate(7, 7, true, true, 900)
	rate(7, 7, false, true, 11)
	rate(7, 8, false, true, 22)
	r, err := Run(set, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Primary().Layer2.SwitchesPerS.V; got != 33 {
		t.Errorf("sum %v, want 33", got)
	}
}

// A thread that is idle in some intervals has no row there: its mean counts them.
func TestMeanOverIntervals(t *testing.T) {
	set := &evidence.Set{}
	b := set.NewBuilder("pidstat.txt", "pidstat")
	for i := range 4 {
		b.Thread(evidence.TaskStats{Task: evidence.Task{PID: 7, TID: 7}, VoluntaryPerS: evidence.Some(100.0)})
		if i == 0 {
			b.Thread(evidence.TaskStats{Task: evidence.Task{PID: 7, TID: 8}, VoluntaryPerS: evidence.Some(40.0)})
		}
	}
	r, err := Run(set, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Primary().Layer2.SwitchesPerS.V; got != 110 {
		t.Errorf("sum of means %v, want 110", got)
	}
}
