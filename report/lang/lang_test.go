package lang_test

import (
	"strings"
	"testing"

	"ctxan/analyze/signature"
	"ctxan/report/explain"
	"ctxan/report/lang"
)

// Every text that reports are made of has a Chinese counterpart.
func TestNothingIsMissing(t *testing.T) {
	c := catalogue(t)
	src := readSources(t)
	n := 0
	for _, x := range append(src.texts, dataTexts()...) {
		if !x.toTranslate() {
			continue
		}
		n++
		if _, ok := known(c, x.key); !ok {
			t.Errorf("%s: no Chinese for %q", x.pos, x.key)
		}
	}
	if n < 900 {
		t.Errorf("only %d texts were found", n)
	}
}

// known looks a text up without the blanks around it, or without its colon.
func known(c *lang.Catalogue, s string) (string, bool) {
	s = strings.TrimSpace(s)
	if other, ok := c.Whole(s); ok {
		return other, ok
	}
	return c.Whole(strings.TrimSuffix(s, ":"))
}

// dataTexts are the texts that are data: topics, and reasons of signatures.
func dataTexts() []sourceText {
	var out []sourceText
	for _, topic := range explain.Topics() {
		if !strings.HasPrefix(topic.ID, "wait.") { // those are made of the reasons
			out = append(out, sourceText{key: topic.Text, pos: topic.ID, said: true}, sourceText{key: topic.Title, pos: topic.ID, said: true})
		}
		out = append(out, sourceText{key: topic.Kind, pos: topic.ID, said: true})
	}
	for _, r := range signature.Default().Reasons() {
		out = append(out, sourceText{key: r.Label, pos: "reason " + r.ID}, sourceText{key: r.Note, pos: "reason " + r.ID})
	}
	return out
}

// No entry is left of a text that is no more.
func TestNothingIsLeftOver(t *testing.T) {
	src := readSources(t)
	used := map[string]bool{}
	for _, x := range append(src.texts, dataTexts()...) {
		used[strings.TrimSuffix(strings.TrimSpace(x.key), ":")] = true
		used[strings.TrimSpace(x.key)] = true
	}
	for _, e := range list(t) {
		if used[e.En] || used[strings.ToUpper(e.En[:1])+e.En[1:]] || used[strings.ToLower(e.En[:1])+e.En[1:]] {
			continue
		}
		pieces, _, _ := lang.CutFormat(e.En)
		for _, p := range pieces {
			if len(pieces) == 1 || !strings.Contains(src.all, strings.TrimSpace(p)) && !strings.Contains(src.all, strings.TrimSpace(strings.ReplaceAll(p, "%", "%%"))) {
				t.Errorf("line %d: nothing says %q any more", e.Line, e.En)
				break
			}
		}
	}
}

// A counterpart takes only arguments that the English text has, as the same kind.
func TestVerbsFit(t *testing.T) {
	for _, e := range list(t) {
		_, _, kinds := lang.CutFormat(e.En)
		_, takes, otherKinds := lang.CutFormat(e.Other)
		for i, n := range takes {
			if n >= len(kinds) || kinds[n] != otherKinds[i] {
				t.Errorf("line %d: the verbs of %q do not fit those of %q", e.Line, e.Other, e.En)
			}
		}
		numbered := strings.Contains(e.Other, "%[")
		if !numbered && len(takes) != len(kinds) && len(takes) > 0 {
			t.Errorf("line %d: %q leaves arguments out without numbers", e.Line, e.Other)
		}
	}
}

func catalogue(t *testing.T) *lang.Catalogue {
	c, _, err := lang.Chinese()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func list(t *testing.T) []lang.Entry {
	_, l, err := lang.Chinese()
	if err != nil {
		t.Fatal(err)
	}
	return l
}
