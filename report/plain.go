package report

// Plain makes a message that may hold names from a capture or from the command
// line safe for a terminal: control characters, bidirectional marks and invalid
// bytes come out as visible escapes.
func Plain(s string) string { return inert(s) }

// ASCII writes a text of ours in ASCII alone, as reports with Options.ASCII do.
func ASCII(s string) string { return unitsString(proseUnits(s, true)) }
