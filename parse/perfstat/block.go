package perfstat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// style is how a block was printed.
type style uint8

const (
	styleText style = iota
	styleCSV
	styleJSON
)

var styleNames = [...]string{"text", "CSV", "JSON"}

// part is one row group of an aggregation.
type part struct {
	agg    string // evidence.CounterBlock.Aggregation
	name   string // as printed
	cgroup string // of an aggregation inside cgroups
}

// cell is one counter as it was printed.
type cell struct {
	line   int
	time   float64 // end of the interval, seconds, when timed
	timed  bool
	part   *part // nil without aggregation
	ev     *event
	value  string // as printed; "" when not counted
	unit   string
	status evidence.Status
	runPct evidence.Opt[float64]
	devPct evidence.Opt[float64]
	cpus   string // the "CPUs utilized" behind a clock, as printed; "" for none
}

// block is a result of perf stat while it is being read.
type block struct {
	style   style
	line    int
	header  bool
	cut     bool // the header has no end
	scope   string
	command string // the command line that stands before it
	closed  bool   // its elapsed time was printed

	headerGap      gap  // what stood between the block before and this one
	lostSeparators bool // a value holds a question mark for a separator

	cells   []cell // all but intervals
	timed   []cell // rows of -I
	summary bool   // cells sum up timed

	elapsed     evidence.Opt[float64]
	elapsedLine int
	user        evidence.Opt[float64]
	sys         evidence.Opt[float64]
	runs        int
	votes       votes
}

func (b *block) empty() bool { return len(b.cells) == 0 && len(b.timed) == 0 }

// resolved is a cell with its value.
type resolved struct {
	*cell
	counter evidence.Counter
}

var errCount = errors.New("the value is no readable number")

// counter makes the evidence of a cell.
func (c *cell) counter(st style, decimal byte) (evidence.Counter, error) {
	out := evidence.Counter{
		Event: c.ev.name, PMU: c.ev.pmu, Modifier: c.ev.mod,
		Unit: c.unit, Status: c.status, RunningPct: c.runPct, StdDevPct: c.devPct,
		Pos: evidence.Pos{Line: c.line},
	}
	if c.ev.unit != "" && out.Unit == "" {
		out.Unit = c.ev.unit
	}
	if c.status == evidence.StatusCounted {
		v, fraction, err := parseNumber(c.value, c.kind(st), decimal)
		if err != nil {
			return out, fmt.Errorf("%s: %q: %w", c.ev.raw, c.value, errCount)
		}
		out.Value = v
		if isClock(out.Event) {
			if out.Value, err = clockMS(v, out.Unit, fraction && st != styleJSON); err != nil {
				return out, err
			}
		}
		if c.ev.unmeasurable() {
			out.Status = evidence.StatusUnmeasurable
		}
	}
	if isClock(out.Event) {
		out.Unit = "msec"
	}
	if n, _, err := parseNumber(c.cpus, kindDecimal, decimal); err == nil && c.cpus != "" {
		out.Metric, out.MetricUnit = evidence.Some(n), "CPUs utilized"
	}
	return out, nil
}

func (c *cell) kind(st style) numberKind {
	switch {
	case st != styleText:
		return kindDecimal
	case c.unit == "" && c.ev.unit == "" && !isClock(c.ev.name), c.unit == "ns":
		return kindCount
	}
	return kindScaled
}

// clockMS normalises a clock to milliseconds. Without a unit, perf prints
// milliseconds with decimals (until 3.14) or whole nanoseconds (since 6.19; in
// JSON, which prints all values with decimals, always).
func clockMS(v float64, unit string, fraction bool) (float64, error) {
	switch unit {
	case "msec":
		return v, nil
	case "":
		if fraction || v == 0 {
			return v, nil
		}
		return v / 1e6, nil
	case "ns":
		return v / 1e6, nil
	case "usec":
		return v / 1e3, nil
	case "sec":
		return v * 1e3, nil
	}
	return 0, fmt.Errorf("clock in an unknown unit %q", unit)
}

