package unwind

import (
	"errors"

	"ctxan/parse/symbol"
)

// MaxFrames is how many user frames a chain has at most, as with perf
// (PERF_MAX_STACK_DEPTH in the kernel's include/uapi/linux/perf_event.h).
const MaxFrames = 127

// Files opens the files of mappings. *symbol.Resolver is one.
type Files interface {
	// Open returns the file of a mapping and its separate debug files, or one of
	// symbol's Why constants.
	Open(m symbol.Mapping) (files []*symbol.Object, why string)
}

// Unwinder unwinds stacks. It is for one goroutine.
type Unwinder struct {
	files    Files
	objects  map[objectKey]*Object
	open     int
	budget   budget
	rowBytes int64
}

type objectKey struct{ path, id string }

// New returns an unwinder.
func New(files Files) *Unwinder {
	return &Unwinder{files: files, objects: map[objectKey]*Object{}, budget: budget{maxTableBytes}}
}

// Close closes the files. The unwinder must not be used after it.
func (u *Unwinder) Close() error {
	var errs []error
	for _, o := range u.objects {
		for _, f := range o.files {
			errs = append(errs, f.Close())
		}
	}
	u.objects = nil
	return errors.Join(errs...)
}

// Object returns the file of a mapping, the same for all mappings of it.
func (u *Unwinder) Object(m symbol.Mapping) *Object {
	key := objectKey{m.Path, string(m.BuildID)}
	o := u.objects[key]
	if o == nil {
		o = &Object{u: u, m: m}
		u.objects[key] = o
	}
	return o
}

// Area is a mapping: Object's file from PgOff on is at [Start, End).
type Area struct {
	Start, End, PgOff uint64
	Object            *Object
}

// Space is an address space.
type Space interface {
	// Find returns the mapping that holds an address.
	Find(addr uint64) (Area, bool)
}

// Unwind appends the chain of a sample to buf[:0], innermost first, and says
// why it ends. regs is overwritten.
//
// The addresses are those to look up, as perf script prints them: where the
// innermost frame and those interrupted by a signal stood, and for the others
// the one before the return address, since a call can be the last instruction
// of a function. An address in no mapping may be the last one.
func (u *Unwinder) Unwind(regs *Regs, stack Stack, space Space, buf []uint64) ([]uint64, Stop) {
	if regs.arch == NoArch {
		return buf[:0], Stop{Reason: BadArch}
	}
	w := walk{regs: regs, stack: &stack, space: space, spec: &specs[regs.arch], exact: true, out: append(buf[:0], regs.PC())}
	for w.stop.Reason == Complete && !w.done {
		w.step()
	}
	return w.out, w.stop
}

// walk is the unwinding of one stack.
type walk struct {
	regs  *Regs
	stack *Stack
	space Space
	spec  *spec
	out   []uint64
	exact bool // the frame was interrupted: its address is no return address
	done  bool
	stop  Stop
}

// step goes to the caller and appends its address.
func (w *walk) step() {
	if len(w.out) >= MaxFrames {
		w.stop.Reason = TooDeep
		return
	}
	pc := w.out[len(w.out)-1]
	area, ok := w.space.Find(pc)
	if !ok {
		w.stop.Reason = Unmapped
		return
	}
	sp := w.regs.SP()
	r, why := w.row(area, pc)
	switch {
	case r != nil:
		w.done, why = r.apply(w.regs, w.stack, w.spec)
	case w.trampoline(area, pc):
		r, why = signalRow, Complete
	case why != OverLimit && w.framePointer():
		r, why = guessRow, Complete
		w.stop.Guessed++
	}
	if why == Complete && !w.done {
		why = w.check(area.Object, sp, r)
	}
	if why != Complete {
		w.cut(why, area.Object)
		return
	}
	w.caller(r.signal)
}

// row returns the row for an address.
func (w *walk) row(a Area, pc uint64) (*row, Reason) {
	if a.Object == nil {
		return nil, NoFile
	}
	vaddr, ok := a.Object.vaddr(pc - a.Start + a.PgOff)
	if !ok {
		if a.Object.state == ready {
			return nil, NoCFI
		}
		vaddr = 0
	}
	return a.Object.row(vaddr, w.regs.arch)
}

// check looks at what a row gave: the stack pointer must have grown. A file
// without a build-id in the capture may be another build: what it leads to must
// be a return address.
func (w *walk) check(o *Object, sp uint64, r *row) Reason {
	if !w.grew(sp, r) {
		return NoProgress
	}
	if len(o.m.BuildID) > 0 || r.signal || r == guessRow {
		return Complete
	}
	pc := w.regs.PC()
	if w.regs.arch == ARM64 {
		pc = w.unsigned(pc)
	}
	if called, sure := w.called(pc); sure && !called && pc != 0 {
		return WrongFile
	}
	return Complete
}

// grew reports whether the stack pointer moved towards the caller. A function
// that was interrupted may have no frame on arm64, where calls push nothing. A
// signal handler may have a stack of its own.
func (w *walk) grew(sp uint64, r *row) bool {
	now := w.regs.SP()
	return now > sp || r.signal || w.exact && now == sp && w.regs.arch == ARM64
}

// caller appends the address of the caller's frame.
func (w *walk) caller(signal bool) {
	if w.done {
		return
	}
	pc := w.regs.PC()
	if w.regs.arch == ARM64 {
		pc = w.unsigned(pc)
		w.regs.set(w.spec.pc, pc)
	}
	w.exact = signal
	switch {
	case pc == 0:
		w.done = true
	case signal:
		w.out = append(w.out, pc)
	default:
		w.out = append(w.out, pc-1)
	}
}

// cut ends the chain.
func (w *walk) cut(why Reason, o *Object) {
	w.stop.Reason = why
	if o == nil {
		return
	}
	switch why {
	case NoFile:
		w.stop.Path, w.stop.Why = o.m.Path, o.why
	case NoCFI, BadCFI, OverLimit, WrongFile:
		w.stop.Path = o.m.Path
	}
}

// unsigned removes the signature of a return address (arm64 pointer
// authentication): it is in the bits above those of addresses, of which there
// are 48, or 52 with large addresses.
func (w *walk) unsigned(pc uint64) uint64 {
	if pc < 1<<48 {
		return pc
	}
	if _, ok := w.space.Find(pc & (1<<52 - 1)); ok {
		return pc & (1<<52 - 1)
	}
	return pc & (1<<48 - 1)
}
