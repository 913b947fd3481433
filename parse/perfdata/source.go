package perfdata

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/perfdata/wire"
	"ctxan/parse/timeline"
)

// describe fills what is known of the source before its events.
func (r *reader) describe(src *evidence.Source) {
	src.Host = r.host
	if r.version != "" {
		src.Tool = "perf " + r.version
	}
	if strings.HasPrefix(r.version, "ctxan") {
		src.Tool = r.version
	}
	src.Command = commandLine(r.cmdline)
	r.target = targetOf(r.cmdline, r.threads)
	r.system = r.systemWide()
	if r.target.Kind == evidence.TargetUnknown && r.system {
		r.target.Kind = evidence.TargetSystem
	}
	if r.system && !r.everyCPU() {
		// A task that leaves these CPUs goes on elsewhere, unseen.
		r.system = false
		r.notes = append(r.notes, "only some CPUs were recorded: tasks run unseen on the others, so that there are no run times, waits and delays")
	}
	r.selected()
	src.Target = r.target
	src.Variant = r.variant()
}

// systemWide reports whether all tasks of the recorded CPUs are traced.
//
// perf writes whom it watched in a THREAD_MAP record, with -1 for all tasks.
// Older files lack it: there, a switch away from the idle task decides, as
// events of a task never fire in the idle task; failing that, -a on the command line.
func (r *reader) systemWide() bool {
	if r.threads != nil {
		return slices.Contains(r.threads, -1)
	}
	return r.idleOut || r.target.Kind == evidence.TargetSystem || r.target.Kind == evidence.TargetCPU
}

func (r *reader) variant() string {
	mode := "file mode"
	if r.pipe {
		mode = "pipe mode"
	}
	if strings.HasPrefix(r.capture.order.String(), "Big") {
		mode += ", big-endian"
	}
	n := 0
	for _, a := range r.attrs {
		if a.attr.Type != wire.TypeSoftware || a.attr.Config != wire.SWDummy {
			n++
		}
	}
	if n == 1 {
		return mode + ", 1 event"
	}
	return fmt.Sprintf("%s, %d events", mode, n)
}

// commandLine joins arguments so that they can be read and mostly pasted.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"$;&|<>*?()#~\\`!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		if i == 0 {
			a = filepath.Base(a)
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// withValue are the options of perf record that take a value as a word of its
// own; other words that do not begin with - are the command.
//
// Source: record_options in the kernel's tools/perf/builtin-record.c.
var withValue = map[string]bool{
	"-e": true, "--event": true, "--filter": true, "-p": true, "--pid": true, "-t": true, "--tid": true, "-r": true,
	"--realtime": true, "-C": true, "--cpu": true, "-c": true, "--count": true, "-o": true, "--output": true, "-F": true,
	"--freq": true, "-m": true, "--mmap-pages": true, "--call-graph": true, "-G": true, "--cgroup": true, "-D": true,
	"--delay": true, "-u": true, "--uid": true, "-j": true, "--branch-filter": true, "-k": true, "--clockid": true,
	"--proc-map-timeout": true, "--clang-path": true, "--clang-opt": true, "--vmlinux": true, "--aio": false,
	"--affinity": true, "--mmap-flush": true, "--max-size": true, "--switch-max-files": true, "--num-thread-synthesize": true,
	"--control": true, "--synth": true, "--debuginfod": false, "-W": false, "--user-regs": false, "-I": false,
}

// targetOf tells whom perf was told to watch. The command line decides, and
// where it does not say, the thread map.
func targetOf(args []string, threads []int) evidence.Target {
	t := evidence.Target{}
	if i := slices.IndexFunc(args, func(s string) bool { return s == "record" || s == "stat" || s == "trace" }); i >= 0 {
		if slices.Contains(args[:i], "sched") {
			t.Kind = evidence.TargetSystem // perf sched record adds -a
		}
		options := withValue
		if args[i] == "stat" {
			options = statValue
		}
		if i+1 < len(args) && args[i+1] == "record" {
			i++ // perf stat record, perf trace record
		}
		t = targetOfOptions(t, args[i+1:], options)
	}
	if t.Kind != evidence.TargetUnknown || threads == nil {
		return t
	}
	if slices.Contains(threads, -1) {
		return evidence.Target{Kind: evidence.TargetSystem}
	}
	return evidence.Target{Kind: evidence.TargetThread, IDs: threads}
}

func targetOfOptions(t evidence.Target, args []string, withValue map[string]bool) evidence.Target {
	set := func(k evidence.TargetKind, ids string) {
		if t.Kind < k || k == evidence.TargetProcess {
			t.Kind, t.IDs, t.Name = k, numbers(ids), ""
		}
	}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		name, val, joined := strings.Cut(a, "=")
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && withValue[a[:2]] {
			name, val, joined = a[:2], a[2:], true
		}
		switch {
		case a == "--" || a[:min(1, len(a))] != "-":
			if a != "--" {
				args = append([]string{a}, args...)
			}
			if t.Kind == evidence.TargetUnknown && len(args) > 0 {
				t = evidence.Target{Kind: evidence.TargetCommand, Name: strings.Join(args, " ")}
			}
			return t
		case withValue[name] && !joined:
			if len(args) == 0 {
				return t
			}
			val, args = args[0], args[1:]
		}
		switch name {
		case "-a", "--all-cpus":
			set(evidence.TargetSystem, "")
		case "-p", "--pid":
			set(evidence.TargetProcess, val)
		case "-t", "--tid":
			set(evidence.TargetThread, val)
		case "-C", "--cpu":
			set(evidence.TargetCPU, val)
		case "-G", "--cgroup":
			t = evidence.Target{Kind: evidence.TargetCgroup, Name: val}
		default:
			// -ag and the like: several flags in one word
			if len(name) > 2 && name[0] == '-' && name[1] != '-' && strings.ContainsRune(name, 'a') && !strings.ContainsAny(name, "epotCcFmGDujkr") {
				set(evidence.TargetSystem, "")
			}
		}
	}
	return t
}

