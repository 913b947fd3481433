package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a page in a browser, with what it asked for and complained of.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	troubles []string
}

// newTab starts a browser of its own, or skips the test where there is none.
func newTab(t *testing.T) *tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium in PATH: the pages are not opened in a browser (apt-get install chromium)")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	b := &tab{t: t}
	b.ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	_, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{})
	b.must(err)
	_, err = chromedp.Call(b.ctx, log.Enable, cdp.Empty{})
	b.must(err)
	return b
}

func (b *tab) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, fmt.Sprintf("exception %+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.troubles = append(b.troubles, fmt.Sprintf("console %s %v", e.Type, e.Args))
	case *log.EventEntryAdded:
		b.troubles = append(b.troubles, fmt.Sprintf("%s %s", e.Entry.Level, e.Entry.Text))
	case *cdppage.EventJavascriptDialogOpening:
		b.troubles = append(b.troubles, "dialog "+e.Message)
	}
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// view is how a page is looked at.
type view struct {
	width    int64
	dark     bool
	noScript bool
	print    bool
}

func (v view) String() string {
	s := fmt.Sprint(v.width)
	for _, x := range []struct {
		on   bool
		name string
	}{{v.dark, "dark"}, {!v.dark, "light"}, {v.noScript, "noscript"}, {v.print, "print"}} {
		if x.on {
			s += "-" + x.name
		}
	}
	return s
}

// open shows a page, as a file on its own.
func (b *tab) open(name, src string, v view) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "report.html")
	b.must(os.WriteFile(file, []byte(src), 0o600))
	scheme, media := "light", ""
	if v.dark {
		scheme = "dark"
	}
	if v.print {
		media = "print"
	}
	b.must(chromedp.Do(b.ctx, chromedp.EmulateViewport(v.width, 1000)))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.must(err)
	_, err = chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.noScript})
	b.must(err)
	b.must(chromedp.Do(b.ctx, chromedp.Navigate("file://"+file)))
	if dir := os.Getenv("CTXAN_SCREENSHOTS"); dir != "" { // to look at
		png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil { // a page may be too tall for that
			b.t.Log(name, err)
			return
		}
		b.must(os.WriteFile(filepath.Join(dir, name+"-"+v.String()+".png"), png, 0o600))
	}
}

// quiet wants that the page asked for nothing but itself, and complained of nothing.
func (b *tab) quiet(name string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.requests {
		if !strings.HasPrefix(u, "file://") && u != "data:," || strings.HasPrefix(u, "file://") && !strings.HasSuffix(u, "/report.html") {
			b.t.Errorf("%s asks for %.100s", name, u)
		}
	}
	for _, s := range b.troubles {
		b.t.Errorf("%s: %.300s", name, s)
	}
	b.requests, b.troubles = nil, nil
}

// eval runs JavaScript and returns its value.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("JSON.stringify("+js+")"))
	b.must(err)
	var v T
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		b.t.Fatalf("%s: %q: %v", js, s, err)
	}
	return v
}

func (b *tab) do(js string) { eval[bool](b, "(function(){"+js+"; return true})()") }

// lookFor are the faults that a page can be looked over for by machine: text
// with little contrast, and anything that makes the page wider than the window.
const lookFor = `(function () {
  document.querySelectorAll("details").forEach(function (d) { d.open = true });
  var box = document.getElementById("allrows"), out = [], wide = document.documentElement.clientWidth;
  if (box) box.checked = true;
  if (document.documentElement.scrollWidth > wide) out.push("the page is " + document.documentElement.scrollWidth + " wide, the window " + wide);
  function rgb(s) { var m = s.match(/[\d.]+/g).map(Number); return m.length === 3 || m[3] === 1 ? m : m[3] === 0 ? null : m }
  function lum(c) { var l = c.slice(0, 3).map(function (v) { v /= 255; return v <= .03928 ? v / 12.92 : Math.pow((v + .055) / 1.055, 2.4) }); return .2126 * l[0] + .7152 * l[1] + .0722 * l[2] }
  function behind(e) { for (; e; e = e.parentElement) { var c = rgb(getComputedStyle(e).backgroundColor); if (c) return c } return [255, 255, 255] }
  var seen = {};
  document.querySelectorAll("body *").forEach(function (e) {
    var own = Array.prototype.some.call(e.childNodes, function (n) { return n.nodeType === 3 && n.data.trim() });
    if (!own || e.closest("svg,script,style") || !e.getClientRects().length || e.closest(".skip,.more,.wr")) return;
    var s = getComputedStyle(e), a = lum(rgb(s.color)), z = lum(behind(e)), ratio = (Math.max(a, z) + .05) / (Math.min(a, z) + .05);
    var key = e.tagName + "." + e.className + s.color + behind(e);
    if (ratio < 4.5 && !seen[key]) { seen[key] = 1; out.push(e.tagName + "." + e.className + " has contrast " + ratio.toFixed(2)) }
    if (e.getBoundingClientRect().right > wide + 1 && !e.closest(".fl,.strip") && !seen[e.className]) { seen[e.className] = 1; out.push(e.tagName + "." + e.className + " ends at " + e.getBoundingClientRect().right + ": " + e.textContent.slice(0, 40)) }
  });
  document.querySelectorAll("input,select,button").forEach(function (e) {
    if (!(e.labels && e.labels.length) && !e.getAttribute("aria-label") && !e.textContent.trim() && !e.title) out.push("a " + e.tagName + " without a name");
  });
  return out;
})()`

