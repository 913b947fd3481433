package report

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
)

// rendered is a result in one format, by lines.
type rendered struct {
	name  string
	lines []string
	all   string
}

func renderedAs(t *testing.T, r *analyze.Result) []rendered {
	var out []rendered
	for _, x := range [][2]string{{"text", setText(t, r, Options{Width: 260})}, {"markdown", setMarkdownText(t, r)}, {"html", htmlLines(setHTML(t, r))}} {
		all := strings.NewReplacer("**", "", "`", "", "\u00a0", " ").Replace(x[1])
		if x[0] == "html" {
			var lines []string
			for _, l := range strings.Split(all, "\n") {
				if l = strings.Join(strings.Fields(l), " "); l != "" {
					lines = append(lines, l)
				}
			}
			all = strings.Join(lines, "\n")
		}
		out = append(out, rendered{x[0], strings.Split(all, "\n"), all})
	}
	return out
}

// row wants a line that holds the keys and every figure.
func (x *rendered) row(keys []string, figures ...string) error {
	why := "no line"
	for _, l := range x.lines {
		if has(l, keys...) {
			miss := missing(l, figures)
			if miss == "" {
				return nil
			}
			why = fmt.Sprintf("no %s in %q", miss, l)
		}
	}
	return fmt.Errorf("%s: %q: %s", x.name, keys, why)
}

func has(l string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(l, strings.ReplaceAll(p, "\u00a0", " ")) {
			return false
		}
	}
	return true
}

func missing(l string, figures []string) string {
	for _, f := range figures {
		if !has(l, f) {
			return f
		}
	}
	return ""
}

// checker counts what it compared.
type figureCheck struct {
	t    *testing.T
	name string
	v    map[string]any
	n    int
}

func (k *figureCheck) check(err error, figures int) {
	k.n += figures
	if err != nil {
		k.t.Errorf("%s: %v", k.name, err)
	}
}

// num reads a number of the JSON.
func num(v any, path ...string) (float64, bool) {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return 0, false
		}
		v = m[p]
	}
	x, ok := v.(float64)
	return x, ok
}

func list(v any, path ...string) []any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	l, _ := v.([]any)
	return l
}

func str(v any, key string) string {
	s, _ := v.(map[string]any)[key].(string)
	return s
}

// TestCapturesFigures: in every format each figure of the JSON that it shows
// stands in the row where it belongs, as the unit of the figure wants it.
func TestCapturesFigures(t *testing.T) {
	for name, r := range captures(t) {
		k := &figureCheck{t: t, name: name, v: decode(t, setJSON(t, r)).(map[string]any)}
		outs := renderedAs(t, r)
		for i := range outs {
			k.macro(&outs[i], r.Cases[0])
			k.sums(&outs[i], r.Cases[0])
			k.threads(&outs[i])
			k.reasons(&outs[i])
			k.wakes(&outs[i])
			k.rates(&outs[i])
			k.ledger(&outs[i])
			k.sources(&outs[i])
			k.others(&outs[i])
		}
		k.page(setHTML(t, r))
		t.Logf("%-14s %6d figures compared, %d threads", name, k.n, len(list(k.v, "threads")))
		if name == "thousand" && len(list(k.v, "threads")) != crowdThreads {
			t.Errorf("%d threads, want %d", len(list(k.v, "threads")), crowdThreads)
		}
		if n := len(list(k.v, "drawings", "cpu_map", "rows")); name == "thousand" && n != crowdCPUs {
			t.Errorf("%d CPUs, want %d: the recording is not of all tasks", n, crowdCPUs)
		}
		if k.n < 60 {
			t.Errorf("%s: only %d figures were compared", name, k.n)
		}
	}
}

func (k *figureCheck) macro(x *rendered, c *analyze.Case) {
	for i := range c.Macro.Figures {
		f := &c.Macro.Figures[i]
		v, ok := num(k.v, "macro", f.ID)
		if !ok {
			continue
		}
		text := analyze.FormatValue(v, f.Unit, f.Digits)
		if value, unit, cut := strings.Cut(text, "\u00a0"); x.name == "html" && cut {
			k.check(x.row([]string{value + " " + unit}), 1) // in a card, below its label
		} else if x.name == "html" {
			k.check(x.row([]string{text}), 1)
		} else {
			k.check(x.row([]string{f.Label[1:], text}), 1)
		}
	}
}

