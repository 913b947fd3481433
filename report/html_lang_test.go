package report

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"

	"ctxan/analyze"
	"ctxan/report/lang"
)

func chinese(t testing.TB) Options {
	t.Helper()
	c, err := lang.For("zh")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Lang: c, More: []string{"ctxan inspect a.data"}}
}

func setChinese(t testing.TB, r *analyze.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r, chinese(t)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pageFigures are the parts of a page that hold figures and no prose: values of
// layer 1, cells, quantiles, frames. Of each the figures, sorted.
func pageFigures(page string) [][]string {
	part := regexp.MustCompile(`(?s)<div class="v"[^>]*>.*?</div>|<td class="r"[^>]*>.*?</td>|<td class="w" data-l=[^>]*><span class="b">.*?</td>|<p class="q">.*?</p>|<div class="r">.*?</div>|<i class="[kux]" [^>]*>|<div class="nb">.*?</div>`)
	tag := regexp.MustCompile(` (?:style|data-[a-z]+|class)="[^"]*"|<[a-z/]+|%`)
	var out [][]string
	for _, p := range part.FindAllString(page, -1) {
		figures := number.FindAllString(html.UnescapeString(tag.ReplaceAllString(p, " ")), -1)
		slices.Sort(figures)
		out = append(out, figures)
	}
	return out
}

// TestChinesePageFigures: the page has the figures of the English one, which are
// held against the JSON, each in its place.
func TestChinesePageFigures(t *testing.T) {
	all := captures(t)
	for name, r := range results() {
		all["made "+name] = drawn(r, "io_mgr_0")
	}
	for name, r := range all {
		want, got := pageFigures(setHTML(t, r)), pageFigures(setChinese(t, r))
		if len(got) != len(want) {
			t.Errorf("%s: %d places of figures, %d in English", name, len(got), len(want))
			continue
		}
		n := 0
		for i := range want {
			if n += len(want[i]); !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: %v, in English %v", name, got[i], want[i])
			}
		}
		if n < 10 && !strings.HasSuffix(name, "empty") {
			t.Errorf("%s: only %d figures", name, n)
		}
	}
}

// TestChinesePageIsInert: names stay names in any language, and bring nothing in.
func TestChinesePageIsInert(t *testing.T) {
	words := vocabulary(setChinese(t, drawn(hostile("plain"), "plain")))
	words["ins"], words["<ins"], words["<del"], words["</ins"], words["</del"], words["title="] = true, true, true, true, true, true
	for _, n := range append(hostileNames(), `"onmouseover="alert(1)`, `</script><script>alert(1)</script>`, `{{.Title}}`, `threads; <b>all</b>, 3 switches`, `%s of %[9]s`) {
		page := setChinese(t, drawn(hostile(n), n))
		for w := range vocabulary(page) {
			if !words[w] {
				t.Errorf("%.60q brings %s into the page", n, w)
			}
		}
		if strings.Count(page, "<script") != 2 || strings.Count(page, "</script") != 2 {
			t.Errorf("%.60q: scripts of its own", n)
		}
	}
	page := setChinese(t, drawn(hostile("exit"), "exit")) // a word that the catalogue has, too
	if !strings.Contains(page, "<bdi>exit</bdi>") || strings.Contains(page, "<bdi>退出</bdi>") {
		t.Error("a name is translated")
	}
}

// readTexts are the texts of a page outside of code, commands and names, with what
// is read aloud.
const readTexts = `(function () {
  var out = [];
  function own(e) { return Array.prototype.filter.call(e.childNodes, function (n) { return n.nodeType === 3 }).map(function (n) { return n.data }).join(" ") }
  document.querySelectorAll("body *").forEach(function (e) {
    if (e.closest("script,style,code,bdi,pre,option,.hash,.hf:not(th)")) return;
    out.push(own(e));
    if (!e.closest(".fl")) out.push(e.getAttribute("aria-label") || "", e.getAttribute("data-l") || "");
  });
  return out.filter(function (s) { return /[A-Za-z]{3}/.test(s) });
})()`

var englishWord = regexp.MustCompile(`(?:^|[^\w.:/\[\-])([A-Za-z][a-z]{2,})(?:$|[^\w.:/\]\-])`)

// TestBrowserChinese opens pages in Chinese and uses them: no error, nothing too
// wide, and no English word but names and terms, also in what the script writes.
func TestBrowserChinese(t *testing.T) {
	b := newTab(t)
	terms := map[string]bool{}
	for _, w := range strings.Fields("ctxan perf profile seconds time elapsed timer slack cycles instructions branches pidstat softexpires futex Linux " +
		"Enter Esc LMbench idle json JSON yield task sleep epoll poll GHz libc Libc root kallsyms build cpuset taskset eventfd timehist archive DIR core oversubscription healthy exec vfork select shell xargs limit") {
		terms[w] = true
	}
	pages := map[string]string{"zh-made": setChinese(t, drawn(reference(), "io_mgr_0"))}
	for name, r := range captures(t) {
		pages["zh-"+name] = setChinese(t, r)
	}
	for name, src := range pages {
		for _, v := range []view{{width: 1280}, {width: 390, dark: true}} {
			b.open(name, src, v)
			for _, s := range eval[[]string](b, lookFor) {
				t.Errorf("%s at %v: %s", name, v, s)
			}
			if strings.Contains(src, `class="pan"`) {
				b.use()
			}
			for _, s := range eval[[]string](b, readTexts) {
				if name == "zh-made" { // its texts are of no rule
					break
				}
				s = strings.ReplaceAll(s, "(deleted)", "")                                           // the kernel's word behind a path
				if strings.HasPrefix(s, "[unknown]") || !hasHan(s) && strings.ContainsAny(s, "_…") { // a frame
					continue
				}
				for _, m := range englishWord.FindAllStringSubmatch(s, -1) {
					if !terms[m[1]] && !strings.Contains(src, "<bdi>"+m[1]) {
						t.Errorf("%s at %v: %q in %.120q", name, v, m[1], s)
					}
				}
			}
			b.quiet(name)
		}
	}
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// use has the script write what it writes: figures of a frame, what a search
// finds, one thread.
func (b *tab) use() {
	b.t.Helper()
	say := func() string { return eval[string](b, `document.querySelector(".pan .say").textContent`) }
	hint := say()
	b.do(`var f = document.querySelectorAll(".fl button"); f[f.length > 1 ? 1 : 0].click()`)
	figures := say()
	b.must(chromedp.Do(b.ctx, chromedp.Click(`#p1 .reset`)))
	b.do(`var s = document.querySelector("#p1 input"); s.value = "a"; s.dispatchEvent(new Event("input"))`)
	found := say()
	b.do(`var s = document.querySelector("#p1 select"); if (s) { s.value = "0"; s.dispatchEvent(new Event("change")) }; document.querySelector(".copy") && document.querySelector(".copy").click()`)
	for what, s := range map[string]string{"hint": hint, "frame": figures, "search": found} {
		if !hasHan(s) {
			b.t.Errorf("the %s says %q", what, s)
		}
	}
}
