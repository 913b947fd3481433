package unwind

import (
	"encoding/binary"
	"errors"
)

// Call frame instructions. Source: DWARF 5, section 7.24, and for the last
// ones the ABIs' own.
const (
	cfaNop          = 0x00
	cfaSetLoc       = 0x01
	cfaAdvance1     = 0x02
	cfaAdvance2     = 0x03
	cfaAdvance4     = 0x04
	cfaOffsetExt    = 0x05
	cfaRestoreExt   = 0x06
	cfaUndefined    = 0x07
	cfaSame         = 0x08
	cfaRegister     = 0x09
	cfaRemember     = 0x0a
	cfaRestoreState = 0x0b
	cfaDef          = 0x0c
	cfaDefReg       = 0x0d
	cfaDefOffset    = 0x0e
	cfaDefExpr      = 0x0f
	cfaExpr         = 0x10
	cfaOffsetExtSF  = 0x11
	cfaDefSF        = 0x12
	cfaDefOffsetSF  = 0x13
	cfaValOffset    = 0x14
	cfaValOffsetSF  = 0x15
	cfaValExpr      = 0x16
	cfaNegateRAPC   = 0x2c // arm64: negate_ra_state_with_pc
	cfaNegateRA     = 0x2d // arm64: negate_ra_state
	cfaArgsSize     = 0x2e
	cfaNegOffsetExt = 0x2f // GNU_negative_offset_extended

	// These have an operand in the low 6 bits.
	cfaAdvance = 0x40
	cfaOffset  = 0x80
	cfaRestore = 0xc0
)

// operands are the operands of an instruction: the Register that it gives a
// rule to, another register or number unsigned (u) or signed (s), a block (b),
// 1, 2, or 4 bytes, or an address (a).
var operands = [...]string{
	cfaNop: "", cfaSetLoc: "a", cfaAdvance1: "1", cfaAdvance2: "2", cfaAdvance4: "4", cfaOffsetExt: "Ru",
	cfaRestoreExt: "R", cfaUndefined: "R", cfaSame: "R", cfaRegister: "Ru", cfaRemember: "", cfaRestoreState: "",
	cfaDef: "uu", cfaDefReg: "u", cfaDefOffset: "u", cfaDefExpr: "b", cfaExpr: "Rb", cfaOffsetExtSF: "Rs", cfaDefSF: "us",
	cfaDefOffsetSF: "s", cfaValOffset: "Ru", cfaValOffsetSF: "Rs", cfaValExpr: "Rb",
}

const (
	maxRemember = 64 // states that are remembered at once
	maxExpr     = 256
	maxProgram  = 1 << 20 // bytes, once prepared
)

var (
	errOpcode = errors.New("call frame instruction that is not known")
	errStates = errors.New("states restored that were not remembered, or too many")
	errExpr   = errors.New("expression too long, or not allowed here")
)

// prepared is a CFI program made ready for the library that runs it. That one
// expects programs of its own compiler, and
//   - takes restore for "undefined", though it means the rule of the CIE,
//   - forgets the alignment factor of val_offset,
//   - stops at the arm64 instructions for signed return addresses,
//   - panics on operands that are cut off and on states not remembered.
//
// So operands are checked, such instructions are replaced by others that mean
// the same, and rules of registers that no unwinding needs (vectors) are
// dropped.
type prepared struct {
	f       *fde
	regs    uint8
	states  int
	initial [maxRegs][]byte // the instruction that gives a register its rule in the CIE
	out     []byte
}

// run prepares a program: first that of the CIE, then that of the FDE.
func (p *prepared) run(prog []byte, cie bool, here uint64) error {
	c := cursor{b: prog}
	p.out, p.states = p.out[:0], 0
	for c.left() > 0 && c.err == nil {
		at := len(p.out)
		reg, err := p.instruction(&c, here)
		if err != nil {
			return err
		}
		if len(p.out) > maxProgram {
			return errEntry
		}
		if cie && reg >= 0 {
			p.initial[reg] = append([]byte(nil), p.out[at:]...)
		}
	}
	return c.err
}

// instruction copies one instruction, or what stands for it. It returns the
// register that gets a rule; -1 for none.
func (p *prepared) instruction(c *cursor, here uint64) (reg int, err error) {
	start := c.at
	op := c.u8()
	low := uint64(op & 0x3f)
	switch op & 0xc0 {
	case cfaAdvance:
		p.out = append(p.out, op)
		return -1, nil
	case cfaOffset:
		c.uleb()
		return p.rule(low, c.b[start:c.at]), nil
	case cfaRestore:
		return p.restore(low), nil
	}
	switch op {
	case cfaSetLoc:
		v := c.pointer(p.f.enc, p.f.ptr, base{here: here})
		p.out = binary.LittleEndian.AppendUint64(append(p.out, cfaSetLoc), v)
		return -1, nil
	case cfaArgsSize:
		c.uleb()
		return -1, nil
	case cfaNegateRA, cfaNegateRAPC:
		return -1, nil
	case cfaRestoreExt:
		return p.restore(c.uleb()), nil
	case cfaValOffset, cfaNegOffsetExt:
		return p.signed(op, c.uleb(), c.uleb())
	case cfaRemember:
		p.states++
	case cfaRestoreState:
		p.states--
	}
	if int(op) >= len(operands) {
		return -1, errOpcode
	}
	if p.states < 0 || p.states > maxRemember {
		return -1, errStates
	}
	return p.copy(c, start, operands[op])
}

