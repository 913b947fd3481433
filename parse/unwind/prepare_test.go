package unwind

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// x86CIE is the program that CIEs of x86-64 have: the CFA is rsp+8, the return
// address at the CFA-8.
var x86CIE = []byte{cfaDef, 7, 8, cfaOffset | 16, 1}

func function(prog, cieProg []byte) *fde {
	return &fde{cie: &cie{codeAlign: 1, dataAlign: -8, ra: 16, ptr: 8, prog: cieProg}, begin: 0x1000, size: 0x100, prog: prog}
}

// text writes a row: the CFA and what each register becomes.
func (r *row) text(arch Arch) string {
	out := []string{"cfa=" + ruleText(&r.cfa, arch, true)}
	for i := range r.rules {
		out = append(out, names[arch][r.rules[i].reg]+"="+ruleText(&r.rules[i], arch, false))
	}
	return strings.Join(out, " ")
}

func TestRow(t *testing.T) {
	sub := func(n byte) byte { return cfaAdvance | n }
	for _, c := range []struct {
		name string
		cie  []byte
		prog []byte
		at   uint64
		want string
	}{
		{"at the call", nil, []byte{sub(1), cfaDefOffset, 16}, 0, "cfa=rsp+8 rip=c-8"},
		{"behind a push", nil, []byte{sub(1), cfaDefOffset, 16, cfaOffset | 6, 2}, 1, "cfa=rsp+16 rbp=c-16 rip=c-8"},
		{"frame pointer", nil, []byte{sub(1), cfaDefOffset, 16, cfaOffset | 6, 2, sub(3), cfaDefReg, 6}, 9, "cfa=rbp+16 rbp=c-16 rip=c-8"},
		{"restored to nothing", nil, []byte{cfaOffset | 3, 4, sub(1), cfaRestore | 3}, 1, "cfa=rsp+8 rip=c-8"},
		{"restored to the CIE's", append([]byte{cfaOffset | 3, 2}, x86CIE...), []byte{cfaOffset | 3, 4, sub(1), cfaRestore | 3}, 1, "cfa=rsp+8 rbx=c-16 rip=c-8"},
		{"restored to the CIE's, long", append([]byte{cfaValOffset, 3, 2}, x86CIE...), []byte{cfaUndefined, 3, cfaRestoreExt, 3}, 1, "cfa=rsp+8 rbx=v-16 rip=c-8"},
		{"remembered", nil, []byte{cfaDefOffset, 32, cfaOffset | 3, 2, cfaRemember, sub(4), cfaDefOffset, 8, cfaSame, 3, sub(4), cfaRestoreState}, 8, "cfa=rsp+32 rbx=c-16 rip=c-8"},
		{"end of the stack", nil, []byte{cfaUndefined, 16}, 0, "cfa=rsp+8 rip=u"},
		{"factored", nil, []byte{cfaDefSF, 6, 0x7e, cfaOffsetExtSF, 12, 0x7f, cfaValOffsetSF, 13, 0x7e, cfaValOffset, 14, 2}, 0, "cfa=rbp+16 r12=c+8 r13=v+16 r14=v-16 rip=c-8"},
		{"in another register", nil, []byte{cfaRegister, 16, 11}, 0, "cfa=rsp+8 rip=r11"},
		{"expressions", nil, []byte{cfaDefExpr, 3, 0x77, 8, 0x06, cfaExpr, 3, 2, 0x77, 16, cfaValExpr, 12, 2, 0x76, 8}, 0, "cfa=exp rbx=exp r12=vexp rip=c-8"},
		{"set_loc", nil, []byte{cfaSetLoc, 0x10, 0x10, 0, 0, 0, 0, 0, 0, cfaDefOffset, 64}, 0x10, "cfa=rsp+64 rip=c-8"},
		{"steps of 2 and 4 bytes", nil, []byte{cfaAdvance2, 4, 0, cfaDefOffset, 16, cfaAdvance4, 8, 0, 0, 0, cfaDefOffset, 24, cfaAdvance1, 1, cfaDefOffset, 32}, 12, "cfa=rsp+24 rip=c-8"},
		{"ignored", nil, []byte{cfaArgsSize, 16, cfaNegateRA, cfaOffset | 40, 3, cfaUndefined, 50, cfaNop}, 0, "cfa=rsp+8 rip=c-8"},
		{"negative offset", nil, []byte{cfaNegOffsetExt, 3, 2}, 0, "cfa=rsp+8 rbx=c+16 rip=c-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cie := c.cie
			if cie == nil {
				cie = x86CIE
			}
			r, err := function(c.prog, cie).row(0x1000+c.at, &specs[X86_64])
			if err != nil {
				t.Fatal(err)
			}
			if got := r.text(X86_64); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRowRefused checks that programs which the library would panic on, or
// spend memory on, are refused before it sees them.
func TestRowRefused(t *testing.T) {
	deep := make([]byte, maxRemember+1)
	for i := range deep {
		deep[i] = cfaRemember
	}
	for name, prog := range map[string][]byte{
		"no state":       {cfaRestoreState},
		"many states":    deep,
		"cut":            {cfaDefOffset},
		"cut block":      {cfaDefExpr, 200, 1, 2},
		"opcode":         {0x3b},
		"implicit value": {cfaDefExpr, 6, 0x9e, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"hidden by jump": {cfaDefExpr, 7, 0x2f, 1, 0, 0x11, 0x9e, 0xff, 0x0f},
		"endless number": append([]byte{cfaDefOffset}, []byte(strings.Repeat("\xff", 20))...),
		"cfa register":   {cfaDef, 40, 8},
	} {
		if r, err := function(prog, x86CIE).row(0x1000, &specs[X86_64]); err == nil {
			t.Errorf("%s: got %s", name, r.text(X86_64))
		}
	}
}

// TestLibrary shows what the preparation of programs is for. Where it fails,
// the library has learned something, and the preparation may go.
func TestLibrary(t *testing.T) {
	run := func(prog []byte) string {
		b := entryOf(append([]byte{0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16}, x86CIE...))
		b = append(b, fdeOf(false, false, 0, 0, 0x1000, 0x100, prog...)...)
		fdes, err := frame.Parse(b, binary.LittleEndian, 0, 8, 0)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = recover() }()
		ctx, err := fdes[0].EstablishFrame(0x1000)
		if err != nil {
			return "error"
		}
		return fmt.Sprint(ctx.Regs[3].Rule, ctx.Regs[3].Offset, ctx.Regs[16].Rule)
	}
	for _, c := range []struct {
		what, want string
		prog       []byte
	}{
		{"restore of a register of the CIE", fmt.Sprint(frame.RuleUndefined, 0, frame.RuleUndefined), []byte{cfaRestore | 16}},
		{"val_offset", fmt.Sprint(frame.RuleValOffset, 2, frame.RuleOffset), []byte{cfaValOffset, 3, 2}},
		{"negate_ra_state", "error", []byte{cfaNegateRA}},
		{"restore_state without a state", "", []byte{cfaRestoreState}},
	} {
		if got := run(c.prog); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}
