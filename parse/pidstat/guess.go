package pidstat

import (
	"strings"

	"ctxan/parse/paste"
)

// guess returns the layout of rows that stand before any header, or nil. It is
// that of a header further down, when no other activity's table is about; or it
// follows from rows that nothing else prints: "|__name" behind two rates, or two
// rates behind a command line that asks for nothing else.
func guess(t *paste.Text) *layout {
	var found, inferred *layout
	switchCommand := false
	for _, line := range t.Lines {
		if h, ok := parseHeader(line.Text); ok {
			if !h.switches() {
				return nil
			}
			if found == nil {
				found = h.asGuess()
			}
			continue
		}
		if inferred == nil && (switchCommand || strings.Contains(line.Text, "|__")) {
			inferred = infer(line.Text, switchCommand)
		}
		if c, ok := parseCommand(line.Text); ok {
			switchCommand = c.onlySwitches()
		}
	}
	if found != nil {
		return found
	}
	return inferred
}

// infer returns the layout that a row shows by itself. The two rates must have
// decimals: the other tables with two columns hold whole numbers.
func infer(line string, switchCommand bool) *layout {
	for _, l := range []layout{
		{stamp: stampUnknown},
		{stamp: stampUnknown, owner: true},
		{stamp: stampUnknown, owner: true, user: true},
		{threads: true, stamp: stampUnknown},
		{threads: true, stamp: stampUnknown, owner: true},
		{threads: true, stamp: stampUnknown, owner: true, user: true},
		{threads: true},
	} {
		l.values, l.vol, l.invol, l.guessed = 2, 0, 1, true
		if (l.threads || switchCommand) && l.shows(line) {
			return &l
		}
	}
	return nil
}

// shows reports whether a line is beyond doubt a row of this layout.
func (l *layout) shows(line string) bool {
	_, rest, ok := parsePrefix(line, l)
	if !ok {
		return false
	}
	r, err := l.parseRow(rest)
	if err != nil || l.threads && (!r.thread || r.tied) {
		return false
	}
	words := strings.Fields(rest)
	ids := 1
	if l.owner {
		ids++
	}
	if l.threads {
		ids++
	}
	if l.threads && !strings.HasPrefix(words[ids+2], "|__") {
		return false
	}
	return looksLikeRate(words[ids]) && looksLikeRate(words[ids+1])
}
