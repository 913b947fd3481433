package timeline_test

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"

	"github.com/google/go-cmp/cmp"
)

// sheet is a list of events, one a line:
//
//	TIME CPU VERB ...
//
//	10 0 switch A S B     A leaves CPU 0 in state S, B comes
//	10 0 wake A B 1       A wakes B onto CPU 1 (waking, new: the other events)
//	10 0 irq A B 1        an interrupt over A wakes B (irqwaking)
//	10 0 in A, out A S    records of a switch
//	10 0 fork A B, exit A, comm A name, pid A 7, migrate A 0 1
//	10 0 lost             CPU - is not known
//	10 0 sample A 3       a sample of event 3
//
// Tasks are letters, A being tid 101; . is the idle task. A number after # is
// the stack.
func sheet(t testing.TB, text string, names *timeline.Names) []timeline.Event {
	t.Helper()
	var evs []timeline.Event
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 3 {
			t.Fatalf("line %d: %q", n+1, line)
		}
		evs = append(evs, parseSheet(t, f, names))
	}
	return evs
}

func parseSheet(t testing.TB, f []string, names *timeline.Names) timeline.Event {
	at, err := strconv.ParseUint(f[0], 10, 64)
	if err != nil {
		t.Fatalf("%q: %v", f, err)
	}
	e := timeline.Event{Time: at, CPU: -1}
	if f[1] != "-" {
		e.CPU = num(f[1])
	}
	if last := f[len(f)-1]; last[0] == '#' {
		e.Stack = uint32(num(last[1:]))
		f = f[:len(f)-1]
	}
	verb, arg := f[2], f[3:]
	tid := func(i int) int32 {
		if arg[i] == "." {
			return 0
		}
		if n, err := strconv.Atoi(arg[i]); err == nil {
			return int32(n)
		}
		return int32(arg[i][0]-'A') + 101
	}
	if len(arg) > 0 {
		e.TID = tid(0)
	}
	switch verb {
	case "switch":
		e.Kind, e.State, e.Other = timeline.KindSwitch, states[arg[1]], tid(2)
	case "wake", "irq", "waking", "irqwaking", "new":
		e.Kind, e.Other, e.Arg = timeline.KindWakeup, tid(1), uint64(num(arg[2]))
		if strings.HasSuffix(verb, "waking") {
			e.Kind = timeline.KindWaking
		}
		if verb == "new" {
			e.Kind = timeline.KindWakeupNew
		}
		if strings.HasPrefix(verb, "irq") {
			e.Flags |= timeline.FlagIRQ
		}
	case "in":
		e.Kind = timeline.KindSwitchIn
	case "out":
		e.Kind, e.State = timeline.KindSwitchOut, states[arg[1]]
	case "fork":
		e.Kind, e.Other = timeline.KindFork, tid(1)
	case "exit":
		e.Kind = timeline.KindExit
	case "comm":
		e.Kind, e.Comm = timeline.KindComm, names.ID([]byte(arg[1]))
	case "pid":
		e.Kind, e.PID, e.Flags = timeline.KindComm, num(arg[1]), timeline.FlagHasPID
	case "migrate":
		e.Kind, e.TID, e.Other, e.Arg = timeline.KindMigrate, 0, tid(0), uint64(num(arg[1]))<<32|uint64(num(arg[2]))
	case "lost":
		e.Kind, e.Arg = timeline.KindLost, 1
	case "sample":
		e.Kind, e.Event, e.Arg = timeline.KindSample, uint16(num(arg[1])), 1
	default:
		t.Fatalf("verb %q", verb)
	}
	return e
}

func letter(tid int) string {
	switch {
	case tid == 0:
		return "."
	case tid < 0:
		return "?"
	}
	return string(rune('A' + tid - 101))
}

