package lang_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ctxan/report/lang"
)

// Texts of the page: {{say "..."}} in its templates, phrase("...") in its script.
var (
	saidInTemplate = regexp.MustCompile(`\bsay ("(?:[^"\\]|\\.)*")`)
	saidInScript   = regexp.MustCompile(`\bphrase\(("(?:[^"\\]|\\.)*")`)
)

// markup matches what the page is made of: tags, styles, its policy.
var markup = regexp.MustCompile(`<[a-z]+[ >]|%spx$|^%sch$|minmax\(|^default-src `)

// pageFiles are the files of the page, by name.
func pageFiles(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../html", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	out := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(b)
	}
	return out
}

// behindValue is the key of a text of the script: one that begins with a blank goes
// on behind a value, a number or any.
func behindValue(c *lang.Catalogue, s string) string {
	if strings.TrimSpace(s) == "" || !strings.HasPrefix(s, " ") {
		return s
	}
	if _, ok := c.Whole("%d" + s); ok {
		return "%d" + s
	}
	return "%s" + s
}

// page adds the texts of the page's templates and of its script.
func (src *sources) page(t *testing.T) {
	c := catalogue(t)
	said := func(name, text string, re *regexp.Regexp) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			s, err := strconv.Unquote(m[1])
			if err != nil {
				t.Fatalf("%s: %s: %v", name, m[1], err)
			}
			if re == saidInScript {
				s = behindValue(c, s)
			}
			src.literals[s] = true
			src.texts = append(src.texts, sourceText{key: s, pos: name, said: true})
		}
	}
	for name, text := range pageFiles(t, "*.tmpl") {
		said(name, text, saidInTemplate)
	}
	for name, text := range pageFiles(t, "*.js") {
		said(name, text, saidInScript)
	}
}

// What the script says behind a value is translated behind one.
func TestFragmentsStayBehind(t *testing.T) {
	c := catalogue(t)
	n := 0
	for name, text := range pageFiles(t, "*.js") {
		for _, m := range saidInScript.FindAllStringSubmatch(text, -1) {
			s, _ := strconv.Unquote(m[1])
			if strings.TrimSpace(s) == "" || !strings.HasPrefix(s, " ") {
				continue
			}
			n++
			key := behindValue(c, s)
			if other := c.Format(key); !strings.HasPrefix(other, key[:2]) || other == key {
				t.Errorf("%s: the counterpart of %q does not begin with its value: %q", name, key, other)
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d texts that go on", n)
	}
}

var (
	templateAction = regexp.MustCompile(`{{.*?}}`)
	templateTag    = regexp.MustCompile(`<[^>]*>`)
	readAttribute  = regexp.MustCompile(`\b(aria-label|title|alt|placeholder|data-l|content)="([^"]*)"`)
	twoLetters     = regexp.MustCompile(`[A-Za-z]{2,}`)
	entity         = regexp.MustCompile(`&[a-z]+;`)
)

// unsaid are the words of a template that are not said.
func unsaid(text string) []string {
	text = templateAction.ReplaceAllString(text, "")
	var out []string
	for _, m := range readAttribute.FindAllStringSubmatch(text, -1) {
		out = append(out, twoLetters.FindAllString(strings.Replace(m[2], "width=device-width,initial-scale=1", "", 1), -1)...)
	}
	return append(out, twoLetters.FindAllString(entity.ReplaceAllString(templateTag.ReplaceAllString(text, " "), ""), -1)...)
}

// Every word that a template has for a reader is said, but names.
func TestTemplatesSayAll(t *testing.T) {
	if got := unsaid(`{{define "a"}}<p class="src" title="how">{{say "known"}}, why</p>`); len(got) != 2 {
		t.Fatalf("the check finds %q", got)
	}
	names := map[string]bool{"ctxan": true, "SHA": true}
	for name, text := range pageFiles(t, "*.tmpl") {
		for _, w := range unsaid(text) {
			if !names[w] {
				t.Errorf("%s: %q is not said", name, w)
			}
		}
	}
}

var (
	scriptComment = regexp.MustCompile(`(?m)^\s*//.*$|\s// .*$|/\*.*?\*/`)
	scriptLiteral = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	shownLiteral  = regexp.MustCompile(`(?:\.textContent|\.title|\.innerText|\.alt|\.placeholder) \+?= [^;]*?("[A-Za-z][^"]*")|"(?:aria-label|title)", ("[A-Za-z][^"]*")`)
)

// unsaidInScript are the texts of a script that are not said: what has words with
// blanks between them, and what is set as text.
func unsaidInScript(text string) []string {
	text = saidInScript.ReplaceAllString(scriptComment.ReplaceAllString(text, ""), "phrase(0")
	out := shownLiteral.FindAllString(text, -1)
	for _, s := range scriptLiteral.FindAllString(text, -1) {
		if wordsApart.MatchString(strings.Trim(s, `"'`)) {
			out = append(out, s)
		}
	}
	return out
}

func TestScriptSaysAll(t *testing.T) {
	if got := unsaidInScript(`"use strict"; s = "is in " + x; b.textContent = "Copied"; c = "cls"; b.setAttribute("aria-label", "Copy"); // "a comment here"`); len(got) != 4 {
		t.Fatalf("the check finds %q", got)
	}
	code := map[string]bool{`"use strict"`: true, `" hit"`: true, `" anc"`: true, `" dim"`: true, `" th"`: true}
	for name, text := range pageFiles(t, "*.js") {
		for _, s := range unsaidInScript(text) {
			if !code[s] {
				t.Errorf("%s: %s is not said", name, s)
			}
		}
	}
}
