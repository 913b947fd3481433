package procfs

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"ctxan/parse/evidence"
)

// moment is what a line says of the time, by one clock or both.
type moment struct {
	real, boot evidence.Opt[uint64]
	resolution uint64
}

// clock reads a line that is nothing but a time: of date, also by +%s and its
// fractions, of ctxan record ("monotonic_ns: N"), or of several clocks
// ("date: ... epoch N uptime N"). It starts the next reading where the present
// one has something already.
func (r *reader) clock(s string, no int) bool {
	m, ok := parseClock(s)
	if !ok {
		return false
	}
	r.flush()
	if r.place.kind != fileClock {
		r.place, r.block = place{}, block{}
	}
	r.setClock(m, no)
	return true
}

func (r *reader) setClock(m moment, no int) {
	x := r.reading(no)
	again := m.real.OK && x.At.RealNS.OK || m.boot.OK && x.At.BootNS.OK
	if r.place.when == "" && (!x.empty() || again) {
		r.begin("", no)
		x = &r.readings[r.cur]
	}
	if m.real.OK {
		x.At.RealNS = m.real
	}
	if m.boot.OK {
		x.At.BootNS = m.boot
	}
	x.At.Pos.Line, x.At.ResolutionNS = no, max(x.At.ResolutionNS, m.resolution)
	r.has[fileClock] = true
}

// parseClock reads a whole line as a time.
func parseClock(s string) (moment, bool) {
	s = strings.TrimLeft(s, "# ")
	s = trim(strings.TrimPrefix(s, "date:"))
	if s == "" || len(s) > 120 {
		return moment{}, false
	}
	if t, res, ok := parseDate(s); ok {
		return moment{real: evidence.Some(t), resolution: res}, true
	}
	f := strings.Fields(s)
	if len(f) == 1 {
		t, res, ok := parseEpoch(f[0])
		return moment{real: evidence.Some(t), resolution: res}, ok
	}
	return clockPairs(f)
}

// clockPairs reads "epoch N uptime N" and "realtime_ns: N", after a date or not.
func clockPairs(f []string) (m moment, ok bool) {
	if t, res, isDate := parseDate(f[0]); isDate {
		m.real, m.resolution, f = evidence.Some(t), res, f[1:]
	}
	if len(f) == 0 || len(f)%2 != 0 {
		return moment{}, false
	}
	for i := 0; i < len(f); i += 2 {
		var t, res uint64
		switch strings.TrimRight(f[i], ":=") {
		case "epoch":
			t, res, ok = parseEpoch(f[i+1])
			m.real = evidence.Some(t)
		case "realtime_ns":
			t, ok = wholeNS(f[i+1])
			m.real = evidence.Some(t)
		case "monotonic_ns":
			t, ok = wholeNS(f[i+1])
			m.boot = evidence.Some(t)
		case "uptime":
			t, res, ok = parseSeconds(f[i+1])
			m.boot = evidence.Some(t)
		default:
			ok = false
		}
		if !ok {
			return moment{}, false
		}
		m.resolution = max(m.resolution, res)
	}
	return m, true
}

func wholeNS(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return n, err == nil && n > 0
}

// parseSeconds reads seconds with their fraction, exactly, and how fine it is.
func parseSeconds(s string) (ns, resolution uint64, ok bool) {
	whole, frac, dot := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole, 10, 33)
	if err != nil || dot && frac == "" || len(frac) > 9 {
		return 0, 0, false
	}
	resolution = 1e9
	for range frac {
		resolution /= 10
	}
	f := uint64(0)
	if frac != "" {
		f, err = strconv.ParseUint((frac + "000000000")[:9], 10, 64)
	}
	return n*1e9 + f, resolution, err == nil
}

// Seconds since 1970 that a line is read as when it has nothing else: from
// 2001 to 2100. Before lies what could be any number, and no date of today.
const (
	epochMin = 1e18
	epochMax = 4_102_444_800e9
)

// parseEpoch reads the outputs of date +%s, +%s.%N, +%s%3N, +%s%6N and +%s%N.
func parseEpoch(s string) (ns, resolution uint64, ok bool) {
	if strings.IndexByte(s, '.') < 0 {
		scale := map[int]uint64{13: 1e6, 16: 1e3, 19: 1}[len(s)]
		if n, err := strconv.ParseUint(s, 10, 63); scale > 0 && err == nil && n*scale >= epochMin && n*scale < epochMax {
			return n * scale, scale, true
		}
	}
	ns, resolution, ok = parseSeconds(s)
	return ns, resolution, ok && ns >= epochMin && ns < epochMax
}

// dateLayouts are what date prints, in ISO 8601 and in the C and English
// locales. A zone that is only a name counts as UTC: only differences are used.
var dateLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05,999999999Z07:00",
	"2006-01-02 15:04:05.999999999 Z0700", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
	time.UnixDate, "Mon Jan _2 15:04:05 2006", "Mon _2 Jan 15:04:05 MST 2006", "Mon _2 Jan 2006 03:04:05 PM MST", "Mon Jan _2 03:04:05 PM MST 2006",
}

func parseDate(s string) (ns, resolution uint64, ok bool) {
	if len(s) < 19 || len(s) > 48 || strings.Count(s, ":") < 2 {
		return 0, 0, false
	}
	for _, layout := range dateLayouts {
		t, err := time.Parse(layout, s)
		if err == nil && t.Unix() > 0 && t.Year() < 2100 {
			return uint64(t.UnixNano()), fineness(s), true
		}
	}
	return 0, 0, false
}

// fineness is the unit of the last digit of the seconds that a date prints.
func fineness(s string) uint64 {
	i := strings.LastIndexByte(s[:min(len(s), 20)], ':')
	res := uint64(1e9)
	rest := s[i+1:]
	if len(rest) < 4 || rest[2] != '.' && rest[2] != ',' {
		return res
	}
	for _, c := range rest[3:] {
		if c < '0' || c > '9' || res == 1 {
			break
		}
		res /= 10
	}
	return res
}

// uptime reads /proc/uptime.
func (r *reader) uptime(s string, no int) {
	f := strings.Fields(s)
	if len(f) != 2 {
		return
	}
	t, res, ok := parseSeconds(f[0])
	if !ok {
		r.drop(no, errUptime)
		return
	}
	x := r.reading(no)
	x.At.BootNS, x.At.ResolutionNS, x.At.Pos.Line = evidence.Some(t), max(x.At.ResolutionNS, res), no
}

var errUptime = errors.New("no uptime: it has two numbers of seconds")
