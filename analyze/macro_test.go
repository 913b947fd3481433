package analyze

import (
	"math"
	"strings"
	"testing"

	"ctxan/parse/evidence"
)

// counted is a block with the given counters, all counted.
func counted(elapsed float64, counters map[string]float64) *evidence.CounterBlock {
	b := &evidence.CounterBlock{Scope: "process id '58931'", Target: evidence.Target{Kind: evidence.TargetProcess, IDs: []int{58931}}}
	if elapsed > 0 {
		b.ElapsedS = evidence.Some(elapsed)
	}
	for _, name := range []string{"task-clock", "cpu-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions", "branches", "branch-misses"} {
		if v, ok := counters[name]; ok {
			b.Counters = append(b.Counters, evidence.Counter{Event: name, Value: v, Pos: evidence.Pos{Line: len(b.Counters) + 2}})
		}
	}
	return b
}

var referenceCounters = map[string]float64{
	"task-clock": 4808.30, "context-switches": 225908, "cpu-migrations": 344, "page-faults": 2,
	"cycles": 13470172084, "instructions": 45927687496, "branches": 6325618743, "branch-misses": 9926666,
}

func TestReferenceFigures(t *testing.T) {
	m := macroOf(counted(3.004342766, referenceCounters), false, DefaultScales())
	for id, want := range map[string]string{
		FigCPUs: "1.600", FigRate: "75,194", FigPerActive: "46,983", FigBetween: "21.28 µs",
		FigMigrations: "0.152 %", FigIPC: "3.41", FigBranchMiss: "0.157 %", FigClock: "2.801 GHz",
	} {
		f, ok := m.Figure(id)
		if !ok {
			t.Errorf("%s is missing: %s", id, f.Missing)
			continue
		}
		if got := strings.ReplaceAll(f.Text(), "\u00a0", " "); got != want {
			t.Errorf("%s = %s, want %s", id, got, want)
		}
	}
	if m.Grade != GradeElevated || m.WholeRate != GradeSevere {
		t.Errorf("grade %s, whole process %s; want elevated, severe", m.Grade, m.WholeRate)
	}
	if hi := m.Cost.HiUS.V; !m.Cost.Bounded || math.Abs(hi-21.284) > 0.001 || m.Cost.LoUS.V != 5 {
		t.Errorf("cost %v–%v µs, bounded %v; want 5–21.284, bounded", m.Cost.LoUS.V, hi, m.Cost.Bounded)
	}
	if got := m.portrait().String(); got != "efficient code, interrupted too often" {
		t.Errorf("portrait %q", got)
	}
}

// Every figure follows its inputs: a change of any one of them shows.
func TestFiguresFollowInputs(t *testing.T) {
	base := macroOf(counted(3.004342766, referenceCounters), false, DefaultScales())
	for name := range referenceCounters {
		changed := map[string]float64{}
		for k, v := range referenceCounters {
			changed[k] = v
		}
		changed[name] *= 1.5
		m := macroOf(counted(3.004342766, changed), false, DefaultScales())
		same := true
		for _, f := range base.Figures {
			same = same && m.Value(f.ID) == f.Value
		}
		if same {
			t.Errorf("a changed %s changes no figure", name)
		}
	}
}

func TestElapsedRecovered(t *testing.T) {
	b := counted(0, map[string]float64{"task-clock": 1213.30, "context-switches": 52487, "cpu-migrations": 2387})
	b.Counters[0].Metric, b.Counters[0].MetricUnit = evidence.Some(0.121), "CPUs utilized"
	m := macroOf(b, false, DefaultScales())
	f, ok := m.Figure(FigRate)
	if !ok || math.Abs(f.Value.V-52487/10.0273) > 1 {
		t.Fatalf("rate %v (%s), want about 5,234/s", f.Value, f.Missing)
	}
	if !strings.Contains(f.Recovered, "10.03") {
		t.Errorf("how elapsed was recovered is not said: %q", f.Recovered)
	}
	if got := m.Value(FigBetween).V; math.Abs(got-23.116) > 0.01 {
		t.Errorf("between switches %v µs, want 23.1", got)
	}
}

func TestMissingIsMissing(t *testing.T) {
	b := counted(1, map[string]float64{"task-clock": 100, "context-switches": 0})
	b.Counters[1].Status, b.Counters[1].Modifier = evidence.StatusUnmeasurable, "u"
	m := macroOf(b, false, DefaultScales())
	if f, ok := m.Figure(FigRate); ok || !strings.Contains(f.Missing, "always 0") {
		t.Errorf("context-switches:u gave a rate %v (%q)", f.Value, f.Missing)
	}
	if m.Grade != GradeNone {
		t.Errorf("grade %q from nothing", m.Grade)
	}
	m = macroOf(counted(1, map[string]float64{"task-clock": 100, "context-switches": 0}), false, DefaultScales())
	if v, ok := m.Value(FigRate).Get(); !ok || v != 0 {
		t.Errorf("no switches in a second is a rate of 0, got %v %v", v, ok)
	}
	if f, ok := m.Figure(FigBetween); ok {
		t.Errorf("time between no switches: %v", f.Value)
	}
}

func TestMachineIsGradedPerCPU(t *testing.T) {
	b := counted(5.0045547, map[string]float64{"cpu-clock": 40030.13, "context-switches": 902541})
	b.Target = evidence.Target{Kind: evidence.TargetSystem}
	m := macroOf(b, true, DefaultScales())
	if m.Grade != GradeElevated || m.WholeRate != GradeExtreme {
		t.Errorf("grade %s, whole %s: want elevated per CPU, extreme in sum", m.Grade, m.WholeRate)
	}
}

// The machine's own counters are held against the tables that others are.
func TestMachineCountersHaveScales(t *testing.T) {
	c := &caseBuild{scales: DefaultScales()}
	if m := c.machineMacro(); m.Scales != c.scales {
		t.Error("layer 1 of the machine has no tables")
	}
}

func TestImpactOfAnIdleProcess(t *testing.T) {
	// 1,000 switches a second at 10 µs each: 100,000/s per active CPU, and nothing lost.
	m := macroOf(counted(10, map[string]float64{"task-clock": 9, "context-switches": 1000}), false, DefaultScales())
	if m.Grade != GradeExtreme || m.ImpactWord != "negligible" {
		t.Errorf("grade %s, impact %s; want extreme, negligible", m.Grade, m.ImpactWord)
	}
}

// TestCompareRates does not take a counter of 0 for agreement with threads that
// switch.
func TestCompareRates(t *testing.T) {
	for _, c := range []struct {
		a, b        float64
		want        Mark
		contradicts bool
	}{
		{100, 105, MarkAgree, false}, {100, 150, MarkDiffer, false}, {0, 0, MarkNone, false}, {0, 2, MarkNone, false},
		{0, 75082, MarkDiffer, true}, {1, 75082, MarkDiffer, true}, {75082, 1, MarkDiffer, true},
	} {
		if _, got := compareRates(c.a, c.b); got != c.want || contradicts(c.a, c.b) != c.contradicts {
			t.Errorf("%v and %v: %v, contradiction %v; want %v, %v", c.a, c.b, got, contradicts(c.a, c.b), c.want, c.contradicts)
		}
	}
}
