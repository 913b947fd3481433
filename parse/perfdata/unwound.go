package perfdata

import (
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/symbol"
	"ctxan/parse/timeline"
	"ctxan/parse/unwind"
)

// unwoundChain marks the id of a chain that is in unwinding.chains. There are
// fewer chains than that: each costs 28 bytes of maxChainBytes.
const unwoundChain = 1 << 30

// unwinding gives samples with the registers and a copy of the stack of their
// task (perf record --call-graph dwarf) the user part of their call chains. It
// belongs to the goroutine that takes the ordered events: only there the
// mappings are those of the moment of the sample.
type unwinding struct {
	in     io.ReaderAt
	events []*event
	arch   unwind.Arch
	files  *mapFiles
	source *likelyFiles
	uw     *unwind.Unwinder
	chains *chains

	objects map[uint64]*unwind.Object // by path and build-id
	rec     []byte
	size    int // of the last record
	regs    []uint64
	addrs   []uint64
	words   []byte

	stacks  int // with user registers
	reasons [unwind.NumReasons]int
	missing map[string]int // stacks by the file that was missing
	guessed int            // stacks with frames that were found by the frame pointer
}

// newUnwinding returns nil where no event has what it needs.
func newUnwinding(r *reader) *unwinding {
	i := slices.IndexFunc(r.schema.events, (*event).unwinds)
	if i < 0 || r.opt.Symbols == nil {
		return nil
	}
	arch := unwind.ArchOf(r.host.Arch)
	if r.host.Arch == "" {
		arch = archByRegs(r.schema.events[i].attr.RegsUser)
	}
	if arch == unwind.NoArch || r.dec.swap != nil {
		r.notes = append(r.notes, fmt.Sprintf("user stacks were recorded for unwinding (--call-graph dwarf), which is not done for %q", r.host.Arch))
		return nil
	}
	u := &unwinding{in: r.in.R, events: r.schema.events, arch: arch, files: newMapFiles(r.capture, r.dec.paths),
		source: &likelyFiles{Likely: symbol.Likely{Resolver: r.opt.Symbols}}, chains: newChains(),
		objects: map[uint64]*unwind.Object{}, missing: map[string]int{}}
	u.uw = unwind.New(u.source)
	return u
}

// unwinds reports whether stacks of the event's samples are shown and have to
// be unwound.
func (e *event) unwinds() bool {
	return (e.kind == timeline.KindSwitch || e.kind == timeline.KindSample) &&
		e.layout.Has(wire.SampleRegsUser) && e.layout.Has(wire.SampleStackUser)
}

// archByRegs tells the architecture of a file that does not, by the registers
// that perf asks for when it unwinds: all of them, of x86-64 without segments.
//
// Source: PERF_REGS_MASK in the kernel's tools/perf/arch/{x86,arm64}/include/perf_regs.h.
func archByRegs(mask uint64) unwind.Arch {
	switch mask {
	case 0xff0fff:
		return unwind.X86_64
	case 1<<33 - 1:
		return unwind.ARM64
	}
	return unwind.NoArch
}

// likelyFiles notes which files were used that are not known to be the
// recorded ones.
type likelyFiles struct {
	symbol.Likely
	used []string
}

// Open implements unwind.Files.
func (l *likelyFiles) Open(m symbol.Mapping) ([]*symbol.Object, string) {
	if objects, why := l.Resolver.Open(m); len(objects) > 0 {
		return objects, why
	}
	objects, why := l.Likely.Open(m)
	if len(objects) > 0 {
		l.used = append(l.used, m.Path)
	}
	return objects, why
}

// unwound replaces the chain id of an event by that of its whole chain, where
// it is one that is unwound.
func (s *spaces) unwound(ev *timeline.Event) {
	u := s.unwind
	if ev.Kind != timeline.KindSwitch && ev.Kind != timeline.KindSample || ev.Flags&timeline.FlagHasPID == 0 ||
		int(ev.Event) >= len(u.events) || !u.events[ev.Event].unwinds() {
		return
	}
	if id := u.chain(ev, u.events[ev.Event], s.space(ev.PID)); id != 0 {
		ev.Stack = id
	}
}

// chain returns the id of the whole chain of a sample, 0 when it has no user part.
func (u *unwinding) chain(ev *timeline.Event, e *event, sp *space) uint32 {
	rec := u.read(ev.Off)
	t, err := e.layout.Tail(rec)
	if err != nil {
		return 0
	}
	kernel := u.kernelPart(e, rec)
	var regs unwind.Regs
	switch u.setRegs(&regs, e, rec, t) {
	case unwind.Complete:
	case unwind.NoRegs: // a kernel thread, or a task that has no user part any more
		return 0
	default:
		u.stacks++
		u.reasons[unwind.BadArch]++
		return 0
	}
	if hasUser(kernel) {
		return 0 // by frame pointers or branch records
	}
	var data []byte
	if t.Stack >= 0 {
		data = rec[t.Stack:][:min(le.Uint64(rec[t.StackDyn:]), uint64(t.StackSize))]
	}
	addrs, stop := u.uw.Unwind(&regs, unwind.Stack{Base: regs.SP(), Data: data}, mappedFiles{u, sp}, u.addrs)
	u.addrs = addrs
	u.count(stop)
	return u.intern(kernel, addrs)
}