// summary writes what is known of a thread, one word a figure; what is absent
// is left out, and histograms are written as count and sum.
func summary(s *evidence.TaskStats) string {
	w := []string{letter(s.Task.TID)}
	put := func(format string, a ...any) { w = append(w, fmt.Sprintf(format, a...)) }
	opt := func(name string, o evidence.Opt[uint64]) {
		if o.OK {
			put("%s=%d", name, o.V)
		}
	}
	hist := func(name string, h *evidence.Histogram) {
		if h != nil {
			put("%s=%dx%d", name, h.N, h.Sum)
		}
	}
	if s.Task.Comm != "" {
		put("%q", s.Task.Comm)
	}
	if s.Voluntary.OK {
		put("%d+%d", s.Voluntary.V, s.Involuntary.V)
	}
	opt("switches", s.Switches)
	hist("run", s.Run)
	hist("off", s.OffCPU)
	opt("sleep", s.SleepNS)
	hist("delay", s.Delay)
	if m := s.MaxDelay; m.OK {
		put("(max %d at %d: %s)", m.V.NS, m.V.AtNS, letter(m.V.Instead.TID))
	}
	hist("preempt", s.Preempt)
	opt("first", s.FirstWaitNS)
	opt("moved", s.Migrations)
	if s.WakeCtx != nil {
		for i, n := range s.WakeCtx {
			if n > 0 {
				put("by-%v=%d", evidence.WakeContext(i), n)
			}
		}
	}
	if s.ChainBreaks > 0 {
		put("breaks=%d", s.ChainBreaks)
	}
	if s.MissedOuts > 0 {
		put("missed=%d", s.MissedOuts)
	}
	return strings.Join(w, " ")
}

func summaries(set *evidence.Set) []string {
	var out []string
	for i := range set.Threads {
		out = append(out, summary(&set.Threads[i]))
	}
	return out
}

// TestTracker reads the figures of hand-written time lines.
func TestTracker(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			var names timeline.Names
			evs := sheet(t, c.events, &names)
			set := track(t, evs, &names, timeline.TrackerOptions{SystemWide: !c.task, Wakeups: c.wakeups})
			if d := cmp.Diff(c.want, summaries(set)); d != "" {
				t.Errorf("%s\n%s", c.line, d)
			}
			if breaks := set.Sources[0].Loss.ChainBreaks; breaks != c.breaks {
				t.Errorf("%d chain breaks, want %d", breaks, c.breaks)
			}
		})
	}
}

func TestTrackerWakers(t *testing.T) {
	var names timeline.Names
	set := track(t, sheet(t, `
		100 0 switch . R A
		110 0 waking A B 1
		112 0 wake A B 1
		120 1 switch . R B
		130 1 switch B S .
		140 0 wake A B 1
		150 0 switch A S .
		160 1 switch . R B
		170 1 switch B S .
		180 0 irq . B 1
		190 1 switch . R B
		195 1 switch B S .
	`, &names), &names, timeline.TrackerOptions{SystemWide: true})
	want := []evidence.Waker{
		{Task: evidence.Task{TID: 101}, Count: 2, DelayNS: 8 + 20, AfterNS: 40 + 10, Blocked: 2},
		{Task: evidence.Task{Comm: "swapper"}, IRQ: true, Count: 1, DelayNS: 10},
	}
	for _, s := range set.Threads {
		if s.Task.TID != 102 {
			continue
		}
		// The first delay is not B's: it had not been seen to leave before.
		want[0].DelayNS = 20
		if d := cmp.Diff(want, s.Wakers); d != "" {
			t.Error(d)
		}
	}
}

// TestTrackerManyWakers has one waker among thousands that wake a task once.
func TestTrackerManyWakers(t *testing.T) {
	var evs []timeline.Event
	for i := range int32(5000) {
		by := 1000 + i
		if i%4 == 0 {
			by = 999
		}
		at := 100 * uint64(i+1)
		evs = append(evs, timeline.Event{Time: at, Kind: timeline.KindWakeup, TID: by, Other: 7, CPU: 0, Arg: 1},
			timeline.Event{Time: at + 10, Kind: timeline.KindSwitch, Other: 7, CPU: 1, State: evidence.StateR},
			timeline.Event{Time: at + 20, Kind: timeline.KindSwitch, TID: 7, CPU: 1, State: evidence.StateS})
	}
	set := track(t, evs, &timeline.Names{}, timeline.TrackerOptions{SystemWide: true})
	w := set.Threads[0].Wakers
	if len(w) != evidence.MaxWakers || w[0].Task.TID != 999 || w[0].Count != 1250 || w[1].Count > 2 {
		t.Errorf("%d wakers, the first %+v, the second %+v; want 999 with 1250 wakeups", len(w), w[0], w[1])
	}
}

// TestTrackerGenerations gives one tid to three tasks.
func TestTrackerGenerations(t *testing.T) {
	var names timeline.Names
	set := track(t, sheet(t, `
		0  - fork A B
		0  - comm B listed
		10 0 switch A S B
		20 0 exit B
		25 0 exit B
		30 0 switch B X A
		40 0 fork A B
		41 0 fork A B
		42 0 new A B 0
		43 0 comm B second
		50 0 switch A S B
		60 0 switch B Z A
		70 0 switch A S B
		80 0 switch B S A
	`, &names), &names, timeline.TrackerOptions{SystemWide: true})
	want := []string{
		`A 3+0 run=2x30 off=3x40`,
		`B "listed" 1+0 run=1x20`,
		`B "second" 1+0 run=1x10 first=8`,
		`B 1+0 run=1x10`,
	}
	if d := cmp.Diff(want, summaries(set)); d != "" {
		t.Error(d)
	}
}

