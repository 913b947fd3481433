// pool.go: an ordinary service: two workers take jobs of some 3 ms each from a
// channel that is filled about as fast.
package main

import "time"

func main() {
	jobs := make(chan int, 100)
	for range 2 {
		go func() {
			for range jobs {
				for end := time.Now().Add(3 * time.Millisecond); time.Now().Before(end); {
				}
			}
		}()
	}
	for n := 0; ; n++ {
		time.Sleep(4 * time.Millisecond)
		jobs <- n
		jobs <- n
	}
}
