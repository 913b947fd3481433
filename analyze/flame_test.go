package analyze

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ctxan/parse/evidence"
)

// tableOf makes a table of stacks written as "outer;inner" with a thread and a
// weight. A symbol of "?" is unresolved, one that begins with "k_" is the kernel's.
func tableOf(rows ...string) *evidence.StackTable {
	t := &evidence.StackTable{Kind: evidence.StackSwitch}
	frames, stacks, tasks := map[string]int32{}, map[string]int32{}, map[int]int32{}
	for _, row := range rows {
		var path string
		var tid int
		var weight float64
		if _, err := fmt.Sscan(row, &path, &tid, &weight); err != nil {
			panic(err)
		}
		if _, ok := tasks[tid]; !ok {
			tasks[tid] = int32(len(t.Tasks))
			t.Tasks = append(t.Tasks, evidence.Task{PID: 1, TID: tid, Comm: fmt.Sprint("t", tid)})
		}
		stack := int32(-1)
		if path != "-" {
			if _, ok := stacks[path]; !ok {
				stacks[path] = int32(len(t.Stacks))
				t.Stacks = append(t.Stacks, chain(t, frames, path))
			}
			stack = stacks[path]
		}
		t.Samples = append(t.Samples, evidence.StackSample{Task: tasks[tid], Stack: stack, State: evidence.StateS, Count: 1, Weight: weight, OffNS: uint64(weight * 1000), OffN: 1})
	}
	return t
}

func chain(t *evidence.StackTable, frames map[string]int32, path string) []int32 {
	var out []int32
	for _, s := range strings.Split(path, ";") {
		if _, ok := frames[s]; !ok {
			f := evidence.Frame{Symbol: s, Kernel: strings.HasPrefix(s, "k_"), Module: "m"}
			if s == "?" {
				f.Symbol = ""
			}
			frames[s] = int32(len(t.Frames))
			t.Frames = append(t.Frames, f)
		}
		out = append(out, frames[s])
	}
	slices.Reverse(out)
	return out
}

func flamesOf(t *evidence.StackTable) []Flame {
	s := stackFacts{sel: &selection{subject: Subject{Kind: SubjectMachine}}, switches: t}
	return s.flames()
}

// lines writes a tree as indented lines.
func (f *Flame) lines() []string {
	var out []string
	for _, n := range f.Nodes {
		fr := f.Frames[n.Frame]
		s := fmt.Sprintf("%s%s %s %g", strings.Repeat(" ", n.Depth-1), fr.Kind, fr.Symbol, n.Weight)
		for _, b := range n.By {
			s += fmt.Sprintf(" %s=%g", f.Threads[b.Thread].Name, b.Weight)
		}
		out = append(out, s)
	}
	return out
}

func TestFlame(t *testing.T) {
	fs := flamesOf(tableOf("main;a;k_x 7 10", "main;b 7 3", "main;b 8 4", "main;a 8 1", "?;?;?;main 8 2", "- 8 5"))
	if len(fs) != 2 || fs[0].ID != "switches" || fs[1].ID != "off_cpu" || fs[0].Total != 25 || fs[1].Total != 25000 || fs[0].Pruned != 0 {
		t.Fatalf("%+v", fs)
	}
	want := []string{
		"user main 18 t7=13 t8=5",
		" user a 11 t7=10 t8=1",
		"  kernel k_x 10 t7=10",
		" user b 7 t7=3 t8=4",
		"none  5 t8=5",
		"unresolved  2 t8=2",
		" user main 2 t8=2",
	}
	if d := cmp.Diff(want, fs[0].lines()); d != "" {
		t.Error(d)
	}
	p, err := json.Marshal(fs[0].Nodes[1])
	if err != nil || string(p) != "[2,1,11,0,10,1,1]" {
		t.Errorf("%s %v", p, err)
	}
}

// TestFlameNothing: a weight that nothing has makes no tree.
func TestFlameNothing(t *testing.T) {
	tab := tableOf("main;a 7 10")
	tab.Samples[0].OffNS, tab.Samples[0].OffN = 0, 0
	if fs := flamesOf(tab); len(fs) != 1 || fs[0].ID != "switches" {
		t.Errorf("%+v", fs)
	}
}

// TestFlamePrunes: a frame that is narrow in the whole is left out and counted,
// unless it is wide in its own thread; what is kept keeps its weight.
func TestFlamePrunes(t *testing.T) {
	fs := flamesOf(tableOf("main;big 7 1000000", "main;rare;deep 7 1", "main;own 8 2"))
	want := []string{"user main 1.000003e+06 t7=1.000001e+06 t8=2", " user big 1e+06 t7=1e+06", " user own 2 t8=2"}
	if d := cmp.Diff(want, fs[0].lines()); d != "" {
		t.Error(d)
	}
	if fs[0].Pruned != 2 || fs[0].Floor != flameFloor {
		t.Errorf("%d pruned below %g", fs[0].Pruned, fs[0].Floor)
	}
}

