package analyze

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// maxPaths bounds the distinct paths that the tree is made of.
const maxPaths = 512

// stackPath is a stack cut to what a reader needs, outermost first: the code that
// asked, the library call, the system call, down to the frame that blocks.
type stackPath struct {
	from, to int32 // in pathSet.ids
	blocks   int32 // index of the deciding frame in the path; -1: none
	next     int32 // the path before with the same hash; -1: none
	weight   float64
}

// pathSet merges stacks that are equal once they are cut. Stacks differ by
// their addresses, paths by the names of their frames.
type pathSet struct {
	s       *stackFacts
	symbols []int32 // by frame: a number for its symbol
	shown   []bool  // by frame: worth showing
	ids     []int32 // all paths, one after the other: indices of frames
	list    []stackPath
	byHash  map[uint64]int32 // the last one
	seed    maphash.Seed
	key     []byte
}

// paths cuts every stack and merges equal ones.
func (s *stackFacts) paths() *pathSet {
	p := &pathSet{s: s, symbols: make([]int32, len(s.switches.Frames)), shown: make([]bool, len(s.switches.Frames)),
		byHash: map[uint64]int32{}, seed: maphash.MakeSeed()}
	numbers := map[string]int32{}
	for i := range s.switches.Frames {
		f := &s.switches.Frames[i]
		n, ok := numbers[f.Symbol]
		if !ok {
			n = int32(len(numbers))
			numbers[f.Symbol] = n
		}
		p.symbols[i], p.shown[i] = n, s.worthShowing(f)
	}
	fr := frameBuf{t: s.switches}
	for _, x := range s.stacks.sorted() {
		p.add(x, fr.of(x.stack))
	}
	return p
}

// frames returns the frames of a path, as indices into those of the table.
func (p *pathSet) frames(x *stackPath) []int32 { return p.ids[x.from:x.to] }

// heaviest returns the n paths of most weight.
func (p *pathSet) heaviest(n int) []stackPath {
	slices.SortStableFunc(p.list, func(a, b stackPath) int { return -cmp.Compare(a.weight, b.weight) })
	return p.list[:min(len(p.list), n)]
}

// add adds a stack to its path.
func (p *pathSet) add(x *stackSum, fr []evidence.Frame) {
	path := p.cut(x, fr)
	if path.from == path.to {
		return
	}
	p.key = p.key[:0]
	for _, id := range p.frames(&path) {
		p.key = binary.LittleEndian.AppendUint32(p.key, uint32(p.symbols[id]))
	}
	h := maphash.Bytes(p.seed, p.key)
	last, ok := p.byHash[h]
	if !ok {
		last = -1
	}
	for i := last; i >= 0; i = p.list[i].next {
		if have := &p.list[i]; p.same(have, &path) {
			have.weight += path.weight
			p.ids = p.ids[:path.from]
			return
		}
	}
	path.next = last
	p.byHash[h] = int32(len(p.list))
	p.list = append(p.list, path)
}

func (p *pathSet) same(a, b *stackPath) bool {
	return slices.EqualFunc(p.frames(a), p.frames(b), func(x, y int32) bool { return p.symbols[x] == p.symbols[y] })
}

// cut drops carriers, entry code and unresolved frames, and what lies outside
// the code that asked. The path is the last in p.ids.
func (p *pathSet) cut(x *stackSum, fr []evidence.Frame) stackPath {
	last := len(fr) - 1
	if i, ok := p.s.table.Caller(fr); ok {
		last = i
		if i+1 < len(fr) && fr[i+1].File != "" && fr[i+1].Symbol != "" && fr[i+1].Module == fr[i].Module {
			last++ // who called the code that asked, where its source is known
		}
	}
	path := stackPath{from: int32(len(p.ids)), blocks: -1, weight: x.weight}
	ids := p.s.switches.Stacks[x.stack]
	for i := last; i >= max(int(x.frame), 0); i-- {
		if i != int(x.frame) && !p.shown[ids[i]] {
			continue
		}
		if i == int(x.frame) && x.waits {
			path.blocks = int32(len(p.ids)) - path.from
		}
		p.ids = append(p.ids, ids[i])
	}
	path.to = int32(len(p.ids))
	return path
}

func (s *stackFacts) worthShowing(f *evidence.Frame) bool {
	if f.Symbol == "" {
		return false
	}
	if !f.Kernel {
		return true
	}
	_, role, _ := s.table.Symbol(f.Symbol)
	return role != signature.RoleCarrier && role != signature.RoleEntry
}
