package lang_test

import (
	"testing"

	"ctxan/analyze"
	"ctxan/report/lang"
)

// The comment of a sketch is said in the language; its code stays.
func TestSketch(t *testing.T) {
	c, err := lang.For("zh")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"// sketch: no time limit\n- all;\n+ a(\"sketch: no time limit\");":   "// 示意：不设时限\n- all;\n+ a(\"sketch: no time limit\");",
		"/* sketch: no time limit */\n- all;":                                 "/* 示意：不设时限 */\n- all;",
		"# sketch: wait until there is work, not for a time\n- time.sleep(1)": "# 示意：等到有工作为止，而不是等一段时间\n- time.sleep(1)",
		"threads;": "threads;",
	} {
		r := &analyze.Result{Cases: []*analyze.Case{{Advice: []analyze.Advice{{Sketch: in}}}}}
		if got := lang.Localized(r, c).Cases[0].Advice[0].Sketch; got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if r.Cases[0].Advice[0].Sketch != in {
			t.Errorf("%q was changed in place", in)
		}
	}
}

func TestTag(t *testing.T) {
	var none *lang.Catalogue
	if c, err := lang.For("zh"); err != nil || c.Tag() != "zh-CN" || none.Tag() != "en" {
		t.Errorf("the tags are %s and %s (%v)", c.Tag(), none.Tag(), err)
	}
}
