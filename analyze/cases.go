package analyze

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"ctxan/parse/evidence"
)

// selection is the evidence of one case, as indices into the Set.
type selection struct {
	set      *evidence.Set
	subject  Subject
	blocks   []int
	threads  []int // rows of the subject's threads and process
	stacks   []int
	profiles []int
	series   []int
	system   []int
	waits    []int
	sources  []int
	named    bool // a capture names this subject; others are found in system-wide ones
	workload bool // the command that a system-wide recording started
	rate     float64
}

// claim is what one capture says it is about.
type claim struct {
	source  int
	subject Subject
}

// selectCases groups the sources of a set into cases: one for every process,
// thread list, command or machine that a capture names, and, where a
// system-wide capture shows them, the processes that make most switches.
// A capture that does not say what it is of joins the only named subject, or
// makes a case of its own. The primary case is first.
func selectCases(set *evidence.Set) ([]*selection, []Check) {
	g := grouping{set: set, byKey: map[string]*selection{}}
	claims := g.claims()
	for _, c := range claims {
		if c.subject.Kind != SubjectUnknown {
			g.add(c)
		}
	}
	g.mergeCommands()
	g.addUnknown(claims)
	g.shareMachine()
	g.findProcesses()
	checks := g.conflicts()
	slices.SortStableFunc(g.list, comparePrimary)
	return g.list, checks
}

type grouping struct {
	set   *evidence.Set
	list  []*selection
	byKey map[string]*selection
}

// claims reads what every block and every source says of its subject.
func (g *grouping) claims() []claim {
	var out []claim
	for i := range g.set.Counters {
		b := &g.set.Counters[i]
		out = append(out, claim{b.Pos.Source, subjectOf(b.Target)})
	}
	for _, src := range g.set.Sources {
		if !g.set.Usable(src.ID) || hasCounters(g.set, src.ID) {
			continue
		}
		out = append(out, claim{src.ID, g.sourceSubject(src)})
	}
	return out
}

func hasCounters(set *evidence.Set, id int) bool {
	return slices.ContainsFunc(set.Counters, func(b evidence.CounterBlock) bool { return b.Pos.Source == id })
}

// sourceSubject is the subject of a capture of threads or stacks: its target
// when that says, otherwise the process that its rows agree on.
func (g *grouping) sourceSubject(src *evidence.Source) Subject {
	pids := g.pids(src.ID)
	s := subjectOf(src.Target)
	if s.Kind != SubjectUnknown && s.Kind != SubjectCommand {
		return s
	}
	switch {
	case len(pids) == 1:
		s.Kind, s.PID = SubjectProcess, evidence.Some(pids[0])
		return s
	case s.Kind == SubjectCommand:
		return g.startedProcess(src, s)
	case len(pids) > 1:
		return Subject{Kind: SubjectMachine}
	}
	if pid := g.profilePID(src.ID); pid != 0 {
		return Subject{Kind: SubjectProcess, PID: evidence.Some(pid)}
	}
	return s
}

// profilePID is the process that all rows of a printed profile name, 0 for none
// or several.
func (g *grouping) profilePID(source int) int {
	pid := 0
	for i := range g.set.Profiles {
		for _, r := range g.set.Profiles[i].Rows {
			if r.Pos.Source != source || r.Task.PID == 0 {
				continue
			}
			if pid != 0 && pid != r.Task.PID {
				return 0
			}
			pid = r.Task.PID
		}
	}
	return pid
}

// startedProcess finds the process of a recorder's command among its rows: the
// recorder forks it under its own name, and a script does nothing itself, so the
// process that makes most of the switches wins. Where none does, as in a build,
// it is the command with all that it started.
func (g *grouping) startedProcess(src *evidence.Source, s Subject) Subject {
	best, most, total := 0, 0.0, 0.0
	for pid, n := range g.switchesByPID([]int{src.ID}) {
		if total += n; n > most || (n == most && pid < best) {
			best, most = pid, n
		}
	}
	if best != 0 && most >= dominantShare*total {
		s.Kind, s.PID = SubjectProcess, evidence.Some(best)
	}
	return s
}

func (g *grouping) pids(source int) []int {
	var out []int
	for i := range g.set.Threads {
		t := &g.set.Threads[i]
		if t.Pos.Source == source && t.Task.PID != 0 && !slices.Contains(out, t.Task.PID) {
			out = append(out, t.Task.PID)
		}
		if len(out) > 64 {
			break // system-wide: nobody needs the whole list
		}
	}
	return out
}

// add puts a source with a known subject into its case.
func (g *grouping) add(c claim) {
	key := c.subject.key()
	sel := g.byKey[key]
	if sel == nil {
		sel = &selection{set: g.set, subject: c.subject, named: true}
		g.byKey[key] = sel
		g.list = append(g.list, sel)
	}
	g.attach(sel, c.source)
}

