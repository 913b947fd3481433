package perfdata

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// tape is a sink that keeps everything.
type tape struct{ events []timeline.Event }

func (t *tape) Events(b []timeline.Event) error {
	t.events = append(t.events, b...)
	return nil
}

// inFileOrder decodes a file from front to back, without the order.
func inFileOrder(tb testing.TB, path string, tune ...func(*schema)) []timeline.Event {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	c, err := open(Input{R: f, Size: st.Size(), Name: path})
	if err != nil {
		tb.Fatal(err)
	}
	defer c.close()
	s := newSchema(c)
	for _, f := range tune {
		f(s)
	}
	d := newDecoder(c, s, &timeline.Names{})
	var out []timeline.Event
	var last uint64
	from := c.dataFrom
	for off := from; c.pipe && off < c.dataTo; { // formats follow a record there
		head := make([]byte, 16)
		if err := readFull(c.in.R, head, off); err != nil {
			break
		}
		off += int64(le.Uint16(head[6:]))
		if n := c.payload(wire.Type(le.Uint32(head)), head); n > 0 {
			off += n
			from = off
		}
	}
	for at := from; at < c.dataTo; {
		buf := make([]timeline.Event, 0, 512)
		evs, next, err := d.Decode(at, c.dataTo, &last, buf)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, evs...)
		if next <= at {
			tb.Fatalf("no progress at %d", at)
		}
		at = next
	}
	return out
}

// TestOrderOfFixtures holds the order of all events of all fixtures against a
// sort of the same events by time and place.
func TestOrderOfFixtures(t *testing.T) {
	dir := local(t)
	total := 0
	for _, name := range truthFixtures(t, dir) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name, "perf.data")
			var got tape
			if fx := readFixture(t, path, Options{Sinks: []timeline.Sink{&got}}); fx.err != nil {
				t.Fatal(fx.err)
			}
			want := slices.DeleteFunc(inFileOrder(t, path), isDescribing)
			slices.SortStableFunc(want, func(a, b timeline.Event) int { return cmp.Compare(a.Time, b.Time) })
			have := slices.DeleteFunc(got.events, isDescribing)
			if a, b := apart(&have), apart(&want); a != b {
				t.Errorf("%d sched_waking, want %d", a, b)
			}
			if len(have) != len(want) {
				t.Fatalf("%d events, want %d", len(have), len(want))
			}
			for i := range want {
				if have[i].Time != want[i].Time || have[i].Off != want[i].Off {
					t.Fatalf("event %d: time %d at %d, want %d at %d", i, have[i].Time, have[i].Off, want[i].Time, want[i].Off)
				}
			}
			total += len(want)
		})
	}
	t.Logf("%d events in order", total)
}

// apart takes out the sched_waking events, and returns how many there were with
// those that are joined to their sched_wakeup: which ones are, depends on where
// buffers end.
func apart(evs *[]timeline.Event) int {
	n := 0
	*evs = slices.DeleteFunc(*evs, func(e timeline.Event) bool {
		if e.Kind == timeline.KindWaking || e.Flags&timeline.FlagWaking != 0 {
			n++
		}
		return e.Kind == timeline.KindWaking
	})
	return n
}

// TestHot decodes all samples of all fixtures on the fast path and without it.
func TestHot(t *testing.T) {
	dir := local(t)
	hot := 0
	for _, name := range truthFixtures(t, dir) {
		path := filepath.Join(dir, name, "perf.data")
		fast := inFileOrder(t, path, func(s *schema) {
			for _, e := range s.events {
				if e.hot != nil {
					hot++
				}
			}
		})
		slow := inFileOrder(t, path, func(s *schema) {
			for _, e := range s.events {
				e.hot = nil
			}
		})
		apart(&fast)
		apart(&slow)
		for i := range fast {
			fast[i].Flags &^= timeline.FlagWaking
			if fast[i].Kind == timeline.KindWakeup {
				fast[i].Arg &= 0xffffffff
			}
		}
		if !slices.Equal(fast, slow) {
			t.Errorf("%s: %d events on the fast path, %d without it, or others", name, len(fast), len(slow))
		}
	}
	if hot < 20 {
		t.Errorf("only %d events of the fixtures take the fast path", hot)
	}
}

// isDescribing tells events without a place in time of their own.
func isDescribing(e timeline.Event) bool {
	switch e.Kind {
	case timeline.KindNone, timeline.KindComm, timeline.KindFork, timeline.KindExit, kindMap, kindAsk:
		return true
	}
	return false
}

