package perfstat

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

// mutation is a way in which a capture is changed on its way, or in which
// another machine would have printed it. The values stay the same.
type mutation struct {
	name  string
	do    func(string) string
	skip  func(row indexRow) bool // captures that it would destroy
	lines int                     // fewer cannot show that it was done
}

// eachLine makes a mutation of a change to every line.
func eachLine(f func(i int, line string) string) func(string) string {
	return func(s string) string {
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		for i := range lines {
			lines[i] = f(i, lines[i])
		}
		return strings.Join(lines, "\n") + "\n"
	}
}

func before(prefix string) func(string) string {
	return eachLine(func(_ int, l string) string { return prefix + l })
}

func trimmedBefore(prefix string) func(string) string {
	return eachLine(func(_ int, l string) string { return strings.TrimRight(prefix+l, " ") })
}

var (
	blockNumber = regexp.MustCompile(`(^|[\s(\[])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(%?)([\s)\]]|$)`)
	blockRow    = regexp.MustCompile(`^\s*(CPU\d+ |[SN]\d\S* +\d+ |.*-\d+  +)?\s*([\d.,]+|<not \w+>) +|^ +#|^ +Topdown`)
)

// localised reprints numbers with other separators, as perf would under
// another locale.
func localised(group, decimal string) func(string) string {
	return eachLine(func(_ int, l string) string {
		if !blockRow.MatchString(l) || strings.Contains(l, headerMark) {
			return l
		}
		head := ""
		if m := regexp.MustCompile(`^\s*(\d+\.\d{9} +)?(CPU\d+ |[SN]\d\S* +\d+ )?`).FindString(l); strings.Contains(l, "seconds") == false {
			head, l = m, l[len(m):]
		}
		for range 2 { // numbers side by side share a space
			l = blockNumber.ReplaceAllStringFunc(l, func(s string) string {
				m := blockNumber.FindStringSubmatch(s)
				whole := strings.ReplaceAll(m[2], ",", "")
				if m[3] == "" || strings.HasPrefix(strings.TrimSpace(l), m[2]) {
					whole = grouped(whole, "\x01")
				}
				return m[1] + whole + strings.Replace(m[3], ".", "\x02", 1) + m[4] + m[5]
			})
		}
		l = strings.ReplaceAll(l, "\x01", group)
		return head + strings.ReplaceAll(l, "\x02", decimal)
	})
}

func grouped(digits, sep string) string {
	if len(digits) < 4 {
		return digits
	}
	return grouped(digits[:len(digits)-3], sep) + sep + digits[len(digits)-3:]
}

// inC reports whether a capture was printed with points for decimals, in text.
func inC(row indexRow) bool {
	for _, b := range blocksOf(row) {
		if b["decimal_comma"] == true {
			return false
		}
	}
	for _, s := range []string{"csv", "json", "locale", "-fr-", "-ru-", "old", "nan", "interleaved", "ambiguous", "pub-3x-doc"} {
		if strings.Contains(row.Name, s) {
			return false
		}
	}
	return true
}

func blocksOf(row indexRow) []map[string]any {
	var out []map[string]any
	list, _ := row.expected["blocks"].([]any)
	for _, b := range list {
		out = append(out, b.(map[string]any))
	}
	return out
}

func notC(row indexRow) bool { return !inC(row) }

// oneLine joins a capture to one line, as chat programs do.
func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ") + "\n"
}

func utf16BE(s string) string {
	b := []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.BigEndian.AppendUint16(b, u)
	}
	return string(b)
}

func quotedPrintable(s string) string {
	s = strings.ReplaceAll(s, "=", "=3D")
	return eachLine(func(_ int, l string) string {
		if strings.HasSuffix(l, " ") {
			l = l[:len(l)-1] + "=20"
		}
		var out []string
		for len(l) > 75 {
			n := 74
			if i := strings.LastIndexByte(l[:n], '='); i > n-3 {
				n = i
			}
			out = append(out, l[:n]+"=")
			l = l[n:]
		}
		return strings.Join(append(out, l), "\n")
	})(s)
}

func dockerJSON(s string) string {
	return eachLine(func(_ int, l string) string {
		j, _ := json.Marshal(l + "\n")
		return `{"log":` + string(j) + `,"stream":"stderr","time":"2026-01-05T10:11:12.123456789Z"}`
	})(s)
}

