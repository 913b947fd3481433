// Command ctxan reads what an engineer has about a Linux context-switch
// problem and prints the evidence chain: counters, threads, call stacks, and
// the cause they name.
package main

import (
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})) }

// stdio are a run's streams.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}
