package export

import (
	"bufio"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"ctxan/analyze"
	"ctxan/parse/evidence"
	"ctxan/report"
)

// maxMetricThreads bounds the threads of a subject that are metrics of their
// own: each is a time series for as long as the collector keeps its file.
const maxMetricThreads = 20

// OpenMetrics writes a result as metrics: OpenMetrics text that is also valid in
// the older Prometheus format, for the textfile collector of node_exporter.
//
// All but the histograms are gauges: figures of one capture, not of a running
// counter. Base units are seconds and ratios. Samples carry the subject, and no
// time stamps, which textfile collectors refuse.
func OpenMetrics(w io.Writer, r *analyze.Result) error {
	m := &metrics{w: bufio.NewWriter(w), r: r}
	m.verdict()
	for _, f := range macroMetrics {
		m.macro(f.id, f.name, f.help, f.scale)
	}
	m.threads()
	m.reasons()
	for _, h := range histMetrics {
		m.histogram(h.id, h.name, h.help)
	}
	m.captures()
	m.w.WriteString("# EOF\n")
	return m.w.Flush()
}

// macroMetrics are the figures of layer 1 by their ids in the result, with the
// factor to the base unit.
var macroMetrics = []struct {
	id, name, help string
	scale          float64
}{
	{analyze.FigCPUs, "ctxan_cpus_utilized", "CPU seconds used in a second", 1},
	{analyze.FigRate, "ctxan_switches_per_second", "Context switches in a second", 1},
	{analyze.FigPerActive, "ctxan_switches_per_active_cpu_second", "Context switches in a second of CPU time, which is what is graded", 1},
	{analyze.FigBetween, "ctxan_between_switches_seconds", "CPU time between two switches", 1e-6},
	{analyze.FigMigrations, "ctxan_migration_ratio", "Migrations to another CPU by context switches", 1},
	{analyze.FigMigPerS, "ctxan_migrations_per_second", "Migrations to another CPU in a second", 1},
	{analyze.FigIPC, "ctxan_instructions_per_cycle", "Instructions by cycles", 1},
	{analyze.FigBranchMiss, "ctxan_branch_miss_ratio", "Branch misses by branches", 1},
	{analyze.FigClock, "ctxan_clock_hertz", "Cycles in a second of CPU time", 1e9},
	{analyze.FigFaults, "ctxan_page_faults_per_second", "Page faults in a second", 1},
}

// histMetrics are the histograms of a case.
var histMetrics = []struct{ id, name, help string }{
	{"run", "ctxan_run_seconds", "Time on a CPU between two switches"},
	{"delay", "ctxan_scheduling_delay_seconds", "Time from the wakeup until the task runs"},
	{"off_cpu", "ctxan_off_cpu_seconds", "Time from giving the CPU up until the task runs again"},
	{"preempt", "ctxan_preempted_seconds", "Time from losing the CPU while still runnable until the task runs again"},
}

type metrics struct {
	w *bufio.Writer
	r *analyze.Result
}

// label is a label of a sample.
type label struct{ name, value string }

// of are the labels that every sample of a case has.
func (m *metrics) of(c *analyze.Case) []label { return []label{{"subject", c.Subject.Name().String()}} }

func (m *metrics) family(name, kind, help string) {
	m.w.WriteString("# HELP " + name + " " + help + ".\n# TYPE " + name + " " + kind + "\n")
	if strings.HasSuffix(name, "_seconds") {
		m.w.WriteString("# UNIT " + name + " seconds\n")
	}
}

