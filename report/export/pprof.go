package export

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

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
func Pprof(w io.Writer, set *evidence.Set) error {
	b := &pprofBuilder{functions: map[functionKey]*profile.Function{}, mappings: map[mappingKey]*profile.Mapping{},
		labels: map[labelKey]map[string][]string{}}
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
	for _, k := range weights {
		b.p.SampleType = append(b.p.SampleType, &profile.ValueType{Type: k.name, Unit: k.unit})
	}
	b.p.DefaultSampleType = weights[0].name
	b.p.PeriodType, b.p.Period = b.p.SampleType[0], 1
	if switches != nil {
		b.add(switches, weights, 0, n)
	}
	if cpu != nil {
		b.add(cpu, weights, n, len(weights))
	}
	b.describe(set, switches, cpu)
	b.programFirst(switches, cpu)
	if err := b.p.CheckValid(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	z := gzip.NewWriter(w)
	if err := b.p.WriteUncompressed(z); err != nil {
		return err
	}
	return z.Close()
}

// pprofBuilder makes one profile.
type pprofBuilder struct {
	p         profile.Profile
	functions map[functionKey]*profile.Function
	mappings  map[mappingKey]*profile.Mapping
	labels    map[labelKey]map[string][]string
}

type functionKey struct{ name, file string }

type mappingKey struct{ file, buildID string }

type labelKey struct {
	task   evidence.Task
	state  evidence.State
	reason string
}

// add adds a table, whose weights are those from..to.
func (b *pprofBuilder) add(s *stacks, weights []weight, from, to int) {
	chains := b.chains(s)
	for i := range s.Samples {
		sm := &s.Samples[i]
		values := make([]int64, len(weights))
		for k := from; k < to; k++ {
			values[k] = int64(weights[k].of(sm))
		}
		b.p.Sample = append(b.p.Sample, &profile.Sample{Location: chains[sm.Stack+1], Value: values,
			Label: b.label(labelKey{s.task(sm), sm.State, s.reasons[i]})})
	}
}

// chains makes the locations of every stack; chain 0 is of samples without any.
func (b *pprofBuilder) chains(s *stacks) [][]*profile.Location {
	known := &locations{b: b, s: s, single: make([]*profile.Location, len(s.Frames)), inlined: map[string]*profile.Location{}}
	out := make([][]*profile.Location, len(s.Stacks)+1)
	out[0] = []*profile.Location{b.location(s, nil)}
	for i, chain := range s.Stacks {
		if len(chain) == 0 {
			out[i+1] = out[0]
			continue
		}
		locs := make([]*profile.Location, 0, len(chain))
		for from := 0; from < len(chain); {
			to := from + 1
			for to < len(chain) && s.Frames[chain[to-1]].Inlined {
				to++
			}
			locs = append(locs, known.of(chain[from:to]))
			from = to
		}
		out[i+1] = locs
	}
	return out
}

// locations finds the location of the frames of one address.
type locations struct {
	b       *pprofBuilder
	s       *stacks
	single  []*profile.Location          // by frame
	inlined map[string]*profile.Location // of several frames
	key     []byte
}

func (l *locations) of(ids []int32) *profile.Location {
	if len(ids) == 1 {
		loc := &l.single[ids[0]]
		if *loc == nil {
			*loc = l.b.location(l.s, ids)
		}
		return *loc
	}
	l.key = l.key[:0]
	for _, id := range ids {
		l.key = append(strconv.AppendInt(l.key, int64(id), 36), ' ')
	}
	loc := l.inlined[string(l.key)]
	if loc == nil {
		loc = l.b.location(l.s, ids)
		l.inlined[string(l.key)] = loc
	}
	return loc
}

// location makes the location of one address: the frames inlined into each
// other there, the innermost first.
func (b *pprofBuilder) location(s *stacks, ids []int32) *profile.Location {
	loc := &profile.Location{ID: uint64(len(b.p.Location) + 1)}
	b.p.Location = append(b.p.Location, loc)
	if len(ids) == 0 {
		loc.Line = []profile.Line{{Function: b.function(noChain, "")}}
		return loc
	}
	for _, id := range ids {
		f := &s.Frames[id]
		loc.Line = append(loc.Line, profile.Line{Function: b.function(s.frames[id], report.Plain(f.File)), Line: int64(f.Line)})
		loc.Address, loc.Mapping = f.Addr, b.mapping(f, loc.Mapping)
	}
	return loc
}

func (b *pprofBuilder) function(name, file string) *profile.Function {
	f := b.functions[functionKey{name, file}]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name, Filename: file}
		b.functions[functionKey{name, file}] = f
		b.p.Function = append(b.p.Function, f)
	}
	return f
}

// mapping is the object that a frame lies in, widened to have its address; old
// where the frame names none.
func (b *pprofBuilder) mapping(f *evidence.Frame, old *profile.Mapping) *profile.Mapping {
	if f.Module == "" {
		return old
	}
	k := mappingKey{report.Plain(f.Module), f.BuildID}
	m := b.mappings[k]
	if m == nil {
		m = &profile.Mapping{ID: uint64(len(b.p.Mapping) + 1), File: k.file, BuildID: k.buildID, Start: f.Addr, Limit: f.Addr + 1,
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
		b.mappings[k] = m
		b.p.Mapping = append(b.p.Mapping, m)
	}
	m.Start, m.Limit = min(m.Start, f.Addr), max(m.Limit, f.Addr+1)
	return m
}

// label returns the labels of a sample. Samples share them: they are only read.
func (b *pprofBuilder) label(k labelKey) map[string][]string {
	l := b.labels[k]
	if l != nil {
		return l
	}
	l = map[string][]string{"comm": {commName(k.task)}}
	if k.task.TID > 0 {
		tid := strconv.Itoa(k.task.TID)
		l["tid"], l["thread"] = []string{tid}, []string{commName(k.task) + "-" + tid}
	}
	if k.task.PID > 0 {
		l["pid"] = []string{strconv.Itoa(k.task.PID)}
	}
	if k.state != evidence.StateUnknown {
		l["state"] = []string{k.state.String()}
	}
	if k.reason != "" {
		l["trigger"] = []string{k.reason}
	}
	b.labels[k] = l
	return l
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
	rank := func(m *profile.Mapping) int {
		switch {
		case strings.HasPrefix(m.File, "["):
			return 2
		case strings.Contains(m.File, ".so"):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(b.p.Mapping, func(x, y *profile.Mapping) int { return rank(x) - rank(y) })
}

// describe fills the time and the origin of the profile.
func (b *pprofBuilder) describe(set *evidence.Set, tables ...*stacks) {
	for _, s := range tables {
		if s == nil {
			continue
		}
		src := set.Source(s.Pos.Source)
		if d, ok := src.Window.DurationS.Get(); ok && b.p.DurationNanos == 0 {
			b.p.DurationNanos = int64(d * 1e9)
		}
		b.p.Comments = append(b.p.Comments, fmt.Sprintf("%s of %s", report.Plain(s.Event), report.Plain(src.Name)))
		if src.Command != "" {
			b.p.Comments = append(b.p.Comments, report.Plain(src.Command))
		}
	}
}
