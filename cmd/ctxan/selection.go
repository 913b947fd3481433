package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ctxan/parse/timeline"
)

// selection is the flags that select a part of a perf.data file.
type selection struct {
	pids, tids []int
	comms      []string
	cpus, time string

	part *timeline.Select // after check; nil: all
}

func (s *selection) add(fs *pflag.FlagSet) {
	fs.IntSliceVar(&s.pids, "pid", nil, "of perf.data, only these processes")
	fs.IntSliceVar(&s.tids, "tid", nil, "of perf.data, only these threads")
	fs.StringSliceVar(&s.comms, "comm", nil, "of perf.data, only threads of these names")
	fs.StringVar(&s.cpus, "cpu", "", "of perf.data, only events on these CPUs: 0,2-3")
	fs.StringVar(&s.time, "time", "", "of perf.data, only events from START,END: seconds as perf script prints them, either may be left out; or a share of each recording: 10%/2 (the second tenth), 30%-50%")
}

// check turns the flags into a selection.
func (s *selection) check() error {
	part := &timeline.Select{PIDs: s.pids, TIDs: s.tids, Comms: s.comms}
	var err error
	if part.CPUs, err = cpuList(s.cpus); err != nil {
		return &usageError{fmt.Sprintf("--cpu %s: %v", s.cpus, err), "write --cpu 0,2-3"}
	}
	if s.time != "" {
		if err := s.checkTime(part); err != nil {
			return err
		}
	}
	s.part = nil
	if part.ByTask() || part.ByEvent() {
		s.part = part
	}
	return nil
}

func (s *selection) checkTime(part *timeline.Select) (err error) {
	try := "write --time 7502.5,7503.25 (seconds, as perf script prints them)"
	if strings.Contains(s.time, "%") {
		try = "write --time 10%/2 (the second tenth) or --time 30%-50%"
		part.Share, err = timeShare(s.time)
	} else {
		part.From, part.To, err = timeRange(s.time)
	}
	if err != nil {
		return &usageError{fmt.Sprintf("--time %s: %v", s.time, err), try}
	}
	return nil
}

// timeShare reads "10%/2", "30%-50%" or "10%", the first tenth.
//
// Syntax: perf_time__percent_parse_str in the kernel's tools/perf/util/time-utils.c,
// which knows lists of them as well.
func timeShare(text string) (timeline.Share, error) {
	if strings.Contains(text, ",") {
		return timeline.Share{}, fmt.Errorf("only one share can be selected")
	}
	lo, hi, span := strings.Cut(text, "-")
	if span {
		from, errA := percent(lo)
		to, errB := percent(hi)
		if errA == nil && errB == nil && to <= from {
			errA = fmt.Errorf("it ends before it begins")
		}
		return timeline.Share{From: from, To: to}, cmp.Or(errA, errB)
	}
	size, nth, slice := strings.Cut(text, "/")
	step, err := percent(size)
	n := 1
	if slice && err == nil {
		n, err = strconv.Atoi(nth)
	}
	const rounding = 1e-9
	switch to := step * float64(n); {
	case err != nil:
		return timeline.Share{}, err
	case step <= 0 || n < 1 || to > 100+rounding:
		return timeline.Share{}, fmt.Errorf("that is no part of the recording")
	default:
		return timeline.Share{From: step * float64(n-1), To: min(to, 100)}, nil
	}
}

func percent(text string) (float64, error) {
	digits, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(v >= 0 && v <= 100) {
		return 0, fmt.Errorf("%q is no percentage", text)
	}
	return v, nil
}

// maxCPUs is more than any kernel has (NR_CPUS is at most 8192).
const maxCPUs = 1 << 16

// cpuList reads "0,2-3".
func cpuList(text string) ([]int, error) {
	var out []int
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		lo, hi, span := strings.Cut(part, "-")
		if !span {
			hi = lo
		}
		a, errA := strconv.ParseUint(lo, 10, 32)
		b, errB := strconv.ParseUint(hi, 10, 32)
		if errA != nil || errB != nil || b < a || b >= maxCPUs {
			return nil, fmt.Errorf("%q is no CPU and no range of CPUs", part)
		}
		for ; a <= b; a++ {
			out = append(out, int(a))
		}
	}
	return out, nil
}

// timeRange reads "START,END" in seconds, either of which may be empty.
func timeRange(text string) (from, to uint64, err error) {
	lo, hi, two := strings.Cut(text, ",")
	if !two {
		return 0, 0, fmt.Errorf("needs a start and an end, with a comma between them")
	}
	if from, err = nanoseconds(lo); err != nil {
		return 0, 0, err
	}
	if to, err = nanoseconds(hi); err != nil {
		return 0, 0, err
	}
	if from == 0 && to == 0 || hi != "" && to < max(from, 1) {
		return 0, 0, fmt.Errorf("it ends before it begins")
	}
	return from, to, nil
}

// nanoseconds reads seconds with up to nine decimals, exactly; "" is 0.
func nanoseconds(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	whole, frac, _ := strings.Cut(text, ".")
	s, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || s >= math.MaxUint64/1_000_000_000 || len(frac) > 9 {
		return 0, fmt.Errorf("%q is no number of seconds", text)
	}
	n, err := strconv.ParseUint(frac+strings.Repeat("0", 9-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of seconds", text)
	}
	return s*1e9 + n, nil
}
