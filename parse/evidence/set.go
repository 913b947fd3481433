package evidence

// Set is all that was understood from the inputs. It is read-only once frozen.
type Set struct {
	Sources    []*Source
	Counters   []CounterBlock
	Threads    []TaskStats
	Stacks     []StackTable
	Profiles   []Profile
	System     []SystemRate
	Series     []Series
	CPUs       []CPUStats
	Histograms []TextHistogram
	Traces     []SchedTrace
	Waits      []WaitCall
	Readings   []Reading
	Settings   []Setting
}

// Source returns a source by id, or nil.
func (s *Set) Source(id int) *Source {
	if id < 0 || id >= len(s.Sources) {
		return nil
	}
	return s.Sources[id]
}

// Usable reports whether a source gave any evidence.
func (s *Set) Usable(id int) bool {
	has := func(n int, at func(int) int) bool {
		for i := range n {
			if at(i) == id {
				return true
			}
		}
		return false
	}
	return has(len(s.Counters), func(i int) int { return s.Counters[i].Pos.Source }) ||
		has(len(s.Threads), func(i int) int { return s.Threads[i].Pos.Source }) ||
		has(len(s.Stacks), func(i int) int { return s.Stacks[i].Pos.Source }) ||
		has(len(s.Profiles), func(i int) int { return s.Profiles[i].Pos.Source }) ||
		has(len(s.System), func(i int) int { return s.System[i].Pos.Source }) ||
		has(len(s.Histograms), func(i int) int { return s.Histograms[i].Pos.Source }) ||
		has(len(s.Traces), func(i int) int { return s.Traces[i].Pos.Source }) ||
		has(len(s.Waits), func(i int) int { return s.Waits[i].Pos.Source }) ||
		has(len(s.Readings), func(i int) int { return s.Readings[i].Pos.Source })
}

// Builder collects what one source says. It stamps the source on every
// position, validates rows, and counts what it had to drop. The methods may be
// called in any order; the builder keeps what it is given.
type Builder struct {
	set *Set
	src *Source
}

// NewBuilder adds a source to the set and returns its builder.
func (s *Set) NewBuilder(name, format string) *Builder {
	src := &Source{ID: len(s.Sources), Name: name, Format: format}
	s.Sources = append(s.Sources, src)
	return &Builder{set: s, src: src}
}

// Next starts another source of the same file and format, for a text that holds
// several captures one after the other, and returns its builder.
func (b *Builder) Next() *Builder {
	next := b.set.NewBuilder(b.src.Name, b.src.Format)
	next.src.SHA256 = b.src.SHA256
	return next
}

// Source returns the source being built, for its descriptive fields.
func (b *Builder) Source() *Source { return b.src }

// Drop counts a line of a text that could not be read.
func (b *Builder) Drop(line int, err error) { b.drop(Dropped{Line: line, Err: err.Error()}) }

// DropAt counts a record of a binary source that could not be read.
func (b *Builder) DropAt(offset int64, err error) {
	b.drop(Dropped{Offset: offset, Err: err.Error()})
}

func (b *Builder) drop(d Dropped) {
	b.src.DroppedTotal++
	if len(b.src.Dropped) < MaxDropped {
		b.src.Dropped = append(b.src.Dropped, d)
	}
}

// Warn adds a warning once.
func (b *Builder) Warn(text string) { b.src.Warnings = addOnce(b.src.Warnings, text) }

// Note adds a note once.
func (b *Builder) Note(text string) { b.src.Notes = addOnce(b.src.Notes, text) }

func addOnce(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// Counters adds a block of counters.
func (b *Builder) Counters(blk CounterBlock) {
	stamp := func(cs []Counter) {
		for i := range cs {
			cs[i].Pos.Source = b.src.ID
		}
	}
	blk.Pos.Source = b.src.ID
	stamp(blk.Counters)
	for _, ps := range [][]CounterPart{blk.Parts, blk.Intervals} {
		for i := range ps {
			ps[i].Pos.Source = b.src.ID
			stamp(ps[i].Counters)
		}
	}
	b.set.Counters = append(b.set.Counters, blk)
}

// Thread adds what the source says of one thread or process.
func (b *Builder) Thread(t TaskStats) {
	t.Pos.Source = b.src.ID
	b.set.Threads = append(b.set.Threads, t)
}

// Stacks adds a table of call chains.
func (b *Builder) Stacks(t StackTable) {
	t.Pos.Source = b.src.ID
	b.set.Stacks = append(b.set.Stacks, t)
}

// Profile adds a printed profile.
func (b *Builder) Profile(p Profile) {
	p.Pos.Source = b.src.ID
	for i := range p.Rows {
		p.Rows[i].Pos.Source = b.src.ID
	}
	b.set.Profiles = append(b.set.Profiles, p)
}

// System adds the machine's own switch rates.
func (b *Builder) System(r SystemRate) {
	r.Pos.Source = b.src.ID
	b.set.System = append(b.set.System, r)
}

// Series adds a series of switches over time.
func (b *Builder) Series(s Series) {
	s.Source = b.src.ID
	b.set.Series = append(b.set.Series, s)
}

// Histogram adds a histogram that a tool printed.
func (b *Builder) Histogram(h TextHistogram) {
	h.Pos.Source = b.src.ID
	b.set.Histograms = append(b.set.Histograms, h)
}

// Trace adds what a printed scheduler trace counts as a whole.
func (b *Builder) Trace(t SchedTrace) {
	t.Pos.Source = b.src.ID
	t.Totals.V.Pos.Source = b.src.ID
	b.set.Traces = append(b.set.Traces, t)
}

// Any reports whether the source has said anything so far.
func (b *Builder) Any() bool { return b.set.Usable(b.src.ID) }
