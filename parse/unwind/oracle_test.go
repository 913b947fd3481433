package unwind

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"ctxan/parse/symbol"
	"ctxan/testdata/shared"
)

// TestReadelf compares the rows of whole files with those that binutils'
// readelf prints: the CFA, the return address and every saved register, at the
// first and the last byte that each row covers.
func TestReadelf(t *testing.T) {
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("no readelf")
	}
	for _, c := range []struct {
		name string
		arch Arch
		rows int // at least
	}{
		{"chains", X86_64, 58}, {"chains_debug", X86_64, 58}, {"objects", X86_64, 309}, {"vdso", X86_64, 37},
		{"ld-linux-x86-64.so.2", X86_64, 2097}, {"libc.so.6", X86_64, 23757}, {"libstdc++.so.6", X86_64, 29347},
		{"arm64", ARM64, 32}, {"arm64_debug", ARM64, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.rows > 5000 {
				t.Skip("many rows")
			}
			b := shared.Gunzip(t, filepath.Join(testdata, "bin", c.name+".gz"))
			file := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			// It complains about sections that are zero, and exits with 1.
			out, _ := exec.Command(readelf, "--debug-dump=frames-interp", file).Output()
			u := New(memory{object(t, c.name, b)})
			if n := compareRows(t, u.Object(symbol.Mapping{Path: c.name}), c.arch, out); n < c.rows {
				t.Errorf("only %d rows, want %d", n, c.rows)
			} else {
				t.Logf("%d rows equal", n)
			}
		})
	}
}

// inRegister is a register that is kept in another one.
var inRegister = regexp.MustCompile(`\br\d+ \((\w+)\)`)

var fdeLine = regexp.MustCompile(`FDE cie=.* pc=([0-9a-f]+)\.\.([0-9a-f]+)$`)

// compareRows compares all rows that readelf printed. It returns how many.
func compareRows(t *testing.T, o *Object, arch Arch, out []byte) (n int) {
	t.Helper()
	var columns, row []string
	var begin, end uint64
	check := func(to uint64) {
		if row == nil {
			return
		}
		for _, pc := range []uint64{hex(t, row[0]), to - 1} {
			if pc < hex(t, row[0]) {
				continue
			}
			got, why := o.row(pc, arch)
			if why != Complete {
				t.Errorf("at %#x: %v", pc, why)
			} else if diff := differs(got, columns[1:], row[1:], arch); diff != "" {
				t.Errorf("at %#x: %s\n%v\n%v\n%+v", pc, diff, columns, row, got)
			}
		}
		n++
		row = nil
	}
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() && !t.Failed() {
		line := inRegister.ReplaceAllString(sc.Text(), "$1")
		f := strings.Fields(line)
		switch m := fdeLine.FindStringSubmatch(line); {
		case m != nil:
			check(end)
			begin, end = hex(t, m[1]), hex(t, m[2])
			columns = nil
		case strings.Contains(line, " CIE ") || len(f) == 0:
			check(end)
			columns = nil
			if len(f) > 0 {
				begin, end = 0, 0
			}
		case f[0] == "LOC":
			columns = f
		case columns != nil && end > begin && len(f) > 1 && len(f[0]) == 16:
			check(hex(t, f[0]))
			row = f
		}
	}
	check(end)
	return n
}

func hex(t *testing.T, s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// names are readelf's names of registers, by number.
var names = map[Arch][]string{
	X86_64: {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"},
	ARM64: {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
		"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"},
}

// differs tells what of a row is not as readelf has it; "" for nothing.
func differs(r *row, columns, want []string, arch Arch) string {
	have := map[string]string{"CFA": ruleText(&r.cfa, arch, true)}
	for i := range r.rules {
		name := "ra"
		if ru := &r.rules[i]; ru.reg != r.ra {
			name = names[arch][ru.reg]
		}
		have[name] = ruleText(&r.rules[i], arch, false)
	}
	for i, col := range columns {
		got, w := have[col], want[i]
		delete(have, col)
		if w == "u" || w == "s" || col[0] == 'v' || col[0] == 'd' || col[0] == 'x' && col[1] == 'm' {
			// It prints u for what has no rule as well.
			if got != "" && got != "u" {
				return fmt.Sprintf("%s is %s, want %s", col, got, w)
			}
			continue
		}
		if got != w {
			return fmt.Sprintf("%s is %s, want %s", col, got, w)
		}
	}
	for col, got := range have {
		if got != "u" {
			return fmt.Sprintf("%s is %s, want none", col, got)
		}
	}
	return ""
}

func ruleText(ru *rule, arch Arch, cfa bool) string {
	switch ru.kind {
	case frame.RuleCFA:
		return fmt.Sprintf("%s%+d", names[arch][ru.from], ru.off)
	case frame.RuleOffset:
		return fmt.Sprintf("c%+d", ru.off)
	case frame.RuleValOffset:
		return fmt.Sprintf("v%+d", ru.off)
	case frame.RuleRegister:
		return names[arch][ru.from]
	case frame.RuleExpression, ruleAt:
		return "exp"
	case frame.RuleValExpression:
		return "vexp"
	}
	return "u"
}
