package analyze

import "ctxan/parse/evidence"

// StackReport is layer 3.
type StackReport struct {
	Sources    []int                 `json:"sources"`
	Reasons    []ReasonRow           `json:"reasons"`
	Tree       []TreeLine            `json:"tree"` // callers first
	TreeTitle  string                `json:"tree_title,omitempty"`
	Top        []StackRow            `json:"top"`
	Profile    []ProfileLine         `json:"profile"` // rows of a printed profile that matter
	Callers    []Caller              `json:"callers"`
	Unresolved evidence.Opt[float64] `json:"unresolved_share"`
	Why        []Text                `json:"unresolved_why,omitempty"`
	Sampled    bool                  `json:"sampled"`
}

// ReasonRow is one thing threads wait for, or are interrupted by.
type ReasonRow struct {
	ID          string                `json:"id"`    // signature id: "timer-sleep"
	Label       string                `json:"label"` // "timer sleep"
	Frame       string                `json:"frame"` // the frame that decided
	Involuntary bool                  `json:"involuntary"`
	Switches    evidence.Opt[float64] `json:"switches"`
	SwitchShare evidence.Opt[float64] `json:"switch_share"`
	OffNS       evidence.Opt[float64] `json:"off_cpu_ns"`
	CPUShare    evidence.Opt[float64] `json:"cpu_share"` // of CPU samples that pass through it
}

// TreeLine is a line of the callers-first tree.
type TreeLine struct {
	Depth  int     `json:"depth"`
	Share  float64 `json:"share"`
	Symbol string  `json:"symbol"`
	File   string  `json:"file,omitempty"`
	Line   int     `json:"line,omitempty"`
	Blocks bool    `json:"blocks"` // the frame that decided the reason
}

// StackRow is one distinct stack.
type StackRow struct {
	Frames []string              `json:"frames"` // leaf first
	Reason string                `json:"reason"`
	Weight string                `json:"weight"` // "switches", "cpu-samples"
	Value  float64               `json:"value"`
	Share  float64               `json:"share"`
	OffNS  evidence.Opt[float64] `json:"off_cpu_ns"`
	State  string                `json:"state,omitempty"`
}

// ProfileLine is one row of a printed profile.
type ProfileLine struct {
	Symbol   string                `json:"symbol"`
	Children evidence.Opt[float64] `json:"children_share"`
	Self     evidence.Opt[float64] `json:"self_share"`
	Reason   string                `json:"reason,omitempty"`
	Caller   bool                  `json:"caller"` // user code
	Evidence Evidence              `json:"evidence"`
}

// Caller is user code that asked to wait.
type Caller struct {
	Symbol string  `json:"symbol"`
	File   string  `json:"file,omitempty"`
	Line   int     `json:"line,omitempty"`
	Share  float64 `json:"share"`
	Weight string  `json:"weight"` // what Share is a share of: "switches", "cpu-samples"
	Reason string  `json:"reason,omitempty"`
}
