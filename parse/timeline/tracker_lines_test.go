package timeline_test

// lines are time lines of switches and what is to be made of them. A bar is a
// stint on a CPU, letters are tasks, . is the idle task, ? is what nobody saw,
// w is a wakeup.
var lines = []struct {
	name    string
	line    string
	events  string
	task    bool // some tasks are traced, not all
	wakeups bool // but all of their wakeups
	breaks  uint64
	want    []string
}{
	{name: "sleep, wakeup, delay", line: `
		CPU 0  .├A──┤B──────────├A──┤B      A sleeps 20, waits 10 for B to leave
		       10  20    w40    50  55`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		40 0 wake B A 0
		50 0 switch B R A
		55 0 switch A S B`,
		want: []string{
			`A 2+0 run=2x15 off=1x30 sleep=20 delay=1x10 (max 10 at 50: B)`,
			`B 0+1 run=1x30 preempt=1x5 by-self=1`,
		}},
	{name: "first stint has no start", line: `
		CPU 0  ?A──┤B──┤A      A ran before the capture began: 10 is no length
		          10  20`,
		events: `
		10 0 switch A S B
		20 0 switch B S A`,
		want: []string{
			`A 1+0 off=1x10`,
			`B 1+0 run=1x10`,
		}},
	{name: "preempted, on two CPUs", line: `
		CPU 0  .├A──┤B──
		CPU 1  .    ├. w ├A──┤.     A is moved to CPU 1 while it is runnable
		       10  20    30  40`,
		events: `
		10 0 switch . R A
		20 0 switch A R+ B
		25 1 migrate A 0 1
		30 1 switch . R A
		40 1 switch A S .`,
		want: []string{
			`A 1+1 run=2x20 preempt=1x10 moved=1 by-unknown=1`,
			`B 0+0 moved=0`,
		}},
	{name: "first wakeup counts", line: `
		CPU 0  A──┤B─────────├A      a second wakeup of a runnable task is none
		         10 w20 w25  30`,
		events: `
		10 0 switch A S B
		20 0 wake B A 0
		25 0 wake B A 0
		30 0 switch B S A`,
		want: []string{
			`A 1+0 off=1x20 sleep=10 delay=1x10 (max 10 at 30: B)`,
			`B 1+0 run=1x20`,
		}},
	{name: "wakeup of a runnable task", line: `
		CPU 0  A──┤B────├A      A was preempted: it did not sleep, and has no delay
		         10 w20 30`,
		events: `
		10 0 switch A R B
		20 0 wake B A 0
		30 0 switch B S A`,
		want: []string{
			`A 0+1 preempt=1x20 by-none=1`,
			`B 1+0 run=1x20`,
		}},
	{name: "waking before the switch-out", line: `
		CPU 0  .├A──────┤B       CPU 1 begins to wake A before A has left, and
		CPU 1  .├C w15   w25     ends after: the wakeup is C's, and no sleep is negative
		       10       20  30`,
		events: `
		10 0 switch . R A
		10 1 switch . R C
		15 1 waking C A 0
		20 0 switch A S B
		25 1 wake C A 0
		30 0 switch B R A
		40 1 switch C S .`,
		want: []string{
			`A 1+0 run=1x10 off=1x10 sleep=5 delay=1x5 (max 5 at 30: B)`,
			`B 0+1 run=1x10 by-none=1`,
			`C 1+0 run=1x30`,
		}},
	{name: "chain break", line: `
		CPU 0  .├A──┤B ? ? C├D──┤A      B left and C came unseen: neither stint has a
		       10  20      40  50       length, and B's next wait has no start`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		40 0 switch C S D
		50 0 switch D S B
		60 0 switch B S A`,
		breaks: 1,
		want: []string{
			`A 1+0 run=1x10 off=1x40`,
			`B 1+0 run=1x10 missed=1`,
			`C 1+0 breaks=1`,
			`D 1+0 run=1x10`,
		}},
	{name: "chain break hides a wait", line: `
		CPU 0  .├A──┤B ? A├C──┤A      A came back unseen: 20 to 60 is no wait, 40 to 60 is
		       10  20    40   60`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		40 0 switch A S C
		60 0 switch C S A`,
		breaks: 1,
		want: []string{
			`A 2+0 run=1x10 off=1x20 breaks=1`,
			`B missed=1`,
			`C 1+0 run=1x20`,
		}},
	{name: "switch-outs never recorded", line: `
		CPU 0  A├B ?                    every switch-out of B is missing, on both CPUs:
		CPU 1  C├B ? .├B ?              its counts are not 0 but unknown. What woke it
		       10  w15 20 w25 30        is still a wakeup until running`,
		events: `
		10 0 switch A S B
		15 1 wake C B 1
		20 1 switch C S B
		25 0 wake . B 1
		30 1 switch . R B`,
		breaks: 1,
		want: []string{
			`A 1+0`,
			`B first=10 missed=2`,
			`C 1+0`,
		}},
	{name: "loss on the CPU", line: `
		CPU 0  .├A──┤B──× lost ×──┤A──┤B      B may have left in between, and A may have
		       10  20     30      40  50      run: both intervals are dropped`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		25 0 wake B A 0
		30 0 lost
		40 0 switch B S A
		50 0 switch A S B`,
		want: []string{
			`A 2+0 run=2x20`,
			`B 1+0 off=1x10`,
		}},
	{name: "loss before the wakeup", line: `
		CPU 0  .├A──┤B──× ×──────┤A      the sleep is doubtful, the delay is not
		       10  20   30  w35  40`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		30 0 lost
		35 0 wake B A 0
		40 0 switch B S A`,
		want: []string{
			`A 1+0 run=1x10 delay=1x5 (max 5 at 40: ?)`,
			`B 1+0`,
		}},
	{name: "loss on another CPU", line: `
		CPU 0  .├A──┤B──────┤A      what was lost on CPU 1 has nothing to do with CPU 0
		CPU 1  ─────── × × ───
		       10  20   30  40`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		30 1 lost
		40 0 switch B S A`,
		want: []string{
			`A 1+0 run=1x10 off=1x20`,
			`B 1+0 run=1x20`,
		}},
	{name: "loss on an unknown CPU", line: `
		CPU 0  .├A──┤B──× ×──┤A      it may be this one
		       10  20    30  40`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		30 - lost
		40 0 switch B S A`,
		want: []string{
			`A 1+0 run=1x10`,
			`B 1+0`,
		}},
	{name: "loss on the CPU it comes to", line: `
		CPU 0  .├A──┤B──            A may have run on CPU 1 in between
		CPU 1  .     × × ├A──
		       10  20 30 40`,
		events: `
		10 0 switch . R A
		20 0 switch A R B
		30 1 lost
		40 1 switch . R A
		50 1 switch A S .`,
		want: []string{
			`A 1+1 run=2x20 by-unknown=1`,
			`B 0+0`,
		}},
	{name: "time runs backwards", line: `
		CPU 0  .├A──┤B──┤A      B's switch-out is before its switch-in: dropped, counted
		       10  20  15`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		15 0 switch B S A
		30 0 switch A S B`,
		want: []string{
			`A 2+0 run=2x25`,
			`B 1+0 off=1x15`,
		}},
	{name: "on two CPUs at once", line: `
		CPU 0  .├A──────?─┤B      A cannot come on CPU 1 while it is on CPU 0: it left
		CPU 1  .    ├A──┤.        unseen. 10 to 40 is no stint
		       10  20  30 40`,
		events: `
		10 0 switch . R A
		20 1 switch . R A
		30 1 switch A S .
		40 0 switch A S B`,
		want: []string{
			`A 2+0 run=1x10 missed=1`,
			`B 0+0`,
		}},
	{name: "woken by whom", line: `
		CPU 0  .├A─w15─┤B──┤A───w35─┤B      A itself; nobody; an interrupt; CPU 1
		       10      20  30       40`,
		events: `
		10 0 switch . R A
		15 0 wake A B 0
		20 0 switch A R B
		25 0 switch B S A
		30 0 switch A R C
		31 0 switch C S A
		35 0 irq A B 0
		40 0 switch A R+ B
		45 0 switch B S A
		46 1 wake D B 0
		50 0 switch A R B
		55 0 switch B S A
		56 1 wake D B 1
		60 0 switch A R B`,
		want: []string{
			`A 0+5 run=5x34 preempt=4x16 by-none=2 by-self=1 by-irq=1 by-remote=1`,
			`B 3+0 run=3x15 off=3x25 sleep=12 delay=3x13 (max 5 at 40: A) first=5`,
			`C 1+0 run=1x1`,
		}},
	{name: "woken before the task came on", line: `
		CPU 0  A─w5─┤C──┤A──┤B      B was woken, but not while A was on: a slice ended
		           10  20  30`,
		events: `
		5  0 wake A B 0
		10 0 switch A R C
		20 0 switch C R A
		30 0 switch A R B`,
		want: []string{
			`A 0+2 run=1x10 preempt=1x10 by-none=2`,
			`B 0+0 first=25`,
			`C 0+1 run=1x10 by-none=1`,
		}},
	{name: "remote wakeup through an interrupt", line: `
		CPU 0  .├A─────w30┤B      the reschedule interrupt on CPU 0 makes B runnable
		CPU 1  .├C─w25            over A; sched_waking tells that C is the waker
		       10         35`,
		events: `
		10 0 switch . R A
		10 1 switch . R C
		25 1 waking C B 0
		30 0 irq A B 0
		35 0 switch A R B
		40 1 switch C S .`,
		want: []string{
			`A 0+1 run=1x25 by-remote=1`,
			`B 0+0 first=5`,
			`C 1+0 run=1x30`,
		}},
	{name: "idle is not preempted", line: `
		CPU 0  A├. . .├A──┤.      the idle task has no row and no involuntary switches
		       10    20  30`,
		events: `
		10 0 switch A S .
		20 0 switch . R A
		30 0 switch A S .`,
		want: []string{
			`A 2+0 run=1x10 off=1x10`,
		}},
	{name: "seconds", line: `
		CPU 0  .├A──┤B─────────├A      waits of more than 2^32 ns, and one less
		       10  20  w5s    10s`,
		events: `
		10 0 switch . R A
		20 0 switch A S B
		5000000000 0 wake B A 0
		10000000000 0 switch B R A
		10000000001 0 switch A R B
		10000000002 0 switch B S A`,
		want: []string{
			`A 1+1 run=2x11 off=1x9999999980 sleep=4999999980 delay=1x5000000000 (max 5000000000 at 10000000000: B) preempt=1x1 by-none=1`,
			`B 1+1 run=2x9999999981 preempt=1x1 by-self=1`,
		}},
	{name: "no times", line: `
		CPU 0  A┤B┤A      a capture without time stamps has counts only`,
		events: `
		0 0 switch A S B
		0 0 switch B R A
		0 0 switch A S B`,
		want: []string{
			`A 2+0`,
			`B 0+1 by-unknown=1`,
		}},
	{name: "no CPU numbers", line: `
		      A┤B──┤A──┤B      each task's own ends are all there is
		       10  20  30`,
		events: `
		10 - switch A S B
		20 - switch B S A
		30 - switch A S B`,
		want: []string{
			`A 2+0 run=1x10 off=1x10`,
			`B 1+0 run=1x10 off=1x10`,
		}},
	{name: "exit", line: `
		CPU 0  .├A──┤. ├A──┤      the last switch-out is voluntary, by kernel and by getrusage
		       10  20  30 40`,
		events: `
		10 0 switch . R A
		20 0 switch A S .
		30 0 switch . R A
		35 0 exit A
		40 0 switch A X .`,
		want: []string{
			`A 2+0 run=2x20 off=1x10`,
		}},
	{name: "task mode", task: true, line: `
		CPU 0  A──┤B──┤X ? ?A──┤X      only A and B are traced. That B came at 10 is
		         10  20        40      seen, but what A did from 20 to 40 is not`,
		events: `
		10 0 switch A S B
		20 0 switch B R X
		40 0 switch A S X`,
		want: []string{
			`A 2+0`,
			`B 0+1 by-unknown=1`,
		}},
	{name: "task mode: hand-off", task: true, line: `
		CPU 0  A─w5─┤B      A woke B and lost the CPU to it
		           10`,
		events: `
		5  0 wake A B 0
		10 0 switch A R B`,
		want: []string{
			`A 0+1 by-self=1`,
		}},
	{name: "task mode with switch-ins", task: true, line: `
		CPU 0  X├A──┤X ? ?├A──┤X      the record of a task's own switch-in gives both ends
		       10  20     40  50`,
		events: `
		10 0 in A
		20 0 switch A S X
		21 0 out A S
		40 0 in A
		50 0 switch A R X
		51 0 out A R`,
		want: []string{
			`A 1+1 run=2x20 off=1x20 by-unknown=1`,
		}},
	{name: "task mode with all wakeups", task: true, wakeups: true, line: `
		CPU 0  X├A──┤X ─w30─├A──
		       10  20       40`,
		events: `
		10 0 in A
		20 0 switch A S X
		30 1 wake Y A 0
		40 0 in A
		50 0 switch A S X`,
		want: []string{
			`A 2+0 run=2x20 off=1x20 sleep=10 delay=1x10 (max 10 at 40: ?)`,
		}},
	{name: "records alone", line: `
		CPU 0  .├A──┤B──┤A      PERF_RECORD_SWITCH of all CPUs: the same without states
		       10  20  30`,
		events: `
		10 0 out . S
		11 0 in A
		20 0 out A S
		21 0 in B
		30 0 out B R
		31 0 in A
		40 0 out -1 S
		41 0 in .`,
		want: []string{
			`A 2+0 run=2x18 off=1x11`,
			`B 0+1 run=1x9 by-unknown=1`,
		}},
	{name: "records with a gap", line: `
		CPU 0  .├A──┤ ? ?B──┤A      B came unseen
		       10  20      30`,
		events: `
		11 0 in A
		20 0 out A S
		30 0 out B S
		31 0 in A
		40 0 in C`,
		breaks: 2,
		want: []string{
			`A 1+0 run=1x9 off=1x11 missed=1`,
			`B 1+0 breaks=1`,
			`C 0+0`,
		}},
	{name: "records beside tracepoints", line: `
		CPU 0  .├A──┤B──┤A      each switch is told three times and counted once
		       10  20  30`,
		events: `
		1  0 in .
		10 0 switch . R A
		11 0 out . R
		12 0 in A
		20 0 switch A S B
		21 0 out A S
		22 0 in B
		30 0 switch B R+ A
		31 0 out B R
		32 0 in A`,
		want: []string{
			`A 1+0 run=1x10 off=1x10`,
			`B 0+1 run=1x10 by-unknown=1`,
		}},
}
