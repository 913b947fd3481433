package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses, as the help and the README give them.
const (
	exitOK         = 0
	exitFailOn     = 1
	exitUsage      = 2
	exitNoEvidence = 3
)

// usageError is a command line that cannot be run; hint says what to type.
type usageError struct{ msg, hint string }

func (e *usageError) Error() string {
	if e.hint == "" {
		return e.msg
	}
	return e.msg + "\n  " + e.hint
}

// statusError ends the run with a status, and nothing more to say.
type statusError int

func (e statusError) Error() string { return fmt.Sprint("exit status ", int(e)) }

// run executes a command line and returns its exit status.
func run(args []string, std stdio) int {
	root := newRoot(std)
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	err := root.Execute()
	var status statusError
	var usage *usageError
	var output *outputError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage), errors.As(err, &output):
		fmt.Fprintln(std.err, "ctxan:", err)
		return exitUsage
	}
	fmt.Fprintln(std.err, "ctxan:", err)
	return exitNoEvidence
}

const longHelp = `ctxan reads what you have about a context-switch problem - perf stat,
pidstat -w, perf sched timehist or perf report text, perf.data, a folder of
them, or a paste of several - and prints one chain of evidence: how much, who,
and where in the code, with the cause it names, what speaks against it, and
what to run next.

Formats are told by content, never by name. "-" is standard input.

Exit status: 0 done; 1 done, and --fail-on was reached; 2 usage error, or the
report could not be written; 3 no usable evidence in any input; 4 record could
not measure.`

func newRoot(std stdio) *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:   "ctxan [flags] FILE|DIR|-...",
		Short: "Explain context switches from captures",
		Long:  longHelp,
		Example: `  ctxan perf-stat.txt                      one pasted file
  ctxan perf-stat.txt pidstat.txt sched.data
  ctxan --format html -o report.html captures/
  ctxan --kallsyms kallsyms.gz --symfs /srv/build sched.data
  perf stat -p 4711 -- sleep 3 2>&1 | ctxan -`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		RunE:              func(cmd *cobra.Command, args []string) error { return analyzeMain(cmd, f, args, std) },
	}
	root.SetFlagErrorFunc(flagError)
	f.addInput(root.PersistentFlags())
	f.addOutput(root.PersistentFlags())
	f.addVerdict(root.Flags())
	root.AddCommand(newInspect(f, std), newRecord(f, std), newExport(f, std), newExplain(f, std), newVersion(std), newMan())
	complete(root)
	return root
}

// flagError turns pflag's messages into one that says what to type.
func flagError(cmd *cobra.Command, err error) error {
	hint := "see: " + cmd.CommandPath() + " --help"
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		if near := nearestFlag(cmd, name); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return &usageError{err.Error(), hint}
}
