package timeline_test

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/timeline"
	"ctxan/testdata/shared"
)

// script reads a recording through perf itself, so that the Tracker is held
// against counts that neither this program's reader nor its own code made.
func script(t *testing.T, file string, fields string) (evs []timeline.Event, names *timeline.Names) {
	t.Helper()
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("no perf to read the recordings with")
	}
	cmd := exec.Command(perf, "script", "-i", file, "-F", fields, "--ns", "--show-task-events", "--show-lost-events", "--show-switch-events")
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg.Bytes())
	}
	names = &timeline.Names{}
	sc := bufio.NewScanner(&out)
	for n := int64(1); sc.Scan(); n++ {
		if e, ok := parseScript(sc.Text(), names); ok {
			e.Off = n
			evs = append(evs, e)
		}
	}
	// perf prints the records without a time where they stand in the file.
	slices.SortStableFunc(evs, func(a, b timeline.Event) int {
		return cmp.Compare(min(a.Time, 1), min(b.Time, 1))
	})
	return evs, names
}

var (
	reLine   = regexp.MustCompile(`^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+(?:\[(\d+)\]\s+)?(\d+)\.(\d{9}):\s+(.*)$`)
	reSwitch = regexp.MustCompile(`^sched:sched_switch: prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio`)
	reWake   = regexp.MustCompile(`^sched:sched_(wakeup|waking|wakeup_new): comm=(.*) pid=(\d+) prio=-?\d+ target_cpu=(\d+)`)
	reMove   = regexp.MustCompile(`^sched:sched_migrate_task: comm=(.*) pid=(\d+) prio=-?\d+ orig_cpu=(\d+) dest_cpu=(\d+)`)
	reFork   = regexp.MustCompile(`^sched:sched_process_fork: comm=(.*) pid=(\d+) child_comm=(.*) child_pid=(\d+)`)
	reExit   = regexp.MustCompile(`^sched:sched_process_exit: comm=(.*) pid=(\d+)`)
	reRec    = regexp.MustCompile(`^PERF_RECORD_(FORK|EXIT)\((\d+):(\d+)\):\((\d+):(\d+)\)`)
	reComm   = regexp.MustCompile(`^PERF_RECORD_COMM(?: exec)?: (.*):(\d+)/(\d+)$`)
	reSW     = regexp.MustCompile(`^PERF_RECORD_SWITCH(?:_CPU_WIDE)? (IN|OUT)( preempt)?`)
	reLost   = regexp.MustCompile(`^PERF_RECORD_LOST lost (\d+)`)
)

var states = map[string]evidence.State{"R": evidence.StateR, "R+": evidence.StateRPlus, "S": evidence.StateS, "D": evidence.StateD,
	"T": evidence.StateT, "t": evidence.StateTraced, "X": evidence.StateX, "Z": evidence.StateZ, "P": evidence.StateP, "I": evidence.StateI}

func num(s string) int32 {
	n, _ := strconv.ParseInt(s, 10, 32)
	return int32(n)
}

func parseScript(line string, names *timeline.Names) (timeline.Event, bool) {
	m := reLine.FindStringSubmatch(line)
	if m == nil {
		return timeline.Event{}, false
	}
	sec, _ := strconv.ParseUint(m[5], 10, 64)
	ns, _ := strconv.ParseUint(m[6], 10, 64)
	e := timeline.Event{Time: sec*1e9 + ns, TID: num(m[3]), PID: num(m[2]), Flags: timeline.FlagHasPID, CPU: -1}
	if m[4] != "" {
		e.CPU = num(m[4])
	}
	id := func(s string) uint32 { return names.ID([]byte(s)) }
	rest := m[7]
	if s := reSwitch.FindStringSubmatch(rest); s != nil {
		e.Kind, e.TID, e.Comm, e.State = timeline.KindSwitch, num(s[2]), id(s[1]), states[s[3]]
		e.Other, e.OtherComm = num(s[5]), id(s[4])
	} else if s := reWake.FindStringSubmatch(rest); s != nil {
		e.Kind = map[string]timeline.Kind{"wakeup": timeline.KindWakeup, "waking": timeline.KindWaking, "wakeup_new": timeline.KindWakeupNew}[s[1]]
		e.Other, e.OtherComm, e.Arg = num(s[3]), id(s[2]), uint64(num(s[4]))
	} else if s := reMove.FindStringSubmatch(rest); s != nil {
		e.Kind, e.Other, e.Arg = timeline.KindMigrate, num(s[2]), uint64(num(s[3]))<<32|uint64(num(s[4]))
	} else if s := reFork.FindStringSubmatch(rest); s != nil {
		e.Kind, e.TID, e.Other, e.OtherComm, e.Flags = timeline.KindFork, num(s[2]), num(s[4]), id(s[3]), 0
	} else if s := reExit.FindStringSubmatch(rest); s != nil {
		e.Kind, e.TID, e.Comm = timeline.KindExit, num(s[2]), id(s[1])
	} else if s := reRec.FindStringSubmatch(rest); s != nil {
		e.Kind, e.PID, e.Other, e.TID = timeline.KindFork, num(s[2]), num(s[3]), num(s[5])
		if s[1] == "EXIT" {
			e.Kind, e.TID = timeline.KindExit, e.Other
		}
	} else if s := reComm.FindStringSubmatch(rest); s != nil {
		e.Kind, e.Comm, e.PID, e.TID = timeline.KindComm, id(s[1]), num(s[2]), num(s[3])
	} else if s := reSW.FindStringSubmatch(rest); s != nil {
		e.Kind, e.State = timeline.KindSwitchOut, evidence.StateS
		if s[2] != "" {
			e.State = evidence.StateR
		}
		if s[1] == "IN" {
			e.Kind, e.State = timeline.KindSwitchIn, 0
		}
	} else if s := reLost.FindStringSubmatch(rest); s != nil {
		e.Kind, e.Arg = timeline.KindLost, uint64(num(s[1]))
	} else if strings.HasPrefix(rest, "context-switches") || strings.HasPrefix(rest, "1 context-switches") {
		e.Kind, e.Arg = timeline.KindSample, 1
	} else {
		return e, false
	}
	return e, true
}