func separated(sep string) func(string) string {
	return eachLine(func(_ int, l string) string { return strings.ReplaceAll(l, ",", sep) })
}

func notCSV(row indexRow) bool {
	return !strings.Contains(row.Name, "-csv") || strings.Contains(row.Name, "semicolon") || strings.Contains(row.Name, "de_DE")
}

func only(part string) func(indexRow) bool {
	return func(row indexRow) bool { return !strings.Contains(row.Name, part) }
}

// structured captures lose their meaning when lines are joined.
func structured(row indexRow) bool {
	for _, s := range []string{"csv", "json", "interval", "per-", "C01", "cgroup", "table", "multiline", "headless", "jmh",
		"topdown", "hybrid", "three-blocks", "two-blocks", "pub-thread-id", "locale", "fr-", "ru-", "append", "tids", "es-before",
		"truncated", "pub-de"} {
		if strings.Contains(row.Name, s) {
			return true
		}
	}
	return false
}

func mutations() []mutation {
	stamp := func(i int, l string) string {
		return fmt.Sprintf("2026-01-05T10:11:%02d.%07dZ %s", i%60, i*1234, l)
	}
	return []mutation{
		{name: "crlf", do: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{name: "crcrlf", do: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\r\n") }},
		{name: "cr", do: func(s string) string { return strings.ReplaceAll(s, "\n", "\r") }},
		{name: "bom", do: func(s string) string { return "\ufeff" + s }},
		{name: "utf16be", do: utf16BE},
		{name: "quoted", do: before("> ")},
		{name: "quoted twice, trimmed", do: trimmedBefore(">> ")},
		{name: "actions", do: eachLine(stamp)},
		{name: "actions job log", do: eachLine(func(i int, l string) string { return "build\tRun perf\t" + stamp(i, l) })},
		{name: "kubernetes", do: eachLine(func(_ int, l string) string { return "2026-01-05T10:11:12.123456789+01:00 stderr F " + l })},
		{name: "syslog", do: eachLine(func(i int, l string) string {
			return strings.TrimRight(fmt.Sprintf("Jan  5 10:11:%02d web-3 bench[42]: %s", i%60, l), " ")
		})},
		{name: "journal iso", do: before("2026-01-05T10:11:12+0100 web-3 bench[42]: ")},
		{name: "compose", do: trimmedBefore("db_1     | ")},
		{name: "compose in actions", do: eachLine(func(i int, l string) string { return stamp(i, "bench-1  | "+l) })},
		{name: "indented", do: before("    ")},
		{name: "tab indented", do: before("\t")},
		{name: "diff fence", do: func(s string) string { return "Look:\n```diff\n" + before("+")(s) + "```\nThat is all.\n" }, skip: only("gen61"), lines: 5},
		{name: "fence", do: func(s string) string { return "Look:\n```text\n" + s + "```\nThat is all.\n" }},
		{name: "tilde fence in a list", do: func(s string) string { return "- Look:\n\n  ~~~\n" + before("  ")(s) + "  ~~~\n" }},
		{name: "noformat", do: func(s string) string { return "{noformat}\n" + s + "{noformat}\n" }},
		{name: "bbcode", do: func(s string) string { return "[code]\n" + s + "[/code]\n" }},
		{name: "pre", do: func(s string) string {
			return "<html><body><pre><code>" + html.EscapeString(s) + "</code></pre></body></html>\n"
		}, skip: only("gen61")},
		{name: "escaped", do: html.EscapeString},
		{name: "quoted-printable", do: quotedPrintable, lines: 4, skip: func(row indexRow) bool { return strings.Contains(row.Name, "es-before") }},
		{name: "docker json", do: dockerJSON},
		{name: "added", do: before("+"), skip: only("gen61"), lines: 3},
		{name: "numbered", do: eachLine(func(i int, l string) string { return fmt.Sprintf("%6d\t%s", i+1, l) }), lines: 5},
		{name: "bars", do: before("| "), skip: only("gen61"), lines: 3},
		{name: "box", do: before("│ "), lines: 3},
		{name: "slashes", do: before("// "), skip: func(row indexRow) bool {
			return !strings.Contains(row.Name, "gen61") || strings.Contains(row.Name, "json")
		}, lines: 3},
		{name: "no line end", do: func(s string) string { return strings.TrimRight(s, "\n") }},
		{name: "double spaced", do: func(s string) string { return strings.ReplaceAll(s, "\n", "\n\n") }, skip: func(row indexRow) bool {
			return strings.Contains(row.Name, "multiline") || strings.Contains(row.Name, "headless")
		}},
		{name: "collapsed spaces", do: eachLine(func(_ int, l string) string {
			return strings.Join(strings.FieldsFunc(l, func(r rune) bool { return r == ' ' || r == '\t' }), " ")
		})},
		{name: "tabs", do: func(s string) string { return regexp.MustCompile(`  +`).ReplaceAllString(s, "\t") }},
		{name: "trimmed", do: eachLine(func(_ int, l string) string { return strings.TrimSpace(l) })},
		{name: "colour", do: func(s string) string {
			return regexp.MustCompile(`# +([\d.,]+)`).ReplaceAllString(s, "# \x1b[1;31m$1\x1b[m")
		}},
		{name: "spelled colour", do: func(s string) string {
			return regexp.MustCompile(`# +([\d.,]+)`).ReplaceAllString(s, "# ^[[31m$1^[[0m")
		}},
		{name: "conpty", do: func(s string) string {
			return regexp.MustCompile(`   +`).ReplaceAllStringFunc(s, func(m string) string { return fmt.Sprintf("\x1b[%dC", len(m)) })
		}},
		{name: "nul", do: func(s string) string { return strings.ReplaceAll(s, " #", "\x00#") }},
		{name: "no-break indentation", do: func(s string) string { return strings.ReplaceAll(s, "  ", "\u00a0 ") }},
		{name: "one line", do: oneLine, skip: structured},
		{name: "literal line ends", do: func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }, skip: func(row indexRow) bool {
			return strings.Contains(row.Name, "multiline")
		}},
		{name: "de", do: localised(".", ","), skip: notC},
		{name: "en", do: localised(",", "."), skip: notC},
		{name: "ungrouped comma", do: localised("", ","), skip: notC},
		{name: "fr", do: localised("\u202f", ","), skip: notC},
		{name: "ru", do: localised("\u00a0", ","), skip: notC},
		{name: "sv spaces", do: localised(" ", ","), skip: notC},
		{name: "ch", do: localised("’", "."), skip: notC},
		{name: "ch ascii", do: localised("'", "."), skip: notC},
		{name: "mojibake", do: localised("â€¯", ","), skip: notC},
		{name: "latin-1", do: localised("\xa0", ","), skip: notC},
		{name: "lost separators", do: localised("?", ","), skip: notC},
		{name: "replacement characters", do: localised("\ufffd", ","), skip: notC},
		{name: "semicolons", do: separated(";"), skip: notCSV},
		{name: "tab CSV", do: separated("\t"), skip: notCSV},
		{name: "bar CSV", do: separated("|"), skip: notCSV},
		{name: "quote CSV", do: separated("'"), skip: notCSV},
		{name: "decimal commas in JSON", do: func(s string) string {
			return regexp.MustCompile(`(\d)\.(\d{2,6}\b)`).ReplaceAllString(s, "$1,$2")
		}, skip: only("json-")},
	}
}

// TestMutations reads every capture again in dozens of disguises and expects
// the same values.
func TestMutations(t *testing.T) {
	rows := readIndex(t)
	total := 0
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			files, compared := 0, 0
			for _, row := range rows {
				if row.Kind != "perf-stat" || m.skip != nil && m.skip(row) {
					continue
				}
				raw, err := os.ReadFile(row.Path)
				if err != nil {
					t.Fatal(err)
				}
				if m.lines > strings.Count(strings.TrimSpace(string(raw)), "\n")+1 {
					continue
				}
				u := readBytes(t, []byte(m.do(string(raw))))
				c := &checker{t: t, path: m.name + " " + row.Name}
				compareAll(c, u, row)
				files++
				compared += c.compared
			}
			if files == 0 {
				t.Error("no capture was changed")
			}
			total += compared
		})
	}
	t.Logf("%d values compared", total)
}