// evidence turns the block into the model. drop is called for cells that have
// no readable value.
func (b *block) evidence(drop func(line int, err error)) evidence.CounterBlock {
	decimal := b.votes.decimal()
	resolve := func(cells []cell) []resolved {
		out := make([]resolved, 0, len(cells))
		for i := range cells {
			c, err := cells[i].counter(b.style, decimal)
			if err != nil {
				drop(cells[i].line, err)
				continue
			}
			out = append(out, resolved{&cells[i], c})
		}
		return out
	}
	main, timed := resolve(b.cells), resolve(b.timed)
	mergePMUs(main, timed)
	out := evidence.CounterBlock{
		Pos: evidence.Pos{Line: b.line}, Scope: b.scope, Runs: b.runs,
		ElapsedS: b.elapsed, ElapsedLine: b.elapsedLine, UserS: b.user, SysS: b.sys,
	}
	out.Intervals = intervals(timed)
	if len(main) == 0 {
		main = timed
	}
	if !out.ElapsedS.OK {
		out.ElapsedS = lastTime(out.Intervals)
	}
	out.Aggregation, out.Parts = parts(main)
	out.Counters = new(summer).total(main, out.Aggregation, out.Parts)
	out.Target = target(b.scope, b.command)
	if out.Aggregation == "cgroup" {
		out.Target = evidence.Target{Kind: evidence.TargetCgroup, Name: cgroupNames(out.Parts)}
	}
	return out
}

// mergePMUs drops the PMU of events where only one PMU counts: "cpu/cycles/"
// beside no other cycles is plain cycles. The two kinds of cores of a hybrid
// machine keep theirs, even alone: each saw a part of the work only.
func mergePMUs(lists ...[]resolved) {
	pmus := map[string]bool{}
	for _, list := range lists {
		for i := range list {
			pmus[list[i].counter.PMU] = true
		}
	}
	delete(pmus, "")
	if len(pmus) != 1 || pmus["cpu_core"] || pmus["cpu_atom"] {
		return
	}
	for _, list := range lists {
		for i := range list {
			list[i].counter.PMU = ""
		}
	}
}

// counterSet collects counters by event, in order of appearance.
type counterSet struct {
	list  []evidence.Counter
	index map[counterKey]int // only of large sets
	n     []int              // how many counted rows are summed in each
	pct   []float64          // the sum of their running shares
}

type counterKey struct{ event, pmu, mod string }

func keyOf(c *evidence.Counter) counterKey { return counterKey{c.Event, c.PMU, c.Modifier} }

// smallSet is how many counters are found faster by looking at each.
const smallSet = 16

// find returns the index of the counter of the same event.
func (s *counterSet) find(c *evidence.Counter) (int, bool) {
	if s.index != nil {
		i, have := s.index[keyOf(c)]
		return i, have
	}
	for i := range s.list {
		if h := &s.list[i]; h.Event == c.Event && h.PMU == c.PMU && h.Modifier == c.Modifier {
			return i, true
		}
	}
	return 0, false
}

// add appends a counter that find does not know.
func (s *counterSet) add(c *evidence.Counter) int {
	s.list = append(s.list, *c)
	n := len(s.list)
	switch {
	case s.index != nil:
		s.index[keyOf(c)] = n - 1
	case n > smallSet:
		s.index = make(map[counterKey]int, 2*n)
		for i := range s.list {
			s.index[keyOf(&s.list[i])] = i
		}
	}
	return n - 1
}

// reset empties the set.
func (s *counterSet) reset() {
	s.list = s.list[:0]
	s.index = nil
}

// start begins another list, about as long as the last one, which was given
// away.
func (s *counterSet) start() {
	s.list = make([]evidence.Counter, 0, len(s.list))
	s.index = nil
	s.n, s.pct = s.n[:0], s.pct[:0]
}

// once adds a counter unless its event is there: several rows of one event in
// one group are aliases or repetitions. A counted one replaces one that was
// not.
func (s *counterSet) once(c *evidence.Counter) bool {
	i, have := s.find(c)
	if have {
		if s.list[i].Status == evidence.StatusNotCounted || s.list[i].Status == evidence.StatusNotSupported {
			if c.Status == evidence.StatusCounted {
				s.list[i] = *c
				return true
			}
		}
		return false
	}
	s.add(c)
	return true
}

// sum adds the counter's value to those of the same event.
func (s *counterSet) sum(c *evidence.Counter) {
	i, have := s.find(c)
	if !have {
		i = s.add(c)
		s.n = append(s.n, 0)
		s.pct = append(s.pct, 0)
		s.list[i].Value = 0
	}
	at := &s.list[i]
	if c.Status == evidence.StatusCounted {
		at.Status = evidence.StatusCounted
		at.Value += c.Value
		s.n[i]++
		s.pct[i] += c.RunningPct.Or(100)
	}
	if have {
		at.StdDevPct = evidence.Opt[float64]{}
	}
	at.RunningPct = evidence.Opt[float64]{}
	if s.n[i] > 0 && s.pct[i] < 100*float64(s.n[i]) {
		at.RunningPct = evidence.Some(s.pct[i] / float64(s.n[i]))
	}
}

