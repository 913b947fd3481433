package report

import (
	"io"

	"ctxan/parse/evidence"
)

// EvidenceSchema names the format of [InspectJSON].
const EvidenceSchema = "ctxan.evidence/v1"

// InspectJSON writes what was understood from the inputs, before any analysis.
// The JSON Schema is [Schema]("evidence"). Absent is null, never 0: a counter
// has a value only when it was counted.
func InspectJSON(w io.Writer, s *evidence.Set) error {
	stacks := make([]object, 0, len(s.Stacks)+len(s.Profiles))
	for i := range s.Stacks {
		stacks = append(stacks, stackObject(&s.Stacks[i]))
	}
	for i := range s.Profiles {
		stacks = append(stacks, profileObject(&s.Profiles[i]))
	}
	return writeJSON(w, object{
		{"schema", EvidenceSchema},
		{"sources", each(s.Sources, func(x **evidence.Source) object { return sourceObject(*x) })},
		{"counters", each(s.Counters, blockObject)},
		{"threads", append(each(s.Threads, taskObject), threadCounts(s)...)},
		{"stacks", stacks},
		{"system", append(each(s.System, systemObject), machineCounts(s)...)},
		{"series", each(s.Series, seriesObject)},
		{"traces", each(s.Traces, traceObject)},
		{"cpus", each(s.CPUs, cpuObject)},
		{"histograms", each(s.Histograms, histObject)},
		{"waits", each(s.Waits, waitObject)},
		{"readings", each(s.Readings, readingObject)},
		{"settings", each(s.Settings, func(x *evidence.Setting) object {
			return append(at(x.Pos), field{"name", x.Name}, field{"value", x.Value})
		})},
	})
}

func each[T any](list []T, f func(*T) object) []object {
	out := make([]object, len(list))
	for i := range list {
		out[i] = f(&list[i])
	}
	return out
}

// at gives the keys of a position: the source, and the line or the offset.
func at(p evidence.Pos) object {
	return object{{"source", p.Source}, {"line", evidence.Opt[int]{V: p.Line, OK: p.Line > 0}}, {"offset", evidence.Opt[int64]{V: p.Offset, OK: p.Offset > 0}}}
}

func sourceObject(s *evidence.Source) object {
	return object{
		{"id", s.ID}, {"name", s.Name}, {"format", s.Format}, {"variant", orNull(s.Variant)}, {"tool", orNull(s.Tool)},
		{"command", orNull(s.Command)}, {"sha256", orNull(s.SHA256)}, {"host", hostObject(s.Host)},
		{"window", object{{"duration_s", s.Window.DurationS}, {"start_ns", s.Window.StartNS}, {"end_ns", s.Window.EndNS}, {"date", orNull(s.Window.Date)}}},
		{"target", targetObject(s.Target)},
		{"loss", object{{"lost_records", s.Loss.LostRecords}, {"lost_samples", s.Loss.LostSamples}, {"chain_breaks", s.Loss.ChainBreaks}, {"truncated", s.Loss.Truncated}}},
		{"dropped", each(s.Dropped, droppedObject)}, {"dropped_total", s.DroppedTotal}, {"warnings", s.Warnings}, {"notes", s.Notes},
	}
}

func targetObject(t evidence.Target) object {
	return object{{"kind", t.Kind.String()}, {"ids", t.IDs}, {"name", orNull(t.Name)}}
}

func droppedObject(d *evidence.Dropped) object {
	return object{{"line", evidence.Opt[int]{V: d.Line, OK: d.Line > 0}}, {"offset", evidence.Opt[int64]{V: d.Offset, OK: d.Line == 0}}, {"error", d.Err}}
}

