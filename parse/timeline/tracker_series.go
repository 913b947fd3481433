package timeline

import (
	"math"

	"ctxan/parse/evidence"
)

// countSource is an event that tells of every switch. Where a capture has
// several, the same switch is in it several times, and the best one counts.
type countSource uint8

const (
	fromSamples  countSource = iota + 1 // a software context-switches event
	fromRecords                         // PERF_RECORD_SWITCH
	fromSwitches                        // sched_switch
)

// count counts n switches of a CPU at a time, unless a better source has been
// seen. All sources tell of one switch within the switch itself, so when the
// first one of a better source comes, there is hardly anything to be forgotten.
func (t *Tracker) count(from countSource, c *cpuState, at, n uint64) {
	if from != t.counted {
		if from < t.counted {
			return
		}
		t.counted = from
		t.restartCounts()
	}
	if c != nil {
		c.switches += n
	}
	if at == 0 {
		return
	}
	i := int((at - t.series.start) >> (t.series.stepLog & 63))
	if at < t.series.start || i >= numBuckets || t.series.stepLog == 0 {
		i = t.bucket(at)
	}
	if c == nil {
		t.series.noCPU.add(i, n)
	} else {
		c.series.add(i, n)
	}
}

func (t *Tracker) restartCounts() {
	t.series = seriesSet{}
	for _, c := range t.cpus {
		if c != nil {
			c.switches, c.series = 0, series{}
		}
	}
}

const (
	numBuckets   = 256 // even, so that pairs of steps merge when the step doubles
	firstStepLog = 16  // 65.5 us: 16.8 ms until the first doubling
)

// series counts switches in equal steps.
type series [numBuckets]uint32

func (s *series) add(i int, n uint64) {
	if p := &s[i%numBuckets]; n == 1 && *p < math.MaxUint32 {
		*p++
	} else {
		*p = uint32(min(uint64(*p)+min(n, math.MaxUint32), math.MaxUint32))
	}
}

// double merges each two steps into one.
func (s *series) double() {
	for i := range numBuckets / 2 {
		s[i] = uint32(min(uint64(s[2*i])+uint64(s[2*i+1]), math.MaxUint32))
	}
	clear(s[numBuckets/2:])
}

// seriesSet holds what all series have in common, and the one of the switches
// whose CPU is not known.
type seriesSet struct {
	start   uint64
	stepLog uint8 // a step is 1<<stepLog ns; 0: not started
	noCPU   series
}

// bucket returns the step of a time, doubling the steps when the series end
// before it. What is older than the first event counts in the first step.
func (t *Tracker) bucket(at uint64) int {
	s := &t.series
	if s.stepLog == 0 {
		s.start, s.stepLog = t.first, firstStepLog
	}
	if at < s.start {
		return 0
	}
	for (at-s.start)>>s.stepLog >= numBuckets {
		s.stepLog++
		s.noCPU.double()
		for _, c := range t.cpus {
			if c != nil {
				c.series.double()
			}
		}
	}
	return int((at - s.start) >> s.stepLog)
}

// emitSeries hands over the series of all CPUs, and in a system-wide capture
// those of each CPU.
func (t *Tracker) emitSeries(b *evidence.Builder) {
	s := &t.series
	if s.stepLog == 0 {
		return
	}
	n := int((t.last-s.start)>>s.stepLog) + 1
	n = min(n, numBuckets)
	emit := func(cpu evidence.Opt[int], counts *series) {
		b.Series(evidence.Series{CPU: cpu, StartNS: s.start, StepNS: 1 << s.stepLog, Switches: append([]uint32(nil), counts[:n]...)})
	}
	all := s.noCPU
	for _, c := range t.cpus {
		if c != nil {
			for i, k := range c.series {
				all.add(i, uint64(k))
			}
		}
	}
	emit(evidence.Opt[int]{}, &all)
	if !t.opt.SystemWide {
		return
	}
	for id, c := range t.cpus {
		if c != nil && c.switches > 0 {
			emit(evidence.Some(id), &c.series)
		}
	}
}
