package rules

import "time"

// The thresholds of the rules, each with its source. "Bound" is arithmetic,
// "kernel" a default of current kernels, "practice" a customary value whose
// sensitivity the tests probe.
const (
	// mainShare: what explains at least this share of the switches is their
	// cause. Bound: only one thing can be the majority.
	mainShare = 0.50

	// partShare: from here on something is a cause beside others. Practice: a
	// quarter is worth a line of its own in a report.
	partShare = 0.25

	// traceShare: below this a path is noise. Practice: daemons and libraries
	// make a few switches of every kind.
	traceShare = 0.05

	// minPollPerS: a thread that wakes itself this often sleeps for less than a
	// tick. Kernel: CONFIG_HZ=250 on most distributions, one tick is 4 ms.
	minPollPerS = 250

	// usualLoopPerS: loops that work on a schedule (control, media, games) sleep
	// until their next turn up to so often. Practice: 1 kHz, and what a second of
	// measurement is off.
	usualLoopPerS = 1_100

	// polledSleep and polledPerS: the longer sleep that an advice offers, and
	// what it bounds the rate at. Practice: 10 ms is imperceptible to people and
	// rest enough for a core.
	polledSleep = 10 * time.Millisecond
	polledPerS  = float64(time.Second / polledSleep)

	// timerSlackNS: a timer of an ordinary thread may fire this much later, so
	// that the kernel can serve several at once. Kernel: /proc/PID/timerslack_ns.
	timerSlackNS = 50_000

	// steadyRatio: gaps whose 90th percentile is within this factor of their
	// 10th come on a beat. Practice: timers spread by slack and wake latency;
	// waits for work spread by more than two.
	steadyRatio = 1.5

	// differBeyond: rates further apart than this, yet within otherLoad, keep a
	// conclusion from being sure. Practice: tracing every switch slows a program
	// by up to a third.
	differBeyond = 0.50

	// otherLoad: beyond this factor two rates cannot be of the same load, or one
	// of them does not see most of it.
	otherLoad = 2.0

	// alikeWithin: two rates of independent things agree this closely only when
	// one makes the other. Practice.
	alikeWithin = 0.05

	// fewGaps: a distribution of fewer values is no distribution. Practice.
	fewGaps = 20

	// baseSliceNS: the shortest slice that the scheduler gives. Kernel:
	// sysctl_sched_base_slice is 0.7 ms times 1 + log2(CPUs), at most four times.
	baseSliceNS = 700_000

	// spinStintNS: less CPU than this between involuntary switches is far below
	// any slice; a system call and a switch take about this long. Kernel: a
	// fiftieth of the shortest slice.
	spinStintNS = baseSliceNS / 50

	// roundTripNS: an answer that takes longer than this is work of the peer, not
	// the cost of passing the CPU on. Practice: ten times a wakeup across CPUs
	// with an idle state to leave.
	roundTripNS = 500_000

	// runOnNS: a thread that leaves the CPU this soon after it woke another has
	// nothing else to do. Practice: the rest of a write and the next read.
	runOnNS = 20_000

	// mutualRatio: wakeups in the two directions of a pair differ by less than
	// this factor when they answer each other. Bound: 1 for a strict ping-pong;
	// some are not seen, because the other is awake still.
	mutualRatio = 0.50

	// partnerShare: a thread whose wakeups come from one other in this share has
	// a partner. Practice: in a pool each is woken by many.
	partnerShare = 0.80

	// fromIRQ: wakeups that come from interrupts in this share come from timers
	// or devices, not from threads. Practice: an interrupt may run over another
	// thread and be taken for its.
	fromIRQ = 0.90

	// willing: from this voluntary share on, threads give the CPU up themselves;
	// unwilling is its counterpart.
	willing   = 0.90
	unwilling = 0.10

	// movedShare: of switches with a migration; wake placement alone moves up to
	// a fifth (practice, on small machines), a task that is moved on purpose
	// nearly always.
	movedShare = 0.30
	movedAll   = 0.90
	movedPerS  = 500 // and a rate below this moves nobody's cache

	// crowded: this many runnable threads a CPU wait for each other. Bound:
	// above 1 someone waits; practice leaves room for bursts.
	crowded = 1.25

	// full: a subject that uses this share of the CPUs has no CPU left to run on.
	full = 0.90

	// starvedShare: a thread that never blocks and gets less than this of a CPU
	// waits for it. Practice: kernel work and interrupts take some per cent.
	starvedShare = 0.80

	// dominance: of the CPU samples on waiting paths, this share on one of them
	// makes it the path that the switches take. Practice.
	dominance = 0.80

	// cpuPathShare: less of the CPU samples than this on a path says nothing
	// of switches. Practice: a system call that sleeps costs microseconds.
	cpuPathShare = 0.10

	// costShare: switches that cost at most this share of a subject's CPU do not
	// matter. Bound: 1,000 switches a second of CPU, the end of the grade
	// "healthy", times the table's 50 µs.
	costShare = 0.05
)
