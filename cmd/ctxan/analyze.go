package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ctxan/analyze"
	"ctxan/analyze/rules"
	"ctxan/parse"
	"ctxan/parse/evidence"
	"ctxan/report"
)

// analyzeMain is the main job: captures in, one report out.
func analyzeMain(cmd *cobra.Command, f *flags, args []string, std stdio) error {
	if len(args) == 0 {
		return &usageError{"no capture given", "try: ctxan FILE..., or ctxan - to read standard input (see: ctxan --help)"}
	}
	if err := f.check(reportFormats...); err != nil {
		return err
	}
	if err := f.checkFailOn(); err != nil {
		return err
	}
	if err := checkCommand(cmd, args); err != nil {
		return err
	}
	return analyzeArgs(f, args, std)
}

// analyzeArgs reads captures and prints the report.
func analyzeArgs(f *flags, args []string, std stdio) error {
	scales, err := f.scales()
	if err != nil {
		return err
	}
	set, err := f.open(args, std)
	if err != nil {
		return err
	}
	r, err := conclude(set, analyze.Options{Scales: scales, Drawings: f.format == "html" || f.format == "json"}, std)
	if err != nil {
		return err
	}
	f.masked(set, r)
	if !f.mask { // else they would name what is masked
		f.more = nextLines(args)
	}
	if err := f.write(std, func(w io.Writer) error { return f.draw(w, r, std) }); err != nil {
		return err
	}
	if f.failed(r) {
		return statusError(exitFailOn)
	}
	return nil
}

// conclude analyses a set, and says what was read when it holds no evidence.
func conclude(set *evidence.Set, opt analyze.Options, std stdio) (*analyze.Result, error) {
	r, err := analyze.Run(set, rules.All(), opt)
	if !errors.Is(err, analyze.ErrNoEvidence) {
		return r, err
	}
	fmt.Fprintln(std.err, "ctxan: the input holds no switch evidence:")
	for _, s := range set.Sources {
		fmt.Fprintf(std.err, "  %s was read as %s and tells of no context switches\n", report.Plain(s.Name), s.Format)
	}
	fmt.Fprintln(std.err, captureHint)
	return nil, statusError(exitNoEvidence)
}

// checkFailOn refuses a --fail-on that could never be reached.
func (f *flags) checkFailOn() error {
	var known []string
	for _, r := range rules.All() {
		known = append(known, r.ID)
	}
	for _, g := range grades {
		known = append(known, string(g))
	}
	for _, want := range f.failOn {
		if slices.Contains(known, want) {
			continue
		}
		hint := "it takes causes and grades: " + strings.Join(known, ", ")
		if near := nearest(want, known); near != "" {
			hint = "did you mean --fail-on " + near + "?"
		}
		return &usageError{fmt.Sprintf("--fail-on %q: there is no such cause or grade", want), hint}
	}
	return nil
}

// checkCommand tells a mistyped subcommand from a file that is not there.
func checkCommand(cmd *cobra.Command, args []string) error {
	if _, err := os.Lstat(args[0]); err == nil || strings.ContainsAny(args[0], "./") {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if near := nearest(args[0], names); near != "" {
		return &usageError{fmt.Sprintf("%s is neither a file nor a command", report.Plain(args[0])), "did you mean: ctxan " + near + "?"}
	}
	return nil
}

// open reads the inputs and says on standard error which could not be used.
func (f *flags) open(args []string, std stdio) (*evidence.Set, error) {
	return f.openWith(args, f.parseOptions(std), std)
}

func (f *flags) openWith(args []string, opt parse.Options, std stdio) (*evidence.Set, error) {
	if _, tty := terminal(std.err); tty && !f.quiet {
		p := startProgress(std.err, progressAfter, progressEvery)
		opt.Meter = p
		set, problems, err := parse.Open(args, opt)
		p.stop()
		return f.opened(set, problems, err, std)
	}
	set, problems, err := parse.Open(args, opt)
	return f.opened(set, problems, err, std)
}

// opened says what could not be read.
func (f *flags) opened(set *evidence.Set, problems []error, err error, std stdio) (*evidence.Set, error) {
	if err != nil {
		return nil, &usageError{err.Error(), ""}
	}
	if !f.quiet || len(set.Sources) == 0 {
		for _, p := range problems {
			fmt.Fprintln(std.err, "ctxan:", report.Plain(p.Error()))
		}
	}
	if len(set.Sources) == 0 {
		fmt.Fprintln(std.err, captureHint)
		return nil, statusError(exitNoEvidence)
	}
	return set, nil
}

// captureHint says how to make a capture, for whoever gave something else.
const captureHint = "  a capture is made, for instance, by: perf record -a -g -e sched:sched_switch -e sched:sched_waking -o sched.data -- sleep 0.5"

func (f *flags) draw(w io.Writer, r *analyze.Result, std stdio) error {
	switch f.format {
	case "markdown":
		return report.Markdown(w, r, f.render(std))
	case "html":
		return report.HTML(w, r, f.render(std))
	case "ticket":
		return report.Ticket(w, r, f.render(std))
	case "json":
		return report.JSON(w, r)
	}
	return report.Text(w, r, f.render(std))
}

// nextLines are the command lines that say more of the same captures; none
// when a name would need quoting.
func nextLines(args []string) []string {
	for _, a := range args {
		if a == "-" || strings.ContainsFunc(a, func(r rune) bool { return r < '-' || r == '`' || r > '~' || strings.ContainsRune("<>;?[\\]^{|}", r) }) {
			return nil
		}
	}
	files := strings.Join(args, " ")
	return []string{"ctxan --format markdown -o report.md " + files, "ctxan inspect " + files}
}

// failed reports whether --fail-on names the verdict's cause, or a grade that
// the primary case has or exceeds.
func (f *flags) failed(r *analyze.Result) bool {
	c := r.Primary()
	for _, want := range f.failOn {
		if want == c.Verdict.Cause {
			return true
		}
		if g := analyze.Grade(want); g.Rank() > 0 && c.Macro.Grade.Rank() >= g.Rank() {
			return true
		}
	}
	return false
}
