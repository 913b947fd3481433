package pidstat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ctxan/parse/evidence"
	"ctxan/parse/paste"
)

// mutation changes how a capture looks and not what it says.
type mutation struct {
	name  string
	apply func(string) string
}

var (
	clock24  = regexp.MustCompile(`(?m)^(\d\d):(\d\d):(\d\d) ( *)( [0-9U])`)
	decimals = regexp.MustCompile(`(\d)\.(\d\d)( )`)
	average  = regexp.MustCompile(`(?m)^Average:`)
	owner    = regexp.MustCompile(`(?m)^(\S+(?: PM| AM)?)( +)(\d+|UID)( +[-0-9TP])`)
	noOwner  = regexp.MustCompile(`(?m)^(\S+(?: PM| AM)?) +(?:\d+|UID)( +[-0-9TP])`)
	rates    = regexp.MustCompile(`(?m)( +\d+\.\d\d +\d+\.\d\d  )(\S.*)$`)
	spaces   = regexp.MustCompile(` +`)
)

var mutations = []mutation{
	{"CRLF and tabs", func(s string) string {
		return strings.ReplaceAll(regexp.MustCompile(` {2,}`).ReplaceAllString(s, "\t"), "\n", "\r\n")
	}},
	{"one space between columns", func(s string) string { return spaces.ReplaceAllString(s, " ") }},
	{"indented", func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }},
	{"quoted", func(s string) string {
		return "> " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n> ") + "\n"
	}},
	{"decimal comma", func(s string) string { return decimals.ReplaceAllString(s, "$1,$2$3") }},
	{"AM and PM", func(s string) string { return clock24.ReplaceAllString(s, "$1:$2:$3 AM$4$5") }},
	{"Chinese time and average", func(s string) string {
		return average.ReplaceAllString(clock24.ReplaceAllString(s, "${1}时${2}分${3}秒$4$5"), "平均时间:")
	}},
	{"Korean time and average", func(s string) string {
		return average.ReplaceAllString(clock24.ReplaceAllString(s, "${1}시 ${2}분 ${3}초$4$5"), "평균:")
	}},
	{"Persian digits", func(s string) string {
		return clock24.ReplaceAllStringFunc(s, func(m string) string {
			return strings.NewReplacer("0", "۰", "1", "۱", "2", "۲", "3", "۳", "4", "۴").Replace(m[:8]) + m[8:]
		})
	}},
	{"time with points, Czech average", func(s string) string {
		return average.ReplaceAllString(clock24.ReplaceAllString(s, "$1.$2.$3$4$5"), "Průměr:")
	}},
	{"French average", func(s string) string { return average.ReplaceAllString(s, "Moyenne :") }},
	{"Vietnamese average", func(s string) string { return average.ReplaceAllString(s, "Trung bình:") }},
	{"Georgian average, cut", func(s string) string { return average.ReplaceAllString(s, "საშუა") }},
	{"user names", func(s string) string {
		return strings.ReplaceAll(owner.ReplaceAllString(s, "${1}${2}u$3$4"), "uUID", "USER")
	}},
	{"no user column", func(s string) string { return noOwner.ReplaceAllString(s, "$1$2") }},
	{"more columns", func(s string) string {
		if !rates.MatchString(s) {
			return s // --dec=0
		}
		s = strings.ReplaceAll(s, " cswch/s nvcswch/s  Command", "    %usr %system   CPU   cswch/s nvcswch/s threads  prio policy  Command")
		return rates.ReplaceAllString(s, "    1.00    2.00     -$1      4    0 NORMAL  $2")
	}},
	{"prompts around it", func(s string) string {
		return "[root@db1 ~]# pidstat -w -t 1 3\n" + s + "[root@db1 ~]# uptime\n 12:00:00 up 3 days,  1:02,  2 users,  load average: 0.00, 0.01, 0.05\n"
	}},
}

