package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// tape is a source of made-up records: record i stands at [i*recBytes,
// (i+1)*recBytes). One with time 0 has no time; one with cpu -2 is the end of a
// round.
type tape []tapeRec

type tapeRec struct {
	time uint64
	cpu  int
}

const recBytes = 10

const roundMark = -2

// decode is a Recorder: the place of a record tells which one it is.
func (tp tape) decode(_ []byte, off int64, last *uint64, dst []Event) []Event {
	r := tp[off/recBytes]
	if r.time != 0 {
		*last = r.time
	}
	return append(dst, Event{Time: *last, Off: off, CPU: int32(r.cpu), Kind: KindSample})
}

// Decode implements Decoder.
func (tp tape) Decode(from, to int64, last *uint64, dst []Event) ([]Event, int64, error) {
	for ; from < to && len(dst) < cap(dst); from += recBytes {
		dst = tp.decode(nil, from, last, dst)
	}
	return dst, from, nil
}

// feed runs a tape through an Order, as a reader of a file does. It returns the
// first error of Give.
func (tp tape) feed(o *Order) error {
	in := o.Intake()
	var top, last uint64
	rec := make([]byte, recBytes)
	dst := in.Buffer()
	for i, r := range tp {
		off, to := int64(i)*recBytes, int64(i+1)*recBytes
		switch {
		case r.cpu == roundMark:
			in.Keep(dst)
			in.Cut()
			safe := top
			top = in.Top()
			if err := in.Give(safe); err != nil {
				return err
			}
			dst = in.Buffer()
		case !in.Add(to, r.time):
			dst = in.Slow(rec, off, r.time, r.cpu, &last, dst, tp.decode)
		case dst != nil:
			if dst = tp.decode(rec, off, &last, dst); len(dst) == cap(dst) {
				dst = in.Next(dst, to, last)
			}
		}
	}
	in.Keep(dst)
	return in.Give(0)
}

// order runs a tape through an Order and returns what came out.
func (tp tape) order(tb testing.TB, opt OrderOptions) ([]Event, OrderStats, *Runs) {
	tb.Helper()
	var got []Event
	o := NewOrder(tp, func(b []Event) error { got = append(got, b...); return nil }, opt)
	if err := tp.feed(o); err != nil {
		tb.Fatal(err)
	}
	st, err := o.Close()
	if err != nil {
		tb.Fatal(err)
	}
	return got, st, &o.Intake().Runs
}

// sorted is what must come out: the records with a time by time, those of
// equal time by place.
func (tp tape) sorted() []Event {
	var want []Event
	for i, r := range tp {
		if r.cpu != roundMark {
			want = append(want, Event{Time: r.time, Off: int64(i) * recBytes, CPU: int32(r.cpu), Kind: KindSample})
		}
	}
	slices.SortFunc(want, func(a, b Event) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Off, b.Off)) })
	return want
}

// rings makes a tape as perf writes it: cpus ring buffers, drained one after
// the other in every round. slip is the share of records that are written
// after one that is up to 3 records younger.
func rings(rnd *rand.Rand, cpus, rounds, perRound int, slip float64) tape {
	var tp tape
	now := uint64(1_000_000_000)
	pending := make([][]tapeRec, cpus)
	for range rounds {
		for range perRound {
			now += rnd.Uint64N(2000)
			c := rnd.IntN(cpus)
			pending[c] = append(pending[c], tapeRec{now, c})
		}
		for c := range pending {
			keep := rnd.IntN(len(pending[c])/8 + 1) // not drained yet
			part := pending[c][:len(pending[c])-keep]
			for i := range part {
				if k := i + 1 + rnd.IntN(3); rnd.Float64() < slip && k < len(part) {
					part[i], part[k] = part[k], part[i]
				}
			}
			tp = append(tp, part...)
			pending[c] = slices.Clone(pending[c][len(part):])
		}
		tp = append(tp, tapeRec{cpu: roundMark})
	}
	for _, p := range pending {
		tp = append(tp, p...)
	}
	return tp
}

func TestOrderIsASort(t *testing.T) {
	for _, c := range []struct {
		cpus, rounds, perRound int
		slip                   float64
	}{
		{1, 1, 10, 0}, {1, 5, 5000, 0.01}, {2, 1, 100_000, 0}, {2, 40, 3000, 0}, {2, 40, 3000, 0.05}, {8, 300, 40, 0.3},
		{64, 20, 20_000, 0.01}, {200, 3, 30_000, 0}, {3, 2000, 3, 0}, {2, 1, 0, 0},
	} {
		t.Run(fmt.Sprintf("%d-%d-%d-%g", c.cpus, c.rounds, c.perRound, c.slip), func(t *testing.T) {
			tp := rings(rand.New(rand.NewPCG(1, uint64(c.cpus))), c.cpus, c.rounds, c.perRound, c.slip)
			got, st, _ := tp.order(t, OrderOptions{CPUs: c.cpus})
			compareEvents(t, got, tp.sorted())
			if st.Late != 0 || st.Runs != 0 || st.Events != uint64(len(got)) {
				t.Errorf("stats %+v for %d events", st, len(got))
			}
		})
	}
}

