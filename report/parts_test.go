package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/analyze"
	"ctxan/parse/evidence"
)

func TestFitName(t *testing.T) {
	for _, c := range []struct {
		name string
		w    int
		want string
	}{
		{"io_mgr_0", 20, "io_mgr_0"},
		{"io_mgr_0", 7, "io_…r_0"},
		{"uv_runtime_sw::MultiHostNetworkIOMgr::task", 42, "uv_runtime_sw::MultiHostNetworkIOMgr::task"},
		{"uv_runtime_sw::MultiHostNetworkIOMgr::task", 41, "…::MultiHostNetworkIOMgr::task"},
		{"uv_runtime_sw::MultiHostNetworkIOMgr::task", 12, "…::task"},
		{"uv_runtime_sw::MultiHostNetworkIOMgr::task", 5, "task"},
		{"std::vector<std::pair<int, int>>::push_back", 20, "…::push_back"},
		{"a\x1bb", 20, `a\x1bb`},
		{"a\x1bb", 5, `a…b`},
		{"日本語日本語", 7, "日…本語"},
		{strings.Repeat("x", 100), 200, strings.Repeat("x", 32) + "…" + strings.Repeat("x", 31)},
		{"", 5, ""},
	} {
		if got := unitsString(fitName(c.name, c.w, false)); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.name, c.w, got, c.want)
		}
	}
	if got := unitsString(fitName("ns::deep::task", 12, true)); got != "...::task" {
		t.Errorf("in ASCII: %q", got)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text        string
		first, rest int
		want        []string
	}{
		{"one two three", 7, 7, []string{"one two", "three"}},
		{"one two three", 3, 9, []string{"one", "two three"}},
		{"−90\u00a0% less", 6, 6, []string{"−90\u00a0%", "less"}},
		{"at −90\u00a0% less", 7, 20, []string{"at", "−90\u00a0% less"}},
		{"abcdefgh", 3, 4, []string{"abc", "defg", "h"}},
		{"日本語", 5, 5, []string{"日本", "語"}},
		{"", 5, 5, []string{""}},
	} {
		var got []string
		for _, l := range wrap(plain(c.text), c.first, c.rest) {
			s := ""
			for _, x := range l {
				s += x.s
			}
			got = append(got, s)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
	}
}

func TestDrawBar(t *testing.T) {
	for _, c := range []struct {
		bar   bar
		w     int
		ascii bool
		want  string
	}{
		{bar{}, 8, false, ""},
		{bar{solid: 1}, 8, false, "████████"},
		{bar{solid: 0.5}, 5, false, "██▌"},
		{bar{solid: 1e-9}, 8, false, "▏"},
		{bar{hatched: 1e-9}, 8, false, "░"},
		{bar{solid: 0.5, hatched: 0.5}, 8, false, "████░░░░"},
		{bar{solid: 0.99, hatched: 0.01}, 8, false, "████████"},
		{bar{solid: 0.01, hatched: 0.99}, 8, false, "░░░░░░░░"},
		{bar{solid: 0.1, hatched: 0.9}, 8, false, "█░░░░░░░"},
		{bar{solid: 0.5}, 5, true, "###"},
		{bar{solid: 1e-9}, 5, true, "#"},
		{bar{hatched: 0.4}, 5, true, "oo"},
	} {
		p := newPage(Options{ASCII: c.ascii})
		got := ""
		for _, s := range p.drawBar(c.bar, c.w) {
			got += s.s
		}
		if got != c.want {
			t.Errorf("%v in %d columns, ascii %v: %q, want %q", c.bar, c.w, c.ascii, got, c.want)
		}
	}
}

func TestAxis(t *testing.T) {
	h := []evidence.Bucket{{Lo: 1000, Hi: 1125, Count: 4}, {Lo: 8000, Hi: 9000, Count: 1}, {Lo: 90_000, Hi: 100_000, Count: 8}}
	a, ok := axisOf([][]evidence.Bucket{h, nil})
	if !ok || a.lo != 3 || a.decades != 2 {
		t.Fatalf("axis %+v", a)
	}
	a.per = 6
	p := newPage(Options{})
	bins := a.bins(h)
	if got := p.spark(bins, largest(bins)); got != "▄    ▁     █" {
		t.Errorf("%q", got)
	}
	if got := a.labels(); got != "1µs   10    " {
		t.Errorf("labels %q", got)
	}
	if _, ok := axisOf([][]evidence.Bucket{nil, {{Lo: 5, Hi: 6}}}); ok {
		t.Error("an axis of nothing")
	}
	a = axis{lo: 2, decades: 6, per: 4}
	if got := a.labels(); got != "    1µs 10  100 1ms 10  " {
		t.Errorf("narrow labels %q", got)
	}
}

