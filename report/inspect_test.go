package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ctxan/parse/evidence"
)

// evidenceSet has something of each kind, with a name wherever one goes.
func evidenceSet(name string) *evidence.Set {
	s := &evidence.Set{}
	b := s.NewBuilder("perf-stat.txt", "perf-stat")
	b.Source().Target = evidence.Target{Kind: evidence.TargetProcess, IDs: []int{58931}}
	b.Drop(7, errors.New("no number"))
	b.Warn("cut off")
	b.Counters(evidence.CounterBlock{Pos: evidence.Pos{Line: 1}, Scope: "process id '58931'", ElapsedS: some(3.004342766), Counters: []evidence.Counter{
		{Event: "task-clock", Value: 4808.30, Unit: "msec", Pos: evidence.Pos{Line: 2}},
		{Event: "context-switches", Value: 225908, Pos: evidence.Pos{Line: 3}},
		{Event: "cycles", Status: evidence.StatusNotCounted},
		{Event: "cycles", Modifier: "k", Status: evidence.StatusNotSupported},
		{Event: "context-switches", Modifier: "u", Status: evidence.StatusUnmeasurable},
		{Event: "instructions", Value: 45927687496, RunningPct: some(49.97), StdDevPct: some(0.31), Metric: some(3.41), MetricUnit: "insn per cycle"},
	}})
	b.Counters(evidence.CounterBlock{Pos: evidence.Pos{Line: 30}, Scope: name, Runs: 5, UserS: some(1.5), Aggregation: "cpu",
		Counters:  []evidence.Counter{{Event: "context-switches", Value: 4}},
		Parts:     []evidence.CounterPart{{Name: name, CPU: some(0), Counters: []evidence.Counter{{Event: "context-switches", Value: 3}}}},
		Intervals: []evidence.CounterPart{{EndS: some(1.0), Counters: []evidence.Counter{{Event: "context-switches", Value: 1}}}}})
	hostileSource(s, name)
	other := s.NewBuilder("runqlat.txt", "bpf-hist")
	other.System(evidence.SystemRate{SwitchesPerS: []float64{24018, 23000}})
	other.Series(evidence.Series{StepNS: 1e7, Switches: []uint32{1, 2}})
	other.Histogram(evidence.TextHistogram{Pos: evidence.Pos{Line: 2}, Title: "usecs", Unit: "usecs", Total: 318,
		Buckets: []evidence.Bucket{{Lo: 0, Hi: 1, Count: 3}, {Lo: 1, Hi: 2, Count: 215}, {Lo: 128, Hi: 256, Count: 100}}})
	other.Histogram(evidence.TextHistogram{Title: name, Unit: "slots", Total: 1, Buckets: []evidence.Bucket{{Lo: 0, Hi: 1, Count: 1}}})
	s.NewBuilder("nothing.txt", "unknown")
	return s
}

