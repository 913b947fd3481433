package perfdata

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/testdata/shared"
)

// printed is an event as perf script prints it.
type printed struct {
	pid, tid int
	ns       uint64
	event    string
	args     map[string]uint64
	function string
}

var printedLine = regexp.MustCompile(`^\s*(.+?)\s+(\d+)/(\d+)\s+(\d+)\.(\d{9}):\s+(\S+): (.*)$`)

func readPrinted(t *testing.T, text string) []printed {
	t.Helper()
	var out []printed
	for line := range strings.Lines(text) {
		m := printedLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			t.Fatalf("not an event: %q", line)
		}
		p := printed{event: m[6], args: map[string]uint64{}}
		p.pid, _ = strconv.Atoi(m[2])
		p.tid, _ = strconv.Atoi(m[3])
		p.ns, _ = strconv.ParseUint(m[4]+m[5], 10, 64)
		for _, a := range regexp.MustCompile(`(\w+)[=:] ?(\S+?),?(?: |$)`).FindAllStringSubmatch(m[7], -1) {
			if v, err := strconv.ParseUint(a[2], 0, 64); err == nil {
				p.args[a[1]] = v
			} else if a[1] == "function" {
				p.function = a[2]
			}
		}
		out = append(out, p)
	}
	return out
}

// sums is what the rows of one task, event and address come to.
type sums struct{ calls, timed, noWait, asked, slack uint64 }

// sum adds what perf printed of an event.
func (p *printed) sum(s *sums) {
	s.calls++
	switch {
	case p.event == "timer:hrtimer_start":
		s.asked += p.args["softexpires"] - p.ns
		s.slack += p.args["expires"] - p.args["softexpires"]
	case p.event == "syscalls:sys_enter_futex":
		if op := p.args["op"] & 0x7f; p.args["utime"] != 0 && (op == 0 || op == 9) {
			s.timed++
		}
	case p.event == "syscalls:sys_enter_pselect6":
		if p.args["tsp"] != 0 {
			s.timed++
		}
	case strings.Contains(p.event, "futex_wait"):
		if p.args["timeout"] != 0 {
			s.timed++
		}
	case strings.HasSuffix(p.event, "poll") || strings.HasSuffix(p.event, "epoll_wait"):
		switch ms := int32(p.args["timeout"] + p.args["timeout_msecs"]); {
		case ms == 0:
			s.noWait++
		case ms > 0:
			s.timed++
			s.asked += uint64(ms) * 1e6
		}
	}
}

func askKeyOf(event string, tid, pid int, op string, addr uint64) string {
	return fmt.Sprintf("%s %d/%d %s %#x", event, pid, tid, op, addr)
}

// TestAsks compares what tasks ask to wait for with the events that perf printed.
func TestAsks(t *testing.T) {
	c := &checker{t: t}
	for name, least := range map[string]int{"perf-6.1-waits": 80, "perf-6.1-futex2": 25} {
		t.Run(name, func(t *testing.T) {
			c.t = t
			before := c.total
			checkAsks(c, name)
			if c.total-before < least {
				t.Errorf("%d values", c.total-before)
			}
		})
	}
	t.Logf("%d values, %d right", c.total, c.right)
}

