// Package sar reads what sysstat's sar, sadf and mpstat print of the whole
// machine: task switches and creations (sar -w), the CPUs' time with steal and
// I/O wait (sar -u, mpstat), and the run queue (sar -q).
package sar

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// Format is the name of this format in the table of formats; a source with
// nothing but mpstat's table is named FormatMpstat.
const (
	Format       = "sar"
	FormatMpstat = "mpstat"
)

// MaxRows is how many intervals of one capture are kept.
const MaxRows = 100_000

// Detect reports whether t holds one of the tables.
func Detect(t *paste.Text) bool {
	r := reader{}
	r.read(t)
	return len(r.captures) > 0
}

// Read adds one SystemRate for each capture in t: switches and tasks made per
// second, with what the other tables print of the same intervals. Rows that
// are no rows are left alone, those with a figure that cannot be read are
// dropped and counted. Read returns no error.
//
// Layout: print_pcsw_stats, print_cpu_stats and print_queue_stats in sysstat's
// pr_stats.c; render_pcsw_stats in rndr_stats.c for sadf -d and -p.
func Read(t *paste.Text, b *evidence.Builder) error {
	r := reader{}
	r.read(t)
	for _, d := range r.dropped {
		b.Drop(d.line, d.err)
	}
	for i := range r.captures {
		if i > 0 {
			b = b.Next()
		}
		r.captures[i].add(b)
	}
	return nil
}

type drop struct {
	line int
	err  error
}

type reader struct {
	captures []capture
	table    *table
	banner   *evidence.Host // of the capture that comes next
	date     string
	fresh    bool // the next table is of another capture
	dropped  []drop
}

// capture is one run of a tool.
type capture struct {
	host       evidence.Host
	date       string
	start, end clock
	intervals  float64 // seconds, where the rows tell
	samples    []sample
	at         map[string]int // index in samples, by the printed time
	average    evidence.SystemRate
	rates      bool
	mpstat     bool
	cut        bool
}

type sample struct {
	evidence.SystemSample
	rate evidence.Opt[float64]
}

// table is what a line of titles says of the rows below it.
type table struct {
	kind    kind
	titles  []string
	sep     string // of sadf -d; "" for columns
	average bool
}

type kind uint8

const (
	kindSwitches kind = iota
	kindCPU
	kindQueue
	kindItems // sadf -p: one figure a line
)

func (r *reader) read(t *paste.Text) {
	for i := range t.Lines {
		l := &t.Lines[i]
		s := strings.TrimSpace(l.Text)
		if s == "" {
			r.table = nil
			continue
		}
		if host, date, ok := parseBanner(s); ok {
			r.banner, r.date, r.fresh, r.table = &host, date, true, nil
			continue
		}
		if tab, start, ok := parseTitles(s); ok {
			r.titles(tab, start)
			continue
		}
		if r.item(s, l.No) || r.table != nil && r.row(s, l.No) {
			continue
		}
		r.table = nil
	}
	r.captures = slices.DeleteFunc(r.captures, func(c capture) bool { return len(c.samples) == 0 })
}

// titles enters a table.
func (r *reader) titles(t table, start clock) {
	c := r.capture()
	if !c.start.ok && start.ok {
		c.start = start
	}
	r.table = &t
}

// capture is the one that is being read; a banner starts another.
func (r *reader) capture() *capture {
	if r.fresh || len(r.captures) == 0 {
		c := capture{at: map[string]int{}, date: r.date}
		if r.banner != nil {
			c.host = *r.banner
		}
		r.captures, r.fresh, r.banner, r.date = append(r.captures, c), false, nil, ""
	}
	return &r.captures[len(r.captures)-1]
}

// parseTitles reads a line of titles behind a time or a word for average, or
// the first line of sadf -d.
func parseTitles(s string) (t table, start clock, ok bool) {
	if f := strings.Split(strings.TrimPrefix(s, "# "), ";"); len(f) > 3 && f[0] == "hostname" {
		t = table{kind: kindSwitches, titles: f, sep: ";"}
		return t, clock{}, slices.Contains(f, "cswch/s")
	}
	f := strings.Fields(s)
	for i := 1; i < len(f) && i < 5; i++ {
		if k, ok := kindOf(f[i:]); ok {
			start = parseClock(f[:i])
			return table{kind: k, titles: f[i:], average: !hasDigit(f[0])}, start, hasDigit(f[0]) || strings.HasSuffix(f[i-1], ":")
		}
	}
	return table{}, clock{}, false
}

// kindOf tells a table by all its titles.
func kindOf(f []string) (kind, bool) {
	switch {
	case len(f) <= 2 && f[len(f)-1] == "cswch/s" && (len(f) == 1 || f[0] == "proc/s"):
		return kindSwitches, true
	case len(f) > 3 && f[0] == "CPU" && slices.Contains(f, "%idle") && slices.Contains(f, "%iowait"):
		return kindCPU, true
	case len(f) > 3 && f[0] == "runq-sz" && slices.Contains(f, "ldavg-1"):
		return kindQueue, true
	}
	return 0, false
}

