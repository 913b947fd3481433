package rules

import "ctxan/analyze"

// FuseRoundTrip: each file operation is a request to a daemon.
var FuseRoundTrip = (&waiting{
	id: "fuse-round-trip", doc: "file operations wait for a file system daemon in user space",
	pass: ofID("fuse"),
	many: "wait for a file system daemon", one: "waits for a file system daemon", noun: "waits for a FUSE daemon", look: "request_wait_answer",
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Let the kernel answer: longer entry_timeout and attr_timeout, kernel_cache, writeback_cache, a large max_write."),
				Effects: []analyze.Effect{{Label: "switches", Value: text("at least two per operation → none for those served from the cache")}}, Price: text("changes behind the mount show later")},
			{Do: text("Use passthrough (6.9 and later) for reads and writes, or FUSE over io_uring (6.14).")},
			{Do: text("Ask less: keep files open, drop repeated stat calls.")},
		}
	},
}).rule()
