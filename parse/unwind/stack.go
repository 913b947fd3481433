package unwind

import "encoding/binary"

// Stack is the copy of a stack.
type Stack struct {
	Base uint64 // the address of Data[0]: the stack pointer when it was taken
	Data []byte

	expressions int // that were evaluated
}

// word reads 8 bytes.
func (s *Stack) word(addr uint64) (uint64, bool) {
	off := addr - s.Base
	if n := uint64(len(s.Data)); n < 8 || off > n-8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(s.Data[off:]), true
}

// at reads 8 bytes, or says why it can't.
func (s *Stack) at(addr uint64) (uint64, Reason) {
	v, ok := s.word(addr)
	if !ok {
		return 0, s.missing(addr)
	}
	return v, Complete
}

// read fills b.
func (s *Stack) read(b []byte, addr uint64) bool {
	off, n := addr-s.Base, uint64(len(s.Data))
	if off > n || uint64(len(b)) > n-off {
		return false
	}
	copy(b, s.Data[off:])
	return true
}

// missing is the reason why a word could not be read.
func (s *Stack) missing(addr uint64) Reason {
	if addr < s.Base {
		return NoProgress
	}
	return ShortStack
}
