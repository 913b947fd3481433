package lang_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sourceText is a text of the program: a literal, or a chain of + in which what
// is no literal is %s.
type sourceText struct {
	key  string
	pos  string
	said bool // given to a function that says it, so that a word counts too

	reader bool // of a package that reads captures
}

// sourceFolders are where texts of reports are, from the repository's root.
var sourceFolders = []string{"analyze", "analyze/quantity", "analyze/rules", "report", "report/explain"}

// readerFolders are the packages that read captures, whose notes and warnings
// reports show. Of their other texts, which are formats of captures most of them,
// none has to be translated.
func readerFolders(t *testing.T) []string {
	var out []string
	for _, depth := range []string{"", "*", "*/*"} {
		dirs, err := filepath.Glob(filepath.Join("../../parse", depth))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, dirs...)
	}
	return out
}

// sources are all the texts of the folders, and every string literal.
type sources struct {
	texts    []sourceText
	literals map[string]bool
	all      string // the literals one after another
	reader   bool   // in a folder of readers
}

func readSources(t *testing.T) *sources {
	src := &sources{literals: map[string]bool{}}
	for _, dir := range sourceFolders {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				src.file(t, f)
			}
		}
	}
	src.page(t)
	src.reader = true
	for _, dir := range readerFolders(t) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				src.file(t, f)
			}
		}
	}
	var b strings.Builder
	for s := range src.literals {
		b.WriteString(s + "\x00")
	}
	src.all = b.String()
	return src
}

func (src *sources) file(t *testing.T, name string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	src.walk(fset, file)
}

func (src *sources) walk(fset *token.FileSet, root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			x.Tag = nil
		case *ast.CallExpr:
			if isError(x) && !src.reader || isTest(x) {
				return false
			}
			if says(x, src.reader) {
				src.said(fset, x.Args)
			}
		case *ast.KeyValueExpr:
			if key, ok := x.Key.(*ast.Ident); ok && labelFields[key.Name] {
				src.said(fset, []ast.Expr{x.Value})
			}
		case *ast.BinaryExpr:
			if x.Op != token.ADD || !holdsLiteral(x) {
				return true
			}
			src.put(fset, x, chain(x, src.literals), false)
			for _, op := range operands(x) {
				if _, lit := literal(op); !lit {
					src.walk(fset, op)
				}
			}
			return false
		case *ast.BasicLit:
			src.add(fset, x, false)
		}
		return true
	})
}

func (src *sources) add(fset *token.FileSet, n ast.Node, said bool) {
	s, ok := literal(n)
	if !ok {
		return
	}
	src.literals[s] = true
	src.put(fset, n, s, said)
	if first, _, more := strings.Cut(s, "\n"); more && strings.Contains(first, "sketch: ") { // code below a comment
		says := strings.TrimSuffix(first[strings.Index(first, "sketch: "):], " */")
		src.put(fset, n, says, true)
	}
}

func (src *sources) put(fset *token.FileSet, n ast.Node, key string, said bool) {
	src.texts = append(src.texts, sourceText{key, fset.Position(n.Pos()).String(), said, src.reader})
}

// said takes the first literal of the arguments.
func (src *sources) said(fset *token.FileSet, args []ast.Expr) {
	for _, a := range args {
		switch x := a.(type) {
		case *ast.BasicLit:
			src.add(fset, a, true)
			return
		case *ast.BinaryExpr:
			if src.reader && holdsLiteral(x) {
				src.put(fset, x, chain(x, src.literals), true)
				return
			}
		case *ast.CallExpr:
			if f, ok := x.Fun.(*ast.SelectorExpr); ok && src.reader && f.Sel.Name == "Sprintf" {
				src.said(fset, x.Args)
				return
			}
		}
	}
}

// The functions whose first literal is said to readers, and the fields whose
// literal is.
var (
	sayers = map[string]bool{"Textf": true, "text": true, "open": true, "ruledOut": true, "rejected": true, "candidate": true, "prose": true, "say": true, "Say": true,
		"sayf": true, "labelled": true, "labelledTable": true, "label12": true, "section": true, "fact": true, "commands": true, "nextBlock": true, "heading": true, "bold": true}
	notes       = map[string]bool{"Warn": true, "Note": true, "warnf": true, "notef": true, "warn": true, "note": true}
	labelFields = map[string]bool{"head": true, "Label": true, "Title": true}
)