func (k *figureCheck) sums(x *rendered, c *analyze.Case) {
	for i, l := range list(k.v, "chain") {
		for j, s := range list(l, "arithmetic") {
			for n, row := range list(s, "rows") {
				m := &c.Chain[i].Arithmetic[j].Rows[n]
				if v, ok := num(row, "value"); ok {
					text := analyze.FormatValue(v, m.Unit, m.Digits)
					k.check(x.row([]string{str(row, "label"), text}), 1)
				}
			}
		}
	}
}

// shownThreads is how many threads have a row of their own.
func shownThreads(format string, threads []any) int {
	hot := 0
	for hot < len(threads) && threads[hot].(map[string]any)["hot"] == true {
		hot++
	}
	n := min(max(hot, leastThreads), mostThreads)
	if format == "html" {
		n = mostRows
	}
	if len(threads) <= n+1 {
		n = len(threads)
	}
	return n
}

// threadFigures are the figures of a row: rates where any row has them, else counts.
func threadFigures(row any, rates bool) []string {
	var out []string
	for _, kind := range []string{"voluntary", "involuntary"} {
		if v, ok := num(row, kind+"_per_s"); ok && rates {
			out = append(out, quantity.Whole(v))
		} else if v, ok := num(row, kind); ok && !rates {
			out = append(out, quantity.Count(uint64(v)))
		}
	}
	if v, ok := num(row, "share"); ok {
		out = append(out, quantity.Percent(v, 1))
	}
	if v, ok := num(row, "migrations"); ok {
		out = append(out, quantity.Count(uint64(v)))
	}
	if v, ok := num(row, "trigger_share"); ok {
		out = append(out, str(row, "trigger"), quantity.Percent(v, 1))
	}
	for _, q := range [][2]string{{"run", "p50_ns"}, {"delay", "p99_ns"}, {"off_cpu", "p50_ns"}} {
		if v, ok := num(row, q[0], q[1]); ok {
			out = append(out, quantity.Time(v))
		}
	}
	return out
}

func (k *figureCheck) threads(x *rendered) {
	threads := list(k.v, "threads")
	rates := false
	for _, row := range threads {
		_, vol := num(row, "voluntary_per_s")
		_, inv := num(row, "involuntary_per_s")
		rates = rates || vol || inv
	}
	for _, row := range threads[:shownThreads(x.name, threads)] {
		tid, _ := num(row, "tid")
		figures := threadFigures(row, rates)
		k.check(x.row([]string{shown(str(row, "comm")), fmt.Sprintf("%.0f", tid)}, figures...), len(figures))
	}
	if x.name != "html" {
		k.quantiles(x, threads)
	}
}

// quantiles are those of the hot threads, in the table below the histograms.
func (k *figureCheck) quantiles(x *rendered, threads []any) {
	for i, row := range threads {
		if i >= mostHists || (i > 0 && row.(map[string]any)["hot"] != true) {
			break
		}
		var figures []string
		for _, kind := range []string{"run", "delay", "off_cpu"} {
			for _, q := range []string{"p50_ns", "p99_ns", "max_ns"} {
				if v, ok := num(row, kind, q); ok && row.(map[string]any)["histograms"] != nil {
					figures = append(figures, quantity.Time(v))
				}
			}
		}
		if len(figures) > 0 {
			k.check(x.row([]string{shown(str(row, "comm"))}, figures...), len(figures))
		}
	}
}

