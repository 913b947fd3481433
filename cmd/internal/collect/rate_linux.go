package collect

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// What tracing a switch costs the traced task, about: measured as the slowdown
// of a ping-pong between threads (BenchmarkOverhead).
const (
	costStacks   = 4.5e-6 // s
	costNoStacks = 0.7e-6
)

// chooseRate decides which of how many switches are recorded, for the overhead
// to stay below the limit, from what /proc counts of the target for a moment.
func (s *measurement) chooseRate() {
	if s.opt.OverheadLimit <= 0 || s.target.kind == ofCommand {
		return
	}
	const look = 200 * time.Millisecond
	n0, cpu0 := s.usage()
	at := time.Now()
	time.Sleep(look)
	n1, cpu1 := s.usage()
	dt := time.Since(at).Seconds()
	cost := costStacks
	if s.opt.NoStacks {
		cost = costNoStacks
	}
	s.every = every((n1-n0)/dt, (cpu1-cpu0)/dt, cost, s.opt.OverheadLimit)
	if s.every > 1 {
		s.note("one switch in %d is recorded (%.0f/s, about %.1f µs each, limit %g %% of the target's CPU time): counts are scaled up by it, and there are no waits",
			s.every, (n1-n0)/dt, cost*1e6, s.opt.OverheadLimit)
	}
}

// every returns N of the 1 in N switches that keep the cost of tracing below
// a percentage of the CPU time used.
func every(perS, cpus, cost, limitPct float64) uint64 {
	if perS <= 0 || cpus <= 0 {
		return 1
	}
	return uint64(max(1, math.Ceil(perS*cost/(cpus*limitPct/100))))
}

// usage returns switches and CPU seconds of the target so far.
func (s *measurement) usage() (switches, cpu float64) {
	for _, f := range s.target.takeSnapshot().tasks {
		for _, name := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			n, err := strconv.ParseFloat(fieldOf(f.status, name), 64)
			if err == nil {
				switches += n
			}
		}
		if w := strings.Fields(string(f.schedstat)); len(w) == 3 {
			ns, err := strconv.ParseFloat(w[0], 64)
			if err == nil {
				cpu += ns / 1e9
			}
		}
	}
	return switches, cpu
}
