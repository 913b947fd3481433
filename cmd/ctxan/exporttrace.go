package main

import (
	"fmt"
	"io"
	"slices"

	"ctxan/parse/timeline"
	"ctxan/report"
	"ctxan/report/export"
)

// trace writes a trace while its recording is read, so that its length does not
// matter.
func (e *exporter) trace(args []string) error {
	return e.write(func(w io.Writer) error {
		t := &traceWatcher{out: export.NewTrace(w)}
		opt := e.parseOptions(e.std)
		opt.Watch = t.watch
		if e.selection.part != nil { // a CPU's time is known from its own switches
			part := *e.selection.part
			t.cpus, part.CPUs = part.CPUs, nil
			opt.Select = &part
		}
		if _, err := e.openWith(args, opt, e.std); err != nil {
			return err
		}
		switch {
		case t.out.Err() != nil:
			return t.out.Err()
		case len(t.sources) == 0:
			return e.noTrace("a trace is made of the events of a perf.data, and there is none")
		case len(t.sources) > 1:
			return e.noTrace(fmt.Sprintf("a trace is of one recording, and there are several: %s and %s", report.Plain(t.sources[0]), report.Plain(t.sources[1])))
		case t.out.Stints == 0:
			return e.noTrace("the recording does not tell when tasks ran: record all of them, with -a, or with --switch-events")
		}
		return t.out.Close()
	})
}

// noTrace says why there is none.
func (e *exporter) noTrace(why string) error {
	fmt.Fprintln(e.std.err, "ctxan:", why)
	return statusError(exitNoEvidence)
}

// traceWatcher hands what the timeline tells on to a trace.
type traceWatcher struct {
	out     *export.Trace
	sources []string // recordings that were read
	cpus    []int    // the selected ones; nil: all
}

func (t *traceWatcher) watch(name string) timeline.Watcher {
	t.sources = append(t.sources, name)
	if len(t.sources) > 1 {
		return deaf{}
	}
	return t
}

func (t *traceWatcher) has(cpu int) bool { return len(t.cpus) == 0 || slices.Contains(t.cpus, cpu) }

// Stint implements timeline.Watcher.
func (t *traceWatcher) Stint(s timeline.Stint) {
	if t.has(s.CPU) {
		t.out.Stint(export.Stint(s))
	}
}

// Wake implements timeline.Watcher.
func (t *traceWatcher) Wake(w timeline.Wake) {
	if t.has(w.CPU) {
		t.out.Wake(export.Wakeup(w))
	}
}

// deaf is told of what nobody wants to know.
type deaf struct{}

func (deaf) Stint(timeline.Stint) {}
func (deaf) Wake(timeline.Wake)   {}
