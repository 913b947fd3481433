package export

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/report"
)

// Pprof writes a profile for `go tool pprof`: switches, off-CPU time and
// scheduling delay by blocking stack, and CPU time by sampled stack, of all
// tasks. The samples' labels are thread, comm, pid, tid, state (as the task left
// the CPU) and trigger (what it waits for, or what took the CPU).
//
// Addresses are as recorded. Mappings name the objects and their build-ids and
// are marked as symbolized, so that pprof does not look addresses up again.
//
// Samples are written one after the other, and only what they share is kept: a
// profile of google/pprof's package holds every sample twice before it is
// written, which a hundred thousand stacks make hundreds of megabytes.
func Pprof(w io.Writer, set *evidence.Set) error {
	switches, cpu := stacksOf(set, evidence.StackSwitch), stacksOf(set, evidence.StackCPU)
	if switches == nil && cpu == nil {
		return errNoStacks
	}
	var weights []weight
	if switches != nil {
		weights = switches.switchWeights()
	}
	n := len(weights)
	if cpu != nil {
		weights = append(weights, cpu.cpuWeight())
	}
	b := newPprofBuilder(w)
	for _, k := range weights {
		b.out.valueType(profileSampleType, k.name, k.unit)
	}
	b.out.valueType(profilePeriodType, weights[0].name, weights[0].unit)
	b.out.number(profilePeriod, 1)
	b.out.number(profileDefaultType, b.out.text(weights[0].name))
	if switches != nil {
		b.add(switches, weights, 0, n)
	}
	if cpu != nil {
		b.add(cpu, weights, n, len(weights))
	}
	b.describe(set, switches, cpu)
	b.programFirst(switches, cpu)
	b.writeShared()
	return b.out.close()
}

// pprofBuilder makes one profile.
type pprofBuilder struct {
	out       *pprofWriter
	functions map[pprofFunction]uint64 // by what they are: ids
	mappings  map[mappingKey]*pprofMapping
	order     []*pprofMapping
	locations []pprofLocation // id 1 first
	funcs     []pprofFunction // id 1 first
	chain     []uint64
	values    []int64
}

type mappingKey struct{ file, buildID string }

// pprofMapping is an object that code lies in.
type pprofMapping struct {
	mappingKey
	id, start, limit uint64
}

// pprofFunction is a function, by strings of the profile.
type pprofFunction struct{ name, file uint64 }

// pprofLocation is an address with the functions inlined into each other there,
// the innermost first.
type pprofLocation struct {
	mapping, addr uint64
	lines         []pprofLine
}

type pprofLine struct {
	function uint64
	line     int64
}

func newPprofBuilder(w io.Writer) *pprofBuilder {
	return &pprofBuilder{out: newPprofWriter(w), functions: map[pprofFunction]uint64{}, mappings: map[mappingKey]*pprofMapping{}}
}

// add adds a table, whose weights are those from..to.
func (b *pprofBuilder) add(s *stacks, weights []weight, from, to int) {
	known := &locations{b: b, s: s, single: make([]uint64, len(s.Frames)), inlined: map[string]uint64{}, none: b.location(s, nil)}
	label := newLabels(b.out, s)
	b.values = make([]int64, len(weights))
	for i := range s.Samples {
		sm := &s.Samples[i]
		for k := from; k < to; k++ {
			b.values[k] = int64(weights[k].of(sm))
		}
		b.chain = known.chain(b.chain[:0], sm.Stack)
		b.out.sample(b.chain, b.values, label.of(sm, s.reasons[i]))
	}
}

// locations finds the location of the frames of one address.
type locations struct {
	b       *pprofBuilder
	s       *stacks
	single  []uint64          // by frame
	inlined map[string]uint64 // of several frames
	none    uint64            // of samples without a chain
	key     []byte
}

// chain appends the locations of a stack; a sample without any has one that says so.
func (l *locations) chain(ids []uint64, stack int32) []uint64 {
	if stack < 0 || len(l.s.Stacks[stack]) == 0 {
		return append(ids, l.none)
	}
	chain := l.s.Stacks[stack]
	for from := 0; from < len(chain); {
		to := from + 1
		for to < len(chain) && l.s.Frames[chain[to-1]].Inlined {
			to++
		}
		ids = append(ids, l.of(chain[from:to]))
		from = to
	}
	return ids
}

func (l *locations) of(ids []int32) uint64 {
	if len(ids) == 1 {
		loc := &l.single[ids[0]]
		if *loc == 0 {
			*loc = l.b.location(l.s, ids)
		}
		return *loc
	}
	l.key = l.key[:0]
	for _, id := range ids {
		l.key = append(strconv.AppendInt(l.key, int64(id), 36), ' ')
	}
	loc := l.inlined[string(l.key)]
	if loc == 0 {
		loc = l.b.location(l.s, ids)
		l.inlined[string(l.key)] = loc
	}
	return loc
}

// location makes the location of one address, and returns its id.
func (b *pprofBuilder) location(s *stacks, ids []int32) uint64 {
	loc := pprofLocation{lines: make([]pprofLine, 0, max(len(ids), 1))}
	if len(ids) == 0 {
		loc.lines = append(loc.lines, pprofLine{function: b.function(noChain, "")})
	}
	for _, id := range ids {
		f := &s.Frames[id]
		loc.lines = append(loc.lines, pprofLine{b.function(s.frames[id], report.Plain(f.File)), int64(f.Line)})
		loc.addr, loc.mapping = f.Addr, b.mapping(f, loc.mapping)
	}
	b.locations = append(b.locations, loc)
	return uint64(len(b.locations))
}