func (k *figureCheck) reasons(x *rendered) {
	for _, row := range list(k.v, "stack_report", "reasons") {
		var figures []string
		if v, ok := num(row, "switches"); ok {
			figures = append(figures, quantity.Whole(v))
		}
		if v, ok := num(row, "switch_share"); ok {
			figures = append(figures, quantity.Percent(v, 1))
		}
		if v, ok := num(row, "off_cpu_ns"); ok {
			figures = append(figures, quantity.Time(v))
		}
		if v, ok := num(row, "cpu_share"); ok {
			figures = append(figures, quantity.Percent(v, 2))
		}
		k.check(x.row([]string{str(row, "label"), shown(str(row, "frame"))}, figures...), len(figures))
	}
	for _, row := range list(k.v, "stack_report", "profile") {
		var figures []string
		for _, key := range []string{"children_share", "self_share"} {
			if v, ok := num(row, key); ok {
				figures = append(figures, quantity.Fixed(v*100, 2)+" %")
			}
		}
		k.check(x.row([]string{shown(str(row, "symbol"))}, figures...), len(figures))
	}
	for _, row := range list(k.v, "stack_report", "tree") {
		v, _ := num(row, "share")
		k.check(x.row([]string{shown(str(row, "symbol"))}, quantity.Percent(v, 1)), 1)
	}
}

func (k *figureCheck) wakes(x *rendered) {
	for _, row := range list(k.v, "wakes") {
		n, _ := num(row, "count")
		share, _ := num(row, "share")
		figures := []string{quantity.Count(uint64(n))}
		if x.name != "text" {
			figures = append(figures, quantity.Percent(share, 1))
		}
		k.check(x.row([]string{shown(str(row, "waker")), shown(str(row, "wakee"))}, figures...), len(figures))
	}
}

func (k *figureCheck) ledger(x *rendered) {
	for _, row := range list(k.v, "preemptors") {
		n, _ := num(row, "count")
		share, _ := num(row, "share")
		figures := []string{quantity.Whole(n), quantity.Percent(share, 1)}
		if v, ok := num(row, "mean_run_ns"); ok {
			figures = append(figures, quantity.Time(v))
		}
		k.check(x.row([]string{shown(str(row, "by"))}, figures...), len(figures))
	}
	for _, row := range list(k.v, "delay_blame", "rows") {
		ns, _ := num(row, "ns")
		share, _ := num(row, "share")
		k.check(x.row([]string{shown(str(row, "by"))}, quantity.Time(ns), quantity.Percent(share, 1)), 2)
	}
	if x.name == "text" { // has only the scenarios
		for _, row := range list(k.v, "ledger", "scenarios") {
			share, _ := num(row, "share")
			k.check((&rendered{"text", []string{strings.Join(strings.Fields(x.all), " ")}, ""}).row([]string{str(row, "label") + " " + quantity.Percent(share, 1)}), 1)
		}
		return
	}
	for _, row := range list(k.v, "ledger", "why") {
		n, _ := num(row, "switches")
		share, _ := num(row, "share")
		figures := []string{quantity.Whole(n), quantity.Percent(share, 1)}
		if v, ok := num(row, "off_cpu_ns"); ok {
			figures = append(figures, quantity.Time(v))
		}
		k.check(x.row([]string{str(row, "label")}, figures...), len(figures))
	}
}

func (k *figureCheck) rates(x *rendered) {
	rates := list(k.v, "intervals")
	if len(rates) < 2 {
		return
	}
	lo, hi := -1.0, 0.0
	for _, row := range rates {
		v, _ := num(row, "per_s")
		if hi = max(hi, v); lo < 0 || v < lo {
			lo = v
		}
	}
	k.check(x.row([]string{quantity.Whole(lo) + " to " + quantity.PerS(hi)}), 2)
}

func (k *figureCheck) sources(x *rendered) {
	for _, row := range list(k.v, "sources") {
		if v, ok := num(row, "window_s"); ok {
			k.check(x.row([]string{shown(str(row, "name")), quantity.Fixed(v, 3) + " s"}), 1)
		}
	}
}

func (k *figureCheck) others(x *rendered) {
	for _, c := range list(k.v, "cases")[1:] {
		v, ok := num(c, "macro", "switches_per_s")
		if !ok {
			v, ok = num(c, "layer2", "switches_per_s")
		}
		if cause := str(c.(map[string]any)["verdict"], "cause"); ok {
			k.check(x.row([]string{cause, quantity.Whole(v)}), 1)
		}
	}
}

