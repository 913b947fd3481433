package timeline

// Run is a stretch of a capture whose records are in order of time, but for
// inversions that reach back less than OrderSlack records. A ring buffer that
// perf drained is one run.
type Run struct {
	From, To int64  // where its records stand in the source: [From, To)
	Base     uint64 // the time before it; records without a time get that of the record before
	First    uint64 // the smallest time
	Last     uint64 // the largest time
	Inverted bool   // not every record is later than the one before
}

// MaxTime is above all times that make sense, by some 290 years.
const MaxTime = 1 << 63

// OrderSlack is how many records a record of a run can come too late. An
// interrupt that writes between the time stamp and the write of another record
// does that; the distance is then 1 or 2.
const OrderSlack = 64

// timeJump is a distance between two records of one CPU, in ns, from which on
// the next record must confirm that the time is meant.
const timeJump = 1e9

// Runs cuts a capture into runs, from the times of its records. The zero Runs
// is ready.
//
// A single record whose time is more than a second away from its neighbours on
// the same CPU is damaged when these agree with each other, or when it is the
// first and time would run backwards behind it: it is left out and counted, as
// it would move the end of its round.
type Runs struct {
	Strays   int   // records left out
	StrayOff int64 // where the last of them stands

	done []Run
	cur  Run
	open bool
	jump uint64 // how far Add lets the next record be: 0 while cur has no time yet
	last uint64 // the largest time in cur
	n    uint64 // records with a time in cur
	seen uint64 // all records in cur
	ring [OrderSlack]uint64

	top     uint64 // the largest time of all runs
	base    uint64 // the largest time of the run before
	suspect bool   // cur begins after a jump
	cpu     int    // its CPU then
	firstTo int64  // the end of the first record with a time in cur
	single  bool   // the run before is a suspect of one record on the same CPU, and later

	beforeTo int64 // the end of that record
}

// Add takes the record that ends at to. It is for the usual record, later than
// the one before and less than a second, and reports false for any other:
// call AddSlow then.
func (x *Runs) Add(to int64, t uint64) bool {
	if t-x.last >= x.jump { // also when t is before last, or 0
		return false
	}
	x.ring[x.seen&(OrderSlack-1)] = t
	x.n++
	x.seen++
	x.last = t
	x.cur.To = to
	return true
}

// AddSlow takes any record: one without a time has t 0, one without a CPU has
// cpu -1. A time from MaxTime on is taken for none; its record must make no event.
// It reports whether the record begins a run.
func (x *Runs) AddSlow(from, to int64, t uint64, cpu int) (began bool) {
	if t >= MaxTime {
		t = 0
	}
	switch {
	case !x.open:
		x.start(from, to, t, cpu)
		return true
	case t == 0:
		x.place(to, x.last)
	case x.n == 0 && t-x.cur.Base < timeJump: // only records without a time so far
		x.accept(to, t)
	case x.suspect && x.n == 1 && x.stray(t, cpu):
		x.drop()
		x.start(from, to, t, cpu)
		return true
	case t >= x.last && t-x.last < timeJump:
		x.accept(to, t)
	case t < x.last && x.last-t < timeJump && t >= x.floor():
		x.cur.Inverted = true
		x.cur.First = min(x.cur.First, t)
		x.accept(to, x.last)
	default:
		x.Cut()
		x.start(from, to, t, cpu)
		return true
	}
	return false
}

// unsure reports whether the run may yet turn out to begin with a stray record.
func (x *Runs) unsure() bool { return x.open && x.suspect && x.n == 1 }

// floor is the largest time of the records that are OrderSlack or more before.
func (x *Runs) floor() uint64 {
	if x.seen < OrderSlack {
		return 0
	}
	return x.ring[x.seen&(OrderSlack-1)]
}

func near(a, b uint64) bool { return a-b < timeJump || b-a < timeJump }

// stray reports whether the record at t goes on where the one before the
// suspect was, on the same CPU.
func (x *Runs) stray(t uint64, cpu int) bool {
	if cpu != x.cpu {
		return false
	}
	return near(t, x.base) && !near(t, x.last)
}

func (x *Runs) accept(to int64, t uint64) {
	x.n++
	x.last, x.jump = t, timeJump
	x.place(to, t)
}

// place counts a record, with or without a time of its own.
func (x *Runs) place(to int64, t uint64) {
	x.ring[x.seen&(OrderSlack-1)] = t
	x.seen++
	x.cur.To = to
}

// drop leaves out the first record of cur, its only one with a time.
func (x *Runs) drop() {
	x.Strays++
	x.StrayOff = x.cur.From
	x.last = x.base
	if x.cur.To > x.firstTo { // records without a time
		x.done = append(x.done, Run{From: x.firstTo, To: x.cur.To, Base: x.base, First: x.base, Last: x.base})
	}
	x.open, x.jump, x.suspect = false, 0, false
}

// start opens a run. Base is what a record without a time before it would get.
func (x *Runs) start(from, to int64, t uint64, cpu int) {
	x.single = x.suspect && x.n == 1 && x.cpu == cpu && t < x.last && len(x.done) > 0 && x.done[len(x.done)-1].To == from
	x.cur = Run{From: from, To: to, Base: x.last, First: t, Last: t}
	x.base, x.n, x.seen, x.open, x.jump, x.beforeTo = x.last, 0, 0, true, 0, x.firstTo
	x.suspect, x.cpu, x.firstTo = t != 0 && cpu >= 0 && !near(t, x.last), cpu, to
	if t == 0 {
		x.cur.First, x.cur.Last = x.last, x.last
		x.place(to, x.last)
		return
	}
	x.accept(to, t)
	if x.suspect {
		x.jump = 0 // the next record decides
	}
}

// Cut ends the run: what follows does not belong to it. Call it before bytes
// that are no records.
func (x *Runs) Cut() {
	if !x.open {
		return
	}
	if x.n > 0 {
		x.cur.Last = x.last
	}
	if x.single && x.n > 1 {
		x.dropBefore()
	}
	x.done = append(x.done, x.cur)
	x.open, x.jump = false, 0
	if !x.suspect || x.n > 1 {
		x.top = max(x.top, x.cur.Last)
	}
}

// dropBefore leaves out the run before, of a single record with a time.
func (x *Runs) dropBefore() {
	bad := &x.done[len(x.done)-1]
	x.Strays++
	x.StrayOff = bad.From
	bad.From, bad.First, bad.Last = x.beforeTo, bad.Base, bad.Base
	if bad.From == bad.To {
		x.done = x.done[:len(x.done)-1]
	}
}

// Take ends the run and returns all runs since the last Take. The slice is the
// caller's.
func (x *Runs) Take() []Run {
	x.Cut()
	runs := x.done
	x.done = nil
	return runs
}

// Top returns the largest time of all runs so far, without that of a single
// stray record. The present run does not count.
func (x *Runs) Top() uint64 { return x.top }

// Len returns the number of runs that Take would return.
func (x *Runs) Len() int { return len(x.done) }
