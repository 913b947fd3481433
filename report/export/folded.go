package export

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"ctxan/parse/evidence"
)

// Weights are what folded stacks may count, as names for a flag.
var Weights = []string{"switches", "off_cpu", "delay", "cpu"}

// Folded writes one line a distinct stack, "comm;root;...;leaf N", as
// flamegraph.pl, speedscope and inferno read it. N counts switches, nanoseconds
// off the CPU, nanoseconds of scheduling delay, or CPU samples by their periods
// (nanoseconds of a clock); with weight "" switches, and CPU samples where there
// are no switch stacks. Lines that would count 0 are left out.
//
// The format knows no escapes: a semicolon in a name becomes a colon.
func Folded(w io.Writer, set *evidence.Set, weight string) error {
	s, of, err := foldedWeight(set, weight)
	if err != nil {
		return err
	}
	f := folder{ids: map[string]uint32{}, lines: map[string]int{}}
	for i := range s.Samples {
		if n := of(&s.Samples[i]); n > 0 {
			f.add(s, &s.Samples[i], n)
		}
	}
	return f.write(w)
}

func foldedWeight(set *evidence.Set, name string) (*stacks, func(*evidence.StackSample) uint64, error) {
	switches := stacksOf(set, evidence.StackSwitch)
	if switches == nil && name == "" {
		name = "cpu"
	}
	if name == "cpu" {
		cpu := stacksOf(set, evidence.StackCPU)
		switch {
		case cpu == nil && switches != nil:
			return nil, nil, &MissingError{"CPU samples with call chains", "-g -e cpu-clock"}
		case cpu == nil:
			return nil, nil, errNoStacks
		}
		return cpu, cpu.cpuWeight().of, nil
	}
	if switches == nil {
		return nil, nil, errNoStacks
	}
	for _, k := range switches.switchWeights() {
		if name == "" || k.name == name {
			return switches, k.of, nil
		}
	}
	return nil, nil, &MissingError{name + " of their call chains", "-a -g -e sched:sched_switch -e sched:sched_wakeup"}
}

// folder sums stacks by the names that are written, which many addresses share.
type folder struct {
	ids   map[string]uint32
	names []string
	lines map[string]int // by the ids of their names, root first
	keys  []string
	sums  []uint64
	key   []byte
}

func (f *folder) add(s *stacks, sm *evidence.StackSample, n uint64) {
	f.key = binary.LittleEndian.AppendUint32(f.key[:0], f.id(commName(s.task(sm))))
	if sm.Stack < 0 || len(s.Stacks[sm.Stack]) == 0 {
		f.key = binary.LittleEndian.AppendUint32(f.key, f.id(noChain))
	} else {
		chain := s.Stacks[sm.Stack]
		for i := len(chain) - 1; i >= 0; i-- {
			f.key = binary.LittleEndian.AppendUint32(f.key, f.id(s.frames[chain[i]]))
		}
	}
	at, ok := f.lines[string(f.key)]
	if !ok {
		at = len(f.keys)
		f.keys = append(f.keys, string(f.key))
		f.sums = append(f.sums, 0)
		f.lines[f.keys[at]] = at
	}
	f.sums[at] += n
}

func (f *folder) id(name string) uint32 {
	id, ok := f.ids[name]
	if !ok {
		id = uint32(len(f.names))
		f.ids[name] = id
		f.names = append(f.names, strings.ReplaceAll(name, ";", ":"))
	}
	return id
}

func (f *folder) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	for i, key := range f.keys {
		for at := 0; at < len(key); at += 4 {
			if at > 0 {
				out.WriteByte(';')
			}
			out.WriteString(f.names[binary.LittleEndian.Uint32([]byte(key[at:at+4]))])
		}
		fmt.Fprintf(out, " %d\n", f.sums[i])
	}
	return out.Flush()
}
