// Package perfstat reads the output of perf stat: text, CSV (-x) and JSON (-j),
// of every version since 2.6.30, in any locale, as it was printed or as it
// survived being pasted.
//
// The reader goes by what rows say and not by where they stand: a value, a
// unit, an event that perf knows. Between rows anything may stand, such as the
// output of the program that was measured. A block ends where the next one
// begins; its decimal separator is decided from all of its lines.
//
// Layout: stat-display.c in the kernel's tools/perf/util (before 4.19 in
// builtin-stat.c).
package perfstat

import (
	"strings"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// Format is the name of the format.
const Format = "perf-stat"

// Detect reports whether t holds output of perf stat: a header of it, JSON or
// CSV of its layout, or rows of its events. Prose about it, and the reports of
// other tools on the same events, are none.
func Detect(t *paste.Text) bool {
	r := newReader(t, nil)
	r.detect = true
	r.read()
	return r.found
}

// Read adds the blocks of t to b, and the threads of blocks that count per
// thread.
//
// Values are counts; clocks are milliseconds, times are seconds. A row whose
// value cannot be read for certain is dropped and counted; output of other
// programs is passed over. Read returns no error: it is there for the caller's
// table of formats.
func Read(t *paste.Text, b *evidence.Builder) error {
	r := newReader(t, b.Drop)
	r.read()
	blocks := mergeSummaries(r.blocks)
	var variants []string
	for _, blk := range blocks {
		out := blk.evidence(b.Drop)
		variants = append(variants, variant(blk, &out))
		warn(b, blk, &out)
		if len(blocks) == 1 {
			b.Source().Window.DurationS = out.ElapsedS
		}
		b.Counters(out)
		for _, ts := range threads(&out) {
			b.Thread(ts)
		}
	}
	describe(b.Source(), r, variants)
	return nil
}

// describe fills what the text says of itself.
func describe(src *evidence.Source, r *reader, variants []string) {
	src.Tool, src.Command = r.tool, r.command
	src.Loss.Truncated = src.Loss.Truncated || r.truncated
	src.Variant = strings.Join(unique(variants), "; ")
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	if len(out) > 4 {
		out = append(out[:4], "…")
	}
	return out
}

// variant says in words how a block was printed.
func variant(blk *block, out *evidence.CounterBlock) string {
	words := []string{styleNames[blk.style]}
	if out.Aggregation != "" {
		words = append(words, "per "+out.Aggregation)
	}
	if out.Runs > 1 {
		words = append(words, "means of several runs")
	}
	if len(out.Intervals) > 0 {
		words = append(words, "intervals")
	}
	return strings.Join(words, ", ")
}

// warn tells what the user must know of a block's figures.
func warn(b *evidence.Builder, blk *block, out *evidence.CounterBlock) {
	if names := unmeasured(out.Counters); len(names) > 0 {
		b.Warn(strings.Join(names, " and ") + " always read 0, because that happens in the kernel and :u counts user level only; run perf stat as root or with kernel.perf_event_paranoid at most 1")
	}
	if blk.lostSeparators {
		b.Warn("a '?' stands where a separator of thousands was lost; the digits around it were joined")
	}
	if n := notCountedIntervals(out.Intervals); n > 0 {
		b.Warn("some intervals were not counted; sums over intervals leave them out")
	}
}

// unmeasured lists the unmeasurable counters of events that the block does not
// count otherwise as well.
func unmeasured(cs []evidence.Counter) []string {
	var names []string
	for i := range cs {
		if cs[i].Status != evidence.StatusUnmeasurable {
			continue
		}
		if c, _ := evidence.FindCounter(cs, cs[i].Event); c == nil || c.Status != evidence.StatusCounted {
			names = append(names, cs[i].Event+":"+cs[i].Modifier)
		}
	}
	return names
}

func notCountedIntervals(in []evidence.CounterPart) int {
	n := 0
	for i := range in {
		for j := range in[i].Counters {
			if in[i].Counters[j].Status == evidence.StatusNotCounted {
				n++
				break
			}
		}
	}
	return n
}

// threads makes the rows of a per-thread block. Their process is known where
// one process was measured, or where a thread is the leader of one.
func threads(out *evidence.CounterBlock) []evidence.TaskStats {
	if out.Aggregation != "thread" {
		return nil
	}
	var rows []evidence.TaskStats
	for i := range out.Parts {
		p := &out.Parts[i]
		c, ok := evidence.FindCounter(p.Counters, "context-switches")
		if !ok || c.Status != evidence.StatusCounted || c.Value < 0 || p.Task.TID <= 0 {
			continue
		}
		p.Task.PID = processOf(p.Task.TID, out.Target)
		rows = append(rows, evidence.TaskStats{
			Pos: evidence.Pos{Line: c.Pos.Line}, Task: p.Task, Switches: evidence.Some(uint64(c.Value)),
		})
	}
	return rows
}

func processOf(tid int, t evidence.Target) int {
	if t.Kind != evidence.TargetProcess {
		return 0
	}
	if len(t.IDs) == 1 {
		return t.IDs[0]
	}
	for _, id := range t.IDs {
		if id == tid {
			return tid
		}
	}
	return 0
}
