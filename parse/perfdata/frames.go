package perfdata

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/symbol"
)

// frames resolves the stacks of a file for the tracker, when all events are
// through. Each distinct frame is looked up once.
type frames struct {
	r      *reader
	spaces *spaces
	chains *chains
	files  *mapFiles
	kernel symbol.Mapping // the kernel's own mapping

	cache map[frameKey][]evidence.Frame
	ids   map[string]string // build-ids as hex
	out   []evidence.Frame
	over  int // frames beyond the limit
}

// maxFrames bounds the distinct frames that are told apart, at some 500 bytes
// each with what tables keep of them. Recordings have some ten thousands.
const maxFrames = 1 << 17

// frameKey is an address in a space; for kernel addresses space is 0. ret
// marks return addresses.
type frameKey struct {
	addr  uint64
	space uint32
	ret   bool
}

func newFrames(r *reader, s *spaces, d *decoder) *frames {
	f := &frames{r: r, spaces: s, chains: d.chains, files: newMapFiles(r.capture, d.paths), cache: map[frameKey][]evidence.Frame{}, ids: map[string]string{}}
	for i := range s.kernel {
		if m := f.files.mapping(&s.kernel[i], -1); isKernelMap(m.Path) {
			f.kernel = m
		}
	}
	if f.r.opt.Symbols != nil {
		f.files.thisHost = f.r.opt.Symbols.IsThisHost(r.host, f.kernel.BuildID)
	}
	if err := f.checkKernel(); err != nil {
		r.warn("looking for switches to check the kernel symbols by: %v", err)
	}
	return f
}

// kernelPath is how perf names the kernel; the MMAP record has the name of the
// symbol behind it whose address the recorder saw.
const kernelPath = "[kernel.kallsyms]"

func isKernelMap(path string) bool {
	return len(path) >= len(kernelPath) && path[:len(kernelPath)] == kernelPath
}

// mapFiles says which files mappings are of.
type mapFiles struct {
	paths    *paths
	buildIDs map[string][]byte // by path; nil for one that several files have
	thisHost bool
}

func newMapFiles(c *capture, p *paths) *mapFiles {
	f := &mapFiles{paths: p, buildIDs: map[string][]byte{}}
	for _, b := range c.buildIDs {
		id := bytes.TrimRight(b.ID, "\x00") // padded, where the table does not tell the size
		mode := b.Misc & wire.MiscCPUModeMask
		switch have, ok := f.buildIDs[b.Path]; {
		case len(id) == 0 || mode == wire.MiscGuestKernel || mode == wire.MiscGuestUser:
		case ok && !bytes.Equal(bytes.TrimRight(have, "\x00"), id): // files of two containers under one name
			f.buildIDs[b.Path] = nil
		default:
			f.buildIDs[b.Path] = b.ID
		}
	}
	return f
}

// mapping turns a mapping into what the resolver takes.
func (f *mapFiles) mapping(m *mapping, pid int) symbol.Mapping {
	out := symbol.Mapping{Start: m.start, End: m.end, PgOff: m.pgoff, Path: f.paths.name(m.path), PID: pid, ThisHost: f.thisHost}
	if m.symbol {
		out.Symbol = out.Path
	}
	out.BuildID = []byte(f.paths.name(m.buildID))
	if len(out.BuildID) == 0 {
		path := out.Path
		if isKernelMap(path) {
			path = kernelPath
		}
		out.BuildID = f.buildIDs[path]
	}
	return out
}

