package timehist

import "bytes"

var (
	nextMark  = []byte("next: ")
	arrowMark = []byte(" <- ")
)

// parseTail reads what stands behind the run time: the pre-migration time, the
// state, the next task, and the call chain.
func (l *layout) parseTail(p []byte, r *row) {
	if len(p) == 0 || len(p) == 1 && p[0] == ' ' {
		return
	}
	p = trim(p)
	if w, rest := token(p); l.preMig || !l.header {
		if _, ok := msec(w); ok {
			p = trimLeft(rest)
		}
	}
	if w, rest := token(p); isState(w) && (l.state || !l.header && !startsChain(rest)) {
		p = trimLeft(rest)
	}
	if rest, ok := bytes.CutPrefix(p, nextMark); ok {
		r.next, p = cutNext(rest)
	}
	r.chain = chainText(p)
}

// isState matches the one letter of --state. perf 6.1 prints wrong ones on
// newer kernels, so it is passed over.
func isState(w []byte) bool {
	return len(w) == 1 && (w[0]|0x20 >= 'a' && w[0]|0x20 <= 'z' || w[0] == '?')
}

func startsChain(rest []byte) bool {
	return bytes.HasPrefix(trimLeft(rest), arrowMark[1:])
}

// nextCut is how much of "next: comm[tid]" perf prints.
const nextCut = 29

// cutNext splits "comm[tid]" off the text behind "next: ". A name at perf's
// limit lacks the bracket.
func cutNext(p []byte) (name, rest []byte) {
	for i := 0; i < len(p); i++ {
		if p[i] != '[' {
			continue
		}
		_, n, ok := signed(p[i+1:])
		end := i + 1 + n
		switch {
		case !ok:
		case end < len(p) && p[end] == ']' && (end+1 == len(p) || isSpace(p[end+1])):
			return p[:end+1], trimLeft(p[end+1:])
		case end == nextCut-len(nextMark) && (end == len(p) || isSpace(p[end])):
			return p[:end], trimLeft(p[end:])
		}
	}
	return nil, nil
}

// chainText returns p when it is a call chain. One frame alone must look like a
// symbol: people write remarks behind rows.
func chainText(p []byte) []byte {
	if len(p) == 0 || bytes.Contains(p, arrowMark) {
		return p
	}
	if p[0] == '[' && string(p) != unknownFrame {
		return nil
	}
	for _, c := range p {
		if isSpace(c) || c == '#' {
			return nil
		}
	}
	if c := p[0]; c == '[' || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' {
		return p
	}
	return nil
}

// unknownFrame is what perf prints of an address without symbol.
const unknownFrame = "[unknown]"
