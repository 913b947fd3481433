package explain

import (
	"bufio"
	"fmt"
	"io"

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
		t = t.In(opt.Lang)
		fmt.Fprintln(out, set(t.ID+": "+t.Title, opt))
		for _, l := range report.Wrap(set(t.Text, opt), lineWidth(opt)-2) {
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
		t = t.In(opt.Lang)
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
