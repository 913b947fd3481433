package procfs

import (
	"fmt"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// groupFields are the fields of cpu.stat that are read, and the nanoseconds of
// one unit: version 1 counts nanoseconds, version 2 microseconds.
var groupFields = map[string]uint64{"nr_periods": 1, "nr_throttled": 1, "throttled_time": 1, "throttled_usec": 1000, "usage_usec": 1000}

// otherGroupFields also stand in cpu.stat.
var otherGroupFields = map[string]bool{"user_usec": true, "system_usec": true, "nice_usec": true, "nr_bursts": true, "burst_time": true,
	"burst_usec": true, "wait_sum": true, "core_sched.force_idle_usec": true}

// groupStat reads a line of cpu.stat, or all of it joined into one.
func (r *reader) groupStat(s string, no int) bool {
	if strings.HasPrefix(s, "cpu.stat") {
		s = strings.TrimLeft(s[len("cpu.stat"):], ":= ")
	}
	f := strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == '\t' || c == '=' || c == ':' || c == ',' })
	if len(f) == 0 || len(f)%2 != 0 || groupFields[f[0]] == 0 && !otherGroupFields[f[0]] {
		return false
	}
	for i := 0; i < len(f); i += 2 {
		if groupFields[f[i]] == 0 && !otherGroupFields[f[i]] {
			return false
		}
	}
	for i := 0; i < len(f); i += 2 {
		r.groupField(f[i], f[i+1], no)
	}
	return true
}

func (r *reader) groupField(name, value string, no int) {
	unit := groupFields[name]
	if unit == 0 {
		return
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > 1<<63/unit {
		r.drop(no, fmt.Errorf("%s is no number: %q", name, cut(value)))
		return
	}
	of := func(g *evidence.GroupCount) *evidence.Opt[uint64] {
		switch name {
		case "nr_periods":
			return &g.Periods
		case "nr_throttled":
			return &g.Throttled
		case "usage_usec":
			return &g.UsageNS
		}
		return &g.ThrottledNS
	}
	g := r.onGroup(no, func(g *evidence.GroupCount) bool { return of(g).OK })
	if g == nil {
		return
	}
	*of(g) = evidence.Some(n * unit)
	g.Pos.Line = min(g.Pos.Line, no)
	r.has[fileCPUStat] = true
}

// onGroup returns the counts of the group that the present file is of; a field
// that is there already starts the next reading.
func (r *reader) onGroup(no int, has func(*evidence.GroupCount) bool) *evidence.GroupCount {
	r.flush()
	name := r.place.group()
	x := r.reading(no)
	i := x.group(name)
	if i >= 0 && has(&x.Groups[i]) && r.place.when == "" {
		r.begin("", no)
		x = &r.readings[r.cur]
		i = x.group(name)
	}
	if i >= 0 {
		return &x.Groups[i]
	}
	if r.rows++; r.rows > maxRows || len(x.Groups) >= maxGroups {
		r.drop(no, fmt.Errorf("groups: %w", errTooMany))
		return nil
	}
	x.Groups = append(x.Groups, evidence.GroupCount{Pos: evidence.Pos{Line: no}, Group: strings.Clone(name)})
	return &x.Groups[len(x.Groups)-1]
}

// group finds a group by its folder; a file without a folder is of the one
// group that there is.
func (x *reading) group(name string) int {
	for i := range x.Groups {
		if g := &x.Groups[i]; g.Group == name {
			return i
		}
	}
	if len(x.Groups) == 1 && (name == "" || x.Groups[0].Group == "") {
		if x.Groups[0].Group == "" {
			x.Groups[0].Group = strings.Clone(name)
		}
		return 0
	}
	return -1
}

// groupLimit reads cpu.max ("max 100000", "40000 100000"), cpu.cfs_quota_us
// (-1 for none) and cpu.cfs_period_us.
func (r *reader) groupLimit(s string, no int) {
	f := strings.Fields(s)
	unlimited := f[0] == "max" || f[0] == "-1"
	n, err := strconv.ParseUint(f[0], 10, 40)
	if err != nil && !unlimited {
		r.drop(no, fmt.Errorf("no limit in microseconds: %q", cut(s)))
		return
	}
	g := r.onGroup(no, func(*evidence.GroupCount) bool { return false })
	if g == nil {
		return
	}
	switch {
	case r.place.kind == fileCFSPeriod:
		g.PeriodUS = evidence.Some(n)
	case unlimited:
		g.Unlimited = true
	default:
		g.QuotaUS = evidence.Some(n)
	}
	if r.place.kind == fileCPUMax && len(f) > 1 {
		if p, err := strconv.ParseUint(f[1], 10, 40); err == nil {
			g.PeriodUS = evidence.Some(p)
		}
	}
	r.has[fileCPUMax] = true
}
