// Package rules names causes: one file a rule or a family of alike rules, each a
// value that concludes from computed facts and says what speaks for it, what
// against, and how sure it is.
//
// What a rule may conclude depends on the evidence (ground.go has the criteria):
//
//   - counters alone decide nothing but that switches are few; they rank candidates
//   - thread rates alone give low confidence, and only where few causes fit
//   - CPU samples alone give low confidence; with thread rates that agree they
//     may decide, because each pass through a sleeping call is one switch
//   - kernel frames decide what they name; a futex names nothing, so that its
//     waits stay open unless a library's frame or the wakeups tell
//   - wakeups decide between a timer, a partner and a crowd
package rules

import "ctxan/analyze"

// All returns the rules in the order in which equally sure findings are told.
func All() []*analyze.Rule {
	return []*analyze.Rule{
		ShortSleepPolling,
		TimedWaitPolling,
		ThunderingHerd,
		LockContention,
		HandOff,
		SchedYieldSpin,
		CPUQuota,
		Oversubscription,
		WakeupPreemption,
		MigrationChurn,
		FsyncJournal,
		WritebackThrottling,
		SwapIn,
		MemoryReclaim,
		IOWait,
		MmapLock,
		FuseRoundTrip,
		TracedProcess,
		TerminalWait,
		StoppedTask,
		TaskChurn,
		KernelWorkerStorm,
		GuestHalt,
		RuntimeHelper,
		NetworkWait,
		ColdCaches,
		EventLoopIdle,
		Healthy,
		MeasurementArtifact,
		CannotTell,
	}
}
