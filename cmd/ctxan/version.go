package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newVersion(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Show the version and how it was built",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			return writeVersion(std.out, info)
		},
	}
}

// writeVersion writes what a program knows of its build; nil: nothing.
func writeVersion(w io.Writer, info *debug.BuildInfo) error {
	s := buildOf(info)
	_, err := fmt.Fprintf(w, "ctxan %s\n", s.version)
	if err == nil && s.revision != "" {
		_, err = fmt.Fprintf(w, "revision %s\n", s.revision)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "built with %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	}
	return err
}

// build is what a program knows of its build.
type build struct {
	version, revision string
	time              time.Time // of the revision; zero: not known
}

func buildOf(info *debug.BuildInfo) build {
	b := build{version: "(unknown)"}
	if info == nil {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if b.revision = set["vcs.revision"]; b.revision != "" {
		if t, err := time.Parse(time.RFC3339, set["vcs.time"]); err == nil {
			b.time = t
			b.revision += " of " + t.UTC().Format(time.DateOnly)
		}
		if set["vcs.modified"] == "true" {
			b.revision += ", modified"
		}
	}
	return b
}

// newMan is for packagers, and not listed.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the man pages into a folder",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{"man takes the folder for the pages", "write: ctxan man share/man/man1"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &outputError{args[0], err}
			}
			info, _ := debug.ReadBuildInfo()
			b := buildOf(info)
			date := manDate(b, os.Getenv("SOURCE_DATE_EPOCH"))
			head := &doc.GenManHeader{Section: "1", Source: "ctxan " + b.version, Manual: "ctxan", Date: &date}
			if err := doc.GenManTree(cmd.Root(), head, args[0]); err != nil {
				return &outputError{args[0], err}
			}
			return nil
		},
	}
}

// manDate is the date on the pages: the one that a reproducible build asks for,
// else that of the revision, else today.
func manDate(b build, epoch string) time.Time {
	if n, err := strconv.ParseInt(epoch, 10, 64); err == nil {
		return time.Unix(n, 0).UTC()
	}
	if !b.time.IsZero() {
		return b.time
	}
	return time.Now()
}
