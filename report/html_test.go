package report

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ctxan/analyze"
	"ctxan/parse/evidence"
)

func setHTML(t testing.TB, r *analyze.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r, Options{More: []string{"ctxan inspect a.data"}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// drawn adds what only a page draws, with a name where names go.
func drawn(r *analyze.Result, name string) *analyze.Result {
	frames := []analyze.FlameFrame{{Module: name, Kind: "unresolved"}, {Symbol: name, Kind: "user"}, {Symbol: "do_nanosleep", Kind: "kernel"}, {Kind: "none"}, {Symbol: "wide::of<int>::" + name, Kind: "user"}}
	f := analyze.Flame{ID: "switches", Unit: "switches", Total: 33402, Frames: frames, Pruned: 7, Floor: 1.0 / 4000, Threads: []analyze.FlameThread{
		{Name: name, TID: 58949, Count: 1, Weight: 30000}, {Name: "io_mgr_1", TID: 58988, Count: 1, Weight: 3000}, {Count: 4, Weight: 402}},
		Nodes: []analyze.FlameNode{
			{Depth: 1, Frame: 0, Weight: 33000, By: []analyze.FlameBy{{Thread: 0, Weight: 30000}, {Thread: 1, Weight: 3000}}},
			{Depth: 2, Frame: 1, Weight: 30000, By: []analyze.FlameBy{{Thread: 0, Weight: 28000}, {Thread: 1, Weight: 2000}}},
			{Depth: 3, Frame: 2, Weight: 29999, By: []analyze.FlameBy{{Thread: 0, Weight: 28000}, {Thread: 1, Weight: 1999}}},
			{Depth: 2, Frame: 4, Weight: 2990, By: []analyze.FlameBy{{Thread: 0, Weight: 2000}, {Thread: 1, Weight: 990}}},
			{Depth: 3, Frame: 1, Weight: 20, By: []analyze.FlameBy{{Thread: 1, Weight: 20}}},
			{Depth: 1, Frame: 3, Weight: 402, By: []analyze.FlameBy{{Thread: 2, Weight: 402}}},
		}}
	off, cpu := f, f
	off.ID, off.Unit, off.Total = "off_cpu", "ns", 4.5e9
	off.Nodes = slices.Clone(f.Nodes)
	for i := range off.Nodes {
		off.Nodes[i].Weight *= 120000.5
	}
	cpu.ID, cpu.Unit = "cpu", "periods"
	r.Cases[0].Macro.Scales = analyze.DefaultScales()
	r.Cases[0].Drawings = &analyze.Drawings{Flames: []analyze.Flame{f, off, cpu}, CPUMap: analyze.CPUMap{StepS: 0.005, Of: 2, Rows: []analyze.CPURow{
		{CPU: 2, Switches: 30, Steps: []uint64{0, 10, 20, 0, 0}, BusyShare: some(0.391)}, {CPU: 5, Switches: 8, Steps: []uint64{2, 2, 2, 2, 0}, BusyShare: evidence.Opt[float64]{}}}}}
	c := r.Cases[0]
	by := analyze.Text{{S: name, Code: true}}
	c.Taken = []analyze.TakenRow{{By: by, Count: 31, Share: 0.75, RanNS: some(1.5e6)}, {By: by, Count: 10, Share: 0.25}}
	c.Held = &analyze.Held{WaitedNS: 1e9, IdleShare: 0.3, Rows: []analyze.HeldRow{{By: by, NS: 7e8, Share: 0.7}}}
	rows := []analyze.LedgerRow{{ID: "x", Label: name, Willing: some(true), Switches: 33000, Share: 0.988, OffNS: some(1.29e9)}, {ID: "y", Label: "time slice ended", Willing: some(false), Switches: 402, Share: 0.012}}
	c.Ledger = &analyze.Ledger{Switches: 33402, OffNS: some(4.42e9), Why: rows, Kinds: rows[1:], Scenarios: rows, Migrated: some(uint64(12))}
	return r
}

var (
	anyTag   = regexp.MustCompile(`<[!/]?[a-zA-Z][^>]*>|<!--`)
	tagName  = regexp.MustCompile(`^<[!/]?[a-zA-Z0-9]+|^<!--`)
	attrName = regexp.MustCompile(`\s([a-zA-Z-]+)(=|[\s>])`)
	quoted   = regexp.MustCompile(`"[^"]*"`)
)

// vocabulary is the tags of a page, and the names of their attributes.
func vocabulary(page string) map[string]bool {
	words := map[string]bool{}
	_, page, _ = strings.Cut(page, "</style>")
	page, _, _ = strings.Cut(page, "<script type")
	for _, tag := range anyTag.FindAllString(quoted.ReplaceAllString(page, `""`), -1) {
		words[tagName.FindString(tag)] = true
		for _, a := range attrName.FindAllStringSubmatch(tag, -1) {
			words[a[1]+"="] = true
		}
	}
	return words
}

// TestHTMLIsInert: whatever a name holds, the page has the tags and attributes
// that it has with a plain one, and no character that cannot be seen.
func TestHTMLIsInert(t *testing.T) {
	words := vocabulary(setHTML(t, drawn(hostile("plain"), "plain")))
	words["ins"], words["<ins"], words["<del"], words["</ins"], words["</del"] = true, true, true, true, true // of sketches
	words["title="] = true                                                                                    // of names that are cut
	for _, n := range append(hostileNames(), strings.Repeat("\x1b]0;<b>\u202e\xff", 512), `"onmouseover="alert(1)`, `'><svg onload=alert(1)>`, `;}</style><script>`, `</script><script>alert(1)</script>`, `{{.Title}}`, "javascript:alert(1)") {
		page := setHTML(t, drawn(hostile(n), n))
		if !utf8.ValidString(page) {
			t.Errorf("%.60q: invalid UTF-8", n)
		}
		for _, c := range page {
			if hidden(c) && c != '\n' && c != nbsp {
				t.Errorf("%.60q: raw %U", n, c)
				break
			}
		}
		for w := range vocabulary(page) {
			if !words[w] {
				t.Errorf("%.60q brings %s into the page", n, w)
			}
		}
		if strings.Count(page, "<script") != 2 || strings.Count(page, "</script") != 2 || strings.Count(page, "<style") != 1 || strings.Count(page, "</style") != 1 {
			t.Errorf("%.60q: scripts or styles of its own", n)
		}
		if len(page) > 4<<20 {
			t.Errorf("%.60q: %d bytes", n, len(page))
		}
	}
}

// TestHTMLEscapesShow: what is escaped stands in a box, what is cut has the
// whole in its title.
func TestHTMLEscapesShow(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1bb\x07":               `<bdi>a<span class="esc">\x1b</span>b<span class="esc">\x07</span></bdi>`,
		"<b>&\"'":                  `<bdi>&lt;b&gt;&amp;&#34;&#39;</bdi>`,
		"":                         absent,
		strings.Repeat("xy", 20):   `<bdi title="` + strings.Repeat("xy", 20) + `">xyxyx…yxyxy</bdi>`,
		"ns::deep::Klass::method":  `<bdi title="ns::deep::Klass::method">…::method</bdi>`,
		"\u202e" + "x\xff":         `<bdi><span class="esc">\u202e</span>x<span class="esc">\xff</span></bdi>`,
		strings.Repeat("z", 10000): `<bdi title="` + strings.Repeat("z", 512) + "…" + strings.Repeat("z", 511) + `">zzzzz…zzzzz</bdi>`,
	} {
		if got := string(htmlName(in, 11)); got != want {
			t.Errorf("%.40q: %.90s, want %.90s", in, got, want)
		}
	}
}

func TestHTMLPolicy(t *testing.T) {
	page := setHTML(t, drawn(reference(), "io_mgr_0"))
	for _, s := range []string{"http://", "https://", "url(", "@import", "src=", "<link rel=\"stylesheet\""} {
		if i := strings.Index(page, s); i >= 0 {
			t.Errorf("the page has %s: %.80q", s, page[i:])
		}
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("there is no policy")
	}
}

// TestHTMLParts: each section that the result has data for is there, and no other.
func TestHTMLParts(t *testing.T) {
	ids := func(r *analyze.Result) string {
		var out []string
		for _, m := range regexp.MustCompile(`<section id="([a-z0-9]+)"`).FindAllStringSubmatch(setHTML(t, r), -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	for name, want := range map[string]string{
		"reference": "verdict chain advice l1 l2 l3 findings rejected checks sources",
		"counters":  "verdict chain candidates l1 sources",
		"machine":   "verdict chain l1 l2 l3 findings checks sources others",
		"empty":     "verdict",
	} {
		if got := ids(results()[name]); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

// TestHTMLLinks: every link leads to something that is there, once.
func TestHTMLLinks(t *testing.T) {
	for name, r := range results() {
		page := setHTML(t, drawn(r, "io_mgr_0"))
		at := map[string]int{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if at[m[1]]++; at[m[1]] > 1 {
				t.Errorf("%s: two of #%s", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if at[m[1]] == 0 {
				t.Errorf("%s: #%s leads nowhere", name, m[1])
			}
		}
	}
}

// TestHTMLEvidenceLinks: the figures of a finding lead to where they are shown.
func TestHTMLEvidenceLinks(t *testing.T) {
	r := reference()
	c := r.Cases[0]
	c.Macro.Figures[1].Inputs = []analyze.Evidence{ev(0, 5, "context-switches", 225908, "")}
	c.Threads[2].Evidence = []analyze.Evidence{ev(1, 83, "voluntary switches of io_mgr_2", 17605, "/s")}
	c.Findings[0].Evidence = []analyze.Evidence{c.Macro.Figures[1].Inputs[0], c.Threads[2].Evidence[0], ev(2, 0, "ep_poll", 8.9, "%"), ev(3, 0, "something else", 1, "")}
	page := setHTML(t, r)
	for _, want := range []string{
		`<a href="#` + figureID(c.Macro.Figures[1].ID) + `"><bdi>context-switches</bdi> 225,908</a> <span class="src"><bdi>perf-stat.txt:5</bdi>`,
		`<a href="#t-2"><bdi>voluntary switches of io_mgr_2</bdi> 17,605/s</a>`, `<a href="#r-1"><bdi>ep_poll</bdi> 8.90` + string(nbsp) + `%</a>`, `<a href="#s-3"><bdi>something else</bdi> 1</a>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestHTMLCrowd: a thousand threads have rows up to a bound, the others a sum,
// and the page stays small.
func TestHTMLCrowd(t *testing.T) {
	page := setHTML(t, drawn(crowd(), "worker"))
	if n := strings.Count(page, `<tr id="t-`); n != mostRows {
		t.Errorf("%d rows", n)
	}
	for _, want := range []string{fmt.Sprintf("%d others", 1000-firstRows), fmt.Sprintf("%d others", 1000-mostRows)} {
		if !strings.Contains(page, want) {
			t.Errorf("no row of %s", want)
		}
	}
	if len(page) > 1<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

// TestHTMLFrames: a frame for every node that is a pixel wide, in place, with
// its weight and share.
func TestHTMLFrames(t *testing.T) {
	page := setHTML(t, drawn(reference(), "io_mgr_0"))
	for _, want := range []string{
		`<i class="x" style="left:0%;width:98.8%;top:20px" title="[unknown] in io_mgr_0: 33,000 switches, 98.80` + string(nbsp) + `%">[unknown] in io_mgr_0</i>`,
		`<i class="u" style="left:89.81%;width:8.95%;top:40px" title="wide::of&lt;int&gt;::io_mgr_0: 2,990 switches, 8.95` + string(nbsp) + `%">io_mgr_0</i>`,
		`<i class="x" style="left:98.8%;width:1.2%;top:20px" title="[no call chain]: 402 switches, 1.20` + string(nbsp) + `%"></i>`,
		`7 frames narrower than 0.025` + string(nbsp) + `% of the whole are left out`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(page, ": 20 switches") {
		t.Error("a frame of less than a pixel is drawn")
	}
}

// htmlLines is the text of a page as a reader sees it, a line for each row or
// block; drawings and their axes are left out.
func htmlLines(page string) string {
	for _, re := range []string{`(?s)<head>.*?</head>`, `(?s)<script.*?</script>`, `(?s)<svg.*?</svg>`, `(?s)<div class="ax".*?</div>`, `(?s)<nav.*?</nav>`} {
		page = regexp.MustCompile(re).ReplaceAllString(page, "")
	}
	page = regexp.MustCompile(`\n`).ReplaceAllString(page, " ")
	page = regexp.MustCompile(`</?(tr|p|li|h[1-4]|dl|dt|details|summary|section|pre|ins|del|option|table|label)[ >]|<div class="(fig|h|nm|cmd|hd|nb)"|<i class="[kux]"`).ReplaceAllString(page, "\n$0")
	page = regexp.MustCompile(` title="([^"]*)"[^>]*>`).ReplaceAllString(page, "> $1 ")
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return html.UnescapeString(page)
}
