package analyze

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"ctxan/analyze/quantity"
)

// Scales are the two tables that figures are held against: what rate earns
// which grade, and what a switch costs. Both are customary or measured
// elsewhere, so that a team, or this machine's own benchmark, may replace them.
type Scales struct {
	Grades []GradeStep
	Cost   CostScale
}

// GradeStep is one grade and the rate per CPU at which the next begins.
type GradeStep struct {
	Below float64 // switches a second; +Inf for the last
	Grade Grade
}

// CostScale is what a switch costs in microseconds.
type CostScale struct {
	LoUS, HiUS float64 // with the recovery of caches and predictors
	DirectUS   float64 // the switch alone
	Source     string  // where the figures come from, for prose
}

// DefaultScales are the customary tables.
func DefaultScales() *Scales {
	s := &Scales{Cost: CostScale{costLoUS, costHiUS, costDirectUS, "LMbench-style measurements"}}
	for _, g := range gradeTable {
		s.Grades = append(s.Grades, GradeStep{g.Below, g.Grade})
	}
	s.Grades[len(s.Grades)-1].Below = math.Inf(1)
	return s
}

// gradeOf grades a rate per core or per active CPU, and returns the range of
// the table that it fell into.
func (s *Scales) gradeOf(perS float64) (Grade, string) {
	for i, g := range s.Grades {
		if perS < g.Below {
			return g.Grade, s.span(i)
		}
	}
	return GradeNone, ""
}

// span writes the range of a grade.
func (s *Scales) span(i int) string {
	switch {
	case i == 0:
		return "below " + quantity.Whole(s.Grades[0].Below)
	case i == len(s.Grades)-1:
		return "above " + quantity.Whole(s.Grades[i-1].Below)
	}
	return quantity.Range(quantity.Whole(s.Grades[i-1].Below), quantity.Whole(s.Grades[i].Below))
}

// Below is where a grade ends; 0 for one that the table lacks.
func (s *Scales) Below(g Grade) float64 {
	for _, row := range s.Grades {
		if row.Grade == g {
			return row.Below
		}
	}
	return 0
}

// ReadGrades reads a table of grades, a line each in rising order, "-" for no
// end:
//
//	# switches a second per CPU: below, grade
//	500     healthy
//	5,000   normal
//	20,000  elevated
//	50,000  severe
//	-       extreme
//
// All five grades must be there, once and in this order. An error names its line.
func ReadGrades(r io.Reader) ([]GradeStep, error) {
	order := []Grade{GradeHealthy, GradeNormal, GradeElevated, GradeSevere, GradeExtreme}
	var out []GradeStep
	err := eachLine(r, func(n int, f []string) error {
		if len(f) != 2 || len(out) == len(order) || Grade(f[1]) != order[len(out)] {
			return fmt.Errorf("line %d: %q: want a rate and one of healthy, normal, elevated, severe, extreme, in this order", n, strings.Join(f, " "))
		}
		below := math.Inf(1)
		if last := len(out) == len(order)-1; f[0] != "-" || !last {
			v, err := positive(f[0])
			if err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			below = v
			if last {
				return fmt.Errorf("line %d: the last grade has no end: write - extreme", n)
			}
		}
		if len(out) > 0 && below <= out[len(out)-1].Below {
			return fmt.Errorf("line %d: %s is not above the line before", n, f[0])
		}
		out = append(out, GradeStep{below, Grade(f[1])})
		return nil
	})
	if err == nil && len(out) != len(order) {
		err = fmt.Errorf("%d of the five grades: want healthy, normal, elevated, severe and extreme", len(out))
	}
	return out, err
}

// ReadCost reads what a switch costs, in microseconds:
//
//	# this machine, ctxan bench
//	low     2.8
//	high    20
//	direct  0.2
//	source  ctxan bench on app-host
//
// low and high are with the recovery of caches; direct, without it, may be left
// out. An error names its line.
func ReadCost(r io.Reader) (CostScale, error) {
	out := CostScale{DirectUS: costDirectUS, Source: "the file given with --cost"}
	err := eachLine(r, func(n int, f []string) error {
		if f[0] == "source" && len(f) > 1 {
			out.Source = strings.Join(f[1:], " ")
			return nil
		}
		to := map[string]*float64{"low": &out.LoUS, "high": &out.HiUS, "direct": &out.DirectUS}[f[0]]
		if to == nil || len(f) != 2 {
			return fmt.Errorf("line %d: %q: want low, high or direct with microseconds, or source with words", n, strings.Join(f, " "))
		}
		v, err := positive(f[1])
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		*to = v
		return nil
	})
	switch {
	case err != nil:
	case out.LoUS == 0 || out.HiUS == 0:
		err = fmt.Errorf("low and high are both needed, in microseconds a switch")
	case out.LoUS > out.HiUS || out.DirectUS > out.LoUS:
		err = fmt.Errorf("direct, low and high do not rise: %g, %g, %g", out.DirectUS, out.LoUS, out.HiUS)
	}
	return out, err
}

// eachLine calls fn with the fields of each line that is neither empty nor a
// comment.
func eachLine(r io.Reader, fn func(n int, f []string) error) error {
	sc := bufio.NewScanner(io.LimitReader(r, 1<<20))
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if f := strings.Fields(line); len(f) > 0 {
			if err := fn(n, f); err != nil {
				return err
			}
		}
	}
	return sc.Err()
}

// positive reads a number above 0; thousands may be set apart by commas.
func positive(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil || v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no number above 0", s)
	}
	return v, nil
}
