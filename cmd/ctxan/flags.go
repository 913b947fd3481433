package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"ctxan/parse"
	"ctxan/parse/symbol"
	"ctxan/report"
)

// flags are the flags of all commands.
type flags struct {
	format, output, color string
	ascii, quiet          bool
	width                 int
	kallsyms, symfs       string
	failOn                []string
}

func (f *flags) addInput(fs *pflag.FlagSet) {
	fs.StringVar(&f.kallsyms, "kallsyms", "", "kernel symbols of the captured machine: a copy of its /proc/kallsyms (may be .gz)")
	fs.StringVar(&f.symfs, "symfs", "", "folder that holds the captured machine's programs and libraries")
}

func (f *flags) addOutput(fs *pflag.FlagSet) {
	fs.StringVar(&f.format, "format", "text", "text, markdown or json (inspect: text or json)")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file, whole or not at all, instead of standard output")
	fs.StringVar(&f.color, "color", "auto", "auto (on a terminal, unless NO_COLOR is set), always or never")
	fs.BoolVar(&f.ascii, "ascii", false, "plain ASCII text")
	fs.IntVar(&f.width, "width", 0, "columns of the text report (default: the terminal's, 80 elsewhere)")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "say nothing on standard error about inputs that could not be used, unless none could")
}

func (f *flags) addVerdict(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.failOn, "fail-on", nil, "exit with 1 when the verdict is one of these causes, or the grade is this one or worse (healthy, normal, elevated, severe, extreme)")
}

// check validates what pflag cannot.
func (f *flags) check(formats ...string) error {
	if !slices.Contains(formats, f.format) {
		return &usageError{fmt.Sprintf("--format %s: there is no such format here", f.format), "write --format " + strings.Join(formats, ", --format ")}
	}
	if !slices.Contains([]string{"auto", "always", "never"}, f.color) {
		return &usageError{fmt.Sprintf("--color %s: not a choice", f.color), "write --color auto, --color always or --color never"}
	}
	if f.width != 0 && f.width < 40 {
		return &usageError{fmt.Sprintf("--width %d: a report needs 40 columns", f.width), "write --width 80"}
	}
	return nil
}

func (f *flags) parseOptions(std stdio) parse.Options {
	return parse.Options{Stdin: std.in, Hash: f.format != "text",
		Symbols: symbol.Options{Kallsyms: f.kallsyms, Symfs: f.symfs}}
}

// render tells how to draw for where the output goes.
func (f *flags) render(std stdio) report.Options {
	fd, tty := terminal(std.out)
	tty = tty && f.output == ""
	opt := report.Options{Width: f.width, ASCII: f.ascii}
	if opt.Width == 0 && tty {
		if w, _, err := term.GetSize(fd); err == nil {
			opt.Width = max(w, 40)
		}
	}
	if opt.Width == 0 {
		if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && tty && w >= 40 {
			opt.Width = w
		}
	}
	opt.Color = f.color == "always" || (f.color == "auto" && tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
	return opt
}

func terminal(w io.Writer) (fd int, ok bool) {
	if f, is := w.(*os.File); is {
		fd = int(f.Fd())
		return fd, term.IsTerminal(fd)
	}
	return 0, false
}

// write runs draw on standard output, or on the -o file: beside it first, and
// renamed when all went well, so that a file is whole or not there.
func (f *flags) write(std stdio, draw func(io.Writer) error) error {
	if f.output == "" || f.output == "-" {
		return draw(std.out)
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.output), "."+filepath.Base(f.output)+".*")
	if err != nil {
		return fmt.Errorf("-o %s: %w", f.output, err)
	}
	defer os.Remove(tmp.Name())
	err = draw(tmp)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), f.output)
	}
	if err != nil {
		return fmt.Errorf("-o %s: %w", f.output, err)
	}
	return nil
}

// nearestFlag is the flag whose name is closest to a mistyped one.
func nearestFlag(cmd *cobra.Command, name string) string {
	best, least := "", 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < least {
			best, least = f.Name, d
		}
	})
	return best
}

// distance is the Levenshtein distance of two short names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
