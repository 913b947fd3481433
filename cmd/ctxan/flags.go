package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"ctxan/analyze"
	"ctxan/parse"
	"ctxan/parse/evidence"
	"ctxan/parse/symbol"
	"ctxan/report"
	"ctxan/report/lang"
	"ctxan/report/mask"
)

// flags are the flags of all commands.
type flags struct {
	format, output, color string
	ascii, quiet, mask    bool
	lang                  string
	catalogue             *lang.Catalogue // of lang; nil: English
	width                 int
	kallsyms, symfs       string
	failOn                []string
	cost, grades          string
	more                  []string // command lines that say more of the same captures
	selection             selection
}

func (f *flags) addInput(fs *pflag.FlagSet) {
	fs.StringVar(&f.kallsyms, "kallsyms", "", "kernel symbols of the captured machine: a copy of its /proc/kallsyms (may be .gz)")
	fs.StringVar(&f.symfs, "symfs", "", "folder that holds the captured machine's programs and libraries")
	f.selection.add(fs)
}

func (f *flags) addOutput(fs *pflag.FlagSet) {
	fs.StringVar(&f.format, "format", "text", "text, markdown, html, ticket (at most 40 lines of markdown) or json; inspect: text or json")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file, whole or not at all, instead of standard output")
	fs.StringVar(&f.color, "color", "auto", "auto (on a terminal, unless NO_COLOR is set), always or never")
	fs.BoolVar(&f.ascii, "ascii", false, "plain ASCII text")
	fs.IntVar(&f.width, "width", 0, "columns of the text report (default: the terminal's, 80 elsewhere)")
	fs.StringVar(&f.lang, "lang", "en", "language of the report, and of explain: en or zh; json is always English")
	fs.BoolVar(&f.mask, "mask", false, "replace host names, users, folders, IP addresses and command arguments, each name by the same word everywhere")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "say nothing on standard error about inputs that could not be used, unless none could")
}

func (f *flags) addVerdict(fs *pflag.FlagSet) {
	fs.StringVar(&f.cost, "cost", "", "file with what a switch costs, instead of the built-in table: lines low, high and direct with microseconds")
	fs.StringVar(&f.grades, "grades", "", "file with the grades, instead of the customary ones: lines of a rate per CPU and a grade, - extreme last")
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
	if err := f.readLang(); err != nil {
		return err
	}
	return f.selection.check()
}

// readLang finds the catalogue of the language. The environment does not choose
// it: reports go to others.
func (f *flags) readLang() error {
	c, err := lang.For(f.lang)
	hint := "write --lang " + strings.Join(lang.Names, ", --lang ")
	switch {
	case err != nil:
		return &usageError{"--lang: " + report.Plain(err.Error()), hint}
	case c != nil && f.ascii:
		return &usageError{"--ascii: " + f.lang + " has no text in ASCII", "write --lang en, or leave --ascii out"}
	}
	f.catalogue = c
	return nil
}

func (f *flags) parseOptions(std stdio) parse.Options {
	return parse.Options{Select: f.selection.part, Stdin: std.in, Hash: f.format != "text",
		Symbols: symbol.Options{Kallsyms: f.kallsyms, Symfs: f.symfs}}
}

// masked replaces the names in what was read, and in what was concluded from it.
func (f *flags) masked(set *evidence.Set, results ...*analyze.Result) {
	if !f.mask {
		return
	}
	if f.catalogue != nil && f.format != "json" { // what is translated later would not be masked
		for _, r := range results {
			*r = *report.Options{Lang: f.catalogue}.In(r)
		}
	}
	m := mask.New(set)
	m.Apply(set)
	for _, r := range results {
		m.Apply(r)
	}
}

// render tells how to draw for where the output goes.
func (f *flags) render(std stdio) report.Options {
	fd, tty := terminal(std.out)
	tty = tty && f.output == ""
	opt := report.Options{Width: f.width, ASCII: f.ascii, More: f.more, Lang: f.catalogue}
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

// write runs draw on standard output, or on the -o file. A regular file is
// written beside it first and renamed when all went well, so that it is whole
// or as it was, with its mode; a device or a pipe is written to as it is.
func (f *flags) write(std stdio, draw func(io.Writer) error) error {
	if f.output == "" || f.output == "-" {
		if err := draw(std.out); err != nil {
			return &outputError{"standard output", err}
		}
		return nil
	}
	if err := writeFile(f.output, draw); err != nil {
		return &outputError{"-o " + f.output, err}
	}
	return nil
}

// outputError is a report that could not be written.
type outputError struct {
	where string
	err   error
}

func (e *outputError) Error() string { return e.where + ": " + reason(e.err) }

func (e *outputError) Unwrap() error { return e.err }

// reason is an I/O error without the name of a temporary file.
func reason(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return err.Error()
}

func writeFile(target string, draw func(io.Writer) error) error {
	mode := fs.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	switch st, err := os.Stat(target); {
	case err == nil && st.IsDir():
		return errors.New("this is a folder; give a file name in it")
	case err == nil && !st.Mode().IsRegular():
		return writeInPlace(target, draw)
	case err == nil:
		mode = st.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = draw(tmp)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), target)
}

// writeInPlace writes to a device or a pipe.
func writeInPlace(name string, draw func(io.Writer) error) error {
	w, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = draw(w)
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}

// nearestFlag is the flag whose name is closest to a mistyped one.
func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return nearest(name, names)
}

// nearest is the name that a mistyped one is most like; "" when none is near.
func nearest(name string, names []string) string {
	best, least := "", 3
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
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
