package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/analyze"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "report", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got); write it anew with -update if that is meant:\n%s", name, d)
	}
}

// results are the results that goldens are made of.
func results() map[string]*analyze.Result {
	return map[string]*analyze.Result{"reference": reference(), "counters": counters(), "machine": machine(), "crowd": crowd(), "empty": empty(),
		"hostile": hostile("evil\x1b[31m\u202e<b>|`x`\xff*_[y](z)")}
}

func setText(t *testing.T, r *analyze.Result, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for name, r := range results() {
		for _, w := range []int{60, 80, 120} {
			golden(t, fmt.Sprintf("%s-%d.txt", name, w), []byte(setText(t, r, Options{Width: w, More: []string{"ctxan explain " + "short-sleep-polling"}})))
		}
		golden(t, name+"-ascii.txt", []byte(setText(t, r, Options{ASCII: true})))
		golden(t, name+"-color.txt", []byte(setText(t, r, Options{Color: true})))
	}
}

// TestWidth holds every line to the page, in every result and with every name,
// except commands, whose parts are not broken.
func TestWidth(t *testing.T) {
	for name, r := range results() {
		for _, w := range []int{40, 47, 60, 66, 79, 80, 100, 120, 200} {
			checkWidth(t, name, r, Options{Width: w})
			checkWidth(t, name, r, Options{Width: w, ASCII: true})
		}
	}
	for _, n := range hostileNames() {
		r := hostile(n)
		for _, w := range []int{40, 80, 120} {
			checkWidth(t, n, r, Options{Width: w})
			checkWidth(t, n, r, Options{Width: w, ASCII: true})
		}
	}
}

func checkWidth(t *testing.T, name string, r *analyze.Result, opt Options) {
	t.Helper()
	commands := commandsOf(r)
	for _, l := range strings.Split(setText(t, r, opt), "\n") {
		if width(l) > opt.Width && !partOfCommand(l, commands) {
			t.Errorf("%q at %d, ascii %v: %d columns: %q", name, opt.Width, opt.ASCII, width(l), l)
		}
	}
}

// commandsOf are all command lines of a result, as they are shown.
func commandsOf(r *analyze.Result) []string {
	var out []string
	add := func(s string) { out = append(out, unitsString(nameUnits(s, false))) }
	for _, c := range r.Cases {
		for _, x := range c.Verdict.Settle {
			add(x.Line)
		}
		for _, x := range c.Next {
			add(x.Line)
		}
		for i := range c.Chain {
			add(c.Chain[i].Capture.V)
		}
		for i := range c.Findings {
			for _, x := range c.Findings[i].Next {
				add(x.Line)
			}
		}
	}
	return out
}

func partOfCommand(line string, commands []string) bool {
	line = strings.TrimSuffix(strings.TrimLeft(line, " │┆|:"), ` \`)
	for _, label := range []string{"settle    ", "next      ", "more: "} {
		line = strings.TrimPrefix(line, label)
	}
	for _, c := range commands {
		for _, part := range append(strings.Split(c, "\n"), c) {
			if strings.Contains(part, line) {
				return true
			}
		}
	}
	return false
}

// TestCommandsRunAsPrinted joins the lines of printed commands again.
func TestCommandsRunAsPrinted(t *testing.T) {
	for _, cmd := range []string{
		hrtimerCommand,
		"perf record -a -g -e sched:sched_switch -e sched:sched_waking -o sched.data -- sleep 0.5",
		"perf stat -t " + strings.Repeat("100000,", 40) + "1 -o perf-stat.txt -- sleep 3",
		`perf record -o 'a file with blanks' -- sh -c "while :; do true -x -y -z -v -w; done" && ctxan 'a file with blanks'`,
		"LC_ALL=C pidstat -w -t -p 1 1 3 > pidstat.txt", "x",
	} {
		for w := 40; w < 130; w += 7 {
			p := newPage(Options{Width: w})
			p.command(plain("    "), plain("    "), cmd)
			got := strings.Join(shellWords(strings.ReplaceAll(p.buf.String(), "\\\n", "")), " ")
			if got = strings.TrimSpace(got); got != cmd {
				t.Errorf("at %d columns:\n%s\nreads as %q, want %q", w, p.buf.String(), got, cmd)
			}
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9]+m")

// TestColorAddsNothing: without its colours a report is the plain one.
func TestColorAddsNothing(t *testing.T) {
	for name, r := range results() {
		color, plain := setText(t, r, Options{Color: true}), setText(t, r, Options{})
		if d := cmp.Diff(plain, sgr.ReplaceAllString(color, "")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if name != "empty" && color == plain {
			t.Errorf("%s has no colour", name)
		}
	}
}

func TestASCII(t *testing.T) {
	for name, r := range results() {
		for i, b := range []byte(setText(t, r, Options{ASCII: true})) {
			if b >= 0x80 {
				t.Fatalf("%s: byte %#x at %d", name, b, i)
			}
		}
	}
}

// TestOrder holds the order of the parts.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		r     *analyze.Result
		parts []string
	}{
		{reference(), []string{"ctxan", "VERDICT", "CHAIN", "ADVICE", "1 MACRO", "2 THREADS", "3 STACKS", "FINDINGS", "REJECTED", "CHECKS", "SOURCES"}},
		{counters(), []string{"ctxan", "VERDICT", "CHAIN", "CANDIDATES", "EXCLUDED", "1 MACRO", "SOURCES"}},
		{machine(), []string{"ctxan", "VERDICT", "CHAIN", "1 MACRO", "2 THREADS", "3 STACKS", "FINDINGS", "CHECKS", "SOURCES", "OTHER SUBJECTS"}},
	} {
		var got []string
		for _, l := range strings.Split(setText(t, c.r, Options{}), "\n") {
			if l == "" || l[0] == ' ' {
				continue
			}
			for _, p := range c.parts {
				if l == p || strings.HasPrefix(l, p+" ") {
					got = append(got, p)
				}
			}
		}
		if d := cmp.Diff(c.parts, got); d != "" {
			t.Error(d)
		}
	}
}

func TestNoCase(t *testing.T) {
	for _, r := range []*analyze.Result{nil, {}, {Cases: []*analyze.Case{nil}}} {
		for name, err := range map[string]error{"text": Text(io.Discard, r, Options{}), "markdown": Markdown(io.Discard, r, Options{}), "json": JSON(io.Discard, r)} {
			if !errors.Is(err, ErrNoCase) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
