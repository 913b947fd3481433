package perfdata

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ctxan/parse/perfdata/wire"
)

// TestDate compares the date of the first event with what perf script -F tod
// prints of it (netio_clock_mono), and with the pair that was written.
func TestDate(t *testing.T) {
	for name, want := range map[string]string{
		"netio_clock_mono": "2026-11-30T12:13:12.689410488Z",
		"synth_clockdata":  "2023-11-14T22:13:20.123456789Z",
		"sched_record":     "",
	} {
		if fx := readFixture(t, filepath.Join(local(t), name, "perf.data"), Options{}); fx.src.Window.Date != want {
			t.Errorf("%s: %q, want %q", name, fx.src.Window.Date, want)
		}
	}
}

// TestDateValues changes each field of the pair.
func TestDateValues(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(local(t), "netio_clock_mono/perf.data"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, le.AppendUint64(nil, clockWall(t, data))) - 8
	if at < 0 {
		t.Fatal("the pair was not found")
	}
	for _, c := range []struct {
		off  int
		want string
	}{
		{0, ""}, // version 0
		{4, ""}, // another clock
		{8 + 5, "other"},
		{16 + 5, "other"},
	} {
		changed := bytes.Clone(data)
		changed[at+c.off] ^= 1
		fx := readBytes(changed, Options{})
		if fx.src.Window.Date == "2026-11-30T12:13:12.689410488Z" || c.want == "" && fx.src.Window.Date != "" {
			t.Errorf("byte %d changed: %q", c.off, fx.src.Window.Date)
		}
	}
}

func clockWall(t *testing.T, data []byte) uint64 {
	t.Helper()
	c, err := open(Input{R: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if !c.attrs[0].attr.Has(wire.FlagUseClockID) {
		t.Fatal("recorded without -k")
	}
	return c.clock.wall
}
