package analyze

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/parse/evidence"
)

// at builds a reading of process 9 at a time in seconds after boot; 0: not known.
func at(source int, s float64, threads ...evidence.ThreadCount) evidence.Reading {
	r := evidence.Reading{Pos: evidence.Pos{Source: source, Line: 1}, Threads: threads}
	if s > 0 {
		r.At.BootNS = evidence.Some(uint64(s * 1e9))
	}
	for i := range r.Threads {
		r.Threads[i].Pos = evidence.Pos{Source: source, Line: i + 1}
	}
	return r
}

func count(pid, tid int, vol, invol uint64) evidence.ThreadCount {
	return evidence.ThreadCount{Task: evidence.Task{PID: pid, TID: tid, Comm: "a"}, Voluntary: evidence.Some(vol), Involuntary: evidence.Some(invol)}
}

func started(c evidence.ThreadCount, ns uint64) evidence.ThreadCount {
	c.StartNS = evidence.Some(ns)
	return c
}

func scheduled(c evidence.ThreadCount, run, delay uint64) evidence.ThreadCount {
	c.RunNS, c.RunDelayNS = evidence.Some(run), evidence.Some(delay)
	return c
}

func readingSet(rs ...evidence.Reading) *evidence.Set {
	set := &evidence.Set{Readings: rs}
	for _, name := range []string{"before.txt", "after.txt", "pidstat.txt"} {
		set.Sources = append(set.Sources, &evidence.Source{ID: len(set.Sources), Name: name, Format: "proc-status"})
	}
	return set
}

func optText[T any](v evidence.Opt[T]) string {
	if !v.OK {
		return "-"
	}
	return fmt.Sprint(v.V)
}

