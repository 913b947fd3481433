// monitor.go: two goroutines compute while one sits in a system call of 2 ms
// again and again. The runtime takes its processor away each time, and so its
// monitor thread, sysmon, stays at its shortest sleep, 20 µs.
package main

import (
	"runtime"
	"syscall"
)

var sink uint64

func compute() {
	for i := uint64(1); ; i++ {
		sink = sink*6364136223846793005 + i
	}
}

func main() {
	runtime.GOMAXPROCS(2)
	go compute()
	go compute()
	for {
		d := syscall.Timespec{Nsec: 2e6}
		syscall.Nanosleep(&d, nil)
	}
}
