package procfs

import (
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
	"ctxan/testdata/texts"
)

// expected is what the corpus's index says of a capture.
type expected struct {
	Tasks          *int     `json:"tasks"`
	Voluntary      []uint64 `json:"voluntary"`
	VoluntarySum   *uint64  `json:"voluntary_sum"`
	Involuntary    []uint64 `json:"nonvoluntary"`
	InvoluntarySum *uint64  `json:"nonvoluntary_sum"`
	Name           string   `json:"name"`
	Switches       *uint64  `json:"nr_switches"`
	NrVoluntary    *uint64  `json:"nr_voluntary_switches"`
	NrInvoluntary  *uint64  `json:"nr_involuntary_switches"`
	Machine        *uint64  `json:"system_ctxt_total"`
	Rows           *int     `json:"rows"`
	SlicesSum      *uint64  `json:"slices_sum"`
	First          *struct {
		RunNS  uint64 `json:"run_ns"`
		WaitNS uint64 `json:"wait_ns"`
		Slices uint64 `json:"slices"`
	} `json:"first"`
	MixedVoluntary   *uint64 `json:"status_voluntary"`
	MixedInvoluntary *uint64 `json:"status_nonvoluntary"`
}

func ours(c *shared.Capture) bool {
	return strings.HasPrefix(c.Kind, "proc-") || strings.HasPrefix(c.Name, "nasty/status-") || strings.Contains(c.Name, "grepctxt")
}

func TestCorpus(t *testing.T) {
	tested.Corpus(t, texts.Walk{
		Ours: ours,
		Check: func(t *testing.T, c *shared.Capture, set *evidence.Set) int {
			var want expected
			c.Want(t, &want)
			return want.check(t, set)
		},
		Files: 20, Values: 90,
	})
}

// check compares every value and returns how many there were.
func (want *expected) check(t *testing.T, set *evidence.Set) int {
	var status, stat []evidence.ThreadCount
	var v, i, slices uint64
	var ctxt evidence.Opt[uint64]
	for _, r := range set.Readings {
		for _, c := range r.Threads {
			if c.Voluntary.OK {
				status = append(status, c)
			}
			if c.Slices.OK {
				stat = append(stat, c)
			}
			v, i, slices = v+c.Voluntary.V, i+c.Involuntary.V, slices+c.Slices.V
		}
		if r.Machine.OK {
			ctxt = r.Machine.V.Switches
		}
	}
	n := 0
	same := func(name string, want *uint64, got uint64) {
		if want == nil {
			return
		}
		if n++; got != *want {
			t.Errorf("%s = %d, want %d", name, got, *want)
		}
	}
	count := func(name string, want *int, got int) {
		if want == nil {
			return
		}
		if n++; got != *want {
			t.Errorf("%s = %d, want %d", name, got, *want)
		}
	}
	count("tasks", want.Tasks, len(status))
	count("rows", want.Rows, len(stat))
	same("voluntary", want.VoluntarySum, v)
	same("voluntary", want.NrVoluntary, v)
	same("voluntary", want.MixedVoluntary, v)
	same("involuntary", want.InvoluntarySum, i)
	same("involuntary", want.NrInvoluntary, i)
	same("involuntary", want.MixedInvoluntary, i)
	same("slices", want.SlicesSum, slices)
	same("ctxt", want.Machine, ctxt.V)
	for k := range want.Voluntary { // of many tasks the index lists the first
		same("voluntary", &want.Voluntary[k], status[k].Voluntary.V)
		same("involuntary", &want.Involuntary[k], status[k].Involuntary.V)
	}
	if want.Switches != nil {
		same("switches", want.Switches, status[0].Switches.V)
	}
	if want.Name != "" {
		if n++; status[0].Task.Comm != want.Name {
			t.Errorf("name %q, want %q", status[0].Task.Comm, want.Name)
		}
	}
	if f := want.First; f != nil {
		same("run_ns", &f.RunNS, stat[0].RunNS.V)
		same("wait_ns", &f.WaitNS, stat[0].RunDelayNS.V)
		same("slices", &f.Slices, stat[0].Slices.V)
	}
	if d := set.Sources[0].DroppedTotal; d > 0 {
		t.Errorf("%d lines dropped: %v", d, set.Sources[0].Dropped)
	}
	return n
}
