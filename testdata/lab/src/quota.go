// quota.go: computes on both CPUs, started in a group with 8 ms of CPU each
// 25 ms.
package main

import "runtime"

func main() {
	runtime.GOMAXPROCS(2)
	for range 2 {
		go func() {
			x := uint32(1)
			for {
				x = x*1664525 + 1013904223
			}
		}()
	}
	select {}
}
