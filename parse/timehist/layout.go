package timehist

import "bytes"

// layout is what the header says of the columns, or what the first row shows
// where there is no header. Rows are read by words, not by positions: pasting
// collapses blanks. The positions serve the fast path and the CPU bitmap.
//
// Layout: timehist_header and timehist_print_sample in the kernel's
// tools/perf/builtin-sched.c.
type layout struct {
	header  bool // a header was seen: what it does not name is not there
	guessed bool // without header: the first row was looked at
	bitmap  bool // -V: a column of one letter a CPU between CPU and task
	cpus    int  // width of the bitmap; 0: not known
	prio    bool // --prio (perf 6.12 on)
	preMig  bool // --pre-migrations (perf 6.12 on)
	state   bool // --state
}

// isHeader recognises the header line, however its blanks were treated.
func isHeader(p []byte) bool {
	if !bytes.Contains(p, []byte("task")) || !bytes.Contains(p, []byte("sch")) {
		return false
	}
	var words [16][]byte
	n := 0
	for n < len(words) {
		words[n], p = token(p)
		if len(words[n]) == 0 {
			break
		}
		n++
	}
	return n >= 8 && string(words[0]) == "time" && string(words[1]) == "cpu" &&
		hasPair(words[2:n], "task", "name") && hasPair(words[2:n], "wait", "time") &&
		hasPair(words[2:n], "sch", "delay") && hasPair(words[2:n], "run", "time")
}

func hasPair(words [][]byte, a, b string) bool {
	for i := 1; i < len(words); i++ {
		if string(words[i-1]) == a && string(words[i]) == b {
			return true
		}
	}
	return false
}

// parseHeader reads the columns of a header line.
func parseHeader(p []byte) layout {
	l := layout{header: true}
	_, rest := token(p)
	_, rest = token(rest)
	if w, _ := token(rest); string(w) != "task" {
		l.bitmap, l.cpus = true, len(w)
	}
	after := rest[bytes.Index(rest, []byte("task")):]
	for w, r := token(after); len(w) > 0; w, r = token(r) {
		switch string(w) {
		case "prio":
			l.prio = true
		case "pre-mig":
			l.preMig = true
		case "state":
			l.state = true
		}
	}
	return l
}

// guessBitmap looks for the bitmap of -V in the first row of a capture without
// header. The letter of a row stands at its CPU's place and has at least two
// unused places behind it (perf makes the bitmap one too wide), then a blank;
// where blanks were collapsed, it is a word of its own before the task.
func (l *layout) guessBitmap(rest []byte, cpu int) {
	l.guessed = true
	p := trimLeft(rest)
	lead := len(rest) - len(p)
	if len(p) < 4 || (p[0] != 's' && p[0] != 'i') || !isSpace(p[1]) {
		return
	}
	collapsed := lead == 1 && !isSpace(p[2])
	inPlace := lead == 2+cpu && isSpace(p[2]) && isSpace(p[3])
	l.bitmap = collapsed || inPlace
	if inPlace {
		l.cpus = len(rest) - len(trimLeft(p[1:])) - 4
	}
}

// skipBitmap takes the letter of the bitmap off the front of a row's remainder.
func (l *layout) skipBitmap(rest []byte) []byte {
	p := trimLeft(rest)
	if !l.bitmap || len(p) < 2 || !isSpace(p[1]) {
		return rest
	}
	if p[0] != 's' && p[0] != 'i' && p[0] != 'm' {
		return rest
	}
	// A blank bitmap (of an awakened row) is followed by the task: a comm that
	// begins with such a letter and a blank stands behind the bitmap's place.
	if lead := len(rest) - len(p); l.cpus > 0 && lead >= 4+l.cpus {
		return rest
	}
	return p[1:]
}
