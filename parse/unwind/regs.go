package unwind

import "math/bits"

// Arch is an architecture whose stacks are unwound.
type Arch uint8

const (
	NoArch Arch = iota
	X86_64
	ARM64
)

// ArchOf returns the architecture of a machine by the name that uname -m gives
// and perf.data's ARCH feature has.
func ArchOf(machine string) Arch {
	switch machine {
	case "x86_64", "amd64":
		return X86_64
	case "aarch64", "arm64":
		return ARM64
	}
	return NoArch
}

// The values of the ABI word before the registers of a sample.
// Source: enum perf_sample_regs_abi in the kernel's include/uapi/linux/perf_event.h.
const (
	abiNone = 0
	abi64   = 2
)

// maxRegs is how many registers are followed: those of arm64, 0 to 30, the
// stack pointer 31, and the program counter.
const maxRegs = 33

// Regs are the integer registers of a frame, by their DWARF numbers.
//
// x86-64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15,
// 16 the return address (System V ABI, AMD64 supplement, figure 3.36). arm64:
// 0-30 x0-x30, 31 sp, 32 pc (DWARF for the Arm 64-bit Architecture).
type Regs struct {
	arch  Arch
	known uint64 // bit per register
	cut   uint64 // those not known because the copy of the stack is too short
	val   [maxRegs]uint64
}

// spec is what differs between architectures.
type spec struct {
	pc, sp, fp uint8
	regs       uint8   // how many are followed
	dwarf      []uint8 // by perf's register number
}

const none = 0xff

// specs are the architectures. The order of perf's registers is that of enum
// perf_event_x86_regs and perf_event_arm_regs in the kernel's
// arch/{x86,arm64}/include/uapi/asm/perf_regs.h.
var specs = [...]spec{
	X86_64: {pc: 16, sp: 7, fp: 6, regs: 17, dwarf: []uint8{
		0, 3, 2, 1, 4, 5, 6, 7, 16, none, none, none, none, none, none, none, 8, 9, 10, 11, 12, 13, 14, 15}},
	ARM64: {pc: 32, sp: 31, fp: 29, regs: 33, dwarf: []uint8{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}},
}

// SetSample takes the user registers of a sample: the event's
// sample_regs_user, the ABI word and the words behind it, one for each bit of
// the mask from the lowest on. Anything but Complete says why they can't be used.
func (r *Regs) SetSample(arch Arch, mask, abi uint64, words []uint64) Reason {
	*r = Regs{arch: arch}
	switch {
	case abi == abiNone:
		return NoRegs
	case arch == NoArch || int(arch) >= len(specs) || abi != abi64:
		return BadArch
	}
	s := &specs[arch]
	for ; mask != 0 && len(words) > 0; mask &= mask - 1 {
		if n := bits.TrailingZeros64(mask); n < len(s.dwarf) && s.dwarf[n] != none {
			r.set(s.dwarf[n], words[0])
		}
		words = words[1:]
	}
	if !r.has(s.pc) || !r.has(s.sp) {
		return NoRegister
	}
	return Complete
}

// SP returns the stack pointer: where the copy of the stack begins.
func (r *Regs) SP() uint64 { return r.val[specs[r.arch].sp] }

// PC returns the program counter.
func (r *Regs) PC() uint64 { return r.val[specs[r.arch].pc] }

func (r *Regs) has(n uint8) bool { return n < maxRegs && r.known&(1<<n) != 0 }

func (r *Regs) set(n uint8, v uint64) {
	r.val[n] = v
	r.known |= 1 << n
}

// forget drops a register that could not be restored.
func (r *Regs) forget(n uint8, why Reason) {
	r.known &^= 1 << n
	r.cut &^= 1 << n
	if why == ShortStack {
		r.cut |= 1 << n
	}
}

// value returns a register, or why it is not known.
func (r *Regs) value(n uint8) (uint64, Reason) {
	switch {
	case r.has(n):
		return r.val[n], Complete
	case n < maxRegs && r.cut&(1<<n) != 0:
		return 0, ShortStack
	}
	return 0, NoRegister
}