func TestCountReadings(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  *evidence.Set
		want []string // rows: pid/tid voluntary+involuntary (rates) run delay; then the source's window
		says string   // part of a check
	}{
		{"two files", readingSet(at(0, 10, count(9, 9, 5, 1), count(9, 10, 100, 7)), at(1, 12, count(9, 9, 5, 2), count(9, 10, 300, 7))),
			[]string{"9/9 0+1 (- -) - -", "9/10 200+0 (- -) - -", "after.txt 2"}, ""},
		{"given in the other order", readingSet(at(0, 12, count(9, 10, 300, 7)), at(1, 10, count(9, 10, 100, 7))),
			[]string{"9/10 200+0 (- -) - -", "before.txt 2"}, ""},
		{"no clock: the counts tell the order", readingSet(at(0, 0, count(9, 10, 300, 7)), at(1, 0, count(9, 10, 100, 7))),
			[]string{"9/10 200+0 (- -) - -", "before.txt -"}, "the time between after.txt and before.txt is not in them: counts, and no rates"},
		{"schedstat", readingSet(at(0, 1, scheduled(count(9, 10, 1, 1), 1e6, 2e6)), at(1, 2, scheduled(count(9, 10, 2, 2), 5e6, 7e6))),
			[]string{"9/10 1+1 (- -) 4000000 5000000", "after.txt 1"}, ""},
		{"a thread came, one went", readingSet(at(0, 1, count(9, 9, 1, 1), count(9, 10, 1, 1)), at(1, 2, count(9, 9, 2, 1), count(9, 11, 40, 2))),
			[]string{"9/9 1+0 (- -) - -", "9/11 40+2 (- -) - -", "after.txt 1"}, "1 threads of process 9 came and 1 went"},
		{"backwards", readingSet(at(0, 1, count(9, 10, 100, 7)), at(1, 2, count(9, 10, 3, 7))),
			[]string{"9/10 3+7 (- -) - -", "after.txt -"}, "not of the same run of process 9 and were not subtracted: counters of thread 10 went backwards"},
		{"another start", readingSet(at(0, 1, started(count(9, 10, 1, 7), 5e8)), at(1, 2, started(count(9, 10, 3, 7), 1e9))),
			[]string{"9/10 3+7 (3 7) - -", "after.txt -"}, "thread 10 started at another time"},
		{"no thread in common", readingSet(at(0, 1, count(9, 10, 100, 7)), at(1, 2, count(9, 11, 3, 7))),
			[]string{"9/11 3+7 (- -) - -", "after.txt -"}, "they have no thread in common"},
		{"once", readingSet(at(0, 1, count(9, 10, 100, 7))),
			[]string{"9/10 100+7 (- -) - -", "before.txt -"}, "counts since each thread started, over a time that is not in it"},
		{"once, with start and uptime", readingSet(at(0, 101, started(count(9, 10, 100, 10), 1e9))),
			[]string{"9/10 100+10 (1 0.1) - -", "before.txt -"}, "means over each thread's whole life"},
		{"three: first and last", readingSet(at(0, 1, count(9, 10, 1, 1)), at(0, 2, count(9, 10, 50, 1)), at(0, 5, count(9, 10, 81, 1))),
			[]string{"9/10 80+0 (- -) - -", "before.txt 4"}, ""},
		{"one unnamed thread", readingSet(at(0, 1, count(0, 0, 1, 1)), at(0, 3, count(0, 0, 5, 1))),
			[]string{"0/0 4+0 (- -) - -", "before.txt 2"}, ""},
		{"unnamed threads of two files", readingSet(at(0, 1, count(0, 0, 1, 1)), at(1, 3, count(0, 0, 5, 1))),
			[]string{"0/0 1+1 (- -) - -", "0/0 5+1 (- -) - -", "before.txt -", "after.txt -"}, "counts since each thread started"},
		{"the process is told by one of the two", readingSet(at(0, 1, count(9, 10, 1, 1)), at(1, 2, count(0, 10, 5, 1))),
			[]string{"9/10 4+0 (- -) - -", "after.txt 1"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := fmt.Sprint(tc.set.Readings, *tc.set.Sources[0], *tc.set.Sources[1])
			c := countReadings(tc.set)
			var got []string
			for _, r := range c.set.Threads {
				got = append(got, fmt.Sprintf("%d/%d %s+%s (%s %s) %s %s", r.Task.PID, r.Task.TID, optText(r.Voluntary), optText(r.Involuntary),
					optText(r.VoluntaryPerS), optText(r.InvoluntaryPerS), optText(r.RunNS), optText(r.RunDelayNS)))
			}
			for i, s := range c.set.Sources {
				if c.copied[i] {
					got = append(got, s.Name+" "+optText(s.Window.DurationS))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rows differ (-want +got):\n%s", diff)
			}
			said := ""
			for _, k := range c.checks {
				said += k.Text.String() + "\n"
			}
			if !strings.Contains(said, tc.says) || tc.says == "" && said != "" {
				t.Errorf("checks say %q, want %q", said, tc.says)
			}
			if after := fmt.Sprint(tc.set.Readings, *tc.set.Sources[0], *tc.set.Sources[1]); after != before || len(tc.set.Threads) > 0 {
				t.Error("the set was changed")
			}
		})
	}
}

// TestReadingsBesideRates: counts since the start are not mixed with rates of
// the time of the problem.
func TestReadingsBesideRates(t *testing.T) {
	set := readingSet(at(0, 1, count(9, 10, 100000, 7)))
	set.Threads = []evidence.TaskStats{{Pos: evidence.Pos{Source: 2}, Task: evidence.Task{PID: 9, TID: 10}, VoluntaryPerS: evidence.Some(4.0)}}
	c := countReadings(set)
	if len(c.set.Threads) != 1 || len(c.checks) != 1 || !strings.Contains(c.checks[0].Text.String(), "not used") {
		t.Errorf("%d rows, checks %v", len(c.set.Threads), c.checks)
	}
}