// TestTrackerUnseenThreads: a thread that starts and ends without a switch is a
// target of a recording of tasks all the same; what is only named is none.
func TestTrackerUnseenThreads(t *testing.T) {
	for _, c := range []struct {
		wide bool
		want []bool // of each thread, whether its end was recorded
	}{{false, []bool{false, true}}, {true, []bool{false}}} {
		var names timeline.Names
		set := track(t, sheet(t, `
			0  - comm C named
			10 0 switch A S .
			20 0 fork A B
			30 0 exit B
		`, &names), &names, timeline.TrackerOptions{SystemWide: c.wide})
		var ended []bool
		for i := range set.Threads {
			ended = append(ended, set.Threads[i].Ended)
		}
		if d := cmp.Diff(c.want, ended); d != "" {
			t.Errorf("system-wide %t: %s", c.wide, d)
		}
	}
}

func TestTrackerKinds(t *testing.T) {
	var names timeline.Names
	set := track(t, sheet(t, `
		0  - comm 2 kthreadd
		0  - fork 2 K
		0  - pid A 7
		0  - pid B 7
		0  - pid C 8
		10 0 switch A S B
		20 0 switch B S A
		30 0 switch A S C
		40 0 switch C S A
		50 0 switch A S K
		60 0 switch K S A
		70 0 switch A S .
		80 0 switch . R A
		90 0 switch A S D
		95 0 switch D I A
		96 0 switch A S D
	`, &names), &names, timeline.TrackerOptions{SystemWide: true})
	want := map[int][evidence.NumKinds]uint64{
		101: {evidence.KindThread: 1, evidence.KindProcess: 1, evidence.KindKernel: 2, evidence.KindIdle: 1, evidence.KindUnknown: 1},
		102: {evidence.KindThread: 1}, 103: {evidence.KindProcess: 1}, 111: {evidence.KindUnknown: 1}, 104: {evidence.KindUnknown: 1},
	}
	for _, s := range set.Threads {
		if s.Kinds == nil || *s.Kinds != want[s.Task.TID] {
			t.Errorf("%d switches to %v, want %v", s.Task.TID, s.Kinds, want[s.Task.TID])
		}
		if s.Kernel != (s.Task.TID == 111 || s.Task.TID == 104) {
			t.Errorf("%d: kernel is %v", s.Task.TID, s.Kernel)
		}
	}
}

// stacks gives made-up frames.
type stacks struct{}

func (stacks) Frames(id uint32) []evidence.Frame {
	return []evidence.Frame{{Symbol: "leaf" + strconv.Itoa(int(id))}, {Symbol: "main"}}
}

