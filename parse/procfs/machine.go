package procfs

import (
	"fmt"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
)

// machine reads a line of /proc/stat.
func (r *reader) machine(s string, no int) bool {
	name, rest, ok := strings.Cut(s, " ")
	if !ok {
		return false
	}
	switch name {
	case "cpu":
		return r.cpuTicks(rest, no)
	case "ctxt", "processes", "procs_running", "procs_blocked":
		return r.machineCount(name, trim(rest), no)
	case "intr":
		return r.intr(rest, no)
	}
	if cpu, ok := strings.CutPrefix(name, "cpu"); ok && r.has[fileStat] {
		return r.oneCPU(cpu, rest)
	}
	return false
}

// onMachine returns the machine's counts of the present reading; a field that
// is there already starts the next.
func (r *reader) onMachine(no int, has func(*evidence.MachineCount) bool) *evidence.MachineCount {
	r.flush()
	x := r.reading(no)
	if x.Machine.OK && has(&x.Machine.V) && r.place.when == "" {
		r.begin("", no)
		x = &r.readings[r.cur]
	}
	if !x.Machine.OK {
		x.Machine = evidence.Some(evidence.MachineCount{Pos: evidence.Pos{Line: no}})
	}
	return &x.Machine.V
}

// cpuTicks reads the first line: the sums over all CPUs.
func (r *reader) cpuTicks(rest string, no int) bool {
	f := strings.Fields(rest)
	if len(f) < 4 || len(f) > 16 {
		return false
	}
	var v [8]uint64
	for i := range f {
		n, err := strconv.ParseUint(f[i], 10, 60)
		if err != nil {
			return false
		}
		if i < len(v) {
			v[i] = n
		}
	}
	m := r.onMachine(no, func(m *evidence.MachineCount) bool { return m.Ticks.OK })
	m.Ticks = evidence.Some(evidence.CPUTicks{User: v[0], Nice: v[1], System: v[2], Idle: v[3], IOWait: v[4], IRQ: v[5], SoftIRQ: v[6], Steal: v[7]})
	m.LineTicks = no
	r.has[fileStat] = true
	return true
}

func (r *reader) oneCPU(cpu, rest string) bool {
	if _, err := strconv.Atoi(cpu); err != nil || len(strings.Fields(rest)) < 4 || r.cur < 0 {
		return false
	}
	if x := &r.readings[r.cur]; x.Machine.OK {
		x.Machine.V.CPUs = evidence.Some(x.Machine.V.CPUs.V + 1)
	}
	return true
}

func (r *reader) machineCount(name, value string, no int) bool {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		if r.place.kind == fileStat {
			r.drop(no, fmt.Errorf("%s is no number: %q", name, cut(value)))
		}
		return r.place.kind == fileStat
	}
	of := func(m *evidence.MachineCount) *evidence.Opt[uint64] {
		return map[string]*evidence.Opt[uint64]{"ctxt": &m.Switches, "processes": &m.Forks, "procs_running": &m.Running, "procs_blocked": &m.Blocked}[name]
	}
	m := r.onMachine(no, func(m *evidence.MachineCount) bool { return of(m).OK })
	*of(m) = evidence.Some(n)
	if name == "ctxt" {
		m.LineSwitches = no
	}
	r.has[fileStat] = true
	return true
}

// intr reads the sum of all interrupts, the first number of its line.
func (r *reader) intr(rest string, no int) bool {
	first, _, _ := strings.Cut(trim(rest), " ")
	n, err := strconv.ParseUint(first, 10, 64)
	if err != nil || !r.has[fileStat] && r.place.kind != fileStat {
		return false
	}
	m := r.onMachine(no, func(m *evidence.MachineCount) bool { return m.Interrupts.OK })
	m.Interrupts = evidence.Some(n)
	return true
}

// interrupt reads a row of /proc/interrupts: its name, a count for each CPU,
// and what it is. The header names the CPUs.
func (r *reader) interrupt(s string, no int) {
	name, rest, ok := strings.Cut(s, ":")
	if !ok || len(name) > 16 || strings.Contains(name, " ") {
		return
	}
	var sum uint64
	n := 0
	for {
		w, after, _ := strings.Cut(trim(rest), " ")
		v, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			break
		}
		sum += v
		n++
		rest = after
	}
	if n == 0 {
		return
	}
	if r.rows++; r.rows > maxRows {
		r.drop(no, fmt.Errorf("interrupts: %w", errTooMany))
		return
	}
	m := r.onMachine(no, func(*evidence.MachineCount) bool { return false })
	m.ByInterrupt = append(m.ByInterrupt, evidence.InterruptCount{Name: strings.Clone(name), Desc: strings.Join(strings.Fields(rest), " "), Count: sum})
	r.has[fileInterrupts] = true
}

// uname reads the output of uname -a: "Linux host release ... arch GNU/Linux".
func (r *reader) uname(s string) {
	f := strings.Fields(s)
	if len(f) < 4 || f[0] != "Linux" {
		return
	}
	r.host.Name, r.host.Release = strings.Clone(f[1]), strings.Clone(f[2])
	last := len(f) - 1
	if f[last] == "GNU/Linux" {
		last--
	}
	r.host.Arch = strings.Clone(f[last])
}

// cpuInfo reads the processor's name.
func (r *reader) cpuInfo(s string) {
	if name, value, ok := strings.Cut(s, ":"); ok && trim(name) == "model name" {
		r.host.CPUDesc = strings.Clone(trim(value))
	}
}

// setting keeps a line of another file that the text names: one short fact. Of
// long files the first maxLines are kept.
func (r *reader) setting(s string, no int) {
	if r.place.name == "" || len(s) > 400 {
		return
	}
	if n := len(r.settings); n >= maxSettings || n >= maxLines && r.settings[n-maxLines].Name == r.place.name {
		return
	}
	name := r.place.name
	if r.place.when != "" {
		name += " (" + r.place.when + ")"
	}
	r.settings = append(r.settings, evidence.Setting{Pos: evidence.Pos{Line: no}, Name: strings.Clone(name), Value: strings.Clone(s)})
}
