package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
)

type item struct {
	key string
	n   int
}

func (i item) weight() int { return len(i.key)*31 + i.n }

func mix(v uint32) uint32 { v ^= v >> 16; v *= 0x7feb352d; return v ^ v>>15 }

func build(n int) []item {
	out := make([]item, 0, n)
	for i := range n {
		out = append(out, item{fmt.Sprint("key-", mix(uint32(i))%97), i})
	}
	return out
}

func main() {
	items := build(1000 * len(os.Args))
	sort.Slice(items, func(a, b int) bool { return items[a].weight() < items[b].weight() })
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for _, it := range items {
				if strings.HasSuffix(it.key, fmt.Sprint(w)) {
					mu.Lock()
					seen[it.key] += it.weight()
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	fmt.Println(len(seen))
}
