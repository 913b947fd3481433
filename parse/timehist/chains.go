package timehist

import (
	"bytes"
	"strings"

	"ctxan/parse/evidence"
)

// maxChainBytes bounds the text of distinct call chains that is kept; the rows
// of further chains count as rows without one.
const maxChainBytes = 16 << 20

// maxFrames bounds the frames of one chain (the kernel's limit is 127 by
// default; perf timehist prints five of them by default).
const maxFrames = 512

// chains interns call chains by their text and weighs them.
type chains struct {
	byText  map[string]int32
	frames  map[frameKey]int32
	table   evidence.StackTable
	kernel  []bool // by stack: it ends in the start of a kernel thread
	bySlot  map[sampleKey]int32
	bytes   int
	longest int // frames of the longest chain
	full    bool
}

type frameKey struct {
	text   string
	kernel bool
}

type sampleKey struct{ task, stack int32 }

func newChains() *chains {
	return &chains{
		byText: map[string]int32{},
		frames: map[frameKey]int32{},
		bySlot: map[sampleKey]int32{},
		table:  evidence.StackTable{Event: "sched:sched_switch", Kind: evidence.StackSwitch},
	}
}

// add counts a switch of a task with a stack and returns the place of its
// sample. latest is that of the task's row before, or -1. The off-CPU time
// comes with the task's next row.
func (c *chains) add(task, stack, latest int32) int32 {
	k := sampleKey{task, stack}
	at, ok := latest, latest >= 0 && c.table.Samples[latest].Stack == stack
	if !ok {
		at, ok = c.bySlot[k]
	}
	if !ok {
		at = int32(len(c.table.Samples))
		c.bySlot[k] = at
		c.table.Samples = append(c.table.Samples, evidence.StackSample{Task: task, Stack: k.stack})
	}
	s := &c.table.Samples[at]
	s.Count++
	s.Weight++
	return at
}

// offCPU adds the wait before a task's row to the chain of its row before.
func (c *chains) offCPU(sample int32, wait, delay uint64) {
	s := &c.table.Samples[sample]
	s.OffNS += wait
	s.OffN++
	s.DelayNS += delay
}

// isKernel reports whether a sample is a kernel thread's.
func (c *chains) isKernel(sample int32) bool {
	stack := c.table.Samples[sample].Stack
	return stack >= 0 && c.kernel[stack]
}

// stack interns a chain; -1 past the bound.
func (c *chains) stack(text []byte) int32 {
	if id, ok := c.byText[string(text)]; ok {
		return id
	}
	if c.bytes+len(text) > maxChainBytes {
		c.full = true
		return -1
	}
	c.bytes += len(text) + 64
	id := int32(len(c.table.Stacks))
	s := string(text)
	c.byText[s] = id
	names := strings.SplitN(s, string(arrowMark), maxFrames)
	c.longest = max(c.longest, len(names))
	c.table.Stacks = append(c.table.Stacks, c.intern(names))
	c.kernel = append(c.kernel, isKernelThread(names))
	return id
}

// intern makes the frames of a chain, leaf first.
func (c *chains) intern(names []string) []int32 {
	user := firstUserFrame(names)
	stack := make([]int32, len(names))
	for i, n := range names {
		k := frameKey{strings.TrimSpace(n), i < user}
		at, ok := c.frames[k]
		if !ok {
			at = int32(len(c.table.Frames))
			c.frames[k] = at
			c.table.Frames = append(c.table.Frames, k.frame())
		}
		stack[i] = at
	}
	return stack
}

func (k frameKey) frame() evidence.Frame {
	if k.text == unknownFrame || k.text == "" {
		return evidence.Frame{Kernel: k.kernel, Why: "printed as " + unknownFrame}
	}
	return evidence.Frame{Symbol: k.text, Kernel: k.kernel}
}

// firstUserFrame is where the kernel's part of a switch's chain ends: behind the
// last entry point, or at the first unresolved frame. A switch happens in the
// kernel, so a chain without entry point was cut short.
func firstUserFrame(names []string) int {
	for i := len(names) - 1; i >= 0; i-- {
		if isKernelEntry(names[i]) && !interruptsKernel(names[:i+1]) {
			return i + 1
		}
	}
	for i, n := range names {
		if n == unknownFrame {
			return i
		}
	}
	return len(names)
}

// interruptPrefix begins the interrupt entries of x86, which can interrupt user
// code and kernel code.
const interruptPrefix = "asm_sysvec_"

// isKernelEntry matches the functions through which user code comes into the
// kernel (x86: arch/x86/entry; arm64: arch/arm64/kernel/entry.S), and where
// threads begin.
func isKernelEntry(name string) bool {
	for _, p := range [...]string{"entry_SYSCALL", "entry_SYSENTER", "entry_INT80", "asm_exc_", interruptPrefix,
		"system_call_fastpath", "retint_user", "el0t_", "el0_", "ret_to_user", "ret_from_fork"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// interruptsKernel reports whether a chain that ends in an interrupt entry does
// not return to user code.
func interruptsKernel(names []string) bool {
	if !strings.HasPrefix(names[len(names)-1], interruptPrefix) {
		return false
	}
	for _, n := range names {
		if strings.Contains(n, "to_user_mode") {
			return false
		}
	}
	return true
}

// isKernelThread reports whether a chain begins where kernel threads do.
func isKernelThread(names []string) bool {
	for _, n := range names {
		if n == "kthread" || n == "kthreadd" {
			return true
		}
	}
	return false
}

// cutLast takes the last frame off a chain at an open end of a text, when no
// other chain of the capture has it: it may be cut in the middle.
func (c *chains) cutLast(text []byte) []byte {
	i, last := bytes.LastIndex(text, arrowMark), text
	if i >= 0 {
		last = text[i+len(arrowMark):]
	}
	for _, kernel := range [...]bool{true, false} {
		if _, ok := c.frames[frameKey{string(last), kernel}]; ok {
			return text
		}
	}
	return text[:max(i, 0)]
}
