package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// NetworkWait: threads wait for an answer from the network.
var NetworkWait = (&waiting{
	id: "network-wait", doc: "threads wait for a peer on the network, one request at a time",
	pass:   ofClass(signature.ClassNetwork),
	also:   func(f *analyze.Facts) float64 { return triggerShare(f, analyze.TriggerHandOff) },
	alsoIs: "returns from a call that woke the next task",
	many:   "wait for a network peer", one: "waits for a network peer", noun: "waits for a network socket", look: "sk_wait_data, inet_csk_accept", fit: mostlyIdle(0.30),
	weigh: func(f *analyze.Facts, _ *wait, g *ground) {
		if p := partners(f); p.share >= mainShare {
			g.atMost(analyze.ConfidenceNone, "the peer is on this machine, and answers at once: a hand-off")
		}
	},
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Make fewer round trips: pipeline or batch the requests, cache answers."), Effects: []analyze.Effect{{Label: "waits", Value: text("one per request → one per batch")}}},
			{Do: text("Wait for many sockets in one thread (epoll, io_uring) instead of one thread a connection."), Price: text("code that is driven by events")},
			{Do: text("Look at the peer and the link: the time is spent there.")},
		}
	},
}).rule()
