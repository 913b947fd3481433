package symbol

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestDevBig(t *testing.T) {
	name := os.Getenv("BIG")
	if name == "" {
		t.Skip()
	}
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m0)
	t0 := time.Now()
	p := openProgram(t, name, Options{NoHost: true})
	addrs := p.sample(3000)
	p.frames(addrs[len(addrs)/2])
	t.Logf("first %v", time.Since(t0))
	t0 = time.Now()
	n := 0
	for _, a := range addrs {
		n += len(p.frames(a))
	}
	t.Logf("%d lookups %d frames %v", len(addrs), n, time.Since(t0))
	runtime.ReadMemStats(&m1)
	t.Logf("alloc %d MB, sys %d MB, held %d, %v", (m1.TotalAlloc-m0.TotalAlloc)>>20, m1.Sys>>20, p.r.budget.Used(), p.r.Report())
	b, _ := os.ReadFile("/proc/self/status")
	t.Logf("%.600s", b)
}
