package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// GuestHalt: a virtual CPU has nothing to do and halts, which the host sees as
// a thread that blocks until the guest's next interrupt.
var GuestHalt = (&waiting{
	id: "guest-halt", doc: "virtual CPUs halt and are woken for the guest's timers and devices",
	pass: ofClass(signature.ClassGuest),
	many: "halt as virtual CPUs without work", one: "halts as a virtual CPU without work", noun: "halts of virtual CPUs", look: "kvm_vcpu_block, kvm_vcpu_halt",
	weigh: func(f *analyze.Facts, _ *wait, g *ground) {
		g.note(text("what the guest waits for is not in the host's capture"))
	},
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Look inside the guest: its own switches and timers are the cause; the host only runs it."), Effects: []analyze.Effect{{Label: "switches on the host", Value: text("one per halt of the guest → as the guest rests longer")}}},
			{Do: text("Let the host poll longer before it gives the CPU up (%s of the kvm module, or idle=poll and haltpoll in the guest).", code("halt_poll_ns")),
				Effects: []analyze.Effect{{Label: "switches", Value: text("those of halts shorter than the polling → none")}}, Price: text("CPU time on the host while it polls")},
		}
	},
}).rule()
