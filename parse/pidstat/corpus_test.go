package pidstat

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

// expected is what the corpus' index says of a capture.
type expected struct {
	Rows        *int    `json:"rows"`
	AverageRows *int    `json:"average_rows"`
	ProcessRows *int    `json:"process_rows"`
	ThreadRows  *int    `json:"thread_rows"`
	IfInferred  *int    `json:"rows_if_inferred"`
	PidstatRows *int    `json:"pidstat_rows"`
	Top         []any   `json:"pidstat_top"`
	Voluntary   *topRow `json:"top_voluntary"`
	Involuntary *topRow `json:"top_involuntary"`
}

type topRow struct {
	ID      string  `json:"id"`
	Cswch   float64 `json:"cswch"`
	Nvcswch float64 `json:"nvcswch"`
	Cmd     string  `json:"cmd"`
}

type indexLine struct {
	shared.Capture
	want expected
}

func index(tb testing.TB) []indexLine {
	tb.Helper()
	var out []indexLine
	for _, c := range shared.Corpus(tb) {
		l := indexLine{Capture: c}
		if l.ours() {
			c.Want(tb, &l.want)
		}
		out = append(out, l)
	}
	return out
}

// ours reports whether pidstat should read the file.
func (l indexLine) ours() bool {
	base := filepath.Base(l.Path)
	return l.Kind == "pidstat" || strings.HasPrefix(base, "pidstat-") || l.Kind == "mixed" && strings.Contains(base, "pidstat")
}

func TestCorpus(t *testing.T) {
	values, files := 0, 0
	for _, l := range index(t) {
		raw, err := os.ReadFile(l.Path)
		if err != nil {
			t.Fatal(err)
		}
		if got := Detect(text(t, string(raw))); got != (l.ours() || strings.Contains(string(raw), "\n# pidstat -p")) {
			t.Errorf("%s: Detect = %v", l.Path, got)
		}
		if !l.ours() {
			continue
		}
		files++
		t.Run(filepath.Base(l.Path), func(t *testing.T) { values += l.check(t, read(t, string(raw))) })
	}
	t.Logf("%d values of %d captures compared", values, files)
	if files < 36 || values < 150 {
		t.Errorf("only %d values of %d captures compared", values, files)
	}
}

// check compares every value of the index and returns how many there were.
func (l indexLine) check(t *testing.T, set *evidence.Set) int {
	var rows, averages []evidence.TaskStats
	for _, r := range set.Threads {
		if r.Average {
			averages = append(averages, r)
		} else {
			rows = append(rows, r)
		}
	}
	n := 0
	count := func(name string, want *int, got int) {
		if want == nil {
			return
		}
		n++
		if got != *want {
			t.Errorf("%s = %d, want %d", name, got, *want)
		}
	}
	processes := 0
	for _, r := range rows {
		if r.Process {
			processes++
		}
	}
	count("rows", l.want.Rows, len(rows))
	count("rows", l.want.PidstatRows, len(rows))
	count("rows inferred", l.want.IfInferred, len(rows))
	count("average rows", l.want.AverageRows, len(averages))
	count("process rows", l.want.ProcessRows, processes)
	count("thread rows", l.want.ThreadRows, len(rows)-processes)
	n += l.want.Voluntary.check(t, "top voluntary", rows, func(r evidence.TaskStats) float64 { return r.VoluntaryPerS.V })
	n += l.want.Involuntary.check(t, "top involuntary", rows, func(r evidence.TaskStats) float64 { return r.InvoluntaryPerS.V })
	if l.want.Top != nil {
		top := &topRow{ID: l.want.Top[0].(string), Cswch: l.want.Top[1].(float64), Nvcswch: l.want.Top[2].(float64), Cmd: "php-fpm"}
		n += top.check(t, "top", rows, func(r evidence.TaskStats) float64 { return r.VoluntaryPerS.V })
	}
	if src := set.Sources[0]; src.DroppedTotal > 0 {
		t.Errorf("dropped %d lines: %v", src.DroppedTotal, src.Dropped)
	}
	return n
}

// check looks for the first row with the highest rate.
func (want *topRow) check(t *testing.T, name string, rows []evidence.TaskStats, rate func(evidence.TaskStats) float64) int {
	if want == nil {
		return 0
	}
	if len(rows) == 0 {
		t.Errorf("%s: no rows", name)
		return 4
	}
	top := rows[0]
	for _, r := range rows {
		if rate(r) > rate(top) {
			top = r
		}
	}
	comm := strings.TrimPrefix(want.Cmd, "|__")
	if strconv.Itoa(top.Task.TID) != want.ID || top.Task.Comm != comm || top.VoluntaryPerS.V != want.Cswch || top.InvoluntaryPerS.V != want.Nvcswch {
		t.Errorf("%s = %s, want %+v", name, showRow(top), *want)
	}
	return 4
}
