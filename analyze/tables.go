package analyze

import (
	"cmp"
	"slices"

	"ctxan/parse/evidence"
)

// TakenRow is a line of the preemptor table: who took the CPU from the subject's
// threads while they were runnable, how often, and how long it then ran.
type TakenRow struct {
	By     Text                  `json:"by"`
	Inside bool                  `json:"inside"` // a thread of the subject
	Count  float64               `json:"count"`
	Share  float64               `json:"share"` // of the involuntary switches whose next task is told
	RanNS  evidence.Opt[float64] `json:"mean_run_ns"`
}

// HeldRow is a line of delay blame: who ran on the CPU while threads of the
// subject waited for it.
type HeldRow struct {
	By    Text    `json:"by"`
	NS    float64 `json:"ns"`
	Share float64 `json:"share"` // of the waits for a CPU
}

// Held is the delay blame of a case.
type Held struct {
	WaitedNS float64   `json:"waited_ns"` // runnable and not running, in all
	Rows     []HeldRow `json:"rows"`
	// IdleShare is the part of the waits during which another CPU was idle. It may
	// not have been one that the threads were allowed to run on.
	IdleShare float64 `json:"idle_share"`
}

// maxTakenRows bounds the preemptor table and the delay blame.
const maxTakenRows = 8

// pooled sums values by the name of the pool that a task belongs to.
type pooled struct{ by map[string]*pool }

type pool struct {
	name        string
	inside      bool
	count       float64
	ranNS, ranN float64
}

func (p *pooled) at(k evidence.Task) *pool {
	name := taskName(k)
	if p.by == nil {
		p.by = map[string]*pool{}
	}
	if p.by[name] == nil {
		p.by[name] = &pool{name: name}
	}
	return p.by[name]
}

// taskName names a task in tables that sum pools: "worker-*".
func taskName(k evidence.Task) string {
	switch {
	case k.TID == 0:
		return idleName
	case k.TID < 0 || k.Comm == "":
		return unknownName
	}
	return poolName(k.Comm)
}

const (
	idleName    = "idle"
	unknownName = "not told"
)

// list is the pools, most first, those beyond the limit as one.
func (p *pooled) list() []*pool {
	out := make([]*pool, 0, len(p.by))
	for _, x := range p.by {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *pool) int { return cmp.Or(-cmp.Compare(a.count, b.count), cmp.Compare(a.name, b.name)) })
	if len(out) <= maxTakenRows {
		return out
	}
	rest := &pool{}
	for _, x := range out[maxTakenRows-1:] {
		rest.count += x.count
		rest.ranNS += x.ranNS
		rest.ranN += x.ranN
	}
	return append(out[:maxTakenRows-1], rest)
}

// label is a pool's name in a table.
func (x *pool) label(idle string) Text {
	switch x.name {
	case "":
		return Textf("others")
	case idleName:
		return Textf("%s", idle)
	case unknownName:
		return Textf("not told")
	}
	return Textf("%s", Code(x.name))
}

// takenRows lays out the preemptor table.
func takenRows(f *Facts) []TakenRow {
	if f.Taken.Total == 0 {
		return nil
	}
	var p pooled
	if f.Taken.Idle > 0 {
		p.at(evidence.Task{TID: 0}).count = f.Taken.Idle
	}
	for i := range f.Taken.Rows {
		r := &f.Taken.Rows[i]
		x := p.at(r.Task)
		x.count += r.Count
		x.ranNS += r.RanNS
		x.ranN += r.RanN
		x.inside = x.inside || r.Inside
	}
	var out []TakenRow
	for _, x := range p.list() {
		row := TakenRow{By: x.label("the idle task: held back"), Inside: x.inside, Count: x.count, Share: x.count / f.Taken.Total}
		if x.ranN > 0 {
			row.RanNS = evidence.Some(x.ranNS / x.ranN)
		}
		out = append(out, row)
	}
	return out
}

// heldOf lays out the delay blame; nil where no wait is charged to anybody.
func heldOf(f *Facts) *Held {
	var p pooled
	idle, sum := 0.0, 0.0
	for i := range f.Threads {
		t := &f.Threads[i]
		for _, b := range t.Blame {
			p.at(b.Task).count += float64(b.NS)
			sum += float64(b.NS)
		}
		idle += float64(t.IdleElsewhereNS)
	}
	if sum == 0 {
		return nil
	}
	h := &Held{WaitedNS: sum, IdleShare: min(idle/sum, 1)}
	for _, x := range p.list() {
		h.Rows = append(h.Rows, HeldRow{By: x.label("the CPU leaving idle"), NS: x.count, Share: x.count / sum})
	}
	return h
}
