package analyze

import (
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// Result is the one report model: everything a renderer shows, and nothing a
// renderer computes. Cases[0] is the primary case.
type Result struct {
	Cases   []*Case
	Sources []SourceInfo
	Checks  []Check // across cases: conflicting captures, unused files
}

// Primary returns the case the report is about.
func (r *Result) Primary() *Case { return r.Cases[0] }

// SourceInfo names an input for the provenance section.
type SourceInfo struct {
	ID      int                   `json:"id"`
	Name    string                `json:"name"` // as reports name it: the shortest end of the path that is unique
	Path    string                `json:"path"` // as given
	Format  string                `json:"format"`
	SHA256  string                `json:"sha256,omitempty"`
	ReadAs  string                `json:"read_as"`
	WindowS evidence.Opt[float64] `json:"window_s"`
	Tool    string                `json:"tool,omitempty"`
	Dropped int                   `json:"dropped"`
	Notes   []string              `json:"notes,omitempty"`
}

// SubjectKind is what a case is about.
type SubjectKind string

// The kinds of subject.
const (
	SubjectProcess SubjectKind = "process"
	SubjectThreads SubjectKind = "threads" // some threads, whose process is not known
	SubjectCommand SubjectKind = "command" // a command whose process id is not known
	SubjectMachine SubjectKind = "machine"
	SubjectUnknown SubjectKind = "unknown" // the capture does not say
)

// Subject is the process, the threads or the machine of a case.
type Subject struct {
	Kind    SubjectKind       `json:"kind"`
	PID     evidence.Opt[int] `json:"pid"`
	TIDs    []int             `json:"tids,omitempty"`
	Comm    string            `json:"comm,omitempty"` // "" when the input does not hold it
	Command string            `json:"command,omitempty"`
	Host    evidence.Host     `json:"-"`
}

// Case is one subject with its evidence chain. The layers and verdict speak of
// this subject only.
type Case struct {
	Subject  Subject       `json:"subject"`
	Verdict  Verdict       `json:"verdict"`
	Macro    Macro         `json:"macro"`
	Threads  []ThreadRow   `json:"threads"`
	Layer2   Layer2        `json:"layer2"`
	Stacks   StackReport   `json:"stack_report"`
	Chain    []Link        `json:"chain"`
	Advice   []Advice      `json:"advice"`
	Findings []Finding     `json:"findings"`
	Rivals   []Rival       `json:"rivals"`
	Checks   []Check       `json:"checks"`
	Hists    []NamedHist   `json:"histograms"`
	Rates    []Interval    `json:"intervals"`
	RateNote Text          `json:"rate_note,omitempty"` // what the course of the rate shows: "no bursts"
	Sources  []int         `json:"source_ids"`
	Next     []Command     `json:"next"`
	Wakes    []WakeRow     `json:"wakes"`
	Trigger  []TriggerRow  `json:"triggers"`
	Taken    []TakenRow    `json:"preemptors,omitempty"`
	Held     *Held         `json:"delay_blame,omitempty"`
	Ledger   *Ledger       `json:"ledger,omitempty"`
	Drawings *Drawings     `json:"drawings,omitempty"` // of the primary case, where Options ask for them
	Host     evidence.Host `json:"-"`
}

// Drawings is what only a page has room for.
type Drawings struct {
	Flames  []Flame `json:"flames"`
	CPUMap  CPUMap  `json:"cpu_map"`
	NoRates Text    `json:"no_intervals,omitempty"` // why the course of the rate is absent
}

// Confidence is how sure a finding is.
type Confidence string

// The confidences, by stated criteria: high needs switch evidence in two
// layers and nothing against it; medium one layer that decides; low a fit
// that other causes share; none is no diagnosis.
const (
	ConfidenceHigh   Confidence = "high"
	ConfidenceMedium Confidence = "medium"
	ConfidenceLow    Confidence = "low"
	ConfidenceNone   Confidence = "none"
)

// Rank orders confidences; higher is surer.
func (c Confidence) Rank() int {
	switch c {
	case ConfidenceHigh:
		return 3
	case ConfidenceMedium:
		return 2
	case ConfidenceLow:
		return 1
	}
	return 0
}

// Verdict is the sentence on top of a report.
type Verdict struct {
	Cause      string     `json:"cause"`
	Confidence Confidence `json:"confidence"`
	Ground     Text       `json:"ground,omitempty"` // why that confidence: "3 of 3 layers agree"
	Summary    Text       `json:"summary"`
	Grade      Text       `json:"grade,omitempty"`  // "elevated: 46,983 switches/s per active CPU"
	Impact     Text       `json:"impact,omitempty"` // "0.70 of the 1.60 CPUs used go into the sleep call (43.90 %)"
	Portrait   Text       `json:"portrait,omitempty"`
	Against    []Text     `json:"against"`
	Settle     []Command  `json:"settle"`
}

// Command is a line to run as printed, and what it gives.
type Command struct {
	Line string `json:"line"`
	Why  Text   `json:"why,omitempty"`
}

// Evidence is one figure of a capture with its place.
type Evidence struct {
	Source int                 `json:"source"`
	Line   evidence.Opt[int]   `json:"line"`
	Offset evidence.Opt[int64] `json:"offset"`
	Figure string              `json:"figure"`
	Value  float64             `json:"value"`
	Unit   string              `json:"unit"`
}

// Unit is the unit of a Figure or a SumRow.
type Unit string

// Units. UnitRatio values are fractions and print as per cent.
const (
	UnitNone   Unit = ""
	UnitPerS   Unit = "/s"
	UnitUS     Unit = "us"
	UnitRatio  Unit = "ratio"
	UnitGHz    Unit = "GHz"
	UnitPoints Unit = "points" // a difference of two ratios, as a fraction
	UnitCount  Unit = "count"
)

// Figure is a derived value with its formula and its inputs.
type Figure struct {
	ID         string                `json:"id"`    // key in the JSON contract: "cpus_utilized"
	Label      string                `json:"label"` // "CPUs utilized"
	Value      evidence.Opt[float64] `json:"value"`
	Unit       Unit                  `json:"unit"`
	Digits     int                   `json:"-"`          // decimals, or significant digits for µs and ratios
	Formula    string                `json:"formula"`    // "T / E"
	Arithmetic string                `json:"arithmetic"` // "4,808.30 ms / 1,000 / 3.004342766 s"
	Reads      Text                  `json:"reads,omitempty"`
	Inputs     []Evidence            `json:"inputs"`
	Missing    string                `json:"missing,omitempty"`   // why Value is absent
	Recovered  string                `json:"recovered,omitempty"` // how an input was recovered
}

// Text is the value as reports print it; "–" when it is absent.
func (f *Figure) Text() string {
	v, ok := f.Value.Get()
	if !ok {
		return "–"
	}
	return FormatValue(v, f.Unit, f.Digits)
}

// FormatValue prints a value of a unit; digits as in Figure.
func FormatValue(v float64, u Unit, digits int) string {
	switch u {
	case UnitPerS:
		return quantity.Whole(v)
	case UnitUS:
		return quantity.TimeSig(v*1e3, digits)
	case UnitRatio:
		if digits < 0 {
			return quantity.Percent(v, -digits)
		}
		return quantity.PercentSig(v, digits)
	case UnitPoints:
		return quantity.Points(v)
	case UnitGHz:
		return quantity.With(quantity.Fixed(v, digits), "GHz")
	case UnitCount:
		return quantity.Whole(v)
	}
	return quantity.Fixed(v, digits)
}

// Macro is layer 1.
type Macro struct {
	Figures      []Figure
	Grade        Grade  // of the right figure; GradeNone when it cannot be told
	GradedOn     string // ID of the figure that was graded
	WholeRate    Grade  // the word the whole-process rate would earn
	Why          Text   // why the whole-process rate is not the grade
	Impact       Text
	ImpactWord   string // "negligible", "low", "notable", "large", "unknown"
	Cost         Cost
	Inputs       []MacroInput
	Implausible  []Text // what the counters cannot be; they are then not graded
	Unmeasurable Text   // why the counter of the switches measures nothing, where it says 0 all the same
	MissTrend    evidence.Opt[MissTrend]
	Scales       *Scales // that the figures were held against
	FromTrace    bool    // rates taken from layer 2, because no counters were given: from a trace, or
	FromCounts   bool    // from what the kernel counts of each thread (/proc)
	Sources      []int
}

// MacroInput is a counter behind the letter that formulae use for it.
type MacroInput struct {
	Letter   string   `json:"letter"` // "T"
	Name     string   `json:"name"`   // "task-clock"
	Text     string   `json:"text"`   // "4,808.30 ms"
	Evidence Evidence `json:"evidence"`
}

// Figure returns a figure by id.
func (m *Macro) Figure(id string) (*Figure, bool) {
	for i := range m.Figures {
		if m.Figures[i].ID == id {
			return &m.Figures[i], m.Figures[i].Value.OK
		}
	}
	return nil, false
}

// Value returns the value of a figure, absent when there is none.
func (m *Macro) Value(id string) evidence.Opt[float64] {
	f, ok := m.Figure(id)
	if !ok {
		return evidence.Opt[float64]{}
	}
	return f.Value
}

// Cost is the estimate of what switching costs, bounded by the measurement.
type Cost struct {
	LoUS    evidence.Opt[float64] `json:"lo_us"` // per switch, after bounding
	HiUS    evidence.Opt[float64] `json:"hi_us"`
	BoundUS evidence.Opt[float64] `json:"bound_us"` // CPU time between switches
	Bounded bool                  `json:"bounded"`  // the bound cut the table's range
	LoCPUs  evidence.Opt[float64] `json:"lo_cpus"`  // CPU-seconds per second
	HiCPUs  evidence.Opt[float64] `json:"hi_cpus"`
	Text    Text                  `json:"text,omitempty"` // with the arithmetic
	Table   string                `json:"table"`          // where the range comes from
}

// Layer2 is the summary of who switches.
type Layer2 struct {
	Sources        []int                 `json:"sources"`
	VoluntaryPerS  evidence.Opt[float64] `json:"voluntary_per_s"`
	InvolPerS      evidence.Opt[float64] `json:"involuntary_per_s"`
	SwitchesPerS   evidence.Opt[float64] `json:"switches_per_s"`
	Voluntary      evidence.Opt[uint64]  `json:"voluntary"`
	Involuntary    evidence.Opt[uint64]  `json:"involuntary"`
	Switches       evidence.Opt[uint64]  `json:"switches"`
	WindowS        evidence.Opt[float64] `json:"window_s"`
	VoluntaryShare evidence.Opt[float64] `json:"voluntary_share"`
	Top            int                   `json:"top"` // this many threads ...
	Of             int                   `json:"of"`  // ... of this many
	TopShare       evidence.Opt[float64] `json:"top_share"`
	Concentration  Text                  `json:"concentration,omitempty"` // "4 of 37 threads make 90.1 %"
	Notes          []Text                `json:"notes,omitempty"`         // what is absent, and which event to record
}

// Quantiles of a distribution in nanoseconds.
type Quantiles struct {
	N    uint64                `json:"n"`
	P50  evidence.Opt[float64] `json:"p50_ns"`
	P90  evidence.Opt[float64] `json:"p90_ns"`
	P99  evidence.Opt[float64] `json:"p99_ns"`
	P999 evidence.Opt[float64] `json:"p999_ns"`
	Max  evidence.Opt[float64] `json:"max_ns"`
	Mean evidence.Opt[float64] `json:"mean_ns"`
}

// ThreadRow is a line of the thread table. Fields that the input does not hold
// are absent.
type ThreadRow struct {
	Name            string                `json:"comm"`
	TID             int                   `json:"tid"`
	PID             int                   `json:"pid"`
	Hot             bool                  `json:"hot"` // one of the few that make 90 %
	VoluntaryPerS   evidence.Opt[float64] `json:"voluntary_per_s"`
	InvoluntaryPerS evidence.Opt[float64] `json:"involuntary_per_s"`
	SwitchesPerS    evidence.Opt[float64] `json:"switches_per_s"`
	Voluntary       evidence.Opt[uint64]  `json:"voluntary"`
	Involuntary     evidence.Opt[uint64]  `json:"involuntary"`
	Switches        evidence.Opt[uint64]  `json:"switches"`
	Share           evidence.Opt[float64] `json:"share"`
	Trigger         string                `json:"trigger,omitempty"` // what most of its switches wait for, in words: "timer sleep"
	TriggerShare    evidence.Opt[float64] `json:"trigger_share"`
	RunNS           evidence.Opt[float64] `json:"run_ns"`
	DelayNS         evidence.Opt[float64] `json:"delay_ns"`
	OffNS           evidence.Opt[float64] `json:"wait_ns"`
	Run             Quantiles             `json:"run"`
	Delay           Quantiles             `json:"delay"`
	OffCPU          Quantiles             `json:"off_cpu"`
	Migrations      evidence.Opt[uint64]  `json:"migrations"`
	RunHist         *evidence.Histogram   `json:"-"`
	DelayHist       *evidence.Histogram   `json:"-"`
	OffHist         *evidence.Histogram   `json:"-"`
	Evidence        []Evidence            `json:"evidence"`
}

// NamedHist is a histogram of the case, named by its meaning.
type NamedHist struct {
	ID      string            `json:"id"` // "run", "delay", "off_cpu"
	Title   string            `json:"title"`
	Unit    string            `json:"unit"`
	Total   uint64            `json:"total"`
	Q       Quantiles         `json:"quantiles"`
	Buckets []evidence.Bucket `json:"buckets"`
}

// Interval is the switch rate in a step of the capture.
type Interval struct {
	StartS   float64 `json:"start_s"`
	EndS     float64 `json:"end_s"`
	Switches float64 `json:"switches"`
	PerS     float64 `json:"per_s"`
}

// WakeRow counts wakeups: who wakes whom.
type WakeRow struct {
	Waker Text    `json:"waker"`
	Wakee Text    `json:"wakee"`
	Count uint64  `json:"count"`
	Share float64 `json:"share"` // of the case's wakeups
}

// TriggerRow counts involuntary switches by what triggered them.
type TriggerRow struct {
	ID    string  `json:"id"`
	Label string  `json:"label"`
	Count float64 `json:"count"`
	Share float64 `json:"share"` // of the involuntary ones
}

// LinkStatus tells what a layer says of the chain's claim.
type LinkStatus string

// The statuses of a link.
const (
	LinkSupports    LinkStatus = "supports"
	LinkContradicts LinkStatus = "contradicts"
	LinkMissing     LinkStatus = "missing"
)

// Link is one of the three links of the chain.
type Link struct {
	Layer      string                `json:"layer"` // "macro", "threads", "stacks"
	Status     LinkStatus            `json:"status"`
	Title      Text                  `json:"title"`
	Claim      Text                  `json:"claim"`
	Evidence   []Evidence            `json:"evidence"`
	Arithmetic []Sum                 `json:"arithmetic"`
	Capture    evidence.Opt[string]  `json:"capture"` // for a missing layer: the command that captures it
	From       []string              `json:"from"`    // "pidstat.txt:68-85"
	Share      evidence.Opt[float64] `json:"share"`
}

// Mark is what a comparison came to.
type Mark string

// The marks.
const (
	MarkNone    Mark = ""
	MarkAgree   Mark = "agree"
	MarkDiffer  Mark = "differ"
	MarkMissing Mark = "missing"
)

// Sum is an addition or comparison set out line by line.
type Sum struct {
	ID   string   `json:"id"`
	Rows []SumRow `json:"rows"`
	Mark Mark     `json:"mark"`
}

// SumRow is one line of a Sum.
type SumRow struct {
	Label  string                `json:"label"`
	Value  evidence.Opt[float64] `json:"value"`
	Unit   Unit                  `json:"unit"`
	Digits int                   `json:"-"`
	Note   Text                  `json:"note,omitempty"`
	Mark   Mark                  `json:"mark,omitempty"`
}

// Text is the row's value as printed, with its unit.
func (r *SumRow) Text() string {
	v, ok := r.Value.Get()
	if !ok {
		return "–"
	}
	s := FormatValue(v, r.Unit, r.Digits)
	if r.Unit == UnitPerS {
		return quantity.With(s, "/s")
	}
	return s
}

// Finding is what a rule concluded.
type Finding struct {
	ID         string     `json:"id"`
	Severity   string     `json:"severity"` // "high", "medium", "low", "info"
	Confidence Confidence `json:"confidence"`
	Ground     Text       `json:"ground,omitempty"` // why that confidence
	Summary    Text       `json:"summary"`
	Claim      Text       `json:"claim,omitempty"` // of layer 3's link: what the stacks show
	Evidence   []Evidence `json:"evidence"`
	Shown      []Text     `json:"shown"` // the evidence in words, with the arithmetic
	Against    []Text     `json:"against"`
	Advice     []Advice   `json:"advice"`
	Next       []Command  `json:"next"`
	Impact     Text       `json:"impact,omitempty"`

	// Share is the part of the case's switches that the finding explains;
	// absent when the capture does not tell.
	Share evidence.Opt[float64] `json:"share"`
}

// Advice is one remedy: an imperative, its predicted effect, its price.
type Advice struct {
	Do      Text     `json:"do"`
	Effects []Effect `json:"effects"`
	Price   Text     `json:"price,omitempty"`
	Sketch  string   `json:"sketch,omitempty"` // a diff of at most 60 columns; its first line says it is a sketch
	Lang    string   `json:"lang,omitempty"`
}

// Effect is a predicted change with its arithmetic.
type Effect struct {
	Label string `json:"label"`
	Value Text   `json:"value"`
}

// RivalStatus is what became of another explanation.
type RivalStatus string

// The statuses of a rival. Candidates are ranked by fit, which is not a
// probability; excluded is a rejection without a verdict to be a rival of.
const (
	RivalRejected    RivalStatus = "rejected"
	RivalNotExcluded RivalStatus = "not-excluded"
	RivalCandidate   RivalStatus = "candidate"
)

// Rival is another cause that was weighed.
type Rival struct {
	ID      string      `json:"id"`
	Status  RivalStatus `json:"status"`
	Because Text        `json:"because"`        // the one figure that decides
	Look    Text        `json:"look,omitempty"` // what would show it: "do_nanosleep; woken by timers"
	Fit     float64     `json:"fit"`            // orders candidates
}

// CheckStatus is the outcome of a sanity check.
type CheckStatus string

// The outcomes of a check.
const (
	CheckPass    CheckStatus = "pass"
	CheckDiffer  CheckStatus = "differ"
	CheckMissing CheckStatus = "missing"
)

// Check is one thing verified about the captures.
type Check struct {
	ID     string      `json:"id"`
	Status CheckStatus `json:"status"`
	Text   Text        `json:"text"`

	// Lowers: a failed check that lowers the confidence of a diagnosis.
	Lowers bool `json:"lowers_confidence"`
}
