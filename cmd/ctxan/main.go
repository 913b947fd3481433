// Command ctxan reads what an engineer has about a Linux context-switch
// problem and prints the evidence chain: counters, threads, call stacks, and
// the cause they name.
package main

import (
	"io"
	"os"
	"runtime/debug"
)

func main() {
	aimForMemory()
	os.Exit(run(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// memoryAim is below 256 MiB by what the runtime does not count: the program
// itself and the pages of the files that it reads.
const memoryAim = 216 << 20

// aimForMemory has garbage collected sooner once there are memoryAim bytes: what
// is in use may then no longer double before it is. Captures are rarely near it.
// One that needs more gets more, at a price: up to half of the CPU's time goes
// into collecting. GOMEMLIMIT, where it is set, is the user's own aim.
func aimForMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryAim)
	}
}

// stdio are a run's streams.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}
