package rules

import "ctxan/analyze"

// SwapIn: pages that were swapped out are needed again.
var SwapIn = (&waiting{
	id: "swap-in", doc: "page faults wait for pages to be read back from swap",
	pass: ofID("swap-in"), weigh: offInD,
	many: "wait for pages from swap", one: "waits for pages from swap", noun: "waits for swap", look: "do_swap_page, swap_read_folio",
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Give the working set room: more memory or a higher limit, fewer or smaller processes."), Effects: []analyze.Effect{{Label: "waits", Value: text("none while it fits")}}},
			{Do: text("Lock what must never be swapped (mlock), or lower vm.swappiness.")},
		}
	},
}).rule()
