package sar

import (
	"fmt"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// add writes the capture into b. Where it has switch rates, the intervals
// without one are left out, so that rates and samples stand side by side.
func (c *capture) add(b *evidence.Builder) {
	r := c.average
	for i := range c.samples {
		x := &c.samples[i]
		if c.rates && !x.rate.OK {
			continue
		}
		if c.rates {
			r.SwitchesPerS = append(r.SwitchesPerS, x.rate.V)
		}
		if len(r.Samples) == 0 {
			r.Pos.Line = x.Line
		}
		r.Samples = append(r.Samples, x.SystemSample)
	}
	src := b.Source()
	src.Host, src.Window.Date, src.Target.Kind = c.host, c.date, evidence.TargetSystem
	src.Variant = fmt.Sprintf("%d intervals", len(r.Samples))
	if len(r.Samples) == 1 {
		src.Variant = "1 interval"
	}
	r.CPUs = c.host.CPUs
	if s := c.end.since(c.start); s > 0 {
		src.Window.DurationS = evidence.Some(s)
	} else if c.intervals > 0 {
		src.Window.DurationS = evidence.Some(c.intervals)
	}
	if c.cut {
		b.Note(fmt.Sprintf("only the first %d intervals were kept", MaxRows))
	}
	if !c.rates {
		c.decline(b)
	}
	b.System(r)
}

// decline says that there are no switch rates, and how to get them.
func (c *capture) decline(b *evidence.Builder) {
	if c.mpstat {
		b.Source().Format = FormatMpstat
		b.Warn("mpstat prints no switch rates; run sar -w 1 5, or vmstat 1 5")
		return
	}
	b.Warn("sar without -w: no switch rates in it; run sar -w 1 5")
}

// clock is a time of day in seconds.
type clock struct {
	sec float64
	ok  bool
}

// since is the time from an earlier clock of the same day or the night before;
// 0 when it cannot be told.
func (c clock) since(o clock) float64 {
	if !c.ok || !o.ok {
		return 0
	}
	d := c.sec - o.sec
	if d < 0 {
		d += 24 * 3600
	}
	return d
}

// parseClock reads "12:22:15" with or without AM or PM behind it.
func parseClock(f []string) clock {
	if len(f) == 0 {
		return clock{}
	}
	p := strings.Split(f[0], ":")
	if len(p) != 3 {
		return clock{}
	}
	var v [3]int
	for i, w := range p {
		n, err := strconv.Atoi(w)
		if err != nil || n < 0 || n > 60 {
			return clock{}
		}
		v[i] = n
	}
	if len(f) > 1 {
		switch f[1] {
		case "AM":
			v[0] %= 12
		case "PM":
			v[0] = v[0]%12 + 12
		}
	}
	return clock{float64(v[0]*3600 + v[1]*60 + v[2]), true}
}

// parseBanner reads "Linux RELEASE (HOST) DATE _ARCH_ (N CPU)".
func parseBanner(s string) (h evidence.Host, date string, ok bool) {
	f := strings.Fields(s)
	if len(f) < 5 || f[0] != "Linux" || !strings.HasPrefix(f[2], "(") || !strings.HasSuffix(f[2], ")") {
		return h, "", false
	}
	h.Release, h.Name, date = strings.Clone(f[1]), strings.Clone(strings.Trim(f[2], "()")), strings.Clone(f[3])
	h.Arch = strings.Clone(strings.Trim(f[4], "_"))
	if len(f) > 5 && strings.HasPrefix(f[5], "(") {
		if n, err := strconv.Atoi(strings.TrimPrefix(f[5], "(")); err == nil && n > 0 {
			h.CPUs = evidence.Some(n)
		}
	}
	return h, date, true
}