// truth reads the rows of one kind: values by key, with the name under "comm".
func truth(t *testing.T, file, kind string) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]map[string]string{}
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.Split(line, "\t")
		if f[0] != kind || len(f) < 3 {
			continue
		}
		r := map[string]string{"comm": f[2]}
		for _, kv := range f[2:] {
			if k, v, ok := strings.Cut(kv, "="); ok {
				r[k] = v
			}
		}
		rows[f[1]] = r
	}
	return rows
}

func track(t *testing.T, evs []timeline.Event, names *timeline.Names, opt timeline.TrackerOptions) *evidence.Set {
	t.Helper()
	var set evidence.Set
	tr := timeline.NewTracker(names, opt)
	for len(evs) > 0 {
		n := min(len(evs), 100)
		if err := tr.Events(evs[:n]); err != nil {
			t.Fatal(err)
		}
		evs = evs[n:]
	}
	if err := tr.Finish(set.NewBuilder("test", "test"), nil); err != nil {
		t.Fatal(err)
	}
	return &set
}

// values gives the fields of a row under the names of truth.tsv. What is
// absent here and there is equal; a sum that is absent is not a zero.
func values(s *evidence.TaskStats, wide bool) map[string]string {
	v := map[string]string{}
	put := func(k string, n uint64) {
		if n != 0 {
			v[k] = strconv.FormatUint(n, 10)
		}
	}
	opt := func(k string, o evidence.Opt[uint64]) {
		if o.OK {
			put(k, o.V)
		}
	}
	hist := func(k string, h *evidence.Histogram) {
		if h != nil {
			put(k, h.N)
		}
	}
	v["comm"] = s.Task.Comm
	opt("vol", s.Voluntary)
	opt("invol", s.Involuntary)
	if s.States != nil {
		for i, n := range s.States {
			put("st_"+evidence.State(i).String(), n)
		}
	}
	if !wide {
		return v
	}
	opt("run_ns", s.RunNS)
	hist("runs", s.Run)
	opt("wake_wait_ns", s.DelayNS)
	hist("wakes", s.Delay)
	opt("preempt_wait_ns", s.PreemptNS)
	hist("preempt_waits", s.Preempt)
	opt("sleep_ns", s.SleepNS)
	opt("first_wait_ns", s.FirstWaitNS)
	if s.MaxDelay.OK {
		put("max_wake_wait_ns", s.MaxDelay.V.NS)
	}
	opt("migrations", s.Migrations)
	opt("wakeup", s.Wakeups)
	put("chain_break", s.ChainBreaks)
	return v
}

// notOurs are columns that have no field of their own.
var notOurs = map[string]bool{"in": true, "out": true, "wakeup_new": true, "sleep_nowake_ns": true, "sleeps_nowake": true}

