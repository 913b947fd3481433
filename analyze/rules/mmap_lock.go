package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/signature"
)

// MmapLock: threads change or fault the one address space that they share.
var MmapLock = (&waiting{
	id: "mmap-lock", doc: "threads wait for the lock of the address space that they share",
	pass: ofClass(signature.ClassMM),
	many: "wait for the address space's lock", one: "waits for the address space's lock", noun: "waits for the mmap lock", look: "rwsem_down_write_slowpath below munmap, mmap, page faults",
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{
			{Do: text("Stop mapping and unmapping: let the allocator keep freed memory (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, jemalloc decay), reuse buffers."),
				Effects: []analyze.Effect{{Label: "waits", Value: text("one per map, unmap and fault → only those that remain")}}, Price: text("memory stays resident")},
			{Do: text("Split the threads over processes, each with its own address space.")},
			{Do: text("Run a kernel of 6.4 or later: page faults then lock one mapping only.")},
		}
	},
}).rule()