// row reads a row of the present table. It reports whether it was one.
func (r *reader) row(s string, no int) bool {
	t := r.table
	if t.sep != "" {
		return r.separated(strings.Split(s, t.sep), no)
	}
	f := strings.Fields(s)
	n := len(f) - len(t.titles)
	if n < 1 || n > 4 || !hasDigit(f[0]) && !strings.HasSuffix(f[n-1], ":") {
		return false
	}
	values := f[n:]
	if t.kind == kindCPU {
		if values[0] != "all" {
			return isWhole(values[0])
		}
	}
	key := strings.Join(f[:n], " ")
	average := !hasDigit(f[0])
	for i, title := range t.titles {
		if title == "CPU" {
			continue
		}
		v, err := parseNumber(values[i])
		if err != nil {
			r.dropped = append(r.dropped, drop{no, fmt.Errorf("%s: %w", title, err)})
			return true
		}
		r.figure(key, title, v, no, average)
	}
	if c := r.capture(); !average {
		if at := parseClock(f[:n]); at.ok {
			c.end = at
		}
		c.mpstat = c.mpstat || t.kind == kindCPU && slices.Contains(t.titles, "%usr")
	}
	return true
}

// separated reads a row of sadf -d.
func (r *reader) separated(f []string, no int) bool {
	t := r.table
	if len(f) != len(t.titles) {
		return false
	}
	key := ""
	for i, title := range t.titles {
		switch title {
		case "hostname":
			r.capture().host.Name = strings.Clone(f[i])
		case "timestamp":
			key = f[i]
		}
	}
	for i, title := range t.titles {
		if title == "hostname" || title == "timestamp" {
			continue
		}
		v, err := parseNumber(f[i])
		if err != nil {
			r.dropped = append(r.dropped, drop{no, fmt.Errorf("%s: %w", title, err)})
			return true
		}
		r.figure(key, title, v, no, false)
	}
	return true
}

// item reads a line of sadf -p: host, interval, time stamp, device, item, value.
func (r *reader) item(s string, no int) bool {
	f := strings.Split(s, "\t")
	if len(f) != 6 || f[4] != "cswch/s" && f[4] != "proc/s" {
		return false
	}
	v, err := parseNumber(f[5])
	if err != nil {
		r.dropped = append(r.dropped, drop{no, fmt.Errorf("%s: %w", f[4], err)})
		return true
	}
	c := r.capture()
	c.host.Name = strings.Clone(f[0])
	if every, err := strconv.ParseFloat(f[1], 64); err == nil && f[4] == "cswch/s" {
		c.intervals += every
	}
	r.figure(f[2], f[4], v, no, false)
	return true
}

// figure takes one value of the interval that ends at a printed time.
func (r *reader) figure(key, title string, v float64, no int, average bool) {
	c := r.capture()
	if average {
		c.averageFigure(title, v)
		return
	}
	x := c.sample(key, no)
	if x == nil {
		return
	}
	switch title {
	case "cswch/s":
		x.rate, x.Line, c.rates = evidence.Some(v), no, true
	case "proc/s":
		x.ForksPerS = evidence.Some(v)
	case "interval":
		c.intervals += v
	case "%steal":
		x.Steal = evidence.Some(v / 100)
	case "%iowait":
		x.IOWait = evidence.Some(v / 100)
	case "%idle":
		x.Idle = evidence.Some(v / 100)
	case "runq-sz":
		x.Runnable = evidence.Some(v)
	case "blocked":
		x.Blocked = evidence.Some(v)
	}
}

func (c *capture) averageFigure(title string, v float64) {
	switch title {
	case "cswch/s":
		c.average.AveragePerS = evidence.Some(v)
	case "proc/s":
		c.average.AverageForks = evidence.Some(v)
	}
}

// sample is the interval of a printed time; nil beyond MaxRows.
func (c *capture) sample(key string, no int) *sample {
	i, ok := c.at[key]
	if !ok {
		if len(c.samples) >= MaxRows {
			c.cut = true
			return nil
		}
		i = len(c.samples)
		c.samples = append(c.samples, sample{SystemSample: evidence.SystemSample{Line: no}})
		c.at[strings.Clone(key)] = i
	}
	return &c.samples[i]
}

var errNumber = errors.New("no number")

// parseNumber reads "1194.00" and "1194,00".
func parseNumber(s string) (float64, error) {
	if s == "" || strings.Trim(s, "0123456789.,") != "" || len(s) > 24 {
		return 0, errNumber
	}
	v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	if err != nil {
		return 0, errNumber
	}
	return v, nil
}

func isWhole(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
