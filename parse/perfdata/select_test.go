package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
)

// switchesOf returns the switch-outs of each thread that perf script prints of
// a part of a file. Threads and names are selected here: perf goes by the ids in
// the header of a sample, where a task that exits has -1.
func switchesOf(t *testing.T, path string, part *timeline.Select, args ...string) map[int]uint64 {
	t.Helper()
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip(err)
	}
	out, err := exec.Command(perf, append([]string{"script", "-f", "-i", path, "--ns", "-F", "tid,time,event,trace"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]uint64{}
	for _, m := range regexp.MustCompile(`(?m)sched:sched_switch: prev_comm=(.*) prev_pid=(\d+) `).FindAllStringSubmatch(string(out), -1) {
		if tid, _ := strconv.Atoi(m[2]); tid > 0 && (&timeline.Select{TIDs: part.TIDs, Comms: part.Comms}).Task(0, tid, m[1]) {
			got[tid]++
		}
	}
	return got
}

// outs returns the switch-outs of each thread in the evidence.
func outs(set *evidence.Set) map[int]uint64 {
	got := map[int]uint64{}
	for _, x := range set.Threads {
		if n := x.Voluntary.V + x.Involuntary.V + x.Switches.V; n > 0 {
			got[x.Task.TID] += n
		}
	}
	return got
}

// TestSelect compares the switch-outs of each thread in parts of a system-wide
// recording with those that perf script prints of the same parts.
func TestSelect(t *testing.T) {
	path := filepath.Join(local(t), "sched_record/perf.data")
	const from, to = 1053990000000, 1054001500000
	for _, c := range []struct {
		args []string
		part timeline.Select
	}{
		{[]string{"--pid=7438"}, timeline.Select{PIDs: []int{7438}}},
		{nil, timeline.Select{TIDs: []int{7441, 7443}}},
		{nil, timeline.Select{Comms: []string{"io_mgr_1", "perf"}}},
		{[]string{"--cpu=1"}, timeline.Select{CPUs: []int{1}}},
		{[]string{"--time", "1053.990,1054.0015"}, timeline.Select{From: from, To: to}},
		{[]string{"--time", "1053.990,"}, timeline.Select{From: from}},
		{[]string{"--time", ",1054.0015"}, timeline.Select{To: to}},
		{[]string{"--cpu=1", "--time", "1053.990,1054.0015"}, timeline.Select{CPUs: []int{1}, TIDs: []int{6250}, From: from, To: to}},
	} {
		t.Run(c.part.String(), func(t *testing.T) {
			want := switchesOf(t, path, &c.part, c.args...)
			fx := readFixture(t, path, Options{Select: &c.part})
			if fx.err != nil {
				t.Fatal(fx.err)
			}
			if got := outs(&fx.set); len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
			wantNote(t, fx.src, "filtered: "+c.part.String())
			checkSelected(t, fx, &c.part)
		})
	}
}

// checkSelected checks that the window, the rows and the stacks are those of
// the selection.
func checkSelected(t *testing.T, fx *fixture, s *timeline.Select) {
	t.Helper()
	w := fx.src.Window
	if w.StartNS.V < s.From || s.To > 0 && w.EndNS.V > s.To {
		t.Errorf("window %d to %d", w.StartNS.V, w.EndNS.V)
	}
	var all, series uint64
	for _, n := range outs(&fx.set) {
		all += n
	}
	for _, x := range fx.set.Series {
		if x.CPU.OK {
			continue
		}
		if x.StartNS < s.From {
			t.Errorf("a series from %d", x.StartNS)
		}
		for _, n := range x.Switches {
			series += uint64(n)
		}
	}
	if s.ByTask() && series != all {
		t.Errorf("%d switches over time, %d of the threads", series, all)
	}
	for _, st := range fx.set.Stacks {
		for _, x := range st.Tasks {
			if !s.Task(x.PID, x.TID, x.Comm) {
				t.Errorf("stacks of %+v", x)
			}
		}
	}
}

// TestSelectShare compares the switch-outs of each thread in shares of a
// recording with those that perf script prints of the same shares.
func TestSelectShare(t *testing.T) {
	path := filepath.Join(local(t), "sched_record/perf.data")
	all := map[int]uint64{}
	for _, c := range []struct {
		arg   string
		share timeline.Share
		tenth bool
	}{
		{"0%-30%", timeline.Share{To: 30}, true}, {"30%-50%", timeline.Share{From: 30, To: 50}, true}, {"50%/2", timeline.Share{From: 50, To: 100}, true},
		{"10%/4", timeline.Share{From: 30, To: 40}, false}, {"12.5%", timeline.Share{To: 12.5}, false},
	} {
		part := timeline.Select{Share: c.share}
		want := switchesOf(t, path, &part, "--time", c.arg)
		fx := readFixture(t, path, Options{Select: &part})
		if fx.err != nil {
			t.Fatal(fx.err)
		}
		got := outs(&fx.set)
		if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", c.arg, got, want)
		}
		wantNote(t, fx.src, "filtered: "+part.String()+" (")
		for tid, n := range got {
			if c.tenth {
				all[tid] += n
			}
		}
	}
	if whole := readFixture(t, path, Options{}); fmt.Sprint(all) != fmt.Sprint(outs(&whole.set)) {
		t.Errorf("the shares add up to %v, the whole is %v", all, outs(&whole.set))
	}
}

