package rules

import "ctxan/analyze"

// KernelWorkerStorm: kernel workers are woken for every small piece of work.
var KernelWorkerStorm = (&waiting{
	id: "kernel-worker-storm", doc: "kernel threads are woken thousands of times a second for small work items",
	pass: ofID("kworker", "kthread", "io-worker", "vhost"),
	many: "run many small work items", one: "runs many small work items", noun: "waits of kernel workers for work", look: "worker_thread in state I",
	weigh: func(f *analyze.Facts, _ *wait, g *ground) {
		if r, ok := f.Layer2.SwitchesPerS.Get(); ok && r < busyWorkerPerS {
			g.atMost(analyze.ConfidenceNone, "kernel threads that rest")
		}
	},
	advise: func(*analyze.Facts, *wait) []analyze.Advice {
		return []analyze.Advice{{Do: text("Name the work, and who queues it, with the recording given to settle it.")},
			{Do: text("Make whoever queues it batch: larger writes, interrupt coalescing (ethtool -C), fewer descriptors.")}}
	},
	next: []analyze.Command{{Line: "perf record -a -g --buildid-all -e workqueue:workqueue_queue_work -o work.data -- sleep 1", Why: text("which work is queued, and by which code: perf report -i work.data (as root)")}},
}).rule()

// busyWorkerPerS: kernel threads that run less often than this rest. Kernel: a
// tick of the fastest configuration, HZ=1000.
const busyWorkerPerS = 1000
