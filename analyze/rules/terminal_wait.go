package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// TerminalWait: output goes to a terminal whose reader is slow.
var TerminalWait = (&waiting{
	id: "terminal-wait", doc: "threads wait for a terminal, the console or the system log",
	pass:   ofClass(signature.ClassTTY),
	also:   func(f *analyze.Facts) float64 { return triggerShare(f, analyze.TriggerHandOff, analyze.TriggerRace) },
	alsoIs: "returns from a call that woke the next task, or preemptions on the way to sleep",
	many:   "wait for a terminal", one: "waits for a terminal", noun: "waits for a terminal", look: "n_tty_write, tty write lock",
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Write to a file or a pipe with a buffer, and let the terminal follow it."), Effects: []analyze.Effect{{Label: "waits", Value: text("one per line → one per buffer")}}, Price: text("output appears later")},
			{Do: text("Log less, or from one thread: all writers of a terminal share its lock.")},
		}
	},
}).rule()
