package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// maxTasks is how many threads of a source are listed.
const maxTasks = 12

func (t *inspection) tasks(id int) {
	var list []*evidence.TaskStats
	for i := range t.s.Threads {
		if x := &t.s.Threads[i]; x.Pos.Source == id {
			list = append(list, x)
		}
	}
	t.taskTable("threads", list)
}

// taskTable lists the threads that switched most.
func (t *inspection) taskTable(label string, list []*evidence.TaskStats) {
	if len(list) == 0 {
		return
	}
	title := taskTitle(list)
	list = telling(list)
	slices.SortStableFunc(list, func(a, b *evidence.TaskStats) int { return -cmp.Compare(taskWeight(a), taskWeight(b)) })
	t.labelled(label, t.prose(title))
	cols := taskCols()
	tab := table{cols: []column{{head: "comm", least: 8}, {head: "tid", right: true, gap: 2, keep: 30}}}
	for _, c := range cols {
		if c.has(list) {
			tab.cols = append(tab.cols, column{head: c.head, right: true, gap: 2, keep: c.keep})
		}
	}
	for _, x := range list[:min(len(list), maxTasks)] {
		line := []cell{t.nameCell(x.Task.Comm, 32), {text: t.prose(decimal(x.Task.TID))}}
		for _, c := range cols {
			if c.has(list) {
				line = append(line, cell{text: t.prose(c.cell(x)).styled(c.style)})
			}
		}
		tab.add(line...)
	}
	tab.render(t.page, plain("    "))
	if n := len(list) - maxTasks; n > 0 {
		t.para(plain("    "), plain("    "), t.prose(fmt.Sprintf("and %d more: --format json lists them", n)))
	}
}

// telling leaves out the rows that others say already: single intervals where
// the tool gives averages, and whole processes where there are threads.
func telling(list []*evidence.TaskStats) []*evidence.TaskStats {
	for _, better := range []func(*evidence.TaskStats) bool{
		func(x *evidence.TaskStats) bool { return x.Average },
		func(x *evidence.TaskStats) bool { return !x.Process },
	} {
		if slices.ContainsFunc(list, better) {
			list = slices.DeleteFunc(slices.Clone(list), func(x *evidence.TaskStats) bool { return !better(x) })
		}
	}
	return list
}

func taskTitle(list []*evidence.TaskStats) string {
	var threads, processes, averages int
	for _, x := range list {
		if x.Process {
			processes++
		} else {
			threads++
		}
		if x.Average {
			averages++
		}
	}
	var parts []string
	if threads > 0 {
		parts = append(parts, plural(threads, "row", "rows"))
	}
	if processes > 0 {
		parts = append(parts, plural(processes, "row of a process", "rows of processes"))
	}
	if averages > 0 {
		parts = append(parts, fmt.Sprintf("%d averages of the tool", averages))
	}
	return strings.Join(parts, ", ") + "; by switches"
}

// taskWeight orders rows: those of a source all give rates, or all counts.
func taskWeight(x *evidence.TaskStats) float64 {
	return x.VoluntaryPerS.V + x.InvoluntaryPerS.V + max(float64(x.Voluntary.V)+float64(x.Involuntary.V), float64(x.Switches.V))
}

// taskCol is a column of the table of threads, shown when any row has a value.
type taskCol struct {
	head  string
	keep  int
	style style
	value func(*evidence.TaskStats) (string, bool)
}

func (c *taskCol) has(list []*evidence.TaskStats) bool {
	return slices.ContainsFunc(list, func(x *evidence.TaskStats) bool { _, ok := c.value(x); return ok })
}

func (c *taskCol) cell(x *evidence.TaskStats) string {
	if s, ok := c.value(x); ok {
		return s
	}
	return absent
}

func taskCols() []taskCol {
	rate := func(get func(*evidence.TaskStats) evidence.Opt[float64]) func(*evidence.TaskStats) (string, bool) {
		return func(x *evidence.TaskStats) (string, bool) { v, ok := get(x).Get(); return exact(v), ok }
	}
	count := func(get func(*evidence.TaskStats) evidence.Opt[uint64]) func(*evidence.TaskStats) (string, bool) {
		return func(x *evidence.TaskStats) (string, bool) { v, ok := get(x).Get(); return quantity.Count(v), ok }
	}
	time := func(get func(*evidence.TaskStats) evidence.Opt[uint64]) func(*evidence.TaskStats) (string, bool) {
		return func(x *evidence.TaskStats) (string, bool) {
			v, ok := get(x).Get()
			return quantity.Time(float64(v)), ok
		}
	}
	return []taskCol{
		{"voluntary/s", 40, styleVol, rate(func(x *evidence.TaskStats) evidence.Opt[float64] { return x.VoluntaryPerS })},
		{"invol/s", 39, styleInvol, rate(func(x *evidence.TaskStats) evidence.Opt[float64] { return x.InvoluntaryPerS })},
		{"voluntary", 38, styleVol, count(func(x *evidence.TaskStats) evidence.Opt[uint64] { return x.Voluntary })},
		{"invol", 37, styleInvol, count(func(x *evidence.TaskStats) evidence.Opt[uint64] { return x.Involuntary })},
		{"switches", 36, styleNone, count(func(x *evidence.TaskStats) evidence.Opt[uint64] { return x.Switches })},
		{"migr", 10, styleNone, count(func(x *evidence.TaskStats) evidence.Opt[uint64] { return x.Migrations })},
		{"run", 20, styleNone, time(func(x *evidence.TaskStats) evidence.Opt[uint64] { return x.RunNS })},
		{"delay", 19, styleNone, time(func(x *evidence.TaskStats) evidence.Opt[uint64] { return x.DelayNS })},
		{"wait", 18, styleNone, time(func(x *evidence.TaskStats) evidence.Opt[uint64] { return x.WaitNS })},
	}
}
