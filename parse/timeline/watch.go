package timeline

import "ctxan/parse/evidence"

// Watcher is told of every stint and every wakeup while a Tracker accounts
// them, in the order in which they end, and of the selected tasks only. What it
// is told is what the evidence sums: a stint of which one end was not seen, or
// across which something was lost, is not told. It must be quick, and keep no
// more than it can afford for a capture of any length.
type Watcher interface {
	Stint(s Stint)
	Wake(w Wake)
}

// Stint is a time that a task was on a CPU.
type Stint struct {
	Task       evidence.Task
	CPU        int            // -1: not told
	Start, End uint64         // ns in the capture's clock
	State      evidence.State // how it left the CPU
}

// Wake is a wakeup. Task is whom it woke; By whoever ran on that CPU, which is
// not the waker of one that came from an interrupt (TID 0: the idle task ran).
type Wake struct {
	Task, By evidence.Task
	IRQ      bool
	CPU      int // of By; -1: not told
	At       uint64
}

// nowTask names a task by what is known of it so far.
func (t *Tracker) nowTask(x *task) evidence.Task {
	switch x {
	case t.idle:
		return evidence.Task{Comm: "swapper"}
	case t.others:
		return evidence.Task{TID: -1}
	}
	return evidence.Task{PID: int(x.pid), TID: int(x.tid), Comm: t.names.Name(x.comm)}
}

// tellStint tells of a stint that an event ends. The event may be the first to
// say whose process the task is.
func (t *Tracker) tellStint(x *task, cpu int32, since uint64, e *Event) {
	t.tell(x, e)
	who := t.nowTask(x)
	if t.opt.Select.ByTask() && !t.opt.Select.Task(who.PID, who.TID, who.Comm) {
		return
	}
	t.opt.Watch.Stint(Stint{Task: who, CPU: int(cpu), Start: since, End: e.Time, State: e.State})
}

// tellWake tells of a wakeup of x.
func (t *Tracker) tellWake(by, x *task, e *Event, at uint64) {
	who := t.nowTask(x)
	if t.opt.Select.ByTask() && !t.opt.Select.Task(who.PID, who.TID, who.Comm) {
		return
	}
	t.opt.Watch.Wake(Wake{Task: who, By: t.nowTask(by), IRQ: e.Flags&FlagIRQ != 0, CPU: int(e.CPU), At: at})
}
