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
