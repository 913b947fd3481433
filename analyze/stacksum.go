package analyze

import (
	"cmp"
	"slices"

	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// frameBuf hands out the frames of one stack of a table after the other. The
// samples of several tasks share a stack, and mostly stand together.
type frameBuf struct {
	t     *evidence.StackTable
	stack int32
	buf   []evidence.Frame
}

// of returns the frames of a stack, leaf first; none for -1. They hold until
// the next call.
func (b *frameBuf) of(stack int32) []evidence.Frame {
	if stack < 0 {
		return nil
	}
	if b.stack == stack && len(b.buf) > 0 {
		return b.buf
	}
	b.stack, b.buf = stack, b.buf[:0]
	for _, i := range b.t.Stacks[stack] {
		b.buf = append(b.buf, b.t.Frames[i])
	}
	return b.buf
}

// stackSum is the weight of one distinct stack. The same stack may be left
// voluntarily and not: its label is that of most of the weight. There may be
// hundreds of thousands.
type stackSum struct {
	stack  int32
	frame  int32 // the deciding frame; -1: none
	weight float64
	offNS  float64
	offN   float64
	label  string
	most   float64
	match  *signature.Match // shared; nil: nothing that is known
	waits  bool             // it is one that blocks, not one that was preempted
	looked bool             // at what it blocks on: the samples of several threads share a stack
}

// name votes for a label with the weight of one sample.
func (x *stackSum) name(label string, frame int, waits bool, weight float64) {
	if weight > x.most {
		x.label, x.frame, x.waits, x.most = label, int32(frame), waits, weight
	}
}

// stackSums are the sums of the stacks of a table that have samples of the
// subject.
type stackSums struct {
	list    []stackSum
	at      []int32 // by stack + 1: its place in list + 1; 0: not made yet
	matches map[signature.Match]*signature.Match
}

// newStackSums makes room for the stacks of the samples that are mine.
func newStackSums(t *evidence.StackTable, mine func(*evidence.StackTable, *evidence.StackSample) bool) stackSums {
	s := stackSums{at: make([]int32, len(t.Stacks)+1), matches: map[signature.Match]*signature.Match{}}
	n := 0
	for i := range t.Samples {
		if sm := &t.Samples[i]; mine(t, sm) && s.at[sm.Stack+1] == 0 {
			s.at[sm.Stack+1] = -1
			n++
		}
	}
	s.list = make([]stackSum, 0, n)
	return s
}

// add adds a sample to its stack.
func (s *stackSums) add(sm *evidence.StackSample) *stackSum {
	at := &s.at[sm.Stack+1]
	if *at <= 0 {
		s.list = append(s.list, stackSum{stack: sm.Stack, frame: -1})
		*at = int32(len(s.list))
	}
	sum := &s.list[*at-1]
	sum.weight += sm.Weight
	sum.offNS += float64(sm.OffNS)
	sum.offN += float64(sm.OffN)
	return sum
}

// blocking is what the frames of the stack block on, if anything.
func (s *stackSums) blocking(x *stackSum, t *signature.Table, fr []evidence.Frame) (signature.Match, bool) {
	if !x.looked {
		x.looked = true
		if m, ok := t.Blocking(fr); ok {
			if s.matches[m] == nil {
				s.matches[m] = &m
			}
			x.match = s.matches[m]
		}
	}
	if x.match == nil {
		return signature.Match{}, false
	}
	return *x.match, true
}

// sorted returns the stacks by weight. Samples without a chain are not among
// them.
func (s *stackSums) sorted() []*stackSum {
	list := make([]*stackSum, 0, len(s.list))
	for i := range s.list {
		if x := &s.list[i]; x.stack >= 0 {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *stackSum) int {
		return cmp.Or(-cmp.Compare(a.weight, b.weight), cmp.Compare(a.stack, b.stack))
	})
	return list
}
