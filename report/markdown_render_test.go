package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"ctxan/analyze"
	"ctxan/analyze/rules"
	"ctxan/parse"
)

var (
	tableHTML = regexp.MustCompile(`(?s)<table>.*?</table>`)
	rowHTML   = regexp.MustCompile(`(?s)<tr>.*?</tr>`)
	cellHTML  = regexp.MustCompile(`<t[hd][ >]`)
	fences    = regexp.MustCompile("(?s)\n *(````*|~~~~*).*?\n *(````*|~~~~*)\n")
	// What acts: scripts, images, links, handlers. The report itself has none.
	activeHTML = regexp.MustCompile(`<(script|img|iframe|[^>]*\s(href|src|on\w+)=)`)
	codeHTML   = regexp.MustCompile(`(?s)<code.*?</code>`)
)

// holdTables renders Markdown as GitHub does, and fails for a table that fell
// apart: a row of more or fewer cells than its head, or one left in the text.
func holdTables(t *testing.T, name string, src []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(src, &b); err != nil {
		t.Fatal(err)
	}
	tables := tableHTML.FindAllString(b.String(), -1)
	if want := strings.Count(string(src), "\n|---") + strings.Count(string(src), "\n|--:"); len(tables) != want || want == 0 {
		t.Errorf("%q: %d tables are rendered of %d", name, len(tables), want)
	}
	text := "\n" + fences.ReplaceAllString(string(src), "\n")
	rows := 0
	for _, table := range tables {
		cells := -1
		for _, row := range rowHTML.FindAllString(table, -1) {
			rows++
			n := len(cellHTML.FindAllString(row, -1))
			if cells < 0 {
				cells = n
			}
			if n != cells {
				t.Errorf("%q: a row of %d cells in a table of %d: %s", name, n, cells, row)
			}
		}
	}
	if lines := strings.Count(text, "\n| ") + strings.Count(text, "\n|---") + strings.Count(text, "\n|--:"); lines != rows+len(tables) {
		t.Errorf("%q: %d lines of tables came out as %d rows", name, lines-len(tables), rows)
	}
	rest := codeHTML.ReplaceAllString(tableHTML.ReplaceAllString(b.String(), ""), "")
	if strings.Contains(rest, "|--") || strings.Contains(rest, "\n| ") {
		t.Errorf("%q: a table is left in the text", name)
	}
	if activeHTML.MatchString(b.String()) {
		t.Errorf("%q: active content", name)
	}
}

// TestMarkdownTables: every table of a report and a ticket is one when rendered,
// for made-up results, hostile names, and captures.
func TestMarkdownTables(t *testing.T) {
	all := results()
	delete(all, "empty") // has none
	for _, n := range hostileNames() {
		all[n] = hostile(n)
	}
	for _, paths := range [][]string{{"reference"}, {"perfdata/perf-6.1-system.data"}, {"timehist/perf61-callchains.txt"}, {"pidstat"}} {
		for i := range paths {
			paths[i] = "../testdata/" + paths[i]
		}
		set, _, err := parse.Open(paths, parse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := analyze.Run(set, rules.All(), analyze.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all[paths[0]] = r
	}
	for name, r := range all {
		holdTables(t, name, setMarkdown(t, r))
		if len(r.Primary().Chain) > 0 {
			holdTables(t, "ticket of "+name, setTicket(t, r))
		}
	}
}
