package signature

import "ctxan/parse/evidence"

// Preempt tells what took the CPU from a task that was still runnable, and the
// index of the frame that says so (-1: none does). wake says whether the task
// that follows had just been woken, and from where; where it is known it
// decides over the frames, except that a yield is a yield.
//
// Under a timer interrupt the slice ended only when no wakeup explains the
// switch; without wakeup events that stays undecided.
func (t *Table) Preempt(frames []evidence.Frame, wake evidence.WakeContext) (Preemption, int) {
	border := t.border(frames)
	role, at := t.preemptFrame(frames[:border])
	switch role {
	case RoleYield, RoleResched:
		return preemptOf(role, wake), at
	case RoleWait:
		return PreemptRace, at
	case RoleReturn:
		return t.onReturn(frames[border:], wake), at
	case RoleNone:
		if border == 0 {
			return t.preemptUser(frames, wake)
		}
	}
	return preemptOf(role, wake), at
}

// preemptFrame finds the kernel frame that decides: a yield or a preemption
// point, else the innermost interrupt, else the way back to user mode. A task
// preempted by kernel code that was waking another counts as RoleWake.
func (t *Table) preemptFrame(frames []evidence.Frame) (Role, int) {
	role, at := RoleNone, -1
	for i := range frames {
		r := t.kernelRow(frames[i].Symbol)
		if r == nil {
			continue
		}
		switch r.role {
		case RoleYield, RoleResched, RoleTimerIRQ, RoleIPI, RoleIRQ, RoleAnyIRQ, RoleFault:
			return r.role, i
		case RolePreempt, RoleReturn, RoleIRQReturn:
			if role == RoleNone {
				role, at = r.role, i
			}
		case RoleWake:
			if role == RolePreempt {
				role = RoleWake
			}
		case RoleWait:
			if role == RoleNone {
				return r.role, i
			}
		}
	}
	return role, at
}

// preemptOf judges by the frame's role and the wake context.
func preemptOf(role Role, wake evidence.WakeContext) Preemption {
	switch role {
	case RoleYield:
		return PreemptYield
	case RoleResched:
		return PreemptKernel
	case RoleTimerIRQ:
		return underTimer(wake)
	case RoleIPI:
		return byWake(wake, PreemptRemote, PreemptReturn)
	case RoleAnyIRQ:
		return byWake(wake, PreemptReturn, PreemptTick)
	case RoleIRQ, RoleIRQReturn, RoleFault:
		return byWake(wake, PreemptReturn, PreemptReturn)
	case RolePreempt:
		return byWake(wake, PreemptKernel, PreemptKernel)
	case RoleWake:
		return byWake(wake, PreemptHandOff, PreemptKernel)
	}
	return byWake(wake, PreemptUnknown, PreemptUnknown)
}

// underTimer: a task that the outgoing one woke itself did not preempt it when
// it was woken, so that the timer interrupt did.
func underTimer(wake evidence.WakeContext) Preemption {
	switch wake {
	case evidence.WakeNone, evidence.WakeBySelf:
		return PreemptTick
	case evidence.WakeByIRQ:
		return PreemptWakeup
	case evidence.WakeByRemote:
		return PreemptRemote
	}
	return PreemptTimer
}

// byWake lets a known wakeup decide.
func byWake(wake evidence.WakeContext, unknown, none Preemption) Preemption {
	switch wake {
	case evidence.WakeNone:
		return none
	case evidence.WakeBySelf:
		return PreemptHandOff
	case evidence.WakeByIRQ:
		return PreemptWakeup
	case evidence.WakeByRemote:
		return PreemptRemote
	}
	return unknown
}

// onReturn judges a switch on the way back from a system call. Without wakeup
// events the call decides: one that wakes is taken for the waker of the next.
func (t *Table) onReturn(user []evidence.Frame, wake evidence.WakeContext) Preemption {
	if wake == evidence.WakeUnknown && t.wakes(user) {
		return PreemptHandOff
	}
	return byWake(wake, PreemptReturn, PreemptReturn)
}

// wakes reports whether the call that returns is one that wakes others.
func (t *Table) wakes(user []evidence.Frame) bool {
	for i := range user {
		r := t.userRow(user[i].Symbol)
		if r == nil {
			return false
		}
		if r.role != RoleSkip {
			return r.role == RoleWakeAPI
		}
	}
	return false
}

// preemptUser judges a chain without kernel frames.
func (t *Table) preemptUser(frames []evidence.Frame, wake evidence.WakeContext) (Preemption, int) {
	if len(frames) > 0 {
		if r := t.userRow(frames[0].Symbol); r != nil {
			if r.role == RoleYield {
				return PreemptYield, 0
			}
			if r.role == RoleWakeAPI && wake == evidence.WakeUnknown {
				return PreemptHandOff, 0
			}
		}
	}
	return byWake(wake, PreemptUnknown, PreemptUnknown), -1
}