// browserPages are the pages that the tests open.
func browserPages(t *testing.T) map[string]string {
	long := strings.Repeat("name_without_a_break_", 20)
	out := map[string]string{
		"reference": setHTML(t, drawn(reference(), "io_mgr_0")), "counters": setHTML(t, counters()), "machine": setHTML(t, machine()), "empty": setHTML(t, empty()),
		"reference-zh": setChinese(t, drawn(reference(), "io_mgr_0")),
		"crowd":        setHTML(t, drawn(crowd(), "worker")), "long": setHTML(t, drawn(hostile(long), long)), "escapes": setHTML(t, drawn(hostile("\x1b]0;\u202e<script>\xff"), "\x1b]0;\u202e<script>\xff")),
	}
	for name, r := range captures(t) {
		out[name] = setHTML(t, r)
	}
	return out
}

// TestBrowserPages opens each page in each width and scheme: nothing leaves the
// file, nothing complains, nothing is too wide, pale or nameless.
func TestBrowserPages(t *testing.T) {
	b := newTab(t)
	for name, src := range browserPages(t) {
		views := []view{{width: 1280}, {width: 900}, {width: 390, dark: true}}
		if name == "reference" || name == "long" || name == "thousand" {
			views = append(views, view{width: 1280, dark: true}, view{width: 1040}, view{width: 390}, view{width: 320})
		}
		for _, v := range views {
			b.open(name, src, v)
			for _, s := range eval[[]string](b, lookFor) {
				t.Errorf("%s at %v: %s", name, v, s)
			}
			b.quiet(name)
		}
		if n := len(src); n > 1<<20 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// TestBrowserHostile opens pages of hostile names: they bring no element, no
// script and no dialog.
func TestBrowserHostile(t *testing.T) {
	b := newTab(t)
	for i, n := range append(hostileNames(), `"onmouseover="alert(1)`, `'><svg onload=alert(1)>`, `</script><script>alert(1)</script>`, strings.Repeat("<b>\u202e", 512)) {
		if !strings.ContainsAny(n, "<>&\"'\x1b`{}") && i%7 != 0 {
			continue
		}
		b.open("hostile", setHTML(t, drawn(hostile(n), n)), view{width: 1280})
		got := eval[map[string]int](b, `{img: document.images.length, script: document.scripts.length, handlers: document.querySelectorAll("[onerror],[onload],[onmouseover],[onclick]").length,
			b: document.querySelectorAll("main bdi b, main code b").length, away: document.querySelectorAll("a:not([href^='#'])").length, frames: Math.min(1, document.querySelectorAll(".fl button").length)}`)
		want := map[string]int{"img": 0, "script": 2, "handlers": 0, "b": 0, "away": 0, "frames": 1}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%.60q: %d of %s, want %d", n, got[k], k, v)
			}
		}
		b.quiet(fmt.Sprintf("%.60q", n))
	}
}

// TestBrowserNoScript: without JavaScript all figures are there, and the flame
// graphs can be chosen.
func TestBrowserNoScript(t *testing.T) {
	b := newTab(t)
	src := setHTML(t, drawn(reference(), "io_mgr_0"))
	b.open("reference", src, view{width: 1280, noScript: true})
	got := eval[map[string]int](b, `{rows: document.querySelectorAll("#threadtable tbody tr").length, frames: document.querySelectorAll("#p1 .fl i").length, drawings: document.querySelectorAll("svg path").length > 20 ? 1 : 0,
		figs: document.querySelectorAll(".fig").length, tools: document.querySelector("#p1 .tools").getClientRects().length, buttons: document.querySelectorAll("button:not(.reset)").length, tall: document.querySelector("#p1 .fl").offsetHeight}`)
	for k, want := range map[string]int{"rows": 18, "frames": 6, "drawings": 1, "figs": len(reference().Cases[0].Macro.Figures), "tools": 0, "buttons": 0, "tall": 80} {
		if got[k] != want {
			t.Errorf("%d of %s, want %d", got[k], k, want)
		}
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`label[for=w2]`)))
	if !eval[bool](b, `document.querySelector("#p2 .fl").offsetHeight > 0 && document.querySelector("#p1").offsetHeight === 0`) {
		t.Error("the second flame graph cannot be chosen")
	}
	b.quiet("reference")
}