// TestSynthesised holds the events of the synthesised files against
// expected.tsv, which has them as they were written: time, CPU, tasks, state.
func TestSynthesised(t *testing.T) {
	dir := local(t)
	list, err := filepath.Glob(filepath.Join(dir, "synth_*", "expected.tsv"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no synthesised files: %v", err)
	}
	total := 0
	for _, path := range list {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			var got tape
			fx := readFixture(t, filepath.Join(filepath.Dir(path), "perf.data"), Options{Sinks: []timeline.Sink{&got}})
			if fx.err != nil {
				t.Fatal(fx.err)
			}
			var have []string
			for _, e := range got.events {
				if s := expectedLine(e); s != "" {
					have = append(have, s)
				}
			}
			want := expected(t, path)
			if len(have) != len(want) {
				t.Fatalf("%d events, want %d", len(have), len(want))
			}
			for i := range want {
				if have[i] != want[i] {
					t.Errorf("event %d: %s, want %s", i, have[i], want[i])
				}
			}
			total += len(want)
		})
	}
	t.Logf("%d events equal", total)
}

func expectedLine(e timeline.Event) string {
	switch e.Kind {
	case timeline.KindSwitch:
		return fmt.Sprintf("%d %d prev=%d state=%s next=%d", e.Time, e.CPU, e.TID, e.State, e.Other)
	case timeline.KindWakeup, timeline.KindWakeupNew:
		return fmt.Sprintf("%d %d pid=%d", e.Time, e.CPU, e.Other)
	}
	return ""
}

func expected(tb testing.TB, path string) []string {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		c := strings.Split(sc.Text(), "\t")
		switch c[2] {
		case "sched_switch":
			state := strings.TrimPrefix(c[4], "state=")
			switch state { // letters of old kernels
			case "W":
				state = evidence.StateOther.String()
			case "x":
				state = evidence.StateX.String()
			}
			out = append(out, fmt.Sprintf("%s %s %s state=%s %s", c[0], c[1], c[3], state, c[len(c)-1]))
		case "sched_wakeup":
			out = append(out, fmt.Sprintf("%s %s %s", c[0], c[1], c[3]))
		}
	}
	return out
}

// TestCorrupt reads the damaged files: what stands before the damage is read,
// or the error says what the file is.
func TestCorrupt(t *testing.T) {
	dir := filepath.Join(local(t), "corrupt")
	c := &checker{}
	for _, r := range readTruthRows(t, filepath.Join(dir, "truth.tsv")) {
		name, wanted := r[0], r[4]
		t.Run(name, func(t *testing.T) {
			c.t = t
			fx := readFixture(t, filepath.Join(dir, name), Options{})
			if strings.HasPrefix(wanted, "error") {
				ok := fx.err != nil || strings.Contains(wanted, "or-empty")
				c.equal("error", ok, true)
				return
			}
			if fx.err != nil {
				t.Fatalf("%v, wanted %s", fx.err, wanted)
			}
			var all uint64
			for _, n := range fx.stats.Samples {
				all += n
			}
			want, err := strconv.ParseUint(r[7], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasPrefix(name, "flip"):
				c.equal("samples within 3", max(all, want)-min(all, want) <= 3, true)
			case name == "bad_id.data", name == "time_back.data":
				// One is of no event, or its time makes no sense: dropped.
				c.equal("samples", all, want-1)
				c.equal("dropped", fx.src.DroppedTotal, 1)
			default:
				c.equal("samples", all, want)
			}
			cut := strings.Contains(wanted, "partial") || strings.Contains(wanted, "recover")
			if cut || strings.Contains(wanted, "warn") {
				c.equal("truncated", fx.src.Loss.Truncated && len(fx.src.Warnings) > 0, true)
			}
			if strings.Contains(wanted, "minus 1") && name != "rec_type_unknown.data" {
				c.equal("dropped", fx.src.DroppedTotal, 1)
			}
			checkPlausible(t, fx)
		})
	}
	t.Logf("%d of %d as wanted", c.right, c.total)
}

// checkPlausible looks for times that no capture of some seconds can have.
func checkPlausible(t *testing.T, fx *fixture) {
	t.Helper()
	const day = uint64(86400e9)
	if d := fx.stats.LastNS - fx.stats.FirstNS; d > day {
		t.Errorf("the window is %d ns long", d)
	}
	for _, th := range fx.set.Threads {
		if th.RunNS.Or(0) > day || th.DelayNS.Or(0) > day || th.WaitNS.Or(0) > day {
			t.Errorf("%v: run %v delay %v wait %v", th.Task, th.RunNS, th.DelayNS, th.WaitNS)
		}
	}
}

func readTruthRows(tb testing.TB, path string) [][]string {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var out [][]string
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		out = append(out, strings.Split(line, "\t"))
	}
	return out
}

// TestPayloadBeyondEnd: data that is said to follow a record ends the reading
// where the records end.
func TestPayloadBeyondEnd(t *testing.T) {
	g := gen{cpus: 1, rounds: 1, perRound: 1}
	var f memFile
	w := wire.NewWriter(&f, g.attrs())
	aux := wire.AppendHeader(nil, wire.RecAuxtrace, 0, 48)
	aux = append(le.AppendUint64(aux, 1<<40), make([]byte, 32)...)
	w.Record(aux)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if fx := readBytes(f.b, Options{}); fx.err != nil || !fx.src.Loss.Truncated {
		t.Errorf("%v, %+v", fx.err, fx.src)
	}
}
