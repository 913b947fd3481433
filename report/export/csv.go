package export

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"ctxan/analyze"
	"ctxan/parse/evidence"
	"ctxan/report"
)

// Table is one table of a CSV export.
type Table struct {
	Name  string // of the file, without its ending: "threads"
	Write func(w io.Writer) error
}

// CSV returns the tables of a result and its captures: threads, histograms and
// stacks. The first line of each has the columns. Cells that the captures do
// not hold are empty. Times are nanoseconds, shares fractions of 1.
//
// Threads and histograms are by subject, the report's first; a process and the
// machine that it ran on are two subjects, whose rows are never to be added up.
// A text that a spreadsheet would take for a formula gets an apostrophe in front.
func CSV(set *evidence.Set, r *analyze.Result) []Table {
	return []Table{
		{"threads", func(w io.Writer) error { return threadsCSV(w, r) }},
		{"histograms", func(w io.Writer) error { return histogramsCSV(w, r) }},
		{"stacks", func(w io.Writer) error { return stacksCSV(w, set) }},
	}
}

// cellText is a text from a capture as a cell: visible, and no formula.
func cellText(s string) string {
	s = report.Plain(s)
	if s != "" && strings.IndexByte("=+-@", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

func cellCount(v evidence.Opt[uint64]) string {
	if !v.OK {
		return ""
	}
	return strconv.FormatUint(v.V, 10)
}

// cellNumber writes a number as short as it can be read back exactly.
func cellNumber(v evidence.Opt[float64]) string {
	if !v.OK {
		return ""
	}
	return strconv.FormatFloat(v.V, 'f', -1, 64)
}

// cellID is an id of a task; none where it is 0.
func cellID(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// subject names a case in a cell.
func subject(c *analyze.Case) string { return cellText(c.Subject.Name().String()) }

var quantileColumns = []string{"p50", "p90", "p99", "p999", "max", "mean"}

func quantileCells(q *analyze.Quantiles) []string {
	if q.N == 0 {
		return make([]string, 1+len(quantileColumns))
	}
	return []string{strconv.FormatUint(q.N, 10), cellNumber(q.P50), cellNumber(q.P90), cellNumber(q.P99), cellNumber(q.P999), cellNumber(q.Max), cellNumber(q.Mean)}
}

func threadsCSV(w io.Writer, r *analyze.Result) error {
	out := csv.NewWriter(w)
	head := []string{"subject", "pid", "tid", "comm", "hot", "voluntary_per_s", "involuntary_per_s", "switches_per_s", "voluntary", "involuntary", "switches",
		"share", "trigger", "trigger_share", "run_ns", "delay_ns", "wait_ns", "migrations"}
	for _, k := range []string{"run", "delay", "off_cpu"} {
		head = append(head, k+"_n")
		for _, q := range quantileColumns {
			head = append(head, k+"_"+q+"_ns")
		}
	}
	out.Write(head)
	for _, c := range r.Cases {
		name := subject(c)
		for i := range c.Threads {
			t := &c.Threads[i]
			row := []string{name, cellID(t.PID), cellID(t.TID), cellText(t.Name), strconv.FormatBool(t.Hot),
				cellNumber(t.VoluntaryPerS), cellNumber(t.InvoluntaryPerS), cellNumber(t.SwitchesPerS),
				cellCount(t.Voluntary), cellCount(t.Involuntary), cellCount(t.Switches), cellNumber(t.Share), cellText(t.Trigger), cellNumber(t.TriggerShare),
				cellNumber(t.RunNS), cellNumber(t.DelayNS), cellNumber(t.OffNS), cellCount(t.Migrations)}
			for _, q := range []*analyze.Quantiles{&t.Run, &t.Delay, &t.OffCPU} {
				row = append(row, quantileCells(q)...)
			}
			out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}

// histogramsCSV writes the buckets of each subject, and of each of its threads
// that has any: lower bound inclusive, upper bound exclusive.
func histogramsCSV(w io.Writer, r *analyze.Result) error {
	out := csv.NewWriter(w)
	out.Write([]string{"subject", "tid", "comm", "histogram", "unit", "lo", "hi", "count"})
	rows := func(name, tid, comm, id, unit string, buckets []evidence.Bucket) {
		for _, b := range buckets {
			out.Write([]string{name, tid, comm, id, unit, strconv.FormatUint(b.Lo, 10), strconv.FormatUint(b.Hi, 10), strconv.FormatUint(b.Count, 10)})
		}
	}
	for _, c := range r.Cases {
		name := subject(c)
		for _, h := range c.Hists {
			rows(name, "", "", h.ID, h.Unit, h.Buckets)
		}
		for i := range c.Threads {
			t := &c.Threads[i]
			for _, h := range []struct {
				id string
				h  *evidence.Histogram
			}{{"run", t.RunHist}, {"delay", t.DelayHist}, {"off_cpu", t.OffHist}} {
				rows(name, cellID(t.TID), cellText(t.Name), h.id, "ns", h.h.Buckets())
			}
		}
	}
	out.Flush()
	return out.Error()
}

// stacksCSV writes a row for each stack of a task in a state, of every kind that
// the report uses. The frames are root first, with semicolons between them.
func stacksCSV(w io.Writer, set *evidence.Set) error {
	out := csv.NewWriter(w)
	out.Write([]string{"source", "event", "kind", "pid", "tid", "comm", "state", "trigger", "samples", "weight", "off_cpu_ns", "off_cpu_n", "delay_ns", "stack"})
	for _, kind := range []evidence.StackKind{evidence.StackSwitch, evidence.StackCPU} {
		if s := stacksOf(set, kind); s != nil {
			s.rows(out, set.Source(s.Pos.Source).Name)
		}
	}
	out.Flush()
	return out.Error()
}

func (s *stacks) rows(out *csv.Writer, source string) {
	chains := make([]string, len(s.Stacks))
	for i, chain := range s.Stacks {
		chains[i] = cellText(s.joined(chain))
	}
	hasDelay := false
	for i := range s.Samples {
		hasDelay = hasDelay || s.Samples[i].DelayNS > 0
	}
	event, kind := cellText(s.Event), s.Kind.String()
	source = cellText(source)
	for i := range s.Samples {
		sm := &s.Samples[i]
		k := s.task(sm)
		row := []string{source, event, kind, cellID(k.PID), cellID(k.TID), cellText(k.Comm), "", s.reasons[i],
			strconv.FormatUint(sm.Count, 10), strconv.FormatFloat(sm.Weight, 'f', -1, 64), "", "", "", ""}
		if sm.State != evidence.StateUnknown {
			row[6] = sm.State.String()
		}
		if s.Kind == evidence.StackSwitch {
			row[11] = strconv.FormatUint(sm.OffN, 10)
			if sm.OffN > 0 {
				row[10] = strconv.FormatUint(sm.OffNS, 10)
				if hasDelay {
					row[12] = strconv.FormatUint(sm.DelayNS, 10)
				}
			}
		}
		if sm.Stack >= 0 {
			row[13] = chains[sm.Stack]
		}
		out.Write(row)
	}
}

// joined is a chain on one line, root first.
func (s *stacks) joined(chain []int32) string {
	names := make([]string, len(chain))
	for i, id := range chain {
		names[len(chain)-1-i] = strings.ReplaceAll(s.frames[id], ";", ":")
	}
	return strings.Join(names, ";")
}