// TestFlameAgainstNaive builds trees of random stacks the slow way too.
func TestFlameAgainstNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var rows []string
	naive := map[string]float64{}
	for range 3000 {
		var path []string
		for range 1 + rnd.IntN(6) {
			path = append(path, fmt.Sprint("f", rnd.IntN(4)))
		}
		w := float64(1 + rnd.IntN(9))
		rows = append(rows, fmt.Sprintf("%s %d %g", strings.Join(path, ";"), 100+rnd.IntN(40), w))
		for d := range path {
			naive[strings.Join(path[:d+1], ";")] += w
		}
	}
	f := flamesOf(tableOf(rows...))[0]
	if len(f.Threads) != maxFlameThreads+1 || f.Threads[maxFlameThreads].Count != 40-maxFlameThreads {
		t.Errorf("threads %+v", f.Threads)
	}
	var path []string
	for i, n := range f.Nodes {
		path = append(path[:n.Depth-1], f.Frames[n.Frame].Symbol)
		by := 0.0
		for _, b := range n.By {
			by += b.Weight
		}
		if k := strings.Join(path, ";"); naive[k] != n.Weight || by != n.Weight {
			t.Fatalf("node %d: %s is %g, by thread %g, want %g", i, k, n.Weight, by, naive[k])
		}
	}
	if len(f.Nodes)+f.Pruned != len(naive) {
		t.Errorf("%d nodes and %d pruned, want %d in all", len(f.Nodes), f.Pruned, len(naive))
	}
}

// TestFlameLimit: a tree of too many frames loses the narrowest.
func TestFlameLimit(t *testing.T) {
	var rows []string
	for i := range 3 * maxFlameNodes {
		rows = append(rows, fmt.Sprintf("f%d;g%d %d 100", i%3900, i%1300, 100+i%10))
	}
	f := flamesOf(tableOf(rows...))[0]
	if len(f.Nodes) != maxFlameNodes || f.Floor < flameFloor || f.Pruned == 0 {
		t.Errorf("%d nodes, %d pruned below %g", len(f.Nodes), f.Pruned, f.Floor)
	}
	depth := 0
	for _, n := range f.Nodes {
		if n.Depth > depth+1 {
			t.Fatal("a node without its caller")
		}
		depth = n.Depth
	}
}

func TestCPUMap(t *testing.T) {
	some := evidence.Some[int]
	set := &evidence.Set{Sources: []*evidence.Source{{ID: 0, Window: evidence.Window{StartNS: evidence.Some(uint64(2500)), EndNS: evidence.Some(uint64(6000))}}},
		Series: []evidence.Series{
			{CPU: some(3), StartNS: 1000, StepNS: 1000, Switches: []uint32{9, 2, 4, 0, 1}},
			{CPU: some(1), StartNS: 1000, StepNS: 1000, Switches: []uint32{0, 1, 0, 0, 0}},
			{StartNS: 1000, StepNS: 1000, Switches: []uint32{9, 3, 4, 0, 1}},
		},
		CPUs: []evidence.CPUStats{{CPU: 3, BusyNS: 300, IdleNS: 100}}}
	c := &caseBuild{sel: &selection{set: set, sources: []int{0}}}
	m := c.cpuMap()
	want := CPUMap{StartS: -0.5e-6, StepS: 1e-6, Of: 2, Rows: []CPURow{
		{CPU: 1, Switches: 1, Steps: []uint64{1, 0, 0, 0}}, {CPU: 3, Switches: 7, BusyShare: evidence.Some(0.75), Steps: []uint64{2, 4, 0, 1}}}}
	if d := cmp.Diff(want, m); d != "" {
		t.Error(d)
	}
	set.Series = nil
	if m := c.cpuMap(); len(m.Rows) != 0 || m.Missing.String() == "" {
		t.Errorf("%+v", m)
	}
}

// TestRateEnds: a step that the window cuts to a sliver is no step of its own.
func TestRateEnds(t *testing.T) {
	s := &evidence.Series{StartNS: 1000, StepNS: 1000, Switches: []uint32{1, 10, 20, 30, 2}}
	got := seriesIntervals(s, evidence.Window{StartNS: evidence.Some(uint64(1900)), EndNS: evidence.Some(uint64(5100))})
	var sums []float64
	for _, iv := range got {
		sums = append(sums, iv.Switches)
		if d := iv.EndS - iv.StartS; d < 0.9e-6 || iv.PerS > 40e6 {
			t.Errorf("%+v", iv)
		}
	}
	if d := cmp.Diff([]float64{11, 20, 32}, sums); d != "" {
		t.Error(d)
	}
}
