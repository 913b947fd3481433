package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table has kernel and user frames: one chain whole, one without a user name,
// one without any, and samples without a chain.
func table(kind StackKind) *StackTable {
	return &StackTable{
		Kind:   kind,
		Frames: []Frame{{Symbol: "schedule", Kernel: true}, {Symbol: "main"}, {}, {Kernel: true}},
		Stacks: [][]int32{{0, 1}, {0, 2}, {3, 1}},
		Samples: []StackSample{
			{Stack: 0, Count: 1, Weight: 30}, {Stack: 0, Task: 1, Count: 1, Weight: 20},
			{Stack: 1, Count: 2, Weight: 20}, {Stack: 2, Count: 2, Weight: 20}, {Stack: -1, Count: 4, Weight: 10},
		},
	}
}

func TestStackSum(t *testing.T) {
	want := StackSum{Samples: 10, Weight: 100, UnresolvedPct: Some(40.0), NoChainPct: Some(10.0)}
	if d := cmp.Diff(want, table(StackSwitch).Sum()); d != "" {
		t.Error(d)
	}
	want = StackSum{Samples: 10, Weight: 10, UnresolvedPct: Some(40.0), NoChainPct: Some(40.0)}
	if d := cmp.Diff(want, table(StackCPU).Sum()); d != "" {
		t.Error(d)
	}
	if got := new(StackTable).Sum(); got != (StackSum{}) {
		t.Errorf("empty table: %+v", got)
	}
}

func TestHeaviest(t *testing.T) {
	want := []Chain{
		{Frames: []string{"schedule", "main"}, Weight: 50, Samples: 2, Pct: 50},
		{Frames: []string{"schedule", "[unknown]"}, Weight: 20, Samples: 2, Pct: 20},
	}
	if d := cmp.Diff(want, table(StackSwitch).Heaviest(2)); d != "" {
		t.Error(d)
	}
}

func TestProfileFigures(t *testing.T) {
	p := Profile{Kind: StackSwitch, Samples: Some(uint64(41)), EventCount: Some(uint64(1110)), Rows: []ProfileRow{
		{Symbol: "[unknown]", ChildrenPct: Some(69.22), SelfPct: Some(1.5)}, {Symbol: "main", ChildrenPct: Some(30.0), SelfPct: Some(9.0)}}}
	if got := p.Total(); got != Some(1110.0) {
		t.Error("total of switches:", got)
	}
	if got := p.FirstOverheadPct(); got != Some(69.22) {
		t.Error("first overhead:", got)
	}
	if got := p.UnresolvedPct(); got != Some(1.5) {
		t.Error("unresolved:", got)
	}
	p = Profile{Kind: StackCPU, Samples: Some(uint64(41)), EventCount: Some(uint64(1110)), Rows: []ProfileRow{{Symbol: "x", OverheadPct: Some(5.0)}}}
	if p.Total() != Some(41.0) || p.FirstOverheadPct() != Some(5.0) || p.UnresolvedPct() != Some(0.0) {
		t.Error("CPU profile:", p.Total(), p.FirstOverheadPct(), p.UnresolvedPct())
	}
	if p = (Profile{}); p.Total().OK || p.FirstOverheadPct().OK || p.UnresolvedPct().OK {
		t.Error("an empty profile has figures")
	}
}