func blockObject(b *evidence.CounterBlock) object {
	return append(at(b.Pos),
		field{"scope", b.Scope}, field{"target", targetObject(b.Target)},
		field{"elapsed_s", b.ElapsedS}, field{"user_s", b.UserS}, field{"sys_s", b.SysS},
		field{"runs", evidence.Opt[int]{V: b.Runs, OK: b.Runs > 0}},
		field{"events", eventsObject(b.Counters)},
		field{"aggregation", orNull(b.Aggregation)},
		field{"parts", each(b.Parts, partObject)}, field{"intervals", each(b.Intervals, partObject)})
}

func partObject(p *evidence.CounterPart) object {
	return append(at(p.Pos),
		field{"name", p.Name}, field{"tid", evidence.Opt[int]{V: p.Task.TID, OK: p.Task.TID != 0}}, field{"pid", evidence.Opt[int]{V: p.Task.PID, OK: p.Task.PID != 0}},
		field{"comm", orNull(p.Task.Comm)}, field{"cpu", p.CPU}, field{"end_s", p.EndS}, field{"events", eventsObject(p.Counters)})
}

// eventsObject are the counters of a block by name. Of two with one name the
// first that was counted stands: they are one event, and not added up.
func eventsObject(cs []evidence.Counter) object {
	o := object{}
	at := map[string]int{}
	for i := range cs {
		c := &cs[i]
		key := c.Key()
		k, seen := at[key]
		switch {
		case !seen:
			at[key] = i
			o = append(o, field{key: key})
		case cs[k].Status != evidence.StatusCounted && c.Status == evidence.StatusCounted:
			at[key] = i
		}
	}
	for i := range o {
		o[i].value = counterObject(&cs[at[o[i].key]])
	}
	return o
}

func counterObject(c *evidence.Counter) object {
	counted := c.Status == evidence.StatusCounted
	o := object{{"value", evidence.Opt[float64]{V: c.Value, OK: counted}}, {"unit", c.Unit}, {"status", c.Status.String()}}
	if c.Status == evidence.StatusUnmeasurable {
		o = append(o, field{"printed", c.Value})
	}
	return append(o, field{"running_pct", c.RunningPct}, field{"stddev_pct", c.StdDevPct},
		field{"metric", c.Metric}, field{"metric_unit", orNull(c.MetricUnit)},
		field{"line", evidence.Opt[int]{V: c.Pos.Line, OK: c.Pos.Line > 0}})
}

func taskObject(t *evidence.TaskStats) object {
	o := append(at(t.Pos),
		field{"tid", t.Task.TID}, field{"pid", t.Task.PID}, field{"comm", t.Task.Comm},
		field{"process", t.Process}, field{"average", t.Average}, field{"kernel", t.Kernel},
		field{"voluntary", t.Voluntary}, field{"involuntary", t.Involuntary},
		field{"voluntary_per_s", t.VoluntaryPerS}, field{"involuntary_per_s", t.InvoluntaryPerS},
		field{"switches", t.Switches},
		field{"run_ns", t.RunNS}, field{"delay_ns", t.DelayNS}, field{"wait_ns", t.WaitNS},
		field{"sleep_ns", t.SleepNS}, field{"preempt_ns", t.PreemptNS}, field{"first_wait_ns", t.FirstWaitNS},
		field{"migrations", t.Migrations}, field{"wakeups", t.Wakeups})
	if t.States != nil {
		o = append(o, field{"states", named(t.States[:], func(i int) string { return evidence.State(i).String() })})
	}
	if t.WakeCtx != nil {
		o = append(o, field{"wake_contexts", named(t.WakeCtx[:], func(i int) string { return evidence.WakeContext(i).String() })})
	}
	if t.Kinds != nil {
		o = append(o, field{"kinds", named(t.Kinds[:], func(i int) string { return evidence.SwitchKind(i).String() })})
	}
	if len(t.Wakers) > 0 {
		o = append(o, field{"wakers", each(t.Wakers, wakerObject)})
	}
	if m, ok := t.MaxDelay.Get(); ok {
		o = append(o, field{"max_delay", object{{"at_ns", m.AtNS}, {"ns", m.NS}, {"instead_tid", m.Instead.TID}, {"instead_comm", m.Instead.Comm}}})
	}
	return o
}