func (m *metrics) sample(name string, labels []label, value string) {
	m.w.WriteString(name)
	for i, l := range labels {
		if i == 0 {
			m.w.WriteByte('{')
		} else {
			m.w.WriteByte(',')
		}
		m.w.WriteString(l.name + `="` + labelEscapes.Replace(report.Plain(l.value)) + `"`)
	}
	if len(labels) > 0 {
		m.w.WriteByte('}')
	}
	m.w.WriteString(" " + value + "\n")
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (m *metrics) verdict() {
	m.family("ctxan_verdict", "gauge", "Always 1; the labels have the cause, the confidence and the grade")
	for _, c := range m.r.Cases {
		m.sample("ctxan_verdict", append(m.of(c), label{"cause", c.Verdict.Cause}, label{"confidence", string(c.Verdict.Confidence)},
			label{"grade", string(c.Macro.Grade)}), "1")
	}
}

// macro writes a figure of layer 1 of every case that has it.
func (m *metrics) macro(id, name, help string, scale float64) {
	started := false
	for _, c := range m.r.Cases {
		v, ok := c.Macro.Value(id).Get()
		if !ok {
			continue
		}
		if !started {
			m.family(name, "gauge", help)
			started = true
		}
		m.sample(name, m.of(c), number(v*scale))
	}
}

// threads writes the rates of the threads that switch most.
func (m *metrics) threads() {
	const name = "ctxan_thread_switches_per_second"
	started := false
	for _, c := range m.r.Cases {
		for i := range c.Threads[:min(len(c.Threads), maxMetricThreads)] {
			t := &c.Threads[i]
			for _, k := range []struct {
				kind string
				v    evidence.Opt[float64]
			}{{"voluntary", t.VoluntaryPerS}, {"involuntary", t.InvoluntaryPerS}, {"any", t.SwitchesPerS}} {
				if !k.v.OK || k.kind == "any" && t.VoluntaryPerS.OK {
					continue
				}
				if !started {
					m.family(name, "gauge", "Context switches in a second of the threads with most of them")
					started = true
				}
				m.sample(name, append(m.of(c), label{"comm", t.Name}, label{"tid", strconv.Itoa(t.TID)}, label{"kind", k.kind}), number(k.v.V))
			}
		}
	}
}

// reasons writes what the switches wait for.
func (m *metrics) reasons() {
	const name = "ctxan_wait_ratio"
	started := false
	for _, c := range m.r.Cases {
		for i := range c.Stacks.Reasons {
			row := &c.Stacks.Reasons[i]
			if !row.SwitchShare.OK {
				continue
			}
			if !started {
				m.family(name, "gauge", "Share of the switches that wait for, or are made by, something")
				started = true
			}
			m.sample(name, append(m.of(c), label{"reason", row.ID}, label{"involuntary", strconv.FormatBool(row.Involuntary)}), number(row.SwitchShare.V))
		}
	}
}

// histogram writes one histogram of every case that has it. The bounds are
// powers of two: there, the buckets of the result begin and end exactly.
func (m *metrics) histogram(id, name, help string) {
	started := false
	for _, c := range m.r.Cases {
		for i := range c.Hists {
			h := &c.Hists[i]
			if h.ID != id || h.Total == 0 || h.Unit != "ns" {
				continue
			}
			if !started {
				m.family(name, "histogram", help)
				started = true
			}
			m.buckets(name, m.of(c), h)
		}
	}
}

func (m *metrics) buckets(name string, labels []label, h *analyze.NamedHist) {
	var n uint64
	le := func(bound string) {
		m.sample(name+"_bucket", append(labels[:len(labels):len(labels)], label{"le", bound}), strconv.FormatUint(n, 10))
	}
	exp := bits.Len64(h.Buckets[0].Lo)
	for _, b := range h.Buckets {
		for ; b.Lo >= 1<<exp; exp++ {
			le(atMost(1 << exp))
		}
		n += b.Count
	}
	if exp < 63 {
		le(atMost(1 << exp))
	}
	le("+Inf")
	if mean, ok := h.Q.Mean.Get(); ok {
		m.sample(name+"_sum", labels, number(mean*float64(h.Q.N)/1e9))
	}
	m.sample(name+"_count", labels, strconv.FormatUint(n, 10))
}

// atMost is the bound of values below a number of nanoseconds: they are whole,
// and le means less or equal.
func atMost(ns uint64) string { return number(float64(ns-1) / 1e9) }

// captures writes how long each capture is and what it lost.
func (m *metrics) captures() {
	const window, dropped = "ctxan_capture_window_seconds", "ctxan_capture_dropped"
	started := false
	for i := range m.r.Sources {
		s := &m.r.Sources[i]
		if v, ok := s.WindowS.Get(); ok {
			if !started {
				m.family(window, "gauge", "Time that a capture covers")
				started = true
			}
			m.sample(window, m.source(s), number(v))
		}
	}
	m.family(dropped, "gauge", "Lines or records of a capture that could not be read")
	for i := range m.r.Sources {
		m.sample(dropped, m.source(&m.r.Sources[i]), strconv.Itoa(m.r.Sources[i].Dropped))
	}
}

func (m *metrics) source(s *analyze.SourceInfo) []label {
	return []label{{"id", strconv.Itoa(s.ID)}, {"source", s.Name}, {"format", s.Format}}
}
