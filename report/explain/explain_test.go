package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctxan/analyze"
	"ctxan/analyze/rules"
	"ctxan/parse"
)

// TestEverythingIsExplained: a rule, a figure, a grade, a check or a trigger
// without an explanation fails here.
func TestEverythingIsExplained(t *testing.T) {
	want := map[string]string{}
	for _, r := range rules.All() {
		want[r.ID] = "Causes"
	}
	for _, id := range literalIDs(t, "Check") {
		want[id] = "Checks"
	}
	for i := range analyze.NumTriggers {
		want["trigger."+i.String()] = "Triggers"
	}
	for _, g := range []analyze.Grade{analyze.GradeHealthy, analyze.GradeNormal, analyze.GradeElevated, analyze.GradeSevere, analyze.GradeExtreme} {
		want["grade."+string(g)] = "Grades"
	}
	for _, c := range []analyze.Confidence{analyze.ConfidenceHigh, analyze.ConfidenceMedium, analyze.ConfidenceLow, analyze.ConfidenceNone} {
		want[string(c)] = "Confidence"
	}
	for _, f := range figures(t) {
		want[f] = "Figures"
	}
	if len(want) < 60 {
		t.Fatalf("only %d things to explain were found", len(want))
	}
	for id, kind := range want {
		if !explained(id, kind) {
			t.Errorf("%s has no explanation under %q", id, kind)
		}
	}
}

func explained(id, kind string) bool {
	for _, topic := range Find(id) {
		if topic.ID == id && topic.Kind == kind {
			return true
		}
	}
	return false
}

// figures are those of layer 1, and the histograms, of a capture that has all.
func figures(t *testing.T) []string {
	t.Helper()
	set, problems, err := parse.Open([]string{"../../testdata/reference"}, parse.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	r, err := analyze.Run(set, rules.All(), analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range r.Primary().Macro.Figures {
		out = append(out, f.ID)
	}
	if len(out) < 10 {
		t.Fatalf("the reference has the figures %q only", out)
	}
	return out
}

// literalIDs are the ids of all values of a type that the analysis makes.
func literalIDs(t *testing.T, typ string) []string {
	t.Helper()
	var files []string
	for _, dir := range []string{"../../analyze", "../../analyze/rules"} {
		list, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CompositeLit); ok && isType(c.Type, typ) {
				out = append(out, idsOf(c)...)
			}
			return true
		})
	}
	if len(out) < 10 {
		t.Fatalf("only %d literals of %s", len(out), typ)
	}
	return out
}

// isType reports whether an expression names a type, or a list of it.
func isType(e ast.Expr, typ string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == typ
	case *ast.SelectorExpr:
		return e.Sel.Name == typ
	case *ast.ArrayType:
		return isType(e.Elt, typ)
	}
	return false
}

// idsOf are the ids in a literal, and in the elements of a list.
func idsOf(c *ast.CompositeLit) []string {
	var out []string
	for _, e := range c.Elts {
		switch e := e.(type) {
		case *ast.CompositeLit:
			out = append(out, idsOf(e)...)
		case *ast.KeyValueExpr:
			lit, ok := e.Value.(*ast.BasicLit)
			if key, is := e.Key.(*ast.Ident); is && key.Name == "ID" && ok {
				if id, err := strconv.Unquote(lit.Value); err == nil {
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// TestTopics: ids are unique, and each text is a paragraph.
func TestTopics(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Topics() {
		if seen[k.ID] {
			t.Errorf("%s twice", k.ID)
		}
		seen[k.ID] = true
		if k.Title == "" || k.Kind == "" || len(k.Text) < 20 || len(k.Text) > 900 || !strings.HasSuffix(k.Text, ".") || strings.Contains(k.Text, ": .") {
			t.Errorf("%s (%s, %q): %q", k.ID, k.Kind, k.Title, k.Text)
		}
	}
}

func TestFind(t *testing.T) {
	for id, want := range map[string]int{"elevated": 1, "Switches-per-S": 1, "healthy": 2, "timer-sleep": 1, "IPC": 1, "hand-off": 2, "nothing": 0, "": 0} {
		if got := Find(id); len(got) != want {
			t.Errorf("%q: %d topics, want %d", id, len(got), want)
		}
	}
}