// named are the counts that are not 0, by name.
func named(n []uint64, name func(int) string) object {
	o := object{}
	for i, v := range n {
		if v > 0 {
			o = append(o, field{name(i), v})
		}
	}
	return o
}

func wakerObject(w *evidence.Waker) object {
	return object{{"tid", w.Task.TID}, {"comm", w.Task.Comm}, {"irq", w.IRQ}, {"count", w.Count}, {"delay_ns", w.DelayNS}}
}

// maxStackRows bounds the stacks that a table lists one by one.
const maxStackRows = 50

func stackObject(t *evidence.StackTable) object {
	sum := t.Sum()
	return append(at(t.Pos),
		field{"weight", t.Kind.String()}, field{"total", sum.Weight}, field{"samples", sum.Samples},
		field{"unresolved_pct", sum.UnresolvedPct}, field{"no_chain_pct", sum.NoChainPct},
		field{"event", t.Event}, field{"event_count", evidence.Opt[uint64]{}}, field{"first_overhead_pct", evidence.Opt[float64]{}},
		field{"sampled", t.Sampled}, field{"stacks", len(t.Stacks)}, field{"tasks", len(t.Tasks)},
		field{"rows", each(t.Heaviest(maxStackRows), chainObject)})
}

func chainObject(c *evidence.Chain) object {
	return object{{"frames", c.Frames}, {"weight", c.Weight}, {"samples", c.Samples}, {"pct", c.Pct}}
}

func profileObject(p *evidence.Profile) object {
	return append(at(p.Pos),
		field{"weight", p.Kind.String()}, field{"total", p.Total()}, field{"samples", p.Samples},
		field{"unresolved_pct", p.UnresolvedPct()}, field{"no_chain_pct", evidence.Opt[float64]{}},
		field{"event", p.Event}, field{"event_count", p.EventCount}, field{"first_overhead_pct", p.FirstOverheadPct()},
		field{"samples_printed", orNull(p.SamplesRaw)}, field{"lost", p.Lost}, field{"children", p.Children},
		field{"rows", each(p.Rows, profileRowObject)})
}

func profileRowObject(r *evidence.ProfileRow) object {
	return append(at(r.Pos),
		field{"symbol", r.Symbol}, field{"comm", orNull(r.Comm)}, field{"module", orNull(r.Module)}, field{"trace", orNull(r.Trace)}, field{"kernel", r.Kernel},
		field{"tid", evidence.Opt[int]{V: r.Task.TID, OK: r.Task.TID != 0}}, field{"pid", evidence.Opt[int]{V: r.Task.PID, OK: r.Task.PID != 0}},
		field{"overhead_pct", r.OverheadPct}, field{"children_pct", r.ChildrenPct}, field{"self_pct", r.SelfPct}, field{"samples", r.Samples},
		field{"chains", each(r.Chains, func(c *evidence.ProfileChain) object { return object{{"pct", c.Pct}, {"frames", c.Frames}} })})
}

func systemObject(r *evidence.SystemRate) object {
	o := append(at(r.Pos), field{"cpus", r.CPUs}, field{"switches_per_s", r.SwitchesPerS})
	if r.AveragePerS.OK {
		o = append(o, field{"average_per_s", r.AveragePerS}, field{"average_forks_per_s", r.AverageForks})
	}
	if len(r.Samples) > 0 {
		o = append(o, field{"samples", each(r.Samples, sampleObject)})
	}
	return o
}

func seriesObject(s *evidence.Series) object {
	return object{{"source", s.Source}, {"cpu", s.CPU}, {"start_ns", s.StartNS}, {"step_ns", s.StepNS}, {"switches", s.Switches}}
}

func histObject(h *evidence.TextHistogram) object {
	return append(at(h.Pos), field{"title", h.Title}, field{"unit", h.Unit}, field{"total", h.Total}, field{"buckets", h.Buckets})
}