// attach adds what a source says of the case's subject. The counters of a
// source go only to the subject that their own block names.
func (g *grouping) attach(sel *selection, source int) {
	if slices.Contains(sel.sources, source) {
		return
	}
	used := false
	take := func(list *[]int, i int) { *list = append(*list, i); used = true }
	for i := range g.set.Counters {
		if b := &g.set.Counters[i]; b.Pos.Source == source && g.ownBlock(sel, b) {
			take(&sel.blocks, i)
		}
	}
	for i := range g.set.Threads {
		if t := &g.set.Threads[i]; t.Pos.Source == source && sel.keep(t.Task) {
			take(&sel.threads, i)
		}
	}
	for i := range g.set.Stacks {
		if t := &g.set.Stacks[i]; t.Pos.Source == source && slices.ContainsFunc(t.Tasks, sel.keep) {
			take(&sel.stacks, i)
		}
	}
	for i := range g.set.Profiles {
		if g.set.Profiles[i].Pos.Source == source {
			take(&sel.profiles, i)
		}
	}
	for i := range g.set.Series {
		if g.set.Series[i].Source == source {
			sel.series = append(sel.series, i)
		}
	}
	for i := range g.set.System {
		if g.set.System[i].Pos.Source == source && sel.subject.Kind == SubjectMachine {
			take(&sel.system, i)
		}
	}
	for i := range g.set.Waits {
		if w := &g.set.Waits[i]; w.Pos.Source == source && sel.keep(w.Task) {
			take(&sel.waits, i)
		}
	}
	if used {
		sel.sources = append(sel.sources, source)
	}
}

func (g *grouping) ownBlock(sel *selection, b *evidence.CounterBlock) bool {
	s := subjectOf(b.Target)
	return s.key() == sel.subject.key() || s.Kind == SubjectUnknown ||
		(s.Kind == SubjectCommand && s.Command == sel.subject.Command)
}

// mergeCommands joins the case of a command that only perf stat names with the
// process that a recorder started from the same command: two runs of one
// program, which the cross-checks then say.
func (g *grouping) mergeCommands() {
	for i := 0; i < len(g.list); i++ {
		cmd := g.list[i]
		if cmd.subject.Kind != SubjectCommand {
			continue
		}
		for _, p := range g.list {
			if p.subject.Kind == SubjectProcess && program(p.subject.Command) != "" &&
				program(p.subject.Command) == program(cmd.subject.Command) {
				p.subject.Command = cmd.subject.Command
				for _, src := range cmd.sources {
					g.attach(p, src)
				}
				g.list = slices.Delete(g.list, i, i+1)
				i--
				break
			}
		}
	}
}

// program is the base name of a command line's program.
func program(command string) string {
	f := strings.Fields(strings.Trim(command, `'" `))
	if len(f) == 0 {
		return ""
	}
	return path.Base(f[0])
}

// addUnknown gives the sources that do not say what they are of to the only
// subject there is, else to a case of their own.
func (g *grouping) addUnknown(claims []claim) {
	var own *selection
	for _, c := range claims {
		if c.subject.Kind != SubjectUnknown {
			continue
		}
		sel := g.only()
		if sel == nil {
			if own == nil {
				own = &selection{set: g.set, subject: c.subject, named: true}
				g.list = append(g.list, own)
			}
			sel = own
		}
		g.attach(sel, c.source)
	}
}

// only returns the single case that is not the machine, or the single case.
func (g *grouping) only() *selection {
	var one *selection
	for _, s := range g.list {
		if s.subject.Kind == SubjectMachine && len(g.list) > 1 {
			continue
		}
		if one != nil || s.subject.Kind == SubjectUnknown {
			return nil
		}
		one = s
	}
	return one
}

// shareMachine lets every named process use what system-wide captures of
// threads and stacks say of it. A thread list learns its process on the way.
func (g *grouping) shareMachine() {
	for _, m := range g.list {
		if m.subject.Kind != SubjectMachine {
			continue
		}
		for _, s := range g.list {
			if s.subject.Kind == SubjectMachine || s.subject.Kind == SubjectCommand {
				continue
			}
			for _, src := range m.sources {
				if g.sees(src, s) {
					g.attach(s, src)
				}
			}
		}
	}
}

// sees reports whether a system-wide source has rows of the case's subject.
func (g *grouping) sees(source int, sel *selection) bool {
	return slices.ContainsFunc(g.set.Threads, func(t evidence.TaskStats) bool {
		return t.Pos.Source == source && sel.keep(t.Task)
	})
}

