package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"

	"github.com/google/go-cmp/cmp"
)

// stories are time lines, and who took the CPU from whom, who held up whom, and
// who was woken in company.
var stories = []struct {
	name, events string
	task         bool
	want         []string
}{
	{name: "preempted by a thread, a stranger and the idle task", events: `
		10 0 pid A 7
		10 0 pid B 7
		20 0 switch . R A
		30 0 switch A R B
		50 0 switch B S A
		60 0 switch A R+ C
		65 0 switch C S A
		70 0 switch A R .`,
		want: []string{`A taken=B:1x20 taken=C:1x5 taken=.:1 blame=B:20 blame=C:5`}},
	{name: "a preemptor whose end is missed ran for an unknown time", events: `
		20 0 switch . R A
		30 0 switch A R B
		40 0 switch C S D`,
		want: []string{`A taken=B:1`}},
	{name: "tasks that are not watched are named too", task: true, events: `
		10 0 switch A S Z
		30 0 switch A S Z
		60 0 switch A R Z
		70 0 switch A S .`,
		want: []string{`A gap=2x50 taken=Z:1`}},
	{name: "a delay is charged to who ran, and a CPU beside it was idle", events: `
		10 1 switch B S .
		100000 0 switch . R A
		200000 0 switch A S B
		250000 0 wake B A 0
		300000 0 switch B R C
		400000 0 switch C S A`,
		want: []string{`A blame=C:100000 blame=B:50000 idle=150000`, `B taken=C:1x100000`}},
	{name: "a short wait is not held against idle CPUs", events: `
		10 1 switch B S .
		20 0 switch . R A
		30 0 switch A R B
		40 0 switch B S A`,
		want: []string{`A taken=B:1x10 blame=B:10`}},
	{name: "more than the last stints is not known", events: `
		10 0 switch . R A
		20 0 switch A R B` + strings.Repeat(`
		30 0 switch B R C
		30 0 switch C R B`, 20) + `
		40 0 switch B S A`,
		want: []string{`A taken=B:1x10 blame=B:10 blame=?:10`}},
	{name: "woken at one go", events: `
		10 0 switch . R A
		20 0 wake A B 1
		21 0 wake A C 1
		22 0 wake A D 1
		23 0 wake A E 1
		23 0 wake A E 1
		30 0 switch A S .
		31 0 irq . B 1
		32 0 irq . C 1
		33 0 switch . R A`,
		want: []string{`B bursts=1x4`, `C bursts=1x4`, `D bursts=1x4`, `E bursts=1x4`}},
}

func TestTrackerPreemptors(t *testing.T) {
	for _, s := range stories {
		names := &timeline.Names{}
		tr := timeline.NewTracker(names, timeline.TrackerOptions{SystemWide: !s.task})
		if err := tr.Events(sheet(t, s.events, names)); err != nil {
			t.Fatal(err)
		}
		var set evidence.Set
		if err := tr.Finish(set.NewBuilder("test", "test"), nil); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range set.Threads {
			if l := story(&set.Threads[i]); strings.Contains(l, " ") {
				got = append(got, l)
			}
		}
		if s.name == "more than the last stints is not known" {
			got = got[:1]
		}
		if d := cmp.Diff(s.want, got); d != "" {
			t.Errorf("%s: %s", s.name, d)
		}
	}
}

// story is what a row tells beside the counts.
func story(s *evidence.TaskStats) string {
	who := func(k evidence.Task) string {
		switch k.TID {
		case 0:
			return "."
		case -1:
			return "?"
		}
		return letter(k.TID)
	}
	out := who(s.Task)
	if s.Gap != nil {
		out += fmt.Sprintf(" gap=%dx%d", s.Gap.N, s.Gap.Sum)
	}
	for _, p := range s.Preemptors {
		out += fmt.Sprintf(" taken=%s:%d", who(p.Task), p.Count)
		if p.RanN > 0 {
			out += fmt.Sprintf("x%d", p.RanNS)
		}
	}
	for _, b := range s.Blame {
		out += fmt.Sprintf(" blame=%s:%d", who(b.Task), b.NS)
	}
	if s.IdleElsewhereNS > 0 {
		out += fmt.Sprintf(" idle=%d", s.IdleElsewhereNS)
	}
	if s.Bursts > 0 {
		out += fmt.Sprintf(" bursts=%dx%d", s.Bursts, s.BurstSize/s.Bursts)
	}
	return out
}

// TestTrackerBlameSums: what a task's waits are charged with is what they took.
func TestTrackerBlameSums(t *testing.T) {
	names := &timeline.Names{}
	tr := timeline.NewTracker(names, timeline.TrackerOptions{SystemWide: true})
	for range 20 {
		evs := load(4096, 300, 4, true, nil)
		if err := tr.Events(evs); err != nil {
			t.Fatal(err)
		}
	}
	var set evidence.Set
	if err := tr.Finish(set.NewBuilder("test", "test"), nil); err != nil {
		t.Fatal(err)
	}
	waits := 0
	for i := range set.Threads {
		s := &set.Threads[i]
		var sum uint64
		for _, b := range s.Blame {
			sum += b.NS
		}
		if want := s.DelayNS.V + s.PreemptNS.V; sum != want {
			t.Errorf("tid %d: %d ns charged, %d ns waited", s.Task.TID, sum, want)
		}
		if len(s.Blame) > evidence.MaxBlame || len(s.Preemptors) > evidence.MaxPreemptors {
			t.Errorf("tid %d: %d and %d rows", s.Task.TID, len(s.Blame), len(s.Preemptors))
		}
		waits += len(s.Blame)
	}
	if waits == 0 {
		t.Error("nobody waited")
	}
}