// intervals groups timed cells by their time; the parts of an aggregation are
// summed within each.
func intervals(cells []resolved) []evidence.CounterPart {
	var out []evidence.CounterPart
	var sums summer
	for i := 0; i < len(cells); {
		end := cells[i].time
		j := i
		for j < len(cells) && cells[j].time == end {
			j++
		}
		agg, ps := parts(cells[i:j])
		out = append(out, evidence.CounterPart{
			Name: strconv.FormatFloat(end, 'f', 9, 64), EndS: evidence.Some(end),
			Counters: sums.total(cells[i:j], agg, ps), Pos: evidence.Pos{Line: cells[i].line},
		})
		i = j
	}
	return out
}

// lastTime is the time that intervals cover. A capture whose beginning was cut
// off begins with a later interval than the first.
func lastTime(in []evidence.CounterPart) evidence.Opt[float64] {
	if len(in) == 0 {
		return evidence.Opt[float64]{}
	}
	first, last := in[0].EndS.V, in[len(in)-1].EndS.V
	if len(in) > 1 {
		if step := in[1].EndS.V - first; step > 0 && first > 1.5*step {
			return evidence.Some(last - first + step)
		}
	}
	return evidence.Some(last)
}

// parts groups cells by their part; without aggregation there are none. Over
// several intervals each part is a sum.
func parts(cells []resolved) (aggregation string, out []evidence.CounterPart) {
	type group struct {
		part evidence.CounterPart
		time float64
		seen counterSet // of the current interval
		sum  counterSet
	}
	var index map[part]*group
	var order []*group
	for i := range cells {
		c := &cells[i]
		if c.part == nil {
			continue
		}
		g := index[*c.part]
		if g == nil {
			if index == nil {
				index = map[part]*group{}
			}
			g = &group{part: c.part.evidence(c.line), time: c.time}
			index[*c.part] = g
			order = append(order, g)
			if aggregation == "" {
				aggregation = c.part.agg
			}
		}
		if c.time != g.time {
			g.seen.reset()
			g.time = c.time
		}
		if g.seen.once(&c.counter) {
			g.sum.sum(&c.counter)
		}
	}
	for _, g := range order {
		g.part.Counters = g.sum.list
		out = append(out, g.part)
	}
	return aggregation, out
}

// summer sums the cells of one interval after the other.
type summer struct{ sum, seen counterSet }

// total sums the parts, or takes the cells themselves where there are none.
// Control groups inside others of the same block are in those already.
func (s *summer) total(cells []resolved, aggregation string, ps []evidence.CounterPart) []evidence.Counter {
	s.sum.start()
	s.seen.reset()
	var nested map[string]bool
	if aggregation == "cgroup" {
		nested = nestedGroups(ps)
	}
	for i := range ps {
		if nested[ps[i].Name] {
			continue
		}
		for j := range ps[i].Counters {
			s.sum.sum(&ps[i].Counters[j])
		}
	}
	last := 0.0
	for i := range cells {
		c := &cells[i]
		if c.part != nil {
			continue
		}
		if c.time != last {
			s.seen.reset()
			last = c.time
		}
		if s.seen.once(&c.counter) {
			s.sum.sum(&c.counter)
		}
	}
	return s.sum.list
}

// nestedGroups returns the control groups that lie within others of the list.
func nestedGroups(ps []evidence.CounterPart) map[string]bool {
	all := make(map[string]bool, len(ps))
	for i := range ps {
		all[ps[i].Name] = true
	}
	nested := map[string]bool{}
	for name := range all {
		for up := name; up != "" && up != "/"; {
			i := strings.LastIndexByte(up, '/')
			if i < 0 {
				break
			}
			up = up[:i]
			if all[up] && up != "" || up == "" && all["/"] {
				nested[name] = true
				break
			}
		}
	}
	return nested
}

// evidence makes the model's part, with the task or CPU that its name says.
func (p *part) evidence(line int) evidence.CounterPart {
	out := evidence.CounterPart{Name: p.name, Pos: evidence.Pos{Line: line}}
	switch p.agg {
	case "cpu":
		if n, err := strconv.Atoi(strings.TrimPrefix(p.name, "CPU")); err == nil && n >= 0 {
			out.CPU = evidence.Some(n)
		}
	case "thread":
		out.Task = taskOf(p.name)
	}
	if p.cgroup != "" && p.agg != "cgroup" {
		out.Name += " " + p.cgroup
	}
	return out
}

// taskOf reads "comm-tid". The comm may hold dashes.
func taskOf(name string) evidence.Task {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return evidence.Task{Comm: name}
	}
	tid, err := strconv.Atoi(name[i+1:])
	if err != nil {
		return evidence.Task{Comm: name}
	}
	return evidence.Task{TID: tid, Comm: name[:i]}
}

func cgroupNames(ps []evidence.CounterPart) string {
	names := make([]string, len(ps))
	for i := range ps {
		names[i] = ps[i].Name
	}
	return strings.Join(names, ",")
}