// findProcesses makes cases of the processes that stand out in system-wide
// captures when no capture names a process.
func (g *grouping) findProcesses() {
	i := slices.IndexFunc(g.list, func(s *selection) bool { return s.subject.Kind == SubjectMachine })
	if i < 0 || slices.ContainsFunc(g.list, func(s *selection) bool { return s.subject.Kind == SubjectProcess }) {
		return
	}
	m := g.list[i]
	by := g.switchesByPID(m.sources)
	total := 0.0
	for _, n := range by {
		total += n
	}
	workload := g.workload(m)
	pids := make([]int, 0, len(by))
	for pid, n := range by {
		if n >= processShare*total || (pid == workload && n > 0) {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	for k, pid := range pids {
		if k >= maxProcesses && pid != workload {
			continue
		}
		s := &selection{set: g.set, subject: Subject{Kind: SubjectProcess, PID: evidence.Some(pid)},
			workload: pid == workload, rate: by[pid] / total}
		for _, src := range m.sources {
			if g.sees(src, s) {
				g.attach(s, src)
			}
		}
		g.list = append(g.list, s)
	}
}

// switchesByPID sums the switches of user processes over some sources; the
// idle task, kernel threads and the recorder itself are left out.
func (g *grouping) switchesByPID(sources []int) map[int]float64 {
	by := map[int]float64{}
	for i := range g.set.Threads {
		t := &g.set.Threads[i]
		if !slices.Contains(sources, t.Pos.Source) || t.Task.TID == 0 || t.Kernel || isRecorder(t.Task.Comm) {
			continue
		}
		pid := t.Task.PID
		if pid == 0 {
			pid = t.Task.TID
		}
		by[pid] += rowSwitches(t)
	}
	return by
}

// isRecorder reports whether a comm is one of the tools that take captures.
func isRecorder(comm string) bool {
	return comm == "perf" || comm == "perf-exec" || comm == "ctxan" || comm == "trace-cmd" || comm == "pidstat"
}

// rowSwitches is how many switches, or switches a second, a row tells of.
func rowSwitches(t *evidence.TaskStats) float64 {
	if t.Process {
		return 0
	}
	if n, ok := t.Switches.Get(); ok {
		return float64(n)
	}
	if t.Voluntary.OK || t.Involuntary.OK {
		return float64(t.Voluntary.V + t.Involuntary.V)
	}
	return t.VoluntaryPerS.V + t.InvoluntaryPerS.V
}

// workload is the process that a recorder's command became: its comm is the
// program's name.
func (g *grouping) workload(m *selection) int {
	for _, id := range m.sources {
		src := g.set.Source(id)
		_, cmd, ok := strings.Cut(src.Command, " -- ")
		if !ok && src.Target.Name == "" {
			continue
		}
		if src.Target.Name != "" {
			cmd = src.Target.Name
		}
		name := program(cmd)
		if name == "sleep" || name == "timeout" {
			continue // only there to end the recording
		}
		if len(name) > 15 {
			name = name[:15] // TASK_COMM_LEN
		}
		for i := range g.set.Threads {
			if t := &g.set.Threads[i]; t.Pos.Source == id && t.Task.PID == t.Task.TID && t.Task.Comm == name {
				return t.Task.PID
			}
		}
	}
	return 0
}

// comparePrimary orders cases: named subjects before found ones, then the
// recorded workload, then by how many layers they have; the machine is last
// among equals unless no process stands out.
func comparePrimary(a, b *selection) int {
	return cmp.Or(
		-cmp.Compare(a.standing(), b.standing()),
		-cmp.Compare(a.layers(), b.layers()),
		-cmp.Compare(a.rate, b.rate),
	)
}

// empty reports whether a case holds nothing but counters of which none was
// counted.
func (s *selection) empty() bool {
	if len(s.threads)+len(s.stacks)+len(s.profiles)+len(s.system)+len(s.waits) > 0 {
		return false
	}
	for _, i := range s.blocks {
		for _, k := range s.set.Counters[i].Counters {
			if k.Status == evidence.StatusCounted || k.Status == evidence.StatusUnmeasurable {
				return false
			}
		}
	}
	return true
}

func (s *selection) standing() int {
	switch {
	case s.onlyTotals():
		return 0
	case s.named && s.subject.Kind != SubjectMachine:
		return 4
	case s.workload:
		return 3
	case s.rate >= dominantShare:
		return 2
	case s.subject.Kind == SubjectMachine:
		return 1
	}
	return 0
}

// onlyTotals reports whether all that a case has are counts over a time that
// is not known, as of threads since their start.
func (s *selection) onlyTotals() bool {
	if len(s.threads) == 0 || len(s.blocks)+len(s.stacks)+len(s.profiles)+len(s.waits) > 0 {
		return false
	}
	return !slices.ContainsFunc(s.threads, func(i int) bool {
		t := &s.set.Threads[i]
		return t.VoluntaryPerS.OK || t.States != nil || t.Run != nil || s.set.Source(t.Pos.Source).Window.DurationS.OK
	})
}

func (s *selection) layers() int {
	n := 0
	for _, l := range [][]int{s.blocks, s.threads, append(slices.Clone(s.stacks), s.profiles...)} {
		if len(l) > 0 {
			n++
		}
	}
	return n
}