// Frames implements timeline.StackFrames.
func (f *frames) Frames(id uint32) []evidence.Frame {
	f.out = f.out[:0]
	if int(id) >= len(f.spaces.stacks) {
		return nil
	}
	st := f.spaces.stacks[id]
	const (
		kernel = iota
		user
		guest
	)
	mode, first := kernel, true
	words := f.words(st.chain)
	if len(words) > 0 && words[0] < 1<<63 {
		mode = user
	}
	for _, v := range words {
		if v >= wire.ContextMax {
			switch v {
			case wire.ContextKernel, wire.ContextHV:
				mode = kernel
			case wire.ContextUser:
				mode = user
			case wire.ContextGuest, wire.ContextGuestKernel, wire.ContextGuestUser:
				mode = guest
			}
			first = true
			continue
		}
		key := frameKey{addr: v, ret: !first}
		first = false
		switch mode {
		case guest:
			f.out = append(f.out, evidence.Frame{Addr: v, Why: symbol.WhyGuest})
			continue
		case user:
			key.space = st.space
		}
		f.out = append(f.out, f.resolve(key, mode == kernel)...)
	}
	return f.out
}

// words returns the entries of a chain.
func (f *frames) words(id uint32) []uint64 {
	if id&kernelOnly == 0 && id&unwoundChain != 0 {
		return f.spaces.unwind.chains.chain(id &^ unwoundChain)
	}
	return f.chains.chain(id)
}

func (f *frames) resolve(k frameKey, kernel bool) []evidence.Frame {
	if fr, ok := f.cache[k]; ok {
		return fr
	}
	if len(f.cache) >= maxFrames {
		f.over++
		return []evidence.Frame{{Kernel: kernel, Why: symbol.WhyLimit}}
	}
	var fr []evidence.Frame
	if kernel {
		fr = []evidence.Frame{f.kernelFrame(k)}
	} else {
		fr = f.userFrames(k)
	}
	for i := range fr {
		fr[i].Addr = k.addr
	}
	f.cache[k] = fr
	return fr
}

// report says what was left out.
func (f *frames) report(b *evidence.Builder) {
	if f.over > 0 {
		b.Warn(fmt.Sprintf("%d frames are not told apart, as the file holds more than %d different ones", f.over, maxFrames))
	}
}

// lookup is the address whose function is meant: a return address may already
// be behind the end of the function that calls.
func (k frameKey) lookup() uint64 {
	if k.ret && k.addr > 0 {
		return k.addr - 1
	}
	return k.addr
}

func (f *frames) kernelFrame(k frameKey) evidence.Frame {
	m := symbol.Mapping{}
	if found := find(f.spaces.kernel, k.lookup()); found != nil {
		m = f.files.mapping(found, -1)
		m.Kernel = true
		if !isKernelMap(m.Path) && f.kernel.End != 0 {
			m.KernelMap = &f.kernel
		}
	} else {
		m = f.kernel
		m.Kernel = true
	}
	if f.r.opt.Symbols == nil {
		return evidence.Frame{Module: m.Path, BuildID: f.hexID(m.BuildID), Kernel: true, Why: symbol.WhyNoKernelSymbols}
	}
	fr := f.r.opt.Symbols.Kernel(m, k.lookup(), f.r.host)
	fr.BuildID = f.hexID(m.BuildID)
	return fr
}

// hexID is a build-id as a frame has it, made once.
func (f *frames) hexID(id []byte) string {
	s, ok := f.ids[string(id)]
	if !ok {
		s = hex.EncodeToString(id)
		f.ids[string(id)] = s
	}
	return s
}

func (f *frames) userFrames(k frameKey) []evidence.Frame {
	var sp *space
	if int(k.space) < len(f.spaces.kept) {
		sp = f.spaces.kept[k.space]
	}
	if sp == nil {
		return []evidence.Frame{{Why: symbol.WhyUnmapped}}
	}
	found := find(sp.maps.list, k.lookup())
	if found == nil {
		return []evidence.Frame{{Why: symbol.WhyUnmapped}}
	}
	m := f.files.mapping(found, int(sp.pid))
	if f.r.opt.Symbols == nil {
		return []evidence.Frame{{Module: m.Path, BuildID: f.hexID(m.BuildID), Why: symbol.WhyMissing}}
	}
	fr := f.r.opt.Symbols.User(m, k.lookup())
	for i := range fr {
		fr[i].BuildID = f.hexID(m.BuildID)
	}
	return fr
}