func hostileSource(s *evidence.Set, name string) {
	b := s.NewBuilder(name, "perf.data")
	src := b.Source()
	src.Variant, src.Tool, src.Command, src.SHA256 = name, name, name, name
	src.Host = evidence.Host{Name: name, Release: name, Arch: name, CPUs: some(8), CPUDesc: name}
	src.Window = evidence.Window{DurationS: some(0.5), StartNS: some(uint64(1)), EndNS: some(uint64(500000001))}
	src.Target = evidence.Target{Kind: evidence.TargetCommand, Name: name}
	src.Loss = evidence.Loss{LostRecords: 12, ChainBreaks: 1, Truncated: true}
	for i := range 30 {
		b.DropAt(int64(64*i), fmt.Errorf("record of type %s", name))
	}
	b.Warn(name)
	b.Note(name)
	b.Thread(evidence.TaskStats{Task: evidence.Task{PID: 58931, TID: 58949, Comm: name}, VoluntaryPerS: some(17603.0), InvoluntaryPerS: some(0.0)})
	b.Thread(evidence.TaskStats{Task: evidence.Task{PID: 58931, TID: 58931, Comm: name}, Process: true, Voluntary: some(uint64(9)), Involuntary: some(uint64(1)),
		RunNS: some(uint64(5e6)), DelayNS: some(uint64(4000)), WaitNS: some(uint64(4e8)), Migrations: some(uint64(0)),
		States: &[evidence.NumStates]uint64{evidence.StateS: 9, evidence.StateR: 1}, WakeCtx: &[evidence.NumWakeContexts]uint64{evidence.WakeByIRQ: 1}, Kinds: &[evidence.NumKinds]uint64{evidence.KindIdle: 10},
		Wakers: []evidence.Waker{{Task: evidence.Task{TID: 0, Comm: name}, IRQ: true, Count: 9}}, MaxDelay: some(evidence.Extreme{AtNS: 7, NS: 3000, Instead: evidence.Task{TID: 2, Comm: name}})})
	for i := range 20 {
		b.Thread(evidence.TaskStats{Task: evidence.Task{TID: 100 + i}, Switches: some(uint64(i))})
	}
	b.CPU(evidence.CPUStats{CPU: 1, Switches: 12, BusyNS: 4e8, IdleNS: 1e8, ChainBreaks: 1})
	s.Traces = append(s.Traces, evidence.SchedTrace{Pos: evidence.Pos{Source: src.ID, Line: 3}, SwitchRows: 30, IdleRows: 10, WakeupRows: 9, MigrateRows: 1, RunNS: 5e6, IdleNS: 1e8,
		First:  some(evidence.SchedRow{TimeNS: 7, CPU: 1, Task: evidence.Task{TID: 3, Comm: name}}),
		Totals: some(evidence.SchedTotals{Tasks: some(uint64(4)), Switches: some(uint64(30)), CPUs: some(8)})})
	asked := new(evidence.Histogram)
	asked.Add(9_650)
	asked.Add(9_700)
	b.Wait(evidence.WaitCall{Event: "timer:hrtimer_start", Task: evidence.Task{TID: 100, PID: 100, Comm: name}, Kind: evidence.WaitTimer, Op: name,
		Addr: 0xffffffff81234567, Count: 3, AskedNS: asked, SlackNS: asked, OtherClock: 1})
	b.Wait(evidence.WaitCall{Event: "syscalls:sys_enter_futex", Task: evidence.Task{TID: 100, PID: 100, Comm: name}, Kind: evidence.WaitFutex, Op: "FUTEX_WAIT",
		Others: 7, Count: 2, Timed: some(uint64(1))})
	b.Stacks(evidence.StackTable{Event: "sched:sched_switch", Sampled: true, Frames: []evidence.Frame{{Symbol: "schedule", Kernel: true}, {Symbol: name}, {Why: "stripped"}},
		Stacks: [][]int32{{0, 1}, {0, 2}}, Tasks: []evidence.Task{{TID: 1, Comm: name}},
		Samples: []evidence.StackSample{{Stack: 0, Count: 20, Weight: 20}, {Stack: 1, Count: 20, Weight: 20}, {Stack: -1, Count: 10, Weight: 10}}})
	b.Profile(evidence.Profile{Kind: evidence.StackCPU, Event: "cycles", Samples: some(uint64(41)), SamplesRaw: "41", EventCount: some(uint64(1110)), Children: true, Rows: []evidence.ProfileRow{
		{Symbol: name, ChildrenPct: some(69.22), SelfPct: some(0.0), Comm: name, Module: name, Trace: name, Chains: []evidence.ProfileChain{{Pct: 12, Frames: []string{name}}}}}})
}

func setInspect(t *testing.T, s *evidence.Set, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := InspectText(&b, s, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestInspectGolden(t *testing.T) {
	for _, w := range []int{60, 80, 120} {
		golden(t, fmt.Sprintf("inspect-%d.txt", w), []byte(setInspect(t, evidenceSet("netio"), Options{Width: w})))
	}
	golden(t, "inspect-ascii.txt", []byte(setInspect(t, evidenceSet("netio"), Options{ASCII: true})))
	golden(t, "inspect-hostile.txt", []byte(setInspect(t, evidenceSet("evil\x1b[31m\u202e<b>\xff"), Options{})))
}

func TestInspectWidth(t *testing.T) {
	for _, n := range append(hostileNames(), "netio") {
		command := unitsString(nameUnits(n, false))
		for _, w := range []int{40, 60, 80, 120} {
			for _, l := range strings.Split(setInspect(t, evidenceSet(n), Options{Width: w}), "\n") {
				if width(l) > w && !partOfCommand(strings.TrimPrefix(l, "  command   "), []string{command}) {
					t.Errorf("%q at %d: %d columns: %q", n, w, width(l), l)
				}
			}
		}
	}
}

func TestTelling(t *testing.T) {
	row := func(tid int, process, average bool) *evidence.TaskStats {
		return &evidence.TaskStats{Task: evidence.Task{TID: tid}, Process: process, Average: average}
	}
	for want, list := range map[string][]*evidence.TaskStats{
		"[1 2]": {row(1, false, false), row(2, false, false)},
		"[2]":   {row(1, true, false), row(2, false, false)},
		"[4]":   {row(1, false, false), row(2, true, false), row(3, true, true), row(4, false, true)},
		"[3]":   {row(1, false, false), row(3, true, true)},
		"[]":    {},
	} {
		got := []int{}
		for _, x := range telling(list) {
			got = append(got, x.Task.TID)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