// TestBrowserSameFigures: the script draws the frames that stand in the page
// already, with the same figures to the letter.
func TestBrowserSameFigures(t *testing.T) {
	b := newTab(t)
	for name, src := range browserPages(t) {
		if !strings.Contains(src, "data-flame") {
			continue
		}
		const titles = `Array.from(document.querySelectorAll(".pan")).map(function (p) { return Array.from(p.querySelectorAll(".fl > *")).sort(function (a, b) { return parseFloat(a.style.top) - parseFloat(b.style.top) || parseFloat(a.style.left) - parseFloat(b.style.left) }).map(function (e) { return e.title + " at " + parseInt(e.style.top) }) })`
		b.open(name, src, view{width: 1280, noScript: true})
		static := eval[[][]string](b, titles)
		b.open(name, src, view{width: 1280})
		// The panes that are not seen are drawn for the width of a page.
		live := eval[[][]string](b, titles)
		for i := range static {
			for k, s := range static[i] {
				if k >= len(live[i]) || live[i][k] != s {
					t.Errorf("%s, graph %d: the script does not draw %q as frame %d", name, i, s, k)
					break
				}
			}
			if len(static[i]) != len(live[i]) {
				t.Errorf("%s, graph %d: %d frames in the page, %d by the script", name, i, len(static[i]), len(live[i]))
			}
		}
	}
}

func TestBrowserSort(t *testing.T) {
	b := newTab(t)
	b.open("crowd", setHTML(t, drawn(crowd(), "worker")), view{width: 1280})
	column := func(i int) []string {
		return eval[[]string](b, fmt.Sprintf(`Array.from(document.querySelectorAll("#threadtable tbody tr")).filter(function (r) { return r.getClientRects().length }).map(function (r) { return r.cells[%d].textContent })`, i))
	}
	if rows := column(1); len(rows) != firstRows || rows[0] != "60000" {
		t.Errorf("%d rows, the first %s", len(rows), rows[0])
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`#threadtable th:nth-child(2) button`)))
	if rows := column(1); len(rows) != firstRows || rows[0] != "60499" || rows[1] != "60498" {
		t.Errorf("sorted by TID, descending: %v", rows)
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`#threadtable th:nth-child(2) button`)))
	if rows := column(1); rows[0] != "60000" || rows[15] != "60015" {
		t.Errorf("sorted by TID, ascending: %v", rows)
	}
	if s := eval[string](b, `document.querySelector("#threadtable th:nth-child(2)").getAttribute("aria-sort")`); s != "ascending" {
		t.Errorf("aria-sort is %q", s)
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`#threadtable th:nth-child(1) button`)))
	if rows := column(0); rows[0] != "worker-99" {
		t.Errorf("sorted by name, descending: %v", rows)
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`label[for=allrows]`)))
	if rows := column(1); len(rows) != mostRows {
		t.Errorf("%d rows when all are asked for", len(rows))
	}
	b.do(`document.getElementById("allrows").checked = false; location.hash = "#t-300"`)
	if !eval[bool](b, `document.getElementById("t-300").getClientRects().length > 0`) {
		t.Error("a link to a folded row leads nowhere")
	}
	b.quiet("crowd")
}

// flame reads what the first flame graph shows.
type flameState struct {
	Frames []string // labels of those that are drawn
	Say    string
	Focus  string
	Hits   int
}

func (b *tab) flame() flameState {
	return eval[flameState](b, `{Frames: Array.from(document.querySelectorAll("#p1 .fl button")).map(function (x) { return x.title.split(":")[0] === x.title ? x.title : x.title }), Say: document.querySelector("#p1 .say").textContent,
		Focus: document.activeElement.title || "", Hits: document.querySelectorAll("#p1 .hit").length}`)
}

