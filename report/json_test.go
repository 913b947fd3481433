package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ctxan/analyze"
	"ctxan/parse/evidence"
)

func setJSON(t *testing.T, r *analyze.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func setInspectJSON(t *testing.T, s *evidence.Set) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := InspectJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONGolden(t *testing.T) {
	for name, r := range results() {
		if name != "crowd" && name != "hostile" { // the same a thousand times; long for little
			golden(t, name+".json", setJSON(t, r))
		}
	}
	golden(t, "inspect.json", setInspectJSON(t, evidenceSet("netio")))
	golden(t, "inspect-hostile.json", setInspectJSON(t, evidenceSet("evil\x1b[31m\u202e<b>\xff")))
}

// TestSchema validates every output, and holds the schemas to describe every
// key that is written.
func TestSchema(t *testing.T) {
	result, inspect := schemaOf(t, "result"), schemaOf(t, "evidence")
	for name, r := range results() {
		result.validate(t, name, setJSON(t, r))
	}
	for _, n := range hostileNames() {
		result.validate(t, n, setJSON(t, hostile(n)))
		inspect.validate(t, n, setInspectJSON(t, evidenceSet(n)))
	}
	inspect.validate(t, "empty", setInspectJSON(t, &evidence.Set{}))
}

// checker is a schema, compiled and as it is.
type checker struct {
	*jsonschema.Schema
	root map[string]any
}

func schemaOf(t *testing.T, name string) *checker {
	t.Helper()
	src, err := Schema(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return &checker{s, doc.(map[string]any)}
}

func (s *checker) validate(t *testing.T, name string, src []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatalf("%q is no JSON: %v", name, err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%q: %v", name, err)
	}
	described(t, s.root, s.root, v, "$")
}

// described reports keys of v that the schema node does not name.
func described(t *testing.T, root, node map[string]any, v any, path string) {
	t.Helper()
	node = resolve(root, node)
	switch v := v.(type) {
	case []any:
		items, _ := node["items"].(map[string]any)
		if len(v) > 0 && items == nil {
			t.Errorf("%s: a list that the schema does not describe", path)
			return
		}
		for _, x := range v {
			described(t, root, items, x, path+"[]")
		}
	case map[string]any:
		for k, x := range v {
			sub, ok := property(root, node, k, x)
			if !ok {
				t.Errorf("%s: key %q is not in the schema", path, k)
				continue
			}
			described(t, root, sub, x, path+"."+k)
		}
	}
}

func resolve(root, node map[string]any) map[string]any {
	for {
		ref, ok := node["$ref"].(string)
		if !ok {
			return node
		}
		node = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
}

// property finds the schema of a key: its own, of a part, of the alternatives,
// or the one for all others.
func property(root, node map[string]any, key string, v any) (map[string]any, bool) {
	own, _ := node["properties"].(map[string]any)
	if p, ok := own[key].(map[string]any); ok {
		return p, true
	}
	for _, list := range []string{"allOf", "anyOf"} {
		subs, _ := node[list].([]any)
		for _, s := range subs {
			if p, ok := property(root, resolve(root, s.(map[string]any)), key, v); ok {
				return p, true
			}
		}
	}
	p, ok := node["additionalProperties"].(map[string]any)
	return p, ok
}

// TestSchemaRejects: the schemas are not so wide that they take anything.
func TestSchemaRejects(t *testing.T) {
	for _, c := range []struct{ schema, old, new string }{
		{"result", `"ctxan.result/v1"`, `"ctxan.result/v2"`},
		{"result", `"cpus_utilized"`, `"cpus"`},
		{"result", `"ipc": 3.4`, `"ipc": "3.4`},
		{"result", `"status": "supports"`, `"status": "maybe"`},
		{"evidence", `"status": "not counted"`, `"status": "counted"`},
		{"evidence", `"voluntary_per_s": 17603`, `"voluntary_per_s": "17603"`},
		{"evidence", `"weight": "switches"`, `"weight": "weight"`},
	} {
		src := string(setJSON(t, reference()))
		if c.schema == "evidence" {
			src = string(setInspectJSON(t, evidenceSet("netio")))
		}
		if !strings.Contains(src, c.old) {
			t.Fatalf("%s has no %s", c.schema, c.old)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.ReplaceAll(src, c.old, c.new)))
		if err != nil {
			continue // not even JSON
		}
		if schemaOf(t, c.schema).Validate(v) == nil {
			t.Errorf("%s takes %s for %s", c.schema, c.new, c.old)
		}
	}
}

// contract are the keys that are fixed, with their values in the reference case.
func TestResultContract(t *testing.T) {
	v := decode(t, setJSON(t, reference()))
	for path, want := range map[string]any{
		"schema": "ctxan.result/v1", "verdict.cause": "short-sleep-polling", "verdict.confidence": "high",
		"subject.kind": "process", "subject.pid": 58931.0, "subject.comm": "netio",
		"macro.cpus_utilized": 1.600450, "macro.switches_per_s": 75193.82, "macro.switches_per_s_per_active_cpu": 46983.0, "macro.cpu_us_between_switches": 21.2843,
		"macro.migration_ratio": 344.0 / 225908, "macro.ipc": 45927687496.0 / 13470172084, "macro.branch_miss_ratio": 9926666.0 / 6325618743, "macro.grade": "elevated",
		"cases.0.verdict.cause": "short-sleep-polling", "cases.0.macro.grade": "elevated", "sources.0.name": "perf-stat.txt", "sources.0.format": "perf-stat",
		"chain.0.layer": "macro", "chain.0.status": "supports", "chain.0.evidence.0.source": 0.0, "chain.0.evidence.0.line": 3.0, "chain.0.evidence.0.offset": nil,
		"chain.0.evidence.0.figure": "context-switches", "chain.0.evidence.0.value": 225908.0, "chain.0.evidence.0.unit": "", "chain.0.capture": nil,
		"findings.0.id": "short-sleep-polling", "findings.0.severity": "high", "findings.0.confidence": "high", "threads.0.comm": "io_mgr_1", "stacks.0.weight": "switches",
		"histograms.0.id": "run", "intervals.0.start_s": 0.0, "checks.0.status": "differ",
	} {
		if got := lookUp(t, v, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	v = decode(t, setJSON(t, empty()))
	for _, path := range []string{"macro.cpus_utilized", "macro.switches_per_s", "macro.ipc", "macro.grade", "subject.pid"} {
		if got := lookUp(t, v, path); got != nil {
			t.Errorf("%s is %v in an empty case, want null", path, got)
		}
	}
	for _, path := range []string{"threads", "chain", "findings", "stacks", "checks", "sources", "verdict.against"} {
		if got, ok := lookUp(t, v, path).([]any); !ok || len(got) != 0 {
			t.Errorf("%s is %v in an empty case, want []", path, got)
		}
	}
	checks := lookUp(t, decode(t, setJSON(t, machine())), "checks").([]any)
	if len(checks) != 1 {
		t.Errorf("the checks across cases are missing at the top level: %v", checks)
	}
}

func TestInspectContract(t *testing.T) {
	v := decode(t, setInspectJSON(t, evidenceSet("netio")))
	for path, want := range map[string]any{
		"schema": "ctxan.evidence/v1", "sources.0.id": 0.0, "sources.0.name": "perf-stat.txt", "sources.0.format": "perf-stat",
		"sources.0.dropped.0.line": 7.0, "sources.0.dropped.0.error": "no number", "sources.0.warnings.0": "cut off",
		"counters.0.source": 0.0, "counters.0.line": 1.0, "counters.0.scope": "process id '58931'", "counters.0.elapsed_s": 3.004342766,
		"counters.0.events.task-clock.value": 4808.30, "counters.0.events.task-clock.unit": "msec", "counters.0.events.task-clock.status": "counted",
		"counters.0.events.context-switches.value": 225908.0, "counters.0.events.cycles.value": nil, "counters.0.events.cycles.status": "not counted",
		"counters.0.events.context-switches:u.value": nil, "counters.0.events.context-switches:u.printed": 0.0,
		"threads.0.tid": 58949.0, "threads.0.voluntary": nil, "threads.0.voluntary_per_s": 17603.0, "threads.0.involuntary_per_s": 0.0, "threads.0.run_ns": nil,
		"stacks.0.weight": "switches", "stacks.0.total": 50.0, "stacks.0.unresolved_pct": 40.0, "stacks.1.weight": "cpu-samples", "stacks.1.total": 41.0,
		"stacks.1.event_count": 1110.0, "stacks.1.first_overhead_pct": 69.22, "stacks.0.first_overhead_pct": nil,
		"system.0.cpus": nil, "system.0.switches_per_s.0": 24018.0, "histograms.0.title": "usecs", "histograms.0.total": 318.0, "histograms.0.buckets.0.hi": 1.0,
	} {
		if got := lookUp(t, v, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func decode(t *testing.T, src []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func lookUp(t *testing.T, v any, path string) any {
	t.Helper()
	for _, k := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			got, ok := x[k]
			if !ok {
				t.Errorf("%s: there is no %s", path, k)
			}
			v = got
		case []any:
			var i int
			if _, err := fmt.Sscan(k, &i); err != nil || i >= len(x) {
				t.Errorf("%s: there is no item %s", path, k)
				return nil
			}
			v = x[i]
		default:
			t.Errorf("%s: nothing below %v", path, v)
			return nil
		}
	}
	return v
}

// TestJSONIsInert: no byte of a name acts on a terminal, and each name is read
// back as it was, with U+FFFD for bytes that are not UTF-8.
func TestJSONIsInert(t *testing.T) {
	for _, n := range hostileNames() {
		for _, src := range [][]byte{setJSON(t, hostile(n)), setInspectJSON(t, evidenceSet(n))} {
			if !utf8.Valid(src) {
				t.Errorf("%q: not UTF-8", n)
			}
			for _, r := range string(src) {
				if hidden(r) && r != '\n' && r != nbsp {
					t.Errorf("%q: raw %U", n, r)
				}
			}
		}
		v := decode(t, setJSON(t, hostile(n)))
		if got, want := lookUp(t, v, "threads.0.comm"), eachInvalid(n); got != want {
			t.Errorf("%q reads back as %q, want %q", n, got, want)
		}
	}
}

// eachInvalid replaces every invalid byte by one U+FFFD.
func eachInvalid(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// TestLayOut: lines change nothing of the value.
func TestLayOut(t *testing.T) {
	for _, src := range [][]byte{setJSON(t, reference()), setInspectJSON(t, evidenceSet(`a"b\,{[`)), setJSON(t, empty())} {
		var v any
		if err := json.Unmarshal(src, &v); err != nil {
			t.Fatal(err)
		}
		var flat, again bytes.Buffer
		if err := json.Compact(&flat, src); err != nil {
			t.Fatal(err)
		}
		layOut(&again, flat.Bytes(), 0)
		again.WriteByte('\n')
		if got := again.String(); got != string(src) {
			t.Error("laying out again changes it")
		}
	}
}

func TestJSONNotFinite(t *testing.T) {
	r := reference()
	r.Cases[0].Macro.Figures[0].Value = some(math.NaN())
	r.Cases[0].Chain[0].Evidence[0].Value = math.Inf(1)
	v := decode(t, setJSON(t, r))
	if got := lookUp(t, v, "macro.cpus_utilized"); got != nil {
		t.Error("NaN is written as", got)
	}
	if got := lookUp(t, v, "chain.0.evidence.0.value"); got != nil {
		t.Error("an infinite value is written as", got)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrors(t *testing.T) {
	for name, err := range map[string]error{
		"text": Text(failing{}, reference(), Options{}), "markdown": Markdown(failing{}, reference(), Options{}), "json": JSON(failing{}, reference()),
		"inspect text": InspectText(failing{}, evidenceSet("x"), Options{}), "inspect json": InspectJSON(failing{}, evidenceSet("x")),
	} {
		if err == nil {
			t.Errorf("%s hides that it could not be written", name)
		}
	}
}
