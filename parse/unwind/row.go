package unwind

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/go-delve/delve/pkg/dwarf/op"
)

// row is how to get from a frame to its caller's at one address.
type row struct {
	cfa    rule // from and off, or an expression
	ra     uint8
	signal bool   // a signal trampoline: the caller was interrupted, it did not call
	rules  []rule // of the registers that change

	outermost bool // there is no caller
}

// rule is how to find the caller's value of a register.
type rule struct {
	kind frame.Rule
	reg  uint8 // whose value it is
	from uint8 // of RuleRegister, RuleCFA and ruleAt
	off  int64
	expr []byte
}

// ruleAt is a rule of this package's own: the value is in memory at from + off.
// It is what the expressions of signal trampolines come to.
const ruleAt = frame.Rule(0x80)

const (
	rowBytes    = 96 // about, of a row in a map
	callBytes   = 32
	ruleBytes   = 40
	maxRowBytes = 64 << 20
)

// bytes returns about what a row takes in memory.
func (r *row) bytes() int64 {
	n := int64(rowBytes + ruleBytes*len(r.rules) + len(r.cfa.expr))
	for i := range r.rules {
		n += int64(len(r.rules[i].expr))
	}
	return n
}

var errRow = errors.New("rules that are not understood")

// row runs the CFI program of a function up to pc.
func (f *fde) row(pc uint64, s *spec) (r *row, err error) {
	defer func() {
		// The library panics on programs that it does not expect; what is known
		// of those is refused beforehand.
		if recover() != nil {
			r, err = nil, errRow
		}
	}()
	sec, err := f.section(s)
	if err != nil {
		return nil, err
	}
	fdes, err := frame.Parse(sec, binary.LittleEndian, 0, 8, 0)
	if err != nil || len(fdes) != 1 {
		return nil, errRow
	}
	ctx, err := fdes[0].EstablishFrame(pc)
	if err != nil {
		return nil, err
	}
	return f.compile(ctx, s)
}

// compile takes what is needed of the library's table row.
func (f *fde) compile(ctx *frame.FrameContext, s *spec) (*row, error) {
	if f.ra >= uint64(s.regs) {
		return nil, errRow
	}
	r := &row{ra: uint8(f.ra), signal: f.signal}
	switch c := ctx.CFA; c.Rule {
	case frame.RuleCFA:
		if c.Reg >= uint64(s.regs) {
			return nil, errRow
		}
		r.cfa = rule{kind: c.Rule, from: uint8(c.Reg), off: c.Offset}
	case frame.RuleExpression:
		r.cfa = rule{kind: c.Rule, expr: bytes.Clone(c.Expression)}
		r.cfa.simplify(c.Expression, s, true)
	default:
		return nil, errRow
	}
	for n := range uint64(s.regs) {
		d, ok := ctx.Regs[n]
		if !ok || d.Rule == frame.RuleSameVal {
			continue
		}
		one := rule{kind: d.Rule, reg: uint8(n), off: d.Offset}
		switch d.Rule {
		case frame.RuleUndefined, frame.RuleOffset, frame.RuleValOffset:
		case frame.RuleRegister:
			if d.Reg >= uint64(s.regs) {
				return nil, errRow
			}
			one.from = uint8(d.Reg)
		case frame.RuleExpression, frame.RuleValExpression:
			// The library pushes no CFA: such an expression begins with it.
			one.expr = append([]byte{byte(op.DW_OP_call_frame_cfa)}, d.Expression...)
			if d.Rule == frame.RuleExpression {
				one.simplify(d.Expression, s, false)
			}
		default:
			return nil, errRow
		}
		r.rules = append(r.rules, one)
	}
	return r, nil
}

// simplify replaces an expression that is a register and an offset; where
// deref is set the word there is meant, and the expression says so.
func (ru *rule) simplify(expr []byte, s *spec, deref bool) {
	if deref {
		if len(expr) == 0 || expr[len(expr)-1] != byte(op.DW_OP_deref) {
			return
		}
		expr = expr[:len(expr)-1]
	}
	c := cursor{b: expr}
	reg := c.u8() - byte(op.DW_OP_breg0)
	off := c.sleb()
	if c.err == nil && c.left() == 0 && reg < s.regs && reg < 32 {
		*ru = rule{kind: ruleAt, reg: ru.reg, from: reg, off: off}
	}
}

