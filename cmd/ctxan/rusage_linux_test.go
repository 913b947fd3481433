package main

import (
	"os"
	"syscall"
)

// maxRSS is the peak memory of an ended process in KiB.
func maxRSS(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss
	}
	return 0
}
