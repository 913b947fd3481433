package parse

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/symbol"
)

// maxNamed is how many files a note names.
const maxNamed = 3

// noteSymbols says which symbol files of a recording were not used and why, and
// what is doubtful about those that were, with what to do about it. known are
// those that were told of with earlier recordings.
func noteSymbols(b *evidence.Builder, uses []symbol.Use, known map[string]bool) {
	groups := map[string][]symbol.Use{}
	var order []string
	for _, u := range uses {
		one, key := fmt.Sprint(u.Path, u.For, u.Used, u.Why), fmt.Sprint(u.Used, u.Why)
		if u.Why == "" || known[one] {
			continue
		}
		known[one] = true
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], u)
	}
	slices.Sort(order)
	for _, key := range order {
		b.Note(symbolNote(groups[key]))
	}
}

// symbolNote is a line about files that share a reason.
func symbolNote(uses []symbol.Use) string {
	var names []string
	for _, u := range uses {
		name := u.Path
		if u.For != "" && path.Base(u.For) != path.Base(u.Path) {
			name += " for " + u.For
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if n := len(names) - maxNamed; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	u := uses[0]
	switch {
	case u.Used:
		text = "symbols of " + text
	case u.Why == symbol.WhySplit:
		text = "not read: " + text
	default:
		text = "no symbols from " + text
	}
	text += ": " + u.Why
	if len(names) == 1 && u.Detail != "" {
		text += ", " + u.Detail
	}
	if hint := symbol.Hint(u.Why); hint != "" {
		text += "; " + hint
	}
	return text
}
