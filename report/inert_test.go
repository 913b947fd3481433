package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNothingHiddenIsPrinted: whatever the names hold, a report for people has
// only characters that can be seen, line ends, and its own colours.
func TestNothingHiddenIsPrinted(t *testing.T) {
	for _, n := range hostileNames() {
		r, s := hostile(n), evidenceSet(n)
		for kind, out := range map[string]string{
			"text": setText(t, r, Options{}), "ascii": setText(t, r, Options{ASCII: true}), "color": sgr.ReplaceAllString(setText(t, r, Options{Color: true}), ""),
			"markdown": string(setMarkdown(t, r)), "ticket": string(setTicket(t, r)), "inspect": setInspect(t, s, Options{}), "inspect ascii": setInspect(t, s, Options{ASCII: true}),
			"inspect color": sgr.ReplaceAllString(setInspect(t, s, Options{Color: true}), ""),
		} {
			if !utf8.ValidString(out) {
				t.Errorf("%q in %s: invalid UTF-8", n, kind)
			}
			for _, c := range out {
				if hidden(c) && c != '\n' && c != nbsp {
					t.Errorf("%q in %s: raw %U", n, kind, c)
					break
				}
			}
		}
	}
}

// TestEscapesAreReversed: with colour, an escape is told from a name that holds
// the same characters.
func TestEscapesAreReversed(t *testing.T) {
	out := setText(t, hostile("a\x1bb"), Options{Color: true})
	if !strings.Contains(out, "a\x1b[7m\\x1b\x1b[0mb") {
		t.Error("the escape is not reversed")
	}
	if out := setText(t, hostile(`a\x1bb`), Options{Color: true}); strings.Contains(out, "\x1b[7m") {
		t.Error("a plain backslash is reversed")
	}
}
