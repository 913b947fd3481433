package main

import (
	"bytes"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ctxan/testdata/shared"
)

// langCaptures are captures of many kinds: the project's own, and of the shared
// material the cases and some of the corpus and the lab.
func langCaptures(t *testing.T) []string {
	list := []string{"../../testdata/reference"}
	for _, kind := range []string{"perf-stat", "pidstat", "timehist", "perf-report", "vmstat", "sar", "proc-status"} {
		files, err := filepath.Glob(filepath.Join("../../testdata", kind, "*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, files[:min(len(files), 6)]...)
	}
	if os.Getenv("CTXAN_SHARED") == "" {
		if _, err := os.Stat("../../../shared"); err != nil {
			return list
		}
	}
	for _, p := range []string{"cases/*.txt", "corpus/*/*-*.txt", "lab/w0*", "lab/w3*"} {
		files, err := filepath.Glob(filepath.Join(shared.Dir(t), p))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(files); i += max(len(files)/12, 1) {
			list = append(list, files[i])
		}
	}
	return list
}

var (
	englishRun = regexp.MustCompile(`[A-Za-z][A-Za-z'\-]*(?:[,;:]? [A-Za-z][A-Za-z'\-]*){3,}`)
	codeSpans  = regexp.MustCompile("`[^`]*`")
	aCommand   = regexp.MustCompile(`(perf (record|stat|script|report|bench)|pidstat|sudo|LC_ALL=C|grep|ctxan) .*`)
)

// sentencesIn returns the runs of English words in a report that stand neither in
// code nor in a command.
func sentencesIn(report string) []string {
	var out []string
	code, goesOn := false, false
	for _, line := range strings.Split(report, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		part := goesOn
		goesOn = strings.HasSuffix(line, `\`)
		if code || part {
			continue
		}
		line = aCommand.ReplaceAllString(codeSpans.ReplaceAllString(line, ""), "")
		out = append(out, englishRun.FindAllString(line, -1)...)
	}
	return out
}

var (
	notProse  = regexp.MustCompile(`(?s)<style>.*?</style>|<script.*?</script>|<svg.*?</svg>|<code.*?</code>|<bdi.*?</bdi>|<pre.*?</pre>|<i class="[kux]".*?</i>`)
	saidAloud = regexp.MustCompile(`<[^>]*?(?:aria-label|data-l)="([^"]*)"[^>]*>`)
	anyTag    = regexp.MustCompile(`<[^>]*>`)
)

// pageTexts are the texts of a page without code, names and drawings. What its script
// says is read in a browser.
func pageTexts(page string) string {
	page = saidAloud.ReplaceAllString(notProse.ReplaceAllString(page, " "), "\n$1\n")
	return html.UnescapeString(anyTag.ReplaceAllString(page, "\n"))
}

func TestNoEnglishSentenceInChinese(t *testing.T) {
	if got := sentencesIn("✓ 层 the threads sum to it\n  perf stat -a and so on and on\n"); len(got) != 1 {
		t.Fatalf("the check finds %q", got)
	}
	read := 0
	for _, capture := range langCaptures(t) {
		for _, format := range []string{"text", "markdown", "ticket", "html"} {
			var out, errs bytes.Buffer
			if run([]string{"--lang", "zh", "--width", "120", "--format", format, capture}, stdio{in: strings.NewReader(""), out: &out, err: &errs}) != exitOK {
				continue // not a capture, or one without switches
			}
			read++
			report := out.String()
			if format == "html" {
				report = pageTexts(report)
			}
			for _, s := range sentencesIn(report) {
				t.Errorf("%s as %s: %q", capture, format, s)
			}
		}
	}
	if read < 80 {
		t.Errorf("only %d reports were made", read)
	}
}

var figure = regexp.MustCompile(`[0-9][0-9,]*(\.[0-9]+)?`)

// Every figure of the English report is in the Chinese one.
func TestChineseHasTheFigures(t *testing.T) {
	report := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := run(append(args, "../../testdata/reference"), stdio{in: strings.NewReader(""), out: &out, err: &errs}); code != exitOK {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		if slices.Contains(args, "html") {
			return pageTexts(out.String())
		}
		return out.String()
	}
	for _, format := range []string{"text", "markdown", "ticket", "html"} {
		want, have := map[string]int{}, map[string]int{}
		for _, s := range figure.FindAllString(report("--format", format), -1) {
			want[strings.TrimRight(s, ",")]++
		}
		for _, s := range figure.FindAllString(report("--lang", "zh", "--format", format), -1) {
			have[strings.TrimRight(s, ",")]++
		}
		for s, n := range want {
			if have[s] < n {
				t.Errorf("%s: %s stands %d times in English and %d times in Chinese", format, s, n, have[s])
			}
		}
		if len(want) < 40 {
			t.Errorf("%s: only %d figures", format, len(want))
		}
	}
}
