package report

import (
	"strings"
	"testing"
)

// A text of the script becomes a chain of strings, its arguments in the order of
// the language.
func TestPhrases(t *testing.T) {
	for in, want := range map[string][2]string{
		`b.textContent = phrase("Copy");`:                             {`b.textContent = "Copy";`, `b.textContent = "复制";`},
		`s += phrase(" of %s; itself %s", a.b, f(x, "),("));`:         {`s += " of " + a.b + "; itself " + f(x, "),(");`, `s += "（总体为 " + a.b + "）；自身 " + f(x, "),(");`},
		`phrase("“%s” is in %s of %s", q, p, w)`:                      {`"“" + q + "” is in " + p + " of " + w`, `"“" + q + "”占" + w + "的 " + p`},
		`n + (n === 1 ? phrase(" switch") : phrase(" switches"))`:     {`n + (n === 1 ? " switch" : " switches")`, `n + (n === 1 ? " 次切换" : " 次切换")`},
		`phrase("; called by %s", (a ? phrase(" ") : phrase("all")))`: {`"; called by " + (a ? " " : "all")`, `"；调用者 " + (a ? "" : "全部")`},
		`none`: {`none`, `none`},
	} {
		for i, opt := range []Options{{}, chinese(t)} {
			got, err := opt.phrases(in)
			if err != nil || got != want[i] {
				t.Errorf("%s became %s (%v), want %s", in, got, err, want[i])
			}
		}
	}
	for _, bad := range []string{`phrase("a"`, `phrase(a)`, `phrase("%s")`} {
		if got, err := (Options{}).phrases(bad); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

// Whatever a catalogue says, it ends neither the script element nor a string in it.
func TestPhrasesAreInert(t *testing.T) {
	got, err := Options{}.phrases(`phrase("</script><b>\"+alert(1)+\"")`)
	if err != nil || strings.Contains(got, "<") || !strings.HasSuffix(got, `\"+alert(1)+\""`) {
		t.Errorf("%s (%v)", got, err)
	}
}