// read returns the record at off. It is valid until the next call.
func (u *unwinding) read(off int64) []byte {
	if u.size == 0 {
		u.rec, u.size = make([]byte, wire.MaxRecord+1), wire.HeaderSize
	}
	n, _ := u.in.ReadAt(u.rec[:u.size], off) // most are as long as the last one
	if n < wire.HeaderSize {
		return nil
	}
	size := int(le.Uint16(u.rec[6:]))
	if size > n {
		more, _ := u.in.ReadAt(u.rec[n:size], off+int64(n))
		n += more
	}
	u.size = max(size, wire.HeaderSize)
	return u.rec[:min(size, n)]
}

// kernelPart returns the recorded chain.
func (u *unwinding) kernelPart(e *event, rec []byte) []uint64 {
	if !e.layout.Has(wire.SampleCallchain) {
		return nil
	}
	at, nr, err := e.layout.Chain(rec)
	if err != nil {
		return nil
	}
	return words(rec[at+8:at+8+8*nr], le)
}

func (u *unwinding) setRegs(regs *unwind.Regs, e *event, rec []byte, t wire.Tail) unwind.Reason {
	abi := le.Uint64(rec[t.RegsUser:])
	u.regs = u.regs[:0]
	if abi != 0 {
		for i := range bits.OnesCount64(e.attr.RegsUser) {
			u.regs = append(u.regs, le.Uint64(rec[t.RegsUser+8*(i+1):]))
		}
	}
	return regs.SetSample(u.arch, e.attr.RegsUser, abi, u.regs)
}

// intern makes a chain as a kernel would have recorded it: after the first,
// user addresses are return addresses.
func (u *unwinding) intern(kernel, user []uint64) uint32 {
	b := u.words[:0]
	for _, w := range kernel {
		b = le.AppendUint64(b, w)
	}
	context := uint64(wire.ContextUser)
	b = le.AppendUint64(b, context)
	for i, a := range user {
		if i > 0 {
			a++
		}
		b = le.AppendUint64(b, a)
	}
	u.words = b
	id := u.chains.id(b)
	if id == timeline.OtherStacks {
		return id
	}
	if id &^= kernelOnly; id == 0 {
		return 0
	}
	return id | unwoundChain
}

func (u *unwinding) count(stop unwind.Stop) {
	u.stacks++
	u.reasons[stop.Reason]++
	if stop.Guessed > 0 {
		u.guessed++
	}
	if stop.Reason == unwind.NoFile && (u.missing[stop.Path] > 0 || len(u.missing) < 64) {
		u.missing[stop.Path]++
	}
}

// mappedFiles is the address space of a process for the unwinder.
type mappedFiles struct {
	u  *unwinding
	sp *space
}

// Find implements unwind.Space.
func (m mappedFiles) Find(addr uint64) (unwind.Area, bool) {
	at := find(m.sp.maps.list, addr)
	if at == nil {
		return unwind.Area{}, false
	}
	key := uint64(at.path)<<32 | uint64(at.buildID)
	o := m.u.objects[key]
	if o == nil {
		o = m.u.uw.Object(m.u.files.mapping(at, int(m.sp.pid)))
		m.u.objects[key] = o
	}
	return unwind.Area{Start: at.start, End: at.end, PgOff: at.pgoff, Object: o}, true
}

// close closes the files. The chains stay.
func (u *unwinding) close() error {
	if u == nil {
		return nil
	}
	return u.uw.Close()
}

// report says how it went.
func (u *unwinding) report(b *evidence.Builder) {
	if u == nil || u.stacks == 0 {
		return
	}
	if n := len(u.source.used); n > 0 {
		b.Note(fmt.Sprintf("the recording has no build-ids for %s: this machine's, which are mapped alike, served to unwind stacks, and not for names",
			list(u.source.used, 3, "files")))
	}
	if short := u.stacks - u.reasons[unwind.Complete]; short > 0 {
		b.Note(fmt.Sprintf("%d of %d user stacks are cut short: %s", short, u.stacks, u.why()))
	}
	if u.guessed > 0 {
		b.Note(fmt.Sprintf("%d of %d user stacks go through code without unwind information, by the frame pointer: a caller may be missing there", u.guessed, u.stacks))
	}
	if u.chains.over > 0 {
		b.Warn(fmt.Sprintf("the stacks of %d samples are not told apart, as the file holds too many different ones: they count as [other stacks]", u.chains.over))
	}
}

// why lists why stacks end early, the most frequent reason first.
func (u *unwinding) why() string {
	var order []unwind.Reason
	for r := range unwind.NumReasons {
		if r != unwind.Complete && u.reasons[r] > 0 {
			order = append(order, r)
		}
	}
	slices.SortStableFunc(order, func(a, b unwind.Reason) int { return u.reasons[b] - u.reasons[a] })
	var parts []string
	for _, r := range order {
		text := fmt.Sprintf("%d %s", u.reasons[r], r)
		if r == unwind.NoFile {
			text += " (" + list(slices.Sorted(maps.Keys(u.missing)), 3, "files") + ")"
		}
		if h := r.Hint(); h != "" {
			text += ", " + h
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// list joins up to n names, and says how many more there are.
func list(names []string, n int, what string) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more %s", strings.Join(names[:n], ", "), len(names)-n, what)
}
