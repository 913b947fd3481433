package main

import (
	"io"

	"github.com/spf13/cobra"

	"ctxan/report"
)

func newInspect(f *flags, std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect [flags] FILE|DIR|-...",
		Short: "Show what was understood from each file, before any analysis",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{"no capture given", "try: ctxan inspect FILE..."}
			}
			if err := f.check(inspectFormats...); err != nil {
				return err
			}
			set, err := f.open(args, std)
			if err != nil {
				return err
			}
			f.masked(set)
			return f.write(std, func(w io.Writer) error {
				if f.format == "json" {
					return report.InspectJSON(w, set)
				}
				return report.InspectText(w, set, f.render(std))
			})
		},
	}
}