// numbers reads "1,2" and "0-3"; what is none is left out.
func numbers(s string) []int {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, span := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			continue
		}
		b := a
		if span {
			if b, err = strconv.Atoi(hi); err != nil || b-a > maxCPU {
				continue
			}
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out
}

// finish writes what the events gave. The error is for a selection that holds
// nothing.
func (r *reader) finish(b *evidence.Builder) error {
	src, d := b.Source(), r.dec
	if d.first != 0 {
		first, last := r.window()
		src.Window.StartNS, src.Window.EndNS = evidence.Some(first), evidence.Some(last)
		src.Window.DurationS = evidence.Some(float64(last-first) / 1e9)
		src.Window.Date = r.date(first)
	}
	src.Loss.LostRecords = d.lost
	src.Loss.LostSamples = d.lostSamp
	src.Loss.Truncated = len(r.truncated) > 0
	for _, w := range r.truncated {
		b.Warn(w)
	}
	for _, w := range r.warnings {
		b.Warn(w)
	}
	r.limitsReached(b)
	r.dropped(b)
	r.unread(b)
	for _, n := range r.notes {
		b.Note(n)
	}
	r.spaces.unwind.report(b)
	r.deferred.report(b)
	if blk, ok := r.stat.block(r); ok {
		b.Counters(blk)
	}
	f := newFrames(r, r.spaces, d)
	r.tracker.Finish(b, f)
	r.asks.report(b, r.names, f, r.opt.Select)
	f.report(b)
	if r.opt.Stats != nil {
		*r.opt.Stats = r.stats()
	}
	return r.nothingSelected(b)
}

// limitsReached warns of what was left out to keep memory bounded, or because
// it came too late.
func (r *reader) limitsReached(b *evidence.Builder) {
	d := r.dec
	for _, l := range []struct {
		n    int
		what string
	}{
		{d.chains.over + r.spaces.others, "samples have call chains that are not told apart, as the file holds too many different ones: they count as [other stacks]"},
		{r.spaces.over, "mappings were left out, as the file holds too many different ones"},
		{d.paths.over, "paths of mappings were left out, as the file holds too many different ones"},
		{d.comms.over, "names of tasks were left out, as the file holds too many different ones"},
		{int(r.ostats.Runs), "stretches of the file were left out, as its records are in no order"},
	} {
		if l.n > 0 {
			b.Warn(fmt.Sprintf("%d %s", l.n, l.what))
		}
	}
}

// dropped reports the records that could not be read.
func (r *reader) dropped(b *evidence.Builder) {
	list := slices.Clone(r.dec.drops.list)
	if r.strays > 0 {
		list = append(list, drop{r.strayAt, fmt.Errorf("time far away from that of the records before and after it (%d such)", r.strays)})
	}
	if n := r.ostats.Late; n > 0 {
		list = append(list, drop{r.ostats.LateOff, fmt.Errorf("event older than the round before last (%d such)", n)})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].off < list[j].off })
	for _, d := range list {
		b.DropAt(d.off, d.err)
	}
	more := r.dec.drops.total - len(r.dec.drops.list)
	b.Source().DroppedTotal += more + max(r.strays-1, 0) + int(max(r.ostats.Late, 1)-1)
}

// unread tells of what the file holds and is not read.
func (r *reader) unread(b *evidence.Builder) {
	var odd []string
	for t, n := range r.odd {
		odd = append(odd, fmt.Sprintf("%d of type %d", n, uint32(t)))
	}
	for t, n := range r.records {
		if typ := wire.Type(t); n > 0 && !typ.Known() {
			odd = append(odd, fmt.Sprintf("%d of type %d", n, t))
		}
	}
	if len(odd) > 0 {
		slices.Sort(odd)
		b.Warn("records of unknown types skipped: " + strings.Join(odd[:min(len(odd), 8)], ", "))
	}
	if n := r.records[wire.RecCompressed] + r.records[wire.RecCompressed2]; n > 0 {
		b.Warn(fmt.Sprintf("%d compressed records could not be unpacked", n))
	}
	for _, e := range r.schema.events {
		if e.skip != "" {
			b.Warn(fmt.Sprintf("%s is not read: %s", e.info.Name, e.skip))
		}
	}
	if n := r.records[wire.RecAuxtrace]; n > 0 {
		b.Note(fmt.Sprintf("%d blocks of hardware trace (AUX) skipped", n))
	}
}

// stats counts what was read.
func (r *reader) stats() Stats {
	s := Stats{Records: map[wire.Type]uint64{}, Samples: map[string]uint64{}, Events: r.ostats.Events,
		FirstNS: r.dec.first, LastNS: r.dec.last, Rounds: r.rounds, Runs: r.runs, Stacks: r.dec.chains.len()}
	for t, n := range r.records {
		if n > 0 {
			s.Records[wire.Type(t)] = n
		}
	}
	for t, n := range r.odd {
		s.Records[t] = n
	}
	for t, n := range r.packed {
		s.Records[t] += n
	}
	for _, e := range r.schema.events {
		if e.samples > 0 {
			s.Samples[e.info.Name] += e.samples
		}
	}
	return s
}

var _ = timeline.NoStack
