// locked.go: two goroutines, each locked to its thread, pass one value to and
// fro over channels: every message parks one thread and wakes the other.
package main

import "runtime"

func main() {
	there, back := make(chan int), make(chan int)
	go func() {
		runtime.LockOSThread()
		for n := range there {
			back <- n + 1
		}
	}()
	runtime.LockOSThread()
	for n := 0; ; {
		there <- n
		n = <-back
	}
}
