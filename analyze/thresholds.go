package analyze

// Thresholds of the analysis. Rates and grades are customary, from practice on
// servers; the others are stated with their reason.
const (
	// HotShare: the hot threads are the fewest that make this share of the switches.
	HotShare = 0.90

	// processShare: a process of a system-wide capture is a case of its own from
	// this share of all switches; at most maxProcesses are.
	processShare = 0.10
	maxProcesses = 4

	// dominantShare: a process with this share is what a system-wide capture is about.
	dominantShare = 0.50

	// AgreeWithin: two captures of the same work agree within this; runs of one
	// program differ by a few per cent from second to second.
	AgreeWithin = 0.10

	// contradictBeyond: beyond this factor two rates cannot be of the same load,
	// even with the cost of tracing every switch.
	contradictBeyond = 2.0

	// pointsWithin: two shares agree within this difference.
	pointsWithin = 0.05

	// sliceFloorNS: an involuntary switch after less CPU than the shortest base
	// slice of current kernels (0.7 ms, sysctl_sched_base_slice) is not the end
	// of a slice.
	sliceFloorNS = 700_000

	// highIPC and lowIPC: 4 to 6 is the peak of a current x86 core; memory-bound
	// work lies below 1.
	highIPC = 2.5
	lowIPC  = 1.0
)

// gradeTable: switches per second per core, or per active CPU.
var gradeTable = []struct {
	Below float64
	Grade Grade
}{
	{1_000, GradeHealthy},
	{10_000, GradeNormal},
	{50_000, GradeElevated},
	{100_000, GradeSevere},
	{1e18, GradeExtreme},
}

// costTable: what a switch costs in microseconds with the recovery of caches
// and predictors, from LMbench-style measurements; and the direct cost alone.
const (
	costLoUS     = 5.0
	costHiUS     = 50.0
	costDirectUS = 0.1
)

// impactTable: CPUs lost to switching, at most.
var impactTable = []struct {
	Below float64
	Word  string
}{
	{0.01, "negligible"},
	{0.05, "low"},
	{0.25, "notable"},
	{1e18, "large"},
}
