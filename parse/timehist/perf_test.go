package timehist

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/testdata/shared"
)

// perfTimehist runs perf on a recording; nil when it reads nothing from it.
func perfTimehist(t *testing.T, data string, args ...string) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("perf is not run in short mode")
	}
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("no perf to compare with")
	}
	args = append([]string{"sched", "timehist", "-i", data, "--force"}, args...)
	var out bytes.Buffer
	cmd := exec.Command(perf, args...)
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return nil
	}
	return out.Bytes()
}

// TestPerfSummary compares what the rows add up to with perf's own summary of
// the same recording: all switches and, to the microsecond that each row is
// cut, all run times of all tasks; migrations with -M.
func TestPerfSummary(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared.Dir(t), "fixtures", "local", "*", "perf.data"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings (%v)", err)
	}
	recordings, tasks := 0, 0
	for _, f := range files {
		raw := perfTimehist(t, f, "-s", "-M")
		want := readStream(t, f, raw)
		if len(want.Traces) != 1 || want.Traces[0].Totals.V.Switches.V == 0 {
			continue
		}
		recordings++
		out := perfTimehist(t, f, "-S", "-MVwn", "--state", "-g")
		tasks += compareSummary(t, f, readStream(t, f, out), want)
	}
	if recordings == 0 {
		t.Fatal("perf read none of the recordings")
	}
	t.Logf("%d recordings, %d tasks", recordings, tasks)
}

// compareSummary compares evidence of rows with that of a summary alone.
func compareSummary(t *testing.T, name string, rows, sum *evidence.Set) (n int) {
	t.Helper()
	if len(rows.Traces) != 1 {
		t.Fatalf("%s: %d captures", name, len(rows.Traces))
	}
	tr, totals := rows.Traces[0], sum.Traces[0].Totals.V
	if tr.SwitchRows != totals.Switches.V || rows.Sources[0].DroppedTotal != 0 {
		t.Errorf("%s: %d switch rows, %d dropped, perf counts %d switches", name, tr.SwitchRows, rows.Sources[0].DroppedTotal, totals.Switches.V)
	}
	if low := totals.RunNS.V - tr.RunNS; low > tr.SwitchRows*1000 {
		t.Errorf("%s: run time %d, perf has %d", name, tr.RunNS, totals.RunNS.V)
	}
	perTask := strings.Contains(strings.Join(rows.Sources[0].Warnings, " "), "without -a")
	got := map[evidence.Task]evidence.TaskStats{}
	for _, th := range rows.Threads {
		th.Task.Comm = ""
		got[th.Task] = th
	}
	for _, w := range sum.Threads {
		n++
		k := w.Task
		k.Comm = ""
		g := got[k]
		if g.Switches != w.Switches {
			t.Errorf("%s: %+v: %v switches, perf has %v", name, w.Task, g.Switches, w.Switches)
		}
		if low := w.RunNS.V - g.RunNS.V; !perTask && low > w.Switches.V*1000 {
			t.Errorf("%s: %+v: run time %v, perf has %v", name, w.Task, g.RunNS, w.RunNS)
		}
		if tr.MigrateRows > 0 && g.Migrations.V != w.Migrations.V {
			t.Errorf("%s: %+v: %v migrations, perf has %v", name, w.Task, g.Migrations, w.Migrations)
		}
	}
	return n
}

// TestTruth compares switch-outs with those that were counted in the recording's
// raw events.
func TestTruth(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared.Dir(t), "fixtures", "local", "*", "truth.tsv"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no truth.tsv (%v)", err)
	}
	compared, recordings := 0, 0
	for _, f := range files {
		raw := perfTimehist(t, filepath.Join(filepath.Dir(f), "perf.data"))
		set := readStream(t, f, raw)
		if len(set.Threads) == 0 {
			continue
		}
		recordings++
		got := map[int]uint64{}
		for _, th := range set.Threads {
			got[th.Task.TID] += th.Switches.V
		}
		for tid, out := range truthOuts(t, f) {
			compared++
			// perf prints switches of a task that has ended under the id -1.
			if n := got[tid]; n > out || n+got[unknownID] < out {
				t.Errorf("%s: tid %d: %d switches, truth has %d", f, tid, n, out)
			}
		}
	}
	t.Logf("%d threads of %d recordings", compared, recordings)
}

// truthOuts reads the switch-outs of each thread.
func truthOuts(t *testing.T, file string) map[int]uint64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	outs := map[int]uint64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Split(s.Text(), "\t")
		if w[0] != "thread" || len(w) < 3 {
			continue
		}
		tid, err := strconv.Atoi(w[1])
		if err != nil || tid <= 0 {
			continue
		}
		for _, kv := range w[2:] {
			if v, ok := strings.CutPrefix(kv, "out="); ok {
				outs[tid], _ = strconv.ParseUint(v, 10, 64)
			}
		}
	}
	return outs
}
