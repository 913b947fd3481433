package explain

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"ctxan/report"
)

// proseWidth bounds running text.
const proseWidth = 80

// Write writes topics with their paragraphs.
func Write(w io.Writer, topics []Topic, opt report.Options) error {
	out := bufio.NewWriter(w)
	for i, t := range topics {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, set(t.ID+": "+t.Title, opt))
		for _, l := range wrap(set(t.Text, opt), lineWidth(opt)-2) {
			fmt.Fprintln(out, "  "+l)
		}
	}
	return out.Flush()
}

// List writes the ids and titles of all topics, by kind.
func List(w io.Writer, opt report.Options) error {
	out := bufio.NewWriter(w)
	kind, widest := "", 0
	for _, t := range Topics() {
		widest = max(widest, len(t.ID))
	}
	for _, t := range Topics() {
		if t.Kind != kind {
			if kind != "" {
				fmt.Fprintln(out)
			}
			kind = t.Kind
			fmt.Fprintln(out, kind)
		}
		fmt.Fprintf(out, "  %-*s  %s\n", widest, t.ID, set(t.Title, opt))
	}
	return out.Flush()
}

func set(s string, opt report.Options) string {
	if opt.ASCII {
		return report.ASCII(s)
	}
	return s
}

func lineWidth(opt report.Options) int {
	if opt.Width == 0 {
		return proseWidth - 1
	}
	return min(max(opt.Width, report.MinWidth), proseWidth) - 1
}

// wrap breaks a paragraph at blanks.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