// apply makes the registers of a frame those of its caller. Complete: there is
// one, whose program counter may be 0.
func (r *row) apply(regs *Regs, stack *Stack, s *spec) (end bool, why Reason) {
	if r.outermost {
		return true, Complete
	}
	cfa, why := r.frameAddress(regs, stack)
	if why != Complete {
		return false, why
	}
	old := *regs
	regs.set(s.sp, cfa)
	for i := range r.rules {
		ru := &r.rules[i]
		v, why := ru.value(&old, stack, cfa)
		needed := ru.reg == r.ra || ru.reg == s.sp
		switch {
		case why == Complete:
			regs.set(ru.reg, v)
		case ru.reg == r.ra && ru.kind == frame.RuleUndefined:
			return true, Complete
		case !needed && ru.popped(stack, cfa):
		case needed:
			return false, why
		default:
			regs.forget(ru.reg, why)
		}
	}
	if r.ra != s.pc {
		pc, why := regs.value(r.ra)
		if why != Complete {
			return false, why
		}
		regs.set(s.pc, pc)
	}
	return false, Complete
}

// frameAddress returns the canonical frame address.
func (r *row) frameAddress(regs *Regs, stack *Stack) (uint64, Reason) {
	switch {
	case r.cfa.kind == ruleAt:
		return r.cfa.value(regs, stack, 0)
	case r.cfa.kind == frame.RuleCFA:
		v, why := regs.value(r.cfa.from)
		return v + uint64(r.cfa.off), why
	}
	return evaluate(r.cfa.expr, regs, stack, 0)
}

// value returns the caller's value of a register, or why it is lost.
func (ru *rule) value(regs *Regs, stack *Stack, cfa uint64) (uint64, Reason) {
	switch ru.kind {
	case frame.RuleOffset:
		return stack.at(cfa + uint64(ru.off))
	case frame.RuleValOffset:
		return cfa + uint64(ru.off), Complete
	case frame.RuleRegister:
		return regs.value(ru.from)
	case ruleAt:
		v, why := regs.value(ru.from)
		if why != Complete {
			return 0, why
		}
		return stack.at(v + uint64(ru.off))
	case frame.RuleExpression:
		addr, why := evaluate(ru.expr, regs, stack, cfa)
		if why != Complete {
			return 0, why
		}
		return stack.at(addr)
	case frame.RuleValExpression:
		return evaluate(ru.expr, regs, stack, cfa)
	}
	return 0, NoRegister
}

// popped reports whether a register was saved below the copied stack: at the
// end of a function that has popped it already, so that it is what it was.
func (ru *rule) popped(stack *Stack, cfa uint64) bool {
	const redZone = 512 // and then some: nothing is saved further below
	return ru.kind == frame.RuleOffset && stack.Base-(cfa+uint64(ru.off)) <= redZone
}

// maxEvaluated is how many expressions are evaluated for one stack.
const maxEvaluated = 1 << 10

var errRead = errors.New("beyond the copy of the stack")

// evaluate runs a DWARF expression.
func evaluate(expr []byte, regs *Regs, stack *Stack, cfa uint64) (v uint64, why Reason) {
	if stack.expressions++; stack.expressions > maxEvaluated {
		return 0, BadCFI
	}
	defer func() {
		if recover() != nil { // the library divides by zero, pops empty stacks
			v, why = 0, BadCFI
		}
	}()
	s := &specs[regs.arch]
	list := make([]*op.DwarfRegister, s.regs)
	vals := make([]op.DwarfRegister, s.regs)
	for n := range list {
		if regs.has(uint8(n)) {
			vals[n].Uint64Val = regs.val[n]
			list[n] = &vals[n]
		}
	}
	dr := op.NewDwarfRegisters(0, list, binary.LittleEndian, uint64(s.pc), uint64(s.sp), uint64(s.fp), uint64(s.sp))
	dr.CFA = int64(cfa)
	lost := Complete
	got, pieces, err := op.ExecuteStackProgram(*dr, expr, 8, func(b []byte, addr uint64) (int, error) {
		if !stack.read(b, addr) {
			lost = stack.missing(addr)
			return 0, errRead
		}
		return len(b), nil
	})
	switch {
	case lost != Complete:
		return 0, lost
	case err != nil || pieces != nil:
		return 0, BadCFI
	}
	return uint64(got), Complete
}
