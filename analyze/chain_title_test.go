package analyze

import (
	"testing"

	"ctxan/analyze/signature"
)

// TestStacksTitle does not say "most" of what is the largest of many parts.
func TestStacksTitle(t *testing.T) {
	exit := ReasonFact{Reason: signature.Reason{ID: "exit", Label: "task exit"}, Share: 0.16}
	for _, c := range []struct {
		name      string
		preempted float64 // of 100
		blocking  []ReasonFact
		want      string
	}{
		{"a fifth is preempted", 19, []ReasonFact{exit}, "They wait for several things, most often: task exit"},
		{"half is preempted", 50, []ReasonFact{exit}, "Most of them are preempted: " + TriggerTick.Label()},
	} {
		b := &caseBuild{}
		b.facts.Blocking = c.blocking
		b.facts.Triggers[TriggerTick] = TriggerFact{Switches: c.preempted, Frame: "tick"}
		b.stacks.total = 100
		if got := b.stacksTitle().String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
