package perfdata

import (
	"fmt"
	"slices"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
)

// stat gathers the counts of a file made by perf stat record.
//
// A STAT record has the count of an event on a CPU for a thread since the
// start, so the last one holds: id u64, cpu u32, thread u32, val, enabled,
// running u64 (perf_event__synthesize_stat in tools/perf/util/synthetic-events.c).
// STAT_ROUND has the time since the start: type u64, time u64.
type stat struct {
	counts  map[statKey]statCount
	elapsed uint64
	off     int64 // of the first record
}

// statValue are the options of perf stat that take a value as a word of its own.
//
// Source: stat_options in the kernel's tools/perf/builtin-stat.c.
var statValue = map[string]bool{
	"-e": true, "--event": true, "--filter": true, "-p": true, "--pid": true, "-t": true, "--tid": true, "-C": true, "--cpu": true,
	"-r": true, "--repeat": true, "-x": true, "--field-separator": true, "-G": true, "--cgroup": true, "--for-each-cgroup": true,
	"-o": true, "--output": true, "--log-fd": true, "--pre": true, "--post": true, "-I": true, "--interval-print": true,
	"--interval-count": true, "--timeout": true, "-D": true, "--delay": true, "-M": true, "--metrics": true, "--td-level": true,
	"--control": true, "--cputype": true, "-b": true, "--bpf-prog": true,
}

type statKey struct {
	event       *event
	cpu, thread int32
}

type statCount struct{ val, enabled, running uint64 }

// maxStatCounts bounds the counts: events times CPUs times threads.
const maxStatCounts = 1 << 18

func (s *stat) record(typ wire.Type, rec []byte, sc *schema, c *capture, off int64) {
	r := &wire.Reader{B: rec, At: wire.HeaderSize, Order: c.order}
	if typ == wire.RecStatRound {
		r.U64()
		if t := r.U64(); r.Err == nil {
			s.elapsed = max(s.elapsed, t)
		}
		return
	}
	id, key := r.U64(), statKey{cpu: int32(r.U32()), thread: int32(r.U32())}
	n := statCount{r.U64(), r.U64(), r.U64()}
	if key.event = sc.eventByID(id); sc.only != nil {
		key.event = sc.only
	}
	if r.Err != nil || key.event == nil || len(s.counts) >= maxStatCounts {
		return
	}
	if s.counts == nil {
		s.counts, s.off = map[statKey]statCount{}, off
	}
	s.counts[key] = n
}

// block sums the counts up to a block as perf stat prints one.
func (s *stat) block(r *reader) (evidence.CounterBlock, bool) {
	if len(s.counts) == 0 {
		return evidence.CounterBlock{}, false
	}
	b := evidence.CounterBlock{Pos: evidence.Pos{Offset: s.off}, Scope: scopeOf(r.target), Target: r.target}
	if s.elapsed > 0 {
		b.ElapsedS = evidence.Some(float64(s.elapsed) / 1e9)
	}
	for _, e := range r.schema.events {
		var sum statCount
		seen := false
		for k, n := range s.counts {
			if k.event == e {
				seen = true
				sum.val, sum.enabled, sum.running = sum.val+n.val, sum.enabled+n.enabled, sum.running+n.running
			}
		}
		if seen {
			c := counterOf(e, sum)
			c.Pos = b.Pos
			b.Counters = append(b.Counters, c)
		}
	}
	return b, true
}

// counterOf scales a count to the time that the event was enabled, as perf does.
func counterOf(e *event, n statCount) evidence.Counter {
	c := evidence.Counter{Event: e.info.Name, Value: float64(n.val)}
	if name, mod, ok := cutModifier(c.Event); ok {
		c.Event, c.Modifier = name, mod
	}
	switch {
	case n.running == 0:
		c.Status, c.Value = evidence.StatusNotCounted, 0
	case n.running < n.enabled:
		c.Value *= float64(n.enabled) / float64(n.running)
		c.RunningPct = evidence.Some(100 * float64(n.running) / float64(n.enabled))
	}
	if e.attr.Type != wire.TypeSoftware {
		return c
	}
	switch e.attr.Config {
	case wire.SWCPUClock, wire.SWTaskClock:
		c.Value, c.Unit = c.Value/1e6, "msec"
	case wire.SWContextSwitches, wire.SWMigrations:
		if e.attr.Has(wire.FlagExcludeKernel) && c.Status == evidence.StatusCounted {
			c.Status = evidence.StatusUnmeasurable
		}
	}
	return c
}

// cutModifier splits "cycles:u".
func cutModifier(name string) (string, string, bool) {
	i := strings.LastIndexByte(name, ':')
	if i <= 0 || i == len(name)-1 || strings.Trim(name[i+1:], "ukhGHpPSDIWe") != "" {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// scopeOf names a target the way perf stat does.
func scopeOf(t evidence.Target) string {
	ids := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(t.IDs)), ","), "[]")
	switch t.Kind {
	case evidence.TargetProcess:
		return "process id '" + ids + "'"
	case evidence.TargetThread:
		return "thread id '" + ids + "'"
	case evidence.TargetCPU:
		return "'CPU(s) " + ids + "'"
	case evidence.TargetCommand:
		return "'" + t.Name + "'"
	}
	return "'system wide'"
}

// everyCPU reports whether the recording covers all CPUs that the machine had
// online, as far as the file tells.
func (r *reader) everyCPU() bool {
	if r.target.Kind == evidence.TargetCPU {
		online, ok := r.host.CPUs.Get()
		return ok && len(slices.Compact(slices.Sorted(slices.Values(r.target.IDs)))) >= online
	}
	return true
}
