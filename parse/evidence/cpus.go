package evidence

import "slices"

// CPUStats is what a trace of all tasks says of one CPU. BusyNS and IdleNS sum
// the stints whose both ends were seen; what is left of the window is not known
// (before the first switch, after the last one, around lost switches).
type CPUStats struct {
	Pos         Pos
	CPU         int
	Switches    uint64 // those to and from the idle task among them
	BusyNS      uint64
	IdleNS      uint64
	ChainBreaks uint64 // next of a switch was not prev of the following one
}

// CPU adds what the source says of one CPU.
func (b *Builder) CPU(c CPUStats) {
	c.Pos.Source = b.src.ID
	b.set.CPUs = append(b.set.CPUs, c)
}

// GrowThreads makes room for n further rows.
func (b *Builder) GrowThreads(n int) { b.set.Threads = slices.Grow(b.set.Threads, n) }
