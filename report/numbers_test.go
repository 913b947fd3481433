package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// TestFiguresAreTheJSON: each figure of the JSON stands in text and Markdown,
// written as the figure's unit wants it.
func TestFiguresAreTheJSON(t *testing.T) {
	for name, r := range results() {
		if name == "hostile" {
			continue
		}
		c := r.Cases[0]
		v := decode(t, setJSON(t, r)).(map[string]any)
		outs := map[string]string{"text": setText(t, r, Options{Width: 120}), "narrow text": setText(t, r, Options{}), "markdown": setMarkdownText(t, r), "html": htmlFlat(t, r)}
		want := func(s string) {
			t.Helper()
			for kind, out := range outs {
				if !strings.Contains(out, s) {
					t.Errorf("%s: %s has no %q", name, kind, s)
				}
			}
		}
		for i := range c.Macro.Figures {
			f := &c.Macro.Figures[i]
			if x, ok := lookUp(t, v, "macro."+f.ID).(float64); ok {
				want(analyze.FormatValue(x, f.Unit, f.Digits))
			}
		}
		for i := range c.Chain {
			for k := range c.Chain[i].Arithmetic {
				for j := range c.Chain[i].Arithmetic[k].Rows {
					row := c.Chain[i].Arithmetic[k].Rows[j]
					if x, ok := lookUp(t, v, fmt.Sprintf("chain.%d.arithmetic.%d.rows.%d.value", i, k, j)).(float64); ok {
						want(analyze.FormatValue(x, row.Unit, row.Digits))
					}
				}
			}
		}
		for _, x := range lookUp(t, v, "stack_report.reasons").([]any) {
			row := x.(map[string]any)
			want(quantity.Whole(row["switches"].(float64)))
			want(quantity.Time(row["off_cpu_ns"].(float64)))
			if cpu, ok := row["cpu_share"].(float64); ok {
				want(quantity.Percent(cpu, 2))
			}
		}
		threads := lookUp(t, v, "threads").([]any)
		for _, x := range threads[:min(len(threads), leastThreads)] {
			wantThread(want, x.(map[string]any))
		}
		for _, x := range lookUp(t, v, "wakes").([]any) {
			want(quantity.Count(uint64(x.(map[string]any)["count"].(float64))))
		}
	}
}

func wantThread(want func(string), row map[string]any) {
	for key, write := range map[string]func(float64) string{"voluntary_per_s": quantity.Whole, "involuntary_per_s": quantity.Whole} {
		if x, ok := row[key].(float64); ok {
			want(write(x))
		}
	}
	if _, rates := row["voluntary_per_s"].(float64); !rates {
		for _, key := range []string{"voluntary", "involuntary", "migrations"} {
			if x, ok := row[key].(float64); ok {
				want(quantity.Count(uint64(x)))
			}
		}
	}
	for _, kind := range []string{"run", "delay", "off_cpu"} {
		if row["hot"] != true { // shown as one line with others
			break
		}
		if x, ok := row[kind].(map[string]any)["p50_ns"].(float64); ok {
			want(quantity.Time(x))
		}
	}
}

// setMarkdownText is Markdown with its escapes of plain characters taken off.
func setMarkdownText(t *testing.T, r *analyze.Result) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", `\`, "").Replace(string(setMarkdown(t, r)))
}

// htmlFlat is the page's text with a no-break space before the units that stand
// in elements of their own.
func htmlFlat(t *testing.T, r *analyze.Result) string {
	return regexp.MustCompile(` +(%|GHz|[nµm]?s) `).ReplaceAllString(htmlLines(setHTML(t, r)), "\u00a0$1 ")
}

var number = regexp.MustCompile(`[0-9][0-9,]*(\.[0-9]+)?`)

// TestNoNumberFromNowhere: every number of a text stands in the JSON, as a
// number in one of the forms that reports write, or in a sentence.
func TestNoNumberFromNowhere(t *testing.T) {
	for name, r := range results() {
		if name == "hostile" {
			continue
		}
		known := numbersOf(t, r)
		for kind, out := range map[string]string{"text": setText(t, r, Options{}), "wide text": setText(t, r, Options{Width: 120}), "markdown": setMarkdownText(t, r), "html": htmlLines(setHTML(t, r))} {
			for _, l := range strings.Split(out, "\n") {
				if isAxis(l) {
					continue
				}
				for _, n := range number.FindAllString(l, -1) {
					if !known[strings.TrimRight(n, ",")] {
						t.Errorf("%s, %s: %s is not in the JSON: %q", name, kind, n, l)
					}
				}
			}
		}
	}
}

// isAxis reports whether a line is the scale of a drawing.
func isAxis(l string) bool {
	return strings.Trim(l, " 0123456789nµms") == "" && strings.Contains(l, "s")
}

// numbersOf are the numbers that a report may have: those of the JSON and of
// the rows that are summed, as they are written, and the counts of what is shown.
func numbersOf(t *testing.T, r *analyze.Result) map[string]bool {
	known := map[string]bool{}
	addText := func(s string) {
		for _, n := range number.FindAllString(s, -1) {
			known[strings.TrimRight(n, ",")] = true
		}
	}
	addNumber := func(x float64) {
		for _, s := range []string{quantity.Whole(x), quantity.Time(x), quantity.Percent(x, 1), quantity.Percent(x, 2), quantity.PercentSig(x, 3),
			quantity.Fixed(x, 2), quantity.Fixed(x, 3), quantity.TimeSig(x*1e3, 4), quantity.Points(x), quantity.Fixed(x*100, 2), fmt.Sprint(x)} {
			addText(s)
		}
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		case []any:
			addText(fmt.Sprint(len(v)))
			for _, x := range v {
				walk(x)
			}
		case string:
			addText(v)
		case float64:
			addNumber(v)
		}
	}
	walk(decode(t, setJSON(t, r)))
	for _, lines := range [][]threadLine{tableLines(r.Cases[0].Threads), histLines(r.Cases[0].Threads), withOthers(r.Cases[0].Threads, firstRows), withOthers(r.Cases[0].Threads, mostRows)} {
		for i := range lines {
			addText(lines[i].label)
			p, err := json.Marshal(lines[i].ThreadRow)
			if err != nil {
				t.Fatal(err)
			}
			walk(decode(t, p))
		}
	}
	if _, scale := rateValues(r.Cases[0]); len(r.Cases[0].Rates) > 0 {
		addNumber(scale)
		addNumber(scale / 2)
	}
	if d := r.Cases[0].Drawings; d != nil {
		for i := range d.Flames {
			f := &d.Flames[i]
			for _, n := range f.Nodes {
				addText(quantity.Percent(n.Weight/f.Total, 2))
			}
		}
	}
	for i := range r.Sources {
		addText(shortHash(r.Sources[i].SHA256))
	}
	addText("0 1 2 3 12 50 99 256") // items of lists, layers, p50 and p99, SHA-256
	return known
}

// TestMetaNumber: the test above finds a number that was made up.
func TestMetaNumber(t *testing.T) {
	if known := numbersOf(t, reference()); known["31,337"] || !known["46,983"] {
		t.Error("numbersOf knows what it should not, or not what it should")
	}
}