func TestResample(t *testing.T) {
	if d := cmp.Diff([]float64{1, 1, 2, 2}, resample([]float64{1, 2}, 5)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{2, 5}, resample([]float64{1, 3, 4, 6}, 2)); d != "" {
		t.Error(d)
	}
	for _, c := range [][2]float64{{68_800, 80_000}, {80_000, 80_000}, {80_001, 100_000}, {0, 1}, {3, 4}} {
		if got := niceMax(c[0]); got != c[1] {
			t.Errorf("scale of %v is %v, want %v", c[0], got, c[1])
		}
	}
}

func TestTableDropsBarsFirst(t *testing.T) {
	tab := table{cols: []column{{head: "name", least: 11}, {head: "n", right: true, gap: 2, keep: 10}, {bar: true, gap: 1, keep: 1, most: 20}, {head: "wide", gap: 2, keep: 5, from: 60}}}
	tab.add(cell{text: plain("a-long-name")}, cell{text: plain("12,345")}, cell{bar: bar{solid: 1}}, cell{text: plain("w")})
	for _, c := range []struct {
		width int
		want  string
	}{
		{80, "a-long-name  12,345 ████████████████████  w\n"},
		{50, "a-long-name  12,345 ████████████████████\n"},
		{40, "a-long-name  12,345 ███████████████████\n"},
	} {
		p := newPage(Options{Width: c.width})
		tab.render(p, nil)
		if _, got, _ := strings.Cut(p.buf.String(), "\n"); got != c.want {
			t.Errorf("at %d columns: %q, want %q", c.width, got, c.want)
		}
	}
	p := &page{width: 22}
	tab.render(p, nil)
	if _, got, _ := strings.Cut(p.buf.String(), "\n"); got != "a-long-name  12,345\n" {
		t.Errorf("the bar is not dropped first: %q", got)
	}
	tab.cols[0].least = 4
	p = &page{width: 22}
	tab.render(p, nil)
	if _, got, _ := strings.Cut(p.buf.String(), "\n"); got != "a-long-…  12,345 ████\n" {
		t.Errorf("the name is not shortened first: %q", got)
	}
}

func TestCodeSpan(t *testing.T) {
	for in, want := range map[string]string{
		"a": "`a`", "`": "`` ` ``", "a`b": "``a`b``", "``": "``` `` ```", " a ": "`  a  `", "a|b": "a&#124;b", "\x1b": "`\\x1b`", "": "", " ": "",
	} {
		if got := strings.TrimSpace(mdCode(in)); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownPlain(t *testing.T) {
	for in, want := range map[string]string{
		"io_mgr_0 *x* _y_": `io_mgr_0 \*x\* \_y\_`, "[58931] and [x](y)": `[58931] and \[x\](y)`, "[1](x)": `\[1\](x)`, "<b> <0.1": "&lt;b> <0.1", "a|b": "a&#124;b",
		"http://x": `http\://x`, "www.x": `www\.x`, "a::b": "a::b", "me@x": "me`@`x", "a\nb": `a\\x0ab`, "5\u00a0%": "5\u00a0%",
	} {
		if got := mdPlain(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"- a": `\- a`, "1. a": `1\. a`, "1.5 a": "1.5 a", "> a": `\> a`, "= a": `\= a`, "12) a": `12\) a`, "  a": "a", "": ""} {
		if got := blockStart(in); got != want {
			t.Errorf("%q begins as %q, want %q", in, got, want)
		}
	}
}

func TestOthersCount(t *testing.T) {
	rows := referenceThreads()
	lines := tableLines(rows)
	if n := len(lines); n != 9 || lines[8].label != "10 others" {
		t.Errorf("%d lines, the last %q", n, lines[len(lines)-1].label)
	}
	if lines = tableLines(rows[:9]); len(lines) != 9 || lines[8].label != "" {
		t.Error("a single thread is called others")
	}
	if lines = histLines(rows); len(lines) != 5 || lines[4].label != "4 others" {
		t.Errorf("distributions of %d lines", len(lines))
	}
	rows[1].Name = rows[0].Name
	p := newPage(Options{})
	lines = histLines(rows)
	for i, want := range []string{"io_mgr_1 58988", "io_mgr_1 58989", "io_mgr_0"} {
		if got := p.threadName(&lines[i], distName); len(got) == 0 || unspan(got) != want {
			t.Errorf("line %d is named %q, want %q", i, unspan(got), want)
		}
	}
	if n := len(tableLines(crowd().Cases[0].Threads)); n != mostThreads+1 {
		t.Errorf("%d lines for a thousand threads", n)
	}
}

func unspan(ss spans) string {
	s := ""
	for _, x := range ss {
		s += x.s
	}
	return s
}

func TestChainSummary(t *testing.T) {
	link := func(s analyze.LinkStatus) analyze.Link { return analyze.Link{Status: s} }
	ok, no, gone := link(analyze.LinkSupports), link(analyze.LinkContradicts), link(analyze.LinkMissing)
	for want, links := range map[string][]analyze.Link{
		"3 of 3 links support": {ok, ok, ok}, "1 of 3 links, 2 missing": {ok, gone, gone}, "1 of 3 links, 1 against, 1 missing": {ok, no, gone},
	} {
		if got := chainSummary(links); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
