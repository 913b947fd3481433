package lang_test

import (
	"strings"
	"testing"

	"ctxan/report/lang"
)

func TestFor(t *testing.T) {
	for name, want := range map[string]string{"en": "", "en-GB": "", "zh": "线程", "zh-CN": "线程", "zh-Hans": "线程",
		"": "error", "fr": "error", "zh-TW": "error", "zh-Hant": "error", "english": "error", "../zh": "error"} {
		c, err := lang.For(name)
		got := ""
		switch {
		case err != nil:
			got = "error"
		case c != nil:
			got = c.Phrase("threads")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

const sample = `
# words
msgid "voluntary"
msgstr "自愿"
msgid "%s of %s"
msgstr "%[2]s 的 %[1]s"
msgid "%d threads wait for %s"
msgstr "%d 个线程等待%s"
msgid ", and %s wakes them"
msgstr "，由%s唤醒"
msgid "%d cows"
msgstr "%d 头牛"
msgid "cows"
msgstr "牛"
msgid "a lock; it is "
"held"
msgstr "锁；它被持有"
`

func TestPhrase(t *testing.T) {
	c, err := lang.Read(sample)
	if err != nil {
		t.Fatal(err)
	}
	for en, want := range map[string]string{
		"voluntary":               "自愿",
		"Voluntary":               "自愿",
		"  voluntary: ":           "  自愿：",
		"12 threads wait for cow": "12 个线程等待cow",
		"12 threads wait for voluntary, and cow wakes them": "12 个线程等待自愿，由cow唤醒",
		"many threads wait for cow":                         "many threads wait for cow", // no number
		"voluntary; a lock; it is held":                     "自愿；锁；它被持有",
		"king of all the other animals":                     "king of all the other animals", // not ours
		"3 of 4":                                            "4 的 3",
		"3 cows":                                            "3 头牛", // as things are counted
		"cows":                                              "牛",
		"cows, 牛棚":                                          "牛，牛棚", // a part that is translated already
		"cows, barn":                                        "牛，barn",
		"牛棚, barn":                                          "牛棚, barn", // it may be a name
		"%s":                                                "%s",
		"":                                                  "",
	} {
		if got := c.Phrase(en); got != want {
			t.Errorf("%q became %q, want %q", en, got, want)
		}
	}
}

func TestBadCatalogues(t *testing.T) {
	for _, bad := range []string{`msgid "a`, "msgid \"a\"\nmsgstr \"b\"\nmsgid \"a\"\nmsgstr \"c\"", "msgid \"a\"\nmsgstr \"\"", `"lost"`, "nonsense"} {
		if _, err := lang.Read(bad); err == nil {
			t.Errorf("read %q", bad)
		}
	}
}

// What comes from a capture may be anything, and ends soon.
func FuzzPhrase(f *testing.F) {
	c, err := lang.For("zh")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"voluntary, layer 2", "%s of %s of %s", strings.Repeat("a, ", 600), strings.Repeat("x of ", 300), "\xff; \xfe", "43.9 % of its context switches"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := c.Phrase(s); len(got) > 8*len(s)+1000 {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
	})
}