func compareEvents(t *testing.T, got, want []Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("event %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestOrderWithoutRounds merges a source that never says how far it is.
func TestOrderWithoutRounds(t *testing.T) {
	tp := rings(rand.New(rand.NewPCG(2, 2)), 4, 50, 2000, 0.02)
	tp = slices.DeleteFunc(tp, func(r tapeRec) bool { return r.cpu == roundMark })
	got, _, _ := tp.order(t, OrderOptions{CPUs: 4})
	compareEvents(t, got, tp.sorted())
}

func TestOrderUntimed(t *testing.T) {
	// Records without a time come where they stand: at the beginning first, and
	// behind the record that they follow.
	tp := tape{{0, 0}, {0, 0}, {500, 0}, {0, 0}, {700, 0}, {400, 1}, {0, 1}, {600, 1}, {cpu: roundMark}, {0, 0}, {900, 0}}
	got, _, _ := tp.order(t, OrderOptions{CPUs: 2})
	var seq []int64
	for _, e := range got {
		seq = append(seq, e.Off/recBytes)
	}
	if want := []int64{0, 1, 5, 6, 2, 3, 7, 4, 9, 10}; !slices.Equal(seq, want) {
		t.Errorf("order %v, want %v", seq, want)
	}
}

func TestOrderNoTimes(t *testing.T) {
	tp := make(tape, 5000)
	got, _, _ := tp.order(t, OrderOptions{CPUs: 1})
	compareEvents(t, got, tp.sorted())
}

// TestOrderStray leaves out a single record with a damaged time, and does not
// let it end the round for all others.
func TestOrderStray(t *testing.T) {
	for name, bad := range map[string]uint64{"past": 5, "future": 1 << 62} {
		t.Run(name, func(t *testing.T) {
			tp := rings(rand.New(rand.NewPCG(3, 3)), 2, 20, 1000, 0)
			at := 5000
			for tp[at].cpu == roundMark || tp[at].cpu != tp[at-1].cpu || tp[at].cpu != tp[at+1].cpu {
				at++
			}
			want := tp.sorted()
			want = slices.DeleteFunc(want, func(e Event) bool { return e.Off == int64(at)*recBytes })
			tp[at].time = bad
			got, st, x := tp.order(t, OrderOptions{CPUs: 2})
			compareEvents(t, got, want)
			if x.Strays != 1 || x.StrayOff != int64(at)*recBytes || st.Late != 0 {
				t.Errorf("%d strays, the last at %d, %+v", x.Strays, x.StrayOff, st)
			}
		})
	}
}

// TestOrderStrayFirst leaves out a damaged first record: time would run
// backwards behind it.
func TestOrderStrayFirst(t *testing.T) {
	tp := tape{{0, -1}, {1 << 62, 0}, {0, -1}, {5e9, 0}, {5e9 + 1, 0}, {cpu: roundMark}, {5e9 + 2, 0}, {cpu: roundMark}, {5e9 + 3, 0}}
	got, st, x := tp.order(t, OrderOptions{CPUs: 1})
	var seq []int64
	for _, e := range got {
		seq = append(seq, e.Off/recBytes)
	}
	if want := []int64{0, 2, 3, 4, 6, 8}; !slices.Equal(seq, want) || x.Strays != 1 || st.Late != 0 {
		t.Errorf("order %v, want %v; %d strays, %+v", seq, want, x.Strays, st)
	}
}

// TestOrderGap keeps records after a long pause: the next one confirms the time.
func TestOrderGap(t *testing.T) {
	tp := tape{{1e9, 0}, {2e9, 0}, {90e9, 0}, {90e9 + 1, 0}, {200e9, 0}, {3e9, 1}, {4e9, 1}, {300e9, 0}}
	got, _, x := tp.order(t, OrderOptions{CPUs: 1})
	compareEvents(t, got, tp.sorted())
	if x.Strays != 0 {
		t.Errorf("%d strays", x.Strays)
	}
}

// TestOrderLate leaves out what breaks the rule of rounds, and counts it.
func TestOrderLate(t *testing.T) {
	tp := tape{{100, 0}, {200, 0}, {cpu: roundMark}, {300, 0}, {cpu: roundMark}, {400, 0}, {cpu: roundMark}, {150, 1}, {500, 1}}
	got, st, _ := tp.order(t, OrderOptions{CPUs: 2})
	if st.Late != 1 || st.LateOff != 7*recBytes || len(got) != 5 {
		t.Errorf("%+v, %d events", st, len(got))
	}
	for i := 1; i < len(got); i++ {
		if got[i].Time < got[i-1].Time {
			t.Errorf("event %d goes back from %d to %d", i, got[i-1].Time, got[i].Time)
		}
	}
}

// TestOrderChaos gives records in no order at all, far more than runs are kept.
func TestOrderChaos(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	tp := make(tape, 150_000)
	for i := range tp {
		tp[i] = tapeRec{1 + rnd.Uint64N(1<<40), i % 16}
	}
	got, st, x := tp.order(t, OrderOptions{CPUs: 16})
	for i := 1; i < len(got); i++ {
		if got[i].Time < got[i-1].Time {
			t.Fatalf("event %d goes back", i)
		}
	}
	t.Logf("%d of %d handed out, %d late, %d runs and %d strays left out", len(got), len(tp), st.Late, st.Runs, x.Strays)
}

// failing ends a tape with an error.
type failing struct{ tape }

var errTape = errors.New("tape torn")

func (f failing) Decode(from, to int64, last *uint64, dst []Event) ([]Event, int64, error) {
	if from > 50*recBytes {
		return dst, from, errTape
	}
	return f.tape.Decode(from, min(to, from+10*recBytes), last, dst)
}

func TestOrderErrors(t *testing.T) {
	tp := rings(rand.New(rand.NewPCG(5, 5)), 2, 1, 300, 0)
	nothing := func([]Event) error { return nil }
	o := NewOrder(failing{tp}, nothing, OrderOptions{Events: 1})
	_ = tp.feed(o)
	if _, err := o.Close(); !errors.Is(err, errTape) {
		t.Errorf("decoder's error: %v", err)
	}
	errSink := errors.New("sink full")
	for _, n := range []int{0, 1} {
		o = NewOrder(tp, func([]Event) error { return errSink }, OrderOptions{Events: n})
		_ = tp.feed(o)
		if _, err := o.Close(); !errors.Is(err, errSink) {
			t.Errorf("sink's error: %v", err)
		}
		o = NewOrder(tp, nothing, OrderOptions{Events: n})
		_ = tp.feed(o)
		o.Abort()
	}
}

// TestOrderRereads gives so little memory that most events are decoded a second
// time, when they are due.
func TestOrderRereads(t *testing.T) {
	for _, events := range []int{1, chunkEvents, 3 * chunkEvents, 20 * chunkEvents} {
		for _, slip := range []float64{0, 0.05} {
			tp := rings(rand.New(rand.NewPCG(7, uint64(events))), 3, 12, 9000, slip)
			got, st, _ := tp.order(t, OrderOptions{CPUs: 3, Events: events})
			compareEvents(t, got, tp.sorted())
			if st.Late != 0 || st.Runs != 0 || st.Reread == 0 && events < 20*chunkEvents || st.Reread != 0 && events >= 40*chunkEvents {
				t.Errorf("%d events of memory: %+v", events, st)
			}
			t.Logf("%d events of memory: %d of %d read again", events, st.Reread, st.Events)
		}
	}
}

// FuzzOrder holds the order against a sort: whatever comes out is in order, and
// nothing is lost without being counted.
func FuzzOrder(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 0, 0, 255, 9, 7, 3, 255, 1}, uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, events uint16) {
		var tp tape
		now := uint64(1000)
		for _, x := range b[:min(len(b), 4096)] {
			switch {
			case x == 255:
				tp = append(tp, tapeRec{cpu: roundMark})
			case x == 0:
				tp = append(tp, tapeRec{})
			case x >= 250:
				tp = append(tp, tapeRec{now + uint64(x-249)*3e9, int(x & 3)})
			default:
				now = uint64(max(int64(now)+int64(x)-96, 1))
				tp = append(tp, tapeRec{now, int(x & 3)})
			}
		}
		got, st, x := tp.order(t, OrderOptions{CPUs: 4, Events: int(events)})
		if want := len(tp.sorted()); len(got)+int(st.Late)+x.Strays != want {
			t.Errorf("%d out, %d late, %d strays, of %d", len(got), st.Late, x.Strays, want)
		}
		for i := 1; i < len(got); i++ {
			if got[i].Time < got[i-1].Time {
				t.Fatalf("event %d goes back", i)
			}
		}
	})
}

// BenchmarkOrder merges two rings of a million records.
func BenchmarkOrder(b *testing.B) {
	tp := rings(rand.New(rand.NewPCG(6, 6)), 2, 20, 50_000, 0.001)
	b.SetBytes(int64(len(tp)) * 64)
	b.ReportAllocs()
	for b.Loop() {
		o := NewOrder(tp, func([]Event) error { return nil }, OrderOptions{CPUs: 2})
		if err := tp.feed(o); err != nil {
			b.Fatal(err)
		}
		if _, err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