// TestSampleSpan: what a walk over the samples finds is what perf wrote into
// the notes of a file, and that is what is read there.
func TestSampleSpan(t *testing.T) {
	seen := 0
	for _, name := range truthFixtures(t, local(t)) {
		b, err := os.ReadFile(filepath.Join(local(t), name, "perf.data"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := open(Input{R: bytes.NewReader(b), Size: int64(len(b))})
		if err != nil {
			t.Fatal(err)
		}
		first, last, err := c.sampleSpan()
		if c.close(); err != nil {
			t.Fatal(err)
		}
		if noted := c.sampleTime; noted[1]-1 < timeline.MaxTime && noted != [2]uint64{first, last} {
			t.Errorf("%s: from %d to %d, the file says %d", name, first, last, noted)
		} else if noted[1]-1 < timeline.MaxTime { // of samples without times it is -1
			seen++
		}
		truth := readTruth(t, filepath.Join(local(t), name, "truth.tsv"))
		if r := truth.find("time_ns", "first"); r != nil && r[0] != "-" && (fmt.Sprint(first) != r[0] || fmt.Sprint(last) != r[2]) {
			t.Errorf("%s: from %d to %d, want %s", name, first, last, r)
		}
	}
	if seen < 20 {
		t.Errorf("only %d files say from when to when they are", seen)
	}
}

// TestSelectKeepsDurations: waits and delays of a task are the same with and
// without the others.
func TestSelectKeepsDurations(t *testing.T) {
	path := filepath.Join(local(t), "sched_record/perf.data")
	say := func(set *evidence.Set) string {
		for _, x := range set.Threads {
			if x.Task.TID == 7441 {
				return fmt.Sprint(x.RunNS, x.DelayNS, x.WaitNS, x.SleepNS, x.Wakeups, x.Wakers, x.MaxDelay)
			}
		}
		return ""
	}
	whole := readFixture(t, path, Options{})
	part := readFixture(t, path, Options{Select: &timeline.Select{TIDs: []int{7441}}})
	if got, want := say(&part.set), say(&whole.set); got != want || got == "" || len(part.set.Threads) != 1 {
		t.Errorf("%s, want %s; %d threads", got, want, len(part.set.Threads))
	}
}

// TestSelectNothing: a selection that holds nothing is an error that says what
// there is.
func TestSelectNothing(t *testing.T) {
	path := filepath.Join(local(t), "sched_record/perf.data")
	for _, c := range []struct {
		part timeline.Select
		text string
	}{
		{timeline.Select{From: 1}, ""},
		{timeline.Select{To: 1}, "from 1053.98"},
		{timeline.Select{From: 2000e9}, "to 1054.00"},
		{timeline.Select{CPUs: []int{7}}, "CPUs 0 to 1"},
		{timeline.Select{TIDs: []int{1 << 20}}, "--tid 1048576"},
	} {
		fx := readFixture(t, path, Options{Select: &c.part})
		switch {
		case c.text == "" && fx.err != nil:
			t.Error(fx.err)
		case c.text != "" && (!errors.Is(fx.err, ErrSelection) || !strings.Contains(fx.err.Error(), c.text)):
			t.Errorf("%s: %v", &c.part, fx.err)
		}
	}
}