// compare counts the values of truth.tsv's thread rows that the evidence has,
// and those that are equal.
func compare(t *testing.T, set *evidence.Set, want map[string]map[string]string, wide bool) (n, equal int) {
	t.Helper()
	got := map[string]map[string]string{}
	for i := range set.Threads {
		s := &set.Threads[i]
		id := strconv.Itoa(s.Task.TID)
		if got[id] != nil {
			t.Errorf("two rows of tid %s", id)
		}
		got[id] = values(s, wide)
	}
	for id, w := range want {
		g := got[id]
		if strings.HasPrefix(id, "swapper") || (!wide && w["out"] == "") {
			if g != nil {
				t.Errorf("a row of %s", id)
			}
			continue
		}
		for k := range w {
			if !notOurs[k] {
				n++
				if g[k] == w[k] {
					equal++
				} else {
					t.Errorf("tid %s %s = %q, want %q", id, k, g[k], w[k])
				}
			}
		}
		for k := range g {
			if w[k] == "" {
				t.Errorf("tid %s %s = %q, which is not in truth.tsv", id, k, g[k])
			}
		}
		delete(got, id)
	}
	for id := range got {
		t.Errorf("tid %s is not in truth.tsv", id)
	}
	return n, equal
}

const fields = "comm,pid,tid,cpu,time,event,trace"

// TestTrackerSystemWide holds all per-thread values of the system-wide
// recordings against truth.tsv, which knows nothing of losses: without the LOST
// records, and where a recording has some, with them.
func TestTrackerSystemWide(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local")
	values, right := 0, 0
	for _, name := range []string{"netio_a_allsched", "mutex_a", "hog_a", "pingthr_a", "fsync_a", "migrate_a", "churn_a", "multi_events",
		"lost_stop", "netio_clock_mono", "netio_pipe_a"} {
		t.Run(name, func(t *testing.T) {
			evs, names := script(t, filepath.Join(dir, name, "perf.data"), fields)
			evs = slices.DeleteFunc(evs, func(e timeline.Event) bool { return e.Kind == timeline.KindLost })
			set := track(t, evs, names, timeline.TrackerOptions{SystemWide: true})
			want := truth(t, filepath.Join(dir, name, "truth.tsv"), "thread")
			n, eq := compare(t, set, want, true)
			values, right = values+n, right+eq
			idle := map[int]string{}
			for _, c := range set.CPUs {
				idle[c.CPU] = strconv.FormatUint(c.IdleNS, 10)
			}
			for cpu := range 2 {
				if w := cmp.Or(want["swapper/"+strconv.Itoa(cpu)]["run_ns"], "0"); cmp.Or(idle[cpu], "0") != w {
					t.Errorf("CPU %d was idle %s ns, want %s", cpu, idle[cpu], w)
				}
			}
		})
	}
	t.Logf("%d of %d values of truth.tsv equal", right, values)
}

// TestTrackerLost feeds the LOST records too. One thread's wait spans the loss:
// CPU 1 recorded nothing from 1749.896730920 to 1749.899814797, and in that time
// CPU 0 woke rcu_preempt on it. perf reports 34.6 us of delay; nobody knows.
func TestTrackerLost(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local", "lost_stop")
	evs, names := script(t, filepath.Join(dir, "perf.data"), fields)
	want := truth(t, filepath.Join(dir, "truth.tsv"), "thread")
	for _, k := range []string{"wake_wait_ns", "wakes", "max_wake_wait_ns", "sleep_ns"} {
		if want["15"][k] == "" {
			t.Fatalf("truth.tsv has no %s of thread 15 to leave out", k)
		}
		delete(want["15"], k)
	}
	n, eq := compare(t, track(t, evs, names, timeline.TrackerOptions{SystemWide: true}), want, true)
	t.Logf("%d of %d values equal", eq, n)
}

// TestTrackerRecords counts switches by PERF_RECORD_SWITCH alone. Four tasks
// had given their ids back when they left for good; the CPU knows them.
func TestTrackerRecords(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local")
	n := 0
	for name, wide := range map[string]bool{"netio_switchev_a": true, "netio_switchev_task": false} {
		f := "comm,pid,tid,cpu,time,event,trace"
		if !wide {
			f = "comm,pid,tid,time,event"
		}
		evs, names := script(t, filepath.Join(dir, name, "perf.data"), f)
		set := track(t, evs, names, timeline.TrackerOptions{SystemWide: wide})
		want := truth(t, filepath.Join(dir, name, "truth.tsv"), "switch_record")
		var vol, left uint64
		for _, w := range want {
			vol += uint64(num(w["out_blocked"]))
		}
		nameless := uint64(num(want["-1"]["out_blocked"]))
		for i := range set.Threads {
			s := &set.Threads[i]
			w := want[strconv.Itoa(s.Task.TID)]
			n++
			vol -= s.Voluntary.V
			left += s.Voluntary.V - uint64(num(w["out_blocked"]))
			if uint64(num(w["out_preempt"])) != s.Involuntary.V || s.Voluntary.V > uint64(num(w["out_blocked"]))+1 {
				t.Errorf("%s: %v left %d times by itself, %d preempted, want %s, %s", name, s.Task, s.Voluntary.V, s.Involuntary.V, w["out_blocked"], w["out_preempt"])
			}
			if s.Voluntary.V+s.Involuntary.V > 1 && !s.RunNS.OK {
				t.Errorf("%s: %v has no run time", name, s.Task)
			}
		}
		if left > nameless || (wide && (left == 0 || vol+left != nameless)) {
			t.Errorf("%s: %d switch-outs given to tasks without an id, of %d; %d are missing", name, left, nameless, vol)
		}
	}
	t.Logf("%d threads", n)
}

