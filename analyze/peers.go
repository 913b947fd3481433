package analyze

import (
	"cmp"
	"slices"

	"ctxan/analyze/signature"
	"ctxan/parse/evidence"
)

// gatherPeers tells of the tasks outside the subject that wake its threads:
// who wakes them, the subject among others, and what they wait for themselves.
// Without it a peer that answers and one that only sends look alike.
func gatherPeers(sel *selection, f *Facts, t *evidence.StackTable) {
	at := map[int]int{}
	for i := range f.Wake.Pairs {
		p := &f.Wake.Pairs[i]
		for _, task := range []evidence.Task{p.A, p.B} {
			if _, seen := at[task.TID]; !seen && !f.Subject.has(task) {
				at[task.TID] = len(f.Wake.Peers)
				f.Wake.Peers = append(f.Wake.Peers, PeerFact{Task: task})
			}
		}
	}
	if len(at) == 0 {
		return
	}
	for i := range sel.set.Threads {
		row := &sel.set.Threads[i]
		k, ok := at[row.Task.TID]
		if ok && len(row.Wakers) > 0 && f.Wake.Peers[k].Woken == 0 && slices.Contains(sel.sources, row.Pos.Source) {
			f.Wake.peer(k, row)
		}
	}
	if t != nil && f.Has.Stacks {
		peerReasons(f.Wake.Peers, at, t)
	}
}

// peer adds a peer's wakers, and to its pairs the wakeups of it by the subject.
func (w *WakeFacts) peer(k int, row *evidence.TaskStats) {
	answered := map[int]uint64{}
	for _, by := range row.Wakers {
		w.Peers[k].Woken += by.Count
		if by.IRQ {
			w.Peers[k].IRQ += by.Count
		} else {
			answered[by.Task.TID] += by.Count
		}
	}
	for i := range w.Pairs {
		switch p := &w.Pairs[i]; row.Task.TID {
		case p.A.TID:
			p.BA += answered[p.B.TID]
		case p.B.TID:
			p.AB += answered[p.A.TID]
		}
	}
}

// peerReasons classifies what the peers wait for.
func peerReasons(peers []PeerFact, at map[int]int, t *evidence.StackTable) {
	table, all := signature.Default(), make([]float64, len(peers))
	fr := frameBuf{t: t}
	for i := range t.Samples {
		sm := &t.Samples[i]
		if sm.Task < 0 {
			continue
		}
		k, ok := at[t.Tasks[sm.Task].TID]
		if !ok {
			continue
		}
		all[k] += sm.Weight
		if !sm.State.Voluntary() && sm.State != evidence.StateUnknown {
			continue
		}
		buf := fr.of(sm.Stack)
		if m, ok := table.Blocking(buf); ok {
			peers[k].wait(m.Reason, sm.Weight)
		}
	}
	for k := range peers {
		for i := range peers[k].Blocking {
			peers[k].Blocking[i].Share = peers[k].Blocking[i].Switches / all[k]
		}
		slices.SortStableFunc(peers[k].Blocking, func(a, b ReasonFact) int { return -cmp.Compare(a.Switches, b.Switches) })
	}
}

func (p *PeerFact) wait(r signature.Reason, n float64) {
	i := slices.IndexFunc(p.Blocking, func(f ReasonFact) bool { return f.Reason.ID == r.ID })
	if i < 0 {
		i = len(p.Blocking)
		p.Blocking = append(p.Blocking, ReasonFact{Reason: r})
	}
	p.Blocking[i].Switches += n
}
