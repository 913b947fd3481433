package report

import (
	"fmt"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// asStats is a count of /proc as a row of threads: totals since it started.
func asStats(c *evidence.ThreadCount) evidence.TaskStats {
	return evidence.TaskStats{Pos: c.Pos, Task: c.Task, Kernel: c.Kernel, Voluntary: c.Voluntary, Involuntary: c.Involuntary,
		Switches: c.Switches, RunNS: c.RunNS, DelayNS: c.RunDelayNS, Migrations: c.Migrations}
}

// threadCounts are the threads of all readings as rows of threads, with
// since_start set. Their delay_ns is every wait on a run queue; schedstat has
// the three figures under the kernel's own names.
func threadCounts(s *evidence.Set) []object {
	var out []object
	for i := range s.Readings {
		for j := range s.Readings[i].Threads {
			c := &s.Readings[i].Threads[j]
			row := asStats(c)
			o := append(taskObject(&row), field{"since_start", true}, field{"reading", i}, field{"leader", c.Leader},
				field{"threads", c.Threads}, field{"start_ns", c.StartNS})
			if c.Slices.OK {
				o = append(o, field{"schedstat", object{{"run_ns", c.RunNS}, {"wait_ns", c.RunDelayNS}, {"slices", c.Slices}}})
			}
			out = append(out, o)
		}
	}
	return out
}

// machineCounts are the machine's totals since boot as rows of system.
func machineCounts(s *evidence.Set) []object {
	var out []object
	for i := range s.Readings {
		m, ok := s.Readings[i].Machine.Get()
		if !ok {
			continue
		}
		o := append(at(m.Pos), field{"cpus", m.CPUs}, field{"switches_per_s", []float64{}}, field{"since_boot", true}, field{"reading", i},
			field{"switches", m.Switches}, field{"forks", m.Forks}, field{"interrupts", m.Interrupts}, field{"running", m.Running}, field{"blocked", m.Blocked})
		if t, ok := m.Ticks.Get(); ok {
			o = append(o, field{"ticks", object{{"user", t.User}, {"nice", t.Nice}, {"system", t.System}, {"idle", t.Idle},
				{"iowait", t.IOWait}, {"irq", t.IRQ}, {"softirq", t.SoftIRQ}, {"steal", t.Steal}}})
		}
		out = append(out, append(o, field{"by_interrupt", each(m.ByInterrupt, interruptObject)}))
	}
	return out
}

func sampleObject(x *evidence.SystemSample) object {
	return object{{"line", evidence.Opt[int]{V: x.Line, OK: x.Line > 0}}, {"since_boot", x.SinceBoot}, {"interrupts_per_s", x.InterruptsPerS}, {"forks_per_s", x.ForksPerS},
		{"runnable", x.Runnable}, {"blocked", x.Blocked}, {"idle", x.Idle}, {"iowait", x.IOWait}, {"steal", x.Steal}}
}

func interruptObject(i *evidence.InterruptCount) object {
	return object{{"name", i.Name}, {"description", i.Desc}, {"count", i.Count}}
}

func readingObject(r *evidence.Reading) object {
	return append(at(r.Pos), field{"label", orNull(r.Label)}, field{"real_ns", r.At.RealNS}, field{"boot_ns", r.At.BootNS},
		field{"threads", len(r.Threads)}, field{"groups", each(r.Groups, groupObject)})
}

func groupObject(g *evidence.GroupCount) object {
	return append(at(g.Pos), field{"group", orNull(g.Group)}, field{"unlimited", g.Unlimited}, field{"quota_us", g.QuotaUS}, field{"period_us", g.PeriodUS},
		field{"periods", g.Periods}, field{"throttled", g.Throttled}, field{"throttled_ns", g.ThrottledNS}, field{"usage_ns", g.UsageNS})
}

// readings writes what was read at each moment, the first few of them.
func (t *inspection) readings(id int) {
	n := 0
	for i := range t.s.Readings {
		r := &t.s.Readings[i]
		if r.Pos.Source != id {
			continue
		}
		if n++; n > 4 {
			continue
		}
		t.labelled("reading", t.prose(readingText(r)))
		t.machineTotals(r)
		for k := range r.Groups {
			t.labelled("group", t.prose(groupText(&r.Groups[k])))
		}
		rows := make([]*evidence.TaskStats, len(r.Threads))
		for k := range r.Threads {
			row := asStats(&r.Threads[k])
			rows[k] = &row
		}
		t.taskTable("totals", rows)
	}
	if n > 4 {
		t.labelled("reading", t.prose(fmt.Sprintf("and %d more: --format json lists them", n-4)))
	}
}

func readingText(r *evidence.Reading) string {
	s := "line " + decimal(r.Pos.Line)
	if r.Label != "" {
		s += ", " + inert(r.Label)
	}
	if v, ok := r.At.BootNS.Get(); ok {
		s += ", " + quantity.With(quantity.Fixed(float64(v)/1e9, 3), "s") + " after boot"
	}
	return s
}

func (t *inspection) machineTotals(r *evidence.Reading) {
	m, ok := r.Machine.Get()
	if !ok {
		return
	}
	s := "totals since boot"
	if v, ok := m.Switches.Get(); ok {
		s += ": " + quantity.Count(v) + " switches"
	}
	if v, ok := m.Ticks.Get(); ok && v.Total() > 0 {
		s += fmt.Sprintf(", idle %s, steal %s", quantity.Percent(float64(v.Idle)/float64(v.Total()), 1), quantity.Percent(float64(v.Steal)/float64(v.Total()), 1))
	}
	t.labelled("machine", t.prose(s))
}

func groupText(g *evidence.GroupCount) string {
	s := inert(g.Group)
	if s != "" {
		s += ": "
	}
	q, okQ := g.QuotaUS.Get()
	p, okP := g.PeriodUS.Get()
	switch {
	case g.Unlimited:
		s += "no CPU quota"
	case okQ && okP && p > 0:
		s += "quota of " + quantity.Fixed(float64(q)/float64(p), 2) + " CPUs"
	default:
		s += "CPU quota not in the text"
	}
	if n, ok := g.Throttled.Get(); ok {
		s += fmt.Sprintf(", throttled in %s of %s periods", quantity.Count(n), quantity.Count(g.Periods.V))
	}
	if v, ok := g.ThrottledNS.Get(); ok {
		s += ", " + quantity.Time(float64(v)) + " in all"
	}
	return s
}

// settings lists facts about the machine.
func (t *inspection) settings(id int) {
	n := 0
	for i := range t.s.Settings {
		x := &t.s.Settings[i]
		if x.Pos.Source != id {
			continue
		}
		if n++; n <= 12 {
			t.labelled("setting", t.prose(excerpt(x.Name+" = "+x.Value)))
		}
	}
	if n > 12 {
		t.labelled("setting", t.prose(fmt.Sprintf("and %d more: --format json lists them", n-12)))
	}
}
