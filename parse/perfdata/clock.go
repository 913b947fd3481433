package perfdata

import (
	"math"
	"time"

	"ctxan/parse/perfdata/wire"
)

// clockPair is one moment by two clocks: that of the recording and the time of day.
//
// Layout: CLOCK_DATA in tools/perf/Documentation/perf.data-file-format.txt.
type clockPair struct {
	ok       bool
	id       int32  // which clock, as in clock_gettime
	wall, at uint64 // ns since 1970, and of that clock
}

// date tells when a time of the capture's clock was, in UTC; "" when the file
// does not say, or says it of another clock than the events'. perf writes the
// pair only when a clock was asked for (-k).
func (c *capture) date(ns uint64) string {
	if !c.clock.ok || c.clock.wall > math.MaxInt64 || ns > math.MaxInt64 || c.clock.at > math.MaxInt64 {
		return ""
	}
	for i := range c.attrs {
		if a := &c.attrs[i].attr; a.Has(wire.FlagUseClockID) && a.ClockID != c.clock.id {
			return ""
		}
	}
	since := int64(ns) - int64(c.clock.at)
	return time.Unix(0, int64(c.clock.wall)).Add(time.Duration(since)).UTC().Format(time.RFC3339Nano)
}
