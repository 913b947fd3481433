package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"

	"ctxan/analyze"
)

func setMarkdown(t *testing.T, r *analyze.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMarkdownGolden(t *testing.T) {
	for name, r := range results() {
		golden(t, name+".md", setMarkdown(t, r))
	}
}

// shape is what a document is made of, without the names in it: headings and
// their levels, tables and their sizes, lists, code blocks, raw HTML.
func shape(src []byte) []string {
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(gmtext.NewReader(src))
	var out []string
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			if s := shapeOf(n, src); s != "" {
				out = append(out, s)
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

func shapeOf(n ast.Node, src []byte) string {
	switch n := n.(type) {
	case *ast.Heading:
		return fmt.Sprintf("heading %d", n.Level)
	case *east.Table:
		return fmt.Sprintf("table of %d columns", len(n.Alignments))
	case *east.TableRow, *east.TableHeader:
		return fmt.Sprintf("row of %d cells", n.ChildCount())
	case *ast.List:
		return fmt.Sprintf("list of %d items", n.ChildCount())
	case *ast.FencedCodeBlock:
		return fmt.Sprintf("code of %d lines", n.Lines().Len())
	case *ast.HTMLBlock:
		return htmlShape(strings.TrimSpace(string(n.Lines().Value(src))))
	case *ast.RawHTML:
		return "raw html"
	case *ast.CodeBlock, *ast.Blockquote, *ast.ThematicBreak, *ast.Link, *ast.AutoLink, *ast.Image,
		*east.Strikethrough, *east.TaskCheckBox, *east.FootnoteLink, *east.Footnote:
		return n.Kind().String()
	case *ast.Emphasis:
		return fmt.Sprintf("emphasis %d", n.Level)
	}
	return ""
}

// TestMarkdownShape: whatever the names are, the document is built alike, and
// has no links, images, raw HTML, or emphasis that the names brought along.
func TestMarkdownShape(t *testing.T) {
	for _, name := range hostileNames() {
		want := shape(setMarkdown(t, hostile(strings.Repeat("n", max(len(name), 1)))))
		got := shape(setMarkdown(t, hostile(name)))
		if i := firstDifference(want, got); i >= 0 && strings.TrimSpace(name) != "" {
			t.Errorf("%q: part %d: want %q, got %q", name, i, at2(want, i), at2(got, i))
		}
		for _, s := range got {
			if strings.HasPrefix(s, "foreign ") || s == "raw html" || s == "Link" || s == "AutoLink" || s == "Image" || s == "Strikethrough" {
				t.Errorf("%q: %s", name, s)
			}
		}
	}
}

// htmlShape tells the blocks that the renderer writes itself from others.
func htmlShape(s string) string {
	inner, ok := strings.CutPrefix(s, "<details><summary>")
	inner, end := strings.CutSuffix(inner, "</summary>")
	if ok && end && !strings.ContainsAny(inner, "<>\"") {
		return "html, begin of details"
	}
	if s == "</details>" {
		return "html, end of details"
	}
	return "foreign html: " + s
}

func firstDifference(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if at2(a, i) != at2(b, i) {
			return i
		}
	}
	return -1
}

func at2(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return "nothing"
}

// TestMarkdownShowsNames: what a reader sees of a document has the names as
// they are, or cut.
func TestMarkdownShowsNames(t *testing.T) {
	for _, name := range hostileNames() {
		want := strings.TrimSpace(shown(name))
		if want == "" {
			continue
		}
		src := setMarkdown(t, hostile(name))
		doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(gmtext.NewReader(src))
		seen := 0
		_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if cell, ok := n.(*east.TableCell); ok && entering && strings.Contains(visibleText(cell, src), want) {
				seen++
			}
			return ast.WalkContinue, nil
		})
		if seen < 40 {
			t.Errorf("%q is shown as %q in %d cells only", name, want, seen)
		}
	}
}

// visibleText renders a node and takes the tags off.
func visibleText(n ast.Node, src []byte) string {
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Renderer().Render(&b, src, n); err != nil {
		return err.Error()
	}
	return untag(b.String())
}

func untag(s string) string {
	for _, tag := range []string{"<td>", "</td>", "<th>", "</th>", "<code>", "</code>", "<strong>", "</strong>", `<td style="text-align:right">`, `<th style="text-align:right">`} {
		s = strings.ReplaceAll(s, tag, "")
	}
	for _, e := range [][2]string{{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&#39;", "'"}, {"&amp;", "&"}} {
		s = strings.ReplaceAll(s, e[0], e[1])
	}
	return s
}
