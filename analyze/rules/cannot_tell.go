package rules

import "ctxan/analyze"

// CannotTell is what is left when no rule concludes anything. The engine makes
// the finding, ranks the candidates by what each rule's Rival says, and prints
// the command that decides.
var CannotTell = &analyze.Rule{
	ID:    "cannot-tell",
	Doc:   "the input does not decide the cause; the report ranks the candidates and gives the command that decides",
	Run:   func(*analyze.Facts) []analyze.Finding { return nil },
	Rival: func(*analyze.Facts) (analyze.Rival, bool) { return analyze.Rival{}, false },
}
