package unwind

import (
	"bytes"
	"encoding/binary"
)

// Rows that stand for frames that were passed without CFI.
var (
	signalRow = &row{signal: true}
	guessRow  = &row{}
)

// trampolines are the instructions that a signal handler returns to, which
// some libraries give no CFI: mov $__NR_rt_sigreturn, then the system call.
var trampolines = [...][][]byte{
	X86_64: {
		{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}, // mov $15,%rax; syscall
		{0xb8, 15, 0, 0, 0, 0x0f, 0x05},             // mov $15,%eax; syscall
	},
	ARM64: {{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}}, // mov x8,#139; svc #0
}

// trampoline takes the registers that the kernel saved for a signal, when the
// handler returned to a trampoline without CFI.
func (w *walk) trampoline(a Area, pc uint64) bool {
	inVDSO := w.regs.arch == ARM64 && a.Object != nil && a.Object.m.Path == "[vdso]" && !w.exact
	if !w.exact {
		pc++
	}
	// The vdso calls nobody: only a signal handler returns into it. On arm64 the
	// kernel's trampoline is there, and its file is seldom at hand.
	if !inVDSO && !w.isTrampoline(a, pc) {
		return false
	}
	if w.regs.arch == ARM64 {
		return w.signalARM64()
	}
	return w.signalX86()
}

// isTrampoline reports whether a signal handler returns to an address.
func (w *walk) isTrampoline(a Area, pc uint64) bool {
	if a.Object == nil {
		return false
	}
	for _, want := range trampolines[w.regs.arch] {
		var b [16]byte
		if got := b[:len(want)]; a.read(got, pc) && bytes.Equal(got, want) {
			return true
		}
	}
	return false
}

// read reads code from the file of a mapping.
func (a *Area) read(b []byte, addr uint64) bool {
	v, ok := a.Object.vaddr(addr - a.Start + a.PgOff)
	return ok && a.Object.files[0].ReadVaddr(b, v)
}

// saved takes the registers that are saved as words from addr on; order gives
// their numbers.
func (w *walk) saved(addr uint64, order []uint8) bool {
	if _, ok := w.stack.word(addr + 8*uint64(len(order)-1)); !ok {
		return false
	}
	for i, n := range order {
		v, ok := w.stack.word(addr + 8*uint64(i))
		if !ok {
			return false
		}
		w.regs.set(n, v)
	}
	return true
}

// signalX86 reads a signal frame: the stack pointer is at its ucontext, whose
// registers begin at 40. Layout: struct sigcontext_64 in the kernel's
// arch/x86/include/uapi/asm/sigcontext.h.
func (w *walk) signalX86() bool {
	return w.saved(w.regs.SP()+40, []uint8{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16})
}

// signalARM64 reads a signal frame: siginfo of 128 bytes, ucontext with its
// mcontext at 176, in which x0 is at 8, and sp and pc follow x30. Layout: struct
// rt_sigframe in the kernel's arch/arm64/kernel/signal.c.
func (w *walk) signalARM64() bool {
	return w.saved(w.regs.SP()+128+176+8, specs[ARM64].dwarf)
}

// framePointer goes to the caller by the frame pointer, where a function has
// no CFI: the word at it is the caller's, the one behind it a return address.
// It takes only what can hardly be an accident: an address behind a call, or
// where its file can't be read, frame pointers that grow.
func (w *walk) framePointer() bool {
	s := w.spec
	if !w.regs.has(s.fp) {
		return false
	}
	fp := w.regs.val[s.fp]
	next, ok := w.stack.word(fp)
	ret, ok2 := w.stack.word(fp + 8)
	if !ok || !ok2 || fp%8 != 0 || fp < w.regs.SP() {
		return false
	}
	if w.regs.arch == ARM64 {
		ret = w.unsigned(ret)
	}
	called, sure := w.called(ret)
	if !called || !sure && next <= fp {
		return false
	}
	w.regs.set(s.pc, ret)
	w.regs.set(s.sp, fp+16)
	w.regs.set(s.fp, next)
	return true
}

// called reports whether an address can be one that a call returns to; sure
// when the code before it was looked at.
func (w *walk) called(ret uint64) (called, sure bool) {
	a, ok := w.space.Find(ret - 1)
	if !ok || a.Object == nil {
		return false, false
	}
	v, ok := a.Object.vaddr(ret - a.Start + a.PgOff)
	switch {
	case a.Object.state == noFile || a.Object.state == overLimit:
		return true, false
	case !ok:
		return false, true // not executable
	}
	if a.Object.called(v, w.regs.arch) {
		return true, true
	}
	// A signal handler is not called: its return address is a trampoline.
	r, _ := a.Object.row(v-1, w.regs.arch)
	return r != nil && r.signal || w.isTrampoline(a, ret), true
}

// called reports whether the instruction before an address is a call.
func (o *Object) called(v uint64, arch Arch) bool {
	is, ok := o.calls[v]
	if ok {
		return is
	}
	var b [7]byte
	if arch == ARM64 {
		is = o.files[0].ReadVaddr(b[:4], v-4) && isCallARM64(binary.LittleEndian.Uint32(b[:]))
	} else {
		is = o.files[0].ReadVaddr(b[:], v-7) && endsInCallX86(b)
	}
	o.u.remember(callBytes)
	if o.calls == nil {
		o.calls = map[uint64]bool{}
	}
	o.calls[v] = is
	return is
}

// isCallARM64 reports whether an instruction is bl, blr or one that signs as well.
func isCallARM64(inst uint32) bool {
	return inst>>26 == 0b100101 || inst&0xfffffc1f == 0xd63f0000 || inst&0xfefff800 == 0xd63f0800
}

// endsInCallX86 reports whether the bytes end in a call: e8 with 4 bytes, or ff
// /2 with its operand of 0 to 5 more.
func endsInCallX86(b [7]byte) bool {
	if b[2] == 0xe8 {
		return true
	}
	for size := 2; size <= 7; size++ {
		at := b[7-size:]
		if at[0] == 0xff && at[1]>>3&7 == 2 && modRMSize(at[1:]) == size-1 {
			return true
		}
	}
	return false
}

// modRMSize returns how many bytes an operand takes, with its ModRM byte.
func modRMSize(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	if mod == 3 {
		return 1
	}
	n := 1
	if rm == 4 {
		n++ // SIB
		if mod == 0 && len(b) > 1 && b[1]&7 == 5 {
			return n + 4
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && rm == 5:
		n += 4
	}
	return n
}