func TestBrowserFlame(t *testing.T) {
	b := newTab(t)
	b.open("reference", setHTML(t, drawn(reference(), "io_mgr_0")), view{width: 1280})
	nb := string(nbsp)
	if s := b.flame(); len(s.Frames) != 6 || s.Frames[0] != "33,402 switches: 33,402 switches, 100"+nb+"%" || !strings.Contains(s.Say, "1 frame is narrower than a pixel") {
		t.Errorf("at first %+v", s)
	}
	click := func(label string) {
		t.Helper()
		b.do(fmt.Sprintf(`Array.from(document.querySelectorAll("#p1 .fl button")).find(function (x) { return x.title.indexOf(%q) === 0 }).click()`, label))
	}
	click("wide::of<int>::io_mgr_0") // what was too narrow is seen
	if s := b.flame(); len(s.Frames) != 4 || s.Frames[3] != "io_mgr_0: 20 switches, 0.06"+nb+"%" || !strings.HasPrefix(s.Say, "wide::of<int>::io_mgr_0: 2,990 switches, 8.95"+nb+"% of 33,402 switches; itself 8.89"+nb+"%; called by [unknown] in io_mgr_0") {
		t.Errorf("zoomed %+v", s)
	}
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent("\u001b")))
	if s := b.flame(); len(s.Frames) != 6 || !strings.HasPrefix(s.Focus, "33,402 switches") {
		t.Errorf("after Escape %+v", s)
	}
	for _, step := range []struct{ key, want string }{{"\ue015", "[unknown] in io_mgr_0:"}, {"\ue015", "io_mgr_0: 30,000"}, {"\ue014", "wide::of<int>"}, {"\ue012", "io_mgr_0: 30,000"}, {"\ue013", "[unknown]"}, {"\ue014", "[no call chain]"}} {
		b.do(fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`,
			map[string]string{"\ue015": "ArrowDown", "\ue014": "ArrowRight", "\ue012": "ArrowLeft", "\ue013": "ArrowUp"}[step.key]))
		if s := b.flame(); !strings.HasPrefix(s.Focus, step.want) || !strings.HasPrefix(s.Say, step.want[:5]) {
			t.Errorf("the key leads to %q (%q), want %q", s.Focus, s.Say, step.want)
		}
	}
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent("\r"))) // Enter zooms
	if s := b.flame(); len(s.Frames) != 2 || !strings.HasPrefix(s.Frames[1], "[no call chain]") {
		t.Errorf("after Enter %+v", s)
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`#p1 .reset`)))
	b.must(chromedp.Do(b.ctx, chromedp.SendKeys(`#p1 input`, "NanoSleep")))
	if s := b.flame(); s.Hits != 1 || !strings.HasPrefix(s.Say, "“NanoSleep” is in 89.81"+nb+"% of 33,402 switches") {
		t.Errorf("searched %+v", s)
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`#p1 .reset`)))
	b.do(`var s = document.querySelector("#p1 select"); s.value = "1"; s.dispatchEvent(new Event("change"))`)
	if s := b.flame(); s.Frames[0] != "io_mgr_1 58988, all: 3,000 switches, 100"+nb+"%" || s.Frames[2] != "io_mgr_0: 2,000 switches, 66.67"+nb+"%" {
		t.Errorf("one thread %+v", s)
	}
	b.must(chromedp.Do(b.ctx, chromedp.Click(`#p1 .reset`)))
	if s := b.flame(); len(s.Frames) != 6 || s.Hits != 0 {
		t.Errorf("reset %+v", s)
	}
	b.quiet("reference")
}

// TestBrowserPrint: on paper all flame graphs are there, and no buttons.
func TestBrowserPrint(t *testing.T) {
	b := newTab(t)
	b.open("reference", setHTML(t, drawn(reference(), "io_mgr_0")), view{width: 1000, print: true})
	if got := eval[[]bool](b, `[1, 2, 3].map(function (i) { return document.getElementById("p" + i).offsetHeight > 0 }).concat([document.querySelector(".copy").offsetHeight > 0, document.querySelector(".tools").offsetHeight > 0])`); !slices.Equal(got, []bool{true, true, true, false, false}) {
		t.Errorf("flame graphs, copy and tools are shown: %v", got)
	}
	pdf, err := chromedp.Call(b.ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{})
	b.must(err)
	if !strings.HasPrefix(string(pdf.Data), "%PDF") {
		t.Error("no PDF")
	}
}

// TestBrowserLinks: a link of a finding leads to the figure, which is then marked.
func TestBrowserLinks(t *testing.T) {
	b := newTab(t)
	b.open("reference", setHTML(t, analyzedReference(t)), view{width: 1280})
	n := eval[int](b, `document.querySelectorAll("#findings .refs a").length`)
	if n < 3 {
		t.Fatalf("%d links", n)
	}
	for i := range n {
		b.do(fmt.Sprintf(`document.querySelectorAll("#findings .refs a")[%d].click()`, i))
		if !eval[bool](b, `(function () { var e = document.querySelector(":target"); return !!e && getComputedStyle(e).outlineStyle === "solid" && e.getClientRects().length > 0 })()`) {
			t.Errorf("link %d leads to nothing that shows", i)
		}
	}
	b.quiet("reference")
}
