package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ctxan/analyze"
	"ctxan/parse/evidence"
	"ctxan/report/export"
)

// exportTo are the targets of export, with what they are for the help and for
// completion.
var exportTo = []struct{ name, what string }{
	{"pprof", "a profile for go tool pprof: switches, off_cpu, delay and cpu by call chain"},
	{"folded", "stacks on a line each, for flamegraph.pl, speedscope and inferno; --weight says what they count"},
	{"trace", "time on CPU and wakeups, for ui.perfetto.dev; of one perf.data, of any length"},
	{"csv", "threads, histograms and stacks, a table a file, into the folder -o DIR"},
	{"openmetrics", "the figures, for node_exporter's textfile collector"},
}

// exporter is the export command.
type exporter struct {
	*flags
	std        stdio
	to, weight string
}

func newExport(f *flags, std stdio) *cobra.Command {
	e := &exporter{flags: f, std: std}
	var what strings.Builder
	for _, t := range exportTo {
		fmt.Fprintf(&what, "\n    %-12s %s", t.name, t.what)
	}
	cmd := &cobra.Command{
		Use:   "export --to pprof|folded|trace|csv|openmetrics [flags] FILE|DIR|-...",
		Short: "Carry captures into other tools",
		Long: "export writes what captures hold for other tools. Of several recordings of one\nload the one is used that the report uses. The selection (--pid, --time ...)\nholds as in the report.\n" +
			what.String(),
		Example: `  ctxan export --to pprof -o switches.pb.gz sched.data && go tool pprof -http : switches.pb.gz
  ctxan export --to folded --weight off_cpu sched.data | flamegraph.pl --countname ns > off.svg
  ctxan export --to trace -o trace.json.gz --time 7502.5,7503 sched.data
  ctxan export --to openmetrics -o /var/lib/node_exporter/ctxan.prom captures/`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return e.run(cmd, args) },
	}
	cmd.Flags().StringVar(&e.to, "to", "", "pprof, folded, trace, csv or openmetrics")
	cmd.Flags().StringVar(&e.weight, "weight", "", "what folded stacks count: "+strings.Join(export.Weights, ", ")+" (default: switches, or cpu where there are none)")
	return cmd
}

func (e *exporter) run(cmd *cobra.Command, args []string) error {
	if err := e.check(cmd, args); err != nil {
		return err
	}
	if e.to == "trace" {
		return e.trace(args)
	}
	set, err := e.open(args, e.std)
	if err != nil {
		return err
	}
	switch e.to {
	case "pprof", "folded":
		e.masked(set)
	}
	switch e.to {
	case "pprof":
		return e.stacks(set, func(w io.Writer) error { return export.Pprof(w, set) })
	case "folded":
		return e.stacks(set, func(w io.Writer) error { return export.Folded(w, set, e.weight) })
	}
	r, err := conclude(set, analyze.Options{}, e.std)
	if err != nil {
		return err
	}
	e.masked(set, r)
	if e.to == "csv" {
		return e.folder(export.CSV(set, r))
	}
	return e.write(func(w io.Writer) error { return export.OpenMetrics(w, r) })
}

// check refuses what cannot be exported before anything is read.
func (e *exporter) check(cmd *cobra.Command, args []string) error {
	var names []string
	for _, t := range exportTo {
		names = append(names, t.name)
	}
	all := "write --to " + strings.Join(names, ", --to ")
	switch {
	case e.to == "":
		return &usageError{"--to says what to export to, and is missing", all}
	case !slices.Contains(names, e.to):
		if near := nearest(e.to, names); near != "" {
			all = "did you mean --to " + near + "?"
		}
		return &usageError{fmt.Sprintf("--to %s: there is no such target", e.to), all}
	case len(args) == 0:
		return &usageError{"no capture given", "try: ctxan export --to " + e.to + " FILE..."}
	case cmd.Flags().Changed("format"):
		return &usageError{"--format is for reports", "export takes --to"}
	case e.mask && e.to == "trace":
		return &usageError{"--mask is not for --to trace", "a trace is written before all names are known that would be masked"}
	case e.weight != "" && e.to != "folded":
		return &usageError{"--weight is for --to folded", "pprof holds every weight: go tool pprof -sample_index=" + e.weight}
	case e.weight != "" && !slices.Contains(export.Weights, e.weight):
		return &usageError{fmt.Sprintf("--weight %s: not a choice", e.weight), "write --weight " + strings.Join(export.Weights, ", --weight ")}
	case e.to == "csv" && (e.output == "" || e.output == "-"):
		return &usageError{"--to csv writes several tables", "write -o DIR, the folder for them"}
	}
	if _, tty := terminal(e.std.out); tty && e.to == "pprof" && e.output == "" {
		return &usageError{"a profile is binary, and this is a terminal", "write -o profile.pb.gz"}
	}
	return e.selection.check()
}

// stacks writes an export of call chains, and says which it left out.
func (e *exporter) stacks(set *evidence.Set, draw func(io.Writer) error) error {
	err := e.write(draw)
	var missing *export.MissingError
	if errors.As(err, &missing) {
		fmt.Fprintln(e.std.err, "ctxan:", missing)
		return statusError(exitNoEvidence)
	}
	if left := export.Unused(set); err == nil && len(left) > 0 && !e.quiet {
		fmt.Fprintln(e.std.err, "ctxan: not exported, as recordings of one load are not added up:", strings.Join(left, "; "))
	}
	return err
}

// write is the flags' write, packed when the name of the file says so.
func (e *exporter) write(draw func(io.Writer) error) error {
	if !strings.HasSuffix(e.output, ".gz") || e.to == "pprof" { // which is packed as it is
		return e.flags.write(e.std, draw)
	}
	return e.flags.write(e.std, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := draw(z); err != nil {
			return err
		}
		return z.Close()
	})
}

// folder writes tables into the -o folder, each whole or not at all.
func (e *exporter) folder(tables []export.Table) error {
	if err := os.MkdirAll(e.output, 0o755); err != nil {
		return &outputError{"-o " + e.output, err}
	}
	for _, t := range tables {
		name := filepath.Join(e.output, t.Name+".csv")
		if err := writeFile(name, t.Write); err != nil {
			return &outputError{name, err}
		}
	}
	return nil
}
