package analyze

// Grade is the word for a switch rate per core.
type Grade string

// The grades, and none for a rate that cannot be told.
const (
	GradeNone     Grade = ""
	GradeHealthy  Grade = "healthy"
	GradeNormal   Grade = "normal"
	GradeElevated Grade = "elevated"
	GradeSevere   Grade = "severe"
	GradeExtreme  Grade = "extreme"
)

// gradeOf grades a rate per core or per active CPU, and returns the range of
// the table that it fell into.
func gradeOf(perS float64) (Grade, string) {
	for _, g := range gradeTable {
		if perS < g.Below {
			return g.Grade, g.Range
		}
	}
	return GradeNone, ""
}

// Rank orders grades from healthy (1) to extreme (5); none is 0.
func (g Grade) Rank() int {
	for i, row := range gradeTable {
		if row.Grade == g {
			return i + 1
		}
	}
	return 0
}

func impactWord(cpus float64) string {
	for _, i := range impactTable {
		if cpus < i.Below {
			return i.Word
		}
	}
	return ""
}

// GradeStep is a step of the scale of grades: the rates from the step before it
// up to Below, 0 for the last step, which has no end.
type GradeStep struct {
	Grade Grade
	Below float64
}

// GradeScale returns the scale that rates are graded on, the lowest step first.
func GradeScale() []GradeStep {
	out := make([]GradeStep, len(gradeTable))
	for i, row := range gradeTable {
		out[i] = GradeStep{row.Grade, row.Below}
	}
	out[len(out)-1].Below = 0
	return out
}
