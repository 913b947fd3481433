package main

import (
	"slices"

	"github.com/spf13/cobra"

	"ctxan/analyze"
	"ctxan/analyze/rules"
	"ctxan/report/export"
	"ctxan/report/lang"
)

// reportFormats are the formats of the report, inspectFormats those of inspect.
var (
	reportFormats  = []string{"text", "markdown", "html", "ticket", "json"}
	inspectFormats = []string{"text", "json"}
)

// grades are those that --fail-on takes.
var grades = []analyze.Grade{analyze.GradeHealthy, analyze.GradeNormal, analyze.GradeElevated, analyze.GradeSevere, analyze.GradeExtreme}

// complete makes the values of a command's flags complete; names of files do by
// themselves.
func complete(cmd *cobra.Command) {
	for flag, f := range map[string]cobra.CompletionFunc{
		"format":  completeFormat,
		"color":   oneOf([]string{"auto", "always", "never"}),
		"lang":    oneOf(lang.Names),
		"fail-on": oneOf(failOnValues()),
		"to":      oneOf(exportTargets()),
		"weight":  oneOf(export.Weights),
		"schema":  oneOf(schemaNames),
	} {
		if cmd.LocalFlags().Lookup(flag) == nil || cmd.InheritedFlags().Lookup(flag) != nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
			panic(err) // there is the flag, and this is the only place
		}
	}
	for _, c := range cmd.Commands() {
		complete(c)
	}
}

func oneOf(values []cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// completeFormat completes --format, of which inspect takes fewer.
func completeFormat(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := reportFormats
	if cmd.Name() == "inspect" {
		list = inspectFormats
	}
	return slices.Clone(list), cobra.ShellCompDirectiveNoFileComp
}

func exportTargets() []cobra.Completion {
	var out []cobra.Completion
	for _, t := range exportTo {
		out = append(out, cobra.CompletionWithDesc(t.name, t.what))
	}
	return out
}

func failOnValues() []cobra.Completion {
	var out []cobra.Completion
	for _, g := range grades {
		out = append(out, cobra.CompletionWithDesc(string(g), "this grade, or a worse one"))
	}
	for _, r := range rules.All() {
		out = append(out, cobra.CompletionWithDesc(r.ID, r.Doc))
	}
	return out
}