// page checks what only a page draws: the distributions, the map of CPUs, the
// flame graphs, and the figures that findings rest on.
func (k *figureCheck) page(page string) {
	page = html.UnescapeString(page)
	want := func(s string, figures int) {
		k.n += figures
		if !strings.Contains(page, s) {
			k.t.Errorf("%s: html has no %q", k.name, s)
		}
	}
	for i, row := range list(k.v, "threads") {
		hists, ok := row.(map[string]any)["histograms"].(map[string]any)
		if !ok || i >= mostHists || (i > 0 && row.(map[string]any)["hot"] != true) {
			break
		}
		for kind, head := range map[string]string{"run": "run", "delay": "delay", "off_cpu": "off-CPU"} {
			n, _ := num(row, kind, "n")
			if len(list(hists, kind+"_ns")) == 0 || n == 0 {
				continue
			}
			tid, _ := num(row, "tid")
			p50, _ := num(row, kind, "p50_ns")
			p99, _ := num(row, kind, "p99_ns")
			most, _ := num(row, kind, "max_ns")
			want(fmt.Sprintf("%s %.0f, %s: p50 %s, p99 %s, maximum %s, %s", shown(str(row, "comm")), tid, head, quantity.Time(p50), quantity.Time(p99), quantity.Time(most), plural64(uint64(n), "value", "values")), 4)
		}
	}
	for _, row := range list(k.v, "drawings", "cpu_map", "rows") {
		cpu, _ := num(row, "cpu")
		n, _ := num(row, "switches")
		at := strings.Index(page, fmt.Sprintf(`<div class="nb">CPU %.0f</div>`, cpu))
		if at < 0 || !strings.Contains(page[at:min(at+20000, len(page))], `<div class="r">`+quantity.Count(uint64(n))+`</div>`) {
			k.t.Errorf("%s: no row of CPU %.0f with %.0f", k.name, cpu, n)
		}
		k.n++
	}
	k.flames(page)
	for _, f := range list(k.v, "findings") {
		for i, e := range list(f, "evidence") {
			if v, _ := num(e, "value"); i < mostRefs && str(e, "unit") == "/s" {
				want(">"+shown(str(e, "figure"))+"</bdi> "+quantity.PerS(v)+"<", 1)
			}
		}
	}
}

// flames wants every node that is wide enough, in order, with its weight.
func (k *figureCheck) flames(page string) {
	for _, f := range list(k.v, "drawings", "flames") {
		frames := list(f, "frames")
		total, _ := num(f, "total")
		at := strings.Index(page, `data-flame="`+str(f, "id")+`"`)
		for _, n := range list(f, "nodes") {
			row := n.([]any)
			weight := row[2].(float64)
			if weight/total*flameWidth < 1 {
				continue
			}
			title := frames[int(row[1].(float64))].(map[string]any)["symbol"].(string)
			switch str(f, "unit") {
			case "ns":
				title += ": " + quantity.Time(weight) + ", "
			case "switches":
				title += ": " + strings.ReplaceAll(quantity.Whole(weight)+" switches, ", ": 1 switches,", ": 1 switch,")
			default:
				title += ": "
			}
			title = strings.Replace(title, ": 1 switches,", ": 1 switch,", 1) + quantity.Percent(weight/total, 2) + `"`
			next := strings.Index(page[at:], title)
			if k.n += 2; next < 0 {
				k.t.Errorf("%s: %s has no frame %q in its place", k.name, str(f, "id"), title)
				break
			}
			at += next
		}
	}
}

// TestCapturesNumbers: no number of any format comes from nowhere.
func TestCapturesNumbers(t *testing.T) {
	for name, r := range captures(t) {
		known := numbersOf(t, r)
		n := 0
		for _, x := range renderedAs(t, r) {
			for _, l := range x.lines {
				if isAxis(l) {
					continue
				}
				for _, m := range number.FindAllString(l, -1) {
					if n++; !known[strings.TrimRight(m, ",")] {
						t.Errorf("%s, %s: %s is not in the JSON: %.200q", name, x.name, m, l)
					}
				}
			}
		}
		t.Logf("%-14s %6d numbers looked up", name, n)
	}
}
