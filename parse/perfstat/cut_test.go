package perfstat

import (
	"os"
	"strings"
	"testing"
)

// cellKey is a printed counter by its place and what was made of it.
type cellKey struct {
	line         int
	event, value string
	timed        bool
	part         part
}

func cellKeys(r *reader) []cellKey {
	var out []cellKey
	for _, b := range r.blocks {
		for _, cells := range [][]cell{b.cells, b.timed} {
			for i := range cells {
				k := cellKey{line: cells[i].line, event: cells[i].ev.raw, value: cells[i].value, timed: cells[i].timed}
				if cells[i].part != nil {
					k.part = *cells[i].part
				}
				out = append(out, k)
			}
		}
	}
	return out
}

// TestCuts cuts captures at every few bytes. Whatever is read from the rest
// must be in the whole capture, at the same line: a cut number or event is
// never read as another one.
func TestCuts(t *testing.T) {
	cuts, cells := 0, 0
	for _, row := range readIndex(t) {
		if row.Kind != "perf-stat" {
			continue
		}
		raw, err := os.ReadFile(row.Path)
		if err != nil {
			t.Fatal(err)
		}
		whole := map[cellKey]bool{}
		elapsed := map[float64]bool{}
		u := readBytes(t, raw)
		for _, k := range cellKeys(u.reader) {
			whole[k] = true
			if name, mod, ok := strings.Cut(k.event, ":"); ok && isModifier(mod) && k.value == "" {
				k := k // rows before tell a modifier that was cut off whole, where they have one
				k.event = name
				whole[k] = true
			}
			if k.part.agg == "cgroup" { // it stands behind the event, and nothing announces it
				k.part = part{}
				whole[k] = true
			}
		}
		for _, b := range u.reader.blocks {
			elapsed[b.elapsed.V] = true
		}
		for n := len(raw) - 1; n > 0; n -= 11 {
			cuts++
			r := readBytes(t, raw[:n]).reader
			for _, k := range cellKeys(r) {
				cells++
				if !whole[k] {
					t.Errorf("%s cut at byte %d: made up %+v", row.Name, n, k)
				}
			}
			for _, b := range r.blocks {
				if b.elapsed.OK && !elapsed[b.elapsed.V] {
					t.Errorf("%s cut at byte %d: made up an elapsed time of %v", row.Name, n, b.elapsed.V)
				}
			}
		}
	}
	t.Logf("%d cuts, %d counters", cuts, cells)
}
