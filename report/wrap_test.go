package report

import (
	"strings"
	"testing"
)

// Chinese is broken between characters, each two columns wide, but not before
// what closes and not inside a number with its unit.
func TestWrapChinese(t *testing.T) {
	text := "每 21.28 µs CPU 时间切换一次。最重的用户态代码（uv_runtime_sw::task）在 30.58 % 的采样栈上，其余未知。"
	for w := 8; w < 60; w++ {
		whole := ""
		for _, l := range Wrap(text, w) {
			if width(l) > w {
				t.Errorf("%d columns: %q takes %d", w, l, width(l))
			}
			if strings.IndexAny(l, "。，）") == 0 && w > 24 {
				t.Errorf("%d columns: a line begins with %q", w, l)
			}
			whole += l
		}
		if a, b := strings.ReplaceAll(whole, " ", ""), strings.ReplaceAll(text, " ", ""); a != b {
			t.Errorf("%d columns: %q", w, whole)
		}
	}
	if got := Wrap("一二三四五六", 8); len(got) != 2 || got[0] != "一二三四" {
		t.Errorf("got %q", got)
	}
}
