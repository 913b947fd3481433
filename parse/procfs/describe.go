package procfs

import (
	"fmt"
	"strings"

	"ctxan/parse/evidence"
)

// describe fills in what the source is, and says what its counts do not hold.
func (r *reader) describe(b *evidence.Builder) {
	src := b.Source()
	src.Format, src.Variant = r.format(), r.variant()
	src.Host = r.host
	for i := range r.readings {
		if m := &r.readings[i].Machine; m.V.CPUs.OK && !src.Host.CPUs.OK {
			src.Host.CPUs = m.V.CPUs
		}
	}
	r.recorded(b)
	if leaders, several := r.leadersOnly(); leaders {
		src.LeadersOnly = true
		if several {
			b.Note("the counts are of main threads, and their processes have others: /proc/PID/task/*/status has all of them")
		} else {
			b.Note("the counts are of main threads; whether their processes have other threads is not in the text")
		}
	}
}

// recordBlock is the block of an environment in which ctxan record tells how it
// measured: lines step, missing and note.
const recordBlock = "ctxan record"

// recorded says how ctxan record measured, and what it had to do without.
func (r *reader) recorded(b *evidence.Builder) {
	for _, s := range r.settings {
		if s.Name != recordBlock {
			continue
		}
		switch key, value, _ := strings.Cut(s.Value, ": "); key {
		case "step":
			b.Note("measured by: " + value)
		case "missing":
			b.Warn("measured without " + value)
		case "note":
			b.Note(value)
		}
	}
}

// format names the source by what it holds.
func (r *reader) format() string {
	labelled := false
	for i := range r.readings {
		labelled = labelled || r.readings[i].Label != ""
	}
	switch {
	case labelled && r.threads == 0:
		return FormatEnvironment
	case r.has[fileStatus]:
		return FormatStatus
	case r.has[fileSched]:
		return FormatSched
	case r.threads > 0:
		return FormatSchedstat
	case r.has[fileStat], r.has[fileInterrupts]:
		return FormatMachine
	}
	return FormatCgroup
}

func (r *reader) variant() string {
	parts := []string{count(len(r.readings), "reading")}
	most := 0
	for i := range r.readings {
		most = max(most, len(r.readings[i].Threads))
	}
	if most > 0 {
		parts = append(parts, count(most, "thread"))
	}
	for i := range r.readings {
		if g := len(r.readings[i].Groups); g > 0 {
			parts = append(parts, count(g, "control group"))
			break
		}
	}
	return strings.Join(append(parts, "totals"), ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// leadersOnly reports whether the threads are main threads and no other, and
// whether one of their processes is known to have several. Of a process with
// one thread nothing is missing.
func (r *reader) leadersOnly() (leaders, several bool) {
	for i := range r.readings {
		others := map[int]bool{}
		for _, c := range r.readings[i].Threads {
			if !c.Leader && c.Task.PID != c.Task.TID {
				others[c.Task.PID] = true
			}
		}
		for _, c := range r.readings[i].Threads {
			n := c.Threads.Or(0)
			main := n > 1 && (c.Task.TID == 0 || c.Task.PID == c.Task.TID) || c.Leader
			if !main || n == 1 || others[c.Task.PID] {
				if n != 1 {
					return false, false
				}
				continue
			}
			leaders, several = true, several || n > 1
		}
	}
	return leaders, several
}
