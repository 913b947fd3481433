package collect

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// statFile is the text of perf-stat.txt.
//
// Layout: print_counter_aggr and perf_stat__print_shadow_stats in the kernel's
// tools/perf/util/stat-display.c and stat-shadow.c, as of perf 6.1.
func statFile(list []*counter, of string, began time.Time, elapsed time.Duration) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# started on %s\n\n\n Performance counter stats for %s:\n\n", began.Format("Mon Jan _2 15:04:05 2006"), of)
	for _, c := range list {
		b.WriteString(statLine(c, list, elapsed))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%18.9f seconds time elapsed\n\n", elapsed.Seconds())
	return b.Bytes()
}

func statLine(c *counter, list []*counter, elapsed time.Duration) string {
	name := c.name + c.userSuffix()
	if !c.counted() {
		return fmt.Sprintf("%18s      %-25s", c.status(), name)
	}
	line := fmt.Sprintf("%18s      %-25s", thousands(c.value), name)
	if c.name == "task-clock" {
		line = fmt.Sprintf("%18s msec %-25s", millis(c.value), name)
	}
	if s := shadow(c, list, elapsed); s != "" {
		line += " # " + s
	}
	if c.running < c.enabled {
		line = fmt.Sprintf("%-87s (%.2f%%)", line, 100*float64(c.running)/float64(c.enabled))
	}
	return line
}

// shadow is the figure behind the #.
func shadow(c *counter, list []*counter, elapsed time.Duration) string {
	v := float64(c.value)
	ratio := func(name, format string, scale float64) string {
		if base := find(list, name); base != nil && base.value > 0 {
			return fmt.Sprintf(format, scale*v/float64(base.value))
		}
		return ""
	}
	s := ""
	switch c.name {
	case "task-clock":
		return fmt.Sprintf("%8.3f CPUs utilized", v/float64(elapsed.Nanoseconds()))
	case "cycles":
		s = ratio("task-clock", "%8.3f GHz", 1)
	case "instructions":
		s = ratio("cycles", "%7.2f  insn per cycle", 1)
	case "branch-misses":
		s = ratio("branches", "%7.2f%% of all branches", 100)
	}
	if base := find(list, "task-clock"); s == "" && base != nil && base.value > 0 {
		s = rate(v / float64(base.value) * 1e9)
	}
	return s
}

// rate writes a number of events a second as perf does.
func rate(perS float64) string {
	for _, u := range []struct {
		scale float64
		name  string
	}{{1e9, "G/sec"}, {1e6, "M/sec"}, {1e3, "K/sec"}} {
		if perS >= u.scale {
			return fmt.Sprintf("%8.3f %s", perS/u.scale, u.name)
		}
	}
	return fmt.Sprintf("%8.3f /sec", perS)
}

func millis(ns uint64) string {
	return thousands(ns/1e6) + fmt.Sprintf(".%02d", ns%1e6/1e4)
}

// thousands groups digits by commas.
func thousands(n uint64) string {
	s := fmt.Sprint(n)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}

// statOf is what perf stat says it counted.
func (t *target) statOf(args []string) string {
	list := func(what string) string {
		ids := make([]string, len(t.ids))
		for i, id := range t.ids {
			ids[i] = fmt.Sprint(id)
		}
		return fmt.Sprintf("%s '%s'", what, strings.Join(ids, ","))
	}
	switch t.kind {
	case ofProcess:
		return list("process id")
	case ofThread:
		return list("thread id")
	case ofCommand:
		return "'" + strings.Join(args, " ") + "'"
	}
	return "'system wide'"
}
