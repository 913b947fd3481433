package main

import (
	"fmt"
	"io"
	"runtime/debug"

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
			if err := f.check("text", "json"); err != nil {
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

func newVersion(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version and how it was built",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				_, err := fmt.Fprintln(std.out, "ctxan (built without module information)")
				return err
			}
			_, err := fmt.Fprintf(std.out, "ctxan %s, %s\n", info.Main.Version, info.GoVersion)
			return err
		},
	}
}
