package vmstat

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ctxan/parse/evidence"
)

// command is what is known of a run's command line.
type command struct {
	line      string
	intervalS float64
	noBoot    bool // -y: the row since boot is left out
}

// parse takes a command line "vmstat [options] [delay [count]]" behind a prompt.
func (c *command) parse(s string) {
	i := strings.Index(s, "vmstat")
	if i < 0 || i > 0 && !strings.ContainsRune(" $#%>/", rune(s[i-1])) || len(s) > 200 {
		return
	}
	f := strings.Fields(s[i:])
	if f[0] != "vmstat" {
		return
	}
	*c = command{}
	words := 0
	for _, w := range f[1:] {
		if strings.HasPrefix(w, "-") {
			c.noBoot = c.noBoot || !strings.HasPrefix(w, "--") && strings.Contains(w, "y") || w == "--no-first"
		} else if v, err := strconv.ParseFloat(w, 64); err != nil || v <= 0 {
			break // a comment, a pipe
		} else if c.intervalS == 0 {
			c.intervalS = v
		}
		words++
	}
	c.line = strings.Clone(strings.Join(f[:1+words], " "))
}

// add writes the run into b.
func (x *run) add(b *evidence.Builder) {
	src := b.Source()
	n := len(x.rate.SwitchesPerS)
	src.Target.Kind, src.Command = evidence.TargetSystem, x.command.line
	src.Variant = fmt.Sprintf("%d rows", n)
	if n == 1 {
		src.Variant = "1 row"
	}
	if !x.command.noBoot {
		x.rate.Samples[0].SinceBoot = true
		b.Note("the first row of vmstat is the mean since boot and is left out of the rate (its command is not known to have -y)")
		if n == 1 {
			b.Warn("vmstat without an interval: its one row is the mean since boot, not of the time of the problem; run vmstat 1 5")
		}
	}
	if x.layout.guessed {
		b.Note("no titles: the rows have the 17 columns of vmstat")
	}
	if x.cut {
		b.Note(fmt.Sprintf("only the first %d rows were kept", MaxRows))
	}
	x.window(&src.Window)
	b.System(x.rate)
}

// window is the time that the rows after the first cover: by their time
// stamps, or by the interval of the command.
func (x *run) window(w *evidence.Window) {
	n := len(x.rate.SwitchesPerS)
	intervals := float64(n)
	if !x.command.noBoot {
		intervals--
	}
	if intervals < 1 {
		return
	}
	if v := x.command.intervalS; v > 0 {
		w.DurationS = evidence.Some(v * intervals)
		return
	}
	if len(x.dates) < 2 {
		return
	}
	const layout = "2006-01-02 15:04:05"
	a, err1 := time.Parse(layout, x.dates[0])
	z, err2 := time.Parse(layout, x.dates[len(x.dates)-1])
	if s := z.Sub(a).Seconds(); err1 == nil && err2 == nil && s > 0 {
		w.DurationS = evidence.Some(s)
		w.Date = strings.Clone(x.dates[0])
		if x.command.noBoot {
			w.DurationS.V *= intervals / (intervals - 1)
		}
	}
}

// total reads a line of vmstat -s.
func (r *reader) total(f []string, no int) bool {
	if len(f) < 2 || !isWhole(f[0]) {
		return false
	}
	n, err := strconv.ParseUint(f[0], 10, 62)
	if err != nil {
		return false
	}
	m, t := &r.totals, &r.totals.Ticks.V
	switch strings.Join(f[1:], " ") {
	case "CPU context switches":
		m.Switches, m.LineSwitches = evidence.Some(n), no
		m.Pos.Line = no
	case "interrupts":
		m.Interrupts = evidence.Some(n)
	case "forks":
		m.Forks = evidence.Some(n)
	case "non-nice user cpu ticks":
		t.User, m.LineTicks = n, no
	case "nice user cpu ticks":
		t.Nice = n
	case "system cpu ticks":
		t.System = n
	case "idle cpu ticks":
		t.Idle, m.Ticks.OK = n, true
	case "IO-wait cpu ticks":
		t.IOWait = n
	case "IRQ cpu ticks":
		t.IRQ = n
	case "softirq cpu ticks":
		t.SoftIRQ = n
	case "stolen cpu ticks":
		t.Steal = n
	default:
		return false
	}
	return true
}
