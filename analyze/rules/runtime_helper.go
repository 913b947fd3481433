package rules

import "ctxan/analyze"

// RuntimeHelper: a thread of the language runtime looks after the others at a
// short interval. It looks like polling, and is no code of the application.
var RuntimeHelper = (&waiting{
	id: "runtime-helper", doc: "a housekeeping thread of the language runtime wakes at short intervals, not the application",
	pass: ofID("runtime-helper"),
	many: "keep house for the language runtime", one: "keeps house for the language runtime", noun: "waits of the runtime's helper threads",
	look: "runtime.sysmon, WatcherThread, erts threads above the sleep",
	weigh: func(f *analyze.Facts, _ *wait, g *ground) {
		if cheap(f) {
			g.atMost(analyze.ConfidenceNone, "so few that they are nothing to look for")
		}
	},
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Look for what keeps the helper awake: Go's sysmon sleeps 20 µs and up to 10 ms when nothing happens, and stays short while goroutines sit in system calls."),
				Effects: []analyze.Effect{{Label: "switches", Value: text("as often as the helper's interval, whatever the load")}}},
			{Do: text("Make fewer blocking calls from many threads (batch them, or use the runtime's poller), and keep the runtime current: its intervals have grown over the versions.")},
		}
	},
}).rule()