func checkAsks(c *checker, name string) {
	t := c.t
	text := string(shared.Gunzip(t, filepath.Join(recordings, name+".txt.gz")))
	want := map[string]*sums{}
	for _, p := range readPrinted(t, text) {
		key := askKeyOf(p.event, p.tid, p.pid, "", 0)
		switch p.event {
		case "timer:hrtimer_start":
			if p.function == "tick_nohz_handler" || p.function == "hrtick" {
				continue // started by the tick itself, in interrupts
			}
		case "syscalls:sys_enter_futex":
			op, _ := futexOp(int32(p.args["op"]))
			key = askKeyOf(p.event, p.tid, p.pid, op, p.args["uaddr"])
		case "syscalls:sys_enter_futex_wait", "syscalls:sys_enter_futex_wake", "syscalls:sys_enter_futex_waitv", "syscalls:sys_enter_futex_requeue":
			key = askKeyOf(p.event, p.tid, p.pid, p.event[len("syscalls:sys_enter_"):], p.args["uaddr"])
		}
		if want[key] == nil {
			want[key] = &sums{}
		}
		p.sum(want[key])
	}
	fx := readFixture(t, filepath.Join(recordings, name+".data"), Options{})
	if fx.err != nil {
		t.Fatal(fx.err)
	}
	got := askSums(fx.set.Waits)
	for key, w := range want {
		if got[key] == nil {
			t.Errorf("%s: not found", key)
			continue
		}
		c.equal(key+" calls", got[key].calls, w.calls)
		c.equal(key+" timed", got[key].timed, w.timed)
		c.equal(key+" no wait", got[key].noWait, w.noWait)
		c.equal(key+" asked", got[key].asked, w.asked)
		c.equal(key+" slack", got[key].slack, w.slack)
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for _, w := range fx.set.Waits {
		if w.Task.Comm != "python3" {
			t.Errorf("%+v", w)
		}
		if wakes := strings.Contains(w.Op, "wake") || strings.Contains(w.Op, "requeue") || strings.Contains(w.Op, "WAKE"); wakes && w.Kind != evidence.WakeFutex {
			t.Errorf("%s is of kind %s", w.Op, w.Kind)
		}
	}
}

// askSums adds the rows up, timers of all functions of a task together.
func askSums(rows []evidence.WaitCall) map[string]*sums {
	out := map[string]*sums{}
	for _, w := range rows {
		key := askKeyOf(w.Event, w.Task.TID, w.Task.PID, "", 0)
		if strings.Contains(w.Event, "futex") {
			key = askKeyOf(w.Event, w.Task.TID, w.Task.PID, w.Op, w.Addr)
		}
		s := out[key]
		if s == nil {
			s = &sums{}
			out[key] = s
		}
		s.calls += w.Count
		s.timed += w.Timed.V
		s.noWait += w.NoWait.V
		if w.AskedNS != nil {
			s.asked += w.AskedNS.Sum
		}
		if w.SlackNS != nil {
			s.slack += w.SlackNS.Sum
		}
	}
	return out
}

// TestAskValues changes one field of all samples of an event: what is said of
// it must change.
func TestAskValues(t *testing.T) {
	read := func(data []byte) []evidence.WaitCall {
		set := &evidence.Set{}
		if err := Read(Input{R: bytes.NewReader(data), Size: int64(len(data))}, set.NewBuilder("test", Format), Options{}); err != nil {
			t.Fatal(err)
		}
		return set.Waits
	}
	say := func(rows []evidence.WaitCall, event string) string {
		s := ""
		for _, w := range rows {
			if w.Event == event {
				s += fmt.Sprint(w.Task, w.Kind, w.Op, w.Addr, w.Count, w.Timed, w.NoWait, w.AskedNS.Buckets(), w.SlackNS.Buckets(), w.OtherClock, "\n")
			}
		}
		return s
	}
	for _, c := range []struct {
		event string
		at    int // in the raw data
		value byte
	}{
		{"timer:hrtimer_start", 16, 1}, {"timer:hrtimer_start", 24 + 2, 1}, {"timer:hrtimer_start", 32 + 2, 1}, {"timer:hrtimer_start", 32 + 7, 0x10},
		{"timer:hrtimer_start", 2, 0x08}, // common_flags: a hard interrupt
		{"syscalls:sys_enter_futex", 16, 4}, {"syscalls:sys_enter_futex", 24, 8}, {"syscalls:sys_enter_futex", 40, 1},
		{"syscalls:sys_enter_futex_wait", 16, 4}, {"syscalls:sys_enter_futex_wait", 48, 0}, {"syscalls:sys_enter_futex_waitv", 40, 0},
		{"syscalls:sys_enter_futex_wake", 17, 1}, {"syscalls:sys_enter_futex_requeue", 2, 0x10},
		{"syscalls:sys_enter_epoll_wait", 40, 2}, {"syscalls:sys_enter_poll", 32, 1}, {"syscalls:sys_enter_pselect6", 48 + 5, 0x7f},
	} {
		name := "perf-6.1-waits.data"
		if strings.Contains(c.event, "futex_") {
			name = "perf-6.1-futex2.data"
		}
		data, err := os.ReadFile(filepath.Join(recordings, name))
		if err != nil {
			t.Fatal(err)
		}
		want, changed := read(data), bytes.Clone(data)
		n := eachRaw(t, changed, c.event, func(raw []byte) {
			if raw[c.at] ^= c.value; c.value == 0 || c.event == "syscalls:sys_enter_pselect6" {
				clear(raw[c.at&^7 : c.at&^7+8])
			}
		})
		if got := say(read(changed), c.event); n == 0 || got == say(want, c.event) {
			t.Errorf("%s, byte %d: %d samples changed, and nothing of %q", c.event, c.at, n, got)
		}
	}
}

// eachRaw calls f with the raw data of each sample of an event.
func eachRaw(t *testing.T, data []byte, event string, f func(raw []byte)) (n int) {
	t.Helper()
	c, err := open(Input{R: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	s := newSchema(c)
	for at := c.dataFrom; at < c.dataTo; at += int64(le.Uint16(data[at+6:])) {
		rec := data[at : at+int64(le.Uint16(data[at+6:]))]
		if wire.Type(le.Uint32(rec)) != wire.RecSample {
			continue
		}
		if e := s.eventOf(rec); e != nil && e.info.Name == event {
			if raw, ok := e.raw(rec); ok {
				n++
				f(raw)
			}
		}
	}
	return n
}