func (b *pprofBuilder) function(name, file string) uint64 {
	f := pprofFunction{b.out.text(name), b.out.text(file)}
	id := b.functions[f]
	if id == 0 {
		b.funcs = append(b.funcs, f)
		id = uint64(len(b.funcs))
		b.functions[f] = id
	}
	return id
}

// mapping is the object that a frame lies in, widened to have its address; old
// where the frame names none.
func (b *pprofBuilder) mapping(f *evidence.Frame, old uint64) uint64 {
	if f.Module == "" {
		return old
	}
	k := mappingKey{report.Plain(f.Module), f.BuildID}
	m := b.mappings[k]
	if m == nil {
		m = &pprofMapping{mappingKey: k, id: uint64(len(b.order) + 1), start: f.Addr, limit: f.Addr + 1}
		b.mappings[k] = m
		b.order = append(b.order, m)
	}
	m.start, m.limit = min(m.start, f.Addr), max(m.limit, f.Addr+1)
	return m.id
}

// programFirst puts the mapping of the program first, which pprof takes for what
// the profile is of; not in a profile of several processes.
func (b *pprofBuilder) programFirst(tables ...*stacks) {
	pid := 0
	for _, s := range tables {
		for i := 0; s != nil && i < len(s.Tasks); i++ {
			if pid != 0 && s.Tasks[i].PID != pid {
				return
			}
			pid = s.Tasks[i].PID
		}
	}
	rank := func(m *pprofMapping) int {
		switch {
		case strings.HasPrefix(m.file, "["):
			return 2
		case strings.Contains(m.file, ".so"):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(b.order, func(x, y *pprofMapping) int { return rank(x) - rank(y) })
}

// writeShared writes what the samples refer to.
func (b *pprofBuilder) writeShared() {
	for _, m := range b.order {
		b.out.mapping(m)
	}
	for i := range b.locations {
		b.out.location(uint64(i+1), &b.locations[i])
	}
	for i := range b.funcs {
		b.out.function(uint64(i+1), &b.funcs[i])
	}
	b.out.texts()
}

// describe writes the time and the origin of the profile.
func (b *pprofBuilder) describe(set *evidence.Set, tables ...*stacks) {
	timed := false
	for _, s := range tables {
		if s == nil {
			continue
		}
		src := set.Source(s.Pos.Source)
		if d, ok := src.Window.DurationS.Get(); ok && !timed {
			timed = true
			b.out.number(profileDuration, uint64(int64(d*1e9)))
		}
		b.out.comment(fmt.Sprintf("%s of %s", report.Plain(s.Event), report.Plain(src.Name)))
		if src.Command != "" {
			b.out.comment(report.Plain(src.Command))
		}
	}
}

// pprofLabel is a label of a sample, by strings of the profile.
type pprofLabel struct{ key, value uint64 }

// sampleLabels makes the labels of the samples of a table, in the order of their keys.
type sampleLabels struct {
	out  *pprofWriter
	s    *stacks
	task []taskLabels // by task, the last for none
	list []pprofLabel

	comm, pid, state, thread, tid, trigger uint64 // the keys
}

// taskLabels are the values of a task's labels; 0 for one that it has not.
type taskLabels struct{ comm, pid, thread, tid uint64 }

func newLabels(out *pprofWriter, s *stacks) *sampleLabels {
	l := &sampleLabels{out: out, s: s, task: make([]taskLabels, len(s.Tasks)+1), comm: out.text("comm"), pid: out.text("pid"),
		state: out.text("state"), thread: out.text("thread"), tid: out.text("tid"), trigger: out.text("trigger")}
	for i := range s.Tasks {
		l.task[i] = l.ofTask(s.Tasks[i])
	}
	l.task[len(s.Tasks)] = l.ofTask(evidence.Task{})
	return l
}

func (l *sampleLabels) ofTask(t evidence.Task) taskLabels {
	x := taskLabels{comm: l.out.text(commName(t))}
	if t.TID > 0 {
		tid := strconv.Itoa(t.TID)
		x.tid, x.thread = l.out.text(tid), l.out.text(commName(t)+"-"+tid)
	}
	if t.PID > 0 {
		x.pid = l.out.text(strconv.Itoa(t.PID))
	}
	return x
}

// of returns the labels of a sample. They hold until the next call.
func (l *sampleLabels) of(sm *evidence.StackSample, reason string) []pprofLabel {
	task := &l.task[len(l.s.Tasks)]
	if sm.Task >= 0 {
		task = &l.task[sm.Task]
	}
	var state, trigger uint64
	if sm.State != evidence.StateUnknown {
		state = l.out.text(sm.State.String())
	}
	if reason != "" {
		trigger = l.out.text(reason)
	}
	l.list = l.list[:0]
	for _, x := range [...]pprofLabel{{l.comm, task.comm}, {l.pid, task.pid}, {l.state, state}, {l.thread, task.thread}, {l.tid, task.tid}, {l.trigger, trigger}} {
		if x.value != 0 {
			l.list = append(l.list, x)
		}
	}
	return l.list
}