// TestMutations changes each capture in a way that leaves its rows alone.
func TestMutations(t *testing.T) {
	files := []string{"../../testdata/pidstat/sysstat-12.6.1-interrupted-wt.txt", "../../testdata/pidstat/sysstat-12.6.1-leader-hidden-wt.txt"}
	for _, l := range index(t) {
		if l.Kind == "pidstat" && strings.HasPrefix(filepath.Base(l.Path), "gen126-w") && !strings.Contains(l.Path, "_") {
			files = append(files, l.Path)
		}
	}
	compared := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want := plainRows(read(t, string(raw)))
		for _, m := range mutations {
			mutated := m.apply(string(raw))
			if got := plainRows(read(t, mutated)); got != want {
				t.Errorf("%s, %s: other rows:\n%.600s\nwant\n%.600s", filepath.Base(f), m.name, got, want)
			} else {
				compared += strings.Count(want, "\n")
			}
			if !Detect(text(t, mutated)) {
				t.Errorf("%s, %s: not detected", filepath.Base(f), m.name)
			}
		}
	}
	t.Logf("%d rows of %d captures x %d mutations compared", compared, len(files), len(mutations))
}

func plainRows(set *evidence.Set) string {
	var w strings.Builder
	for _, r := range set.Threads {
		r.Task.Comm = strings.Join(strings.Fields(r.Task.Comm), " ")
		fmt.Fprintf(&w, "%d %+v %v %v %g %g\n", r.Pos.Source, r.Task, r.Process, r.Average, r.VoluntaryPerS.V, r.InvoluntaryPerS.V)
	}
	for _, s := range set.Sources {
		for _, d := range s.Dropped {
			fmt.Fprintf(&w, "dropped %s\n", d.Err)
		}
	}
	return w.String()
}

// FuzzRead looks for panics, rates that no task has, and rows out of nothing.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("../../testdata/pidstat/*.txt")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Add("# Time,UID,PID,cswch/s,nvcswch/s,Command\n12:00:01,0,15,14.85,0.00,x")
	f.Add("$ pidstat -w | sort\n11:13:55 AM     13054    351.49      9.12  vmware-vmx\n")
	f.Fuzz(func(t *testing.T, raw string) {
		if len(raw) > 1<<16 {
			return
		}
		txt, err := paste.Clean([]byte(raw))
		if err != nil {
			return // not a text
		}
		detected := Detect(txt)
		set := &evidence.Set{}
		if err := Read(txt, set.NewBuilder("x", Format)); err != nil {
			t.Fatal(err)
		}
		if len(set.Threads) > len(txt.Lines) {
			t.Errorf("%d rows of %d lines", len(set.Threads), len(txt.Lines))
		}
		if len(set.Threads) > 0 && !detected {
			t.Error("rows of a text that is not detected")
		}
		for _, r := range set.Threads {
			if v := r.VoluntaryPerS.V; !(v >= 0 && v <= maxRate) || r.Task.TID < 0 || r.Task.PID < 0 || r.Pos.Line < 1 {
				t.Errorf("impossible row %s", showRow(r))
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var w strings.Builder
	w.WriteString("Linux 6.18.44 (vm) \t11/30/26 \t_x86_64_\t(2 CPU)\n")
	for s := range 60 {
		fmt.Fprintf(&w, "\n12:%02d:%02d      UID      TGID       TID   cswch/s nvcswch/s  Command\n", s/60, s%60)
		for p := range 100 {
			fmt.Fprintf(&w, "12:%02d:%02d     1000 %9d         - %9.2f %9.2f  worker-%d\n", (s+1)/60, (s+1)%60, 1000+10*p, 10.25, 3.5, p)
			for th := range 5 {
				fmt.Fprintf(&w, "12:%02d:%02d     1000         - %9d %9.2f %9.2f  |__worker-%d\n", (s+1)/60, (s+1)%60, 1000+10*p+th, 10.25, 3.5, p)
			}
		}
	}
	txt := text(b, w.String())
	b.SetBytes(int64(w.Len()))
	b.ReportAllocs()
	for b.Loop() {
		set := &evidence.Set{}
		if err := Read(txt, set.NewBuilder("x", Format)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDetect(b *testing.B) {
	line := "   74512.345678 [0001]  worker-1[1234/1234]                 0.004      0.002      0.120 \n"
	txt := text(b, strings.Repeat(line, 20000))
	b.SetBytes(int64(len(line) * 20000))
	for b.Loop() {
		if Detect(txt) {
			b.Fatal("detected")
		}
	}
}
