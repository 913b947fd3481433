package report

import (
	"fmt"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// traceObject is what a printed scheduler trace counts as a whole.
func traceObject(t *evidence.SchedTrace) object {
	o := append(at(t.Pos),
		field{"switch_rows", t.SwitchRows}, field{"idle_rows", t.IdleRows}, field{"wakeup_rows", t.WakeupRows}, field{"migrate_rows", t.MigrateRows},
		field{"run_ns", t.RunNS}, field{"idle_ns", t.IdleNS})
	if f, ok := t.First.Get(); ok {
		o = append(o, field{"first", object{{"time_ns", f.TimeNS}, {"cpu", f.CPU}, {"tid", f.Task.TID}, {"pid", f.Task.PID}, {"comm", f.Task.Comm},
			{"wait_ns", f.WaitNS}, {"delay_ns", f.DelayNS}, {"run_ns", f.RunNS}}})
	}
	if s, ok := t.Totals.Get(); ok {
		o = append(o, field{"totals", object{{"kind", s.Kind.String()}, {"tasks", s.Tasks}, {"switches", s.Switches}, {"run_ns", s.RunNS},
			{"window_ns", s.WindowNS}, {"cpus", s.CPUs}}})
	}
	return o
}

func cpuObject(c *evidence.CPUStats) object {
	return append(at(c.Pos), field{"cpu", c.CPU}, field{"switches", c.Switches}, field{"busy_ns", c.BusyNS}, field{"idle_ns", c.IdleNS}, field{"chain_breaks", c.ChainBreaks})
}

func (t *inspection) traces(id int) {
	for i := range t.s.Traces {
		x := &t.s.Traces[i]
		if x.Pos.Source != id {
			continue
		}
		body := plural(int(x.SwitchRows), "switch", "switches") + ", " + quantity.Count(x.IdleRows) + " of the idle task"
		for _, n := range []struct {
			n    uint64
			name string
		}{{x.WakeupRows, "wakeups"}, {x.MigrateRows, "migrations"}} {
			if n.n > 0 {
				body += ", " + quantity.Count(n.n) + " " + n.name
			}
		}
		t.labelled("trace", t.prose(body+"; run "+quantity.Time(float64(x.RunNS))+", idle "+quantity.Time(float64(x.IdleNS))))
	}
}

// cpus sums what the source says of the CPUs.
func (t *inspection) cpus(id int) {
	n, switches, most, at := 0, uint64(0), uint64(0), 0
	for i := range t.s.CPUs {
		if x := &t.s.CPUs[i]; x.Pos.Source == id {
			n++
			switches += x.Switches
			if x.Switches > most {
				most, at = x.Switches, x.CPU
			}
		}
	}
	if n == 0 {
		return
	}
	body := plural(n, "CPU", "CPUs") + ", " + quantity.Count(switches) + " switches with those of the idle task"
	if n > 1 {
		body += fmt.Sprintf(", most on CPU %d: %s", at, quantity.Count(most))
	}
	t.labelled("CPUs", t.prose(body))
}