func says(c *ast.CallExpr, reader bool) bool {
	names := sayers
	if reader {
		names = notes
	}
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return names[f.Name]
	case *ast.SelectorExpr:
		return names[f.Sel.Name]
	}
	return false
}

func literal(n ast.Node) (string, bool) {
	if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING {
		s, err := strconv.Unquote(b.Value)
		return s, err == nil
	}
	return "", false
}

func operands(x ast.Expr) []ast.Expr {
	switch e := x.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return append(operands(e.X), operands(e.Y)...)
		}
	case *ast.ParenExpr:
		return operands(e.X)
	}
	return []ast.Expr{x}
}

func holdsLiteral(x ast.Expr) bool {
	for _, op := range operands(x) {
		if _, ok := literal(op); ok {
			return true
		}
	}
	return false
}

// chain is the text of a + b + c. One of literals alone may be a format.
func chain(x ast.Expr, literals map[string]bool) string {
	ops := operands(x)
	mixed := false
	for _, op := range ops {
		_, lit := literal(op)
		mixed = mixed || !lit
	}
	var b strings.Builder
	for _, op := range ops {
		s, lit := literal(op)
		switch {
		case !lit:
			b.WriteString("%s")
		case mixed && !strings.Contains(s, "%s"):
			literals[s] = true
			b.WriteString(strings.ReplaceAll(s, "%", "%%"))
		default:
			literals[s] = true
			b.WriteString(s)
		}
	}
	if !mixed {
		literals[b.String()] = true
	}
	return b.String()
}

// isError: messages of errors are for whoever runs the program.
func isError(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && (pkg.Name == "errors" && sel.Sel.Name == "New" || pkg.Name == "fmt" && sel.Sel.Name == "Errorf" || pkg.Name == "regexp")
}

// isTest: what is looked for in a text is not written.
func isTest(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "strings" && strings.HasPrefix(sel.Sel.Name, "Contains") || ok && pkg.Name == "strings" && strings.HasPrefix(sel.Sel.Name, "Has")
}

// commandText matches texts that are commands, code or names, in any language.
var commandText = regexp.MustCompile(`^(%s|LC_ALL=C )?(perf |pidstat |sudo |grep |awk |ctxan |cat |sleep |sed |/cgroup)|^ ?(-|%s-)[a-zA-Z] |^(%s)*-o sched|^(%s)*-e sched:|sketch: .*\n|^%srrr$|^[a-z0-9_]+, [a-z0-9_]+$|^[a-z0-9_]+, [a-z0-9_]+, [a-z0-9_]+$`)

var (
	wordsApart = regexp.MustCompile(`[A-Za-z]{2,} |[a-z]+, | [A-Za-z]{2,}`)
	aWord      = regexp.MustCompile(`[a-zA-Z]{2,}`)
	aMark      = regexp.MustCompile(`%[sd][.,:;)]( |$)|^[,:;] |%s \(`)
	verbSpace  = strings.NewReplacer("%s", " ", "%d", " ", "%%", "")
)

// toTranslate reports whether a text has to be in the catalogue: what has words
// with blanks between them; of what is said, single words and bare punctuation.
func (x *sourceText) toTranslate() bool {
	switch {
	case x.reader && !x.said, !x.reader && (commandText.MatchString(x.key) || markup.MatchString(x.key)), sameInAll[strings.TrimSpace(x.key)]:
		return false
	case wordsApart.MatchString(verbSpace.Replace(x.key)):
		return true
	}
	return x.said && (aWord.MatchString(verbSpace.Replace(x.key)) || aMark.MatchString(x.key))
}

// sameInAll are said alike in all languages.
var sameInAll = map[string]bool{"tid": true, "UTF-16": true, "quoted-printable": true, "CPU": true, "IPC": true, "sys": true, "futex": true, "eventfd": true, "Linux\u00a0%s": true, "n": true, "p99": true, "p50": true,
	"Linux %s": true, "ctxan": true, "instructions / cycles": true, "branch-misses / branches": true, "page-faults / E": true, "cycles / T": true,
	"seconds time elapsed": true, "wait.%s": true, "%s%spoints": true, "cpu-migrations": true, "%s%s -o sched.data -- sleep 0.5": true, "CPU %s": true, "Linux%s%s %s": true}
