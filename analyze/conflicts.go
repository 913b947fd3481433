package analyze

import (
	"fmt"
	"slices"
	"strings"
)

// conflicts says which captures are of different subjects, and so not merged.
func (g *grouping) conflicts() []Check {
	var named []*selection
	hosts := map[string]string{}
	for _, s := range g.list {
		if s.named && s.subject.Kind != SubjectMachine && !g.partOfCommand(s) {
			named = append(named, s)
		}
	}
	var out []Check
	if len(named) > 1 {
		parts := make([]string, len(named))
		for i, s := range named {
			parts[i] = fmt.Sprintf("%s in %s", s.subject.Name(), g.names(s.sources))
		}
		out = append(out, Check{ID: "subjects", Status: CheckDiffer,
			Text: Textf("the captures are of different subjects and were not merged: %s", strings.Join(parts, "; "))})
	}
	for _, src := range g.set.Sources {
		if h := src.Host.Name; h != "" && g.set.Usable(src.ID) {
			if _, ok := hosts[h]; !ok {
				hosts[h] = src.Name
			}
		}
	}
	if len(hosts) > 1 {
		var parts []string
		for h, f := range hosts {
			parts = append(parts, h+" in "+f)
		}
		slices.Sort(parts)
		out = append(out, Check{ID: "hosts", Status: CheckDiffer, Lowers: true,
			Text: Textf("the captures come from different machines: %s", strings.Join(parts, ", "))})
	}
	return out
}

// partOfCommand reports whether a process is among those of a recorded command.
func (g *grouping) partOfCommand(p *selection) bool {
	return p.subject.Kind == SubjectProcess && slices.ContainsFunc(g.list, func(c *selection) bool {
		return c.subject.Kind == SubjectCommand && slices.ContainsFunc(c.sources, func(src int) bool { return g.sees(src, p) })
	})
}

func (g *grouping) names(ids []int) string {
	var out []string
	for _, id := range ids {
		if n := g.set.Source(id).Name; !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}
