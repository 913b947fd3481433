package perfdata

import (
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
	"ctxan/testdata/shared"
)

// stamped is a sample as a walk over the bytes of a file finds it.
type stamped struct {
	at   int64
	time uint64
}

// bruteSamples walks over a little-endian file in file mode with what the format
// says and nothing of the reader: record headers, and the time of each sample by
// the sample type of its event. ok is false for other files.
func bruteSamples(b []byte) (list []stamped, ok bool) {
	le := binary.LittleEndian
	if len(b) < 104 || string(b[:8]) != "PERFILE2" || le.Uint64(b[8:]) != 104 {
		return nil, false
	}
	stride, at, size := le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[32:])
	types, only, same := map[uint64]uint64{}, uint64(0), true
	for ; size >= stride && stride >= 80; size, at = size-stride, at+stride {
		e := b[at : at+stride]
		if st := le.Uint64(e[24:]); only != 0 && st != only {
			same = false
		}
		only = le.Uint64(e[24:])
		ids, n := le.Uint64(e[stride-16:]), le.Uint64(e[stride-8:])/8
		for i := range n {
			types[le.Uint64(b[ids+8*i:])] = only
		}
	}
	p, end := le.Uint64(b[40:]), le.Uint64(b[40:])+le.Uint64(b[48:])
	if end == p {
		end = uint64(len(b))
	}
	for p+8 <= end {
		typ, n := le.Uint32(b[p:]), uint64(le.Uint16(b[p+6:]))
		switch {
		case n < 8 || p+n > end, typ == 81, typ == 83, typ == 66, typ == 71:
			return nil, false
		case typ == 9:
			st := only
			const identifier = 1 << 16
			switch {
			case same:
			case st&identifier == 0:
				return nil, false
			default:
				st = types[le.Uint64(b[p+8:])]
			}
			const ip, tid, time = 1, 2, 4
			s := stamped{at: int64(p)}
			if st&time != 0 {
				s.time = le.Uint64(b[p+8+8*uint64(bits.OnesCount64(st&(identifier|ip|tid))):])
			}
			list = append(list, s)
		}
		p += n
	}
	return list, true
}

// TestBruteForceOrder: over all fixtures, events come in order of time, those of
// one time in the order of the file, with the times that stand in the file; and
// they are as many as the samples of their events.
func TestBruteForceOrder(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"local/*/perf.data", "third_party/*/perf*", "third_party/*/*data"} {
		list, _ := filepath.Glob(filepath.Join(shared.Dir(t), "fixtures", pattern))
		paths = append(paths, list...)
	}
	slices.Sort(paths)
	files, bySort, events := 0, 0, 0
	for _, path := range slices.Compact(paths) {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // a folder
		}
		var got tape
		fx := readBytes(b, Options{Sinks: []timeline.Sink{&got}})
		if fx.err != nil {
			continue
		}
		name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
		files++
		for i, e := range got.events {
			if i > 0 && e.Time < got.events[i-1].Time {
				t.Fatalf("%s: event %d at %d, after one at %d", name, i, e.Time, got.events[i-1].Time)
			}
		}
		samples, ok := bruteSamples(b)
		if !ok {
			continue
		}
		bySort++
		slices.SortStableFunc(samples, func(x, y stamped) int {
			if x.time < y.time {
				return -1
			}
			return int(min(1, x.time-y.time))
		})
		events += compareBrute(t, name, samples, got.events, b)
	}
	t.Logf("%d files in order of time; %d events of %d files equal a sort of the samples by time", files, events, bySort)
	if files < 60 || bySort < 40 {
		t.Errorf("%d files, %d sorted", files, bySort)
	}
}

// compareBrute holds the events that stand where samples are against the sorted
// samples, without those that made no event.
func compareBrute(t *testing.T, name string, samples []stamped, events []timeline.Event, b []byte) (n int) {
	made := map[int64]bool{}
	var have []stamped
	for _, e := range events {
		if wire.Type(le.Uint32(b[e.Off:])) == wire.RecSample && !made[e.Off] {
			made[e.Off] = true
			have = append(have, stamped{e.Off, e.Time})
		}
	}
	samples = slices.DeleteFunc(samples, func(s stamped) bool { return !made[s.at] })
	if len(samples) != len(have) {
		t.Errorf("%s: %d events, %d samples", name, len(have), len(samples))
		return 0
	}
	for i, s := range samples {
		if have[i].at != s.at || s.time != 0 && have[i].time != s.time {
			t.Errorf("%s: event %d is that at %d of time %d, want %d of %d", name, i, have[i].at, have[i].time, s.at, s.time)
			return n
		}
		n++
	}
	return n
}
