package main

import "slices"

// proc compares a value of a capture of /proc: of the rows with totals, in
// their order, or of the machine.
func (c *corpusCase) proc(key string, v any) {
	switch want := v.(type) {
	case []any:
		got := c.totals(key)
		for i, w := range want { // of many tasks the index lists the first
			if i >= len(got) {
				c.n++
				c.errorf("%s: %d tasks, want %v", key, len(got), want)
				return
			}
			c.near(key, got[i], w.(float64))
		}
	case map[string]any: // the first row of schedstat
		first := c.schedstats()
		if len(first) == 0 {
			c.errorf("no row of schedstat")
			return
		}
		c.near("run_ns", first[0][0], want["run_ns"].(float64))
		c.near("wait_ns", first[0][1], want["wait_ns"].(float64))
		c.near("slices", first[0][2], want["slices"].(float64))
	case string:
		c.n++
		if len(c.got.Threads) == 0 || c.got.Threads[len(c.got.Threads)-1].Comm != want {
			c.errorf("no task named %s", want)
		}
	case float64:
		c.near(key, c.procNumber(key), want)
	}
}

func (c *corpusCase) procNumber(key string) *float64 {
	n := 0.0
	switch key {
	case "tasks":
		n = float64(len(c.totals("voluntary")))
	case "rows":
		n = float64(len(c.schedstats()))
	case "slices_sum":
		for _, s := range c.schedstats() {
			n += *s[2]
		}
	case "system_ctxt_total":
		if len(c.got.System) != 1 {
			return nil
		}
		return c.got.System[0].Switches
	case "nr_switches":
		for _, t := range c.got.Threads {
			if t.Totals {
				return t.Switches
			}
		}
		return nil
	default:
		for _, v := range c.totals(key) {
			n += *v
		}
	}
	return &n
}

// totals are the counts since start that a key means, of all tasks.
func (c *corpusCase) totals(key string) []*float64 {
	var out []*float64
	for _, t := range c.got.Threads {
		v := t.VolTotal
		switch key {
		case "nonvoluntary", "nonvoluntary_sum", "status_nonvoluntary", "nr_involuntary_switches":
			v = t.InvolTotal
		}
		if t.Totals && v != nil {
			out = append(out, v)
		}
	}
	return out
}

func (c *corpusCase) schedstats() [][3]*float64 {
	var out [][3]*float64
	for _, t := range c.got.Threads {
		if s := t.Schedstat; s != nil {
			out = append(out, [3]*float64{s.RunNS, s.WaitNS, s.Slices})
		}
	}
	return out
}

// machine compares a value of vmstat: its rows, or its totals.
func (c *corpusCase) machine(key string, v any) {
	var rates []float64
	for _, s := range c.got.System {
		rates = append(rates, s.Rates...)
	}
	switch key {
	case "rows", "vmstat_rows":
		n := float64(len(rates))
		c.near(key, &n, v.(float64))
	case "cs", "vmstat_cs":
		for i, w := range v.([]any) { // of many rows the index lists the first
			if i >= len(rates) {
				c.n++
				c.errorf("%d rows, want %v", len(rates), v)
				return
			}
			c.near(key, &rates[i], w.(float64))
		}
	case "total_context_switches":
		if len(c.got.System) != 1 {
			c.n++
			c.errorf("%d rows of totals", len(c.got.System))
			return
		}
		c.near(key, c.got.System[0].Switches, v.(float64))
	}
}

// sar compares a value of sar -w.
func (c *corpusCase) sar(key string, v any) {
	if len(c.got.System) != 1 || len(c.got.System[0].Rates) == 0 || len(c.got.System[0].Samples) != len(c.got.System[0].Rates) {
		c.n++
		c.errorf("%s: %d captures", key, len(c.got.System))
		return
	}
	s := &c.got.System[0]
	switch key {
	case "rows":
		n := float64(len(s.Rates))
		c.near(key, &n, v.(float64))
	case "cswch_s":
		for i, w := range v.([]any) {
			c.near(key, &s.Rates[i], w.(float64))
		}
	case "proc_s":
		for i, w := range v.([]any) {
			c.near(key, s.Samples[i].Forks, w.(float64))
		}
	case "first_cswch_s":
		c.near(key, &s.Rates[0], v.(float64))
	case "first_proc_s":
		c.near(key, s.Samples[0].Forks, v.(float64))
	case "max_cswch_s":
		m := slices.Max(s.Rates)
		c.near(key, &m, v.(float64))
	case "avg_cswch_s":
		c.near(key, s.Average, v.(float64))
	case "avg_proc_s":
		c.near(key, s.Forks, v.(float64))
	}
}
