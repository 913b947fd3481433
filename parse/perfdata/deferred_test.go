package perfdata

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxan/parse/perfdata/wire"
)

// deferring writes switches of two threads with call chains whose user part is
// in the samples, or comes in records of its own as the kernel writes them:
// once for all samples of one stay in the kernel, when the task leaves it.
func deferring(tb testing.TB, apart bool) []byte {
	tb.Helper()
	var f memFile
	a := gen{chains: 1}.attrs()[0]
	w := wire.NewWriter(&f, []wire.AttrIDs{a})
	w.Record(threadMap(-1))
	now := uint64(1e9)
	for i := range 6 {
		tid, cookie := int32(1000+i%2), uint64(1)<<32|uint64(2*i+1)
		kernel := []uint64{wire.ContextKernel, 0xffffffff81000100 + uint64(i)}
		user := []uint64{wire.ContextUser, 0x401000 + uint64(16*i), 0x402000}
		v := wire.SampleValues{ID: 100, PID: 1000, TID: tid, Period: 1}
		for range 2 {
			now += 1000
			v.Time, v.Raw = now, rawSwitch(tid, 0, 1)
			v.Chain = slices.Concat(kernel, user)
			if apart {
				v.Chain = append(slices.Clone(kernel), wire.ContextUserDeferred, cookie)
			}
			w.Record(wire.AppendSample(nil, &a.Attr, &v))
		}
		if apart {
			v.Time = now + 500
			w.Record(deferredRecord(&a.Attr, &v, cookie, user))
		}
	}
	w.Feature(wire.FeatTracingData, wire.AppendTracing(nil, map[string][]string{"sched": {formatSwitch}}))
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

func deferredRecord(a *wire.Attr, v *wire.SampleValues, cookie uint64, ips []uint64) []byte {
	b := wire.AppendHeader(nil, wire.RecDeferred, wire.MiscUser, 0)
	b = le.AppendUint64(le.AppendUint64(b, cookie), uint64(len(ips)))
	for _, ip := range ips {
		b = le.AppendUint64(b, ip)
	}
	return wire.AppendTrailer(b, 0, a, v)
}

// addrs returns the addresses of the stacks of a file, leaf first, and how many
// samples have them.
func addrs(t *testing.T, data []byte) map[string]uint64 {
	t.Helper()
	fx := readBytes(data, Options{})
	if fx.err != nil {
		t.Fatal(fx.err)
	}
	got := map[string]uint64{}
	for _, st := range fx.set.Stacks {
		for _, s := range st.Samples {
			text := ""
			if s.Stack >= 0 {
				for _, i := range st.Stacks[s.Stack] {
					text += fmt.Sprintf(" %x", st.Frames[i].Addr)
				}
			}
			got[fmt.Sprintf("%d%s", st.Tasks[s.Task].TID, text)] += s.Count
		}
	}
	return got
}

// TestDeferredChains: a user part that comes in a record of its own makes the
// same stacks as one that is in the samples.
func TestDeferredChains(t *testing.T) {
	want := addrs(t, deferring(t, false))
	got := addrs(t, deferring(t, true))
	if len(want) != 6 || !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDeferredFields changes one field of the first such record at a time.
func TestDeferredFields(t *testing.T) {
	file := deferring(t, true)
	base := addrs(t, file)
	rec := bytes.Index(file, wire.AppendHeader(nil, wire.RecDeferred, wire.MiscUser, 8+16+24+32))
	const whole, kernel = "1000 ffffffff81000100 401000 402000", "1000 ffffffff81000100"
	if rec < 0 || base[whole] != 2 {
		t.Fatalf("at %d: %v", rec, base)
	}
	for name, m := range map[string]struct {
		off  int
		put  string
		want string // the chain of the first two samples
		drop int
	}{
		"cookie":    {rec + 8, "\xff", kernel, 0},
		"number":    {rec + 16, "\x02", "1000 ffffffff81000100 401000", 0},
		"no frames": {rec + 16, "\x00", kernel, 0},
		"too many":  {rec + 16, "\x04", kernel, 1},
		"address":   {rec + 32, "\x08", "1000 ffffffff81000100 401008 402000", 0},
		"no mark":   {rec + 24, "\x00\x00\x40\x00\x00\x00\x00\x00", "1000 ffffffff81000100 400000 401000 402000", 0},
		"thread":    {rec + 52, "\xe9\x03", kernel, 0},
	} {
		b := slices.Clone(file)
		copy(b[m.off:], m.put)
		fx := readBytes(b, Options{})
		if got := addrs(t, b); got[m.want] != 2 || fx.src.DroppedTotal != m.drop {
			t.Errorf("%s: %v, want two of %s; %d dropped", name, got, m.want, fx.src.DroppedTotal)
		}
		if note := strings.Contains(strings.Join(fx.src.Notes, "\n"), "2 of 12 call chains lack their user part"); note != (m.want == kernel) {
			t.Errorf("%s: notes %q", name, fx.src.Notes)
		}
	}
}

// TestDeferredOfOthers: the records of this made-up file are all of thread
// 1000, the samples of 1001 to 1004, and where cookies are equal the frames are
// of another thread. Nothing may be joined.
func TestDeferredOfOthers(t *testing.T) {
	fx := readFixture(t, filepath.Join(local(t), "synth_deferred", "perf.data"), Options{})
	if fx.err != nil {
		t.Fatal(fx.err)
	}
	wantNote(t, fx.src, "42 of 42 call chains lack their user part")
	for _, st := range fx.set.Stacks {
		for _, f := range st.Frames {
			if !f.Kernel {
				t.Errorf("a user frame, %#x", f.Addr)
			}
		}
	}
}
