package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// TracedProcess: every traced event stops the process until the tracer lets it go on.
var TracedProcess = (&waiting{
	id: "traced-process", doc: "a tracer (strace, a debugger, a sandbox) stops the process at every event",
	pass: ofClass(signature.ClassTrace),
	many: "stop for a tracer", one: "stops for a tracer", noun: "stops for a tracer", look: "ptrace_stop in state t",
	advise: func(f *analyze.Facts, _ *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Detach the tracer (%s in /proc/PID/status names it).", code("TracerPid")), Effects: []analyze.Effect{{Label: "switches", Value: text("two per traced event → none")}}},
			{Do: text("If it must stay, let a seccomp filter stop only the calls of interest (strace --seccomp-bpf).")},
		}
	},
}).rule()
