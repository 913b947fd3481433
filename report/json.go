package report

import (
	"io"
	"reflect"
	"slices"

	"ctxan/analyze"
	"ctxan/parse/evidence"
)

// ResultSchema names the format of [JSON]; its version changes when a key
// changes its meaning or goes away, not when one is added.
const ResultSchema = "ctxan.result/v1"

// contractFigures are the figures that every macro object has as keys, null
// where they are absent.
var contractFigures = [...]string{"cpus_utilized", "switches_per_s", "switches_per_s_per_active_cpu",
	"cpu_us_between_switches", "migration_ratio", "ipc", "branch_miss_ratio"}

// JSON writes the whole result: the primary case's keys at the top level, and
// all cases in "cases". The JSON Schema is [Schema]("result"). Absent is null,
// never 0; lists are never null.
func JSON(w io.Writer, r *analyze.Result) error {
	c, err := primary(r)
	if err != nil {
		return err
	}
	top := object{{"schema", ResultSchema}}
	fields, err := caseFields(c)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.key == "checks" { // those of the captures together belong to the report's subject
			f.value = append(append([]analyze.Check{}, c.Checks...), r.Checks...)
		}
		top = append(top, f)
	}
	cases := make([]object, 0, len(r.Cases))
	for _, c := range r.Cases {
		o, err := caseFields(c)
		if err != nil {
			return err
		}
		o = slices.DeleteFunc(o, func(f field) bool { return f.key == "drawings" }) // large, and said at the top
		cases = append(cases, o)
	}
	return writeJSON(w, append(top, field{"sources", each(r.Sources, inputObject)}, field{"cases", cases}))
}

// caseFields are the keys of a case: the fields of its type, with layer 1's
// figures as keys of their own, the host, and the distinct stacks on top.
func caseFields(c *analyze.Case) (object, error) {
	fields, err := fieldsOf(reflect.ValueOf(*c))
	if err != nil {
		return nil, err
	}
	for i := range fields {
		switch fields[i].key {
		case "macro":
			fields[i].value = macroObject(&c.Macro)
		case "threads":
			fields[i].value = threadObjects(c.Threads)
		}
	}
	return append(fields, field{"stacks", c.Stacks.Top}, field{"host", hostObject(host(c))}), nil
}

func macroObject(m *analyze.Macro) object {
	var o object
	seen := map[string]bool{}
	for _, id := range contractFigures {
		o = append(o, field{id, m.Value(id)})
		seen[id] = true
	}
	for i := range m.Figures {
		if id := m.Figures[i].ID; !seen[id] {
			o = append(o, field{id, m.Figures[i].Value})
			seen[id] = true
		}
	}
	return append(o,
		field{"grade", orNull(string(m.Grade))},
		field{"graded_on", orNull(m.GradedOn)},
		field{"whole_rate_grade", orNull(string(m.WholeRate))},
		field{"grade_note", m.Why},
		field{"impact", m.Impact},
		field{"impact_word", orNull(m.ImpactWord)},
		field{"cost", m.Cost},
		field{"from_trace", m.FromTrace},
		field{"figures", m.Figures},
		field{"inputs", m.Inputs},
		field{"source_ids", m.Sources})
}

// inputObject is a source with its hash, null unless it was asked for.
func inputObject(s *analyze.SourceInfo) object {
	return object{{"id", s.ID}, {"name", s.Name}, {"path", s.Path}, {"format", s.Format}, {"sha256", orNull(s.SHA256)}, {"read_as", s.ReadAs},
		{"window_s", s.WindowS}, {"tool", orNull(s.Tool)}, {"dropped", s.Dropped}, {"notes", s.Notes}}
}

// orNull is a string that is absent when it is empty.
func orNull(s string) evidence.Opt[string] {
	return evidence.Opt[string]{V: s, OK: s != ""}
}

// threadObject is a row of the thread table with the histograms that a report
// draws, which only the threads that matter have.
type threadObject struct {
	analyze.ThreadRow
	Histograms *threadHists `json:"histograms,omitempty"`
}

type threadHists struct {
	Run    []evidence.Bucket `json:"run_ns"`
	Delay  []evidence.Bucket `json:"delay_ns"`
	OffCPU []evidence.Bucket `json:"off_cpu_ns"`
}

func threadObjects(rows []analyze.ThreadRow) []threadObject {
	out := make([]threadObject, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i].ThreadRow = *r
		if i < mostHists && (r.RunHist != nil || r.DelayHist != nil || r.OffHist != nil) {
			out[i].Histograms = &threadHists{r.RunHist.Buckets(), r.DelayHist.Buckets(), r.OffHist.Buckets()}
		}
	}
	return out
}

func hostObject(h evidence.Host) object {
	return object{{"name", orNull(h.Name)}, {"release", orNull(h.Release)}, {"arch", orNull(h.Arch)}, {"cpus", h.CPUs}, {"cpu_desc", orNull(h.CPUDesc)}}
}
