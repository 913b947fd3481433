package report

// Plain makes a message that may hold names from a capture or from the command
// line safe for a terminal: control characters, bidirectional marks and invalid
// bytes come out as visible escapes.
func Plain(s string) string { return inert(s) }

// Wrap breaks a text of ours into lines of at most width columns, at blanks or
// where Chinese may be broken.
func Wrap(s string, width int) []string {
	var out []string
	for _, l := range wrap(plain(s), width, width) {
		line := ""
		for _, part := range l {
			line += part.s
		}
		out = append(out, line)
	}
	return out
}

// ASCII writes a text of ours in ASCII alone, as reports with Options.ASCII do.
func ASCII(s string) string { return unitsString(proseUnits(s, true)) }