// copy takes an instruction as it is.
func (p *prepared) copy(c *cursor, start int, kinds string) (int, error) {
	reg, has := uint64(0), false
	for _, k := range kinds {
		switch k {
		case 'R':
			reg, has = c.uleb(), true
		case 'u':
			c.uleb()
		case 's':
			c.sleb()
		case 'b':
			if err := checkExpr(c.bytes(c.uleb())); err != nil {
				return -1, err
			}
		default:
			c.bytes(uint64(k - '0'))
		}
	}
	if c.err != nil {
		return -1, c.err
	}
	if has {
		return p.rule(reg, c.b[start:c.at]), nil
	}
	p.out = append(p.out, c.b[start:c.at]...)
	return -1, nil
}

// rule keeps an instruction that gives a register a rule.
func (p *prepared) rule(reg uint64, inst []byte) int {
	if reg >= uint64(p.regs) {
		return -1
	}
	p.out = append(p.out, inst...)
	return int(reg)
}

// restore gives a register the rule that it has in the CIE.
func (p *prepared) restore(reg uint64) int {
	if reg >= uint64(p.regs) {
		return -1
	}
	if inst := p.initial[reg]; inst != nil {
		return p.rule(reg, inst)
	}
	return p.rule(reg, []byte{cfaSame, byte(reg)})
}

// signed writes an offset that is factored, unsigned or subtracted, as a
// signed one.
func (p *prepared) signed(op byte, reg, off uint64) (int, error) {
	if reg >= uint64(p.regs) {
		return -1, nil
	}
	if off > 1<<32 {
		return -1, errEntry
	}
	inst := []byte{cfaValOffsetSF, byte(reg)}
	v := int64(off)
	if op == cfaNegOffsetExt {
		inst[0], v = cfaOffsetExtSF, -v
	}
	return p.rule(reg, appendSLEB(inst, v)), nil
}

func appendSLEB(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

func appendULEB(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// checkExpr refuses an expression that is too long, or that could make the
// library allocate as much as the expression says: DW_OP_implicit_value, which
// has no meaning here. As a jump may lead into an operand, no byte of an
// expression that jumps may be that.
func checkExpr(expr []byte) error {
	const (
		opImplicit = 0x9e
		opSkip     = 0x2f
		opBra      = 0x28
	)
	if len(expr) > maxExpr {
		return errExpr
	}
	jumps, implicit := false, false
	for _, b := range expr {
		jumps = jumps || b == opSkip || b == opBra
		implicit = implicit || b == opImplicit
	}
	if implicit && jumps {
		return errExpr
	}
	c := cursor{b: expr}
	for c.left() > 0 && c.err == nil {
		op := c.u8()
		if op == opImplicit {
			return errExpr
		}
		skipOperands(&c, op)
	}
	return c.err
}

// skipOperands skips the operands of an operation of an expression. Those
// that CFI does not use have none that matter: the library refuses them.
// Source: DWARF 5, section 7.7.1.
func skipOperands(c *cursor, op byte) {
	switch {
	case op == 0x03: // addr
		c.bytes(8)
	case op >= 0x08 && op <= 0x0f: // const1u, const1s, ... const8s
		c.bytes(1 << ((op - 0x08) / 2))
	case op == 0x10, op == 0x23, op == 0x90, op == 0x93: // constu, plus_uconst, regx, piece
		c.uleb()
	case op == 0x11, op == 0x91, op >= 0x70 && op <= 0x8f: // consts, fbreg, breg
		c.sleb()
	case op == 0x92: // bregx
		c.uleb()
		c.sleb()
	case op == 0x15, op == 0x94, op == 0x95: // pick, deref_size, xderef_size
		c.u8()
	case op == 0x28, op == 0x2f: // bra, skip
		c.bytes(2)
	}
}

// section returns the entry as a .debug_frame section of its own, which the
// library parses: addresses in 8 bytes and no augmentation.
func (f *fde) section(spec *spec) ([]byte, error) {
	p := prepared{f: f, regs: spec.regs}
	le := binary.LittleEndian
	out := append(make([]byte, 4, 256), 0xff, 0xff, 0xff, 0xff, 3, 0)
	out = appendULEB(out, f.codeAlign)
	out = appendSLEB(out, f.dataAlign)
	out = appendULEB(out, f.ra)
	if err := p.run(f.cie.prog, true, 0); err != nil {
		return nil, err
	}
	out = append(out, p.out...)
	le.PutUint32(out, uint32(len(out)-4))
	if err := p.run(f.prog, false, f.progAt); err != nil {
		return nil, err
	}
	const fixed = 4 + 8 + 8 // the CIE's offset, begin and size
	out = le.AppendUint32(out, uint32(fixed+len(p.out)))
	out = le.AppendUint32(out, 0)
	out = le.AppendUint64(out, f.begin)
	out = le.AppendUint64(out, f.size)
	return append(out, p.out...), nil
}
