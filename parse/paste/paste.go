// Package paste takes the marks of its journey off a captured text: byte order
// marks, UTF-16, line ends, terminal escapes, NUL bytes, quoting, diff signs,
// log prefixes, HTML and Markdown wrapping. What is left are the lines as the
// tool printed them, each with its number in the original.
package paste

// Line is one line of a text without its decoration.
type Line struct {
	No   int    // 1-based, in the original
	Text string // without line end
}

// Text is a cleaned text.
type Text struct {
	Lines    []Line
	Notes    []string // what was taken off, for people: "UTF-16", "quoting '> '"
	EndsOpen bool     // the last line has no line end: it may be cut
}
