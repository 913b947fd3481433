package rules

import (
	"ctxan/analyze"
	"ctxan/analyze/quantity"
	"ctxan/parse/evidence"
)

// offInD notes whether the waits are uninterruptible sleep, as those for a
// block device are. D alone proves nothing: a vfork parent shows it too.
func offInD(_ *analyze.Facts, w *wait, g *ground) {
	switch d := w.inD(); {
	case d >= willing:
		g.agree(threads, quantity.Percent(d, 1)+" of them in state D")
	case d > 0 && d < mainShare:
		g.oppose(text("only %s of these waits are uninterruptible (D)", quantity.Percent(d, 1)))
	}
}

// mostlyIdle fits causes that keep the CPU idle while a thread waits.
func mostlyIdle(base float64) func(*analyze.Facts) (float64, string) {
	return func(f *analyze.Facts) (float64, string) {
		cpus, ok := f.Util.CPUsUsed.Get()
		if !ok || cpus > 1 {
			return 0, ""
		}
		return fitWaits(f, base, quantity.Fixed(cpus, 2)+" CPUs used")
	}
}

// inDisk fits causes whose waits are uninterruptible: a state that a trace shows
// without stacks, and that is not always a disk's.
func inDisk(base float64) func(*analyze.Facts) (float64, string) {
	return inState(evidence.StateD, base, "uninterruptible sleep (D)")
}