func machineAt(source int, label string, ctxt uint64, t evidence.CPUTicks) evidence.Reading {
	return evidence.Reading{Pos: evidence.Pos{Source: source, Line: 1}, Label: label, Machine: evidence.Some(evidence.MachineCount{
		Switches: evidence.Some(ctxt), Forks: evidence.Some(ctxt / 100), CPUs: evidence.Some(4), Ticks: evidence.Some(t),
		ByInterrupt: []evidence.InterruptCount{{Name: "RES", Desc: "Rescheduling interrupts", Count: ctxt / 2}}})}
}

// TestMachineFacts: without a clock the ticks of the CPUs tell the time: 800
// ticks of 4 CPUs are 2 s.
func TestMachineFacts(t *testing.T) {
	set := readingSet(machineAt(0, "after", 5000, evidence.CPUTicks{User: 500, Idle: 700, Steal: 100, IOWait: 100}),
		machineAt(0, "before", 1000, evidence.CPUTicks{User: 100, Idle: 500, Steal: 0, IOWait: 0}))
	m := countReadings(set).machine
	got := fmt.Sprint(m.WindowS.V, m.SwitchesPerS.V, m.ForksPerS.V, m.Steal.V, m.Idle.V, m.IOWait.V, m.CPUs.V, m.Interrupts)
	if want := "2 2000 20 0.125 0.25 0.125 4 [{RES Rescheduling interrupts 1000}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSampledFacts: vmstat's row since boot is not of the time of the problem.
func TestSampledFacts(t *testing.T) {
	some := evidence.Some[float64]
	set := readingSet()
	set.System = []evidence.SystemRate{{SwitchesPerS: []float64{31745, 100, 300}, Samples: []evidence.SystemSample{
		{SinceBoot: true, Runnable: some(50)}, {Runnable: some(2), Steal: some(0.1)}, {Runnable: some(4), Steal: some(0.2)}}}}
	c := countReadings(set)
	m := c.machine
	if m.SwitchesPerS.V != 200 || m.Runnable.V != 3 || math.Abs(m.Steal.V-0.15) > 1e-9 || m.Samples != 2 || len(c.set.System) != 1 {
		t.Errorf("%+v", m)
	}
	set.Threads = []evidence.TaskStats{{Pos: evidence.Pos{Source: 2}, Task: evidence.Task{PID: 9, TID: 9}, VoluntaryPerS: some(1)}}
	if c := countReadings(set); len(c.set.System) != 0 || !c.machine.SwitchesPerS.OK {
		t.Error("the machine's rates make a case beside a process")
	}
}

func groupAt(source int, g evidence.GroupCount) evidence.Reading {
	return evidence.Reading{Pos: evidence.Pos{Source: source, Line: 1}, Groups: []evidence.GroupCount{g}}
}

func TestQuotaFacts(t *testing.T) {
	some := evidence.Some[uint64]
	later := evidence.GroupCount{Periods: some(53), Throttled: some(52), ThrottledNS: some(8_000_000_000), QuotaUS: some(40000), PeriodUS: some(100000)}
	earlier := evidence.GroupCount{Periods: some(12), Throttled: some(11), ThrottledNS: some(2_000_000_000)}
	for _, tc := range []struct {
		name string
		set  *evidence.Set
		want string
	}{
		{"two", readingSet(groupAt(0, later), groupAt(1, earlier)), "0.4 41 41 1 6000000000 false"},
		{"once", readingSet(groupAt(0, later)), "0.4 53 52 0.981 8000000000 true"},
		{"another group", readingSet(groupAt(0, later), groupAt(0, evidence.GroupCount{Periods: some(60), Throttled: some(1)})), "0.4 0 0 0 0 false"},
	} {
		q := countReadings(tc.set).quota
		if len(q) != 1 {
			t.Fatalf("%s: %d groups", tc.name, len(q))
		}
		got := fmt.Sprintf("%v %d %d %.3g %d %v", q[0].CPUs.V, q[0].Periods.V, q[0].Throttled.V, q[0].Share.V, q[0].ThrottledNS.V, q[0].SinceStart)
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}
