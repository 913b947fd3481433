package timehist

import (
	"fmt"
	"strings"

	"ctxan/parse/evidence"
)

// say adds what a user must know of the capture to its source.
func (f *closing) say() {
	f.warn()
	f.note()
}

func (f *closing) warnf(yes bool, format string, args ...any) {
	if yes {
		f.b.Warn(fmt.Sprintf(format, args...))
	}
}

func (f *closing) notef(yes bool, format string, args ...any) {
	if yes {
		f.b.Note(fmt.Sprintf(format, args...))
	}
}

// warn says what makes figures of the capture wrong or partial.
func (f *closing) warn() {
	c := f.c
	f.warnf(c.lost > 0, "%d events were lost while recording: waits, delays and run times that span a loss are too long, and switches are missing", c.lost)
	f.warnf(f.perTask, "recorded for single tasks (without -a): perf timehist takes all the time between two recorded switches of a CPU "+
		"for run time; run times, waits and delays are left out")
	f.warnf(!f.perTask && c.breaks > 0, "%d of %d rows follow a row of the same task on the same CPU: switches of other tasks are missing in the recording, "+
		"and perf printed the time up to there as run time (%s of threads)", c.breaks, c.rows, msecText(c.brokenRun))
	f.warnf(c.nextRight >= c.nextWrong && c.nextWrong > 0, "%d of %d rows are not of the task that the row before on their CPU told to follow: "+
		"switches are missing in the recording, and perf printed the time up to there as run time", c.nextWrong, c.nextWrong+c.nextRight)
	f.warnf(f.idleOnly && c.rows > 0, "timehist -I prints only switches to and from the idle task, without times of other tasks: "+
		"switch counts and times of threads are left out")
	f.warnf(c.impossible > 0, "%d rows have times that contradict the rows before them (lost or disordered events); those times were left out", c.impossible)
	f.warnf(c.backwards > 0, "%d rows are older than the row before them: the text is not in order or was joined from parts", c.backwards)
	f.warnf(c.tasks.full || c.sum.full, "more than %d threads: the rows of further ones count in the totals only", maxTasks-firstTask)
	f.warnf(c.chains.full, "more than %d MiB of distinct call chains: the rows of further ones count as rows without a call chain", maxChainBytes>>20)
	if n, ok := c.sum.totals.Switches.Get(); ok && c.rows > 0 && !f.idleOnly {
		f.warnf(n != c.rows, "the text has %d switch rows, its summary counts %d: rows are missing, or the recording lost events", c.rows, n)
	}
}

// note says what was done that is worth knowing.
func (f *closing) note() {
	c := f.c
	if c.rows > 0 {
		f.noteRows()
	}
	if !c.sum.seen {
		return
	}
	f.noteTotals(&c.sum.totals)
}

func (f *closing) noteRows() {
	c := f.c
	times := !f.idleOnly && !f.perTask
	f.notef(times, "perf cuts run times to whole microseconds: their sum of %s over %d rows is low by about %s",
		msecText(c.runSum), c.rows-c.idleRows, msecText((c.rows-c.idleRows)*500))
	f.notef(times && c.delays == 0, "every scheduling delay is printed as 0.000, so wakeups were not recorded: delays are not known (they are not 0)")
	f.notef(times && f.preempted, "every scheduling delay equals its wait, and those of the idle task as well: wakeups were not recorded, "+
		"and what perf printed as delays are waits of preempted tasks")
	f.notef(times && !f.preempted && c.idleEqual > 0 && c.idleEqual == c.idleWaits && !f.noDelay,
		"this perf counts the wait of a preempted task as scheduling delay as well")
	f.notef(times && c.waits > 0, "wait time holds sleep, I/O, preemption and the scheduling delay; the first wait of each task is not known")
	f.notef(f.layout.state, "the state letters of timehist are not used: perf 6.1 and others print wrong ones on newer kernels")
	f.notef(c.resolution == 1e6, "the times have three decimals only: the text was retyped or shortened")
	f.notef(c.chains.longest > 0, "the longest call chain has %d frames; perf timehist prints 5 unless told otherwise (--max-stack), so callers can be missing",
		c.chains.longest)
	f.notef(c.gaps > 0, "%d rows do not follow the row before them on their CPU: other tasks ran in between, whose rows are filtered out or missing", c.gaps)
	f.b.Note("CPUs with rows: " + c.cpuList() + " (the machine may have more)")
}

// noteTotals notes the totals of a summary.
func (f *closing) noteTotals(t *evidence.SchedTotals) {
	f.notef(f.c.rows == 0, "summary without rows (timehist -s): no times of single switches")
	f.notef(t.Kind == evidence.SummaryWait, "the split of waits by state in the summary is not used: perf 6.1 and others misread states of newer kernels")
	f.notef(t.Kind == evidence.SummaryIdle, "idle-time summary (-I): counts and times are those of the idle task, by the task that ran before it")
	var parts []string
	add := func(ok bool, format string, v any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(t.Tasks.OK, "%d tasks", t.Tasks.V)
	add(t.Switches.OK, "%d switches", t.Switches.V)
	add(t.RunNS.OK, "%s run time", msecText(t.RunNS.V))
	add(t.WindowNS.OK, "%s scheduling time", msecText(t.WindowNS.V))
	f.notef(len(parts) > 0, "totals as printed: %s", strings.Join(parts, ", "))
}

func msecText(ns uint64) string { return fmt.Sprintf("%d.%03d ms", ns/1e6, ns/1e3%1e3) }

// cpuList prints the CPUs with rows as perf takes them: "0-3,8".
func (c *capture) cpuList() string {
	var parts []string
	for i := 0; i < len(c.cpus); i++ {
		if !c.cpus[i].seen {
			continue
		}
		from := i
		for i+1 < len(c.cpus) && c.cpus[i+1].seen {
			i++
		}
		if from == i {
			parts = append(parts, fmt.Sprint(i))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", from, i))
		}
	}
	return strings.Join(parts, ",")
}
