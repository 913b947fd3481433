package paste

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"ctxan/testdata/shared"

	"github.com/google/go-cmp/cmp"
)

// numbered writes lines with their numbers.
func numbered(t *Text) []string {
	var out []string
	for _, l := range t.Lines {
		out = append(out, fmt.Sprintf("%d %s", l.No, l.Text))
	}
	return out
}

func clean(t testing.TB, s string) *Text {
	t.Helper()
	text, err := Clean([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestClean(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		notes    []string
	}{
		{"empty", "", nil, nil},
		{"plain", "a\n\n b\n", []string{"1 a", "2 ", "3  b"}, nil},
		{"line ends of DOS", "a\r\nb\r\n", []string{"1 a", "2 b"}, []string{"CRLF line ends"}},
		{"doubled carriage returns", "a\r\r\n\r\r\nb\r\r\n", []string{"1 a", "2 ", "3 b"}, []string{"CRLF line ends"}},
		{"carriage returns alone", "a\r\rb\r", []string{"1 a", "2 ", "3 b"}, []string{"CR line ends"}},
		{"carriage returns and a last line feed", "a\rb\rc\n", []string{"1 a", "2 b", "3 c"}, []string{"CR line ends"}},
		{"a progress bar", "10%\r50%\r100%\nx\ny\nz\n", []string{"1 10%", "1 50%", "1 100%", "2 x", "3 y", "4 z"}, []string{"carriage returns"}},
		{"UTF-8 with a mark", "\xef\xbb\xbfa\n", []string{"1 a"}, []string{"byte order mark"}},
		{"NUL bytes", "some text\x00\x00b and more of it\x00\n\x00c\n", []string{"1 some text  b and more of it", "2 c"}, []string{"NUL bytes"}},
		{"colour", "\x1b[1;31m0.994\x1b[0m CPUs\x1b[K\n", []string{"1 0.994 CPUs"}, []string{"terminal escapes"}},
		{"titles and links", "\x1b]0;title\aa\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\\n", []string{"1 ab"}, []string{"terminal escapes"}},
		{"clear screen", "\x1b[H\x1b[2Ja\x1b(B\n", []string{"1 a"}, []string{"terminal escapes"}},
		{"movements for runs of spaces", "a\x1b[3Cb\x1b[9Gc\n", []string{"1 a   b   c"}, []string{"terminal escapes"}},
		{"overstrike", "a\bab\bb\n", []string{"1 ab"}, []string{"terminal escapes"}},
		{"escapes spelled by cat -v", "^[[31m61%^[[0m x\n", []string{"1 61% x"}, []string{"terminal escapes"}},
		{"escapes without their first character", "[31m61%[0m x\n", []string{"1 61% x"}, []string{"terminal escapes"}},
		{"brackets that are no escapes", "[3] [12;1]m x[1]\n", []string{"1 [3] [12;1]m x[1]"}, nil},
		{"no-break spaces", "\u00a0 1\u00a0234 x\u200b\u00a0y\n", []string{"1   1\u00a0234 x y"}, []string{"no-break or odd spaces"}},
		{"quoting", "He wrote:\n> a\n>\n>   b\nBye\n", []string{"1 He wrote:", "2 a", "3 ", "4   b", "5 Bye"}, []string{"quoting '> '"}},
		{"nested quoting", "> > > a\n> > >\n> > >  b\n", []string{"1 a", "2 ", "3  b"}, []string{"quoting '> '"}},
		{"one line with the sign is none", "a\n> b\nc\n", []string{"1 a", "2 > b", "3 c"}, nil},
		{"CI", "2026-01-05T10:11:12.0000000Z a\n2026-01-05T10:11:12.0001234Z\n2026-01-05T10:11:12.0001234Z  b\n",
			[]string{"1 a", "2 ", "3  b"}, []string{"log time stamps"}},
		{"journal", "Nov 30 12:00:00 h b[42]: a\nNov 30 12:00:01 h b[42]:\nNov 30 12:00:02 h b[42]:  b\n",
			[]string{"1 a", "2 ", "3  b"}, []string{"journal prefixes"}},
		{"ts", "Nov 30 12:00:00 a\nNov 30 12:00:01 b\nNov 30 12:00:02  c\n",
			[]string{"1 a", "2 b", "3  c"}, []string{"log time stamps"}},
		{"compose, two services", "a-1   | x\na-1   |\nbcd-1 | y\nbcd-1 | z\nbcd-1 | 1\na-1   | z\na-1   | 2\n",
			[]string{"1 x", "2 ", "3 y", "4 z", "5 1", "6 z", "7 2"}, []string{"container name prefixes"}},
		{"dmesg", "[    1.000001] a\n[    1.000002] b\n[   12.000002] c\n", []string{"1 a", "2 b", "3 c"}, []string{"kernel log time stamps"}},
		{"hosts", "n1: a\nn1: b\nn1:  c\nn1: d\n", []string{"1 a", "2 b", "3  c", "4 d"}, []string{"host name prefixes"}},
		{"averages are no hosts", "Average: 1\nAverage: 2\nAverage: 3\nAverage: 4\n",
			[]string{"1 Average: 1", "2 Average: 2", "3 Average: 3", "4 Average: 4"}, nil},
		{"a table of latencies has bars of its own", "  perf:12  |  1.000 ms |   3 |\n  sshd:13  |  1.000 ms |   3 |\n  bash:14  |  1.000 ms |   3 |\n",
			[]string{"1   perf:12  |  1.000 ms |   3 |", "2   sshd:13  |  1.000 ms |   3 |", "3   bash:14  |  1.000 ms |   3 |"}, nil},
		{"a call graph has bars of its own", "|\n|--52.3%-- a\n|  b\n|  c\n",
			[]string{"1 |", "2 |--52.3%-- a", "3 |  b", "4 |  c"}, nil},
		{"times of day are data", "12:00:01 1 2\n12:00:02 1 2\n12:00:03 1 2\n12:00:04 3 4\n12:00:05 3 4\n",
			[]string{"1 12:00:01 1 2", "2 12:00:02 1 2", "3 12:00:03 1 2", "4 12:00:04 3 4", "5 12:00:05 3 4"}, nil},
		{"hours that follow each other are data", "10:00:01 1\n11:00:01 2\n12:00:01 3\n13:00:01 4\n14:00:01 5\n15:00:01 5\n",
			[]string{"1 10:00:01 1", "2 11:00:01 2", "3 12:00:01 3", "4 13:00:01 4", "5 14:00:01 5", "6 15:00:01 5"}, nil},
		{"a fence", "Look:\n```console\n# a\n```\n", []string{"1 Look:", "3 # a"}, []string{"Markdown or wiki code marks"}},
		{"a fence in a list", "1. x\n\n   ```\n   # a\n     b\n   ```\n", []string{"1 1. x", "2 ", "4 # a", "5   b"}, []string{"Markdown or wiki code marks"}},
		{"a fence beside text", "```a 1\nb\nc```\n", []string{"1 a 1", "2 b", "3 c"}, []string{"Markdown or wiki code marks"}},
		{"inline code", "`a b`\n", []string{"1 a b"}, []string{"Markdown or wiki code marks"}},
		{"Jira", "{code:java|title=x}\na\n{code}\n", []string{"2 a"}, []string{"Markdown or wiki code marks"}},
		{"escaped HTML", "a &lt;idle&gt; &amp; b &#39;\n", []string{"1 a <idle> & b '"}, []string{"HTML entities"}},
		{"brackets of a tool", "a <idle> <not counted> std::vector<b>\n", []string{"1 a <idle> <not counted> std::vector<b>"}, nil},
		{"a page", "<pre class=\"x\">a &lt;idle&gt;<br>b <b>c</b>\n</pre>\n", []string{"1 a <idle>", "1 b c", "2 "}, []string{"HTML tags", "HTML entities"}},
		{"quoted-printable", "x =3D 1=20\nThe first half of a line that was cut at seventy-five characters =\nand its end\n",
			[]string{"1 x = 1 ", "2 The first half of a line that was cut at seventy-five characters and its end"}, []string{"quoted-printable"}},
		{"equals signs", "a=20\nb=3\n--duration=20\n", []string{"1 a=20", "2 b=3", "3 --duration=20"}, nil},
		{"a diff", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a 1\n-b 2\n+b 3\n+\n", []string{"5 a 1", "6 b 2", "7 b 3", "8 "}, []string{"diff signs"}},
		{"rows of a browser are no diff", "+   99.8%  99.8%  a\n-    1.0%   1.0%  b\n+    1.0%   1.0%  c\n+    1.0%   1.0%  d\n",
			[]string{"1 +   99.8%  99.8%  a", "2 -    1.0%   1.0%  b", "3 +    1.0%   1.0%  c", "4 +    1.0%   1.0%  d"}, nil},
		{"a list is no diff", "Do:\n- this\n- that\n- these\n- those\n", []string{"1 Do:", "2 - this", "3 - that", "4 - these", "5 - those"}, nil},
		{"commented rows", "#  342783.256922 [0000]  a[13]  0.000  0.002  0.025\n#  342783.256992 [0001]  b[14]  0.000  0.000  0.000\n",
			[]string{"1  342783.256922 [0000]  a[13]  0.000  0.002  0.025", "2  342783.256992 [0001]  b[14]  0.000  0.000  0.000"}, []string{"comment signs"}},
		{"headers of perf report", "# To display\n#\n# Samples: 59K of event 'cs'\n# Event count (approx.): 12\n#\n# Overhead  Command\n",
			[]string{"1 # To display", "2 #", "3 # Samples: 59K of event 'cs'", "4 # Event count (approx.): 12", "5 #", "6 # Overhead  Command"}, nil},
		{"line numbers", "1\ta\n2\t b\n3\tc\n4\t\n5\td\n", []string{"1 a", "2  b", "3 c", "4 ", "5 d"}, []string{"line numbers"}},
		{"Docker's log files", `{"log":"a \"b\"\n","stream":"stdout"}` + "\n" + `{"log":" c\n","stream":"stdout"}` + "\n", []string{"1 a \"b\"", "2  c"}, []string{"JSON log objects"}},
		{"a string literal", `a\n b\n\tc` + "\n", []string{"1 a", "1  b", "1 \tc"}, []string{`line ends written as "\n"`}},
		{"zsh", "a\n5.0 seconds time elapsed%", []string{"1 a", "2 5.0 seconds time elapsed"}, []string{"zsh end-of-line mark"}},
		{"a per cent sign", "a 12%", []string{"1 a 12%"}, nil},
		{"indentation of all", "   # a\n     b\n\n   c\n", []string{"1 # a", "2   b", "3 ", "4 c"}, []string{"indentation"}},
		{"indentation of rows", "   1 a\n   2 b\n", []string{"1    1 a", "2    2 b"}, nil},
		{"frames keep theirs", "a 1\n\tf\n\tg\n", []string{"1 a 1", "2 \tf", "3 \tg"}, nil},
		{"quoting in CI in compose", "2026-01-05T10:11:12Z x-1 | > a\n2026-01-05T10:11:12Z x-1 | > b\n2026-01-05T10:11:12Z x-1 | > c\n",
			[]string{"1 a", "2 b", "3 c"}, []string{"log time stamps", "container name prefixes", "quoting '> '"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := clean(t, tt.in)
			if d := cmp.Diff(tt.want, numbered(got)); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.notes, got.Notes); d != "" {
				t.Errorf("notes (-want +got):\n%s", d)
			}
		})
	}
}

func TestUTF16(t *testing.T) {
	in := "Total time: 1\r\n 60\u202f276 cs \U0001f600\r\n"
	want := []string{"1 Total time: 1", "2  60\u202f276 cs \U0001f600"}
	for _, tt := range []struct {
		name string
		mark string
		bo   binary.AppendByteOrder
	}{
		{"little with mark", "\xff\xfe", binary.LittleEndian}, {"big with mark", "\xfe\xff", binary.BigEndian},
		{"little", "", binary.LittleEndian}, {"big", "", binary.BigEndian},
	} {
		raw := []byte(tt.mark)
		for _, u := range utf16.Encode([]rune(in)) {
			raw = tt.bo.AppendUint16(raw, u)
		}
		for _, cut := range []int{0, 1} { // half a character at the end is left out
			text, err := Clean(append(raw, make([]byte, cut)...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, numbered(text)[:2]); d != "" {
				t.Errorf("%s, %d (-want +got):\n%s", tt.name, cut, d)
			}
		}
	}
}

func TestEndsOpen(t *testing.T) {
	for in, want := range map[string]bool{"": false, "a": true, "a\n": false, "a\nb": true, "a\rb\r": false, "a\rb": true, "a\r\n": false} {
		if got := clean(t, in).EndsOpen; got != want {
			t.Errorf("EndsOpen of %q is %v", in, got)
		}
	}
}

func TestBinary(t *testing.T) {
	noise := make([]byte, 4096)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.UintN(256))
	}
	for name, raw := range map[string][]byte{
		"noise":       noise,
		"zeros":       append([]byte("PERFILE2"), make([]byte, 4096)...),
		"elf":         append([]byte("\x7fELF\x02\x01\x01"), bytes.Repeat([]byte{0, 1, 2, 3, 0, 0, 'a'}, 100)...),
		"koi8 repeat": bytes.Repeat([]byte{0x80, 0x81}, 100),
	} {
		if _, err := Clean(raw); !errors.Is(err, ErrBinary) {
			t.Errorf("%s: %v", name, err)
		}
		if !IsDecorated(raw) {
			t.Errorf("%s is not decorated", name)
		}
	}
	for name, s := range map[string]string{
		"latin-1":        "12:00 S\xe9bastien 60\xa0276 cs\n",
		"zeros in front": strings.Repeat("\x00", 70000) + "a 1 context-switches\n",
		"few NUL":        strings.Repeat("a 1 context-switches\x00 # 1\n", 10),
	} {
		if _, err := Clean([]byte(s)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIsDecorated(t *testing.T) {
	row := "     762.581400 [0000]  migration/0[18]                     0.000      0.006      0.026 \n"
	for s, want := range map[string]bool{
		"":                     false,
		strings.Repeat(row, 3): false,
		strings.ReplaceAll(row+row, "\n", "\r\n"): false,
		"\ufeff" + row: false,
		"> " + row + "> " + row + "> " + row[:10]:      true,
		strings.Repeat("2026-01-05T10:11:12Z "+row, 4): true,
		"\x1b[1m" + row: true,
	} {
		if got := IsDecorated([]byte(s)); got != want {
			t.Errorf("IsDecorated(%.40q) = %v", s, got)
		}
	}
}

// TestHostileSize bounds what a small input can grow to.
func TestHostileSize(t *testing.T) {
	for name, s := range map[string]string{
		"cursor movements": strings.Repeat("\x1b[999C\n", 1<<16),
		"columns":          strings.Repeat("\x1b[500G", 1<<16),
		"soft breaks":      "x=3D=3D\n" + strings.Repeat(strings.Repeat("a", 70)+"=\n", 1<<15),
		"breaks":           strings.Repeat("<br>", 1<<18),
		"quotes":           strings.Repeat(">", 1<<20) + "\n" + strings.Repeat(">", 1<<20) + "\n",
	} {
		text, err := Clean([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, l := range text.Lines {
			size += len(l.Text)
		}
		if size > 3*len(s)+2<<20 {
			t.Errorf("%s: %d bytes became %d", name, len(s), size)
		}
	}
}

// TestCorpusUndecorated goes through all shared captures: those that were not
// decorated must come out as they are.
func TestCorpusUndecorated(t *testing.T) {
	dir := shared.Dir(t)
	names, err := filepath.Glob(filepath.Join(dir, "corpus", "*", "gen*"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(raw, "\x1b") || filepath.Base(filepath.Dir(name)) == "nasty" {
			continue
		}
		text := clean(t, string(raw))
		want := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
		for i, l := range text.Lines {
			if l.Text != plainSpaces(want[l.No-1]) || l.No != i+1 {
				t.Errorf("%s:%d: %q became %q", name, l.No, want[i], l.Text)
				break
			}
			lines++
		}
	}
	t.Logf("%d lines of %d captures", lines, len(names))
	if lines < 1000 {
		t.Error("no captures were read")
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"a\r\nb\r\n", "> > a\n> > b\n", "\x1b[1m\x1b]0;x\a\b", "{code}\na\n{code}\n", "=3D=20\n=\n", "<pre>&lt;idle&gt;<br></pre>",
		"\xff\xfea\x00\n\x00", "@@ -1 +1 @@\n-a\n+b\n", "1\ta\n2\tb\n3\tc\n4\td\n5\te\n", `{"log":"a\n"}`, "x-1 | a\nx-1 | b\nx-1 | c\n",
		"Nov 30 12:00:00 h b[42]: a\nNov 30 12:00:01 h b[42]:\nNov 30 12:00:02 h b[42]:  b\n", "```\n  a\n```", "a\rb\rc",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := Clean(raw)
		if err != nil {
			if !errors.Is(err, ErrBinary) {
				t.Fatal(err)
			}
			return
		}
		ends := bytes.Count(raw, []byte("\n")) + bytes.Count(raw, []byte("\r")) + 1
		last, size := 1, 0
		for _, l := range text.Lines {
			if l.No < last || l.No > ends {
				t.Fatalf("line %d after %d, of %d", l.No, last, ends)
			}
			if strings.IndexByte(l.Text, '\n') >= 0 && !bytes.HasPrefix(raw, []byte(`{"log":"`)) {
				t.Fatalf("a line end inside line %d: %q", l.No, l.Text)
			}
			last = l.No
			size += len(l.Text)
		}
		if size > 4*len(raw)+2<<20 {
			t.Fatalf("%d bytes became %d", len(raw), size)
		}
		IsDecorated(raw)
	})
}

func benchmark(b *testing.B, raw []byte) {
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Clean(raw); err != nil {
			b.Fatal(err)
		}
	}
}

const benchRow = "     762.581400 [0000]  migration/0[18]                     0.000      0.006      0.026 \n"

// BenchmarkPlain is the common case: nothing to take off.
func BenchmarkPlain(b *testing.B) {
	benchmark(b, []byte(strings.Repeat(benchRow, 50000)))
}

func BenchmarkDecorated(b *testing.B) {
	benchmark(b, []byte(strings.Repeat("2026-01-05T10:11:12.0000000Z "+benchRow, 50000)))
}