func TestTrackerStacks(t *testing.T) {
	var names timeline.Names
	evs := sheet(t, `
		10 0 switch . R A
		20 0 switch A S B #1
		25 0 wake B A 0
		30 0 switch B R A #2
		40 0 switch A S B #1
		50 0 switch B S A
		60 0 sample A 1 #1
		65 0 sample A 1 #1
		66 0 sample . 1 #3
		70 0 switch A R B #1
	`, &names)
	for i := range evs {
		if evs[i].Kind == timeline.KindSample {
			evs[i].Arg = 100
		}
	}
	var set evidence.Set
	tr := timeline.NewTracker(&names, timeline.TrackerOptions{SystemWide: true, Events: []timeline.EventInfo{
		{Name: "sched:sched_switch", Chains: true}, {Name: "cycles", Kind: evidence.StackCPU, Sampled: true}}})
	if err := tr.Events(evs); err != nil {
		t.Fatal(err)
	}
	if err := tr.Finish(set.NewBuilder("test", "test"), stacks{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tb := range set.Stacks {
		for _, s := range tb.Samples {
			task, chain := "?", ""
			if s.Task >= 0 {
				task = letter(tb.Tasks[s.Task].TID)
			}
			if s.Stack >= 0 {
				for _, f := range tb.Stacks[s.Stack] {
					chain += "/" + tb.Frames[f].Symbol
				}
			}
			got = append(got, fmt.Sprintf("%s %v %v: %s %v%s %v n=%d w=%g off=%dx%d delay=%d", tb.Event, tb.Kind, tb.Sampled, task, s.State, chain, s.Wake, s.Count, s.Weight, s.OffN, s.OffNS, s.DelayNS))
		}
	}
	want := []string{
		"cycles cpu-samples true: . ?/leaf3/main unknown n=1 w=100 off=0x0 delay=0",
		"cycles cpu-samples true: A ?/leaf1/main unknown n=2 w=200 off=0x0 delay=0",
		"sched:sched_switch switches false: A R/leaf1/main none n=1 w=1 off=0x0 delay=0",
		"sched:sched_switch switches false: A S/leaf1/main unknown n=2 w=2 off=2x20 delay=5",
		"sched:sched_switch switches false: B R/leaf2/main self n=1 w=1 off=1x10 delay=0",
		"sched:sched_switch switches false: B S unknown n=1 w=1 off=1x20 delay=0",
	}
	sort.Strings(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestTrackerSeries lets the steps double many times.
func TestTrackerSeries(t *testing.T) {
	var evs []timeline.Event
	const n = 100000
	for i := range uint64(n) {
		e := timeline.Event{Time: 1000 + i*i, Kind: timeline.KindSwitch, TID: int32(i % 2), Other: int32((i + 1) % 2), CPU: int32(i / 2 % 3)}
		evs = append(evs, e)
	}
	set := track(t, evs, &timeline.Names{}, timeline.TrackerOptions{SystemWide: true})
	if len(set.Series) != 4 || len(set.CPUs) != 3 {
		t.Fatalf("%d series of %d CPUs", len(set.Series), len(set.CPUs))
	}
	for _, s := range set.Series {
		var sum, at uint64
		for i, c := range s.Switches {
			sum += uint64(c)
			// The k-th switch is at k*k.
			end := uint64(i+1) * s.StepNS
			for at < n && at*at < end {
				at++
			}
			if !s.CPU.OK && sum != at {
				t.Fatalf("%d switches before %d, want %d", sum, end, at)
			}
		}
		if want := uint64(n); !s.CPU.OK && sum != want {
			t.Errorf("%d switches, want %d", sum, want)
		}
		if len(s.Switches) > 256 || len(s.Switches) < 128 {
			t.Errorf("%d steps", len(s.Switches))
		}
	}
}

// TestTrackerLimit has more tasks than are told apart.
func TestTrackerLimit(t *testing.T) {
	var evs []timeline.Event
	for i := range int32(100) {
		evs = append(evs, timeline.Event{Time: uint64(i + 1), Kind: timeline.KindSwitch, TID: i + 1, Other: i + 2, State: evidence.StateS})
	}
	set := track(t, evs, &timeline.Names{}, timeline.TrackerOptions{SystemWide: true, MaxTasks: 10})
	if n := len(set.Threads); n != 8 { // of 10, the idle task and the stand-in have no row
		t.Errorf("%d rows", n)
	}
	want := []string{"more than 10 tasks: 92 switch-outs of further ones are not counted"}
	if d := cmp.Diff(want, set.Sources[0].Warnings); d != "" {
		t.Error(d)
	}
}

// TestTrackerSampled has a sched_switch that was taken every 10th time.
func TestTrackerSampled(t *testing.T) {
	evs := []timeline.Event{
		{Time: 10, Kind: timeline.KindSwitch, TID: 1, Other: 2, State: evidence.StateS, Arg: 10},
		{Time: 20, Kind: timeline.KindSwitch, TID: 2, Other: 1, State: evidence.StateR, Arg: 10},
		{Time: 30, Kind: timeline.KindSwitch, TID: 1, Other: 2, State: evidence.StateS, Arg: 10},
	}
	set := track(t, evs, &timeline.Names{}, timeline.TrackerOptions{SystemWide: true,
		Events: []timeline.EventInfo{{Name: "sched:sched_switch", Sampled: true}}})
	if len(set.Threads) != 2 || set.Threads[0].Voluntary.V != 20 || set.Threads[1].Involuntary.V != 10 {
		t.Errorf("rows %+v", set.Threads)
	}
	for _, s := range set.Threads {
		if s.RunNS.OK || s.WaitNS.OK {
			t.Errorf("%d has durations between samples", s.Task.TID)
		}
	}
	if len(set.Sources[0].Notes) != 1 || set.Sources[0].Loss.ChainBreaks != 0 {
		t.Errorf("notes %q, %d chain breaks", set.Sources[0].Notes, set.Sources[0].Loss.ChainBreaks)
	}
}
