package perfdata

import (
	"fmt"
	"strings"

	"ctxan/parse/perfdata/wire"
)

// How many switches are looked at to tell whether the kernel symbols fit, until
// how many have names, and how many of these it takes.
const (
	kernelLooks     = 4096
	kernelProbes    = 256
	leastProbes     = 4
	kernelProbeDeep = 8 // frames of each
)

// threadReturn is a label within schedule on x86-64 before Linux 3.0.
const threadReturn = "thread_return"

// checkKernel tells by the switches whether the kernel symbols are those of the
// recorded kernel: whatever the build, sched_switch is traced in a function with
// schedule in its name. Symbols of another build of the same release can have
// the same size and name all addresses, wrongly.
func (f *frames) checkKernel() error {
	if f.r.opt.Symbols == nil || f.kernel.End == 0 || len(f.spaces.stacks) == 1 { // no stack needs them
		return nil
	}
	looked, named, right, wrong := 0, 0, 0, ""
	err := f.r.walkRecords(func(typ wire.Type, rec []byte, _ int64) bool {
		if typ != wire.RecSample {
			return true
		}
		if sw := f.r.dec.swap; sw != nil {
			sw.Record(rec)
		}
		if e := f.r.schema.eventOf(rec); e != nil && e.isSwitch() && len(rec) >= e.layout.Fixed {
			looked++
			name, ok := f.switchFrame(kernelLeaves(e, rec))
			if name != "" {
				named++
			}
			if ok {
				right++
			} else if wrong == "" {
				wrong = name
			}
		}
		return named < kernelProbes && looked < kernelLooks
	})
	if named >= leastProbes && 2*right < named {
		f.r.opt.Symbols.Distrust(f.kernel, f.r.host, fmt.Sprintf("by it, %d of %d switches do not come from the scheduler, but from %s and the like", named-right, named, wrong))
		clear(f.cache)
	}
	return err
}

// kernelLeaves returns the innermost kernel addresses of a sample.
func kernelLeaves(e *event, rec []byte) []uint64 {
	if !e.layout.Has(wire.SampleCallchain) {
		if e.layout.IP < 0 {
			return nil
		}
		return []uint64{le.Uint64(rec[e.layout.IP:])}
	}
	at, nr, err := e.layout.Chain(rec)
	if err != nil || nr < 2 || le.Uint64(rec[at+8:]) != wire.ContextKernel {
		return nil
	}
	return words(rec[at+16:at+8+8*min(nr, 1+kernelProbeDeep)], le)
}

// switchFrame looks for the scheduler among addresses. name is what the first
// of them is called, "" where that is not known.
func (f *frames) switchFrame(addrs []uint64) (name string, ok bool) {
	for i, a := range addrs {
		if a >= wire.ContextMax {
			break
		}
		fr := f.resolve(frameKey{addr: a, ret: i > 0}, true)[0]
		if i == 0 {
			name = fr.Symbol
		}
		if strings.Contains(fr.Symbol, "schedule") || strings.Contains(fr.Symbol, "sched_switch") || fr.Symbol == threadReturn {
			return name, true
		}
	}
	return name, false
}
