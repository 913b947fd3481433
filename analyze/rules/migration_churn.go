package rules

import (
	"fmt"

	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/analyze/signature"
)

// MigrationChurn: threads change CPUs with nearly every switch.
var MigrationChurn = &analyze.Rule{
	ID:    "migration-churn",
	Doc:   "threads are moved from CPU to CPU, by their own affinity calls or by the load balancer",
	Run:   migrationChurn,
	Rival: migrationRival,
}

// migration is how many of the switches change the CPU.
type migration struct {
	ratio, perS float64
	text        string // the ratio with its arithmetic
	counted     bool   // by layer 1
}

// migrationOf reads layer 1, or the trace's own count.
func migrationOf(f *analyze.Facts) (m migration, ok bool) {
	if r, ok := f.Macro.Value(analyze.FigMigrations).Get(); ok {
		fig, _ := f.Macro.Figure(analyze.FigMigrations)
		per := f.Macro.Value(analyze.FigMigPerS)
		return migration{r, per.V, fmt.Sprintf("%s of the switches migrate: %s", fig.Text(), fig.Arithmetic), !f.Macro.FromTrace}, per.OK
	}
	return migration{}, false
}

func migrationChurn(f *analyze.Facts) []analyze.Finding {
	m, ok := migrationOf(f)
	forced := waitsFor(f.Blocking, ofClass(signature.ClassMove))
	if !ok && forced.share < mainShare {
		return nil
	}
	if ok && forced.share < partShare && (m.ratio < movedShare || m.perS < movedPerS) {
		return nil
	}
	g := migrationGround(f, &m, ok, &forced)
	g.contrast(f)
	share := max(forced.share, min(m.ratio, 1))
	fd := analyze.Finding{ID: "migration-churn", Severity: severity(f), Share: some(share)}
	g.apply(&fd)
	if fd.Confidence == analyze.ConfidenceNone {
		return nil
	}
	fd.Summary = migrationSummary(f, &m, ok, &forced)
	if forced.top != nil {
		fd.Claim = blocks(f, &forced)
		fd.Shown = append(fd.Shown, fd.Claim)
	}
	if ok {
		fd.Shown = append(fd.Shown, text("%s.", m.text))
		fig, _ := f.Macro.Figure(analyze.FigMigrations)
		fd.Evidence = append(fd.Evidence, fig.Inputs...)
	}
	fd.Evidence = append(fd.Evidence, reasonEvidence(forced.reasons)...)
	fd.Advice = migrationAdvice(&m, ok, forced.share >= partShare)
	fd.Next = settle(f, nil)
	return settled(f, fd)
}

// migrationGround: waits in the kernel's own migration path decide. A ratio
// alone says that threads move, not that moving is why they switch; only when
// nearly every switch moves there is no other reading.
func migrationGround(f *analyze.Facts, m *migration, ok bool, forced *wait) *ground {
	g := &ground{}
	if forced.share >= partShare {
		g.decide(stacks, fmt.Sprintf("%s of the switches wait to be moved", percent(forced.share)))
	}
	if ok && m.ratio >= movedShare {
		l := threads
		if m.counted {
			l = counters
		}
		g.agree(l, fmt.Sprintf("%s of the switches migrate", percent(m.ratio)))
	}
	if w, okW := movers(f); okW {
		g.decide(threads, fmt.Sprintf("%s of the wakeups come from the kernel's migration threads", percent(w)))
	}
	if g.decides != 0 {
		return g
	}
	if f.Has.Threads && m.ratio >= movedAll {
		g.fit("nearly every switch migrates")
	}
	g.atMost(analyze.ConfidenceLow, fmt.Sprintf("the ratio alone: %s of the switches migrate, and nothing says who moves them", percent(m.ratio)))
	return g
}

// movers is the share of the wakeups that come from migration threads, which
// run only to move a task.
func movers(f *analyze.Facts) (float64, bool) {
	var by, all float64
	for i := range f.Threads {
		for _, k := range f.Threads[i].Wakers {
			all += float64(k.Count)
			if !k.IRQ && isMigrationThread(k.Task.Comm) {
				by += float64(k.Count)
			}
		}
	}
	if all < fewGaps || by < mainShare*all {
		return 0, false
	}
	return by / all, true
}

// isMigrationThread: the stopper threads are named migration/N by the kernel.
func isMigrationThread(comm string) bool { return len(comm) > 10 && comm[:10] == "migration/" }

func migrationSummary(f *analyze.Facts, m *migration, ok bool, forced *wait) analyze.Text {
	ws := heaviest(waiters(f, ofClass(signature.ClassMove), 0))
	switch {
	case len(ws) > 0:
		return text("%s move%s to another CPU and wait%s for it, %s: %s.", threadsOf(f, ws), s(len(ws)), s(len(ws)), rateSpan(ws), partOf(f, forced.share))
	case forced.share >= partShare || !ok:
		return text("Threads of %s are moved between CPUs and wait for it: %s.", subjectIn(f), partOf(f, forced.share))
	}
	return text("The threads of %s change CPUs %s: at %s.", subjectIn(f), times(m.perS), partOf(f, m.ratio))
}

func migrationAdvice(m *migration, ok, forced bool) []analyze.Advice {
	now := "one per move"
	if ok {
		now = quantity.PerS(m.perS)
	}
	out := []analyze.Advice{{Do: text("Bind each thread to a CPU, or a group of threads to CPUs that share a cache (taskset, cpuset), once."),
		Effects: []analyze.Effect{{Label: "migrations", Value: text("%s → none", now)}}, Price: text("the balancer can no longer even out the load")}}
	if forced {
		out[0] = analyze.Advice{Do: text("Stop calling sched_setaffinity for each piece of work: one worker bound to each CPU, and a queue for each."),
			Effects: []analyze.Effect{{Label: "migrations", Value: text("%s → none", now)}, {Label: "switches", Value: text("two fewer per piece of work: the wait and the stopper thread")}}}
	}
	return out
}

func migrationRival(f *analyze.Facts) (analyze.Rival, bool) {
	if len(migrationChurn(f)) > 0 {
		return analyze.Rival{}, false
	}
	m, ok := migrationOf(f)
	if !ok {
		return open("cpu-migrations", "migrations are not in the input")
	}
	fig, _ := f.Macro.Figure(analyze.FigMigrations)
	if m.ratio < movedShare {
		return rejectedByCounters("%s of the switches migrate, below the %s that would tell", fig.Text(), quantity.Percent(movedShare, 0))
	}
	return candidate(f, "sched_migrate_task; affine_move_task", func() (float64, string) {
		return min(m.ratio, 1), fig.Text() + " of switches migrate"
	})
}
