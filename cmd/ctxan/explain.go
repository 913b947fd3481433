package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ctxan/report"
	"ctxan/report/explain"
)

// schemaNames are the outputs in JSON that have a schema.
var schemaNames = []string{"result", "evidence"}

func newExplain(f *flags, std stdio) *cobra.Command {
	var schema string
	cmd := &cobra.Command{
		Use:   "explain [ID...]",
		Short: "Say what a figure, a grade, a cause, a check or a wait is",
		Long: `explain says in a paragraph what a figure, a grade, a cause, a check, a
trigger or a wait of a report is. Without an ID it lists them.

--schema prints the JSON Schema of a report (result) or of inspect (evidence).`,
		Example: `  ctxan explain short-sleep-polling
  ctxan explain layer-sum elevated
  ctxan explain --schema evidence`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("schema"):
				return f.explainSchema(schema, args, std)
			case len(args) == 0:
				return f.write(std, func(w io.Writer) error { return explain.List(w, f.render(std)) })
			}
			topics, err := topicsOf(args)
			if err != nil {
				return err
			}
			return f.write(std, func(w io.Writer) error { return explain.Write(w, topics, f.render(std)) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, t := range explain.Topics() {
				ids = append(ids, t.ID+"\t"+t.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&schema, "schema", "", "print a JSON Schema: result or evidence")
	cmd.Flags().Lookup("schema").NoOptDefVal = schemaNames[0]
	return cmd
}

// topicsOf finds what the ids mean.
func topicsOf(ids []string) ([]explain.Topic, error) {
	var out []explain.Topic
	for _, id := range ids {
		found := explain.Find(id)
		if len(found) == 0 {
			var known []string
			for _, t := range explain.Topics() {
				known = append(known, t.ID)
			}
			hint := "ctxan explain lists what there is"
			if near := nearest(id, known); near != "" {
				hint = "did you mean: ctxan explain " + near + "?"
			}
			return nil, &usageError{fmt.Sprintf("nothing is called %s", report.Plain(id)), hint}
		}
		out = append(out, found...)
	}
	return out, nil
}

// explainSchema prints a schema: --schema, --schema evidence or --schema=evidence.
func (f *flags) explainSchema(name string, args []string, std stdio) error {
	if len(args) == 1 && name == schemaNames[0] {
		name, args = args[0], nil
	}
	p, err := report.Schema(name)
	if err != nil || len(args) > 0 {
		return &usageError{fmt.Sprintf("--schema %s: there is no such schema", report.Plain(name)), "write --schema " + strings.Join(schemaNames, ", --schema ")}
	}
	return f.write(std, func(w io.Writer) error {
		_, err := w.Write(p)
		return err
	})
}
