// Package evidence is the one model that every capture format is read into.
//
// A [Set] holds aggregates, never an event stream: its size grows with threads
// and distinct stacks, not with events. Every figure knows the [Source] it came
// from and its position there ([Pos]), and what a capture does not hold is
// absent ([Opt]), never zero.
//
// Formats write through a [Builder], one per source, which validates what it
// is given and counts what it had to drop. No format package knows another,
// and this package knows none of them.
//
// Units: times are nanoseconds in fields named ...NS and seconds in fields
// named ...S; clocks are milliseconds as perf prints them; rates are per
// second; shares named Pct are per cent, ratios are plain fractions.
package evidence