// TestTrackerSoftware counts samples of the context-switches event, and holds
// them against the program's own count, which was read just before its end.
func TestTrackerSoftware(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local", "netio_task_cs_fp")
	evs, names := script(t, filepath.Join(dir, "perf.data"), "comm,pid,tid,time,event,period")
	set := track(t, evs, names, timeline.TrackerOptions{Events: []timeline.EventInfo{{Name: "context-switches", Switches: true}}})
	var sum uint64
	for _, s := range set.Threads {
		sum += s.Switches.V
		w := truth(t, filepath.Join(dir, "truth.tsv"), "workload")["tid="+strconv.Itoa(s.Task.TID)]
		own := uint64(num(w["voluntary"]) + num(w["nonvoluntary"]))
		if s.Task.TID == s.Task.PID {
			own = min(own, s.Switches.V)
		}
		if s.Voluntary.OK || s.Switches.V < own || s.Switches.V > own+3 {
			t.Errorf("%v: %d switches, the program counted %d", s.Task, s.Switches.V, own)
		}
	}
	if sum != 413 || len(set.Threads) != 5 {
		t.Errorf("%d switches of %d threads, want the 413 samples of 5", sum, len(set.Threads))
	}
}

// TestTrackerTaskMode does the same for recordings of some tasks.
func TestTrackerTaskMode(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local")
	values, right := 0, 0
	for _, name := range []string{"netio_task_fp", "attach_pid", "netio_task_dwarf"} {
		t.Run(name, func(t *testing.T) {
			evs, names := script(t, filepath.Join(dir, name, "perf.data"), fields)
			set := track(t, evs, names, timeline.TrackerOptions{})
			n, eq := compare(t, set, truth(t, filepath.Join(dir, name, "truth.tsv"), "thread"), false)
			values, right = values+n, right+eq
			for _, s := range set.Threads {
				if s.RunNS.OK || s.WaitNS.OK || s.DelayNS.OK || s.PreemptNS.OK || s.SleepNS.OK {
					t.Errorf("%v has durations, of switches whose other end is not in the recording", s.Task)
				}
			}
		})
	}
	t.Logf("%d of %d values of truth.tsv equal", right, values)
}

// TestTrackerWaking holds a recording that has sched_waking only (perf sched
// record) against the delays that perf prints for it, which are cut to
// microseconds.
func TestTrackerWaking(t *testing.T) {
	dir := filepath.Join(shared.Dir(t), "fixtures", "local", "sched_record")
	file := filepath.Join(dir, "perf.data")
	evs, names := script(t, file, fields)
	set := track(t, evs, names, timeline.TrackerOptions{SystemWide: true})
	out, err := exec.Command("perf", "sched", "timehist", "-i", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^ +\d+\.\d+ \[\d+\] +.*?\[(\d+)(?:/\d+)?\] +[\d.]+ +(\d+)\.(\d\d\d) +[\d.]+ *$`)
	printed, rows := map[int]uint64{}, map[int]uint64{}
	for _, m := range row.FindAllSubmatch(out, -1) {
		tid, _ := strconv.Atoi(string(m[1]))
		us, _ := strconv.ParseUint(string(m[2])+string(m[3]), 10, 64)
		printed[tid] += us * 1000
		rows[tid]++
	}
	n := 0
	for i := range set.Threads {
		s := &set.Threads[i]
		got, want := s.DelayNS.V+s.FirstWaitNS.V, printed[s.Task.TID]
		if want == 0 {
			continue
		}
		n++
		if s.ChainBreaks > 0 { // perf takes a missed switch-in to be where the one before left
			want = min(want, got)
		}
		if got < want || got > want+1000*rows[s.Task.TID] {
			t.Errorf("%v: delays of %d ns, perf prints %d", s.Task, got, want)
		}
	}
	if n < 10 {
		t.Errorf("only %d threads with a printed delay", n)
	}
	t.Logf("%d threads", n)
}
